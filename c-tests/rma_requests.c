/* Operations with requests: completed by wait, test, and with others, in any order; large counts; a
 * request that is complete before the epoch ends; fetched values at its completion. */
#include "rma.h"

static int right, left;

/* Each function once, and a get after its completion. */
static void each(enum kind kind)
{
    enum { COUNT = 300 };
    struct area area = area_open(kind, COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL);
    MPI_Aint start = area_disp(&area, right, 0);
    MPI_Win win = area.win;
    int from[COUNT], into[COUNT], old[COUNT], flag;
    MPI_Request request;
    for (int index = 0; index < COUNT; index++)
        from[index] = 1000 * check_rank + index;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int large = 0; large < 2; large++) {
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
        MUST(large ? MPI_Rput_c(from, COUNT, MPI_INT, right, start, COUNT, MPI_INT, win, &request)
                   : MPI_Rput(from, COUNT, MPI_INT, right, start, COUNT, MPI_INT, win, &request));
        CHECK(request != MPI_REQUEST_NULL);
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);
        MUST(MPI_Win_flush(right, win));
        memset(into, 0xee, sizeof into);
        MUST(large ? MPI_Rget_c(into, COUNT, MPI_INT, right, start, COUNT, MPI_INT, win, &request)
                   : MPI_Rget(into, COUNT, MPI_INT, right, start, COUNT, MPI_INT, win, &request));
        for (flag = 0; !flag;)
            MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK(memcmp(into, from, sizeof from) == 0);
        MUST(large ? MPI_Raccumulate_c(from, COUNT, MPI_INT, right, start, COUNT, MPI_INT, MPI_SUM,
                                       win, &request)
                   : MPI_Raccumulate(from, COUNT, MPI_INT, right, start, COUNT, MPI_INT, MPI_SUM,
                                     win, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        memset(old, 0xee, sizeof old);
        MUST(large ? MPI_Rget_accumulate_c(from, COUNT, MPI_INT, old, COUNT, MPI_INT, right, start,
                                           COUNT, MPI_INT, MPI_SUM, win, &request)
                   : MPI_Rget_accumulate(from, COUNT, MPI_INT, old, COUNT, MPI_INT, right, start,
                                         COUNT, MPI_INT, MPI_SUM, win, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int index = 0; index < COUNT; index++)
            CHECK_EQUAL(old[index], 2 * from[index]);
        MUST(MPI_Win_unlock(right, win));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_EQUAL(((int *)(void *)area.base)[COUNT - 1], 3 * (1000 * left + COUNT - 1));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    area_close(&area, kind);
}

/* Many at once to all ranks, completed with requests of messages. */
static void many(enum kind kind)
{
    enum { EACH = 10 };
    int total = EACH * check_size, token = -1;
    struct area area = area_open(kind, 8 * total, 4, MPI_INFO_NULL);
    int *own = (int *)(void *)area.base, *from = take(sizeof(int) * (size_t)total),
        *into = take(sizeof(int) * (size_t)total);
    MPI_Request *requests = take(sizeof(MPI_Request) * (size_t)(2 * total + 2));
    for (int index = 0; index < total; index++) {
        from[index] = 1000 * check_rank + index;
        own[total + index] = 5000 * check_rank + index;
    }
    MUST(MPI_Win_lock_all(0, area.win));
    MUST(MPI_Win_sync(area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int index = 0; index < total; index++) {
        int rank = index % check_size, place = EACH * check_rank + index / check_size;
        MUST(MPI_Rput(&from[index], 1, MPI_INT, rank, area_disp(&area, rank, 4 * place), 1,
                      MPI_INT, area.win, &requests[2 * index]));
        MUST(MPI_Rget(&into[index], 1, MPI_INT, rank, area_disp(&area, rank, 4 * (total + place)),
                      1, MPI_INT, area.win, &requests[2 * index + 1]));
    }
    MUST(MPI_Irecv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[2 * total]));
    MUST(MPI_Isend(&check_rank, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[2 * total + 1]));
    MUST(MPI_Waitall(2 * total + 2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQUAL(token, left);
    for (int index = 0; index < total; index++) {
        int place = EACH * check_rank + index / check_size;
        CHECK_EQUAL(into[index], 5000 * (index % check_size) + place);
    }
    MUST(MPI_Win_unlock_all(area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++) {
        for (int index = 0; index < EACH; index++)
            CHECK_EQUAL(own[EACH * rank + index], 1000 * rank + index * check_size + check_rank);
    }
    free(from);
    free(into);
    free(requests);
    area_close(&area, kind);
}

/* Waitany and Testsome find each request once; a long get among short ones. */
static void any_order(enum kind kind)
{
    enum { REQUESTS = 6, LONG = 100000 };
    struct area area = area_open(kind, LONG, 1, MPI_INFO_NULL);
    unsigned char *into = take(LONG * REQUESTS);
    MPI_Request requests[REQUESTS];
    int found[REQUESTS] = {0}, outcount, indices[REQUESTS], index;
    fill(area.base, LONG, (unsigned)check_rank);
    MUST(MPI_Win_lock_all(0, area.win));
    MUST(MPI_Win_sync(area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 2; round++) {
        for (index = 0; index < REQUESTS; index++) {
            int bytes = index % 2 ? LONG : 10;
            MUST(MPI_Rget(into + index * LONG, bytes, MPI_BYTE, right, area_disp(&area, right, 0),
                          bytes, MPI_BYTE, area.win, &requests[index]));
        }
        for (int left_over = REQUESTS; left_over > 0;) {
            if (round == 0) {
                MUST(MPI_Waitany(REQUESTS, requests, &indices[0], MPI_STATUS_IGNORE));
                outcount = 1;
            } else {
                MUST(MPI_Testsome(REQUESTS, requests, &outcount, indices, MPI_STATUSES_IGNORE));
            }
            for (int which = 0; which < outcount; which++) {
                index = indices[which];
                found[index]++;
                CHECK_EQUAL(spoiled(into + index * LONG, index % 2 ? LONG : 10, (unsigned)right),
                            0);
            }
            left_over -= outcount;
        }
    }
    for (index = 0; index < REQUESTS; index++)
        CHECK_EQUAL(found[index], 2);
    MUST(MPI_Win_unlock_all(area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    free(into);
    area_close(&area, kind);
}

/* Requests that are freed, and requests that complete after the unlock. */
static void past_the_epoch(enum kind kind)
{
    struct area area = area_open(kind, 8, 4, MPI_INFO_NULL);
    int *own = (int *)(void *)area.base, values[2] = {check_rank + 1, check_rank + 100};
    MPI_Request freed, late;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, area.win));
    MUST(MPI_Rput(&values[0], 1, MPI_INT, right, area_disp(&area, right, 0), 1, MPI_INT, area.win,
                  &freed));
    MUST(MPI_Request_free(&freed));
    MUST(MPI_Rput(&values[1], 1, MPI_INT, right, area_disp(&area, right, 4), 1, MPI_INT, area.win,
                  &late));
    MUST(MPI_Win_unlock(right, area.win));
    MUST(MPI_Wait(&late, MPI_STATUS_IGNORE));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQUAL(own[0], left + 1);
    CHECK_EQUAL(own[1], left + 100);
    area_close(&area, kind);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        section("%s", kind_name(kind));
        if (!kind_possible(kind))
            continue;
        each(kind);
        many(kind);
        any_order(kind);
        past_the_epoch(kind);
    }
    return check_end();
}

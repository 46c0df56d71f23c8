/* MPI_Put and MPI_Get between fences, in windows of every kind: messages of many lengths, all ranks
 * with all ranks and with themselves, units that differ by rank, windows without memory, the null
 * process, large counts, several windows of one memory. */
#include "rma.h"

static int right, left;

/* One message to the right and one from the left in each epoch; nothing beside it changes. */
static void lengths(enum kind kind)
{
    static const int bytes[] = {0, 1, 7, 8, 64, 100, 4096, 10000, 70000, 300000};
    enum { LENGTHS = sizeof bytes / sizeof *bytes, MARGIN = 16, ROOM = 2 * MARGIN + 300000 };
    struct area area = area_open(kind, 2 * ROOM, 1, MPI_INFO_NULL);
    unsigned char *given = area.base + ROOM, *from = take(ROOM), *into = take(ROOM);
    for (int index = 0; index < LENGTHS; index++) {
        int length = bytes[index];
        size_t rest = (size_t)(ROOM - MARGIN - length);
        unsigned seed = (unsigned)index;
        memset(area.base, 0xee, ROOM);
        fill(given, (size_t)length, seed + 50 + (unsigned)check_rank);
        fill(from, (size_t)length, seed + (unsigned)check_rank);
        memset(into, 0xdd, ROOM);
        MUST(MPI_Win_fence(0, area.win));
        MUST(MPI_Put(from, length, MPI_BYTE, right, area_disp(&area, right, MARGIN), length,
                     MPI_BYTE, area.win));
        MUST(MPI_Get(into, length, MPI_BYTE, left, area_disp(&area, left, ROOM), length, MPI_BYTE,
                     area.win));
        MUST(MPI_Win_fence(0, area.win));
        CHECK_EQUAL(spoiled(area.base + MARGIN, (size_t)length, seed + (unsigned)left), 0);
        CHECK_EQUAL(spoiled(into, (size_t)length, seed + 50 + (unsigned)left), 0);
        CHECK_EQUAL(into[length], 0xdd);
        for (int place = 0; place < MARGIN; place++)
            CHECK(area.base[place] == 0xee && area.base[MARGIN + length + place] == 0xee);
        CHECK_EQUAL(area.base[MARGIN + (size_t)length + rest - 1], 0xee);
        MUST(MPI_Win_fence(0, area.win));
    }
    free(from);
    free(into);
    area_close(&area, kind);
}

/* Each rank has a slot in the memory of all; some calls have large counts. */
static void all_with_all(enum kind kind)
{
    enum { EACH = 5 };
    MPI_Aint slot = EACH * sizeof(long long);
    struct area area = area_open(kind, slot * check_size, sizeof(long long), MPI_INFO_NULL);
    size_t total = (size_t)slot * (unsigned)check_size;
    long long *own = (long long *)area.base, *from = take(total), *into = take(total);
    for (int rank = 0; rank < check_size; rank++) {
        for (int index = 0; index < EACH; index++)
            from[rank * EACH + index] = 10000 * check_rank + 100 * rank + index;
    }
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE, area.win));
    for (int rank = 0; rank < check_size; rank++) {
        MPI_Aint disp = area_disp(&area, rank, slot * check_rank);
        if (rank % 2 == 0)
            MUST(MPI_Put(from + rank * EACH, EACH, MPI_LONG_LONG, rank, disp, EACH, MPI_LONG_LONG,
                         area.win));
        else
            MUST(MPI_Put_c(from + rank * EACH, EACH, MPI_LONG_LONG, rank, disp, EACH,
                           MPI_LONG_LONG, area.win));
    }
    MUST(MPI_Win_fence(0, area.win));
    for (int rank = 0; rank < check_size; rank++) {
        for (int index = 0; index < EACH; index++)
            CHECK_EQUAL(own[rank * EACH + index], 10000 * rank + 100 * check_rank + index);
    }
    memset(into, 0, total);
    for (int rank = 0; rank < check_size; rank++) {
        MPI_Aint disp = area_disp(&area, rank, slot * left);
        if (rank % 2 == 1)
            MUST(MPI_Get(into + rank * EACH, EACH, MPI_LONG_LONG, rank, disp, EACH, MPI_LONG_LONG,
                         area.win));
        else
            MUST(MPI_Get_c(into + rank * EACH, EACH, MPI_LONG_LONG, rank, disp, EACH,
                           MPI_LONG_LONG, area.win));
    }
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, area.win));
    for (int rank = 0; rank < check_size; rank++) {
        for (int index = 0; index < EACH; index++)
            CHECK_EQUAL(into[rank * EACH + index], 10000 * left + 100 * rank + index);
    }
    free(from);
    free(into);
    area_close(&area, kind);
}

/* The displacement is scaled by the unit of the target. */
static void units(enum kind kind)
{
    static const int unit_of[] = {8, 1, 24, 4, 2};
    int unit = unit_of[check_rank % 5];
    struct area area = area_open(kind, 24 * 64, unit, MPI_INFO_NULL);
    double value = 0.5 + check_rank, found = 0;
    int place = 24 * (3 + right % 7), own_place = 24 * (3 + check_rank % 7);
    MUST(MPI_Win_fence(0, area.win));
    MUST(MPI_Put(&value, 1, MPI_DOUBLE, right, area_disp(&area, right, place), 1, MPI_DOUBLE,
                 area.win));
    MUST(MPI_Win_fence(0, area.win));
    MUST(MPI_Get(&found, 1, MPI_DOUBLE, right, area_disp(&area, right, place), 1, MPI_DOUBLE,
                 area.win));
    MUST(MPI_Win_fence(0, area.win));
    CHECK(found == value);
    memcpy(&found, area.base + own_place, sizeof found);
    CHECK(found == 0.5 + left);
    area_close(&area, kind);
}

/* Only even ranks have memory. */
static void without_memory(enum kind kind)
{
    int bytes = check_rank % 2 == 0 ? 4 * check_size : 0;
    struct area area = area_open(kind, bytes, 4, MPI_INFO_NULL);
    MUST(MPI_Win_fence(0, area.win));
    for (int rank = 0; rank < check_size; rank++) {
        int many = rank % 2 == 0, disp = many ? 4 * check_rank : 0;
        if (many || kind != DYNAMIC)
            MUST(MPI_Put(&check_rank, many, MPI_INT, rank, area_disp(&area, rank, disp), many,
                         MPI_INT, area.win));
    }
    MUST(MPI_Win_fence(0, area.win));
    for (int rank = 0; rank < bytes / 4; rank++)
        CHECK_EQUAL(((int *)area.base)[rank], rank);
    area_close(&area, kind);
}

/* Operations with the null process complete and do nothing, whatever the displacement. */
static void null_process(void)
{
    int one = 1, found = 7, compare = 0;
    struct area area = area_open(ALLOCATED, 8, 4, MPI_INFO_NULL);
    MPI_Request requests[4];
    MPI_Win win = area.win;
    const int null = MPI_PROC_NULL;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(&one, 1, MPI_INT, null, 0, 1, MPI_INT, win));
    MUST(MPI_Get(&found, 1, MPI_INT, null, 1, 1, MPI_INT, win));
    MUST(MPI_Accumulate(&one, 1, MPI_INT, null, 0, 1, MPI_INT, MPI_SUM, win));
    MUST(MPI_Get_accumulate(&one, 1, MPI_INT, &found, 1, MPI_INT, null, 0, 1, MPI_INT, MPI_SUM,
                            win));
    MUST(MPI_Fetch_and_op(&one, &found, MPI_INT, null, 0, MPI_SUM, win));
    MUST(MPI_Compare_and_swap(&one, &compare, &found, MPI_INT, null, 0, win));
    MUST(MPI_Put_c(&one, 1, MPI_INT, null, 0, 1, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, null, 0, win));
    MUST(MPI_Put(&one, 1, MPI_INT, null, 0, 1, MPI_INT, win));
    MUST(MPI_Win_unlock(null, win));
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Rput(&one, 1, MPI_INT, null, 0, 1, MPI_INT, win, &requests[0]));
    MUST(MPI_Rget(&found, 1, MPI_INT, null, 0, 1, MPI_INT, win, &requests[1]));
    MUST(MPI_Raccumulate(&one, 1, MPI_INT, null, 0, 1, MPI_INT, MPI_SUM, win, &requests[2]));
    MUST(MPI_Rget_accumulate(&one, 1, MPI_INT, &found, 1, MPI_INT, null, 0, 1, MPI_INT, MPI_SUM,
                             win, &requests[3]));
    MUST(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    MUST(MPI_Win_unlock_all(win));
    CHECK_EQUAL(found, 7);
    CHECK(((int *)area.base)[0] == 0 && ((int *)area.base)[1] == 0);
    area_close(&area, ALLOCATED);
}

/* Windows over parts of one memory, of other groups too, with epochs at the same time. */
static void several(void)
{
    enum { WINDOWS = 5, EACH = 8 };
    int memory[WINDOWS * EACH] = {0}, value[WINDOWS];
    MPI_Win windows[WINDOWS];
    MPI_Comm pair;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, check_rank / 2, -check_rank, &pair));
    for (int index = 0; index < WINDOWS; index++) {
        MPI_Comm comm = index % 2 == 0 ? MPI_COMM_WORLD : pair;
        MUST(MPI_Win_create(memory + index * EACH, EACH * sizeof(int), sizeof(int), MPI_INFO_NULL,
                            comm, &windows[index]));
        value[index] = 100 * index + check_rank;
    }
    int pair_size, pair_rank;
    MUST(MPI_Comm_size(pair, &pair_size));
    MUST(MPI_Comm_rank(pair, &pair_rank));
    for (int index = 0; index < WINDOWS; index++)
        MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE, windows[index]));
    for (int index = WINDOWS - 1; index >= 0; index--) {
        int target = index % 2 == 0 ? right : (pair_rank + 1) % pair_size;
        MUST(MPI_Put(&value[index], 1, MPI_INT, target, index, 1, MPI_INT, windows[index]));
    }
    for (int index = 0; index < WINDOWS; index++)
        MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, windows[index]));
    int partner = pair_size == 1 ? check_rank : check_rank ^ 1;
    for (int index = 0; index < WINDOWS; index++)
        CHECK_EQUAL(memory[index * EACH + index], 100 * index + (index % 2 == 0 ? left : partner));
    for (int index = WINDOWS - 1; index >= 0; index--)
        MUST(MPI_Win_free(&windows[index]));
    MUST(MPI_Comm_free(&pair));
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
        lengths(kind);
        all_with_all(kind);
        units(kind);
        without_memory(kind);
    }
    section("the null process");
    null_process();
    section("several windows");
    several();
    return check_end();
}

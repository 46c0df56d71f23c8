/* Puts and gets of all lengths at which the way of an access may change, by every synchronization, among accumulates
 * and accesses of memory with gaps. EXPECT_BY_DEVICE says whether the device of Suiro makes some of them, 0 or 1. */
#include "rma.h"

enum { LONGEST = 300000, NUMBERS = 64 };

static const int lengths[] = {1, 8, 1024, 1025, 4096, 4097, 20000, 131072, 131073, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

enum way { FENCE, LOCK, LOCK_ALL, START, REQUEST, WAYS };

static int right, left;
static unsigned char *sent, *got;

static unsigned char data(int rank, int round, int index)
{
    return (unsigned char)(17 * rank + 5 * round + index + index / 251);
}

static void begin(enum way way, MPI_Win win, MPI_Group others)
{
    switch (way) {
    case FENCE:
        MUST(MPI_Win_fence(0, win));
        break;
    case LOCK:
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        break;
    case START:
        MUST(MPI_Win_post(others, 0, win));
        MUST(MPI_Win_start(others, 0, win));
        break;
    default:
        MUST(MPI_Win_lock_all(0, win));
    }
}

static void end(enum way way, MPI_Win win)
{
    switch (way) {
    case FENCE:
        MUST(MPI_Win_fence(0, win));
        break;
    case LOCK:
        MUST(MPI_Win_unlock(right, win));
        break;
    case START:
        MUST(MPI_Win_complete(win));
        MUST(MPI_Win_wait(win));
        break;
    default:
        MUST(MPI_Win_unlock_all(win));
    }
}

/* The numbers are behind the bytes: the left neighbour adds to them. */
static void add(const struct area *area, const long long *ones)
{
    MUST(MPI_Accumulate(ones, NUMBERS, MPI_LONG_LONG, right, area_disp(area, right, LONGEST),
                        NUMBERS, MPI_LONG_LONG, MPI_SUM, area->win));
}

static void put(const struct area *area, int len, int with_request)
{
    MPI_Aint start = area_disp(area, right, 0);
    MPI_Request request;
    if (!with_request) {
        MUST(MPI_Put(sent, len, MPI_BYTE, right, start, len, MPI_BYTE, area->win));
        return;
    }
    MUST(MPI_Rput(sent, len, MPI_BYTE, right, start, len, MPI_BYTE, area->win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* The memory is the program's again. */
    for (int index = 0; index < len; index++)
        sent[index] ^= 0xff;
}

/* The left neighbour has put this much. */
static void arrived(const struct area *area, int round, int len)
{
    int wrong = 0;
    for (int index = 0; index < len; index++)
        wrong += area->base[index] != data(left, round, index);
    CHECK_EQUAL(wrong, 0);
}

static void get(const struct area *area, int round, int len, int with_request)
{
    MPI_Aint start = area_disp(area, right, 0);
    MPI_Request request;
    int wrong = 0, flag = 0;
    memset(got, 0xee, (size_t)len + 1);
    if (with_request) {
        MUST(MPI_Rget(got, len, MPI_BYTE, right, start, len, MPI_BYTE, area->win, &request));
        while (!flag)
            MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    } else {
        MUST(MPI_Get(got, len, MPI_BYTE, right, start, len, MPI_BYTE, area->win));
        MUST(MPI_Win_flush(right, area->win));
    }
    for (int index = 0; index < len; index++)
        wrong += got[index] != data(check_rank, round, index);
    CHECK_EQUAL(wrong, 0);
    CHECK_EQUAL(got[len], 0xee);
}

/* Every second part of 2 KiB, by a datatype with gaps, in the middle of what was put. */
static void put_with_gaps(const struct area *area)
{
    MPI_Datatype gaps;
    MUST(MPI_Type_vector(4, 2048, 4096, MPI_BYTE, &gaps));
    MUST(MPI_Type_commit(&gaps));
    MUST(MPI_Put(sent + 8192, 1, gaps, right, area_disp(area, right, 8192), 1, gaps, area->win));
    MUST(MPI_Type_free(&gaps));
}

static void each(enum kind kind, enum way way)
{
    const MPI_Aint bytes = LONGEST + NUMBERS * (MPI_Aint)sizeof(long long);
    struct area area = area_open(kind, bytes, 4, MPI_INFO_NULL);
    int neighbours[] = {left, right}, is_passive = way != FENCE && way != START;
    long long ones[NUMBERS], *sums;
    MPI_Group world, others;
    for (int index = 0; index < NUMBERS; index++)
        ones[index] = check_rank + index;
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_incl(world, left == right ? 1 : 2, neighbours, &others));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < LENGTHS; round++) {
        int len = lengths[round];
        for (int index = 0; index < LONGEST; index++)
            sent[index] = data(check_rank, round, index);
        begin(way, area.win, others);
        /* The device is known to have the lock of all from an answer on. */
        if (way == LOCK_ALL || way == REQUEST)
            for (int again = 0; again < 2; again++) {
                put(&area, 8, 0);
                MUST(MPI_Win_flush(right, area.win));
            }
        add(&area, ones);
        put(&area, len, way == REQUEST);
        if (is_passive) {
            MUST(round % 2 ? MPI_Win_flush(right, area.win) : MPI_Win_flush_all(area.win));
            if (way != REQUEST && len > 40000) {
                put_with_gaps(&area);
                MUST(MPI_Win_flush(right, area.win));
            }
            get(&area, round, len, way == REQUEST);
        }
        if (way == LOCK)
            MUST(MPI_Win_flush_local(right, area.win));
        end(way, area.win);
        if (is_passive)
            MUST(MPI_Barrier(MPI_COMM_WORLD));
        if (is_passive)
            MUST(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, area.win));
        arrived(&area, round, len);
        sums = (long long *)(void *)(area.base + LONGEST);
        for (int index = 0; index < NUMBERS; index++)
            CHECK_EQUAL(sums[index], (long long)(round + 1) * (left + index));
        if (is_passive)
            MUST(MPI_Win_unlock(check_rank, area.win));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    MUST(MPI_Group_free(&others));
    MUST(MPI_Group_free(&world));
    area_close(&area, kind);
}

/* More puts at once than a device takes, of two ranks at the same target, and an exclusive lock between them. */
static void many(enum kind kind)
{
    enum { COUNT = 600, EACH = 2048 };
    struct area area = area_open(kind, EACH * COUNT, 4, MPI_INFO_NULL);
    int target = 0, wrong = 0;
    memset(sent, 1 + check_rank, EACH);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 3; round++) {
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, area.win));
        for (int index = 0; index < COUNT; index++)
            MUST(MPI_Put(sent, EACH, MPI_BYTE, target, area_disp(&area, target, index * EACH),
                         EACH, MPI_BYTE, area.win));
        MUST(MPI_Win_flush(target, area.win));
        for (int index = 0; index < COUNT; index += 70) {
            memset(got, 0, EACH);
            MUST(MPI_Get(got, EACH, MPI_BYTE, target, area_disp(&area, target, index * EACH), EACH,
                         MPI_BYTE, area.win));
            MUST(MPI_Win_flush_local(target, area.win));
            for (int byte = 0; byte < EACH; byte++)
                wrong += got[byte] != 1 + check_rank;
        }
        MUST(MPI_Win_unlock(target, area.win));
    }
    CHECK_EQUAL(wrong, 0);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    area_close(&area, kind);
}

/* What leaves the window is refused, at every length. */
static void bounds(enum kind kind)
{
    struct area area = area_open(kind, 10000, 4, MPI_INFO_NULL);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, area.win));
    for (int len = 4; len <= 8192; len *= 2048) {
        MPI_Aint beyond = area_disp(&area, right, 10000 - len + 4);
        MUST_FAIL(MPI_Put(sent, len, MPI_BYTE, right, beyond, len, MPI_BYTE, area.win),
                  MPI_ERR_RMA_RANGE);
        MUST_FAIL(MPI_Get(got, len, MPI_BYTE, right, beyond, len, MPI_BYTE, area.win),
                  MPI_ERR_RMA_RANGE);
    }
    MUST(MPI_Win_unlock(right, area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    area_close(&area, kind);
}

/* One rank has no room for its part: that is its error, and nobody waits for it. */
static void without_room(void)
{
    MPI_Aint bytes = check_rank == 0 ? (MPI_Aint)1 << 60 : 64;
    void *base;
    MPI_Win win;
    if (check_rank == 0)
        MUST_FAIL(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_NO_MEM);
    else
        MUST(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* The accesses by the device so far; fewer than 0 for a library that does not tell. */
static long long by_device(void)
{
    unsigned long long count = 0;
    int index, provided, counts;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return -1;
    if (MPI_T_pvar_get_index("suiro_rma_by_device", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS)
        return -1;
    MUST(MPI_T_pvar_session_create(&session));
    MUST(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &counts));
    MUST(MPI_T_pvar_read(session, handle, &count));
    MUST(MPI_T_pvar_handle_free(session, &handle));
    MUST(MPI_T_pvar_session_free(&session));
    MUST(MPI_T_finalize());
    return (long long)count;
}

int main(int argc, char **argv)
{
    static const char *const names[WAYS] = {"fence", "lock", "lock all", "start", "requests"};
    const char *expected = getenv("EXPECT_BY_DEVICE");
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    sent = take(LONGEST);
    got = take(LONGEST + 1);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        if (!kind_possible(kind))
            continue;
        long long before = by_device();
        for (enum way way = 0; way < WAYS; way++) {
            section("%s, %s", kind_name(kind), names[way]);
            each(kind, way);
        }
        section("%s, many", kind_name(kind));
        many(kind);
        if (kind != DYNAMIC) {
            section("%s, bounds", kind_name(kind));
            bounds(kind);
        }
        if (expected && check_size > 1) {
            int is_device = *expected == '1' && (kind == CREATED || kind == ALLOCATED);
            CHECK_EQUAL(by_device() > before, is_device);
        }
    }
    section("without room");
    without_room();
    free(sent);
    free(got);
    return check_end();
}

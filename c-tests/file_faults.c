/* One call of the system fails, is interrupted, or moves half of its bytes, at one rank: every call in turn. An access
 * then has the right error, at all ranks of a collective one, or the right bytes (MPI 5.0, section 14.7). The calls of
 * the library are those of this program, which are found first. */
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum fault { FAILS, INTERRUPTED, SHORT, FAULTS };
enum { EACH = 20000, BLOCK = 3000, PIECE = 64, STEP = 256 };

static enum fault fault;
static atomic_long calls_left = -1; /* before the one with the fault; -1: there is none */
static atomic_long calls;
static atomic_int is_harmless; /* the call with the fault gives space that is not needed */

/* Whether this call is the one. */
static int is_faulty(void)
{
    atomic_fetch_add(&calls, 1);
    long left = atomic_load(&calls_left);
    while (left >= 0 && !atomic_compare_exchange_weak(&calls_left, &left, left - 1))
        ;
    return left == 0;
}

/* The result of a call of `count` bytes that has a fault, or 1 if it moves half of them. */
static long faulty(size_t *count, int code)
{
    if (fault == SHORT && *count > 1) {
        *count /= 2;
        return 1;
    }
    errno = fault == FAILS ? code : EINTR;
    return -1;
}

ssize_t pread(int file, void *to, size_t count, off_t at)
{
    if (is_faulty() && faulty(&count, EIO) < 0)
        return -1;
    return syscall(SYS_pread64, file, to, count, at);
}

ssize_t pwrite(int file, const void *from, size_t count, off_t at)
{
    if (is_faulty() && faulty(&count, ENOSPC) < 0)
        return -1;
    return syscall(SYS_pwrite64, file, from, count, at);
}

/* What is written has space without it. */
int fallocate(int file, int mode, off_t at, off_t count)
{
    if (is_faulty()) {
        atomic_store(&is_harmless, 1);
        errno = fault == FAILS ? ENOSPC : fault == SHORT ? EOPNOTSUPP : EINTR;
        return -1;
    }
    return (int)syscall(SYS_fallocate, file, mode, at, count);
}

int fsync(int file)
{
    if (is_faulty() && fault != SHORT) {
        errno = fault == FAILS ? EIO : EINTR;
        return -1;
    }
    return (int)syscall(SYS_fsync, file);
}

/* ---- accesses ---- */

static MPI_File file;
static char data[EACH];

/* Blocks of the ranks in turn. */
static void see_blocks(int block, int step, MPI_Offset begin)
{
    MPI_Datatype own, tile;
    MUST(MPI_Type_contiguous(block, MPI_BYTE, &own));
    MUST(MPI_Type_create_resized(own, 0, step, &tile));
    MUST(MPI_Type_commit(&tile));
    MUST(MPI_File_set_view(file, begin, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&own));
    MUST(MPI_Type_free(&tile));
}

static int write_all(void)
{
    return MPI_File_write_at_all(file, 0, data, EACH, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int start_write_all(void)
{
    MPI_Request request;
    MUST(MPI_File_iwrite_at_all(file, 0, data, EACH, MPI_BYTE, &request));
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int read_all(void)
{
    memset(data, 0, sizeof data);
    return MPI_File_read_at_all(file, 0, data, EACH, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int write_alone(void)
{
    return MPI_File_write_at(file, 0, data, EACH, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int start_write(void)
{
    MPI_Request request;
    MUST(MPI_File_iwrite_at(file, 0, data, EACH, MPI_BYTE, &request));
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int read_alone(void)
{
    memset(data, 0, sizeof data);
    return MPI_File_read_at(file, 0, data, EACH, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int write_ordered(void)
{
    MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    return MPI_File_write_ordered(file, data, EACH, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int synchronize(void)
{
    return MPI_File_sync(file);
}

static int allocate(void)
{
    return MPI_File_preallocate(file, EACH);
}

static const struct access {
    int (*call)(void);
    int is_collective, block, step; /* the view: 0 for blocks of the ranks in turn */
} accesses[] = {
    {write_all, 1, BLOCK, 0},       {start_write_all, 1, PIECE, 0},  {read_all, 1, BLOCK, 0},
    {write_alone, 0, EACH, 2 * EACH}, {write_alone, 0, PIECE, STEP},   {write_alone, 0, BLOCK, 2 * BLOCK},
    {start_write, 0, PIECE, STEP},  {start_write, 0, EACH, 2 * EACH}, {read_alone, 0, PIECE, STEP},
    {read_alone, 0, EACH, 2 * EACH}, {write_ordered, 1, 0, 0},        {synchronize, 1, 0, 0},
    {allocate, 1, 0, 0},
};

/* Whether the bytes of this rank are in the file, by a call that has no fault. */
static int is_written(void)
{
    memset(data, 0, sizeof data);
    MUST(read_alone());
    for (int at = 0; at < EACH; at++)
        if (data[at] != (char)(at + check_rank))
            return 0;
    return 1;
}

static void fill_data(void)
{
    for (int at = 0; at < EACH; at++)
        data[at] = (char)(at + check_rank);
}

static void see(const struct access *access)
{
    MPI_Offset begin = (MPI_Offset)check_rank * (access->step ? EACH / access->block + 1 : 1)
                       * (access->step ? access->step : access->block);
    if (access->block)
        see_blocks(access->block, access->step ? access->step : access->block * check_size, begin);
}

/* Whether the victim makes this call, which has the fault. */
static int try_access(const struct access *access, int victim, long call)
{
    /* All space is new, and no rank is in the try before. */
    MUST(MPI_File_set_size(file, 0));
    fill_data();
    if (access->call == read_all || access->call == read_alone)
        MUST(MPI_File_write_at_all(file, 0, data, EACH, MPI_BYTE, MPI_STATUS_IGNORE));
    int is_victim = check_rank == victim, met, all_met;
    atomic_store(&is_harmless, 0);
    atomic_store(&calls_left, is_victim ? call : -1);
    int class = check_class(access->call());
    int is_needed = !atomic_load(&is_harmless) || access->call == allocate;
    met = is_victim && atomic_exchange(&calls_left, -1) < 0 ? 1 + is_needed : 0;
    MUST(MPI_Allreduce(&met, &all_met, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    int fails = fault == FAILS && (access->is_collective ? all_met : met) == 2;
    if (fails)
        CHECK(class == MPI_ERR_IO || class == MPI_ERR_NO_SPACE);
    else
        CHECK(class == MPI_SUCCESS);
    /* The next one succeeds. */
    if (class != MPI_SUCCESS)
        fill_data();
    if (all_met && fault == FAILS)
        MUST(access->call());
    if (access->block)
        CHECK(is_written());
    return all_met;
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    name_file("faults");
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", "enable"));
    MUST(MPI_Info_set(info, "romio_cb_read", "enable"));
    MUST(MPI_Info_set(info, "cb_buffer_size", "16384"));
    MUST(MPI_Info_set(info, "ind_wr_buffer_size", "8192"));
    for (fault = 0; fault < FAULTS; fault++)
        for (unsigned which = 0; which < sizeof accesses / sizeof *accesses; which++) {
            file = open_new(info);
            see(&accesses[which]);
            for (int victim = 0; victim < check_size; victim++)
                for (long call = 0; try_access(&accesses[which], victim, call); call++)
                    ;
            MUST(MPI_File_close(&file));
        }
    if (atomic_load(&calls) == 0)
        fprintf(stderr, "no call of the library is seen here: there was no fault\n");
    MUST(MPI_Info_free(&info));
    return check_end();
}

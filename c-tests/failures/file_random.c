/* Some ranks end at random times while all access files; the others close them, shrink, and look at the bytes.
 * Arguments: a seed, a path. */
#include "failures.h"
#include <sys/stat.h>

/* Blocks of ranks in turns, of this many bytes; each write of all ranks writes its number into this range. Behind it
 * are bytes that nobody writes. */
enum { BLOCK = 1000, BLOCKS = 24, GUARD = 5000, LAST = 250 };

static unsigned random_state;

static unsigned next_random(void)
{
    random_state = random_state * 1664525 + 1013904223;
    return random_state >> 8;
}

static void end_now(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

static int range(void)
{
    return BLOCK * BLOCKS * size;
}

/* Accesses of all ranks: the same on each, by the seed. The number of the last write that this rank has begun. */
static int access_files(MPI_File file, MPI_File log, int *code)
{
    static char data[BLOCK * BLOCKS];
    char line[64];
    int version;
    MPI_Request request;
    for (version = 1; version < LAST; version++) {
        memset(data, version, sizeof data);
        memset(line, version, sizeof line);
        switch (next_random() % 8) {
        case 0:
            *code = MPI_File_write_at_all(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
            break;
        case 1:
            *code = MPI_File_iwrite_at_all(file, 0, data, sizeof data, MPI_BYTE, &request);
            if (*code == MPI_SUCCESS)
                *code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case 2:
            *code = MPI_File_read_at_all(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
            break;
        case 3:
            *code = MPI_File_write_shared(log, line, sizeof line, MPI_BYTE, MPI_STATUS_IGNORE);
            break;
        case 4:
            *code = MPI_File_write_ordered(log, line, sizeof line, MPI_BYTE, MPI_STATUS_IGNORE);
            break;
        case 5:
            *code = MPI_File_sync(file);
            break;
        case 6:
            *code = MPI_File_write_at(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
            break;
        default:
            *code = MPI_File_preallocate(log, 64);
        }
        /* No rank is ahead of another one by two calls, also after accesses of its own. */
        if (*code == MPI_SUCCESS)
            *code = MPI_File_sync(file);
        if (*code != MPI_SUCCESS)
            break;
    }
    return version;
}

static void check_bytes(MPI_Comm survivors, const char *path, int version)
{
    MPI_File file;
    int newest = -1, oldest = -1, wrong = 0, bytes = range() + GUARD;
    /* A rank may be a few calls behind another one. */
    MPI_Allreduce(&version, &newest, 1, MPI_INT, MPI_MAX, survivors);
    MPI_Allreduce(&version, &oldest, 1, MPI_INT, MPI_MIN, survivors);
    unsigned char *all = malloc(bytes);
    EXPECT_IS(MPI_File_open(survivors, path, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file),
              MPI_SUCCESS);
    MPI_Offset length = -1;
    EXPECT_IS(MPI_File_get_size(file, &length), MPI_SUCCESS);
    EXPECT_IS(length, bytes);
    EXPECT_IS(MPI_File_read_at_all(file, 0, all, bytes, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (int at = 0; at < bytes; at++)
        wrong += at < range() ? all[at] > newest + 1 : all[at] != 255;
    EXPECT_IS(wrong, 0);
    EXPECT(oldest > 0);
    EXPECT_IS(MPI_File_close(&file), MPI_SUCCESS);
    free(all);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
    random_state = seed * 77 + 5;
    int victim = next_random() % size, second = next_random() % size, code = MPI_SUCCESS, mode, lost;
    int delay = next_random() % 20000;
    char log_path[4096];
    snprintf(log_path, sizeof log_path, "%s.log", argv[2]);
    mode = MPI_MODE_RDWR | MPI_MODE_CREATE;
    MPI_File file, log;
    if (rank == 0)
        unlink(argv[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_IS(MPI_File_open(MPI_COMM_WORLD, argv[2], mode, MPI_INFO_NULL, &file), MPI_SUCCESS);
    EXPECT_IS(MPI_File_open(MPI_COMM_WORLD, log_path, mode | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &log),
              MPI_SUCCESS);
    if (rank == 0) {
        char *first = calloc(1, range() + GUARD);
        memset(first + range(), 255, GUARD);
        EXPECT_IS(MPI_File_write_at(file, 0, first, range() + GUARD, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
        free(first);
    }
    MPI_Datatype block, turns;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, BLOCK * size, &turns);
    MPI_Type_commit(&turns);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", seed % 2 ? "enable" : "automatic");
    MPI_Info_set(info, "cb_buffer_size", "4096");
    EXPECT_IS(MPI_File_set_view(file, BLOCK * rank, MPI_BYTE, turns, "native", info), MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Barrier(MPI_COMM_WORLD);
    /* One rank lives always. */
    if ((rank == victim || rank == second) && rank != (victim + 1) % size) {
        signal(SIGALRM, end_now);
        struct itimerval timer = {{0, 0}, {0, 1 + (rank == victim ? delay : delay / 2)}};
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    int version = access_files(file, log, &code);
    if (code != MPI_SUCCESS) {
        int class = class_of(code);
        EXPECT(class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED);
        EXPECT_IS(MPIX_File_revoke(file), MPI_SUCCESS);
        EXPECT_IS(MPIX_File_revoke(log), MPI_SUCCESS);
    }
    while ((rank == victim || rank == second) && rank != (victim + 1) % size)
        pause();
    MPI_File *files[] = {&file, &log};
    for (int one = 0; one < 2; one++) {
        int class = class_of(MPI_File_close(files[one]));
        EXPECT(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED);
        EXPECT(*files[one] == MPI_FILE_NULL);
    }
    MPI_Type_free(&block);
    MPI_Type_free(&turns);
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    MPI_Comm_size(survivors, &lost);
    check_bytes(survivors, argv[2], version);
    EXPECT(access(log_path, F_OK) != 0);
    check_works(survivors, lost);
    return end(survivors);
}

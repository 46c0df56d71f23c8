/* Errors of the system in accesses of one rank and of all: every rank of a collective access hears of them,
 * nobody waits for another, and the file stays usable (MPI 5.0, section 14.7). */
#include "files.h"

#include <signal.h>
#include <sys/resource.h>

enum { BYTES = 1 << 16, LIMIT = 5000 };

static char data[BYTES];

/* From now on, the last rank can write nothing behind the first bytes of a file. */
static void limit(rlim_t bytes)
{
    struct rlimit limits;
    if (check_rank != check_size - 1)
        return;
    getrlimit(RLIMIT_FSIZE, &limits);
    limits.rlim_cur = bytes < limits.rlim_max ? bytes : limits.rlim_max;
    CHECK(setrlimit(RLIMIT_FSIZE, &limits) == 0);
}

/* The ranks interleave, in blocks of `block` bytes. */
static void in_turn(MPI_File file, int block)
{
    MPI_Datatype own, tile;
    MUST(MPI_Type_contiguous(block, MPI_BYTE, &own));
    MUST(MPI_Type_create_resized(own, 0, (MPI_Aint)block * check_size, &tile));
    MUST(MPI_Type_commit(&tile));
    MUST(MPI_File_set_view(file, (MPI_Offset)block * check_rank, MPI_BYTE, tile, "native",
                           MPI_INFO_NULL));
    MUST(MPI_Type_free(&own));
    MUST(MPI_Type_free(&tile));
}

static void try_all(const char *two_phase)
{
    MPI_Info info;
    MPI_Request request;
    MPI_Status status;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", two_phase));
    MUST(MPI_Info_set(info, "cb_buffer_size", "8192"));
    char nodes[16];
    snprintf(nodes, sizeof nodes, "%d", check_size);
    MUST(MPI_Info_set(info, "cb_nodes", nodes));
    MPI_File file = open_new(info);
    /* Blocks that are written by calls: stores within the size of the file know no limit. */
    in_turn(file, 33000);
    limit(LIMIT);
    MUST_FAIL(MPI_File_write_at_all(file, 0, data, BYTES, MPI_BYTE, &status), MPI_ERR_IO);
    MUST(MPI_File_iwrite_at_all(file, 0, data, BYTES, MPI_BYTE, &request));
    MUST_FAIL(MPI_Wait(&request, &status), MPI_ERR_IO);
    MUST(MPI_File_write_at_all_begin(file, 0, data, BYTES, MPI_BYTE));
    MUST_FAIL(MPI_File_write_at_all_end(file, data, &status), MPI_ERR_IO);
    MUST_FAIL(MPI_File_write_ordered(file, data, BYTES, MPI_BYTE, &status), MPI_ERR_IO);
    if (check_rank == check_size - 1)
        MUST_FAIL(MPI_File_write_at(file, 0, data, BYTES, MPI_BYTE, &status), MPI_ERR_IO);
    limit(RLIM_INFINITY);
    MUST(MPI_File_write_at_all(file, 0, data, BYTES, MPI_BYTE, &status));
    CHECK(bytes_of(&status) == BYTES);
    memset(data, 0, sizeof data);
    MUST(MPI_File_read_at_all(file, 0, data, BYTES, MPI_BYTE, &status));
    for (int index = 0; index < BYTES; index++)
        CHECK(data[index] == (char)(index + check_rank));
    MUST(MPI_Info_free(&info));
    MUST(MPI_File_close(&file));
}

/* Wrong arguments of one rank of a collective access. */
static void one_is_wrong(void)
{
    MPI_Status status;
    MPI_File file = open_new(MPI_INFO_NULL);
    int is_wrong = check_rank == check_size - 1;
    MUST_FAIL(MPI_File_write_at_all(file, is_wrong ? -4 : 0, data, 1, MPI_BYTE, &status),
              MPI_ERR_ARG);
    MUST_FAIL(MPI_File_write_all(file, data, is_wrong ? -1 : 1, MPI_BYTE, &status), MPI_ERR_COUNT);
    MUST_FAIL(MPI_File_read_all(file, data, 1, is_wrong ? MPI_DATATYPE_NULL : MPI_BYTE, &status),
              MPI_ERR_TYPE);
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    name_file("errors");
    signal(SIGXFSZ, SIG_IGN);
    for (int index = 0; index < BYTES; index++)
        data[index] = (char)(index + check_rank);
    section("a rank cannot write, each rank alone");
    try_all("disable");
    section("an aggregator cannot write");
    try_all("enable");
    section("one rank has a wrong argument");
    one_is_wrong();
    return check_end();
}

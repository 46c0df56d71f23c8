/* Files one after the other on one communicator, and several at a time: what the library keeps between them is not seen
 * (MPI 5.0, section 14.2). */
#include "files.h"

enum { WORDS = 4 };

static MPI_File open_on(MPI_Comm comm, const char *name, int amode)
{
    MPI_File file;
    MUST(MPI_File_open(comm, name, amode, MPI_INFO_NULL, &file));
    return file;
}

static MPI_Offset shared_at(MPI_File file)
{
    MPI_Offset at = -1;
    MUST(MPI_File_get_position_shared(file, &at));
    return at;
}

/* Every rank of the file appends some bytes at the shared pointer, which is at `from`. */
static void append(MPI_Comm comm, MPI_File file, MPI_Offset from)
{
    int size = 0;
    char words[WORDS];
    memset(words, 'a' + check_rank, sizeof words);
    MUST(MPI_Comm_size(comm, &size));
    CHECK(shared_at(file) == from);
    MUST(MPI_Barrier(comm));
    MUST(MPI_File_write_shared(file, words, WORDS, MPI_CHAR, MPI_STATUS_IGNORE));
    MUST(MPI_Barrier(comm));
    CHECK(shared_at(file) == from + size * WORDS);
}

static void in_turn(MPI_Comm comm)
{
    int size = 0;
    MPI_Offset end = 0;
    MUST(MPI_Comm_size(comm, &size));
    for (int turn = 0; turn < 6; turn++) {
        /* At the end of the file every other time, and made by this open at first. */
        int at_end = turn % 2, mode = MPI_MODE_RDWR | (turn ? 0 : MPI_MODE_CREATE);
        MPI_File file = open_on(comm, file_name, mode | (at_end ? MPI_MODE_APPEND : 0));
        MPI_Offset mine = -1;
        MUST(MPI_File_get_position(file, &mine));
        CHECK(mine == (at_end ? end : 0));
        append(comm, file, at_end ? end : 0);
        end = (at_end ? end : 0) + size * WORDS > end ? (at_end ? end : 0) + size * WORDS : end;
        MUST(MPI_File_get_size(file, &mine));
        CHECK(mine == end);
        MUST(MPI_File_close(&file));
    }
}

static void at_a_time(MPI_Comm comm, int last_first)
{
    MPI_File files[3];
    for (int each = 0; each < 3; each++)
        files[each] = open_on(comm, file_name, MPI_MODE_RDWR);
    for (int each = 0; each < 3; each++)
        append(comm, files[each], 0);
    for (int each = 0; each < 3; each++)
        MUST(MPI_File_close(&files[last_first ? 2 - each : each]));
}

static void failures(MPI_Comm comm)
{
    MPI_File file;
    int rank = 0, size = 0;
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_size(comm, &size));
    MUST_FAIL(MPI_File_open(comm, "/no/such/folder/file", MPI_MODE_RDWR, MPI_INFO_NULL, &file),
              MPI_ERR_NO_SUCH_FILE);
    CHECK(file == MPI_FILE_NULL);
    MUST_FAIL(MPI_File_open(comm, file_name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
                            MPI_INFO_NULL, &file),
              MPI_ERR_FILE_EXISTS);
    if (size > 1) {
        int amode = rank == size - 1 ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
        MUST_FAIL(MPI_File_open(comm, file_name, amode, MPI_INFO_NULL, &file), MPI_ERR_NOT_SAME);
        /* A rank that fails is one that fails for all. */
        const char *name = rank == size - 1 ? "/no/such/folder/file" : file_name;
        MUST_FAIL(MPI_File_open(comm, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file),
                  MPI_ERR_NO_SUCH_FILE);
    }
    file = open_on(comm, file_name, MPI_MODE_RDWR);
    append(comm, file, 0);
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    MPI_Comm others, half;
    check_start(&argc, &argv);
    name_file("reopen");
    section("one after the other");
    in_turn(MPI_COMM_WORLD);
    section("several at a time");
    at_a_time(MPI_COMM_WORLD, 0);
    at_a_time(MPI_COMM_WORLD, 1);
    at_a_time(MPI_COMM_WORLD, 0);
    section("opens that fail between others");
    failures(MPI_COMM_WORLD);
    failures(MPI_COMM_SELF);
    section("a communicator that is freed before its file, and after it");
    for (int turn = 0; turn < 20; turn++) {
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &others));
        MPI_File first = open_on(others, file_name, MPI_MODE_RDWR);
        append(MPI_COMM_WORLD, first, 0);
        MUST(MPI_File_close(&first));
        MPI_File second = open_on(others, file_name, MPI_MODE_RDWR);
        MPI_File third = open_on(others, file_name, MPI_MODE_RDWR);
        if (turn % 2)
            MUST(MPI_File_close(&second));
        if (turn % 3)
            MUST(MPI_Comm_free(&others));
        else
            MUST(MPI_Comm_disconnect(&others));
        append(MPI_COMM_WORLD, third, 0);
        MUST(MPI_File_close(&third));
        if (turn % 2 == 0)
            MUST(MPI_File_close(&second));
    }
    section("parts of the ranks");
    MUST(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &half));
    if (check_rank % 2 == 0) {
        failures(half);
        at_a_time(half, 1);
        failures(half);
    }
    MUST(MPI_Comm_free(&half));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MPI_File last = open_on(MPI_COMM_WORLD, file_name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MUST(MPI_File_close(&last));
    MUST_FAIL(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDWR, MPI_INFO_NULL, &last),
              MPI_ERR_NO_SUCH_FILE);
    return check_end();
}

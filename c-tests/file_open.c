/* Opening and closing: access modes, errors that all ranks have, sizes, hints, error handlers
 * (MPI 5.0, sections 14.2, 14.6, 14.7). */
#include "files.h"

#include <sys/stat.h>

static int on_disk(void)
{
    struct stat found;
    int is_there = 0;
    if (check_rank == 0)
        is_there = stat(file_name, &found) == 0;
    MUST(MPI_Bcast(&is_there, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return is_there;
}

static void modes(void)
{
    static const int wrong[] = {
        0,
        MPI_MODE_CREATE,
        MPI_MODE_RDONLY | MPI_MODE_RDWR,
        MPI_MODE_RDONLY | MPI_MODE_CREATE,
        MPI_MODE_RDONLY | MPI_MODE_EXCL,
        MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
        1 << 20 | MPI_MODE_RDWR,
    };
    MPI_File file;
    section("access modes that contradict themselves");
    for (size_t index = 0; index < sizeof wrong / sizeof wrong[0]; index++) {
        MUST_FAIL(MPI_File_open(MPI_COMM_WORLD, file_name, wrong[index], MPI_INFO_NULL, &file),
                  MPI_ERR_AMODE);
        CHECK(file == MPI_FILE_NULL);
    }
    if (check_size > 1) {
        int mode = check_rank == 1 ? MPI_MODE_RDWR : MPI_MODE_WRONLY;
        MUST_FAIL(MPI_File_open(MPI_COMM_WORLD, file_name, mode | MPI_MODE_CREATE, MPI_INFO_NULL,
                                &file),
                  MPI_ERR_NOT_SAME);
    }
    CHECK(!on_disk());

    section("files that exist, and files that do not");
    MUST_FAIL(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
              MPI_ERR_NO_SUCH_FILE);
    MUST(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                       MPI_INFO_NULL, &file));
    int amode = 0;
    MUST(MPI_File_get_amode(file, &amode));
    CHECK(amode == (MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
    MUST(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    MUST_FAIL(MPI_File_open(MPI_COMM_WORLD, file_name,
                            MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
              MPI_ERR_FILE_EXISTS);
    MUST(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                       &file));
    MUST(MPI_File_close(&file));
    CHECK(on_disk());
    MUST(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &file));
    MUST(MPI_File_close(&file));
    CHECK(!on_disk());
    MUST_FAIL(MPI_File_delete(file_name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    MUST_FAIL(MPI_File_open(MPI_COMM_SELF, "/no/such/folder/file",
                            MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
              MPI_ERR_NO_SUCH_FILE);
    MUST_FAIL(MPI_File_open(MPI_COMM_SELF, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
              MPI_ERR_BAD_FILE);
    MUST_FAIL(MPI_File_open(MPI_COMM_NULL, file_name, MPI_MODE_RDWR, MPI_INFO_NULL, &file),
              MPI_ERR_COMM);

    section("the name of a file system before that of the file");
    char prefixed[300];
    snprintf(prefixed, sizeof prefixed, "ufs:%s", file_name);
    MUST(MPI_File_open(MPI_COMM_WORLD, prefixed, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                       &file));
    CHECK(on_disk());
    MUST(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0)
        MUST(MPI_File_delete(prefixed, MPI_INFO_NULL));
    CHECK(!on_disk());
}

static void sizes(void)
{
    MPI_Offset size = -1;
    section("sizes");
    MPI_File file = open_new(MPI_INFO_NULL);
    MUST(MPI_File_get_size(file, &size));
    CHECK(size == 0);
    MUST(MPI_File_set_size(file, 1000));
    MUST(MPI_File_get_size(file, &size));
    CHECK(size == 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_preallocate(file, 500));
    MUST(MPI_File_get_size(file, &size));
    CHECK(size == 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_preallocate(file, 20000));
    MUST(MPI_File_get_size(file, &size));
    CHECK(size == 20000);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_set_size(file, (MPI_Offset)5 << 30));
    MUST(MPI_File_get_size(file, &size));
    CHECK(size == (MPI_Offset)5 << 30);
    char end = 'e', found = 0;
    MPI_Status status;
    MUST(MPI_File_write_at_all(file, size - 1, &end, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    MUST(MPI_File_read_at(file, size - 1, &found, 1, MPI_CHAR, &status));
    CHECK(found == 'e' && bytes_of(&status) == 1);
    MUST_FAIL(MPI_File_set_size(file, -1), MPI_ERR_ARG);
    if (check_size > 1)
        MUST_FAIL(MPI_File_set_size(file, check_rank), MPI_ERR_NOT_SAME);
    MUST(MPI_File_sync(file));
    MUST(MPI_File_close(&file));

    section("files that only some calls may use");
    file = open_new(MPI_INFO_NULL);
    MUST(MPI_File_write_at_all(file, check_rank, &end, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    MPI_File reader, writer;
    MUST(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &reader));
    MUST_FAIL(MPI_File_write_at(reader, 0, &end, 1, MPI_CHAR, MPI_STATUS_IGNORE),
              MPI_ERR_READ_ONLY);
    MUST_FAIL(MPI_File_write_all(reader, &end, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    MUST_FAIL(MPI_File_set_size(reader, 3), MPI_ERR_READ_ONLY);
    MUST(MPI_File_close(&reader));
    MUST(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_WRONLY | MPI_MODE_APPEND,
                       MPI_INFO_NULL, &writer));
    MUST_FAIL(MPI_File_read(writer, &end, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    MPI_Offset at = -1;
    MUST(MPI_File_get_position(writer, &at));
    CHECK(at == check_size);
    MUST(MPI_File_get_position_shared(writer, &at));
    CHECK(at == check_size);
    MUST(MPI_File_close(&writer));
    MPI_File stream;
    MUST(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL,
                       MPI_INFO_NULL, &stream));
    MUST_FAIL(MPI_File_read(stream, &end, 1, MPI_CHAR, MPI_STATUS_IGNORE),
              MPI_ERR_UNSUPPORTED_OPERATION);
    MUST_FAIL(MPI_File_read_at(stream, 0, &end, 1, MPI_CHAR, MPI_STATUS_IGNORE),
              MPI_ERR_UNSUPPORTED_OPERATION);
    MUST(MPI_File_read_shared(stream, &end, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    MUST(MPI_File_close(&stream));
    MUST(MPI_File_close(&file));
}

static void hints(void)
{
    MPI_Info info, used;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = 0;
    section("hints");
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "cb_buffer_size", "65536"));
    MUST(MPI_Info_set(info, "romio_cb_write", "enable"));
    MUST(MPI_Info_set(info, "nobody_knows_this", "1"));
    MPI_File file = open_new(info);
    MUST(MPI_File_get_info(file, &used));
    MUST(MPI_Info_get(used, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "65536") == 0);
    MUST(MPI_Info_get(used, "romio_cb_write", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "enable") == 0);
    MUST(MPI_Info_get(used, "cb_nodes", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && atoi(value) >= 1);
    MUST(MPI_Info_free(&used));
    MUST(MPI_Info_set(info, "romio_cb_write", "disable"));
    MUST(MPI_File_set_info(file, info));
    MUST(MPI_File_get_info(file, &used));
    MUST(MPI_Info_get(used, "romio_cb_write", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "disable") == 0);
    MUST(MPI_Info_free(&used));
    MUST(MPI_File_close(&file));
    MUST(MPI_Info_free(&info));
}

static int handled;

static void on_error(MPI_File *file, int *code, ...)
{
    (void)file;
    (void)code;
    handled++;
}

static void handlers(void)
{
    MPI_Errhandler handler, found;
    MPI_File none;
    section("error handlers");
    MUST(MPI_File_create_errhandler(on_error, &handler));
    MUST_FAIL(MPI_File_open(MPI_COMM_SELF, "/no/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &none),
              MPI_ERR_NO_SUCH_FILE);
    CHECK(handled == 0);
    MPI_File file = open_new(MPI_INFO_NULL);
    MUST(MPI_File_get_errhandler(file, &found));
    CHECK(found == MPI_ERRORS_RETURN);
    MUST(MPI_File_set_errhandler(file, handler));
    MUST_FAIL(MPI_File_seek(file, -5, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK(handled == 1);
    MUST_FAIL(MPI_File_open(MPI_COMM_SELF, "/no/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &none),
              MPI_ERR_NO_SUCH_FILE);
    CHECK(handled == 1);
    MUST(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    MUST_FAIL(MPI_File_open(MPI_COMM_SELF, "/no/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &none),
              MPI_ERR_NO_SUCH_FILE);
    CHECK(handled == 2);
    MUST(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    MPI_File_call_errhandler(file, MPI_ERR_IO);
    CHECK(handled == 3);
    /* The error of a request is that of its file. */
    MPI_Request request;
    MPI_File closed = file;
    MUST(MPI_File_close(&file));
    MUST_FAIL(MPI_File_iread(closed, &handled, 1, MPI_INT, &request), MPI_ERR_FILE);
    MUST_FAIL(MPI_File_close(&closed), MPI_ERR_FILE);
    MUST(MPI_Errhandler_free(&handler));
}

/* The shared pointer is there once a rank has the file: accesses that follow at once are one after the other. */
static void first_accesses(void)
{
    for (int round = 0; round < 100; round++) {
        MPI_File file = open_new(MPI_INFO_NULL);
        MPI_Offset length = -1;
        MUST(MPI_File_write_shared(file, &round, 1, MPI_INT, MPI_STATUS_IGNORE));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_File_get_size(file, &length));
        CHECK(length == (MPI_Offset)sizeof round * check_size);
        MUST(MPI_File_close(&file));
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    name_file("open");
    first_accesses();
    modes();
    sizes();
    hints();
    handlers();
    return check_end();
}

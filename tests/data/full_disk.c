/* Ranks fill a small file system by each kind of access: each call fails at all its ranks with MPI_ERR_NO_SPACE, and
 * the next one works once there is space. Arguments: a folder on the file system, and its size in bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURN = 4096, SHORT = 100 };

static int rank, size, errors;
static MPI_File file;
static char *data;

static void expect(int code, int wanted, const char *what)
{
    int class;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (class != wanted) {
        printf("rank %d: %s: class %d, not %d: %s\n", rank, what, class, wanted, text);
        errors++;
    }
}

static void see_turns(int block, int step)
{
    MPI_Datatype own, tile;
    MPI_Type_contiguous(block, MPI_BYTE, &own);
    MPI_Type_create_resized(own, 0, step * size, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, step * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    MPI_Type_free(&own);
    MPI_Type_free(&tile);
}

/* Fills the file system; with `bytes` that fit, it succeeds. */
static void write_by(int kind, int bytes, int wanted)
{
    const char *what[] = {"write_at_all", "blocks in turns", "short pieces", "iwrite_at_all", "write_ordered",
                          "preallocate"};
    MPI_Request request;
    int code;
    switch (kind) {
    case 0:
        code = MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        break;
    case 1:
        see_turns(TURN, TURN);
        code = MPI_File_write_at_all(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        break;
    case 2:
        see_turns(SHORT, 3 * SHORT);
        code = MPI_File_write_at_all(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        break;
    case 3:
        MPI_File_iwrite_at_all(file, (MPI_Offset)rank * bytes, data, bytes, MPI_BYTE, &request);
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 4:
        code = MPI_File_write_ordered(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        break;
    default:
        code = MPI_File_preallocate(file, (MPI_Offset)bytes * size);
    }
    expect(code, wanted, what[kind]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int space = atoi(argv[2]), mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    char name[4096];
    snprintf(name, sizeof name, "%s/data", argv[1]);
    data = malloc(space);
    memset(data, 7, space);
    for (int kind = 0; kind < 6; kind++) {
        MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file);
        write_by(kind, space / size * 2, MPI_ERR_NO_SPACE);
        expect(MPI_File_set_size(file, 0), MPI_SUCCESS, "set_size");
        MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
        write_by(kind, space / size / 8, MPI_SUCCESS);
        expect(MPI_File_close(&file), MPI_SUCCESS, "close");
    }
    int all;
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("errors = %d\n", all);
    free(data);
    MPI_Finalize();
    return all != 0;
}

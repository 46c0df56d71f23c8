/* Data representations: external32, and those of the application (MPI 5.0, section 14.5). */
#include "files.h"

static const unsigned char ONE_TWO[] = {0, 0, 0, 1, 0, 0, 0, 2};

static void external(void)
{
    int numbers[2] = {1, 2}, found[2] = {0, 0};
    long longs[3] = {-5, 6, 7}, some[3] = {0, 0, 0};
    unsigned char bytes[8];
    MPI_Status status;
    MPI_Aint extent = -1;
    section("external32");
    MPI_File file = open_new(MPI_INFO_NULL);
    MPI_Offset mine = (MPI_Offset)check_rank * 64;
    MUST(MPI_File_set_view(file, mine, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    MUST(MPI_File_write_at(file, 0, numbers, 2, MPI_INT, &status));
    int count = -1;
    MUST(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 2);
    MUST(MPI_File_read_at_all(file, 0, found, 2, MPI_INT, &status));
    CHECK(found[0] == 1 && found[1] == 2);
    MUST(MPI_File_get_type_extent(file, MPI_LONG, &extent));
    MPI_Aint long_extent = extent;
    MUST(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
    CHECK(extent == 8);
    MUST(MPI_File_set_view(file, mine, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MUST(MPI_File_read_at_all(file, 0, bytes, 8, MPI_BYTE, &status));
    CHECK(memcmp(bytes, ONE_TWO, sizeof ONE_TWO) == 0);
    MUST(MPI_File_set_view(file, mine, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    MUST(MPI_File_write_all(file, longs, 3, MPI_LONG, &status));
    MUST(MPI_File_seek(file, 1, MPI_SEEK_SET));
    MUST(MPI_File_read_all(file, some, 2, MPI_LONG, &status));
    CHECK(some[0] == 6 && some[1] == 7);
    MUST(MPI_Get_count(&status, MPI_LONG, &count));
    CHECK(count == 2);
    MUST(MPI_File_set_view(file, mine, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MUST(MPI_File_read_at_all(file, long_extent, bytes, 8, MPI_BYTE, &status));
    CHECK(bytes[long_extent - 1] == 6);

    section("external32 in a view with gaps, of interleaving ranks");
    MPI_Datatype turns;
    MUST(MPI_Type_vector(4, 1, check_size, MPI_INT, &turns));
    MUST(MPI_Type_commit(&turns));
    MUST(MPI_File_set_view(file, check_rank * 4, MPI_INT, turns, "external32", MPI_INFO_NULL));
    int four[4] = {check_rank, check_rank + 10, check_rank + 20, check_rank + 30};
    MUST(MPI_File_write_all(file, four, 4, MPI_INT, &status));
    MUST(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    for (int turn = 0; turn < 4; turn++)
        for (int rank = 0; rank < check_size; rank++) {
            int value = -1;
            MUST(MPI_File_read_at(file, turn * check_size + rank, &value, 1, MPI_INT, &status));
            CHECK(value == rank + 10 * turn);
        }
    MUST(MPI_Type_free(&turns));
    MUST(MPI_File_close(&file));
}

static int calls;

/* A representation with every int in two bytes. */
static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra_state)
{
    int size = 0;
    calls++;
    if (extra_state != &calls)
        return MPI_ERR_OTHER;
    PMPI_Type_size(type, &size);
    *extent = type == MPI_INT ? 2 : size;
    return MPI_SUCCESS;
}

static int shorten(void *userbuf, MPI_Datatype type, int count, void *filebuf, MPI_Offset position,
                   void *extra_state)
{
    (void)position;
    if (type != MPI_INT || extra_state != &calls)
        return MPI_ERR_CONVERSION;
    for (int index = 0; index < count; index++)
        ((short *)filebuf)[index] = (short)((int *)userbuf)[index];
    return MPI_SUCCESS;
}

static int lengthen(void *userbuf, MPI_Datatype type, int count, void *filebuf,
                    MPI_Offset position, void *extra_state)
{
    (void)position;
    if (type != MPI_INT || extra_state != &calls)
        return MPI_ERR_CONVERSION;
    for (int index = 0; index < count; index++)
        ((int *)userbuf)[index] = ((short *)filebuf)[index];
    return MPI_SUCCESS;
}

static void own(void)
{
    int numbers[3] = {-1, 300, 7}, found[5] = {0};
    short halves[3];
    MPI_Status status;
    MPI_Aint extent = -1;
    section("a representation of the application");
    MUST(MPI_Register_datarep("halves", lengthen, shorten, extent_of, &calls));
    MUST_FAIL(MPI_Register_datarep("halves", lengthen, shorten, extent_of, &calls),
              MPI_ERR_DUP_DATAREP);
    MUST_FAIL(MPI_Register_datarep("native", lengthen, shorten, extent_of, &calls),
              MPI_ERR_DUP_DATAREP);
    MPI_File file = open_new(MPI_INFO_NULL);
    MPI_Offset mine = (MPI_Offset)check_rank * 64;
    MUST(MPI_File_set_view(file, mine, MPI_INT, MPI_INT, "halves", MPI_INFO_NULL));
    CHECK(calls > 0);
    MUST(MPI_File_get_type_extent(file, MPI_INT, &extent));
    CHECK(extent == 2);
    MUST(MPI_File_write(file, numbers, 3, MPI_INT, &status));
    int count = -1;
    MUST(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 3);
    MUST(MPI_File_sync(file));
    MUST(MPI_File_read_at_all(file, 1, found, 2, MPI_INT, &status));
    CHECK(found[0] == 300 && found[1] == 7);
    MUST_FAIL(MPI_File_write_at(file, 0, found, 1, MPI_FLOAT, &status), MPI_ERR_CONVERSION);
    MUST(MPI_File_set_view(file, mine, MPI_SHORT, MPI_SHORT, "native", MPI_INFO_NULL));
    MUST(MPI_File_read_at_all(file, 0, halves, 3, MPI_SHORT, &status));
    CHECK(halves[0] == -1 && halves[1] == 300 && halves[2] == 7);
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    name_file("representations");
    external();
    own();
    return check_end();
}

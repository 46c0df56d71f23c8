/* Data access of all kinds: positions, statuses, file pointers, requests, split calls
 * (MPI 5.0, section 14.4). */
#include "files.h"

enum { BLOCK = 100 };

static int block[BLOCK], found[BLOCK];

static void number_from(int of)
{
    for (int index = 0; index < BLOCK; index++)
        block[index] = of * 1000 + index;
}

static int is_of(int of, int from, int count)
{
    for (int index = 0; index < count; index++)
        if (found[index] != of * 1000 + from + index)
            return 0;
    return 1;
}

static void forget(void)
{
    memset(found, -1, sizeof found);
}

static void ints_in(MPI_File file)
{
    MUST(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
}

static int next(void)
{
    return (check_rank + 1) % check_size;
}

/* All that was written before is read after this. */
static void settle(MPI_File file)
{
    MUST(MPI_File_sync(file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_sync(file));
    forget();
}

static void explicit_offsets(void)
{
    MPI_Status status;
    MPI_Request request;
    MPI_File file = open_new(MPI_INFO_NULL);
    ints_in(file);
    MPI_Offset mine = (MPI_Offset)check_rank * BLOCK, theirs = (MPI_Offset)next() * BLOCK;
    section("explicit offsets");
    number_from(check_rank);
    MUST(MPI_File_write_at(file, mine, block, BLOCK, MPI_INT, &status));
    CHECK(bytes_of(&status) == sizeof block);
    settle(file);
    MUST(MPI_File_read_at(file, theirs, found, BLOCK, MPI_INT, &status));
    CHECK(bytes_of(&status) == sizeof block && is_of(next(), 0, BLOCK));
    forget();
    MUST(MPI_File_read_at_all(file, theirs + 7, found, BLOCK - 7, MPI_INT, &status));
    CHECK(bytes_of(&status) == sizeof block - 28 && is_of(next(), 7, BLOCK - 7));
    settle(file);

    section("requests at explicit offsets");
    number_from(check_rank + 100);
    MUST(MPI_File_iwrite_at(file, mine, block, BLOCK, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL && bytes_of(&status) == sizeof block);
    settle(file);
    MUST(MPI_File_iread_at(file, theirs, found, BLOCK, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK(is_of(next() + 100, 0, BLOCK));
    settle(file);
    number_from(check_rank + 200);
    MUST(MPI_File_iwrite_at_all(file, mine, block, BLOCK, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK(bytes_of(&status) == sizeof block);
    settle(file);
    MUST(MPI_File_iread_at_all(file, theirs, found, BLOCK, MPI_INT, &request));
    int flag = 0;
    while (!flag)
        MUST(MPI_Test(&request, &flag, &status));
    CHECK(is_of(next() + 200, 0, BLOCK));
    settle(file);

    section("split calls at explicit offsets");
    number_from(check_rank + 300);
    MUST(MPI_File_write_at_all_begin(file, mine, block, BLOCK, MPI_INT));
    MUST_FAIL(MPI_File_read_all_begin(file, found, BLOCK, MPI_INT), MPI_ERR_IO);
    MUST_FAIL(MPI_File_read_all_end(file, found, &status), MPI_ERR_IO);
    MUST(MPI_File_write_at_all_end(file, block, &status));
    CHECK(bytes_of(&status) == sizeof block);
    MUST_FAIL(MPI_File_write_at_all_end(file, block, &status), MPI_ERR_IO);
    settle(file);
    MUST(MPI_File_read_at_all_begin(file, theirs, found, BLOCK, MPI_INT));
    MUST(MPI_File_read_at_all_end(file, found, &status));
    CHECK(is_of(next() + 300, 0, BLOCK));

    section("the end of the file");
    settle(file);
    MPI_Offset end = (MPI_Offset)check_size * BLOCK;
    MUST(MPI_File_read_at(file, end - 3, found, BLOCK, MPI_INT, &status));
    CHECK(bytes_of(&status) == 12 && is_of(check_size - 1 + 300, BLOCK - 3, 3));
    CHECK(found[3] == -1);
    forget();
    MUST(MPI_File_read_at_all(file, end - 3, found, BLOCK, MPI_INT, &status));
    CHECK(bytes_of(&status) == 12 && found[3] == -1);
    MUST(MPI_File_read_at(file, end + 50, found, BLOCK, MPI_INT, &status));
    CHECK(bytes_of(&status) == 0);
    MUST(MPI_File_read_at(file, 0, found, 0, MPI_INT, &status));
    CHECK(bytes_of(&status) == 0);
    MUST_FAIL(MPI_File_read_at(file, -1, found, 1, MPI_INT, &status), MPI_ERR_ARG);
    MUST_FAIL(MPI_File_read_at(file, 0, found, 3, MPI_BYTE, &status), MPI_ERR_IO);
    MUST_FAIL(MPI_File_read_at_all(file, check_rank == 0 ? -1 : 0, found, 1, MPI_INT, &status),
              MPI_ERR_ARG);
    MUST(MPI_File_close(&file));
}

static void individual_pointers(void)
{
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Offset at = -1;
    MPI_File file = open_new(MPI_INFO_NULL);
    ints_in(file);
    section("individual file pointers");
    MUST(MPI_File_seek(file, (MPI_Offset)check_rank * 2 * BLOCK, MPI_SEEK_SET));
    number_from(check_rank);
    MUST(MPI_File_write(file, block, BLOCK, MPI_INT, &status));
    number_from(check_rank + 50);
    MUST(MPI_File_write_all(file, block, BLOCK, MPI_INT, &status));
    MUST(MPI_File_get_position(file, &at));
    CHECK(at == (check_rank + 1) * 2 * BLOCK);
    settle(file);
    MUST(MPI_File_seek(file, -(MPI_Offset)BLOCK, MPI_SEEK_CUR));
    MUST(MPI_File_read(file, found, BLOCK, MPI_INT, &status));
    CHECK(is_of(check_rank + 50, 0, BLOCK));
    forget();
    MUST(MPI_File_seek(file, -2 * BLOCK, MPI_SEEK_END));
    MUST(MPI_File_read_all(file, found, BLOCK, MPI_INT, &status));
    CHECK(is_of(check_size - 1, 0, BLOCK));
    forget();
    MUST_FAIL(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    MUST_FAIL(MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);

    section("requests at individual file pointers");
    int first[BLOCK], second[BLOCK];
    MUST(MPI_File_seek(file, (MPI_Offset)next() * 2 * BLOCK, MPI_SEEK_SET));
    MUST(MPI_File_iread(file, first, BLOCK, MPI_INT, &requests[0]));
    MUST(MPI_File_iread_all(file, second, BLOCK, MPI_INT, &requests[1]));
    MPI_Status statuses[2];
    MUST(MPI_Waitall(2, requests, statuses));
    memcpy(found, first, sizeof found);
    CHECK(is_of(next(), 0, BLOCK) && bytes_of(&statuses[0]) == sizeof block);
    memcpy(found, second, sizeof found);
    CHECK(is_of(next() + 50, 0, BLOCK) && bytes_of(&statuses[1]) == sizeof block);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_seek(file, (MPI_Offset)check_rank * 2 * BLOCK, MPI_SEEK_SET));
    int one = 7, two = 8;
    MUST(MPI_File_iwrite(file, &one, 1, MPI_INT, &requests[0]));
    MUST(MPI_File_iwrite_all(file, &two, 1, MPI_INT, &requests[1]));
    MUST(MPI_Request_free(&requests[0]));
    MUST(MPI_Wait(&requests[1], &status));
    settle(file);
    MUST(MPI_File_seek(file, (MPI_Offset)check_rank * 2 * BLOCK, MPI_SEEK_SET));
    MUST(MPI_File_read_all_begin(file, found, 2, MPI_INT));
    MUST(MPI_File_read_all_end(file, found, &status));
    CHECK(found[0] == 7 && found[1] == 8);
    MUST(MPI_File_write_all_begin(file, &one, 1, MPI_INT));
    MUST(MPI_File_write_all_end(file, &one, &status));
    CHECK(bytes_of(&status) == sizeof one);
    MUST(MPI_File_close(&file));
}

static int compare(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

/* What each rank has read by the shared pointer is what all have written, each once. */
static void all_once(const int *values, int each)
{
    int *all = malloc(sizeof(int) * each * check_size);
    MUST(MPI_Allgather(values, each, MPI_INT, all, each, MPI_INT, MPI_COMM_WORLD));
    qsort(all, (size_t)each * check_size, sizeof(int), compare);
    for (int rank = 0; rank < check_size; rank++)
        for (int index = 0; index < each; index++)
            CHECK(all[rank * each + index] == rank * 1000 + index);
    free(all);
}

static void shared_pointers(void)
{
    enum { EACH = 10 };
    MPI_Status status;
    MPI_Request requests[EACH];
    MPI_Offset at = -1;
    MPI_File file = open_new(MPI_INFO_NULL);
    ints_in(file);
    section("the shared file pointer");
    number_from(check_rank);
    for (int index = 0; index < EACH; index++)
        MUST(MPI_File_write_shared(file, &block[index], 1, MPI_INT, &status));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_get_position_shared(file, &at));
    CHECK(at == EACH * check_size);
    settle(file);
    MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    for (int index = 0; index < EACH; index++)
        MUST(MPI_File_read_shared(file, &found[index], 1, MPI_INT, &status));
    all_once(found, EACH);
    MUST(MPI_File_read_shared(file, found, 1, MPI_INT, &status));
    CHECK(bytes_of(&status) == 0);
    MUST(MPI_Barrier(MPI_COMM_WORLD));

    section("requests at the shared file pointer");
    MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    for (int index = 0; index < EACH; index++)
        MUST(MPI_File_iwrite_shared(file, &block[index], 1, MPI_INT, &requests[index]));
    MUST(MPI_Waitall(EACH, requests, MPI_STATUSES_IGNORE));
    settle(file);
    MUST(MPI_File_seek_shared(file, -EACH * (MPI_Offset)check_size, MPI_SEEK_CUR));
    for (int index = 0; index < EACH; index++)
        MUST(MPI_File_iread_shared(file, &found[index], 1, MPI_INT, &requests[index]));
    MUST(MPI_Waitall(EACH, requests, MPI_STATUSES_IGNORE));
    all_once(found, EACH);

    section("ranks in their order");
    int count = check_rank + 1, before = check_rank * (check_rank + 1) / 2;
    MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    MUST(MPI_File_write_ordered(file, block, count, MPI_INT, &status));
    CHECK(bytes_of(&status) == count * (long long)sizeof(int));
    MUST(MPI_File_write_ordered_begin(file, block, 1, MPI_INT));
    MUST(MPI_File_write_ordered_end(file, block, &status));
    settle(file);
    MUST(MPI_File_read_at(file, before, found, count, MPI_INT, &status));
    CHECK(is_of(check_rank, 0, count));
    MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    forget();
    MUST(MPI_File_read_ordered(file, found, count, MPI_INT, &status));
    CHECK(is_of(check_rank, 0, count));
    MUST(MPI_File_read_ordered_begin(file, found, 1, MPI_INT));
    MUST(MPI_File_read_ordered_end(file, found, &status));
    CHECK(found[0] == check_rank * 1000);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_get_position_shared(file, &at));
    CHECK(at == check_size * (check_size + 1) / 2 + check_size);
    if (check_size > 1) {
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST_FAIL(MPI_File_seek_shared(file, check_rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    }
    MUST(MPI_File_close(&file));
}

static void atomicity(void)
{
    int flag = -1;
    MPI_Status status;
    MPI_File file = open_new(MPI_INFO_NULL);
    ints_in(file);
    section("atomic mode");
    MUST(MPI_File_get_atomicity(file, &flag));
    CHECK(flag == 0);
    MUST(MPI_File_set_atomicity(file, 1));
    MUST(MPI_File_get_atomicity(file, &flag));
    CHECK(flag == 1);
    /* Every reader sees the block of one writer. */
    for (int round = 0; round < 20; round++) {
        number_from(check_rank);
        MUST(MPI_File_write_at(file, 0, block, BLOCK, MPI_INT, &status));
        MUST(MPI_File_read_at(file, 0, found, BLOCK, MPI_INT, &status));
        CHECK(is_of(found[0] / 1000, 0, BLOCK));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_write_at_all(file, check_rank * BLOCK, block, BLOCK, MPI_INT, &status));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_read_at_all(file, next() * BLOCK, found, BLOCK, MPI_INT, &status));
    CHECK(is_of(next(), 0, BLOCK));
    MUST(MPI_File_set_atomicity(file, 0));
    MUST(MPI_File_close(&file));
}

static void datatypes(void)
{
    MPI_Status status;
    MPI_Datatype every_second;
    MPI_File file = open_new(MPI_INFO_NULL);
    section("scattered memory");
    MUST(MPI_Type_vector(BLOCK / 2, 1, 2, MPI_INT, &every_second));
    MUST(MPI_Type_commit(&every_second));
    number_from(check_rank);
    MPI_Offset mine = (MPI_Offset)check_rank * BLOCK / 2 * sizeof(int);
    MUST(MPI_File_write_at(file, mine, block, 1, every_second, &status));
    CHECK(bytes_of(&status) == sizeof block / 2);
    int count = -1;
    MUST(MPI_Get_count(&status, every_second, &count));
    CHECK(count == 1);
    MUST(MPI_Get_elements(&status, every_second, &count));
    CHECK(count == BLOCK / 2);
    forget();
    MUST(MPI_File_read_at(file, mine, found, BLOCK / 2, MPI_INT, &status));
    for (int index = 0; index < BLOCK / 2; index++)
        CHECK(found[index] == block[2 * index]);
    forget();
    MUST(MPI_File_read_at(file, mine, found, 1, every_second, &status));
    for (int index = 0; index < BLOCK; index++)
        CHECK(found[index] == (index % 2 ? -1 : block[index]));
    MUST(MPI_Type_free(&every_second));
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    name_file("access");
    explicit_offsets();
    individual_pointers();
    shared_pointers();
    atomicity();
    datatypes();
    return check_end();
}

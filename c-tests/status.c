/* Contents of a status: counts in units of several types, parts of elements, sizes of zero,
 * values set by hand, large values. */
#include "check.h"

static MPI_Status received(int bytes)
{
    static char out[64], in[64];
    MPI_Status status;
    MPI_Request request;
    MUST(MPI_Irecv(in, 64, MPI_BYTE, check_rank, 1, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(out, bytes, MPI_BYTE, check_rank, 1, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, &status));
    return status;
}

static void whole_and_partial_counts(void)
{
    for (int bytes = 0; bytes <= 24; bytes++) {
        MPI_Status status = received(bytes);
        int count = -9;
        MUST(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK_EQUAL(count, bytes);
        MUST(MPI_Get_count(&status, MPI_INT32_T, &count));
        CHECK_EQUAL(count, bytes % 4 ? MPI_UNDEFINED : bytes / 4);
        MUST(MPI_Get_count(&status, MPI_INT64_T, &count));
        CHECK_EQUAL(count, bytes % 8 ? MPI_UNDEFINED : bytes / 8);
        MUST(MPI_Get_elements(&status, MPI_INT16_T, &count));
        CHECK_EQUAL(count, bytes % 2 ? MPI_UNDEFINED : bytes / 2);
    }
}

/* A pair {int32, int64}, packed: after n bytes, so many basic elements have come. */
static void elements_of_a_pair(void)
{
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, 8};
    const MPI_Datatype parts[] = {MPI_INT32_T, MPI_INT64_T};
    static const int elements[] = {0, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1, -1, 2};
    MPI_Datatype pair;
    MUST(MPI_Type_create_struct(2, lengths, places, parts, &pair));
    MUST(MPI_Type_commit(&pair));
    for (int bytes = 0; bytes <= 36; bytes++) {
        MPI_Status status = received(bytes);
        int part = elements[bytes % 12], count = -9, got = -9;
        MPI_Count large = -9;
        int expected = part < 0 ? MPI_UNDEFINED : bytes / 12 * 2 + part;
        MUST(MPI_Get_count(&status, pair, &count));
        CHECK_EQUAL(count, bytes % 12 ? MPI_UNDEFINED : bytes / 12);
        MUST(MPI_Get_elements(&status, pair, &got));
        CHECK_EQUAL(got, expected);
        MUST(MPI_Get_elements_x(&status, pair, &large));
        CHECK_EQUAL(large, expected);
        large = -9;
        MUST(MPI_Get_elements_c(&status, pair, &large));
        CHECK_EQUAL(large, expected);
    }
    MUST(MPI_Type_free(&pair));
}

static void type_of_no_size(void)
{
    MPI_Datatype empty;
    MPI_Status status = received(0);
    int count = -9;
    MUST(MPI_Type_contiguous(0, MPI_INT, &empty));
    MUST(MPI_Type_commit(&empty));
    MUST(MPI_Get_count(&status, empty, &count));
    CHECK_EQUAL(count, 0);
    status = received(8);
    MUST(MPI_Get_count(&status, empty, &count));
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MUST(MPI_Type_free(&empty));
}

static void set_by_hand(void)
{
    MPI_Status status = received(4);
    int count = -9, flag = -9, value = -9;
    MPI_Count large = -9;
    MUST(MPI_Status_set_elements(&status, MPI_INT, 7));
    MUST(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQUAL(count, 7);
    MUST(MPI_Get_elements(&status, MPI_INT, &count));
    CHECK_EQUAL(count, 7);
    MUST(MPI_Status_set_elements_x(&status, MPI_INT16_T, 9));
    MUST(MPI_Get_elements_x(&status, MPI_INT16_T, &large));
    CHECK_EQUAL(large, 9);
    MUST(MPI_Status_set_elements_c(&status, MPI_BYTE, (MPI_Count)5 << 32));
    MUST(MPI_Get_count_c(&status, MPI_BYTE, &large));
    CHECK_EQUAL(large, (MPI_Count)5 << 32);
    MUST(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MUST(MPI_Status_set_cancelled(&status, 1));
    MUST(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    MUST(MPI_Get_count_c(&status, MPI_BYTE, &large));
    CHECK_EQUAL(large, (MPI_Count)5 << 32);
    MUST(MPI_Status_set_cancelled(&status, 0));
    MUST(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);
    MUST(MPI_Status_set_source(&status, 12));
    MUST(MPI_Status_set_tag(&status, 13));
    MUST(MPI_Status_set_error(&status, MPI_ERR_OTHER));
    CHECK_EQUAL(status.MPI_SOURCE, 12);
    CHECK_EQUAL(status.MPI_TAG, 13);
    CHECK_EQUAL(status.MPI_ERROR, MPI_ERR_OTHER);
    MUST(MPI_Status_get_source(&status, &value));
    CHECK_EQUAL(value, 12);
    MUST(MPI_Status_get_tag(&status, &value));
    CHECK_EQUAL(value, 13);
    MUST(MPI_Status_get_error(&status, &value));
    CHECK_EQUAL(value, MPI_ERR_OTHER);
}

/* A call that completes one request leaves the error field alone (section 3.2.5). */
static void error_field_is_left(void)
{
    MPI_Status status = scrambled_status();
    MPI_Request request;
    int out = 1, in = 0;
    status.MPI_ERROR = 4711;
    MUST(MPI_Irecv(&in, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(&out, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, &status));
    CHECK_STRICTLY(status.MPI_ERROR == 4711);
    CHECK_EQUAL(in, 1);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("whole and partial counts");
    whole_and_partial_counts();
    section("elements of a pair");
    elements_of_a_pair();
    section("a type of no size");
    type_of_no_size();
    section("set by hand");
    set_by_hand();
    error_field_is_left();
    return check_end();
}

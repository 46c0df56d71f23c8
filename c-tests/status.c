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

/* A request for a message that has arrived, and a status with an error field to be left. */
static MPI_Request arrived(MPI_Status *status)
{
    static int out = 1, in[3];
    static unsigned place;
    MPI_Request request;
    *status = scrambled_status();
    status->MPI_ERROR = 4711;
    MUST(MPI_Irecv(&in[place++ % 3], 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(&out, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD));
    return request;
}

/* A call that succeeds leaves the error field alone (section 3.2.5). */
static void error_field_is_left(void)
{
    enum { CALLS = 12 };
    MPI_Status status[CALLS];
    MPI_Request request;
    MPI_Message message;
    int done, flag, index, in, out = 1;
    for (int call = 0; call < CALLS; call++) {
        request = arrived(&status[call]);
        for (done = 0; !done;) {
            switch (call) {
            case 0: MUST(MPI_Wait(&request, &status[call])); done = 1; break;
            case 1: MUST(MPI_Test(&request, &done, &status[call])); break;
            case 2: MUST(MPI_Waitany(1, &request, &index, &status[call])); done = 1; break;
            case 3: MUST(MPI_Testany(1, &request, &index, &done, &status[call])); break;
            case 4: MUST(MPI_Waitall(1, &request, &status[call])); done = 1; break;
            case 5: MUST(MPI_Testall(1, &request, &done, &status[call])); break;
            case 6: MUST(MPI_Waitsome(1, &request, &done, &index, &status[call])); break;
            case 7: MUST(MPI_Testsome(1, &request, &done, &index, &status[call])); break;
            case 8: MUST(MPI_Request_get_status(request, &done, &status[call])); break;
            case 9:
                MUST(MPI_Request_get_status_any(1, &request, &index, &done, &status[call]));
                break;
            case 10:
                MUST(MPI_Request_get_status_all(1, &request, &done, &status[call]));
                break;
            default:
                MUST(MPI_Request_get_status_some(1, &request, &done, &index, &status[call]));
            }
        }
        CHECK_EQUAL(status[call].MPI_TAG, 1);
        if (request != MPI_REQUEST_NULL)
            MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    for (int call = 0; call < CALLS; call++)
        CHECK_STRICTLY(status[call].MPI_ERROR == 4711);
    for (int call = 0; call < 3; call++) {
        MUST(MPI_Isend(&out, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &request));
        flag = 0;
        if (call == 0) {
            MUST(MPI_Probe(check_rank, 1, MPI_COMM_WORLD, &status[0]));
            MUST(MPI_Recv(&in, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &status[1]));
        } else if (call == 1) {
            while (!flag)
                MUST(MPI_Iprobe(check_rank, 1, MPI_COMM_WORLD, &flag, &status[2]));
            MUST(MPI_Mprobe(check_rank, 1, MPI_COMM_WORLD, &message, &status[3]));
            MUST(MPI_Mrecv(&in, 1, MPI_INT, &message, &status[4]));
        } else {
            MPI_Request other;
            int got;
            MUST(MPI_Irecv(&got, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &other));
            MUST(MPI_Sendrecv(&out, 1, MPI_INT, check_rank, 2, &in, 1, MPI_INT, check_rank, 1,
                              MPI_COMM_WORLD, &status[5]));
            MUST(MPI_Wait(&other, MPI_STATUS_IGNORE));
        }
        MUST(MPI_Wait(&request, &status[6]));
    }
    for (int call = 0; call < 7; call++)
        CHECK_STRICTLY(status[call].MPI_ERROR == 4711);
}

/* The status of a null request is empty, with its error field, also in a list (section 3.7.3). */
static void error_field_of_nothing(void)
{
    MPI_Status status[2];
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int flag = 0;
    for (int call = 0; call < 4; call++) {
        status[0].MPI_ERROR = status[1].MPI_ERROR = 4711;
        switch (call) {
        case 0: MUST(MPI_Wait(none, &status[1])); status[0] = status[1]; break;
        case 1: MUST(MPI_Waitall(2, none, status)); break;
        case 2: MUST(MPI_Testall(2, none, &flag, status)); break;
        default: MUST(MPI_Request_get_status_all(2, none, &flag, status));
        }
        CHECK_STRICTLY(status[0].MPI_ERROR == MPI_SUCCESS && status[1].MPI_ERROR == MPI_SUCCESS);
    }
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
    error_field_of_nothing();
    return check_end();
}

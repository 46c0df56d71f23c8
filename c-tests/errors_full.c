/* Without a free handle a call fails with MPI_ERR_NO_MEM and changes nothing: no receive stays
 * posted, and no message leaves the queue of unexpected messages. The number of handles is that of
 * this library, so all checks are strict. */
#include "check.h"

enum { HANDLES = 1 << 20, EMPTY = 0x33 };

static MPI_Request *requests;

static void send_to_self(int tag, int value)
{
    MUST(MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_SELF));
}

static void receive_from_self(int tag, int expected)
{
    int value = EMPTY;
    MUST(MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK_EQUAL(value, expected);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    if (check_rank == 0 && check_strict()) {
        MPI_Request none = MPI_REQUEST_NULL;
        MPI_Message message;
        int value = EMPTY, found = 0;
        requests = malloc(HANDLES * sizeof requests[0]);
        send_to_self(1, 1);
        send_to_self(2, 2);
        MUST(MPI_Mprobe(0, 2, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE));
        for (int index = 0; index < HANDLES; index++)
            MUST(MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[index]));

        MUST_FAIL(MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &none), MPI_ERR_NO_MEM);
        receive_from_self(1, 1);
        MUST_FAIL(MPI_Irecv(&value, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &none), MPI_ERR_NO_MEM);
        send_to_self(3, 3);
        receive_from_self(3, 3);
        MUST_FAIL(MPI_Isend(&value, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &none), MPI_ERR_NO_MEM);
        MUST(MPI_Iprobe(0, 4, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE));
        CHECK(!found);
        MUST_FAIL(MPI_Imrecv(&value, 1, MPI_INT, &message, &none), MPI_ERR_NO_MEM);
        CHECK_EQUAL(value, EMPTY);
        MUST(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
        CHECK_EQUAL(value, 2);
        MUST(MPI_Waitall(HANDLES, requests, MPI_STATUSES_IGNORE));
        MUST(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &none));
        MUST(MPI_Wait(&none, MPI_STATUS_IGNORE));
        free(requests);
    }
    return check_end();
}

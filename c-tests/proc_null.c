/* MPI_PROC_NULL as partner of everything that sends or receives: complete at once, nothing
 * moves, and the status of a receive says so (MPI 5.0, section 3.10). */
#include "check.h"

typedef int (*Blocking)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*Starting)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int value = 5;

static void sends(void)
{
    const Blocking blocking[] = {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend};
    const Starting starting[] = {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend};
    const Starting persistent[] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init,
                                   MPI_Bsend_init};
    for (int mode = 0; mode < 4; mode++) {
        MPI_Request request;
        MPI_Status status;
        int flag = 0, cancelled = 1;
        MUST(blocking[mode](&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
        MUST(starting[mode](&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request));
        MUST(MPI_Test(&request, &flag, &status));
        CHECK(flag);
        CHECK(request == MPI_REQUEST_NULL);
        MUST(MPI_Test_cancelled(&status, &cancelled));
        CHECK(!cancelled);
        MUST(persistent[mode](&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request));
        for (int round = 0; round < 2; round++) {
            MUST(MPI_Start(&request));
            MUST(MPI_Wait(&request, &status));
        }
        MUST(MPI_Request_free(&request));
    }
}

static void receives(void)
{
    MPI_Status status = scrambled_status();
    MPI_Request request;
    int flag = 0;
    MUST(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &status));
    CHECK(status_is_of_null(&status));
    status = scrambled_status();
    MUST(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    MUST(MPI_Test(&request, &flag, &status));
    CHECK(flag);
    CHECK(status_is_of_null(&status));
    MUST(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &request));
    flag = 0;
    status = scrambled_status();
    MUST(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag);
    CHECK(status_is_of_null(&status));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQUAL(value, 5);
}

static void several_at_once(void)
{
    MPI_Request request[4];
    MPI_Status status[4];
    for (int index = 0; index < 4; index++) {
        status[index] = scrambled_status();
        MUST(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, index, MPI_COMM_WORLD,
                       &request[index]));
    }
    MUST(MPI_Waitall(4, request, status));
    for (int index = 0; index < 4; index++)
        CHECK(status_is_of_null(&status[index]));
}

static void both_ways(void)
{
    MPI_Status status = scrambled_status();
    MPI_Request request;
    int mine = 8;
    MUST(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &mine, 1, MPI_INT, MPI_PROC_NULL, 1,
                      MPI_COMM_WORLD, &status));
    CHECK(status_is_of_null(&status));
    status = scrambled_status();
    MUST(MPI_Sendrecv_replace(&mine, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1,
                              MPI_COMM_WORLD, &status));
    CHECK(status_is_of_null(&status));
    MUST(MPI_Isendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &mine, 1, MPI_INT, MPI_PROC_NULL,
                       1, MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Isendrecv_replace(&mine, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1,
                               MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQUAL(mine, 8);
}

int main(int argc, char **argv)
{
    char buffer[4 * (MPI_BSEND_OVERHEAD + 4)];
    void *address;
    int size;
    check_start(&argc, &argv);
    MUST(MPI_Buffer_attach(buffer, sizeof buffer));
    section("sends");
    sends();
    section("receives");
    receives();
    section("several at once");
    several_at_once();
    section("both ways");
    both_ways();
    MUST(MPI_Buffer_detach(&address, &size));
    return check_end();
}

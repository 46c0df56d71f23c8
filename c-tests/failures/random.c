/* Processes end at random instructions (by a timer) while all exchange messages, reduce, revoke, agree and shrink;
 * those that are left end with a result that is right. The argument is a seed. */
#include "failures.h"
#include <sys/time.h>

static void on_alarm(int signal)
{
    (void)signal;
    raise(SIGKILL);
}

/* A round of work; its code is the first error. */
static int work(MPI_Comm comm, int round)
{
    static int from[40000], to[40000];
    int me, members, code;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    int count = round % 3 == 0 ? 1 : round % 3 == 1 ? 2000 : 40000;
    int next = (me + 1) % members, last = (me + members - 1) % members;
    for (int index = 0; index < count; index++)
        from[index] = me + index;
    code = MPI_Sendrecv(from, count, MPI_INT, next, 1, to, count, MPI_INT, last, 1, comm,
                        MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS)
        return code;
    EXPECT_IS(to[count - 1], last + count - 1);
    code = MPI_Allreduce(from, to, count, MPI_INT, MPI_SUM, comm);
    if (code != MPI_SUCCESS)
        return code;
    EXPECT_IS(to[count - 1], members * (members - 1) / 2 + members * (count - 1));
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Irecv(to, count, MPI_INT, MPI_ANY_SOURCE, 2, comm, &requests[0]);
    MPI_Isend(from, count, MPI_INT, next, 2, comm, &requests[1]);
    MPI_Status statuses[2];
    code = MPI_Waitall(2, requests, statuses);
    if (code != MPI_SUCCESS) {
        MPIX_Comm_revoke(comm);
        for (int one = 0; one < 2; one++)
            if (requests[one] != MPI_REQUEST_NULL)
                MPI_Wait(&requests[one], MPI_STATUS_IGNORE);
    }
    return code;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int seed = argc > 1 ? atoi(argv[1]) : 1, victims = 0, dies = 0;
    srand(seed);
    for (int other = 1; other < size; other++) {
        int chosen = rand() % 3 != 0;
        victims += chosen;
        dies |= chosen && other == rank;
    }
    srand(seed * 100 + rank);
    if (dies) {
        struct itimerval timer = {{0, 0}, {0, 200 + rand() % 20000}};
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    MPI_Comm comm = MPI_COMM_WORLD, next;
    int members = size, rounds = 0;
    while (members > size - victims || rounds < 20) {
        int code = work(comm, rounds++), good = code == MPI_SUCCESS;
        if (!good)
            MPIX_Comm_revoke(comm);
        code = MPIX_Comm_agree(comm, &good);
        if (good && code == MPI_SUCCESS)
            continue;
        MPIX_Comm_revoke(comm);
        EXPECT_IS(MPIX_Comm_shrink(comm, &next), MPI_SUCCESS);
        MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
        if (comm != MPI_COMM_WORLD)
            MPI_Comm_free(&comm);
        comm = next;
        MPI_Comm_size(comm, &members);
        rounds = 0;
    }
    check_works(comm, size - victims);
    return end(comm);
}

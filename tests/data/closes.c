/* The last rank closes its connections to the others, and is killed a moment later: they hear of its end before
   the launcher does. */
#include <mpi.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int peer = 0; peer < size; peer++)
        MPI_Sendrecv(&rank, 1, MPI_INT, (peer + size - rank) % size, 0, &(int){0}, 1, MPI_INT,
                     (peer + size - rank) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == size - 1) {
        for (int descriptor = 3; descriptor < 1024; descriptor++) {
            struct sockaddr_storage name;
            socklen_t length = sizeof name;
            if (getsockname(descriptor, (struct sockaddr *)&name, &length) == 0 &&
                (name.ss_family == AF_INET || name.ss_family == AF_INET6))
                close(descriptor);
        }
        usleep(300000);
        kill(getpid(), SIGKILL);
    }
    for (int times = 0; times < 100000; times++)
        MPI_Send(&rank, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}

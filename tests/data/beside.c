/* Messages move beside a rank that is outside MPI: rank 0 begins something and then only waits for
 * files that the others write once their part of it is over, which takes more than what rank 0 has
 * done by then. Without anybody who moves messages for it, this program does not end.
 *
 *   mpirun -n N beside FOLDER */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 3 << 20, TAG = 1 };

static int rank, size;
static const char *folder;

/* This rank is done with a step. */
static void tell(const char *step)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", folder, step, rank);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* Waits, without MPI, until all others are. */
static void hear(const char *step)
{
    for (int other = 1; other < size; other++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.%d", folder, step, other);
        while (access(path, F_OK) != 0) usleep(1000);
    }
}

static void expect(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* More short messages than any queue between two ranks has room for. */
static void short_messages(void)
{
    enum { MANY = 100000 };
    static int sent[MANY];
    MPI_Request *requests = malloc(MANY * sizeof *requests);
    for (int other = 1; rank == 0 && other < size; other++) {
        for (int index = 0; index < MANY; index++) {
            sent[index] = index;
            MPI_Isend(&sent[index], 1, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[index]);
        }
        if (other < size - 1) MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    }
    for (int index = 0; rank > 0 && index < MANY; index++) {
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got == index, "short messages have come");
    }
    if (rank == 0) {
        hear("short");
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    } else {
        tell("short");
    }
    free(requests);
}

static void long_messages(char *data)
{
    MPI_Request *requests = malloc(size * sizeof *requests);
    if (rank == 0) {
        for (int other = 1; other < size; other++)
            MPI_Irecv(data + (size_t)other * BYTES, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                      &requests[other]);
        hear("received");
        MPI_Waitall(size - 1, requests + 1, MPI_STATUSES_IGNORE);
        for (int other = 1; other < size; other++)
            expect(data[(size_t)other * BYTES] == other
                       && data[(size_t)(other + 1) * BYTES - 1] == other,
                   "long messages have come");
        for (int other = 1; other < size; other++)
            MPI_Isend(data, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &requests[other]);
        hear("sent");
        MPI_Waitall(size - 1, requests + 1, MPI_STATUSES_IGNORE);
    } else {
        memset(data, rank, BYTES);
        MPI_Send(data, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        tell("received");
        MPI_Recv(data, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        tell("sent");
    }
    free(requests);
}

/* Of several rounds: each rank has something to do after others have. */
static void collectives(void)
{
    static const char *const steps[] = {"first", "second"};
    for (int turn = 0; turn < 2; turn++) {
        MPI_Request request;
        int mine = rank + turn, sum = 0;
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (rank == 0) hear(steps[turn]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank != 0) tell(steps[turn]);
        expect(sum == size * (size - 1) / 2 + size * turn, "sums are right");
    }
}

/* A child of this process ends by itself, and leaves its parent alone. */
static void children(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) exit(7);
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child ends");
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    folder = count > 1 ? words[1] : ".";
    char *data = calloc(size, BYTES);
    short_messages();
    long_messages(data);
    children();
    collectives();
    free(data);
    if (rank == 0) printf("all beside\n");
    MPI_Finalize();
    return 0;
}

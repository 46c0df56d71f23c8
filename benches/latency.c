/* What small and long messages cost on any MPI, and what a bare cache line costs beside them.
 *
 *   latency line WINDOWS                   no MPI: two processes bounce a line of shared memory
 *   mpirun -n 2 latency ping WINDOWS       8 bytes there and back, MPI_Send and MPI_Recv
 *   mpirun -n 2 latency stream BYTES WINDOWS   one direction, 64 messages and then an answer
 *
 * Prints one figure a window: nanoseconds one way (line, ping), or MB/s (stream). Windows are short
 * so that some of them are undisturbed on a shared machine; who reads them takes medians.
 * The two processes confine themselves to the first two processors that they may use. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRIPS = 1000, WINDOW = 64, WINDOWS_MAX = 10000 };

static double figures[WINDOWS_MAX];

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void fail(const char *why)
{
    fprintf(stderr, "latency: %s\n", why);
    exit(2);
}

/* The processor for `side`: launchers may bind each rank to one, so all of the machine count. */
static void confine(int side)
{
    int chosen = -1, seen = 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE && chosen < 0; cpu++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0 && seen++ == side) chosen = cpu;
    }
    if (chosen < 0) fail("two processors are needed");
}

static void print(int windows)
{
    for (int window = 0; window < windows; window++) printf("%.2f\n", figures[window]);
}

/* Waits for odd or even numbers and answers with the next one. */
static void bounce(_Atomic long *line, long mine, int windows)
{
    long next = mine;
    for (int window = 0; window < windows; window++) {
        double begin = seconds();
        for (int trip = 0; trip < TRIPS; trip++, next += 2) {
            while (atomic_load_explicit(line, memory_order_acquire) != next)
                __builtin_ia32_pause();
            atomic_store_explicit(line, next + 1, memory_order_release);
        }
        figures[window] = (seconds() - begin) * 1e9 / (2 * TRIPS);
    }
}

static void bare_line(int windows)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) fail("no shared memory");
    pid_t child = fork();
    if (child < 0) fail("no second process");
    confine(child == 0);
    bounce(page, child == 0, windows);
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    print(windows);
}

static void trip(int rank, int other)
{
    long word = 0;
    if (rank == 0) MPI_Send(&word, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD);
    MPI_Recv(&word, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&word, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD);
}

static void ping(int rank, int windows)
{
    for (int i = 0; i < TRIPS; i++) trip(rank, 1 - rank);
    for (int window = 0; window < windows; window++) {
        double begin = seconds();
        for (int i = 0; i < TRIPS; i++) trip(rank, 1 - rank);
        figures[window] = (seconds() - begin) * 1e9 / (2 * TRIPS);
    }
}

/* Sends or receives 64 messages and one empty answer. */
static void burst(int rank, char *buffer, int bytes)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0)
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

static void stream(int rank, int bytes, int windows)
{
    char *buffer = malloc(bytes);
    if (!buffer) fail("no memory for the message");
    memset(buffer, rank + 1, bytes);
    burst(rank, buffer, bytes);
    for (int window = 0; window < windows; window++) {
        double begin = seconds();
        burst(rank, buffer, bytes);
        figures[window] = (double)WINDOW * bytes / (seconds() - begin) * 1e-6;
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    int windows = argc > 2 ? atoi(argv[argc - 1]) : 0;
    if (windows < 1 || windows > WINDOWS_MAX) fail("a number of windows is needed");
    if (strcmp(mode, "line") == 0) {
        bare_line(windows);
        return 0;
    }
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) fail("two ranks are needed");
    confine(rank);
    if (strcmp(mode, "ping") == 0) ping(rank, windows);
    else if (strcmp(mode, "stream") == 0 && argc == 4) stream(rank, atoi(argv[2]), windows);
    else fail("no such mode");
    if (rank == 0) print(windows);
    MPI_Finalize();
    return 0;
}

// The last rank leaves MPI in the way that the first argument names; the others wait for it.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const char *way;

static int is(const char *name) { return strcmp(way, name) == 0; }

static void leave(int number) {
    (void)number;
    _exit(0);
}

// Ends this process a moment from now, wherever it is then.
static void leave_soon(void) {
    struct itimerval soon = {.it_value = {.tv_usec = 300}};
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void depart(char **argv) {
    fflush(stdout);
    if (is("exit")) {
        exit(0);
    } else if (is("exec-long")) {
        execlp("sleep", "sleep", "600", (char *)NULL);
    } else if (is("exec-short")) {
        execlp("true", "true", (char *)NULL);
    } else if (is("exec-mpi")) {
        execl(argv[0], argv[0], "stay", (char *)NULL);
    } else if (is("fork")) {
        if (fork() == 0) {
            sleep(600);
            _exit(0);
        }
    } else if (is("fork-exit")) {
        if (fork() == 0) {
            exit(0);
        }
        usleep(200000);
    } else if (is("fork-leave")) {
        if (fork() == 0) {
            sleep(600);
        }
        exit(0);
    } else if (is("system")) {
        printf("command %d\n", system(argv[2]));
    } else if (is("soon")) {
        pause();
    }
}

int main(int argc, char **argv) {
    way = argc > 1 ? argv[1] : "stay";
    const char *number = getenv("PMI_RANK"), *count = getenv("PMI_SIZE");
    int is_last = number && count && atoi(number) == atoi(count) - 1;
    if (is_last && is("never")) {
        return 0;
    } else if (is_last && is("soon")) {
        leave_soon();
    }
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\n", rank, size);
    if (rank == size - 1) {
        depart(argv);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

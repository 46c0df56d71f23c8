/* Spawns a process many times, exchanges a message with it and disconnects.
 *
 *   spawns COUNT
 *
 * Prints by how much the resident memory and the descriptors of this process and of each mpirun above it have
 * grown since the first tenth of the spawns: all that a spawn needs once is there then. */
#include "../../c-tests/process_status.h"
#include <mpi.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEEPEST = 8 };

struct usage {
    int pid;
    long kib, descriptors;
};

static int is_mpirun(int pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "r");
    if (file) {
        if (!fgets(name, sizeof name, file))
            name[0] = 0;
        fclose(file);
    }
    return strcmp(name, "mpirun\n") == 0;
}

static long descriptors_of(int pid)
{
    char path[64];
    long count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* This process and all of mpirun above it; their number. */
static int look(struct usage *at)
{
    int count = 0, pid = getpid();
    do {
        at[count++] = (struct usage){pid, status_of(pid, "VmRSS:"), descriptors_of(pid)};
        pid = (int)status_of(pid, "PPid:");
    } while (count < DEEPEST && is_mpirun(pid));
    return count;
}

static int spawn_one(const char *self, int value)
{
    MPI_Comm child;
    int back = -1;
    MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE);
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &back, 1, MPI_INT, 0, 1, child, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&child);
    return back == value + 1;
}

static void be_child(MPI_Comm parent)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
    value++;
    MPI_Send(&value, 1, MPI_INT, 0, 1, parent);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        be_child(parent);
        MPI_Finalize();
        return 0;
    }
    int count = argc > 1 ? atoi(argv[1]) : 10, right = 0, processes = 0;
    struct usage before[DEEPEST], after[DEEPEST];
    for (int done = 0; done < count; done++) {
        if (done == count / 10)
            processes = look(before);
        right += spawn_one(argv[0], done);
    }
    /* The last child may still be ending. */
    sleep(1);
    int now = look(after);
    long memory = 0, descriptors = 0;
    for (int at = 0; at < now; at++) {
        fprintf(stderr, "process %d: %ld to %ld KiB, %ld to %ld descriptors\n", after[at].pid, before[at].kib,
                after[at].kib, before[at].descriptors, after[at].descriptors);
        long more = after[at].kib - before[at].kib, open = after[at].descriptors - before[at].descriptors;
        memory = more > memory ? more : memory;
        descriptors = open > descriptors ? open : descriptors;
    }
    printf("spawns = %d, right = %d, mpirun = %d, memory = %ld KiB, descriptors = %ld\n", count, right,
           now == processes ? now - 1 : -1, memory, descriptors);
    MPI_Finalize();
    return 0;
}

/* Two independently started jobs (MPI 5.0 §11.9): `jobs_meet accept FILE` writes the name of a port to FILE,
 * `jobs_meet connect FILE` reads it. They meet several times, with all ranks and with single ones. */
#include "../check.h"

static char port[MPI_MAX_PORT_NAME];
static int accepts;

static MPI_Comm meet(MPI_Comm comm)
{
    MPI_Comm between;
    if (accepts)
        MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, &between));
    else
        MUST(MPI_Comm_connect(port, MPI_INFO_NULL, 0, comm, &between));
    return between;
}

static void write_port(const char *path)
{
    char before[1000];
    MUST(MPI_Open_port(MPI_INFO_NULL, port));
    snprintf(before, sizeof before, "%s.new", path);
    FILE *file = fopen(before, "w");
    CHECK(file != NULL && fputs(port, file) >= 0 && fclose(file) == 0);
    CHECK(rename(before, path) == 0);
}

static void read_port(const char *path)
{
    FILE *file;
    while ((file = fopen(path, "r")) == NULL)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    CHECK(fgets(port, sizeof port, file) != NULL);
    fclose(file);
}

/* All pairs of processes exchange a short and a long message. */
static void exchange(MPI_Comm between)
{
    enum { LONG = 200000 };
    int mine, others;
    MUST(MPI_Comm_rank(between, &mine));
    MUST(MPI_Comm_remote_size(between, &others));
    char *out = malloc(LONG), *in = malloc(LONG);
    for (int other = 0; other < others; other++) {
        for (int length = 1; length <= LONG; length = length == 1 ? 5000 : length * 40) {
            memset(out, mine + 1, length);
            memset(in, 0, length);
            MPI_Status status;
            MUST(MPI_Sendrecv(out, length, MPI_CHAR, other, 4, in, length, MPI_CHAR, other, 4, between,
                              &status));
            CHECK(in[0] == other + 1 && in[length - 1] == other + 1 && status.MPI_SOURCE == other);
        }
    }
    free(out);
    free(in);
}

static void collectives(MPI_Comm between)
{
    int mine, size, others;
    MUST(MPI_Comm_rank(between, &mine));
    MUST(MPI_Comm_size(between, &size));
    MUST(MPI_Comm_remote_size(between, &others));
    int value = accepts ? 100 : 1, sum = 0;
    MUST(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, between));
    CHECK(sum == others * (accepts ? 1 : 100));
    MPI_Comm all, copy, part;
    MUST(MPI_Intercomm_merge(between, !accepts, &all));
    int rank, total;
    MUST(MPI_Comm_rank(all, &rank));
    MUST(MPI_Comm_size(all, &total));
    CHECK(total == size + others && rank == (accepts ? mine : others + mine));
    MUST(MPI_Comm_dup(all, &copy));
    MUST(MPI_Comm_split(copy, rank % 2, -rank, &part));
    int *given = malloc(total * sizeof *given), *got = malloc(total * sizeof *got);
    for (int other = 0; other < total; other++)
        given[other] = rank * 1000 + other;
    MUST(MPI_Alltoall(given, 1, MPI_INT, got, 1, MPI_INT, copy));
    for (int other = 0; other < total; other++)
        CHECK(got[other] == other * 1000 + rank);
    MUST(MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, copy));
    CHECK(sum == rank * (rank + 1) / 2);
    int highest = -1;
    MUST(MPI_Allreduce(&rank, &highest, 1, MPI_INT, MPI_MAX, part));
    CHECK(highest >= rank && highest % 2 == rank % 2);
    free(given);
    free(got);
    /* A window over processes of two jobs. */
    MPI_Win window;
    int *memory;
    MUST(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, copy, &memory, &window));
    *memory = -1;
    MUST(MPI_Win_fence(0, window));
    MUST(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % total, 0, 1, MPI_INT, window));
    MUST(MPI_Win_fence(0, window));
    CHECK(*memory == (rank + total - 1) % total);
    MUST(MPI_Win_free(&window));
    MUST(MPI_Comm_free(&part));
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_free(&all));
}

/* A group holds on to the processes of the other job after the communicator is gone. */
static void groups_that_stay(int keepers, int turns)
{
    enum { ACCEPTING = 1, CONNECTING = 2 };
    MPI_Group groups[4];
    int keeps = keepers & (accepts ? ACCEPTING : CONNECTING);
    for (int turn = 0; turn < turns; turn++) {
        MPI_Comm between = meet(MPI_COMM_WORLD);
        exchange(between);
        MUST(MPI_Comm_remote_group(between, &groups[turn]));
        if (turn > 0 && keeps) {
            int same;
            MUST(MPI_Group_compare(groups[turn], groups[0], &same));
            CHECK(same == MPI_IDENT);
        }
        if (!keeps)
            MUST(MPI_Group_free(&groups[turn]));
        MUST(MPI_Comm_disconnect(&between));
    }
    for (int turn = 0; keeps && turn < turns; turn++)
        MUST(MPI_Group_free(&groups[turn]));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    accepts = argc > 2 && strcmp(argv[1], "accept") == 0;
    if (check_rank == 0 && accepts)
        write_port(argv[2]);
    else if (check_rank == 0)
        read_port(argv[2]);

    section("all ranks");
    for (int turn = 0; turn < 3; turn++) {
        MPI_Comm between = meet(MPI_COMM_WORLD);
        exchange(between);
        collectives(between);
        MUST(MPI_Comm_disconnect(&between));
    }

    section("groups that stay after a disconnect");
    for (int keepers = 0; keepers < 4; keepers++)
        groups_that_stay(keepers, 3);

    section("single ranks, and all beside them");
    MPI_Comm single = MPI_COMM_NULL;
    if (check_rank == 0) {
        single = meet(MPI_COMM_SELF);
        exchange(single);
    }
    MPI_Comm between = meet(MPI_COMM_WORLD);
    collectives(between);
    MUST(MPI_Comm_disconnect(&between));
    if (check_rank == 0) {
        exchange(single);
        MUST(MPI_Comm_disconnect(&single));
        if (accepts)
            MUST(MPI_Close_port(port));
    }
    return check_end();
}

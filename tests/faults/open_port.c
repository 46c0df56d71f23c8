/* A job with an open port, at which strangers knock, and the jobs that connect to it.
 *
 *   open_port accept FILE    at least three ranks: rank 0 opens a port, writes its name to FILE and accepts one
 *                            connection; the others exchange messages until then
 *   open_port connect FILE   connects, exchanges a message, disconnects
 *   open_port wrong FILE     tries to connect with digits of the job and of the secrets changed; all must fail */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

/* One message between the first processes of both jobs; whether it was right. */
static int exchange(MPI_Comm between)
{
    int out = 41, in = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, between, MPI_STATUS_IGNORE);
    return in == out;
}

static int accept_one(const char *path)
{
    char port[MPI_MAX_PORT_NAME], before[4096];
    MPI_Comm between;
    MPI_Open_port(MPI_INFO_NULL, port);
    snprintf(before, sizeof before, "%s.new", path);
    FILE *file = fopen(before, "w");
    if (!file || fprintf(file, "%s\n", port) < 0 || fclose(file) != 0 || rename(before, path) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
    int good = exchange(between);
    MPI_Comm_disconnect(&between);
    MPI_Close_port(port);
    return good;
}

/* Messages between the ranks above 0 until rank 0 has accepted; how many were wrong. */
static long work(MPI_Comm others)
{
    enum { LONG = 20000 };
    static int out[LONG], in[LONG];
    int has_ended = 0, all = 0, me, members;
    long rounds = 0, wrong = 0;
    MPI_Request end;
    MPI_Comm_rank(others, &me);
    MPI_Comm_size(others, &members);
    MPI_Irecv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &end);
    for (; !all; rounds++) {
        out[0] = out[LONG - 1] = (int)rounds;
        MPI_Sendrecv(out, LONG, MPI_INT, (me + 1) % members, 3, in, LONG, MPI_INT, (me + members - 1) % members,
                     3, others, MPI_STATUS_IGNORE);
        wrong += in[0] != rounds || in[LONG - 1] != rounds;
        if (!has_ended)
            MPI_Test(&end, &has_ended, MPI_STATUS_IGNORE);
        MPI_Allreduce(&has_ended, &all, 1, MPI_INT, MPI_MIN, others);
    }
    return wrong + (rounds < 10);
}

/* Tries the name of a port with one digit of its secrets changed; whether the class of the error is right. */
static int is_refused(char *port, char *digit)
{
    char was = *digit;
    MPI_Comm between;
    int class = MPI_SUCCESS;
    *digit = was == '0' ? '1' : '0';
    MPI_Error_class(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between), &class);
    *digit = was;
    return class == MPI_ERR_PORT;
}

/* The name has fields between slashes, of which the second is the job, and the fourth and fifth are secrets. */
static int refusals(char *port)
{
    int tried = 0, refused = 0, field = 0;
    for (char *at = port; *at && field < 5; at++) {
        field += *at == '/';
        int is_secret = field == 1 || field == 3 || field == 4;
        int is_end = at[-(at > port)] == '/' || at[1] == '/';
        if (is_secret && is_end && *at != '/') {
            tried++;
            refused += is_refused(port, at);
        }
    }
    printf("tried = %d, refused = %d\n", tried, refused);
    return tried == 6 && refused == 6;
}

static int be_acceptor(const char *path)
{
    long wrong = 0, all = 0;
    int good = 1;
    MPI_Comm others;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &others);
    if (rank == 0)
        good = accept_one(path);
    for (int other = 1; other < size && rank == 0; other++)
        MPI_Send(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD);
    if (rank > 0)
        wrong = work(others);
    MPI_Comm_free(&others);
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("accepted = %d, wrong = %ld\n", good, all);
    return good && all == 0;
}

static int be_client(const char *path, int has_wrong_name)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm between;
    FILE *file = fopen(path, "r");
    if (!file || !fgets(port, sizeof port, file))
        MPI_Abort(MPI_COMM_WORLD, 2);
    fclose(file);
    port[strcspn(port, "\n")] = 0;
    if (has_wrong_name)
        return refusals(port);
    if (MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between) != MPI_SUCCESS)
        return 0;
    int good = exchange(between);
    MPI_Comm_disconnect(&between);
    return good;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int accepts = argc > 2 && strcmp(argv[1], "accept") == 0;
    if (argc < 3 || (accepts && size < 3))
        MPI_Abort(MPI_COMM_WORLD, 2);
    int good = accepts ? be_acceptor(argv[2]) : be_client(argv[2], strcmp(argv[1], "wrong") == 0);
    MPI_Finalize();
    return good ? 0 : 3;
}

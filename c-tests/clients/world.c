/* A world of several clients, whose sizes are the arguments: its order, the attributes of IMPI, messages of
 * any length and mode between any two ranks, and a session beside it. */
#include "../check.h"

#include <mpi-ext.h>

static int attribute(MPI_Comm comm, int key)
{
    int *value = NULL, found = 0;
    MUST(MPI_Comm_get_attr(comm, key, &value, &found));
    CHECK(found && value);
    return found && value ? *value : -1;
}

static void order(int clients, char **sizes)
{
    int first = 0, client = 0;
    while (client < clients && check_rank >= first + atoi(sizes[client]))
        first += atoi(sizes[client++]);
    CHECK_EQUAL(attribute(MPI_COMM_WORLD, IMPI_CLIENT_SIZE), clients);
    CHECK_EQUAL(attribute(MPI_COMM_WORLD, IMPI_CLIENT_COLOR), client);
    CHECK_EQUAL(attribute(MPI_COMM_WORLD, IMPI_HOST_SIZE), clients);
    CHECK_EQUAL(attribute(MPI_COMM_SELF, IMPI_CLIENT_SIZE), 1);
    CHECK_EQUAL(attribute(MPI_COMM_SELF, IMPI_CLIENT_COLOR), 0);
    MPI_Comm own;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, client, 0, &own));
    int size, rank;
    MUST(MPI_Comm_size(own, &size));
    MUST(MPI_Comm_rank(own, &rank));
    CHECK_EQUAL(size, atoi(sizes[client]));
    CHECK_EQUAL(rank, check_rank - first);
    CHECK_EQUAL(attribute(own, IMPI_CLIENT_SIZE), 1);
    CHECK_EQUAL(attribute(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE), check_size);
    MUST(MPI_Comm_free(&own));
}

/* To the next rank and from the one before, in a mode. */
static void around(size_t len, int is_synchronous)
{
    unsigned char *out = take(len + 1), *in = take(len + 1);
    int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
    for (size_t at = 0; at < len; at++)
        out[at] = (unsigned char)((size_t)check_rank * 31 + at * 7);
    MPI_Request request;
    MPI_Status status;
    if (is_synchronous)
        MUST(MPI_Issend(out, (int)len, MPI_BYTE, next, (int)(len % 100), MPI_COMM_WORLD, &request));
    else
        MUST(MPI_Isend(out, (int)len, MPI_BYTE, next, (int)(len % 100), MPI_COMM_WORLD, &request));
    if (len % 3 == 0) {
        MUST(MPI_Probe(before, (int)(len % 100), MPI_COMM_WORLD, &status));
        int count;
        MUST(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK_EQUAL(count, (int)len);
    }
    MUST(MPI_Recv(in, (int)len, MPI_BYTE, before, (int)(len % 100), MPI_COMM_WORLD, &status));
    CHECK_EQUAL(status.MPI_SOURCE, before);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    size_t wrong = 0;
    for (size_t at = 0; at < len; at++)
        wrong += in[at] != (unsigned char)((size_t)before * 31 + at * 7);
    CHECK_EQUAL((int)wrong, 0);
    free(out);
    free(in);
}

/* A message that is longer than its buffer, short and long. */
static void cut(int len)
{
    char *out = take((size_t)len), in[8];
    int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
    memset(out, 5, (size_t)len);
    MPI_Request request;
    MUST(MPI_Isend(out, len, MPI_BYTE, next, 11, MPI_COMM_WORLD, &request));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int code = MPI_Recv(in, 8, MPI_BYTE, before, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE), class = 0;
    MUST(MPI_Error_class(code, &class));
    CHECK_EQUAL(class, MPI_ERR_TRUNCATE);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(out);
}

static void in_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MUST(MPI_Comm_create_from_group(group, "clients", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    int sum = 0, size;
    MUST(MPI_Comm_size(comm, &size));
    CHECK_EQUAL(size, check_size);
    MUST(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, check_size * (check_size - 1) / 2);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("the order");
    order(argc - 1, argv + 1);
    section("messages");
    static const size_t lengths[] = {0, 1, 255, 256, 257, 4096, 65535, 65536, 65537, 300000, 1 << 20};
    for (size_t at = 0; at < sizeof lengths / sizeof *lengths; at++) {
        around(lengths[at], 0);
        around(lengths[at], 1);
    }
    section("truncation");
    cut(9);
    cut(70000);
    cut(400000);
    section("a session");
    in_session();
    return check_end();
}

/* Messages of all lengths between processes of two jobs, both ways at the same time, before and after the
 * processes share memory: they come whole and in order. Children are this program, too. */
#include "../check.h"

enum { ROUNDS = 12, LENGTHS = 11 };
static const int lengths[LENGTHS] = {0, 8, 40, 41, 1000, 16384, 32768, 32769, 65536, 300000, 2 << 20};

static char content(int round, int length, int from)
{
    return (char)(round * 31 + length * 7 + from * 3 + 1);
}

/* Every process with every process of the other job. */
static void exchange(MPI_Comm between, int round, int is_child)
{
    int rank, others;
    MUST(MPI_Comm_rank(between, &rank));
    MUST(MPI_Comm_remote_size(between, &others));
    int own = rank + 100 * is_child;
    MPI_Request requests[2 * LENGTHS];
    char *sent[LENGTHS], *received[LENGTHS];
    for (int other = 0; other < others; other++) {
        for (int at = 0; at < LENGTHS; at++) {
            int length = lengths[at];
            sent[at] = malloc(length + 1);
            received[at] = calloc(length + 1, 1);
            memset(sent[at], content(round, at, own), length);
            /* One tag for all: only the order says which is which. */
            MUST(MPI_Irecv(received[at], length, MPI_CHAR, other, 3, between, &requests[at]));
        }
        for (int at = 0; at < LENGTHS; at++)
            MUST(MPI_Isend(sent[at], lengths[at], MPI_CHAR, other, 3, between, &requests[LENGTHS + at]));
        MPI_Status states[2 * LENGTHS];
        MUST(MPI_Waitall(2 * LENGTHS, requests, states));
        int from = other + 100 * !is_child;
        for (int at = 0; at < LENGTHS; at++) {
            int count, good = 1;
            MUST(MPI_Get_count(&states[at], MPI_CHAR, &count));
            CHECK(count == lengths[at]);
            for (int byte = 0; byte < lengths[at]; byte++)
                good &= received[at][byte] == content(round, at, from);
            CHECK(good);
            free(sent[at]);
            free(received[at]);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm between;
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_get_parent(&between));
    int is_child = between != MPI_COMM_NULL;
    if (is_child) {
        alarm(CHECK_LIMIT_S);
        MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    } else {
        check_adopt();
        section("messages of all lengths between two jobs");
        MUST(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                            MPI_ERRCODES_IGNORE));
    }
    for (int round = 0; round < ROUNDS; round++)
        exchange(between, round, is_child);
    /* What is sent last arrives although its sender leaves at once. */
    int rank, last = -1;
    MUST(MPI_Comm_rank(between, &rank));
    if (is_child && rank == 0)
        MUST(MPI_Send(&(int){77}, 1, MPI_INT, 0, 4, between));
    if (!is_child && rank == 0) {
        MUST(MPI_Recv(&last, 1, MPI_INT, 0, 4, between, MPI_STATUS_IGNORE));
        CHECK(last == 77);
    }
    if (is_child) {
        int errors = check_errors;
        MPI_Finalize();
        return errors != 0;
    }
    return check_end();
}

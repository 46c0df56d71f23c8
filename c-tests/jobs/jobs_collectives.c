/* Collective operations of processes of two jobs of one host, whose communicators have shared segments like those
 * of one job (not where SUIRO_DEVICE is tcp). Children are this program, too. */
#include "children.h"

#include <mpi-ext.h>

enum { CHILDREN = 3, LONG = 100000 };

static int shares;  /* whether the jobs share memory */

/* Mappings of the pools of segments, which are the largest ones. */
static int pools(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    int count = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from = 0, to = 0;
        if (strstr(line, "memfd:suiro") != NULL && sscanf(line, "%lx-%lx", &from, &to) == 2)
            count += to - from >= (1ul << 24);
    }
    if (maps != NULL)
        fclose(maps);
    return count;
}

static int element(int rank, int index)
{
    return rank * 7 + index % 1000;
}

/* Each kind of data movement with `count` elements of each rank, beside what it must give. */
static void moves(MPI_Comm comm, int count)
{
    int rank, size;
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_size(comm, &size));
    size_t all_count = (size_t)count * (size_t)size;
    int *own = take((size_t)count * sizeof *own + 1), *all = take(all_count * sizeof *all + 1);
    int *blocks = take(all_count * sizeof *blocks + 1), *sums = take((size_t)count * sizeof *sums + 1);
    for (int i = 0; i < count; i++)
        own[i] = element(rank, i);
    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
        for (int i = 0; i < count; i++)
            sums[i] = rank == root ? element(root, i) : -1;
        MUST(MPI_Bcast(sums, count, MPI_INT, root, comm));
        for (int i = 0; i < count; i++)
            CHECK_EQUAL(sums[i], element(root, i));
        MUST(MPI_Gather(own, count, MPI_INT, all, count, MPI_INT, root, comm));
        for (size_t i = 0; rank == root && i < all_count; i++)
            CHECK_EQUAL(all[i], element((int)i / count, (int)i % count));
        MUST(MPI_Scatter(all, count, MPI_INT, sums, count, MPI_INT, root, comm));
        for (int i = 0; i < count; i++)
            CHECK_EQUAL(sums[i], own[i]);
        MUST(MPI_Reduce(own, sums, count, MPI_INT, MPI_SUM, root, comm));
        for (int i = 0; rank == root && i < count; i++)
            CHECK_EQUAL(sums[i], size * (size - 1) / 2 * 7 + size * (i % 1000));
    }
    MUST(MPI_Allgather(own, count, MPI_INT, all, count, MPI_INT, comm));
    for (size_t i = 0; i < all_count; i++)
        CHECK_EQUAL(all[i], element((int)i / count, (int)i % count));
    for (size_t i = 0; i < all_count; i++)
        blocks[i] = element(rank * size + (int)i / count, (int)i % count);
    MUST(MPI_Alltoall(blocks, count, MPI_INT, all, count, MPI_INT, comm));
    for (size_t i = 0; i < all_count; i++)
        CHECK_EQUAL(all[i], element((int)i / count * size + rank, (int)i % count));
    MUST(MPI_Allreduce(own, sums, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(sums[i], size * (size - 1) / 2 * 7 + size * (i % 1000));
    MUST(MPI_Scan(own, sums, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(sums[i], rank * (rank + 1) / 2 * 7 + (rank + 1) * (i % 1000));
    MUST(MPI_Reduce_scatter_block(all, sums, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++) {
        int expected = 0;
        for (int from = 0; from < size; from++)
            expected += element(rank * size + from, i);
        CHECK_EQUAL(sums[i], expected);
    }
    MUST(MPI_Barrier(comm));
    free(own);
    free(all);
    free(blocks);
    free(sums);
}

/* Persistent operations that are started in another order by each rank. */
static void persistent(MPI_Comm comm)
{
    int rank, size;
    MPI_Request requests[3];
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_size(comm, &size));
    int own = 0, sum = 0, word = 0;
    MUST(MPI_Allreduce_init(&own, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]));
    MUST(MPI_Bcast_init(&word, 1, MPI_INT, size - 1, comm, MPI_INFO_NULL, &requests[1]));
    MUST(MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]));
    for (int turn = 0; turn < 100; turn++) {
        own = rank + turn;
        word = rank == size - 1 ? turn : -1;
        for (int i = 0; i < 3; i++)
            MUST(MPI_Start(&requests[(i + rank) % 3]));
        MUST(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
        CHECK_EQUAL(sum, size * (size - 1) / 2 + size * turn);
        CHECK_EQUAL(word, turn);
    }
    for (int i = 0; i < 3; i++)
        MUST(MPI_Request_free(&requests[i]));
}

/* Ranks that come late, so that the others sleep. */
static void late(MPI_Comm comm)
{
    int rank, size;
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_size(comm, &size));
    for (int turn = 0; turn < size; turn++) {
        int one = 1, sum;
        if (turn == rank)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_EQUAL(sum, size);
    }
    for (int turn = 0; turn < 50; turn++) {
        int flag = ~(1 << (turn + rank) % 16);
        if (turn % 16 == rank)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        MUST(MPIX_Comm_agree(comm, &flag));
        for (int other = 0; other < size; other++)
            CHECK((flag & 1 << (turn + other) % 16) == 0);
        CHECK((flag & 1 << (turn + size) % 16) != 0);
    }
}

static void every(MPI_Comm comm)
{
    static const int counts[] = {0, 1, 9, 3000, LONG};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        moves(comm, counts[i]);
    persistent(comm);
    late(comm);
}

/* Communicators made from the merged one; more of them than there are segments, one after the other. */
static void made_from(MPI_Comm all)
{
    MPI_Comm made, half;
    MPI_Group group;
    int rank, size;
    MUST(MPI_Comm_rank(all, &rank));
    MUST(MPI_Comm_size(all, &size));
    MUST(MPI_Comm_dup(all, &made));
    every(made);
    MUST(MPI_Comm_split(made, rank % 2, -rank, &half));
    every(half);
    MUST(MPI_Comm_free(&made));
    moves(half, 5);
    MUST(MPI_Comm_free(&half));
    MUST(MPI_Comm_group(all, &group));
    MUST(MPI_Comm_create_group(all, group, 5, &made));
    every(made);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_free(&made));
    for (int turn = 0; turn < (shares ? 150 : 10); turn++) {
        MUST(MPI_Comm_dup(all, &made));
        moves(made, 3);
        MUST(MPI_Comm_free(&made));
    }
}

static void together(MPI_Comm between, int is_child)
{
    MPI_Comm all;
    int before = pools();
    for (int turn = 0; turn < 3; turn++) {
        MUST(MPI_Intercomm_merge(between, turn == 1 ? !is_child : is_child, &all));
        CHECK_EQUAL(pools(), before + shares);
        section("collectives of the merged communicator");
        every(all);
        if (turn == 0) {
            section("of those made from it");
            made_from(all);
        }
        MUST(MPI_Comm_free(&all));
        MUST(MPI_Barrier(between));
        CHECK_EQUAL(pools(), before);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm between;
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_get_parent(&between));
    shares = jobs_share_memory();
    if (between != MPI_COMM_NULL) {
        child_begin();
        together(between, 1);
        return child_end(&between);
    }
    check_adopt();
    MUST(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                        MPI_ERRCODES_IGNORE));
    together(between, 0);
    MUST(MPI_Comm_disconnect(&between));
    return check_end();
}

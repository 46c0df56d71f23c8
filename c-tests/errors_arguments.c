/* Wrong arguments: with MPI_ERRORS_RETURN each call gives the right class, nothing is started,
 * and the library works on. */
#include "check.h"

static int value = 1;
static MPI_Request request;
static MPI_Status status;

static void of_sends(void)
{
    int (*const blocking[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {
        MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend};
    int (*const starting[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
        {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend, MPI_Send_init, MPI_Ssend_init,
         MPI_Rsend_init, MPI_Bsend_init};
    for (int index = 0; index < 4; index++) {
        MUST_FAIL(blocking[index](&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_ERR_COUNT);
        MUST_FAIL(blocking[index](&value, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD),
                  MPI_ERR_TYPE);
        MUST_FAIL(blocking[index](&value, 1, MPI_INT, check_size, 1, MPI_COMM_WORLD),
                  MPI_ERR_RANK);
        MUST_FAIL(blocking[index](&value, 1, MPI_INT, -7, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
        MUST_FAIL(blocking[index](&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD),
                  MPI_ERR_RANK);
        MUST_FAIL(blocking[index](&value, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG);
        MUST_FAIL(blocking[index](&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD),
                  MPI_ERR_TAG);
        MUST_FAIL(blocking[index](&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL), MPI_ERR_COMM);
    }
    for (int index = 0; index < 8; index++) {
        MUST_FAIL(starting[index](&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request),
                  MPI_ERR_COUNT);
        MUST_FAIL(starting[index](&value, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD, &request),
                  MPI_ERR_TYPE);
        MUST_FAIL(starting[index](&value, 1, MPI_INT, check_size, 1, MPI_COMM_WORLD, &request),
                  MPI_ERR_RANK);
        MUST_FAIL(starting[index](&value, 1, MPI_INT, 0, -3, MPI_COMM_WORLD, &request),
                  MPI_ERR_TAG);
        MUST_FAIL(starting[index](&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL, &request),
                  MPI_ERR_COMM);
    }
}

static void of_receives(void)
{
    MUST_FAIL(MPI_Recv(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD, &status), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Recv(&value, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD, &status),
              MPI_ERR_TYPE);
    MUST_FAIL(MPI_Recv(&value, 1, MPI_INT, check_size, 1, MPI_COMM_WORLD, &status),
              MPI_ERR_RANK);
    MUST_FAIL(MPI_Recv(&value, 1, MPI_INT, MPI_ROOT, 1, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
    MUST_FAIL(MPI_Recv(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
    MUST_FAIL(MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL, &status), MPI_ERR_COMM);
    MUST_FAIL(MPI_Irecv(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Irecv(&value, 1, MPI_INT, -9, 1, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    MUST_FAIL(MPI_Irecv(&value, 1, MPI_INT, 0, -9, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
    MUST_FAIL(MPI_Recv_init(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request),
              MPI_ERR_COUNT);
    MUST_FAIL(MPI_Recv_init(&value, 1, MPI_INT, check_size + 3, 1, MPI_COMM_WORLD, &request),
              MPI_ERR_RANK);
    MUST_FAIL(MPI_Probe(check_size, 1, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
    MUST_FAIL(MPI_Probe(0, -7, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
    int flag;
    MUST_FAIL(MPI_Iprobe(0, 1, MPI_COMM_NULL, &flag, &status), MPI_ERR_COMM);
    MUST_FAIL(MPI_Sendrecv(&value, 1, MPI_INT, 0, -1, &value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD,
                           &status),
              MPI_ERR_TAG);
    MUST_FAIL(MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, check_size, 1,
                           MPI_COMM_WORLD, &status),
              MPI_ERR_RANK);
}

static void of_types(void)
{
    MPI_Datatype type, uncommitted;
    int lengths[] = {1, -1}, places[] = {0, 1}, size;
    MPI_Aint wide[] = {0, 8};
    MPI_Datatype parts[] = {MPI_INT, MPI_DATATYPE_NULL};
    MUST(MPI_Type_contiguous(3, MPI_INT, &uncommitted));
    if (check_strict()) {
        /* MPICH 5 fails an assertion here. */
        MUST_FAIL(MPI_Send(&value, 1, uncommitted, 0, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
        MUST_FAIL(MPI_Irecv(&value, 1, uncommitted, 0, 1, MPI_COMM_WORLD, &request),
                  MPI_ERR_TYPE);
        MUST_FAIL(MPI_Bcast(&value, 1, uncommitted, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    }
    MUST(MPI_Type_free(&uncommitted));
    MUST_FAIL_2(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT, MPI_ERR_ARG);
    MUST_FAIL(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    MUST_FAIL_2(MPI_Type_vector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT, MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Type_vector(1, -1, 1, MPI_INT, &type), MPI_ERR_ARG, MPI_ERR_COUNT);
    MUST_FAIL_2(MPI_Type_indexed(2, lengths, places, MPI_INT, &type), MPI_ERR_ARG,
                MPI_ERR_COUNT);
    lengths[1] = 1;
    MUST_FAIL(MPI_Type_create_struct(2, lengths, wide, parts, &type), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Type_commit(&parts[1]), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Type_free(&parts[0]), MPI_ERR_TYPE);
}

static void of_collectives(void)
{
    int in = 0, *two = take(2 * sizeof(int) * (size_t)check_size);
    MUST_FAIL(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    MUST_FAIL(MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Bcast(&value, 1, MPI_INT, check_size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    MUST_FAIL(MPI_Bcast(&value, 1, MPI_INT, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
    MUST_FAIL(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Allreduce(&value, &in, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
    MUST_FAIL(MPI_Allreduce(&value, &in, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    MUST_FAIL(MPI_Reduce(&value, &in, 1, MPI_INT, MPI_SUM, check_size, MPI_COMM_WORLD),
              MPI_ERR_ROOT);
    MUST_FAIL(MPI_Gather(&value, 1, MPI_INT, two, 1, MPI_INT, -2, MPI_COMM_WORLD), MPI_ERR_ROOT);
    MUST_FAIL(MPI_Alltoall(two, 1, MPI_INT, two + check_size, 1, MPI_DATATYPE_NULL,
                           MPI_COMM_WORLD),
              MPI_ERR_TYPE);
    if (check_strict()) {
        /* MPICH 5 fails an assertion in some of these, or ends. */
        MUST_FAIL(MPI_Allreduce(&value, &in, 1, MPI_INT, MPI_MAXLOC, MPI_COMM_WORLD),
                  MPI_ERR_OP);
        MUST_FAIL(MPI_Allreduce(&value, &in, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
                  MPI_ERR_COUNT);
        MUST_FAIL(MPI_Scatter(two, 1, MPI_INT, &in, -1, MPI_INT, 0, MPI_COMM_WORLD),
                  MPI_ERR_COUNT);
        MUST_FAIL(MPI_Allgather(&value, 1, MPI_INT, two, -1, MPI_INT, MPI_COMM_WORLD),
                  MPI_ERR_COUNT);
    }
    free(two);
}

static void of_communicators_and_groups(void)
{
    MPI_Comm comm;
    MPI_Group group, world;
    int number, ranks[2] = {0, 0};
    MUST_FAIL(MPI_Comm_rank(MPI_COMM_NULL, &number), MPI_ERR_COMM);
    MUST_FAIL(MPI_Comm_size(MPI_COMM_NULL, &number), MPI_ERR_COMM);
    MUST_FAIL(MPI_Comm_dup(MPI_COMM_NULL, &comm), MPI_ERR_COMM);
    MUST_FAIL(MPI_Comm_split(MPI_COMM_NULL, 0, 0, &comm), MPI_ERR_COMM);
    comm = MPI_COMM_NULL;
    MUST_FAIL(MPI_Comm_free(&comm), MPI_ERR_COMM);
    if (check_strict()) /* MPICH 5 follows a null pointer here. */
        MUST_FAIL(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &comm), MPI_ERR_GROUP);
    MUST_FAIL(MPI_Group_size(MPI_GROUP_NULL, &number), MPI_ERR_GROUP);
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    if (check_strict()) /* MPICH 5 takes a rank twice. */
        MUST_FAIL_2(MPI_Group_incl(world, 2, ranks, &group), MPI_ERR_RANK, MPI_ERR_ARG);
    ranks[0] = check_size;
    MUST_FAIL(MPI_Group_incl(world, 1, ranks, &group), MPI_ERR_RANK);
    MUST_FAIL(MPI_Group_excl(world, 1, ranks, &group), MPI_ERR_RANK);
    MUST_FAIL_2(MPI_Group_incl(world, -1, ranks, &group), MPI_ERR_ARG, MPI_ERR_COUNT);
    MUST(MPI_Group_free(&world));
}

static void of_the_rest(void)
{
    int flag, keyval = MPI_KEYVAL_INVALID, indices[2], count;
    void *pointer;
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Op op = MPI_SUM;
    MUST_FAIL_2(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL), MPI_ERR_KEYVAL, MPI_ERR_OTHER);
    MUST_FAIL_2(MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &pointer, &flag), MPI_ERR_KEYVAL,
                MPI_ERR_OTHER);
    MUST_FAIL_2(MPI_Comm_free_keyval(&keyval), MPI_ERR_KEYVAL, MPI_ERR_OTHER);
    MUST_FAIL(MPI_Op_free(&op), MPI_ERR_OP);
    MUST_FAIL(MPI_Start(&none), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Cancel(&none), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Request_free(&none), MPI_ERR_REQUEST);
    MUST_FAIL_2(MPI_Waitall(-1, &none, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, MPI_ERR_ARG);
    if (check_strict()) /* MPICH 5 crashes here. */
        MUST_FAIL_2(MPI_Waitsome(-1, &none, &count, indices, MPI_STATUSES_IGNORE),
                    MPI_ERR_COUNT, MPI_ERR_ARG);
    MUST_FAIL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
}

/* After all that, messages and collectives still work. */
static void still_alive(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int got = -1, sum = -1;
    MUST(MPI_Sendrecv(&check_rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1,
                      MPI_COMM_WORLD, &status));
    CHECK_EQUAL(got, left);
    MUST(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(sum, check_size * (check_size - 1) / 2);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("sends");
    of_sends();
    section("receives and probes");
    of_receives();
    section("types");
    of_types();
    section("collectives");
    of_collectives();
    section("communicators and groups");
    of_communicators_and_groups();
    section("the rest");
    of_the_rest();
    section("still alive");
    still_alive();
    return check_end();
}

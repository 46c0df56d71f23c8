/* Operations of the program: commutative and not (the order of ranks must show), on derived types
 * with gaps, in pieces, and calling MPI from inside. */
#include "comms.h"

static int calls;

/* A run of ranks without a hole; merging two that do not touch spoils it. */
typedef struct {
    int first, last, whole, gap;
} Run;

/* MPI calls from inside: no lock of the library may be held here. */
static void look_around(MPI_Datatype type)
{
    int size = 0, rank = -1;
    MPI_Aint lower = -1, extent = -1;
    MUST(MPI_Type_size(type, &size));
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_EQUAL(size, 3 * sizeof(int));
    CHECK_EQUAL(extent, sizeof(Run));
    CHECK_EQUAL(rank, check_rank);
    calls++;
}

static void join(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const Run *before = in;
    Run *after = inout;
    look_around(*type);
    CHECK(*length > 0);
    for (int index = 0; index < *length; index++) {
        after[index].whole = after[index].whole && before[index].whole
            && before[index].last + 1 == after[index].first;
        after[index].first = before[index].first;
    }
}

static void join_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    int small = (int)*length;
    join(in, inout, &small, type);
}

/* The largest of `last`, and how many there were in `first`. */
static void count_up(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const Run *one = in;
    Run *other = inout;
    look_around(*type);
    for (int index = 0; index < *length; index++) {
        other[index].first += one[index].first;
        if (one[index].last > other[index].last)
            other[index].last = one[index].last;
    }
}

static MPI_Datatype run_type(void)
{
    MPI_Datatype three, run;
    MUST(MPI_Type_contiguous(3, MPI_INT, &three));
    MUST(MPI_Type_create_resized(three, 0, sizeof(Run), &run));
    MUST(MPI_Type_commit(&run));
    MUST(MPI_Type_free(&three));
    return run;
}

static void prepare(Run *runs, int count, int rank)
{
    for (int index = 0; index < count; index++)
        runs[index] = (Run){rank, rank, 1, -9};
}

/* Not commutative: the result is the run of all ranks only if the order was kept. */
static void in_order(const Place *at, MPI_Op op, int count)
{
    MPI_Datatype type = run_type();
    Run *mine = take((size_t)count * sizeof *mine), *got = take((size_t)count * sizeof *got);
    for (int root = -1; root < at->size; root++) {
        int wrong = 0;
        prepare(mine, count, at->rank);
        memset(got, 0x11, (size_t)count * sizeof *got);
        if (root < 0)
            MUST(MPI_Allreduce(mine, got, count, type, op, at->comm));
        else
            MUST(MPI_Reduce(mine, got, count, type, op, root, at->comm));
        for (int index = 0; index < count; index++) {
            wrong += mine[index].first != at->rank || mine[index].gap != -9;
            if (root < 0 || root == at->rank)
                wrong += got[index].first != 0 || got[index].last != at->size - 1
                    || !got[index].whole || got[index].gap != 0x11111111;
        }
        CHECK_EQUAL(wrong, 0);
    }
    prepare(got, count, at->rank);
    MUST(MPI_Allreduce(MPI_IN_PLACE, got, count, type, op, at->comm));
    int wrong = 0;
    for (int index = 0; index < count; index++)
        wrong += got[index].first != 0 || got[index].last != at->size - 1 || !got[index].whole;
    CHECK_EQUAL(wrong, 0);
    free(mine);
    free(got);
    MUST(MPI_Type_free(&type));
}

static void not_commutative(const Place *at)
{
    MPI_Op op, large;
    int commutes = 1;
    MUST(MPI_Op_create(join, 0, &op));
    MUST(MPI_Op_commutative(op, &commutes));
    CHECK(!commutes);
    MUST(MPI_Op_create_c(join_large, 0, &large));
    calls = 0;
    in_order(at, op, 1);
    in_order(at, op, 10);
    in_order(at, op, 3000);
    in_order(at, large, 10);
    CHECK(at->size == 1 || check_size < 2 || calls > 0 || at->rank > 0);
    MUST(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
    MUST(MPI_Op_free(&large));
}

static void commutative(const Place *at)
{
    MPI_Op op;
    MPI_Datatype type = run_type();
    int commutes = 0;
    MUST(MPI_Op_create(count_up, 1, &op));
    MUST(MPI_Op_commutative(op, &commutes));
    CHECK(commutes);
    for (int count = 0; count <= 4000; count = count * 9 + 1) {
        Run *mine = take((size_t)count * sizeof *mine), *got = take((size_t)count * sizeof *got);
        int wrong = 0;
        for (int index = 0; index < count; index++)
            mine[index] = (Run){1, (at->rank * 7 + index) % 50, 0, 0};
        MUST(MPI_Allreduce(mine, got, count, type, op, at->comm));
        for (int index = 0; index < count; index++) {
            int largest = 0;
            for (int rank = 0; rank < at->size; rank++)
                if ((rank * 7 + index) % 50 > largest)
                    largest = (rank * 7 + index) % 50;
            wrong += got[index].first != at->size || got[index].last != largest;
        }
        CHECK_EQUAL(wrong, 0);
        free(mine);
        free(got);
    }
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&type));
}

static void is_commutative(void)
{
    const MPI_Op all[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_LOR, MPI_LXOR,
                          MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    for (size_t index = 0; index < sizeof all / sizeof all[0]; index++) {
        int commutes = 0;
        MUST(MPI_Op_commutative(all[index], &commutes));
        CHECK(commutes);
    }
}

/* An operation that sends a message to its own rank and receives it. */
static void add_by_message(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int *from = in, *to = inout;
    (void)type;
    for (int index = 0; index < *length; index++) {
        int got = 0;
        MPI_Request request;
        MUST(MPI_Irecv(&got, 1, MPI_INT, 0, 77, MPI_COMM_SELF, &request));
        MUST(MPI_Send(&from[index], 1, MPI_INT, 0, 77, MPI_COMM_SELF));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        to[index] += got;
    }
}

static void talkative(const Place *at)
{
    MPI_Op op;
    int mine[5], got[5];
    MUST(MPI_Op_create(add_by_message, 1, &op));
    for (int index = 0; index < 5; index++)
        mine[index] = at->rank * index;
    MUST(MPI_Allreduce(mine, got, 5, MPI_INT, op, at->comm));
    for (int index = 0; index < 5; index++)
        CHECK_EQUAL(got[index], index * at->size * (at->size - 1) / 2);
    MUST(MPI_Op_free(&op));
}

/* The program never waits: its calls that test are the only ones in which its function can run. */
static void only_tested(const Place *at)
{
    MPI_Op op;
    MPI_Datatype type = run_type();
    Run mine, got;
    MPI_Request request;
    int over = 0;
    MUST(MPI_Op_create(join, 0, &op));
    prepare(&mine, 1, at->rank);
    MUST(MPI_Iallreduce(&mine, &got, 1, type, op, at->comm, &request));
    while (!over)
        MUST(MPI_Test(&request, &over, MPI_STATUS_IGNORE));
    CHECK(got.first == 0 && got.last == at->size - 1 && got.whole);
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&type));
}

/* The datatype and the operation are freed while the functions still have to run. */
static void freed_before_completion(const Place *at)
{
    MPI_Op op;
    MPI_Datatype type = run_type();
    Run mine, got, again;
    MPI_Request request[2];
    MUST(MPI_Op_create(join, 0, &op));
    prepare(&mine, 1, at->rank);
    MUST(MPI_Iallreduce(&mine, &got, 1, type, op, at->comm, &request[0]));
    MUST(MPI_Allreduce_init(&mine, &again, 1, type, op, at->comm, MPI_INFO_NULL, &request[1]));
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
    MUST(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    CHECK(got.first == 0 && got.last == at->size - 1 && got.whole);
    for (int round = 0; round < 2; round++) {
        memset(&again, 0x11, sizeof again);
        MUST(MPI_Start(&request[1]));
        MUST(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
        CHECK(again.first == 0 && again.last == at->size - 1 && again.whole);
    }
    MUST(MPI_Request_free(&request[1]));
}

/* After the reduction, the freed handle is not valid any more. */
static void handle_ends_with_its_use(void)
{
    MPI_Op op;
    MPI_Datatype type = run_type(), freed = type, second;
    MPI_Request request;
    Run mine, got;
    int size;
    MUST(MPI_Op_create(join, 0, &op));
    prepare(&mine, 1, check_rank);
    MUST(MPI_Iallreduce(&mine, &got, 1, type, op, MPI_COMM_SELF, &request));
    MUST(MPI_Type_free(&type));
    if (check_strict())
        MUST_FAIL(MPI_Type_free(&(MPI_Datatype){freed}), MPI_ERR_TYPE);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Type_dup(MPI_INT, &second));
    MUST(MPI_Type_free(&second));
    if (check_strict())
        MUST_FAIL(MPI_Type_size(freed, &size), MPI_ERR_TYPE);
    MUST(MPI_Op_free(&op));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    comms_open();
    section("not commutative");
    comms_each(not_commutative);
    section("commutative");
    comms_each(commutative);
    is_commutative();
    section("an operation that sends");
    comms_each(talkative);
    section("only tested");
    comms_each(only_tested);
    section("freed before completion");
    comms_each(freed_before_completion);
    handle_ends_with_its_use();
    comms_close();
    return check_end();
}

/* Scan, exscan, reduce-scatter and reduce-scatter-block against a naive loop over the ranks: short
 * and long, in place, in every form, with an operation that does not commute on a type with gaps. */
#include "comms.h"

enum { FORMS = 4, GAP = -9 };

/* A run of ranks without a hole; joining two that do not touch spoils it. */
typedef struct {
    int first, last, whole, gap;
} Run;

static void join(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const Run *before = in;
    Run *after = inout;
    (void)type;
    for (int index = 0; index < *length; index++) {
        after[index].whole = after[index].whole && before[index].whole
            && before[index].last + 1 == after[index].first;
        after[index].first = before[index].first;
    }
}

/* MPICH 5.0.2 spoils the memory around reduce-scatters on types with gaps that do not commute. */
static MPI_Datatype run_type(int with_gap)
{
    MPI_Datatype three, run;
    if (!with_gap) {
        MUST(MPI_Type_contiguous(4, MPI_INT, &run));
        MUST(MPI_Type_commit(&run));
        return run;
    }
    MUST(MPI_Type_contiguous(3, MPI_INT, &three));
    MUST(MPI_Type_create_resized(three, 0, sizeof(Run), &run));
    MUST(MPI_Type_commit(&run));
    MUST(MPI_Type_free(&three));
    return run;
}

static int number(int rank, int index)
{
    return rank * 1000 + index % 991;
}

/* The sum of `number` over ranks below `end`. */
static int sum_below(int end, int index)
{
    return end * (end - 1) / 2 * 1000 + end * (index % 991);
}

/* A scan or an exscan in one of its forms. */
static void prefix(int form, int inclusive, const void *mine, void *got, int count,
                   MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (inclusive) {
        switch (form) {
        case 0: MUST(MPI_Scan(mine, got, count, type, op, comm)); return;
        case 1: MUST(MPI_Scan_c(mine, got, count, type, op, comm)); return;
        case 2: MUST(MPI_Iscan(mine, got, count, type, op, comm, &request)); break;
        default: MUST(MPI_Iscan_c(mine, got, count, type, op, comm, &request)); break;
        }
    } else {
        switch (form) {
        case 0: MUST(MPI_Exscan(mine, got, count, type, op, comm)); return;
        case 1: MUST(MPI_Exscan_c(mine, got, count, type, op, comm)); return;
        case 2: MUST(MPI_Iexscan(mine, got, count, type, op, comm, &request)); break;
        default: MUST(MPI_Iexscan_c(mine, got, count, type, op, comm, &request)); break;
        }
    }
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void sums(const Place *at, int inclusive, int count, int form, int in_place)
{
    int *mine = take((size_t)count * sizeof *mine), *got = take((size_t)count * sizeof *got);
    int wrong = 0;
    for (int index = 0; index < count; index++) {
        mine[index] = number(at->rank, index);
        got[index] = in_place ? mine[index] : -1;
    }
    prefix(form, inclusive, in_place ? MPI_IN_PLACE : mine, got, count, MPI_INT, MPI_SUM,
           at->comm);
    for (int index = 0; index < count; index++) {
        int due = sum_below(at->rank + inclusive, index);
        if (!inclusive && at->rank == 0)
            due = in_place ? mine[index] : -1;
        wrong += got[index] != due || mine[index] != number(at->rank, index);
    }
    CHECK_EQUAL(wrong, 0);
    free(mine);
    free(got);
}

static void all_sums(const Place *at)
{
    const int counts[] = {0, 1, 17, 3000, 40000};
    for (size_t which = 0; which < sizeof counts / sizeof counts[0]; which++)
        for (int form = 0; form < FORMS; form++)
            for (int inclusive = 0; inclusive < 2; inclusive++)
                sums(at, inclusive, counts[which], form, (form + inclusive) % 2);
}

static void runs_in_order(const Place *at, MPI_Op op, MPI_Datatype type, int inclusive, int count,
                          int in_place)
{
    Run *mine = take((size_t)count * sizeof *mine), *got = take((size_t)count * sizeof *got);
    int wrong = 0, last = at->rank - !inclusive;
    for (int index = 0; index < count; index++) {
        mine[index] = (Run){at->rank, at->rank, 1, GAP};
        got[index] = in_place ? mine[index] : (Run){-1, -1, -1, GAP};
    }
    prefix(count % FORMS, inclusive, in_place ? MPI_IN_PLACE : mine, got, count, type, op,
           at->comm);
    for (int index = 0; index < count; index++) {
        Run due = {0, last, 1, GAP};
        if (last < 0)
            due = in_place ? mine[index] : (Run){-1, -1, -1, GAP};
        wrong += memcmp(&got[index], &due, sizeof due) != 0;
    }
    CHECK_EQUAL(wrong, 0);
    free(mine);
    free(got);
}

static void in_order(const Place *at)
{
    const int counts[] = {1, 2, 50, 20003};
    MPI_Op op;
    MPI_Datatype type = run_type(1);
    MUST(MPI_Op_create(join, 0, &op));
    for (size_t which = 0; which < sizeof counts / sizeof counts[0]; which++)
        for (int inclusive = 0; inclusive < 2; inclusive++)
            for (int in_place = 0; in_place < 2; in_place++)
                runs_in_order(at, op, type, inclusive, counts[which], in_place);
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&type));
}

/* A reduce-scatter in one of its forms; a block for each rank has `counts[0]` elements in `equal`
 * ones. */
static void scattered(int form, int equal, const void *mine, void *got, const int *counts,
                      const MPI_Count *large, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (equal) {
        switch (form) {
        case 0: MUST(MPI_Reduce_scatter_block(mine, got, counts[0], type, op, comm)); return;
        case 1: MUST(MPI_Reduce_scatter_block_c(mine, got, large[0], type, op, comm)); return;
        case 2:
            MUST(MPI_Ireduce_scatter_block(mine, got, counts[0], type, op, comm, &request));
            break;
        default:
            MUST(MPI_Ireduce_scatter_block_c(mine, got, large[0], type, op, comm, &request));
            break;
        }
    } else {
        switch (form) {
        case 0: MUST(MPI_Reduce_scatter(mine, got, counts, type, op, comm)); return;
        case 1: MUST(MPI_Reduce_scatter_c(mine, got, large, type, op, comm)); return;
        case 2: MUST(MPI_Ireduce_scatter(mine, got, counts, type, op, comm, &request)); break;
        default: MUST(MPI_Ireduce_scatter_c(mine, got, large, type, op, comm, &request)); break;
        }
    }
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static int blocks_of(const Place *at, int equal, int count, int *counts, MPI_Count *large)
{
    int total = 0;
    for (int rank = 0; rank < at->size; rank++) {
        counts[rank] = equal ? count : rank % 3 == 1 ? 0 : count + rank;
        large[rank] = counts[rank];
        total += counts[rank];
    }
    return total;
}

static void scattered_sums(const Place *at, int equal, int count, int form, int in_place)
{
    int *counts = take((size_t)at->size * sizeof *counts), wrong = 0, start = 0;
    MPI_Count *large = take((size_t)at->size * sizeof *large);
    int total = blocks_of(at, equal, count, counts, large), own = counts[at->rank];
    int *mine = take((size_t)total * sizeof *mine);
    int *got = take((size_t)(in_place ? total : own) * sizeof *got);
    for (int rank = 0; rank < at->rank; rank++)
        start += counts[rank];
    for (int index = 0; index < total; index++)
        mine[index] = number(at->rank, index);
    if (in_place)
        memcpy(got, mine, (size_t)total * sizeof *got);
    scattered(form, equal, in_place ? MPI_IN_PLACE : mine, got, counts, large, MPI_INT, MPI_SUM,
              at->comm);
    for (int index = 0; index < own; index++)
        wrong += got[index] != sum_below(at->size, start + index);
    for (int index = 0; index < total; index++)
        wrong += mine[index] != number(at->rank, index);
    CHECK_EQUAL(wrong, 0);
    free(counts);
    free(large);
    free(mine);
    free(got);
}

static void all_scattered_sums(const Place *at)
{
    const int counts[] = {0, 1, 17, 1100, 12000};
    for (size_t which = 0; which < sizeof counts / sizeof counts[0]; which++)
        for (int form = 0; form < FORMS; form++)
            for (int equal = 0; equal < 2; equal++)
                scattered_sums(at, equal, counts[which], form, (form + equal) % 2);
}

static void scattered_runs(const Place *at, MPI_Op op, MPI_Datatype type, int equal, int count,
                           int in_place)
{
    int *counts = take((size_t)at->size * sizeof *counts), wrong = 0;
    MPI_Count *large = take((size_t)at->size * sizeof *large);
    int total = blocks_of(at, equal, count, counts, large), own = counts[at->rank];
    Run *mine = take((size_t)total * sizeof *mine), *got = take((size_t)total * sizeof *got);
    const Run due = {0, at->size - 1, 1, GAP};
    for (int index = 0; index < total; index++) {
        mine[index] = (Run){at->rank, at->rank, 1, GAP};
        got[index] = in_place ? mine[index] : (Run){-1, -1, -1, GAP};
    }
    scattered((count + equal) % FORMS, equal, in_place ? MPI_IN_PLACE : mine, got, counts, large,
              type, op, at->comm);
    for (int index = 0; index < own; index++)
        wrong += memcmp(&got[index], &due, sizeof due) != 0;
    for (int index = 0; index < total; index++)
        wrong += got[index].gap != GAP;
    CHECK_EQUAL(wrong, 0);
    free(counts);
    free(large);
    free(mine);
    free(got);
}

static void scattered_in_order(const Place *at)
{
    const int counts[] = {1, 2, 3, 400};
    MPI_Op op;
    MPI_Datatype type = run_type(check_strict());
    MUST(MPI_Op_create(join, 0, &op));
    for (size_t which = 0; which < sizeof counts / sizeof counts[0]; which++)
        for (int equal = 0; equal < 2; equal++)
            for (int in_place = 0; in_place < 2; in_place++)
                scattered_runs(at, op, type, equal, counts[which], in_place);
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&type));
}

/* Several under way at once, completed in the opposite order. */
static void at_once(const Place *at)
{
    enum { CALLS = 6 };
    MPI_Request requests[CALLS];
    int mine[CALLS], got[CALLS];
    for (int call = 0; call < CALLS; call++) {
        mine[call] = number(at->rank, call);
        got[call] = -1;
        if (call % 2)
            MUST(MPI_Iscan(&mine[call], &got[call], 1, MPI_INT, MPI_SUM, at->comm,
                           &requests[call]));
        else
            MUST(MPI_Iexscan(&mine[call], &got[call], 1, MPI_INT, MPI_SUM, at->comm,
                             &requests[call]));
    }
    for (int call = CALLS - 1; call >= 0; call--)
        MUST(MPI_Wait(&requests[call], MPI_STATUS_IGNORE));
    for (int call = 0; call < CALLS; call++) {
        int due = call % 2 == 0 && at->rank == 0 ? -1 : sum_below(at->rank + call % 2, call);
        CHECK_EQUAL(got[call], due);
    }
}

static void refused(const Place *at)
{
    int mine[8] = {0}, got[8] = {0}, counts[8] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    counts[at->size - 1] = -1;
    MUST_FAIL(MPI_Scan(mine, got, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL), MPI_ERR_COMM);
    if (!check_strict())
        return;
    MUST_FAIL(MPI_Scan(mine, got, -1, MPI_INT, MPI_SUM, at->comm), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Exscan(mine, got, -1, MPI_INT, MPI_SUM, at->comm), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Scan(mine, got, 1, MPI_FLOAT, MPI_BAND, at->comm), MPI_ERR_OP);
    MUST_FAIL(MPI_Scan(mine, got, 1, MPI_INT, MPI_OP_NULL, at->comm), MPI_ERR_OP);
    MUST_FAIL(MPI_Iscan(mine, got, 1, MPI_DATATYPE_NULL, MPI_SUM, at->comm, &request),
              MPI_ERR_TYPE);
    MUST_FAIL(MPI_Reduce_scatter(mine, got, counts, MPI_INT, MPI_SUM, at->comm), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Reduce_scatter_block(mine, got, -1, MPI_INT, MPI_SUM, at->comm),
              MPI_ERR_COUNT);
    MUST_FAIL(MPI_Reduce_scatter(mine, got, NULL, MPI_INT, MPI_SUM, at->comm), MPI_ERR_ARG);
    /* The first rank's receive buffer is not significant. */
    MUST(MPI_Exscan(mine, at->rank == 0 ? NULL : got, 1, MPI_INT, MPI_SUM, at->comm));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    comms_open();
    section("scan and exscan");
    comms_each(all_sums);
    section("scan and exscan in order");
    comms_each(in_order);
    section("reduce-scatter");
    comms_each(all_scattered_sums);
    section("reduce-scatter in order");
    comms_each(scattered_in_order);
    section("several at once");
    comms_each(at_once);
    section("refused");
    refused(&places[0]);
    comms_close();
    return check_end();
}

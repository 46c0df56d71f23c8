/* Messages between clients that represent data otherwise, or alike: the argument says which ("unlike" or
 * "alike"). Every type and every mode; wildcards, probes, counts, truncation, packing. What is on the way is
 * seen by a receive of MPI_PACKED, which is allowed for every message. */
#include "unlike.h"

static int next_rank, rank_before;

/* Received as MPI_PACKED, a message is "external32" between unlike clients, and the bytes of memory
 * otherwise; unpacked, it is what was sent. */
static void on_the_way(MPI_Datatype type, int count, int is_unlike)
{
    char *out = elements_of(type, count, check_rank), *theirs = elements_of(type, count, rank_before);
    int size, length, place = 0;
    MUST(MPI_Pack_size(count, type, MPI_COMM_WORLD, &size));
    char *packed = take((size_t)size), *wanted = take((size_t)size);
    MPI_Request request;
    MPI_Status status;
    MUST(MPI_Isend(out, count, type, next_rank, 1, MPI_COMM_WORLD, &request));
    MUST(MPI_Recv(packed, size, MPI_PACKED, rank_before, 1, MPI_COMM_WORLD, &status));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Get_count(&status, MPI_PACKED, &length));
    CHECK_EQUAL(length, size);
    if (is_unlike) {
        MPI_Aint at = 0;
        CHECK_EQUAL(size, external_bytes(type, count));
        MUST(MPI_Pack_external("external32", theirs, count, type, wanted, size, &at));
    } else {
        MUST(MPI_Pack(theirs, count, type, wanted, size, &place, MPI_COMM_SELF));
    }
    CHECK(memcmp(packed, wanted, (size_t)size) == 0);
    /* What MPI_Pack makes is the same. */
    place = 0;
    MUST(MPI_Pack(theirs, count, type, wanted, size, &place, MPI_COMM_WORLD));
    CHECK_EQUAL(place, size);
    CHECK(memcmp(packed, wanted, (size_t)size) == 0);
    memset(theirs, 0, 1);
    place = 0;
    MUST(MPI_Unpack(packed, size, &place, theirs, count, type, MPI_COMM_WORLD));
    check_elements(__LINE__, "unpack", theirs, type, count, rank_before);
    /* A packed message is received as elements. */
    char *in = room(type, count);
    place = 0;
    MUST(MPI_Pack(out, count, type, packed, size, &place, MPI_COMM_WORLD));
    MUST(MPI_Isend(packed, place, MPI_PACKED, next_rank, 2, MPI_COMM_WORLD, &request));
    MUST(MPI_Recv(in, count, type, rank_before, 2, MPI_COMM_WORLD, &status));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_elements(__LINE__, "receive of packed data", in, type, count, rank_before);
    free(in);
    free(out);
    free(theirs);
    free(packed);
    free(wanted);
}

enum { STANDARD, SYNCHRONOUS, BUFFERED, READY, PERSISTENT, EXCHANGE, REPLACE, MATCHED, PARTITIONED, MODES };

/* To the next rank and from the one before. */
static void around(MPI_Datatype type, int count, int mode)
{
    const int tag = 10 + mode;
    char *out = elements_of(type, count, check_rank + 100), *in = room(type, count);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    MPI_Message message;
    switch (mode) {
    case PERSISTENT:
        MUST(MPI_Recv_init(in, count, type, rank_before, tag, comm, &requests[0]));
        MUST(MPI_Send_init(out, count, type, next_rank, tag, comm, &requests[1]));
        MUST(MPI_Startall(2, requests));
        MUST(MPI_Waitall(2, requests, statuses));
        memset(in, 0, 1);
        MUST(MPI_Startall(2, requests));
        break;
    case EXCHANGE:
        MUST(MPI_Sendrecv(out, count, type, next_rank, tag, in, count, type, rank_before, tag, comm, statuses));
        break;
    case REPLACE:
        free(in);
        in = elements_of(type, count, check_rank + 100);
        MUST(MPI_Sendrecv_replace(in, count, type, next_rank, tag, rank_before, tag, comm, statuses));
        break;
    case PARTITIONED:
        MUST(MPI_Precv_init(in, 1, count, type, rank_before, tag, comm, MPI_INFO_NULL, &requests[0]));
        MUST(MPI_Psend_init(out, count, 1, type, next_rank, tag, comm, MPI_INFO_NULL, &requests[1]));
        MUST(MPI_Startall(2, requests));
        for (int part = count - 1; part >= 0; part--)
            MUST(MPI_Pready(part, requests[1]));
        break;
    case MATCHED:
        MUST(MPI_Isend(out, count, type, next_rank, tag, comm, &requests[1]));
        MUST(MPI_Mprobe(rank_before, tag, comm, &message, statuses));
        MUST(MPI_Imrecv(in, count, type, &message, &requests[0]));
        break;
    default:
        MUST(MPI_Irecv(in, count, type, rank_before, tag, comm, &requests[0]));
        MUST(MPI_Barrier(comm));
        if (mode == SYNCHRONOUS)
            MUST(MPI_Issend(out, count, type, next_rank, tag, comm, &requests[1]));
        else if (mode == BUFFERED)
            MUST(MPI_Ibsend(out, count, type, next_rank, tag, comm, &requests[1]));
        else if (mode == READY)
            MUST(MPI_Irsend(out, count, type, next_rank, tag, comm, &requests[1]));
        else
            MUST(MPI_Isend(out, count, type, next_rank, tag, comm, &requests[1]));
    }
    if (mode != EXCHANGE && mode != REPLACE)
        MUST(MPI_Waitall(2, requests, statuses));
    int received;
    MUST(MPI_Get_count(&statuses[0], type, &received));
    CHECK_EQUAL(received, count);
    CHECK_EQUAL(statuses[0].MPI_SOURCE, rank_before);
    check_elements(__LINE__, "message", in, type, count, rank_before + 100);
    for (int at = 0; at < 2; at++)
        if (requests[at] != MPI_REQUEST_NULL)
            MUST(MPI_Request_free(&requests[at]));
    free(out);
    free(in);
}

/* Fewer elements than there is room for, and parts of elements: all functions count alike. */
static void counts(MPI_Datatype mixed)
{
    Mixed *out = (Mixed *)elements_of(mixed, 3, check_rank), in[5];
    MPI_Status probed, status;
    MPI_Request request;
    for (int sent = 0; sent <= 3; sent++) {
        MUST(MPI_Isend(out, sent, mixed, next_rank, 3, MPI_COMM_WORLD, &request));
        MUST(MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &probed));
        MUST(MPI_Recv(in, 5, mixed, probed.MPI_SOURCE, 3, MPI_COMM_WORLD, &status));
        int whole[2], elements[2];
        MPI_Status *both[] = {&probed, &status};
        for (int at = 0; at < 2; at++) {
            MUST(MPI_Get_count(both[at], mixed, &whole[at]));
            MUST(MPI_Get_elements(both[at], mixed, &elements[at]));
            CHECK_EQUAL(whole[at], sent);
            CHECK_EQUAL(elements[at], 8 * sent);
        }
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    /* A letter, a long and one short: three elements of a record. */
    int lengths[] = {1, 1, 1}, whole, elements;
    MPI_Aint places[] = {offsetof(Mixed, letter), offsetof(Mixed, number), offsetof(Mixed, small)};
    MPI_Datatype parts[] = {MPI_CHAR, MPI_LONG, MPI_SHORT}, begin;
    MUST(MPI_Type_create_struct(3, lengths, places, parts, &begin));
    MUST(MPI_Type_commit(&begin));
    MUST(MPI_Isend(out, 1, begin, next_rank, 4, MPI_COMM_WORLD, &request));
    memset(in, 0, sizeof in);
    MUST(MPI_Recv(in, 5, mixed, rank_before, 4, MPI_COMM_WORLD, &status));
    MUST(MPI_Get_count(&status, mixed, &whole));
    MUST(MPI_Get_elements(&status, mixed, &elements));
    CHECK_EQUAL(whole, MPI_UNDEFINED);
    CHECK_EQUAL(elements, 3);
    Mixed *theirs = (Mixed *)elements_of(mixed, 3, rank_before);
    CHECK_EQUAL(in->letter, theirs->letter);
    CHECK_EQUAL(in->number, theirs->number);
    CHECK_EQUAL(in->small[0], theirs->small[0]);
    CHECK_EQUAL(in->small[1], 0);
    free(theirs);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* A status that the program fills counts as ever. */
    MUST(MPI_Status_set_elements(&status, MPI_LONG, 7));
    MUST(MPI_Get_count(&status, MPI_LONG, &whole));
    CHECK_EQUAL(whole, 7);
    MUST(MPI_Type_free(&begin));
    free(out);
}

/* Three longs are more than two: 12 bytes on the way do not fit in the 16 of two longs. */
static void truncation(void)
{
    long *out = (long *)elements_of(MPI_LONG, 20000, check_rank), *in = take(20000 * sizeof *in);
    static const int sent[] = {3, 20000}, least[] = {2, 19999};
    for (int at = 0; at < 2; at++)
        for (int is_short = 0; is_short < 2; is_short++) {
            MPI_Request request;
            MPI_Status status;
            int length = is_short ? least[at] : sent[at];
            MUST(MPI_Isend(out, sent[at], MPI_LONG, next_rank, 5, MPI_COMM_WORLD, &request));
            int code = MPI_Recv(in, length, MPI_LONG, rank_before, 5, MPI_COMM_WORLD, &status);
            CHECK_EQUAL(check_class(code), is_short ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
            MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
            check_elements(__LINE__, "a message that may be cut", in, MPI_LONG, length, rank_before);
        }
    free(out);
    free(in);
}

/* From every rank to every rank, with a type for each pair; whichever comes first is taken. */
static void wildcards(void)
{
    enum { COUNT = 5 };
    MPI_Request *requests = take((size_t)check_size * sizeof *requests);
    char **out = take((size_t)check_size * sizeof *out);
    for (int to = 0; to < check_size; to++) {
        int of = (check_rank * check_size + to) % type_count;
        out[to] = elements_of(types[of], COUNT, check_rank + to);
        MUST(MPI_Isend(out[to], COUNT, types[of], to, of, MPI_COMM_WORLD, &requests[to]));
    }
    for (int arrived = 0; arrived < check_size; arrived++) {
        MPI_Status status;
        int count;
        MUST(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        MPI_Datatype type = types[status.MPI_TAG];
        char *in = room(type, COUNT);
        MUST(MPI_Recv(in, COUNT, type, MPI_ANY_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
        MUST(MPI_Get_count(&status, type, &count));
        CHECK_EQUAL(count, COUNT);
        check_elements(__LINE__, "any message", in, type, COUNT, status.MPI_SOURCE + check_rank);
        free(in);
    }
    MUST(MPI_Waitall(check_size, requests, MPI_STATUSES_IGNORE));
    for (int to = 0; to < check_size; to++)
        free(out[to]);
    free(out);
    free(requests);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* In "external32" a long keeps its lower 4 bytes (MPI 5.0, 14.5.2); integers of 8 bytes keep all. */
static void long_values(int is_unlike)
{
    long out[] = {7L << 32 | 9, -(1L << 40) - 3}, in[2];
    int64_t all_out = 7LL << 32 | 9, all_in;
    MUST(MPI_Sendrecv(out, 2, MPI_LONG, next_rank, 6, in, 2, MPI_LONG, rank_before, 6, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    CHECK_EQUAL(in[0], is_unlike ? 9 : out[0]);
    CHECK_EQUAL(in[1], is_unlike ? -3 : out[1]);
    MUST(MPI_Sendrecv(&all_out, 1, MPI_INT64_T, next_rank, 6, &all_in, 1, MPI_INT64_T, rank_before, 6,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQUAL(all_in, all_out);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    const int is_unlike = argc > 1 && strcmp(argv[1], "unlike") == 0;
    next_rank = (check_rank + 1) % check_size;
    rank_before = (check_rank + check_size - 1) % check_size;
    make_types();
    section("on the way");
    CHECK_EQUAL(is_external(MPI_COMM_WORLD), is_unlike);
    CHECK_EQUAL(is_external(MPI_COMM_SELF), 0);
    for (int of = 0; of < type_count; of++) {
        on_the_way(types[of], 1, is_unlike);
        on_the_way(types[of], 50, is_unlike);
    }
    section("modes");
    char *buffer = take(1 << 23);
    MUST(MPI_Buffer_attach(buffer, 1 << 23));
    for (int of = 0; of < type_count; of++)
        for (int mode = 0; mode < MODES; mode++) {
            around(types[of], 3, mode);
            /* Long ones go in several packets, which end inside numbers. */
            if (of % MODES == mode || of == first_derived)
                around(types[of], mode == PARTITIONED ? 40 : 5001, mode);
        }
    int detached;
    MUST(MPI_Buffer_detach(&buffer, &detached));
    free(buffer);
    section("counts");
    counts(types[first_derived]);
    section("truncation");
    truncation();
    section("wildcards");
    wildcards();
    section("values of longs");
    long_values(is_unlike);
    free_types();
    return check_end();
}

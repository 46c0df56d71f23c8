/* A rank ends at a random moment while all are in operations of one kind, given by name, with a seed: every
 * operation succeeds, or fails with MPIX_ERR_PROC_FAILED, at every other rank; and none waits for ever. */
#include "failures.h"

enum { COUNT = 4096, PARTS = 4 };

static int in[64 * COUNT], out[64 * COUNT], counts[64], places[64];
static MPI_Comm comm, ring, inter;
static int members, me;
static unsigned long drawn;

/* The random numbers of all ranks are the same. */
static unsigned draw(unsigned below)
{
    drawn = drawn * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(drawn >> 33) % below;
}

static int ended(int code, MPI_Request *request)
{
    return code ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int nonblocking(unsigned which, int count, int root)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code;
    switch (which % 9) {
    case 0: code = MPI_Ibarrier(comm, &request); break;
    case 1: code = MPI_Ibcast(in, count, MPI_INT, root, comm, &request); break;
    case 2: code = MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &request); break;
    case 3: code = MPI_Ireduce(in, out, count, MPI_INT, MPI_SUM, root, comm, &request); break;
    case 4: code = MPI_Iallgather(in, count, MPI_INT, out, count, MPI_INT, comm, &request); break;
    case 5: code = MPI_Ialltoall(in, count, MPI_INT, out, count, MPI_INT, comm, &request); break;
    case 6: code = MPI_Igather(in, count, MPI_INT, out, count, MPI_INT, root, comm, &request); break;
    case 7: code = MPI_Iscan(in, out, count, MPI_INT, MPI_SUM, comm, &request); break;
    default: code = MPI_Ireduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, comm, &request);
    }
    return ended(code, &request);
}

static int blocking(unsigned which, int count, int root)
{
    for (int member = 0; member < members; member++)
        counts[member] = count, places[member] = member * count;
    switch (which % 8) {
    case 0: return MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
    case 1: return MPI_Exscan(in, out, count, MPI_INT, MPI_SUM, comm);
    case 2: return MPI_Gatherv(in, count, MPI_INT, out, counts, places, MPI_INT, root, comm);
    case 3: return MPI_Scatterv(in, counts, places, MPI_INT, out, count, MPI_INT, root, comm);
    case 4: return MPI_Allgatherv(in, count, MPI_INT, out, counts, places, MPI_INT, comm);
    case 5: return MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm);
    case 6: return MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, root, comm);
    default: return MPI_Reduce(in, out, count, MPI_INT, MPI_MAX, root, comm);
    }
}

/* Requests that are made once, for as long as the operation succeeds, and started often. */
static int persistent(unsigned which, int count, int root)
{
    static MPI_Request kept[6];
    MPI_Request *request = &kept[which % 6];
    if (kept[0] == 0)
        for (int kind = 0; kind < 6; kind++)
            kept[kind] = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    (void)root;
    if (*request == MPI_REQUEST_NULL)
        switch (which % 6) {
        case 0: code = MPI_Barrier_init(comm, MPI_INFO_NULL, request); break;
        case 1: code = MPI_Bcast_init(in, count, MPI_INT, 0, comm, MPI_INFO_NULL, request); break;
        case 2: code = MPI_Allreduce_init(in, out, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request); break;
        case 3: code = MPI_Alltoall_init(in, count, MPI_INT, out, count, MPI_INT, comm, MPI_INFO_NULL, request); break;
        case 4: code = MPI_Gather_init(in, count, MPI_INT, out, count, MPI_INT, 0, comm, MPI_INFO_NULL, request); break;
        default: code = MPI_Allgather_init(in, count, MPI_INT, out, count, MPI_INT, comm, MPI_INFO_NULL, request);
        }
    if (code == MPI_SUCCESS)
        code = MPI_Start(request);
    return code ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int neighborhood(unsigned which, int count, int root)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code;
    (void)root;
    switch (which % 5) {
    case 0: return MPI_Neighbor_allgather(in, count, MPI_INT, out, count, MPI_INT, ring);
    case 1: return MPI_Neighbor_alltoall(in, count, MPI_INT, out, count, MPI_INT, ring);
    case 2: return ended(MPI_Ineighbor_allgather(in, count, MPI_INT, out, count, MPI_INT, ring, &request), &request);
    case 3: return ended(MPI_Ineighbor_alltoall(in, count, MPI_INT, out, count, MPI_INT, ring, &request), &request);
    default:
        code = MPI_Neighbor_alltoall_init(in, count, MPI_INT, out, count, MPI_INT, ring, MPI_INFO_NULL, &request);
        if (code == MPI_SUCCESS)
            code = MPI_Start(&request);
        if (code == MPI_SUCCESS)
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);
        return code;
    }
}

static int between(unsigned which, int count, int root)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int first = me < members / 2, at = first ? (root % 2 ? MPI_PROC_NULL : MPI_ROOT) : 0;
    if (first && me)
        at = MPI_PROC_NULL;
    else if (first)
        at = MPI_ROOT;
    switch (which % 6) {
    case 0: return MPI_Barrier(inter);
    case 1: return MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, inter);
    case 2: return MPI_Bcast(in, count, MPI_INT, at, inter);
    case 3: return MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, inter);
    case 4: return ended(MPI_Iallgather(in, count, MPI_INT, out, count, MPI_INT, inter, &request), &request);
    default: return MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, at, inter);
    }
}

static int creation(unsigned which, int count, int root)
{
    MPI_Comm made = MPI_COMM_NULL, half = MPI_COMM_NULL;
    MPI_Group all;
    MPI_Request request;
    int code, dims = members, periods = 1;
    (void)count, (void)root;
    switch (which % 9) {
    case 0: code = MPI_Comm_dup(comm, &made); break;
    case 1: code = ended(MPI_Comm_idup(comm, &made, &request), &request); break;
    case 2: code = MPI_Comm_split(comm, me % 2, me, &made); break;
    case 3: code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made); break;
    case 4:
        MPI_Comm_group(comm, &all);
        code = MPI_Comm_create(comm, all, &made);
        MPI_Group_free(&all);
        break;
    case 5:
        MPI_Comm_group(comm, &all);
        code = MPI_Comm_create_group(comm, all, 7, &made);
        MPI_Group_free(&all);
        break;
    case 6: code = MPI_Cart_create(comm, 1, &dims, &periods, 1, &made); break;
    case 7:
        code = MPI_Comm_split(comm, me < members / 2, me, &half);
        if (code == MPI_SUCCESS)
            code = MPI_Intercomm_create(half, 0, comm, me < members / 2 ? members / 2 : 0, 3, &made);
        if (half != MPI_COMM_NULL)
            MPI_Comm_free(&half);
        break;
    default: code = MPI_Intercomm_merge(inter, me < members / 2, &made);
    }
    if (code == MPI_SUCCESS && made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    return code;
}

static int messages(unsigned which, int count, int root)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    MPI_Message message;
    int next = (me + 1) % members, last = (me + members - 1) % members, code;
    (void)root;
    switch (which % 4) {
    case 0: return MPI_Sendrecv(in, count, MPI_INT, next, 1, out, count, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE);
    case 1:
        code = MPI_Isend(in, count, MPI_INT, next, 2, comm, &requests[0]);
        if (code == MPI_SUCCESS)
            code = MPI_Mprobe(last, 2, comm, &message, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS)
            code = MPI_Mrecv(out, count, MPI_INT, &message, MPI_STATUS_IGNORE);
        break;
    case 2:
        code = MPI_Send_init(in, count, MPI_INT, next, 3, comm, &requests[0]);
        if (code == MPI_SUCCESS)
            code = MPI_Recv_init(out, count, MPI_INT, last, 3, comm, &requests[1]);
        if (code == MPI_SUCCESS)
            code = MPI_Startall(2, requests);
        break;
    default:
        code = MPI_Psend_init(in, PARTS, count / PARTS, MPI_INT, next, 4, comm, MPI_INFO_NULL, &requests[0]);
        if (code == MPI_SUCCESS)
            code = MPI_Precv_init(out, PARTS, count / PARTS, MPI_INT, last, 4, comm, MPI_INFO_NULL, &requests[1]);
        if (code == MPI_SUCCESS)
            code = MPI_Startall(2, requests);
        for (int part = 0; code == MPI_SUCCESS && part < PARTS; part++)
            code = MPI_Pready(part, requests[0]);
    }
    int waited = MPI_Waitall(2, requests, statuses);
    for (int which_one = 0; which_one < 2; which_one++) {
        if (class_of(waited) == MPI_ERR_IN_STATUS && statuses[which_one].MPI_ERROR)
            waited = statuses[which_one].MPI_ERROR;
        if (requests[which_one] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[which_one]);
    }
    return code ? code : waited;
}

static const struct {
    const char *name;
    int (*call)(unsigned which, int count, int root);
} kinds[] = {
    {"nonblocking", nonblocking}, {"blocking", blocking}, {"persistent", persistent},
    {"neighborhood", neighborhood}, {"between", between}, {"creation", creation}, {"messages", messages},
};

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int kind = 0;
    while (argc > 1 && strcmp(kinds[kind].name, argv[1]))
        kind++;
    drawn = argc > 2 ? strtoul(argv[2], NULL, 10) * 7919 : 1;
    MPI_Comm survivors, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    int dims = members, periods = 1;
    MPI_Cart_create(comm, 1, &dims, &periods, 0, &ring);
    MPI_Comm_split(comm, me < members / 2, me, &half);
    MPI_Intercomm_create(half, 0, comm, me < members / 2 ? members / 2 : 0, 3, &inter);
    for (int index = 0; index < 3; index++)
        draw(2);
    int victim = draw(members), way = draw(3), pause_us = draw(3000), alarm_us = draw(4000) + 1;
    int by_signal = draw(2), last = draw(40);
    MPI_Barrier(comm);
    /* In the middle of a call, or between two. */
    if (me == victim && by_signal) {
        signal(SIGALRM, SIG_DFL);
        ualarm(alarm_us, 0);
    }
    int code = MPI_SUCCESS;
    for (int round = 0; code == MPI_SUCCESS; round++) {
        int count = draw(4) ? 1 + draw(64) : COUNT, root = draw(members);
        unsigned which = draw(1 << 16);
        count += PARTS - count % PARTS;
        count = count > COUNT ? COUNT : count;
        /* A persistent request has one length. */
        if (kinds[kind].call == persistent)
            count = COUNT / 2;
        if (me == victim && !by_signal && round == last) {
            usleep(pause_us);
            die_by(way);
        }
        code = kinds[kind].call(which, count, root);
    }
    /* Others may wait for this rank in messages that do not end by the failure alone. */
    EXPECT(class_of(code) == MPIX_ERR_PROC_FAILED || class_of(code) == MPIX_ERR_REVOKED);
    for (int index = 0; index < 3; index++)
        MPIX_Comm_revoke((MPI_Comm[]){comm, ring, inter}[index]);
    code = kinds[kind].call(0, 64, 0);
    EXPECT_IS(class_of(code), MPIX_ERR_REVOKED);
    EXPECT_IS(MPIX_Comm_shrink(comm, &survivors), MPI_SUCCESS);
    check_works(survivors, size - 1);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return end(survivors);
}

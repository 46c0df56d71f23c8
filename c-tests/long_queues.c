/* Thousands of receives posted and of messages waiting, with every kind of wildcard, met in another
 * order than they came in, probed and cancelled; what goes to which receive, by the standard's rule
 * alone. Each rank sends to its right neighbour, which knows what comes and in which order. */
#include "check.h"

/* The messages' tags are 0 .. ENTRIES - 1, each once; STEP has no common factor with it. */
enum { ENTRIES = 3000, STEP = 1777, END = ENTRIES };

static int left, right;
static int outgoing[ENTRIES], incoming[ENTRIES];
static MPI_Request sends[ENTRIES], receives[ENTRIES];

/* The tag of the message that is sent as number `place`; its value is the same. */
static int tag_of(int place)
{
    return (int)((long long)place * STEP % ENTRIES);
}

static void send_all(MPI_Comm comm)
{
    for (int place = 0; place < ENTRIES; place++) {
        outgoing[place] = tag_of(place);
        MUST(MPI_Isend(&outgoing[place], 1, MPI_INT, right, tag_of(place), comm, &sends[place]));
    }
}

static void check_message(int value, const MPI_Status *status, int tag)
{
    CHECK_EQUAL(value, tag);
    CHECK_EQUAL(status->MPI_TAG, tag);
    CHECK_EQUAL(status->MPI_SOURCE, left);
}

static void receive(int source, int wanted, int tag, MPI_Comm comm)
{
    MPI_Status status;
    int value = -1;
    MUST(MPI_Recv(&value, 1, MPI_INT, source, wanted, comm, &status));
    check_message(value, &status, tag);
}

/* The messages wait. The higher half of the tags is received from any source, from the highest on;
 * of the others every second by its tag; what is left in the order in which it was sent. */
static void messages_first(MPI_Comm comm)
{
    MPI_Status status;
    MPI_Request end;
    int value = -1, found = 1;
    send_all(comm);
    MUST(MPI_Isend(NULL, 0, MPI_INT, right, END, comm, &end));
    MUST(MPI_Recv(NULL, 0, MPI_INT, left, END, comm, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&end, MPI_STATUS_IGNORE));
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, ENTRIES + 1, comm, &found, MPI_STATUS_IGNORE));
    CHECK_EQUAL(found, 0);
    for (int tag = ENTRIES - 1; tag >= ENTRIES / 2; tag--)
        receive(MPI_ANY_SOURCE, tag, tag, comm);
    for (int tag = 0; tag < ENTRIES / 2; tag += 2)
        receive(left, tag, tag, comm);
    for (int place = 0, turn = 0; place < ENTRIES; place++) {
        int tag = tag_of(place);
        if (tag >= ENTRIES / 2 || tag % 2 == 0)
            continue;
        int any = turn++ % 2 == 0, source = any ? MPI_ANY_SOURCE : left;
        MPI_Message message = MPI_MESSAGE_NULL;
        if (turn % 3 == 0) {
            receive(source, MPI_ANY_TAG, tag, comm);
            continue;
        }
        MUST(MPI_Mprobe(source, MPI_ANY_TAG, comm, &message, &status));
        CHECK_EQUAL(status.MPI_TAG, tag);
        MUST(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
        check_message(value, &status, tag);
    }
    MUST(MPI_Waitall(ENTRIES, sends, MPI_STATUSES_IGNORE));
}

/* What receive `index` accepts: any tag, or its own. */
static int wanted_tag(int index)
{
    return index % 11 == 0 ? MPI_ANY_TAG : index;
}

static int is_cancelled(int index)
{
    return index % 7 == 3;
}

/* The message for each receive, or -1: a message takes the oldest receive that fits. */
static void foresee(int *tags)
{
    int oldest_wild = 0, unmatched = 0;
    for (int index = 0; index < ENTRIES; index++)
        tags[index] = -1;
    for (int place = 0; place < ENTRIES; place++) {
        int tag = tag_of(place), exact = wanted_tag(tag) == tag && !is_cancelled(tag);
        while (oldest_wild < ENTRIES &&
               (wanted_tag(oldest_wild) != MPI_ANY_TAG || is_cancelled(oldest_wild)))
            oldest_wild++;
        int takes = exact && tag < oldest_wild ? tag : oldest_wild;
        if (takes == ENTRIES && exact)
            takes = tag;
        if (takes < ENTRIES)
            tags[takes] = tag;
        else
            unmatched++;
        oldest_wild += takes == oldest_wild;
    }
    CHECK(unmatched > 0);
}

/* The receives are posted, some are cancelled, and then the messages come. */
static void receives_first(MPI_Comm comm)
{
    static int tags[ENTRIES];
    int left_over = ENTRIES;
    foresee(tags);
    for (int index = 0; index < ENTRIES; index++) {
        int source = index % 3 == 0 ? MPI_ANY_SOURCE : left;
        incoming[index] = -1;
        MUST(MPI_Irecv(&incoming[index], 1, MPI_INT, source, wanted_tag(index), comm,
                       &receives[index]));
    }
    for (int index = ENTRIES - 1; index >= 0; index--)
        if (is_cancelled(index))
            MUST(MPI_Cancel(&receives[index]));
    check_meet();
    send_all(comm);
    for (int index = 0; index < ENTRIES; index++) {
        MPI_Status status;
        int cancelled = -1;
        if (tags[index] < 0 && !is_cancelled(index))
            MUST(MPI_Cancel(&receives[index]));
        MUST(MPI_Wait(&receives[index], &status));
        MUST(MPI_Test_cancelled(&status, &cancelled));
        CHECK_EQUAL(cancelled, tags[index] < 0);
        if (cancelled)
            continue;
        check_message(incoming[index], &status, tags[index]);
        left_over--;
    }
    /* The messages that no receive has taken, in the order in which they were sent. */
    static int is_taken[ENTRIES];
    for (int index = 0; index < ENTRIES; index++)
        if (tags[index] >= 0)
            is_taken[tags[index]] = 1;
    for (int place = 0; place < ENTRIES; place++) {
        if (is_taken[tag_of(place)])
            continue;
        receive(MPI_ANY_SOURCE, MPI_ANY_TAG, tag_of(place), comm);
        left_over--;
    }
    CHECK_EQUAL(left_over, 0);
    MUST(MPI_Waitall(ENTRIES, sends, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    check_start(&argc, &argv);
    left = (check_rank + check_size - 1) % check_size;
    right = (check_rank + 1) % check_size;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    section("%d messages first", ENTRIES);
    messages_first(MPI_COMM_WORLD);
    section("%d receives first", ENTRIES);
    receives_first(MPI_COMM_WORLD);
    section("again, in another communicator");
    messages_first(other);
    check_meet();
    MUST(MPI_Comm_free(&other));
    return check_end();
}

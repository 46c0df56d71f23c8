/* Which message a receive gets: the order of sends and of receives, wildcards mixed with exact
 * receives, many tags, many sources; against a naive model of the standard's rule. */
#include "check.h"

enum { MANY = 300, LONGEST = 30000, WINDOW = 60, TAGS = 4, MIXES = 25 };
static int partner;

/* Sizes vary, so that short, eager and long messages overtake each other if they can. */
static int ints_of(int index)
{
    static const int sizes[] = {1, 3, 10, 11, 400, 2, 5000, 1, LONGEST};
    return sizes[index % 9];
}

static int *message_of(int index)
{
    int *message = take((size_t)ints_of(index) * sizeof(int));
    for (int place = 0; place < ints_of(index); place++)
        message[place] = index + place;
    return message;
}

/* One tag, one source: received in the order sent. */
static void in_order(void)
{
    static int in[LONGEST];
    MPI_Request sends[MANY];
    int *messages[MANY];
    for (int index = 0; index < MANY; index++) {
        messages[index] = message_of(index);
        MUST(MPI_Isend(messages[index], ints_of(index), MPI_INT, partner, 3, MPI_COMM_WORLD,
                       &sends[index]));
    }
    for (int index = 0; index < MANY; index++) {
        MPI_Status status;
        int count = -1;
        MUST(MPI_Recv(in, LONGEST, MPI_INT, partner, 3, MPI_COMM_WORLD, &status));
        MUST(MPI_Get_count(&status, MPI_INT, &count));
        CHECK_EQUAL(count, ints_of(index));
        CHECK_EQUAL(in[0], index);
        CHECK_EQUAL(in[count - 1], index + count - 1);
    }
    MUST(MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE));
    for (int index = 0; index < MANY; index++)
        free(messages[index]);
}

/* The same with every receive posted before the first send. */
static void in_order_expected(void)
{
    int *in[MANY], *messages[MANY];
    MPI_Request sends[MANY], receives[MANY];
    for (int index = 0; index < MANY; index++) {
        in[index] = take((size_t)ints_of(index) * sizeof(int));
        MUST(MPI_Irecv(in[index], ints_of(index), MPI_INT, partner, 3, MPI_COMM_WORLD,
                       &receives[index]));
    }
    check_meet();
    for (int index = 0; index < MANY; index++) {
        messages[index] = message_of(index);
        MUST(MPI_Isend(messages[index], ints_of(index), MPI_INT, partner, 3, MPI_COMM_WORLD,
                       &sends[index]));
    }
    MUST(MPI_Waitall(MANY, receives, MPI_STATUSES_IGNORE));
    MUST(MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE));
    for (int index = 0; index < MANY; index++) {
        CHECK_EQUAL(memcmp(in[index], messages[index], (size_t)ints_of(index) * 4), 0);
        free(in[index]);
        free(messages[index]);
    }
}

/* Many tags, taken from the last to the first, then in steps. */
static void many_tags(void)
{
    int out[MANY], got;
    MPI_Request sends[MANY];
    for (int index = 0; index < MANY; index++) {
        out[index] = index * 5;
        MUST(MPI_Isend(&out[index], 1, MPI_INT, partner, index, MPI_COMM_WORLD, &sends[index]));
    }
    for (int tag = MANY - 1; tag >= 0; tag -= 2) {
        MUST(MPI_Recv(&got, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQUAL(got, tag * 5);
    }
    for (int tag = 0; tag < MANY; tag += 2) {
        MUST(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
        CHECK_EQUAL(got, tag * 5);
    }
    MUST(MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE));
}

/* What one round of the model plays: messages in order, receives in order, who gets what. */
typedef struct {
    int tag[WINDOW];         /* of each message */
    int wanted[WINDOW];      /* of each receive: a tag or MPI_ANY_TAG */
    int any_source[WINDOW];  /* of each receive */
    int source_of[WINDOW];   /* receive -> message, or -1 */
    int target_of[WINDOW];   /* message -> receive, or -1 */
} Mix;

/* Messages and receives meet in order; by one source the result does not depend on time. */
static void play(Mix *mix, uint64_t *state)
{
    for (int index = 0; index < WINDOW; index++) {
        unsigned want = draw(state, TAGS + 2);
        mix->tag[index] = (int)draw(state, TAGS);
        mix->wanted[index] = want < TAGS ? (int)want : MPI_ANY_TAG;
        mix->any_source[index] = draw(state, 2) == 1;
        mix->source_of[index] = mix->target_of[index] = -1;
    }
    for (int receive = 0; receive < WINDOW; receive++)
        for (int message = 0; message < WINDOW && mix->source_of[receive] < 0; message++)
            if (mix->target_of[message] < 0
                && (mix->wanted[receive] == MPI_ANY_TAG
                    || mix->wanted[receive] == mix->tag[message])) {
                mix->target_of[message] = receive;
                mix->source_of[receive] = message;
            }
}

/* Messages that nobody gets are not sent; receives that get nothing are cancelled. */
static void send_mix(const Mix *mix, int *out, MPI_Request *sends, int from, int to)
{
    for (int message = from; message < to; message++) {
        out[message] = message;
        sends[message] = MPI_REQUEST_NULL;
        if (mix->target_of[message] >= 0)
            MUST(MPI_Isend(&out[message], 1, MPI_INT, partner, mix->tag[message],
                           MPI_COMM_WORLD, &sends[message]));
    }
}

static void receive_mix(const Mix *mix, int *in, MPI_Request *receives, int from, int to)
{
    for (int receive = from; receive < to; receive++) {
        int source = mix->any_source[receive] ? MPI_ANY_SOURCE : partner;
        in[receive] = -1;
        MUST(MPI_Irecv(&in[receive], 1, MPI_INT, source, mix->wanted[receive], MPI_COMM_WORLD,
                       &receives[receive]));
    }
}

static void finish_mix(const Mix *mix, const int *in, MPI_Request *receives)
{
    for (int receive = 0; receive < WINDOW; receive++) {
        MPI_Status status;
        int cancelled = 0, message = mix->source_of[receive];
        if (message < 0)
            MUST(MPI_Cancel(&receives[receive]));
        MUST(MPI_Wait(&receives[receive], &status));
        MUST(MPI_Test_cancelled(&status, &cancelled));
        CHECK_EQUAL(cancelled, message < 0);
        CHECK_EQUAL(in[receive], message);
        if (message >= 0)
            CHECK_EQUAL(status.MPI_TAG, mix->tag[message]);
    }
}

enum Timing { RECEIVES_FIRST, MESSAGES_FIRST, INTERLEAVED };

static void mixed(uint64_t *state, enum Timing timing)
{
    Mix mix;
    int in[WINDOW], out[WINDOW];
    MPI_Request sends[WINDOW], receives[WINDOW];
    play(&mix, state);
    check_meet();
    if (timing == RECEIVES_FIRST) {
        receive_mix(&mix, in, receives, 0, WINDOW);
        check_meet();
        send_mix(&mix, out, sends, 0, WINDOW);
    } else if (timing == MESSAGES_FIRST) {
        send_mix(&mix, out, sends, 0, WINDOW);
        check_meet();
        receive_mix(&mix, in, receives, 0, WINDOW);
    } else {
        for (int first = 0; first < WINDOW; first += 10) {
            send_mix(&mix, out, sends, first, first + 10);
            receive_mix(&mix, in, receives, first, first + 10);
        }
    }
    MUST(MPI_Waitall(WINDOW, sends, MPI_STATUSES_IGNORE));
    finish_mix(&mix, in, receives);
}

/* Rank 0 takes from anyone; what comes from one rank comes in order. */
static void from_anyone(void)
{
    MPI_Request sends[MANY];
    int out[MANY], next[64] = {0};
    for (int index = 0; index < MANY; index++) {
        out[index] = index;
        MUST(MPI_Isend(&out[index], 1, MPI_INT, 0, index % 7, MPI_COMM_WORLD, &sends[index]));
    }
    if (check_rank == 0) {
        for (int index = 0; index < MANY * check_size; index++) {
            MPI_Status status;
            int got = -1;
            MUST(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                          &status));
            CHECK_EQUAL(got, next[status.MPI_SOURCE]);
            CHECK_EQUAL(status.MPI_TAG, got % 7);
            next[status.MPI_SOURCE] = got + 1;
        }
        for (int rank = 0; rank < check_size; rank++)
            CHECK_EQUAL(next[rank], MANY);
    }
    MUST(MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE));
    check_meet();
}

/* The largest tag allowed works, and is at least what the standard asks for. */
static void upper_tag(void)
{
    int *upper = NULL, flag = 0, value = check_rank, got = -1;
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &flag));
    CHECK(flag && *upper >= 32767);
    MPI_Request request;
    MUST(MPI_Irecv(&got, 1, MPI_INT, partner, *upper, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(&value, 1, MPI_INT, partner, *upper, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, partner);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    section("in order, unexpected");
    in_order();
    section("in order, expected");
    in_order_expected();
    section("many tags");
    many_tags();
    upper_tag();
    uint64_t state = 20260101;
    section("wildcards, receives first");
    for (int round = 0; round < MIXES; round++)
        mixed(&state, RECEIVES_FIRST);
    section("wildcards, messages first");
    for (int round = 0; round < MIXES; round++)
        mixed(&state, MESSAGES_FIRST);
    section("wildcards, interleaved");
    for (int round = 0; round < MIXES; round++)
        mixed(&state, INTERLEAVED);
    section("from anyone");
    check_meet();
    from_anyone();
    return check_end();
}

/* Channels: order, lengths, several at once, both directions, and their end. */
#include "acp_check.h"

/* Every rank sends to its right neighbour messages of many lengths, each received into room of
 * another. */
static void lengths(void)
{
    enum { LONGEST = 300000 };
    const size_t sizes[] = {0, 1, 7, 8, 100, 2047, 2048, 2049, 4096, 10000, 65536, LONGEST};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    acp_ch_t to = acp_create_ch(check_rank, right), from = acp_create_ch(left, check_rank);
    CHECK(to != ACP_CH_NULL && from != ACP_CH_NULL);
    unsigned char *sent = malloc(LONGEST), *received = malloc(LONGEST + 1);
    for (size_t sized = 0; sized < COUNT; sized++)
        for (size_t roomed = 0; roomed < COUNT; roomed++) {
            size_t size = sizes[sized], room = sizes[roomed], common = size < room ? size : room;
            unsigned seed = (unsigned)(sized * COUNT + roomed);
            fill(sent, size, seed + (unsigned)check_rank);
            memset(received, 0xee, LONGEST + 1);
            acp_request_t receive = acp_nbrecv_ch(from, received, room);
            acp_request_t send = acp_nbsend_ch(to, sent, size);
            CHECK(receive != ACP_REQUEST_NULL && send != ACP_REQUEST_NULL);
            CHECK_EQUAL(acp_wait_ch(receive), common);
            CHECK_EQUAL(acp_wait_ch(send), 0);
            CHECK_EQUAL(spoiled(received, common, seed + (unsigned)left), 0);
            CHECK_EQUAL(received[common], 0xee);
        }
    acp_request_t frees[] = {acp_nbfree_ch(to), acp_nbfree_ch(from)};
    size_t counts[2] = {9, 9};
    CHECK_EQUAL(acp_waitall_ch(frees, 2, counts), 0);
    CHECK(counts[0] == 0 && counts[1] == 0);
    free(sent);
    free(received);
}

/* Many messages outstanding on several channels of one pair: the channels do not mix, and each
 * keeps its order. */
static void several(void)
{
    enum { CHANNELS = 3, MESSAGES = 200 };
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    acp_ch_t to[CHANNELS], from[CHANNELS];
    static int sent[CHANNELS][MESSAGES], received[CHANNELS][MESSAGES];
    static acp_request_t requests[CHANNELS][2][MESSAGES];
    for (int channel = 0; channel < CHANNELS; channel++) {
        to[channel] = acp_create_ch(check_rank, right);
        from[channel] = acp_create_ch(left, check_rank);
    }
    for (int message = 0; message < MESSAGES; message++)
        for (int channel = 0; channel < CHANNELS; channel++) {
            sent[channel][message] = check_rank * 100000 + channel * 1000 + message;
            requests[channel][0][message] = acp_nbsend_ch(to[channel], &sent[channel][message], sizeof(int));
        }
    for (int channel = CHANNELS - 1; channel >= 0; channel--)
        for (int message = 0; message < MESSAGES; message++)
            requests[channel][1][message] = acp_nbrecv_ch(from[channel], &received[channel][message], 100);
    for (int channel = 0; channel < CHANNELS; channel++) {
        size_t counts[MESSAGES];
        CHECK_EQUAL(acp_waitall_ch(requests[channel][1], MESSAGES, counts), 0);
        CHECK_EQUAL(acp_waitall_ch(requests[channel][0], MESSAGES, NULL), 0);
        for (int message = 0; message < MESSAGES; message++) {
            CHECK_EQUAL(counts[message], sizeof(int));
            CHECK_EQUAL(received[channel][message], left * 100000 + channel * 1000 + message);
        }
    }
    /* One after another: the receiver frees in another order than the sender. */
    acp_request_t frees[2 * CHANNELS];
    for (int channel = 0; channel < CHANNELS; channel++) {
        frees[channel] = acp_nbfree_ch(to[channel]);
        frees[CHANNELS + channel] = acp_nbfree_ch(from[CHANNELS - 1 - channel]);
    }
    CHECK_EQUAL(acp_waitall_ch(frees, 2 * CHANNELS, NULL), 0);
}

/* Messages that are sent before the receiver has made its end, and a sender that frees at once. */
static void early_end(void)
{
    char text[32] = "";
    if (check_rank == 1) {
        acp_ch_t channel = acp_create_ch(1, 0);
        acp_request_t send = acp_nbsend_ch(channel, "nobody listens yet", 19);
        acp_wait_ch(send);
        CHECK_EQUAL(acp_free_ch(channel), 0);
    }
    if (check_rank == 0) {
        sleep_ms(5);
        acp_ch_t channel = acp_create_ch(1, 0);
        CHECK_EQUAL(acp_wait_ch(acp_nbrecv_ch(channel, text, sizeof text)), 19);
        CHECK(strcmp(text, "nobody listens yet") == 0);
        CHECK_EQUAL(acp_free_ch(channel), 0);
    }
}

/* Frees that nobody waits for; acp_finalize does. */
static void unwaited(void)
{
    static int sent[8], received[8];
    if (check_rank < 2) {
        acp_ch_t channel = acp_create_ch(0, 1);
        for (int message = 0; message < 8; message++) {
            sent[message] = 70 + message;
            acp_request_t request = check_rank == 0
                ? acp_nbsend_ch(channel, &sent[message], sizeof(int))
                : acp_nbrecv_ch(channel, &received[message], sizeof(int));
            if (check_rank == 1) {
                CHECK_EQUAL(acp_wait_ch(request), sizeof(int));
                CHECK_EQUAL(received[message], 70 + message);
            }
        }
        CHECK(acp_nbfree_ch(channel) != ACP_REQUEST_NULL);
        CHECK(acp_nbsend_ch(channel, sent, sizeof sent) == ACP_REQUEST_NULL);
    }
    acp_sync();
}

static void refused(void)
{
    int other = (check_rank + 1) % check_size;
    CHECK(acp_create_ch(check_rank, check_rank) == ACP_CH_NULL);
    CHECK(acp_create_ch(-1, check_rank) == ACP_CH_NULL);
    CHECK(acp_create_ch(check_rank, check_size) == ACP_CH_NULL);
    if (check_size > 2)
        CHECK(acp_create_ch(other, (check_rank + 2) % check_size) == ACP_CH_NULL);
    CHECK_EQUAL(acp_wait_ch(ACP_REQUEST_NULL), (size_t)-1);
    CHECK_EQUAL(acp_free_ch(ACP_CH_NULL), -1);
    CHECK(acp_nbfree_ch(ACP_CH_NULL) == ACP_REQUEST_NULL);
    CHECK(acp_nbsend_ch(ACP_CH_NULL, NULL, 0) == ACP_REQUEST_NULL);
    if (check_size == 1)
        return;
    /* The wrong end. */
    acp_ch_t to = acp_create_ch(check_rank, other);
    acp_ch_t from = acp_create_ch((check_rank + check_size - 1) % check_size, check_rank);
    CHECK(acp_nbrecv_ch(to, &other, sizeof other) == ACP_REQUEST_NULL);
    CHECK(acp_nbsend_ch(from, &other, sizeof other) == ACP_REQUEST_NULL);
    acp_request_t frees[] = {acp_nbfree_ch(from), acp_nbfree_ch(to)};
    CHECK_EQUAL(acp_waitall_ch(frees, 2, NULL), 0);
    CHECK_EQUAL(acp_wait_ch(frees[0]), (size_t)-1);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("refused");
    refused();
    if (check_size > 1) {
        section("lengths");
        lengths();
        section("several channels");
        several();
        section("a sender that is early");
        early_end();
        section("frees that nobody waits for");
        unwaited();
    }
    return check_end();
}

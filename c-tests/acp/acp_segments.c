/* Segment buffers: a ring of segments from one rank to another. */
#include "acp_check.h"

enum { SEGMENT = 300, SEGMENTS = 4, ROUNDS = 60 };

/* All segments in turn, several at a time. */
static void stream(acp_segbuf_t source, unsigned char *from, acp_segbuf_t target, unsigned char *to, int left)
{
    int sent = 0, read = 0;
    while (sent < ROUNDS || read < ROUNDS) {
        while (sent < ROUNDS && acp_isready_segbuf(source) == 0) {
            CHECK_EQUAL(acp_query_segbuf_tail(source), sent % SEGMENTS);
            fill(from + sent % SEGMENTS * SEGMENT, SEGMENT, (unsigned)(check_rank * 1000 + sent));
            CHECK_EQUAL(acp_ack_segbuf(source), 0);
            sent++;
        }
        while (read < ROUNDS && acp_isacked_segbuf(target) == 0) {
            CHECK_EQUAL(acp_query_segbuf_head(target), read % SEGMENTS);
            size_t wrong = spoiled(to + read % SEGMENTS * SEGMENT, SEGMENT, (unsigned)(left * 1000 + read));
            CHECK_EQUAL(wrong, 0);
            CHECK_EQUAL(acp_ready_segbuf(target), 0);
            read++;
        }
        sched_yield();
    }
}

/* A full buffer takes nothing more, an empty one gives nothing. */
static void limits(acp_segbuf_t source, unsigned char *from, acp_segbuf_t target)
{
    CHECK_EQUAL(acp_isacked_segbuf(target), 1);
    CHECK_EQUAL(acp_ready_segbuf(target), -1);
    acp_sync();
    for (int segment = 0; segment < SEGMENTS; segment++) {
        CHECK_EQUAL(acp_isready_segbuf(source), 0);
        fill(from + segment * SEGMENT, SEGMENT, 5);
        CHECK_EQUAL(acp_ack_segbuf(source), 0);
    }
    CHECK_EQUAL(acp_isready_segbuf(source), 1);
    CHECK_EQUAL(acp_ack_segbuf(source), -1);
    acp_sync();
    for (int segment = 0; segment < SEGMENTS; segment++) {
        while (acp_isacked_segbuf(target) != 0)
            sched_yield();
        CHECK_EQUAL(acp_ready_segbuf(target), 0);
    }
    CHECK_EQUAL(acp_ready_segbuf(target), -1);
    acp_sync();
    while (acp_isready_segbuf(source) != 0 || acp_query_segbuf_sent(source) != acp_query_segbuf_tail(source))
        sched_yield();
    acp_sync();
}

static void refused(void)
{
    unsigned char byte = 0;
    CHECK(acp_create_src_segbuf(-1, &byte, 1, 1) == ACP_SEGBUF_NULL);
    CHECK(acp_create_dst_segbuf(check_size, &byte, 1, 1) == ACP_SEGBUF_NULL);
    CHECK(acp_create_src_segbuf(check_rank, &byte, 1, 0) == ACP_SEGBUF_NULL);
    CHECK_EQUAL(acp_connect_segbuf(ACP_SEGBUF_NULL), -1);
    CHECK_EQUAL(acp_ack_segbuf(ACP_SEGBUF_NULL), -1);
    CHECK_EQUAL(acp_free_segbuf(ACP_SEGBUF_NULL), -1);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    section("refused");
    refused();
    for (int time = 0; time < 2 && check_size > 1; time++) {
        section("connection %d", time);
        unsigned char *from = calloc(SEGMENTS, SEGMENT), *to = calloc(SEGMENTS, SEGMENT);
        acp_segbuf_t source = acp_create_src_segbuf(right, from, SEGMENT, SEGMENTS);
        acp_segbuf_t target = acp_create_dst_segbuf(left, to, SEGMENT, SEGMENTS);
        CHECK(source != ACP_SEGBUF_NULL && target != ACP_SEGBUF_NULL);
        /* Half of the ranks connect the other end first. */
        CHECK_EQUAL(acp_connect_segbuf(check_rank % 2 ? target : source), 0);
        CHECK_EQUAL(acp_connect_segbuf(check_rank % 2 ? source : target), 0);
        CHECK(acp_isconnected_segbuf(source) == 0 && acp_isconnected_segbuf(target) == 0);
        CHECK_EQUAL(acp_ready_segbuf(source), -1);
        CHECK_EQUAL(acp_ack_segbuf(target), -1);
        section("stream");
        stream(source, from, target, to, left);
        acp_sync();
        section("limits");
        limits(source, from, target);
        CHECK_EQUAL(acp_disconnect_segbuf(source), 0);
        CHECK_EQUAL(acp_disconnect_segbuf(target), 0);
        CHECK_EQUAL(acp_isconnected_segbuf(source), 1);
        CHECK_EQUAL(acp_free_segbuf(source), 0);
        CHECK_EQUAL(acp_free_segbuf(target), 0);
        free(from);
        free(to);
    }
    return check_end();
}

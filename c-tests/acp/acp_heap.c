/* acp_malloc and acp_free in the heaps of all ranks, by all ranks at once. The argument of this
 * program is `--acp-size-smem-dl 12000`. */
#include "acp_check.h"

enum { HEAP = 12000, BLOCKS = 12, LONGEST = 300 };

struct block {
    acp_ga_t at;
    int rank;
    size_t bytes;
    unsigned seed;
};

static struct memory scratch;

/* Takes a block and fills it. */
static struct block taken(uint64_t *state)
{
    struct block block = {.rank = (int)draw(state, (unsigned)check_size), .bytes = draw(state, LONGEST) + 1};
    block.seed = draw(state, 1000);
    block.at = acp_malloc(block.bytes, block.rank);
    if (block.at == ACP_GA_NULL)
        return block;
    CHECK_EQUAL(acp_query_rank(block.at), block.rank);
    CHECK_EQUAL(block.at % 16, 0);
    fill(scratch.base, block.bytes, block.seed);
    DONE(acp_copy(block.at, scratch.at[check_rank], block.bytes, NONE));
    return block;
}

/* Gives a block back, which nobody else has written to. */
static void given_back(struct block block)
{
    if (block.at == ACP_GA_NULL)
        return;
    DONE(acp_copy(scratch.at[check_rank], block.at, block.bytes, NONE));
    CHECK_EQUAL(spoiled(scratch.base, block.bytes, block.seed), 0);
    acp_free(block.at);
}

static void random_blocks(void)
{
    struct block blocks[BLOCKS] = {{0}};
    uint64_t state = (uint64_t)check_rank + 1;
    for (int time = 0; time < 120; time++) {
        struct block *block = &blocks[draw(&state, BLOCKS)];
        given_back(*block);
        *block = taken(&state);
    }
    for (int at = 0; at < BLOCKS; at++)
        given_back(blocks[at]);
    acp_sync();
}

/* How many blocks of this length a heap has. */
static int capacity(int rank, size_t bytes)
{
    static acp_ga_t blocks[HEAP / 16];
    int count = 0;
    while ((blocks[count] = acp_malloc(bytes, rank)) != ACP_GA_NULL)
        count++;
    for (int at = 0; at < count; at++)
        acp_free(blocks[at * 7 % count]);
    if (count % 7 == 0)
        for (int at = 0; at < count; at++)
            acp_free(blocks[at]);
    return count;
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    scratch = memory_open(LONGEST);
    int right = (check_rank + 1) % check_size;

    section("a whole heap");
    CHECK(acp_malloc(HEAP, right) == ACP_GA_NULL);
    acp_ga_t whole = acp_malloc(HEAP - 1000, right);
    CHECK(whole != ACP_GA_NULL);
    CHECK(acp_malloc(2000, right) == ACP_GA_NULL);
    acp_free(whole);
    acp_sync();

    section("until there is no more");
    int before = capacity(right, 100);
    CHECK(before > HEAP / 150);
    acp_sync();

    section("all ranks in all heaps");
    random_blocks();

    section("all is given back");
    CHECK_EQUAL(capacity(right, 100), before);
    acp_sync();

    section("arguments that are ignored or refused");
    CHECK(acp_malloc(8, -1) == ACP_GA_NULL);
    CHECK(acp_malloc(8, check_size) == ACP_GA_NULL);
    CHECK(acp_malloc(SIZE_MAX, right) == ACP_GA_NULL);
    acp_free(ACP_GA_NULL);
    acp_free(99);
    acp_free(starter(right, 64));
    acp_free(scratch.at[check_rank]);
    acp_ga_t block = acp_malloc(64, right);
    acp_free(block + 8);
    acp_free(block);
    acp_free(block);
    acp_sync();
    CHECK_EQUAL(capacity(right, 100), before);
    memory_close(&scratch);
    return check_end();
}

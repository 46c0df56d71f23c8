/* Work spaces: bytes in blocks on several ranks, as one file. */
#include "acp_check.h"

enum { BLOCK = 1000 };

/* All ranks write interleaved pieces, then read everything. */
static void pieces(size_t size, int start)
{
    section("%zu bytes from rank %d on", size, start);
    enum { PIECE = 37 };
    CHECK_EQUAL(acp_setparams_ws((size_t)start, BLOCK), 0);
    acp_wsd_t space = acp_create_ws(size);
    CHECK(space != ACP_WSD_NULL);
    struct memory memory = memory_open(size + 2);
    unsigned char *wanted = malloc(size + 1);
    fill(wanted, size, (unsigned)size);
    memcpy(memory.base + 1, wanted, size);
    acp_ga_t here = memory.at[check_rank] + 1;
    for (size_t at = 0, piece = 0; at < size; at += PIECE, piece++)
        if (piece % (size_t)check_size == (size_t)check_rank) {
            size_t bytes = size - at < PIECE ? size - at : PIECE;
            CHECK_EQUAL(acp_write_ws(space, here + at, bytes, at), 0);
        }
    acp_sync();
    memset(memory.base, 0xee, memory.bytes);
    CHECK_EQUAL(acp_read_ws(space, here, size, 0), 0);
    CHECK_EQUAL(spoiled(memory.base + 1, size, (unsigned)size), 0);
    CHECK(memory.base[0] == 0xee && memory.base[size + 1] == 0xee);
    if (size > 500) {
        memset(memory.base, 0xee, memory.bytes);
        CHECK_EQUAL(acp_read_ws(space, here + 100, 300, 150), 0);
        CHECK(memcmp(memory.base + 101, wanted + 150, 300) == 0);
        CHECK(memory.base[100] == 0xee && memory.base[401] == 0xee);
    }
    CHECK_EQUAL(acp_read_ws(space, here, 1, size), 1);
    CHECK_EQUAL(acp_write_ws(space, here, size, 1), 1);
    CHECK_EQUAL(acp_write_ws(space, here, SIZE_MAX, 1), 1);
    acp_sync();
    free(wanted);
    memory_close(&memory);
    acp_destroy_ws(space);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    for (int start = 0; start < check_size; start += 2)
        for (int blocks = 1; blocks <= check_size; blocks++) {
            pieces((size_t)blocks * BLOCK, start);
            pieces((size_t)blocks * BLOCK - 3, start);
        }
    pieces(1, 0);
    section("refused");
    CHECK_EQUAL(acp_setparams_ws((size_t)check_size, BLOCK), -1);
    CHECK_EQUAL(acp_setparams_ws(0, 0), -1);
    CHECK_EQUAL(acp_setparams_ws(0, BLOCK), 0);
    CHECK(acp_create_ws((size_t)check_size * BLOCK + 1) == ACP_WSD_NULL);
    CHECK_EQUAL(acp_read_ws(ACP_WSD_NULL, starter(check_rank, 0), 1, 0), 1);
    return check_end();
}

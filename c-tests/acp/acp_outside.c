/* An access outside of the registered memory of another rank: it is refused, or it ends the job
 * with the reason. The argument is what is done: before or behind the region; or after the end of
 * its registration: put, get, add, third (a copy between others), anew (a put after the same memory
 * was registered again). The program succeeds if the access is refused. */
#include "acp_check.h"

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "put";
    struct memory memory = memory_open(64);
    int right = (check_rank + 1) % check_size, next = (check_rank + 2) % check_size;
    acp_ga_t word = starter(check_rank, CHECK_OWN), old = memory.at[right];
    /* Once while it is registered, so that this rank knows the region. */
    DONE(acp_copy(word, old, 8, NONE));
    unsigned char *base = memory.base;
    memset(base, 7, 64);
    acp_sync();
    if (strcmp(what, "before") != 0 && strcmp(what, "behind") != 0)
        CHECK_EQUAL(acp_unregister_memory(memory.key), 0);
    if (strcmp(what, "anew") == 0)
        CHECK(acp_register_memory(base, 64, 0) != ACP_ATKEY_NULL);
    acp_sync();
    acp_handle_t handle = NONE;
    if (check_rank == 0) {
        if (strcmp(what, "get") == 0)
            handle = acp_copy(word, old, 8, NONE);
        else if (strcmp(what, "add") == 0)
            handle = acp_add8(word, old, 1, NONE);
        else if (strcmp(what, "third") == 0)
            handle = acp_copy(old, starter(next, CHECK_OWN), 8, NONE);
        else if (strcmp(what, "before") == 0)
            handle = acp_copy(old - 1, word, 2, NONE);
        else if (strcmp(what, "behind") == 0)
            handle = acp_copy(old + 60, word, 5, NONE);
        else
            handle = acp_copy(old, word, 8, NONE);
        acp_complete(handle);
        CHECK_EQUAL(handle, NONE);
    }
    acp_sync();
    for (int byte = 0; byte < 64; byte++)
        CHECK_EQUAL(base[byte], 7);
    return check_end();
}

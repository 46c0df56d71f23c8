/* The end of a job in the middle of accesses. The argument is how the last rank ends it: abort,
 * abort-null, kill, or exit. The others copy, or wait, for ever. */
#include "acp_check.h"

#include <signal.h>

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "abort";
    struct memory memory = memory_open(1 << 16);
    int right = (check_rank + 1) % check_size;
    acp_sync();
    for (int time = 0;; time++) {
        acp_complete(acp_copy(memory.at[right], memory.at[check_rank], memory.bytes, ALL));
        acp_complete(acp_add8(starter(check_rank, CHECK_OLD), starter(right, CHECK_OWN), 1, NONE));
        if (check_rank != check_size - 1 && time == 100 && check_rank % 2 == 0)
            acp_sync();
        if (check_rank != check_size - 1 || time < 20)
            continue;
        if (strcmp(how, "abort") == 0)
            acp_abort("nothing more to do");
        if (strcmp(how, "abort-null") == 0)
            acp_abort(NULL);
        if (strcmp(how, "kill") == 0)
            raise(SIGKILL);
        exit(7);
    }
}

/* The options of the library, which it takes out of the arguments. The arguments of this program
 * are `--acp-size-smem 40000 first --acp-size-smem-dl=300000 last`. */
#include "acp_check.h"

int main(int argc, char **argv)
{
    acp_init(&argc, &argv);
    check_rank = acp_rank();
    check_size = acp_procs();

    section("arguments");
    CHECK_EQUAL(argc, 3);
    CHECK(strcmp(argv[1], "first") == 0 && strcmp(argv[2], "last") == 0 && argv[3] == NULL);

    section("starter memory");
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    fill(own(CHECK_OWN), 19000, (unsigned)check_rank);
    DONE(acp_copy(starter(right, 20500), starter(check_rank, CHECK_OWN), 19000, NONE));
    acp_sync();
    CHECK_EQUAL(spoiled(own(20500), 19000, (unsigned)left), 0);
    CHECK(acp_query_address(starter(check_rank, 39999)) != NULL);

    section("heap");
    CHECK(acp_malloc(290000, right) != ACP_GA_NULL);
    CHECK_EQUAL(acp_malloc(290000, right), ACP_GA_NULL);
    return check_end();
}

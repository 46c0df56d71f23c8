/* Fortran's types and truth values in the library: set once; the first values are kept. A library
 * that was built with a Fortran compiler knows them from the start; this library does not. */
#include "check.h"

static int32_t truth = -1, falsity = 0;

/* Before the library runs, so failures are counted by hand: nothing is known of ours. */
static int early(void)
{
    int32_t yes = 7, no = 7;
    int set = -1, wrong = 0;
    MPI_Info info = MPI_INFO_ENV;
    if (!check_strict()) return 0;
    wrong += MPI_Abi_get_fortran_booleans(4, &yes, &no, &set) != MPI_SUCCESS;
    wrong += set != 0 || yes != 7 || no != 7;
    wrong += MPI_Abi_get_fortran_info(&info) != MPI_SUCCESS || info != MPI_INFO_NULL;
    return wrong;
}

/* Tell the library, unless it knows already. */
static void tell(void)
{
    int32_t yes, no;
    int set = 0;
    MUST(MPI_Abi_get_fortran_booleans(4, &yes, &no, &set));
    if (!set) {
        MUST_FAIL(MPI_Abi_set_fortran_booleans(3, &truth, &falsity), MPI_ERR_ARG);
        MUST_FAIL(MPI_Abi_set_fortran_booleans(4, NULL, &falsity), MPI_ERR_ARG);
        MUST(MPI_Abi_set_fortran_booleans(4, &truth, &falsity));
    } else {
        truth = yes, falsity = no;
    }
    MPI_Info known, info;
    MUST(MPI_Abi_get_fortran_info(&known));
    MUST(MPI_Info_create(&info));
    if (known == MPI_INFO_NULL) {
        MUST(MPI_Info_set(info, "mpi_logical_size", "four"));
        MUST_FAIL(MPI_Abi_set_fortran_info(info), MPI_ERR_INFO_VALUE);
        MUST(MPI_Info_set(info, "mpi_logical_size", "8"));
        MUST_FAIL(MPI_Abi_set_fortran_info(info), MPI_ERR_UNSUPPORTED_OPERATION);
        MUST(MPI_Info_set(info, "mpi_logical_size", "4"));
        MUST(MPI_Info_set(info, "mpi_real16_supported", "true"));
        MUST(MPI_Abi_set_fortran_info(info));
    } else {
        MUST(MPI_Info_free(&known));
    }
    MUST(MPI_Info_free(&info));
}

/* What was told first stays, and everybody gets a copy of it. */
static void told(void)
{
    int32_t yes = 7, no = 7, other = 5;
    int64_t wide;
    int set = 0, flag = 0, room = 8;
    char value[8] = "";
    MPI_Info info;
    MUST_FAIL(MPI_Abi_set_fortran_booleans(4, &other, &falsity), MPI_ERR_ABI);
    MUST(MPI_Abi_get_fortran_booleans(4, &yes, &no, &set));
    CHECK(set && yes == truth && no == falsity);
    MUST_FAIL(MPI_Abi_get_fortran_booleans(8, &wide, &wide, &set), MPI_ERR_ABI);
    MUST_FAIL(MPI_Abi_get_fortran_booleans(0, &yes, &no, &set), MPI_ERR_ARG);
    for (int round = 0; round < 2; round++) {
        MUST(MPI_Abi_get_fortran_info(&info));
        MUST(MPI_Info_get_string(info, "mpi_logical_size", &room, value, &flag));
        CHECK(flag && strcmp(value, "4") == 0);
        MUST(MPI_Info_set(info, "mpi_logical_size", "2"));
        MUST_FAIL(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
        MUST(MPI_Info_free(&info));
    }
}

/* Logical results are Fortran's values. */
static void reductions(void)
{
    int32_t mine[3] = {truth, falsity, check_rank == 0 ? truth : falsity}, result[3];
    MUST(MPI_Allreduce(mine, result, 3, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD));
    CHECK(result[0] == truth && result[1] == falsity);
    CHECK_EQUAL(result[2], check_size == 1 ? truth : falsity);
    MUST(MPI_Allreduce(mine, result, 3, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD));
    CHECK(result[0] == truth && result[1] == falsity && result[2] == truth);
    MUST(MPI_Allreduce(mine, result, 3, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD));
    CHECK(result[0] == (check_size % 2 ? truth : falsity) && result[2] == truth);
    memcpy(result, mine, sizeof mine);
    MUST(MPI_Reduce_local(mine, result, 3, MPI_LOGICAL, MPI_LXOR));
    CHECK(result[0] == falsity && result[1] == falsity && result[2] == falsity);
}

int main(int argc, char **argv)
{
    int wrong = early();
    check_start(&argc, &argv);
    CHECK_EQUAL(wrong, 0);
    section("tell");
    tell();
    section("told");
    told();
    section("reductions");
    reductions();
    return check_end();
}

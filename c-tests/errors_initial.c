/* The initial error handler: of the world, of this process, before initialization and after
 * finalization. How a program gets one of its own is left to each library, so all is strict. */
#include "check.h"

static int before_and_after(void)
{
    MPI_Info none = MPI_INFO_NULL;
    int length = -1, size = -1;
    if (!check_strict())
        return 0;
    return (check_class(MPI_Info_get_nkeys(none, &length)) != MPI_ERR_INFO)
        + (MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
}

static void of_the_world(void)
{
    MPI_Errhandler handler;
    MUST(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    MUST(MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    MUST_FAIL(MPI_Send(NULL, -1, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_ERR_COUNT);
}

int main(int argc, char **argv)
{
    setenv("SUIRO_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
    int wrong = before_and_after();
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 2;
    if (check_strict())
        of_the_world();
    check_adopt();
    section("an initial error handler");
    check_errors += wrong;
    int total = check_total();
    MUST(MPI_Comm_free(&check_comm));
    MUST(MPI_Finalize());
    return check_verdict(total + before_and_after());
}

/* Only every second rank calls MPI at all, by sessions; the others end before or after. The ranks
 * come from the environment. MPICH 5 waits for all ranks, so that there all take part. */
#include "check.h"

static int rank_in_environment(void)
{
    static const char *const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
    for (size_t place = 0; place < sizeof names / sizeof *names; place++)
        if (getenv(names[place]) != NULL)
            return atoi(getenv(names[place]));
    return 0;
}

int main(void)
{
    MPI_Session session;
    MPI_Group world, even;
    MPI_Comm comm;
    int sum = -1, total = -1, size = -1, own = rank_in_environment();
    int every = check_strict() ? 2 : 1;

    alarm(CHECK_LIMIT_S);
    if (own % every == 1) {
        sleep_ms(own % 4 == 1 ? 0 : 200);
        return 0;
    }
    sleep_ms(own % 4 == 2 ? 100 : 0);
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    MUST(MPI_Group_rank(world, &check_rank));
    MUST(MPI_Group_size(world, &check_size));
    CHECK_EQUAL(check_rank, own);
    section("every second rank");
    int range[1][3] = {{0, check_size - 1, every}};
    MUST(MPI_Group_range_incl(world, 1, range, &even));
    MUST(MPI_Comm_create_from_group(even, "even", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MUST(MPI_Comm_size(comm, &size));
    CHECK_EQUAL(size, (check_size + every - 1) / every);
    MUST(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, every * size * (size - 1) / 2);
    own = check_errors;
    MUST(MPI_Reduce(&own, &total, 1, MPI_INT, MPI_SUM, 0, comm));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&even));
    MUST(MPI_Group_free(&world));
    MUST(MPI_Session_finalize(&session));
    return check_verdict(check_rank == 0 ? total : own);
}

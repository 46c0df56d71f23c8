#include <mpi.h>

static double start[64], elapsed[64];

void timer_clear(int n)
{
    elapsed[n] = 0;
}

void timer_start(int n)
{
    start[n] = MPI_Wtime();
}

void timer_stop(int n)
{
    elapsed[n] += MPI_Wtime() - start[n];
}

double timer_read(int n)
{
    return elapsed[n];
}

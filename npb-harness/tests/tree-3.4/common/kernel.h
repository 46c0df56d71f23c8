/* What all kernels in C have. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void timer_clear(int n);
void timer_start(int n);
void timer_stop(int n);
double timer_read(int n);
void c_print_results(const char *name, char class, int ranks, double seconds, double mops,
    int is_verified);

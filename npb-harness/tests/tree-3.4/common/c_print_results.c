#include <stdio.h>

void c_print_results(const char *name, char class, int ranks, double seconds, double mops,
    int is_verified)
{
    printf("\n\n %s Benchmark Completed\n", name);
    printf(" Class           =                        %c\n", class);
    printf(" Time in seconds =             %12.2f\n", seconds);
    printf(" Total processes =             %12d\n", ranks);
    printf(" Mop/s total     =             %12.2f\n", mops);
    printf(" Mop/s/process   =             %12.2f\n", mops / ranks);
    if (is_verified < 0) printf(" Verification    =            NOT PERFORMED\n");
    else printf(" Verification    =             %s\n", is_verified ? "  SUCCESSFUL" : "UNSUCCESSFUL");
}

/* Never ends. */
#include "../common/kernel.h"
#include "npbparams.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    puts(" about to hang");
    fflush(stdout);
    for (;;) pause();
}

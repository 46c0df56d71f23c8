#include <stdio.h>

int write_file(void)
{
    FILE *file = fopen("btio.epio.out", "w");

    return file && fputs("solution\n", file) >= 0 && fclose(file) == 0;
}

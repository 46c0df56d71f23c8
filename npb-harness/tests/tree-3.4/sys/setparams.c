/* Writes npbparams.h for a kernel: its class, and how it was compiled, of which it knows the lines
 * of config/make.def. The arguments are the kernel, in NPB 3.3 the number of ranks, the class, and
 * for BT the way to write files. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values are cut to that. */
#define VALUE_MAX 46

static const char *const names[] = {"MPIFC", "MPIF77", "FLINK", "FFLAGS", "FLINKFLAGS", "RAND",
    "MPICC", "CLINK", "CFLAGS", "CLINKFLAGS"};

static void fail(const char *why, const char *what)
{
    printf("setparams: Error: %s %s\n", why, what);
    exit(1);
}

/* The value on the line, if the line sets that name; no space or newline at its end. */
static const char *value_of(char *line, const char *name)
{
    size_t length = strlen(name);
    char *value = line + length, *end = line + strlen(line);

    if (strncmp(line, name, length) != 0 || (!isspace((unsigned char)*value) && *value != '='))
        return NULL;
    while (isspace((unsigned char)*value)) value++;
    if (*value++ != '=') return NULL;
    while (isspace((unsigned char)*value)) value++;
    while (end > value && isspace((unsigned char)end[-1])) *--end = 0;
    if (strlen(value) > VALUE_MAX) strcpy(value + VALUE_MAX - 3, "...");
    return *value ? value : "(none)";
}

static void write_compiler(FILE *out, int is_fortran)
{
    char line[400];
    const char *value;
    size_t i;
    FILE *def = fopen("../config/make.def", "r");

    if (!def) fail("there is no", "../config/make.def");
    while (fgets(line, sizeof line, def)) {
        for (i = 0; *line != '#' && i < sizeof names / sizeof *names; i++) {
            if (!(value = value_of(line, names[i]))) continue;
            if (is_fortran) {
                fprintf(out, "      character(len=%d), parameter :: cs_%s = '%s'\n",
                    (int)strlen(value), names[i], value);
            } else {
                fprintf(out, "#define CS_%s \"%s\"\n", names[i], value);
            }
        }
    }
    fclose(def);
}

int main(int argc, char **argv)
{
    const char *kernel = argc > 1 ? argv[1] : "", *subtype;
    int at = 2, is_fortran = strcmp(kernel, "ep") == 0, ranks = 0;
    FILE *out;
    char class;

    if (argc > at && isdigit((unsigned char)*argv[at])) ranks = atoi(argv[at++]);
    class = argc > at ? *argv[at++] : 'U';
    subtype = argc > at ? argv[at] : "none";
    if (class == 'U') fail("You must specify CLASS to build this benchmark", kernel);
    if (!strchr("SWABCDEF", class)) fail("Unknown benchmark class of", kernel);
    if (strcmp(kernel, "bt") == 0 && ranks == 2) fail("Number of processors is no square:", kernel);
    out = fopen("npbparams.h", "w");
    if (!out) fail("cannot write", "npbparams.h");
    if (is_fortran) {
        fprintf(out, "! CLASS = %c\n", class);
        fprintf(out, "      character, parameter :: class = '%c'\n", class);
        fprintf(out, "      integer, parameter :: nprocs_compiled = %d\n", ranks);
    } else {
        fprintf(out, "#define CLASS '%c'\n#define NPROCS_COMPILED %d\n", class, ranks);
        fprintf(out, "#define SUBTYPE \"%s\"\n", subtype);
    }
    write_compiler(out, is_fortran);
    fclose(out);
    return 0;
}

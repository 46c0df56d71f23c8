/* Memory of the ranks of one host, of any MPI library with the C interface of MPI 3.
 *
 *   mpirun -n N memory N [maps]
 *
 * Lines are as in measure.h, in MiB, one window each: proportional set size (PSS: a page counts
 * once, divided among the processes that have it) of all ranks together, and of the launcher.
 *
 *   start         before MPI_Init: the program and the libraries
 *   init          after MPI_Init
 *   alltoall      after one MPI_Alltoall, of blocks of so many bytes
 *   alltoalls     after a hundred more
 *   launcher      of what started the ranks on this host, at the end
 *
 * Ranks wait for each other in a page of their own and not by messages, which would change what is
 * measured; so they are told how many they are. With `maps`, rank 0 also tells on stderr what each
 * of its mappings takes at the end. */
#include "measure.h"
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK_MOST = 1024, MORE = 100, STEPS = 16 };

/* What the ranks share; zero in the beginning. */
struct page {
    atomic_int present[2 * STEPS];
    atomic_long pss_kib[STEPS];
};

static struct page *page;
static char page_name[64];
static int rank, size, step;

static void fail(const char *why)
{
    fprintf(stderr, "memory: %s (%s)\n", why, strerror(errno));
    exit(2);
}

/* Ranks of a host are children of one process, in all launchers. */
static void share_page(void)
{
    snprintf(page_name, sizeof page_name, "/memory-%d-%d", (int)getuid(), (int)getppid());
    int file = shm_open(page_name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof *page) != 0) fail("no shared page");
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) fail("no shared page");
    close(file);
}

/* Kibibytes that a process has by its `field`; 0 if it cannot be read. */
static long kibibytes(long process, const char *field)
{
    char path[64], line[256];
    long found = 0;
    snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", process);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0) sscanf(line + strlen(field), "%ld", &found);
    fclose(file);
    return found;
}

/* Waits until all ranks are here; without messages, and without using a processor. */
static void together(int place)
{
    struct timespec pause = {0, 1000000};
    atomic_fetch_add(&page->present[place], 1);
    while (atomic_load(&page->present[place]) < size) nanosleep(&pause, NULL);
}

/* Memory of all ranks. The ranks are idle until all have read it. */
static double all_mib(void)
{
    together(2 * step);
    atomic_fetch_add(&page->pss_kib[step], kibibytes(getpid(), "Pss:"));
    together(2 * step + 1);
    return atomic_load(&page->pss_kib[step++]) / 1024.0;
}

static void tell(const char *test, long bytes, double mib)
{
    struct figure figure = {test, "MiB", size, bytes, 0, 1, {mib}};
    if (rank == 0) print_figure(&figure, "ok");
}

/* The parent of a process and its name. */
static long parent(long process, char name[64])
{
    char path[64];
    long found = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (fscanf(file, "%*d (%63[^)]) %*c %ld", name, &found) != 2) found = 0;
    fclose(file);
    return found;
}

/* The ancestors that are launchers, by their names. */
static double launcher_mib(void)
{
    static const char *const names[] = {"mpi", "hydra", "prte"};
    long total_kib = 0;
    char name[64];
    for (long process = getppid(), above; (above = parent(process, name)) > 0; process = above) {
        int is_launcher = 0;
        for (int i = 0; i < 3; i++) is_launcher |= strncmp(name, names[i], strlen(names[i])) == 0;
        if (!is_launcher) break;
        total_kib += kibibytes(process, "Pss:");
    }
    return total_kib / 1024.0;
}

static void show_maps(void)
{
    char line[512], mapping[512] = "";
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        long kib;
        if (sscanf(line, "Pss: %ld kB", &kib) == 1 && kib > 0)
            fprintf(stderr, "%8ld KiB  %s", kib, mapping);
        else if (strchr("0123456789abcdef", line[0]) && strchr(line, '-'))
            strcpy(mapping, line);
    }
    if (file) fclose(file);
}

static void alltoall(int bytes, char *outgoing, char *incoming)
{
    MPI_Alltoall(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int told, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    size = argc > 1 ? atoi(argv[1]) : 0;
    if (size < 1) fail("wrong arguments; see the head of benches/memory.c");
    share_page();
    double start_mib = all_mib();
    MPI_Init(&argc, &argv);
    double init_mib = all_mib();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &told);
    if (told != size) fail("another number of ranks than was told");
    MPI_Get_library_version(library, &length);
    if (rank == 0) printf("library %.*s\n", (int)strcspn(library, "\n"), library);
    tell("start", 0, start_mib);
    tell("init", 0, init_mib);
    char *outgoing = calloc(size, BLOCK_MOST), *incoming = calloc(size, BLOCK_MOST);
    if (!outgoing || !incoming) fail("no memory");
    for (int bytes = 8; bytes <= BLOCK_MOST; bytes *= 128) {
        alltoall(bytes, outgoing, incoming);
        tell("alltoall", bytes, all_mib());
        for (int i = 0; i < MORE; i++) alltoall(bytes, outgoing, incoming);
        tell("alltoalls", bytes, all_mib());
    }
    if (rank == 0) tell("launcher", 0, launcher_mib());
    if (rank == 0 && argc > 2 && strcmp(argv[2], "maps") == 0) show_maps();
    if (rank == 0) shm_unlink(page_name);
    MPI_Finalize();
    return 0;
}

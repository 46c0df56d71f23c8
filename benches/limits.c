/* Limits of the bare machine for an MPI library.
 *
 *   limits [TEST...]     all, or the named ones
 *
 *   line         8 bytes from one processor to another through a line of shared memory
 *   switch       the same between two processes on one processor, which yield to each other
 *   futex        the same on two processors; the one that waits sleeps in the kernel
 *   copy         memcpy within the nearest cache that holds both buffers
 *   copy-cold    memcpy of memory that no cache holds
 *   cma          process_vm_readv of the memory of another process, which touched it before
 *   spawn        start of RANKS programs that do nothing, until the last has ended
 *
 * Two processes are confined to two processors (one for `switch`). A virtual machine may have its
 * processors far apart at one time and near at another: `line` shows it. Lines: see measure.h. */
#include "measure.h"
#include <linux/futex.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WINDOWS = 20, COLD_BYTES = 128 << 20 };

extern char **environ;

static void fail(const char *why)
{
    fprintf(stderr, "limits: %s\n", why);
    exit(2);
}

static void *pages(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("no memory");
    return memory;
}

static struct figure figure_of(const char *test, int ranks, long bytes, const char *unit)
{
    return (struct figure){.test = test, .ranks = ranks, .bytes = bytes, .unit = unit};
}

/* Two processes that bounce a number; how they wait for it. */

static void wait_spinning(_Atomic uint32_t *word, uint32_t wanted)
{
    while (atomic_load_explicit(word, memory_order_acquire) != wanted) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

static void wait_yielding(_Atomic uint32_t *word, uint32_t wanted)
{
    while (atomic_load_explicit(word, memory_order_acquire) != wanted) sched_yield();
}

static void wait_sleeping(_Atomic uint32_t *word, uint32_t wanted)
{
    for (uint32_t seen; (seen = atomic_load(word)) != wanted;)
        syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

struct bouncing {
    const char *test;
    void (*wait)(_Atomic uint32_t *, uint32_t);
    int processors;
    int trips;
};

/* Waits for odd or even numbers and answers with the next one. */
static void bounce(const struct bouncing *how, _Atomic uint32_t *word, uint32_t mine,
                   struct figure *figure)
{
    uint32_t next = mine;
    for (int window = 0; window < WINDOWS; window++) {
        double begin = seconds();
        for (int trip = 0; trip < how->trips; trip++, next += 2) {
            how->wait(word, next);
            atomic_store_explicit(word, next + 1, memory_order_release);
            if (how->wait == wait_sleeping)
                syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
        }
        figure->values[window] = (seconds() - begin) * 1e6 / (2.0 * how->trips);
    }
}

static void measure_bouncing(const struct bouncing *how)
{
    struct figure figure = figure_of(how->test, 2, 8, "us");
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    if (!confine(how->processors - 1)) {
        print_figure(&figure, "unsupported");
        return;
    }
    void *page = pages(4096);
    pid_t child = fork();
    if (child < 0) fail("no second process");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        confine(0);
        bounce(how, page, 1, &figure);
        _exit(0);
    }
    bounce(how, page, 0, &figure);
    waitpid(child, NULL, 0);
    munmap(page, 4096);
    sched_setaffinity(0, sizeof before, &before);
    figure.windows = WINDOWS;
    print_figure(&figure, "ok");
}

static void line(void)
{
    measure_bouncing(&(struct bouncing){"line", wait_spinning, 2, 1000});
}

static void yield(void)
{
    measure_bouncing(&(struct bouncing){"switch", wait_yielding, 1, 200});
}

static void futex(void)
{
    measure_bouncing(&(struct bouncing){"futex", wait_sleeping, 2, 50});
}

/* Copies that move on through buffers of `room` bytes, a multiple of `bytes`. */
static void measure_copy(const char *test, char *to, const char *from, size_t room, long bytes)
{
    struct figure figure = figure_of(test, 1, bytes, "us");
    int copies = (int)((bytes < 65536 ? 16 << 20 : 8 << 20) / (bytes < 4096 ? 4096 : bytes));
    size_t place = 0;
    for (int window = -1; window < WINDOWS / 2; window++) {
        double begin = seconds();
        for (int copy = 0; copy < copies; copy++) {
            memcpy(to + place, from + place, bytes);
            /* The compiler must not remove a copy without a reader. */
            __asm__ volatile("" ::: "memory");
            place = (place + bytes) % room;
        }
        if (window >= 0) figure.values[figure.windows++] = (seconds() - begin) * 1e6 / copies;
    }
    print_figure(&figure, "ok");
}

static void copy(void)
{
    for (long bytes = 1024; bytes <= 4 << 20; bytes *= 4) {
        char *to = pages(bytes), *from = pages(bytes);
        memset(from, 1, bytes);
        measure_copy("copy", to, from, bytes, bytes);
        munmap(to, bytes);
        munmap(from, bytes);
    }
}

static void copy_cold(void)
{
    char *to = pages(COLD_BYTES), *from = pages(COLD_BYTES);
    memset(from, 1, COLD_BYTES);
    memset(to, 2, COLD_BYTES);
    for (long bytes = 65536; bytes <= 1 << 20; bytes *= 16)
        measure_copy("copy-cold", to, from, COLD_BYTES, bytes);
    munmap(to, COLD_BYTES);
    munmap(from, COLD_BYTES);
}

static void read_from(pid_t other, char *memory, long bytes)
{
    struct figure figure = figure_of("cma", 2, bytes, "us");
    char *own = malloc(bytes);
    if (!own) fail("no memory");
    memset(own, 1, bytes);
    struct iovec to = {own, bytes}, from = {memory, bytes};
    int reads = (int)((2 << 20) / bytes), denied = 0;
    for (int window = -1; window < WINDOWS / 2 && !denied; window++) {
        double begin = seconds();
        for (int i = 0; i < reads && !denied; i++)
            denied = process_vm_readv(other, &to, 1, &from, 1, 0) != bytes;
        if (window >= 0) figure.values[figure.windows++] = (seconds() - begin) * 1e6 / reads;
    }
    if (denied) figure.windows = 0;
    print_figure(&figure, denied ? "unsupported" : "ok");
    free(own);
}

static void cma(void)
{
    long most = 1 << 20;
    char *memory = malloc(most);
    _Atomic int *ready = pages(4096);
    if (!memory) fail("no memory");
    pid_t child = fork();
    if (child < 0) fail("no second process");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        memset(memory, 2, most);
        atomic_store(ready, 1);
        for (;;) pause();
    }
    while (!atomic_load(ready)) sched_yield();
    for (long bytes = 4096; bytes <= most; bytes *= 16) read_from(child, memory, bytes);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    free(memory);
    munmap((void *)ready, 4096);
}

static void spawn(void)
{
    char *words[] = {"true", NULL};
    for (int count = 2; count <= 32; count *= 4) {
        struct figure figure = figure_of("spawn", count, 0, "ms");
        for (; figure.windows < 5; figure.windows++) {
            double begin = seconds();
            pid_t pids[32];
            for (int i = 0; i < count; i++)
                if (posix_spawnp(&pids[i], "true", NULL, NULL, words, environ) != 0)
                    fail("true cannot be started");
            for (int i = 0; i < count; i++) waitpid(pids[i], NULL, 0);
            figure.values[figure.windows] = (seconds() - begin) * 1e3;
        }
        print_figure(&figure, "ok");
    }
}

static const struct {
    const char *name;
    void (*measure)(void);
} tests[] = {
    {"line", line},           {"switch", yield}, {"futex", futex}, {"copy", copy},
    {"copy-cold", copy_cold}, {"cma", cma},      {"spawn", spawn},
};

int main(int argc, char **argv)
{
    int found = 0;
    for (size_t test = 0; test < sizeof tests / sizeof *tests; test++) {
        int wanted = argc == 1;
        for (int word = 1; word < argc; word++) wanted |= strcmp(argv[word], tests[test].name) == 0;
        if (wanted) tests[test].measure();
        found += wanted;
    }
    if (found == 0) fail("no such test; see the head of benches/limits.c");
    return 0;
}

/* Loaded before the C library (LD_PRELOAD): the wall clock of this process is an hour ahead or behind, by turns of
 * half a second, and hosts with an odd number are ahead when others are behind. Other clocks are right. */

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { STEP_S = 3600 };

static int is_ahead(const struct timespec *now)
{
    static int odd = -1;
    char name[64] = "";
    if (odd < 0) {
        gethostname(name, sizeof name - 1);
        char *at = name;
        while (at[0] && at[1])
            at++;
        odd = *at & 1;
    }
    return (now->tv_nsec < 500000000) ^ odd;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int code = (int)syscall(SYS_clock_gettime, clock, now);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += is_ahead(now) ? STEP_S : -STEP_S;
    return code;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec time;
    (void)zone;
    int code = clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return code;
}

time_t time(time_t *where)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where)
        *where = now.tv_sec;
    return now.tv_sec;
}

/* What the system says of a process. */
#ifndef PROCESS_STATUS_H
#define PROCESS_STATUS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number in the line of /proc/PID/status that begins so, such as "VmRSS:" (KiB); -1 if there is none. */
static inline long status_of(int pid, const char *word)
{
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, word, strlen(word)) == 0)
            value = atol(line + strlen(word));
    if (file)
        fclose(file);
    return value;
}

#endif

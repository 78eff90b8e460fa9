// SPDX-License-Identifier: Apache-2.0
// cost_of RUNS COMMAND...: what a command costs at its start. Prints the least CPU time of so many runs in
// microseconds, and the largest resident memory in KiB. A program of its own, and small: the memory of the program that
// starts a process counts as the process's own.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

int main(int count, char** arguments) {
    long least_us = -1, resident_kib = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    for (int runs = count > 2 ? atoi(arguments[1]) : 0; runs > 0; --runs) {
        pid_t child;
        int status;
        struct rusage usage;
        if (posix_spawn(&child, arguments[2], &actions, NULL, arguments + 2, environ) != 0) return 1;
        if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
        const long us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L + usage.ru_utime.tv_usec +
                        usage.ru_stime.tv_usec;
        if (least_us < 0 || us < least_us) least_us = us;
        if (usage.ru_maxrss > resident_kib) resident_kib = usage.ru_maxrss;
    }
    printf("%ld %ld\n", least_us, resident_kib);
    return least_us < 0;
}

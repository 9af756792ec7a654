/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the programs that inject faults: numbers from a seed, a child with a time limit, and
 * the files that it leaves. */
#ifndef HETSORT_TESTING_TESTS_FAULT_HELP_H
#define HETSORT_TESTING_TESTS_FAULT_HELP_H

#include "base/arith.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { WORKERS = 4, HANG_S = 120 };

/* How a child ended. */
typedef struct ending {
	bool hung;
	int code, signal; /* -1: no exit code; 0: no signal */
} ending;

/* Wait until the child ends, but at most HANG_S seconds. Looks are counted as well, so that a child
 * does not seem to hang because all processes were stopped for a while. */
static ending await_child(pid_t pid)
{
	ending o = { false, -1, 0 };
	int st = 0, looks = 0;
	const time_t start = time(NULL);
	while (waitpid(pid, &st, WNOHANG) == 0) {
		const struct timespec t = { 0, 300000 };
		nanosleep(&t, NULL);
		if (++looks > HANG_S * 1000 && time(NULL) - start > HANG_S && !o.hung) {
			o.hung = true;
			kill(pid, SIGKILL);
		}
	}
	o.code = WIFEXITED(st) ? WEXITSTATUS(st) : -1;
	o.signal = WIFSIGNALED(st) ? WTERMSIG(st) : 0;
	return o;
}

/* Remove all files of dir except inputs, "spill" and "work", and copy the name of one to name. */
static void take_litter(const char *dir, char name[64])
{
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));)
		if (strncmp(e->d_name, "in", 2) != 0 && strcmp(e->d_name, "spill") != 0 &&
		    strcmp(e->d_name, "work") != 0 && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0) {
			snprintf(name, 64, "%.60s", e->d_name);
			unlinkat(dirfd(d), e->d_name, 0);
		}
	if (d)
		closedir(d);
}

#endif

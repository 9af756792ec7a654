/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A control group with a CPU quota, below the group of this process: cpu.cfs_* of version 1,
 * cpu.max of version 2. A watcher process reads a pipe to which only this process can write. When
 * this process ends, even by SIGKILL, the pipe is closed, and the watcher kills the processes of
 * the group and removes the group. */
#include "cpuburn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct quota_group {
	bool v2;
	long period_us;
	int procs; /* cgroup.procs, open for writing */
	int pipe;  /* the watcher waits until it is closed */
	pid_t watcher;
	char path[PATH_MAX];
};

static bool list_has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ',' || p[-1] == ' ') &&
		    (p[n] == '\0' || p[n] == ',' || p[n] == ' ' || p[n] == '\n'))
			return true;
	return false;
}

/* Find where the cpu controller is mounted: preferably version 1, else version 2. */
static bool find_mount(char mount[PATH_MAX], bool *v2)
{
	FILE *f = fopen("/proc/self/mounts", "re");
	char line[PATH_MAX * 2], at[PATH_MAX], type[32], options[PATH_MAX];
	bool found = false;
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%*s %4095s %31s %4095s", at, type, options) != 3)
			continue;
		if (strcmp(type, "cgroup") == 0 && list_has_word(options, "cpu")) {
			*v2 = false;
		} else if (strcmp(type, "cgroup2") == 0 && !found) {
			*v2 = true;
		} else {
			continue;
		}
		memcpy(mount, at, sizeof at);
		found = true;
		if (!*v2)
			break;
	}
	if (f)
		fclose(f);
	return found;
}

/* Find the group of this process, as a path below the mount point. */
static bool find_own(bool v2, char own[PATH_MAX])
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX + 64];
	bool found = false;
	while (f && !found && fgets(line, sizeof line, f)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (v2 ? names[1] == '\0' : list_has_word(names + 1, "cpu")) {
			snprintf(own, PATH_MAX, "%.4000s", path);
			found = true;
		}
	}
	if (f)
		fclose(f);
	return found;
}

static bool quota_group_write(const quota_group *g, const char *file, const char *text,
			      burn_why *why)
{
	char path[PATH_MAX + 32];
	int fd;
	snprintf(path, sizeof path, "%s/%s", g->path, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		WHY(why, "cannot write '%.40s' to '%.120s': %s", text, path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	close(fd);
	return true;
}

/* Wait for the end of the parent process. Then kill the processes of the group, and remove the
 * group. */
static void quota_group_watch(const quota_group *g, int end)
{
	char byte, path[PATH_MAX + 32];
	ssize_t got;
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	setpgid(0, 0);
	/* readers of our output must not wait for the watcher */
	for (int fd = 0; fd <= 2; fd++)
		close(fd);
	do
		got = read(end, &byte, 1);
	while (got < 0 && errno == EINTR);
	snprintf(path, sizeof path, "%s/cgroup.procs", g->path);
	for (int i = 0; rmdir(g->path) != 0 && errno == EBUSY && i < 1000; i++) {
		FILE *f = fopen(path, "re");
		int pid;
		while (f && fscanf(f, "%d", &pid) == 1)
			if (pid > 1)
				kill(pid, SIGKILL);
		if (f)
			fclose(f);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	_exit(0);
}

static bool start_watcher(quota_group *g, burn_why *why)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0 || (g->watcher = fork()) < 0) {
		WHY(why, "cannot start the watcher: %s", strerror(errno));
		return false;
	}
	if (g->watcher == 0) {
		close(ends[1]);
		quota_group_watch(g, ends[0]);
	}
	close(ends[0]);
	g->pipe = ends[1];
	return true;
}

/* Choose the path of the new group. In version 2, a group with processes cannot pass the cpu
 * controller to groups below it. So the nearest ancestor that does so is used. */
static bool quota_group_name(quota_group *g, burn_why *why)
{
	char mount[PATH_MAX], own[PATH_MAX], path[2 * PATH_MAX + 32];
	if (!find_mount(mount, &g->v2) || !find_own(g->v2, own)) {
		WHY(why, "no cpu controller of control groups is mounted");
		return false;
	}
	if (own[1] == '\0')
		own[0] = '\0';
	while (g->v2 && own[0]) {
		char passed_on[PATH_MAX] = "";
		snprintf(path, sizeof path, "%s%s/cgroup.subtree_control", mount, own);
		FILE *f = fopen(path, "re");
		if (f && !fgets(passed_on, sizeof passed_on, f))
			passed_on[0] = '\0';
		if (f)
			fclose(f);
		if (list_has_word(passed_on, "cpu"))
			break;
		*strrchr(own, '/') = '\0';
	}
	if (snprintf(g->path, sizeof g->path, "%s%s/cpuburn.%ld", mount, own, (long)getpid()) <
	    (int)sizeof g->path)
		return true;
	WHY(why, "the path of the control group is too long");
	return false;
}

quota_group *quota_group_open(double period_s, burn_why *why)
{
	char file[PATH_MAX + 32];
	quota_group *g = calloc(1, sizeof *g);
	if (!g) {
		WHY(why, "no memory");
		return NULL;
	}
	g->period_us = (long)(period_s * 1e6 + .5);
	if (!quota_group_name(g, why))
		goto free;
	if (mkdir(g->path, 0755) != 0) {
		WHY(why, "cannot make the control group '%.150s': %s", g->path, strerror(errno));
		goto free;
	}
	snprintf(file, sizeof file, "%s/%s", g->path, g->v2 ? "cpu.max" : "cpu.cfs_quota_us");
	if (access(file, W_OK) != 0) {
		WHY(why, "no quota in the control group: '%.150s': %s", file, strerror(errno));
		goto remove;
	}
	snprintf(file, sizeof file, "%s/cgroup.procs", g->path);
	g->procs = open(file, O_WRONLY | O_CLOEXEC);
	if (g->procs < 0)
		WHY(why, "cannot open '%.150s': %s", file, strerror(errno));
	else if (start_watcher(g, why))
		return g;
	else
		close(g->procs);
remove:
	rmdir(g->path);
free:
	free(g);
	return NULL;
}

bool quota_group_set(quota_group *g, double cpus, burn_why *why)
{
	char quota[32] = "-1", both[64], period[32];
	snprintf(period, sizeof period, "%ld", g->period_us);
	if (cpus > 0)
		snprintf(quota, sizeof quota, "%ld", (long)(cpus * (double)g->period_us + .5));
	snprintf(both, sizeof both, "%s %s", cpus > 0 ? quota : "max", period);
	if (g->v2)
		return quota_group_write(g, "cpu.max", both, why);
	return quota_group_write(g, "cpu.cfs_period_us", period, why) &&
	       quota_group_write(g, "cpu.cfs_quota_us", quota, why);
}

bool quota_group_join(const quota_group *g)
{
	return write(g->procs, "0", 1) == 1;
}

void quota_group_close(quota_group *g)
{
	int status;
	if (!g)
		return;
	close(g->pipe); /* the watcher removes the group, as at the end of this process */
	while (waitpid(g->watcher, &status, 0) < 0 && errno == EINTR)
		;
	close(g->procs);
	free(g);
}

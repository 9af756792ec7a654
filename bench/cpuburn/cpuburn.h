/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cpuburn.h - the parts of cpuburn: burner threads, a group with a CPU quota, and the reference
 * loop that measures what either of them does. Only cpuburn.c, its command line and say.c
 * print. */
#ifndef CPUBURN_H
#define CPUBURN_H

#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* What a Linux kernel can be built for, which is more than a cpu_set_t holds. A kernel refuses a
 * set smaller than its own, and takes a larger one. */
enum { CPUS_MAX = 8192 };

struct cpus {
	cpu_set_t part[CPUS_MAX / CPU_SETSIZE];
};

static inline void cpus_add(struct cpus *set, int cpu)
{
	CPU_SET_S((size_t)cpu, sizeof *set, set->part);
}

static inline bool cpus_has(const struct cpus *set, int cpu)
{
	return CPU_ISSET_S((size_t)cpu, sizeof *set, set->part);
}

enum how { HOW_ANY, HOW_FIFO, HOW_NICE, HOW_PLAIN, HOW_GROUP };

struct why { /* what failed, for a person */
	char text[256];
};

static inline double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- say.c: "cpuburn: ..." and a new line on standard error, control bytes as escapes */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_list(const char *format, va_list list) __attribute__((format(printf, 1, 0)));

/* ---- thread.c: one thread for each CPU, which keeps a share of its time from others */
typedef struct burner burner;

/* Starts with share 0. HOW_ANY takes the first of fifo, nice and plain (no higher priority) that is
 * allowed, and burner_how tells which; any other takes that one or fails. NULL on failure. */
burner *burner_start(const int *cpus, size_t ncpus, double period_s, enum how how, struct why *why);
enum how burner_how(const burner *b);
void burner_set(burner *b, double share); /* from the next period on */
double burner_burnt_s(const burner *b);   /* processor time of all threads so far */
void burner_stop(burner *b);              /* joins and frees; NULL is fine */

/* ---- group.c: a control group with a quota, version 1 or 2 */
typedef struct group group;

/* A new group below the one this process is in. What is in it is killed, and the group removed,
 * when it is closed or this process is gone, however that came about. NULL on failure. */
group *group_open(double period_s, struct why *why);
bool group_quota(group *g, double cpus, struct why *why); /* 0: none */
bool group_join(const group *g); /* moves the calling process; async-signal-safe */
void group_close(group *g);      /* NULL is fine */

/* ---- measure.c: how fast a reference loop runs on these CPUs */
struct speed {
	double rounds_per_s;     /* of the loop, over all CPUs, by the clock on the wall */
	double rounds_per_cpu_s; /* and by processor time */
	double share; /* processor time over time on the wall; 1: nobody else was there */
};

/* One process for each CPU runs the loop for seconds_s; in group g if it is not NULL. */
bool measure_speed(const int *cpus, size_t ncpus, double seconds_s, const group *g,
		   struct speed *out, struct why *why);

#endif

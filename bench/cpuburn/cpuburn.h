/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cpuburn.h - the parts of cpuburn: the command line, burner threads, a group with a CPU quota, and
 * the reference loop that measures the effect of the threads or the quota. Only cpuburn.c and
 * burn_args.c print. */
#ifndef CPUBURN_H
#define CPUBURN_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

/* The most CPUs that a Linux kernel supports, which is more than a cpu_set_t holds. A kernel
 * refuses a set that is smaller than its own, and accepts a larger one. */
enum { CPUS_MAX = 8192 };

typedef struct cpu_mask {
	cpu_set_t part[CPUS_MAX / CPU_SETSIZE];
} cpu_mask;

static inline void cpus_add(cpu_mask *set, int cpu)
{
	CPU_SET_S((size_t)cpu, sizeof *set, set->part);
}

static inline bool cpus_has(const cpu_mask *set, int cpu)
{
	return CPU_ISSET_S((size_t)cpu, sizeof *set, set->part);
}

typedef enum burn_how { HOW_ANY, HOW_FIFO, HOW_NICE, HOW_PLAIN, HOW_GROUP } burn_how;
extern const char *const burn_how_name[]; /* in burner.c */

/* The reason of a failure, for messages. */
typedef struct burn_why {
	char text[256];
} burn_why;

#define WHY(w, ...) (snprintf((w)->text, sizeof(w)->text, __VA_ARGS__))

static inline double clock_s(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- burn_args.c: the command line, and messages */

typedef struct burn_args {
	double factor, period_s, seconds_s;
	int cpus[CPUS_MAX];
	size_t ncpus;
	burn_how how;
	bool calibrate, quiet;
	const char *json; /* NULL: none */
	char **command;   /* NULL: none */
	int status;       /* the exit status, if burn_args_read() returns false */
} burn_args;

/* burn_args_read - read the command line. Returns false if the program must end, after printing an
 * error or the requested help; a->status is then the exit status. */
bool burn_args_read(burn_args *a, int argc, char **argv);

/* burn_say - print "cpuburn: ..." and a new line on standard error, with control bytes escaped. */
void burn_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- burner.c: a thread for each CPU, which uses up a share of the CPU's time */

typedef struct burner burner;

/* burner_start - start threads with share 0. HOW_ANY uses the first of HOW_FIFO, HOW_NICE and
 * HOW_PLAIN (no higher priority) that is allowed. Returns NULL on failure. */
burner *burner_start(const int *cpus, size_t ncpus, double period_s, burn_how how, burn_why *why);
burn_how burner_how(const burner *b);     /* the priority that the threads have */
void burner_set(burner *b, double share); /* from the next period on */
double burner_burnt_s(const burner *b);   /* processor time of all threads so far */
void burner_stop(burner *b);              /* joins and frees; b may be NULL */

typedef struct loop_speed {
	double rounds_per_s;     /* of the loop on all CPUs, by the wall clock */
	double rounds_per_cpu_s; /* by processor time */
	double share;            /* processor time divided by wall time; 1: no other process ran */
} loop_speed;

/* measure_speed - run the reference loop for seconds_s in one process per CPU, in group g unless it
 * is NULL. Returns false on failure. */
typedef struct quota_group quota_group;
bool measure_speed(const burn_args *a, double seconds_s, const quota_group *g, loop_speed *out,
		   burn_why *why);

/* ---- quota_group.c: a control group with a quota, version 1 or 2 */

/* quota_group_open - make a group below the group of this process. When the group is closed or this
 * process ends for any reason, the processes of the group are killed and the group is removed.
 * Returns NULL on failure. */
quota_group *quota_group_open(double period_s, burn_why *why);
bool quota_group_set(quota_group *g, double cpus, burn_why *why); /* 0: no quota */
bool quota_group_join(const quota_group *g); /* moves the calling process; async-signal-safe */
void quota_group_close(quota_group *g);      /* g may be NULL */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast the CPUs are for an ordinary program: one process for each runs a loop that stays in
 * registers. Processes, not threads, because a control group takes whole processes. They die with
 * this one. */
#include "cpuburn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct result { /* written by the child, in shared memory */
	double rounds, wall_s, cpu_s;
};

static void rounds_of(int cpu, double seconds_s, struct result *r)
{
	struct cpus set = { 0 };
	uint64_t x = 88172645463325252U, rounds = 0;
	double start_s, cpu_s, now_s;

	cpus_add(&set, cpu);
	if (sched_setaffinity(0, sizeof set, set.part) != 0)
		_exit(1);
	/* The first look at the clocks, and the move to the CPU, are not to count. */
	start_s = clock_s(CLOCK_MONOTONIC);
	cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	do {
		for (int i = 0; i < 2000; i++) { /* xorshift64: some 5 us */
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		rounds++;
		now_s = clock_s(CLOCK_MONOTONIC);
	} while (now_s - start_s < seconds_s);
	r->wall_s = now_s - start_s;
	r->cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
	r->rounds = (double)rounds + (x == 0 ? 1 : 0); /* x is used; it is never 0 */
}

static pid_t start(int cpu, double seconds_s, const group *g, struct result *r)
{
	pid_t parent = getpid(), child = fork();
	sigset_t none;

	if (child != 0)
		return child;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || (g && !group_join(g)))
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	rounds_of(cpu, seconds_s, r);
	_exit(0);
}

static bool ended_well(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void add_up(const struct result *r, size_t n, struct speed *out)
{
	double rounds = 0, cpu_s = 0, wall_s = 0;

	*out = (struct speed){ 0 };
	for (size_t i = 0; i < n; i++) {
		out->rounds_per_s += r[i].rounds / r[i].wall_s;
		rounds += r[i].rounds;
		cpu_s += r[i].cpu_s;
		wall_s += r[i].wall_s;
	}
	out->rounds_per_cpu_s = rounds / cpu_s;
	out->share = cpu_s / wall_s;
}

bool measure_speed(const int *cpus, size_t ncpus, double seconds_s, const group *g,
		   struct speed *out, struct why *why)
{
	pid_t child[CPUS_MAX];
	size_t bytes = CPUS_MAX * sizeof(struct result), started = 0;
	struct result *r =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool good = r != MAP_FAILED;

	snprintf(why->text, sizeof why->text, "cannot run the reference loop: %s", strerror(errno));
	if (!good)
		return false;
	for (; started < ncpus && good; started++) {
		child[started] = start(cpus[started], seconds_s, g, &r[started]);
		if (child[started] < 0) {
			snprintf(why->text, sizeof why->text, "cannot fork: %s", strerror(errno));
			good = false;
			break;
		}
	}
	for (size_t i = 0; i < started; i++)
		if (!ended_well(child[i]) && good) {
			snprintf(why->text, sizeof why->text,
				 "the reference loop on CPU %d was ended", cpus[i]);
			good = false;
		}
	if (good)
		add_up(r, ncpus, out);
	munmap(r, bytes);
	return good;
}

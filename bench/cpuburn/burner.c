/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Burner threads, and the reference loop that measures the speed at which other programs run.
 *
 * Each burner thread runs on one CPU. In every period it burns its share of processor time, then
 * sleeps. It counts the time that it still has to burn since its start, so after a late wake-up it
 * burns more, and errors do not add up. Costs a wake-up per period. The threads end with the
 * process. */
#include "cpuburn.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REMEMBERED_S = 1 };

typedef struct burner_thread {
	burner *all;
	pthread_t thread;
	int cpu;
	int error; /* of its set-up */
	_Atomic uint64_t burnt_ns;
} burner_thread;

struct burner {
	double period_s;
	burn_how how;
	size_t started;
	_Atomic double share;
	atomic_bool stop;
	pthread_barrier_t ready;
	size_t n;
	burner_thread thread[];
};

const char *const burn_how_name[] = { "any priority", "SCHED_FIFO", "nice -20", "no priority",
				      "quota" };

static void burner_burn(burner_thread *o)
{
	burner *b = o->all;
	const double p = b->period_s;
	double next = (floor(clock_s(CLOCK_MONOTONIC) / p) + 1) * p, owed = 0;
	double used = clock_s(CLOCK_THREAD_CPUTIME_ID);
	while (!atomic_load(&b->stop)) {
		struct timespec t = { .tv_sec = (time_t)next };
		t.tv_nsec = (long)((next - (double)t.tv_sec) * 1e9);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
			;
		const double share = atomic_load(&b->share);
		double now = clock_s(CLOCK_THREAD_CPUTIME_ID);
		/* All processor time of the thread counts as burnt. A thread that could not run
		 * owes this time and burns it later, in each period at most half of the time that
		 * others would have. It forgets debts of more than about a second. */
		owed = fmin(owed + share * p - (now - used), share * fmax(2 * p, REMEMBERED_S));
		used = now;
		const double until = now + fmin(owed, (1 + share) / 2 * p);
		while (owed > 0 && now < until && !atomic_load(&b->stop)) {
			for (volatile int i = 0; i < 100; i++)
				;
			now = clock_s(CLOCK_THREAD_CPUTIME_ID);
			atomic_store(&o->burnt_ns, (uint64_t)(now * 1e9));
		}
		for (next += p, now = clock_s(CLOCK_MONOTONIC); next <= now; next += p)
			owed += share * p;
	}
}

/* Bind this thread to its CPU, set its priority, and burn. setpriority() sets only this thread,
 * because Linux has a nice value for each thread. */
static void *burner_main(void *arg)
{
	const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };
	burner_thread *o = arg;
	cpu_mask set = { 0 };
	cpus_add(&set, o->cpu);
	o->error = pthread_setaffinity_np(pthread_self(), sizeof set, set.part);
	if (o->error == 0 && o->all->how == HOW_FIFO)
		o->error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);
	if (o->error == 0 && o->all->how == HOW_NICE && setpriority(PRIO_PROCESS, 0, -20) != 0)
		o->error = errno;
	/* let sleeps end in time: the default timer slack is 50 us, a twentieth of a period */
	if (o->error == 0 && prctl(PR_SET_TIMERSLACK, 1UL) != 0)
		o->error = errno;
	pthread_barrier_wait(&o->all->ready);
	/* The thread in burner_start_as() checks for errors between the two barriers. */
	pthread_barrier_wait(&o->all->ready);
	burner_burn(o);
	return NULL;
}

void burner_stop(burner *b)
{
	if (!b)
		return;
	atomic_store(&b->stop, true);
	for (size_t i = 0; i < b->started; i++)
		pthread_join(b->thread[i].thread, NULL);
	pthread_barrier_destroy(&b->ready);
	free(b);
}

static burner *burner_start_as(const int *cpus, size_t n, double period_s, burn_how how,
			       burn_why *why)
{
	burner *b = calloc(1, sizeof *b + n * sizeof b->thread[0]);
	int rc = 0;
	if (!b || pthread_barrier_init(&b->ready, NULL, (unsigned)n + 1) != 0) {
		WHY(why, "no memory for %zu threads", n);
		free(b);
		return NULL;
	}
	b->period_s = period_s;
	b->how = how;
	b->n = n;
	for (; b->started < n; b->started++) {
		burner_thread *o = &b->thread[b->started];
		o->all = b;
		o->cpu = cpus[b->started];
		rc = pthread_create(&o->thread, NULL, burner_main, o);
		if (rc != 0) { /* threads keep waiting at the barrier, but the program ends */
			WHY(why, "cannot start a thread: %s", strerror(rc));
			return NULL;
		}
	}
	pthread_barrier_wait(&b->ready);
	for (size_t i = 0; i < n && rc == 0; i++)
		if ((rc = b->thread[i].error) != 0)
			WHY(why, "CPU %d, %s: %s", b->thread[i].cpu, burn_how_name[how],
			    strerror(rc));
	atomic_store(&b->stop, rc != 0);
	pthread_barrier_wait(&b->ready);
	if (rc == 0)
		return b;
	burner_stop(b);
	return NULL;
}

burner *burner_start(const int *cpus, size_t ncpus, double period_s, burn_how how, burn_why *why)
{
	burner *b = NULL;
	if (how != HOW_ANY)
		return burner_start_as(cpus, ncpus, period_s, how, why);
	for (how = HOW_FIFO; !b && how <= HOW_PLAIN; how++)
		b = burner_start_as(cpus, ncpus, period_s, how, why);
	return b;
}

burn_how burner_how(const burner *b)
{
	return b->how;
}

void burner_set(burner *b, double share)
{
	atomic_store(&b->share, share);
}

double burner_burnt_s(const burner *b)
{
	double sum_s = 0;
	for (size_t i = 0; i < b->n; i++)
		sum_s += 1e-9 * (double)atomic_load(&b->thread[i].burnt_ns);
	return sum_s;
}

/* --------------------------------------------------------------------------------- reference loop
 *
 * One process per CPU runs a loop that uses only registers. Processes are used instead of threads,
 * because a control group contains whole processes. They end with this process. */

typedef struct loop_result { /* written by the child, in shared memory */
	double rounds, wall_s, cpu_s;
} loop_result;

/* Run the reference loop in this process, a child of `parent`, and end the process. */
static void loop_run(int cpu, double seconds_s, const quota_group *g, pid_t parent, loop_result *r)
{
	cpu_mask set = { 0 };
	uint64_t x = 88172645463325252U, rounds = 0;
	double now;
	sigset_t none;
	cpus_add(&set, cpu);
	sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ||
	    (g && !quota_group_join(g)) || sigprocmask(SIG_SETMASK, &none, NULL) != 0 ||
	    sched_setaffinity(0, sizeof set, set.part) != 0)
		_exit(1);
	/* begin to measure after the move to the CPU */
	const double start_s = clock_s(CLOCK_MONOTONIC);
	const double cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	do {
		for (int i = 0; i < 2000; i++) { /* xorshift64, about 5 us */
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		rounds++;
		now = clock_s(CLOCK_MONOTONIC);
	} while (now - start_s < seconds_s);
	r->wall_s = now - start_s;
	r->cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
	r->rounds = (double)rounds + (x == 0 ? 1 : 0); /* keeps the loop; x is never 0 */
	_exit(0);
}

bool measure_speed(const burn_args *a, double seconds_s, const quota_group *g, loop_speed *out,
		   burn_why *why)
{
	const pid_t parent = getpid();
	pid_t child[CPUS_MAX];
	const size_t bytes = CPUS_MAX * sizeof(loop_result);
	size_t started = 0;
	double rounds = 0, cpu_s = 0, wall_s = 0;
	loop_result *r =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool good = r != MAP_FAILED;
	if (!good) {
		WHY(why, "cannot run the reference loop: %s", strerror(errno));
		return false;
	}
	for (; started < a->ncpus && good; started += good) {
		child[started] = fork();
		if (child[started] == 0)
			loop_run(a->cpus[started], seconds_s, g, parent, &r[started]);
		good = child[started] >= 0;
		if (!good)
			WHY(why, "cannot fork: %s", strerror(errno));
	}
	for (size_t i = 0; i < started; i++) {
		int status = 0;
		pid_t ended;
		while ((ended = waitpid(child[i], &status, 0)) < 0 && errno == EINTR)
			;
		if (good && (ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
			WHY(why, "the reference loop on CPU %d was ended", a->cpus[i]);
			good = false;
		}
	}
	*out = (loop_speed){ 0 };
	for (size_t i = 0; good && i < a->ncpus; i++) {
		out->rounds_per_s += r[i].rounds / r[i].wall_s;
		rounds += r[i].rounds;
		cpu_s += r[i].cpu_s;
		wall_s += r[i].wall_s;
	}
	if (good) {
		out->rounds_per_cpu_s = rounds / cpu_s;
		out->share = cpu_s / wall_s;
	}
	munmap(r, bytes);
	return good;
}

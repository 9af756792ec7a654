/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cpuburn slows the CPUs of this machine by a factor, to emulate a slow node. The brake is a set of
 * burner threads, which use up CPU time, or a CPU quota. cpuburn adjusts it by measurement, keeps
 * it for a command or a time, and prints the factor reached. It undoes everything, however it ends.
 * The measurement takes about one second. */
#include "cpuburn.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 7, ROUNDS_MAX = 4, GRACE_S = 10, LIMIT_STATUS = 124 };

/* A round of calibration. */
typedef struct burn_round {
	double left;     /* share of the CPUs to leave to others */
	double by_cpu;   /* factor, by the processor time of the burner or the group */
	double by_clock; /* factor by the wall clock, which other programs affect */
	bool quiet;      /* no other program used the CPUs, so the clock is right */
} burn_round;

typedef struct brake {
	burner *burner;     /* NULL, or ... */
	quota_group *group; /* ... NULL: only one of the two is used */
	burn_how how;
	burn_round *best, round[ROUNDS_MAX];
	int rounds;
} brake;

typedef struct outcome {
	double seconds_s;
	double by_cpu; /* factor over the whole time */
	int status;
	const char *ended_by;
} outcome;

static bool burn_failed(const burn_why *why)
{
	burn_say("%s", why->text);
	return false;
}

static void burn_nap(double s)
{
	struct timespec t = { .tv_sec = (time_t)s, .tv_nsec = (long)(fmod(s, 1) * 1e9) };
	nanosleep(&t, NULL);
}

/* ----------------------------------------------------------------------------------- brake */

/* Return the share of time that the kernel allows real-time threads. */
static double realtime_share(void)
{
	static const char *const file[] = { "/proc/sys/kernel/sched_rt_runtime_us",
					    "/proc/sys/kernel/sched_rt_period_us" };
	double us[2] = { 950000, 1000000 };
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(file[i], "re");
		if (f && fscanf(f, "%lf", &us[i]) != 1)
			us[i] = i ? 1000000 : 950000;
		if (f)
			fclose(f);
	}
	return us[0] < 0 ? 1 : us[0] / us[1];
}

static bool brake_open(brake *k, const burn_args *a)
{
	burn_why why = { "" };
	burn_how how = a->how;
	if (how == HOW_GROUP) {
		k->how = how;
		k->group = quota_group_open(a->period_s, &why);
		return k->group || burn_failed(&why);
	}
	if (1 - 1 / a->factor > realtime_share() - 0.01) {
		if (how == HOW_FIFO) {
			burn_say("factor %g needs more than the %g %% that the kernel allows "
				 "real-time threads (/proc/sys/kernel/sched_rt_runtime_us)",
				 a->factor, 100 * realtime_share());
			return false;
		}
		how = how == HOW_ANY ? HOW_NICE : how;
	}
	k->burner = burner_start(a->cpus, a->ncpus, a->period_s, how, &why);
	if (!k->burner && a->how == HOW_ANY && how == HOW_NICE)
		k->burner = burner_start(a->cpus, a->ncpus, a->period_s, HOW_PLAIN, &why);
	if (!k->burner)
		return burn_failed(&why);
	k->how = burner_how(k->burner);
	if (k->how == HOW_PLAIN)
		burn_say("cannot burn with a higher priority than other programs (RLIMIT_RTPRIO is "
			 "0, and CAP_SYS_NICE is missing), so the factor is at most 2 against one "
			 "busy program");
	return true;
}

static bool brake_set(brake *k, double left, size_t ncpus)
{
	burn_why why = { "" };
	if (k->burner)
		burner_set(k->burner, 1 - left);
	else if (!quota_group_set(k->group, left < 1 ? left * (double)ncpus : 0, &why))
		return burn_failed(&why);
	return true;
}

/* ----------------------------------------------------------------------------- calibration */

static int compare_factors(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median_factor(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, compare_factors);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Measure the speed without and with the brake, once, and store the factors in p. */
static bool measure_pair(brake *k, const burn_args *a, double left, burn_round *p)
{
	/* A quota acts in whole periods. In a long window, incomplete ones matter little. */
	const double window_s = fmax(0.1, (k->group ? 30 : 10) * a->period_s);
	loop_speed base, slow;
	double share = 0;
	burn_why why = { "" };
	if (!brake_set(k, 1, a->ncpus))
		return false;
	burn_nap(2 * a->period_s);
	if (!measure_speed(a, window_s, k->group, &base, &why))
		return burn_failed(&why);
	if (!brake_set(k, left, a->ncpus))
		return false;
	burn_nap(2 * a->period_s);
	const double start_s = clock_s(CLOCK_MONOTONIC);
	const double burnt_s = k->burner ? burner_burnt_s(k->burner) : 0;
	if (!measure_speed(a, window_s, k->group, &slow, &why))
		return burn_failed(&why);
	if (k->burner)
		share = (burner_burnt_s(k->burner) - burnt_s) /
			((clock_s(CLOCK_MONOTONIC) - start_s) * (double)a->ncpus);
	p->by_clock = base.rounds_per_s / slow.rounds_per_s;
	p->by_cpu = 1 / (k->group ? slow.share : 1 - share);
	p->quiet = base.share > .98 && (k->group || slow.share + share > .98);
	return true;
}

static double factor_reached(const burn_round *r)
{
	return r->quiet ? r->by_clock : r->by_cpu;
}

/* Adjust the brake by measurement. The processor time of a burner is exact. But only the speed of
 * the reference loop shows the real effect of a quota, and how much burners slow other programs by
 * caches and context switches. The loop shows this only while no other program disturbs it. */
static bool calibrate_brake(brake *k, const burn_args *a)
{
	double left = 1 / a->factor, least = INFINITY;
	while (a->calibrate && k->rounds < ROUNDS_MAX) {
		sigset_t pending;
		sigpending(&pending);
		if (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT) ||
		    sigismember(&pending, SIGHUP))
			break;
		burn_round *r = &k->round[k->rounds++], p;
		double by_clock[PAIRS], by_cpu[PAIRS];
		int quiet = 0;
		for (int i = 0; i < PAIRS; i++) {
			if (!measure_pair(k, a, left, &p))
				return false;
			by_clock[i] = p.by_clock;
			by_cpu[i] = p.by_cpu;
			quiet += p.quiet;
		}
		*r = (burn_round){ left, median_factor(by_cpu, PAIRS),
				   median_factor(by_clock, PAIRS), quiet > PAIRS / 2 };
		const double error = fabs(factor_reached(r) / a->factor - 1);
		if (error < least) {
			least = error;
			k->best = r;
		}
		if (error < 0.01 || !r->quiet)
			break;
		/* Correct only half of the error, because the clock is noisy. Do not go below half
		 * of the nominal share, because the brake may have reached its limit. */
		left = fmin(1, fmax(left * sqrt(factor_reached(r) / a->factor), 0.5 / a->factor));
	}
	return brake_set(k, k->best ? k->best->left : left, a->ncpus);
}

/* ------------------------------------------------------------------------------- execution */

static void signals_to_wait_for(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
}

static pid_t start_command(const burn_args *a, const quota_group *g)
{
	pid_t parent = getpid(), child = fork();
	sigset_t none;
	cpu_mask set = { 0 };
	if (child != 0)
		return child;
	for (size_t i = 0; i < a->ncpus; i++)
		cpus_add(&set, a->cpus[i]);
	sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent ||
	    sched_setaffinity(0, sizeof set, set.part) != 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) != 0 || (g && !quota_group_join(g))) {
		burn_say("cannot set up the command: %s", strerror(errno));
		_exit(126);
	}
	execvp(a->command[0], a->command);
	const int errnum = errno;
	burn_say("cannot run '%s': %s", a->command[0], strerror(errnum));
	_exit(errnum == ENOENT ? 127 : 126);
}

/* Wait until the command ends. When a signal arrives or the time is over, end the command by that
 * signal or SIGTERM, and kill it at the next signal or after GRACE_S. */
static void wait_for_end(pid_t child, double until_s, outcome *o)
{
	sigset_t set;
	int status;
	signals_to_wait_for(&set);
	for (;;) {
		const double left_s = fmax(0, until_s - clock_s(CLOCK_MONOTONIC));
		const struct timespec t = { .tv_sec = (time_t)left_s,
					    .tv_nsec = (long)(fmod(left_s, 1) * 1e9) };
		int sig = sigtimedwait(&set, NULL, &t);
		if (sig == SIGCHLD && child > 0 && waitpid(child, &status, WNOHANG) == child) {
			if (o->status < 0) {
				o->ended_by = "command";
				o->status = WIFEXITED(status) ? WEXITSTATUS(status)
							      : 128 + WTERMSIG(status);
			}
			return;
		}
		if (sig == SIGCHLD || (sig < 0 && errno == EINTR))
			continue;
		if (o->status >= 0) { /* the second time */
			kill(child, SIGKILL);
			continue;
		}
		o->status = sig > 0 ? 128 + sig : LIMIT_STATUS;
		o->ended_by = sig == SIGTERM  ? "SIGTERM"
			      : sig == SIGINT ? "SIGINT"
			      : sig > 0       ? "SIGHUP"
					      : "limit";
		if (child <= 0)
			return;
		until_s = clock_s(CLOCK_MONOTONIC) + GRACE_S;
		kill(child, sig > 0 ? sig : SIGTERM);
	}
}

static bool burn_command(brake *k, const burn_args *a, outcome *o)
{
	double start_s = clock_s(CLOCK_MONOTONIC);
	double burnt_s = k->burner ? burner_burnt_s(k->burner) : 0;
	pid_t child = 0;
	*o = (outcome){ .status = -1, .by_cpu = k->best ? k->best->by_cpu : NAN };
	if (a->command && (child = start_command(a, k->group)) < 0) {
		burn_say("cannot fork: %s", strerror(errno));
		return false;
	}
	wait_for_end(child, start_s + a->seconds_s, o);
	o->seconds_s = clock_s(CLOCK_MONOTONIC) - start_s;
	if (k->burner)
		o->by_cpu = 1 / (1 - (burner_burnt_s(k->burner) - burnt_s) /
					     (o->seconds_s * (double)a->ncpus));
	if (!a->command && o->status == LIMIT_STATUS)
		o->status = 0; /* as asked for */
	return true;
}

/* ---------------------------------------------------------------------------------- report */

/* Return the factor over the whole time: the factor by processor time, multiplied by the ratio of
 * the reached factor to the factor by processor time in calibration. */
static double whole_factor(const brake *k, const outcome *o)
{
	return k->best ? o->by_cpu * factor_reached(k->best) / k->best->by_cpu : o->by_cpu;
}

/* Write a factor as JSON, which has no NaN: null if it was not measured. */
static void json_factor(FILE *f, const char *name, double v)
{
	if (isnan(v))
		fprintf(f, "\"%s\":null,", name);
	else
		fprintf(f, "\"%s\":%.6g,", name, v);
}

static bool burn_write_json(const brake *k, const burn_args *a, const outcome *o)
{
	bool to_stdout = strcmp(a->json, "-") == 0;
	FILE *f = to_stdout ? stdout : fopen(a->json, "we");
	bool good = f != NULL;
	if (good) {
		fprintf(f, "{\"factor\":%.6g,", a->factor);
		json_factor(f, "reached", whole_factor(k, o));
		json_factor(f, "by_cpu", o->by_cpu);
		fprintf(f, "\"quiet\":%s,\"how\":\"%s\",\"period_us\":%.0f,\"cpus\":[",
			k->best && k->best->quiet ? "true" : "false", burn_how_name[k->how],
			a->period_s * 1e6);
		for (size_t i = 0; i < a->ncpus; i++)
			fprintf(f, "%s%d", i ? "," : "", a->cpus[i]);
		fputs("],\"calibration\":[", f);
		for (int i = 0; i < k->rounds; i++) {
			const burn_round *r = &k->round[i];
			fprintf(f,
				"%s{\"left\":%.6f,\"by_cpu\":%.6g,\"by_clock\":%.6g,\"quiet\":%s}",
				i ? "," : "", r->left, r->by_cpu, r->by_clock,
				r->quiet ? "true" : "false");
		}
		fprintf(f, "],\"seconds\":%.3f,\"ended_by\":\"%s\",\"status\":%d}\n", o->seconds_s,
			o->ended_by, o->status);
		good = fflush(f) == 0 && !ferror(f);
	}
	if (f && !to_stdout)
		good = fclose(f) == 0 && good;
	if (!good)
		burn_say("cannot write '%s': %s", a->json, strerror(errno));
	return good;
}

int main(int argc, char **argv)
{
	burn_args a;
	brake k = { 0 };
	outcome o;
	sigset_t set;
	pid_t parent = getppid();
	bool good;
	if (!burn_args_read(&a, argc, argv))
		return a.status;
	/* end with the parent, because nothing else would stop this process */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
		return 1;
	signals_to_wait_for(&set); /* blocked in all threads: the main thread waits for them */
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return 1;
	if (!brake_open(&k, &a))
		return 2;
	good = calibrate_brake(&k, &a);
	if (good && !a.quiet && k.best)
		burn_say("burning: factor %g, calibrated to %.4g by %s every %.0f us%s", a.factor,
			 factor_reached(k.best), burn_how_name[k.how], a.period_s * 1e6,
			 k.best->quiet ? ""
			 : k.burner
				 ? "; other programs use these CPUs, so this is by processor time"
				 : "; other programs use these CPUs and disturbed the measurement");
	good = good && burn_command(&k, &a, &o);
	burner_stop(k.burner);
	quota_group_close(k.group);
	if (!good)
		return 1;
	if (fabs(whole_factor(&k, &o) / a.factor - 1) > 0.05)
		burn_say("warning: missed the factor %g: reached %.4g by %s", a.factor,
			 whole_factor(&k, &o), burn_how_name[k.how]);
	else if (!a.quiet && !isnan(o.by_cpu))
		burn_say("factor %g: reached %.4g over %.1f s, ended by %s", a.factor,
			 whole_factor(&k, &o), o.seconds_s, o.ended_by);
	if (a.json && !burn_write_json(&k, &a, &o))
		return o.status ? o.status : 1;
	return o.status;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cpuburn: slows the CPUs of this machine by a factor, to emulate a slow node. Sets the brake by
 * measurement, keeps it for a command or a time, and says what it reached. Everything is undone
 * when it ends, however it ends. Costs about one second to set up. */
#include "cpuburn.h"

#include "args.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 7, ROUNDS_MAX = 4, GRACE_S = 10, LIMIT_STATUS = 124 };

struct round {           /* of calibration */
	double left;     /* share of the CPUs that was to be left to others */
	double by_cpu;   /* factor, by the processor time the burner got, or the group */
	double by_clock; /* by the clock on the wall, where others count too */
	bool quiet;      /* nobody else was on the CPUs: the clock is right */
};

struct brake {
	burner *burner; /* one of the two */
	group *group;
	enum how how;
	struct round *best, round[ROUNDS_MAX];
	int rounds;
};

struct outcome {
	double seconds_s;
	double by_cpu; /* factor over the whole run */
	int status;
	const char *ended_by;
};

static const char *how_text(const struct brake *k)
{
	switch (k->how) {
	case HOW_GROUP:
		return "quota";
	case HOW_FIFO:
		return "SCHED_FIFO";
	case HOW_NICE:
		return "nice -20";
	default:
		return "no priority";
	}
}

static bool fail(const struct why *why)
{
	say("%s", why->text);
	return false;
}

static void nap(double s)
{
	struct timespec t = { .tv_sec = (time_t)s, .tv_nsec = (long)(fmod(s, 1) * 1e9) };

	nanosleep(&t, NULL);
}

/* ------------------------------------------------------------------------------------- the brake
 */

/* The share of time that real-time threads may take in all, above which the kernel stops them. */
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

static bool brake_open(struct brake *k, const struct args *a)
{
	struct why why = { "" };
	enum how how = a->how;

	if (how == HOW_GROUP) {
		k->how = how;
		k->group = group_open(a->period_s, &why);
		return k->group || fail(&why);
	}
	if (1 - 1 / a->factor > realtime_share() - 0.01) {
		if (how == HOW_FIFO) {
			say("factor %g needs more than the %g %% that the kernel "
			    "allows "
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
		return fail(&why);
	k->how = burner_how(k->burner);
	if (k->how == HOW_PLAIN)
		say("may not raise its priority (no real-time right: "
		    "RLIMIT_RTPRIO is 0, "
		    "and no CAP_SYS_NICE): competes as an ordinary program, which "
		    "reaches a factor of "
		    "2 at most against one busy program");
	return true;
}

static bool brake_set(struct brake *k, double left, size_t ncpus)
{
	struct why why = { "" };

	if (k->burner)
		burner_set(k->burner, 1 - left);
	else if (!group_quota(k->group, left < 1 ? left * (double)ncpus : 0, &why))
		return fail(&why);
	return true;
}

static void brake_close(struct brake *k)
{
	burner_stop(k->burner);
	group_close(k->group);
}

/* ----------------------------------------------------------------------------------- calibration
 */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* What one comparison without and with the brake gives. */
struct pair {
	double by_cpu, by_clock;
	bool quiet;
};

static bool measure_pair(struct brake *k, const struct args *a, double left, struct pair *p)
{
	/* A quota comes in whole periods: a long window loses little at its ends. */
	const double window_s = fmax(0.1, (k->group ? 30 : 10) * a->period_s);
	struct speed base, slow;
	double start_s, burnt_s, share = 0;
	struct why why = { "" };

	if (!brake_set(k, 1, a->ncpus))
		return false;
	nap(2 * a->period_s);
	if (!measure_speed(a->cpus, a->ncpus, window_s, k->group, &base, &why))
		return fail(&why);
	if (!brake_set(k, left, a->ncpus))
		return false;
	nap(2 * a->period_s);
	start_s = clock_s(CLOCK_MONOTONIC);
	burnt_s = k->burner ? burner_burnt_s(k->burner) : 0;
	if (!measure_speed(a->cpus, a->ncpus, window_s, k->group, &slow, &why))
		return fail(&why);
	if (k->burner)
		share = (burner_burnt_s(k->burner) - burnt_s) /
			((clock_s(CLOCK_MONOTONIC) - start_s) * (double)a->ncpus);
	p->by_clock = base.rounds_per_s / slow.rounds_per_s;
	p->by_cpu = 1 / (k->group ? slow.share : 1 - share);
	p->quiet = base.share > .98 && (k->group || slow.share + share > .98);
	return true;
}

static bool measure_round(struct brake *k, const struct args *a, double left, struct round *r)
{
	double by_clock[PAIRS], by_cpu[PAIRS];
	int quiet = 0;

	for (int i = 0; i < PAIRS; i++) {
		struct pair p;

		if (!measure_pair(k, a, left, &p))
			return false;
		by_clock[i] = p.by_clock;
		by_cpu[i] = p.by_cpu;
		quiet += p.quiet;
	}
	r->left = left;
	r->by_cpu = median(by_cpu, PAIRS);
	r->by_clock = median(by_clock, PAIRS);
	r->quiet = quiet > PAIRS / 2;
	return true;
}

static double reached(const struct round *r)
{
	return r->quiet ? r->by_clock : r->by_cpu;
}

static bool was_stopped(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT) ||
	       sigismember(&pending, SIGHUP);
}

/* A burner is exact in processor time. What it costs others beside, in caches and switches, and
 * what a quota really gives, shows in the work of the loop, and only while nobody else disturbs it.
 */
static bool calibrate(struct brake *k, const struct args *a)
{
	double left = 1 / a->factor, error, least = INFINITY;

	while (a->calibrate && k->rounds < ROUNDS_MAX && !was_stopped()) {
		struct round *r = &k->round[k->rounds++];

		if (!measure_round(k, a, left, r))
			return false;
		error = fabs(reached(r) / a->factor - 1);
		if (error < least) {
			least = error;
			k->best = r;
		}
		if (error < 0.01 || !r->quiet)
			break;
		/* Half of the way, because the clock is noisy. A brake that cannot take more than
		 * it does must not be asked for ever more. */
		left = fmin(1, fmax(left * sqrt(reached(r) / a->factor), 0.5 / a->factor));
	}
	return brake_set(k, k->best ? k->best->left : left, a->ncpus);
}

/* --------------------------------------------------------------------------------------- the run
 */

static void watched_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
}

static pid_t start_command(const struct args *a, const group *g)
{
	pid_t parent = getpid(), child = fork();
	sigset_t none;
	struct cpus set = { 0 };

	if (child != 0)
		return child;
	for (size_t i = 0; i < a->ncpus; i++)
		cpus_add(&set, a->cpus[i]);
	sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent ||
	    sched_setaffinity(0, sizeof set, set.part) != 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) != 0 || (g && !group_join(g))) {
		say("cannot set up the command: %s", strerror(errno));
		_exit(126);
	}
	execvp(a->command[0], a->command);
	const int errnum = errno;
	say("cannot run '%s': %s", a->command[0], strerror(errnum));
	_exit(errnum == ENOENT ? 127 : 126);
}

static const char *signal_text(int sig)
{
	return sig == SIGTERM ? "SIGTERM" : sig == SIGINT ? "SIGINT" : "SIGHUP";
}

/* A signal or the end of time: passes it on to the command, which gets some time to leave. */
static void end_by(struct outcome *o, int sig, pid_t child, double *until_s)
{
	if (o->status >= 0) { /* the second time */
		if (child > 0)
			kill(child, SIGKILL);
		return;
	}
	o->status = sig ? 128 + sig : LIMIT_STATUS;
	o->ended_by = sig ? signal_text(sig) : "limit";
	*until_s = child > 0 ? clock_s(CLOCK_MONOTONIC) + GRACE_S : 0;
	if (child > 0)
		kill(child, sig ? sig : SIGTERM);
}

static int wait_signal(double until_s)
{
	sigset_t set;
	double left_s = fmax(0, until_s - clock_s(CLOCK_MONOTONIC));
	struct timespec t = { .tv_sec = (time_t)left_s, .tv_nsec = (long)(fmod(left_s, 1) * 1e9) };
	int sig;

	watched_signals(&set);
	do
		sig = sigtimedwait(&set, NULL, &t);
	while (sig < 0 && errno == EINTR);
	return sig < 0 ? 0 : sig;
}

static bool has_ended(pid_t child, int *status)
{
	return child > 0 && waitpid(child, status, WNOHANG) == child;
}

static void wait_for_end(pid_t child, double until_s, struct outcome *o)
{
	int sig, status;

	for (;;) {
		sig = wait_signal(until_s);
		if (sig == SIGCHLD) {
			if (!has_ended(child, &status))
				continue;
			if (o->status < 0) {
				o->ended_by = "command";
				o->status = WIFEXITED(status) ? WEXITSTATUS(status)
							      : 128 + WTERMSIG(status);
			}
			return;
		}
		end_by(o, sig, child, &until_s);
		if (child <= 0)
			return;
	}
}

static bool run(struct brake *k, const struct args *a, struct outcome *o)
{
	double start_s = clock_s(CLOCK_MONOTONIC);
	double burnt_s = k->burner ? burner_burnt_s(k->burner) : 0;
	pid_t child = 0;

	*o = (struct outcome){ .status = -1, .by_cpu = k->best ? k->best->by_cpu : NAN };
	if (a->command && (child = start_command(a, k->group)) < 0) {
		say("cannot fork: %s", strerror(errno));
		return false;
	}
	wait_for_end(child, start_s + a->seconds_s, o);
	o->seconds_s = clock_s(CLOCK_MONOTONIC) - start_s;
	if (k->burner)
		o->by_cpu = 1 / (1 - (burner_burnt_s(k->burner) - burnt_s) /
					     (o->seconds_s * (double)a->ncpus));
	if (!a->command && o->status == LIMIT_STATUS)
		o->status = 0; /* that is what was asked for */
	return true;
}

/* ---------------------------------------------------------------------------------------- report
 */

/* Over the whole run: processor time, with the cost to others that calibration found. */
static double reached_in_run(const struct brake *k, const struct outcome *o)
{
	return k->best ? o->by_cpu * reached(k->best) / k->best->by_cpu : o->by_cpu;
}

/* JSON has no NaN: what was not measured is null. */
static void json_factor(FILE *f, const char *name, double v)
{
	if (isnan(v))
		fprintf(f, "\"%s\":null,", name);
	else
		fprintf(f, "\"%s\":%.6g,", name, v);
}

static void json_cpus(FILE *f, const struct args *a)
{
	for (size_t i = 0; i < a->ncpus; i++)
		fprintf(f, "%s%d", i ? "," : "", a->cpus[i]);
}

static void json_rounds(FILE *f, const struct brake *k)
{
	for (int i = 0; i < k->rounds; i++) {
		const struct round *r = &k->round[i];

		fprintf(f, "%s{\"left\":%.6f,\"by_cpu\":%.6g,\"by_clock\":%.6g,\"quiet\":%s}",
			i ? "," : "", r->left, r->by_cpu, r->by_clock, r->quiet ? "true" : "false");
	}
}

static bool write_json(const struct brake *k, const struct args *a, const struct outcome *o)
{
	bool to_stdout = strcmp(a->json, "-") == 0;
	FILE *f = to_stdout ? stdout : fopen(a->json, "we");
	bool good = f != NULL;

	if (good) {
		fprintf(f, "{\"factor\":%.6g,", a->factor);
		json_factor(f, "reached", reached_in_run(k, o));
		json_factor(f, "by_cpu", o->by_cpu);
		fprintf(f, "\"quiet\":%s,\"how\":\"%s\",\"period_us\":%.0f,\"cpus\":[",
			k->best && k->best->quiet ? "true" : "false", how_text(k),
			a->period_s * 1e6);
		json_cpus(f, a);
		fputs("],\"calibration\":[", f);
		json_rounds(f, k);
		fprintf(f, "],\"seconds\":%.3f,\"ended_by\":\"%s\",\"status\":%d}\n", o->seconds_s,
			o->ended_by, o->status);
		good = fflush(f) == 0 && !ferror(f);
	}
	if (f && !to_stdout)
		good = fclose(f) == 0 && good;
	if (!good)
		say("cannot write '%s': %s", a->json, strerror(errno));
	return good;
}

static void announce(const struct brake *k, const struct args *a)
{
	const char *others = "";

	if (!k->best->quiet)
		others = k->burner ? "; others use these CPUs: by processor time"
				   : "; others use these CPUs: they count as well";
	say("burning: factor %g, calibrated to %.4g by %s every %.0f us%s", a->factor,
	    reached(k->best), how_text(k), a->period_s * 1e6, others);
}

int main(int argc, char **argv)
{
	struct args a;
	struct brake k = { 0 };
	struct outcome o;
	sigset_t set;
	pid_t parent = getppid();
	bool good;

	if (!args_read(&a, argc, argv))
		return a.status;
	/* Whoever started us is the one to benefit: without him nobody would stop us. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
		return 1;
	watched_signals(&set); /* blocked in the threads too: the main thread asks for them */
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return 1;
	if (!brake_open(&k, &a))
		return 2;
	good = calibrate(&k, &a);
	if (good && !a.quiet && k.best)
		announce(&k, &a);
	good = good && run(&k, &a, &o);
	brake_close(&k);
	if (!good)
		return 1;
	if (fabs(reached_in_run(&k, &o) / a.factor - 1) > 0.05)
		say("warning: missed the factor %g: reached %.4g by %s", a.factor,
		    reached_in_run(&k, &o), how_text(&k));
	else if (!a.quiet && !isnan(o.by_cpu))
		say("factor %g: reached %.4g over %.1f s, ended by %s", a.factor,
		    reached_in_run(&k, &o), o.seconds_s, o.ended_by);
	if (a.json && !write_json(&k, &a, &o))
		return o.status ? o.status : 1;
	return o.status;
}

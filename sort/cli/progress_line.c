/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two locks: one for what the thread is to do, which nobody holds for long, so that a signal can be
 * passed on at any time; and one for the terminal, which may stand still. */
#include "progress_line.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "launch.h"
#include "progress_text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SAMPLES = 8, COLUMNS = 80, PAST_COLUMNS = 512 };

/* How much was done when, in the stage under way. */
typedef struct sample {
	double at_s;
	uint64_t done;
} sample;

/* What was told, each second; where that is full, every second one goes. By the thread, and read
 * when it has ended. */
static struct {
	progress_told at[PROGRESS_TOLD];
	unsigned n, each, seen;
} course = { .each = 1 };

static struct {
	pthread_t thread;
	bool terminal;
	double begun_s, every_s, next_s; /* every_s: between whole lines, 0: none unasked */
	sample seen[SAMPLES];
	unsigned samples;
	int32_t stage;        /* of the samples */
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t wake;
	bool running, asked;
} line = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	pthread_mutex_t lock; /* for what follows, and while something is written */
	size_t columns;       /* of the line that stands there */
	bool shown, off;
	int terminal; /* standard error, or what its launcher forwards it to; -1: none */
	pid_t group;  /* that has to be in the foreground there */
} out = { .lock = PTHREAD_MUTEX_INITIALIZER, .terminal = -1 };

static void find_terminal(void)
{
	if (out.terminal >= 0)
		return;
	out.group = getpgrp();
	out.terminal = isatty(STDERR_FILENO) ? STDERR_FILENO : launch_terminal(&out.group);
}

bool progress_line_wanted(const settings *o)
{
	if (o->verbosity < 0 || o->wish != WISH_SORT || o->explain)
		return false;
	find_terminal();
	return o->progress_s > 0 || (o->progress_s == 0 && out.terminal >= 0);
}

/* ------------------------------------------------------------------------------- the terminal */

static size_t width(void)
{
	struct winsize w;
	const bool told = ioctl(out.terminal, TIOCGWINSZ, &w) == 0 && w.ws_col > 1;
	return (told ? size_min(w.ws_col, PAST_COLUMNS) : COLUMNS) - 1;
}

static void put(const char *text, size_t n)
{
	while (n > 0) {
		const ssize_t k = write(STDERR_FILENO, text, n);
		if (k < 0 && errno != EINTR)
			return;
		text += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
}

/* Under out.lock: write text over the line that stands there, and blanks over the rest of it. The
 * cursor returns to its start, so that a ^C which the terminal shows there is overwritten as well.
 */
static void overwrite(const char *text)
{
	char b[PAST_COLUMNS + 3];
	const size_t room = width(), n = size_min(strlen(text), room);
	const size_t all = size_max(n, size_min(out.columns, room));
	b[0] = '\r';
	memset(b + 1, ' ', all);
	memcpy(b + 1, text, n);
	b[1 + all] = '\r';
	put(b, 2 + all);
	out.columns = n;
}

static void clear(void)
{
	if (out.columns)
		overwrite("");
}

static void draw(const char *text)
{
	if (tcgetpgrp(out.terminal) != out.group)
		return; /* somebody else's terminal, for the moment */
	pthread_mutex_lock(&out.lock);
	if (!out.off)
		overwrite(text);
	out.shown |= !out.off;
	pthread_mutex_unlock(&out.lock);
}

static void print(const char *text, bool unasked)
{
	char b[PROGRESS_TEXT_BYTES + 16];
	const int n = snprintf(b, sizeof b, "hetsort: %s\n", text);
	pthread_mutex_lock(&out.lock);
	if (!out.off) {
		clear();
		put(b, (size_t)n);
		out.shown |= unasked;
	}
	pthread_mutex_unlock(&out.lock);
}

void progress_line_clear(void)
{
	pthread_mutex_lock(&out.lock);
	clear();
	out.off = true;
	pthread_mutex_unlock(&out.lock);
}

/* --------------------------------------------------------------------------------- the thread */

/* Of the last SAMPLES seconds. */
static double rate(int32_t at, uint64_t done, double now)
{
	if (at != line.stage)
		line.samples = 0;
	line.stage = at;
	const unsigned n = line.samples++;
	const sample first = line.seen[n < SAMPLES ? 0 : n % SAMPLES];
	line.seen[n % SAMPLES] = (sample){ now, done };
	return n == 0 || now <= first.at_s || done < first.done
		       ? -1
		       : (double)(done - first.done) / (now - first.at_s);
}

static void keep(const progress_told *t)
{
	if (course.seen++ % course.each)
		return;
	if (course.n == PROGRESS_TOLD) {
		for (unsigned i = 1; 2 * i < PROGRESS_TOLD; i++)
			course.at[i] = course.at[2 * i];
		course.n /= 2;
		course.each *= 2;
	}
	course.at[course.n++] = *t;
}

const progress_told *progress_line_told(unsigned *n)
{
	*n = course.n;
	return course.at;
}

static void show(bool asked)
{
	char text[PROGRESS_TEXT_BYTES];
	const double now = now_s();
	progress_sum s = { .left_s = -1 };
	if (board_look(progress_take, &s) == 0)
		return;
	const bool planned = s.heard > 0 && s.unknown == 0 && s.work_s > 0;
	if (planned)
		keep(&(progress_told){ now - line.begun_s, s.left_s, s.worked_s / s.work_s });
	const double r = rate(s.first.at.stage, s.done, now);
	progress_text(&s, r, now - line.begun_s, text);
	const bool due = !line.terminal && line.every_s > 0 && now >= line.next_s;
	if (asked || due)
		print(text, due);
	if (line.terminal)
		draw(text);
	while (due && line.next_s <= now)
		line.next_s += line.every_s;
}

/* Until there is something to do, at most a second where something is shown unasked. False: the
 * end. */
static bool wait_for_next(bool *asked)
{
	struct timespec t;
	int rc = 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec++;
	pthread_mutex_lock(&line.lock);
	while (line.running && !line.asked && rc != ETIMEDOUT)
		rc = line.terminal || line.every_s > 0
			     ? pthread_cond_timedwait(&line.wake, &line.lock, &t)
			     : pthread_cond_wait(&line.wake, &line.lock);
	*asked = line.asked;
	line.asked = false;
	const bool going = line.running;
	pthread_mutex_unlock(&line.lock);
	return going;
}

static void *run(void *unused)
{
	bool asked;
	(void)unused;
	while (wait_for_next(&asked))
		show(asked);
	return NULL;
}

void progress_line_start(const settings *o)
{
	pthread_condattr_t monotonic;
	const bool wanted = progress_line_wanted(o);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&line.wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	line.terminal = wanted && out.terminal >= 0;
	line.every_s = wanted && o->progress_s > 0 ? o->progress_s : 0;
	line.begun_s = now_s();
	line.next_s = line.begun_s + line.every_s;
	pthread_mutex_lock(&line.lock);
	line.running = pthread_create(&line.thread, NULL, run, NULL) == 0;
	pthread_mutex_unlock(&line.lock);
}

bool progress_line_stop(void)
{
	pthread_mutex_lock(&line.lock);
	const bool was_running = line.running;
	line.running = false;
	if (was_running)
		pthread_cond_signal(&line.wake);
	pthread_mutex_unlock(&line.lock);
	if (was_running)
		pthread_join(line.thread, NULL);
	progress_line_clear();
	pthread_mutex_lock(&out.lock);
	const bool shown = out.shown;
	pthread_mutex_unlock(&out.lock);
	return shown;
}

void progress_line_now(void)
{
	pthread_mutex_lock(&line.lock);
	line.asked = true;
	if (line.running)
		pthread_cond_signal(&line.wake);
	pthread_mutex_unlock(&line.lock);
}

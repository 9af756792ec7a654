/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the line on the monitor's thread. A line is dropped if the terminal or the pipe does not
 * take it at once, because this thread also watches the ranks. The most important words come first,
 * because a narrow terminal cuts the end off. */
#include "progress_line.h"
#include "base/clock.h"
#include "base/arith.h"
#include "base/size.h"
#include "launch.h"
#include "model/rank_result.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SAMPLES = 8, COLUMNS = 80, PAST_COLUMNS = 512, MOST_S = 99 * 3600 };

/* The bytes of the current stage that were done at a time. */
typedef struct sample {
	double at_s;
	uint64_t done;
} sample;

static struct {
	bool terminal;
	double begun_s, every_s, next_s; /* every_s: between lines; 0: only on request */
	sample seen[SAMPLES];
	unsigned samples;
	int32_t stage; /* of the samples */
} line;

static struct {
	pthread_mutex_t lock; /* for the members below, and while a line is written */
	size_t columns;       /* of the line on the terminal */
	bool shown, off;
	int terminal; /* standard error, or what its launcher forwards it to; -1: none */
	pid_t group;  /* the line is shown while this group is in the foreground of that terminal */
	/* The progress for the report: n entries, one for every `each` of the `seen` seconds. When
	 * the array is full, every second entry is removed. */
	progress_moment at[PROGRESS_MOMENTS];
	unsigned n, each, seen;
	bool ended; /* the report reads the entries, so none is added */
} out = { .lock = PTHREAD_MUTEX_INITIALIZER, .terminal = -1, .each = 1 };

bool progress_line_wanted(const settings *o)
{
	if (o->verbosity < 0 || o->wish != WISH_SORT || o->explain)
		return false;
	if (out.terminal < 0) {
		out.group = getpgrp();
		out.terminal = isatty(STDERR_FILENO) ? STDERR_FILENO : launch_terminal(&out.group);
	}
	return o->progress_s > 0 || (o->progress_s == 0 && out.terminal >= 0);
}

/* ------------------------------------------------------------------------------- the terminal */

/* Return whether standard error takes a line without blocking. */
static bool takes_a_line(void)
{
	struct pollfd f = { .fd = STDERR_FILENO, .events = POLLOUT };
	return poll(&f, 1, 0) == 1 && (f.revents & POLLOUT);
}

static void line_put(const char *text, size_t n)
{
	while (n > 0) {
		const ssize_t k = write(STDERR_FILENO, text, n);
		if (k < 0 && errno != EINTR)
			return;
		text += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
}

/* Write text over the line on the terminal, and blanks over the rest of the line. The caller holds
 * out.lock. The cursor returns to its start, so that a ^C which the terminal shows there is
 * overwritten as well. */
static void line_overwrite(const char *text)
{
	char b[PAST_COLUMNS + 3];
	struct winsize w;
	const bool known = ioctl(out.terminal, TIOCGWINSZ, &w) == 0 && w.ws_col > 1;
	const size_t room = (known ? size_min(w.ws_col, PAST_COLUMNS) : COLUMNS) - 1;
	const size_t n = size_min(strlen(text), room);
	const size_t all = size_max(n, size_min(out.columns, room));
	b[0] = '\r';
	memset(b + 1, ' ', all);
	memcpy(b + 1, text, n);
	b[1 + all] = '\r';
	line_put(b, 2 + all);
	out.columns = n;
}

/* Remove the line from the terminal. The caller holds out.lock. */
static void line_clear(void)
{
	if (out.columns)
		line_overwrite("");
}

void progress_line_clear(void)
{
	pthread_mutex_lock(&out.lock);
	line_clear();
	out.off = true;
	pthread_mutex_unlock(&out.lock);
}

/* ----------------------------------------------------------------------------------- the text */

void progress_take(void *sum, int rank, const rank_seen *seen)
{
	progress_sum *s = sum;
	s->ranks++;
	if (!seen->host[0])
		return;
	s->heard++;
	if (rank == 0)
		s->first = *seen;
	s->worked_s += seen->at.worked_s;
	s->work_s += seen->at.work_s;
	s->unknown += seen->at.left_s < 0;
	s->left_s = seen->at.left_s > s->left_s ? seen->at.left_s : s->left_s;
	const rank_seen *slowest = &s->slowest;
	if (s->heard == 1 ||
	    (seen->waiting == slowest->waiting ? seen->at.left_s > slowest->at.left_s
					       : !seen->waiting)) {
		s->slowest = *seen;
		s->slowest_rank = rank;
	}
	if (seen->at.stage != s->first.at.stage)
		return; /* heard before the job reached this stage */
	s->open += seen->at.open;
	s->done += seen->at.done;
	s->all += seen->at.all;
}

/* Return whether the remaining time is known. */
static bool is_planned(const progress_sum *s)
{
	return s->heard > 0 && s->unknown == 0 && s->work_s > 0;
}

/* Append both numbers in one unit: "3.2 of 10.0 GB". */
static void add_bytes(char *text, uint64_t done, uint64_t all)
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	char some[SIZE_TEXT_BYTES];
	double of = (double)all, part = (double)done;
	unsigned u = 0;
	if (all == 0) {
		text_append(text, PROGRESS_TEXT_BYTES, " %s", size_text(done, some));
		return;
	}
	for (; of >= 999.5; u++, part /= 1000)
		of /= 1000;
	const int digits = u == 0 || of >= 99.95 ? 0 : of >= 9.995 ? 1 : 2;
	text_append(text, PROGRESS_TEXT_BYTES, " %.*f of %.*f %s %d%%", digits, part, digits, of,
		    unit[u], (int)(100.0 * (double)done / (double)all));
}

/* Append a time as minutes and seconds, or with hours, and what it is. */
static void add_time(char *text, double seconds, const char *what)
{
	const unsigned s = seconds < 0 ? 0 : seconds < MOST_S ? (unsigned)seconds : MOST_S;
	if (s < 3600)
		text_append(text, PROGRESS_TEXT_BYTES, ", %u:%02u%s", s / 60, s % 60, what);
	else
		text_append(text, PROGRESS_TEXT_BYTES, ", %u:%02u:%02u%s", s / 3600, s / 60 % 60,
			    s % 60, what);
}

const char *progress_text(const progress_sum *s, double bytes_per_s, double elapsed_s,
			  char text[PROGRESS_TEXT_BYTES])
{
	char rate[SIZE_TEXT_BYTES];
	const bool planned = is_planned(s);
	const bool comes = s->open && s->first.at.stage == STAGE_RECEIVE;
	*text = '\0';
	text_append(text, PROGRESS_TEXT_BYTES, "%s",
		    phase_name(comes ? PH_EXCHANGE : (phase)s->first.phase));
	if (s->open)
		add_bytes(text, s->done, s->all);
	if (planned)
		text_append(text, PROGRESS_TEXT_BYTES, ", job %d%%",
			    (int)(100 * s->worked_s / s->work_s));
	if (s->open && bytes_per_s >= 0)
		text_append(text, PROGRESS_TEXT_BYTES, ", %s/s",
			    size_text((uint64_t)bytes_per_s, rate));
	add_time(text, elapsed_s, "");
	if (planned)
		add_time(text, s->left_s + 0.5, " left");
	if (s->heard < s->ranks)
		text_append(text, PROGRESS_TEXT_BYTES, ", %d of %d ranks heard", s->heard,
			    s->ranks);
	if (planned && s->heard > 1)
		text_append(text, PROGRESS_TEXT_BYTES, ", slowest %d %s", s->slowest_rank,
			    s->slowest.host);
	return text;
}

/* ----------------------------------------------------------------------------------- the line */

/* Return the rate over the last SAMPLES seconds; below 0: unknown. */
static double line_rate(int32_t at, uint64_t done, double now)
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

const progress_moment *progress_line_course(unsigned *n)
{
	pthread_mutex_lock(&out.lock);
	out.ended = true;
	*n = out.n;
	pthread_mutex_unlock(&out.lock);
	return out.at;
}

/* Show the progress of all ranks: rewrite the line on the terminal, and print a whole line if it
 * was requested (asked) or is due. */
static void line_show(bool asked)
{
	char text[PROGRESS_TEXT_BYTES], whole[PROGRESS_TEXT_BYTES + 16];
	const double now = now_s();
	progress_sum s = { .left_s = -1 };
	if (monitor_look(progress_take, &s) == 0)
		return;
	const double r = line_rate(s.first.at.stage, s.done, now);
	progress_text(&s, r, now - line.begun_s, text);
	const bool due = !line.terminal && line.every_s > 0 && now >= line.next_s;
	/* another job may have the terminal */
	const bool draws = line.terminal && tcgetpgrp(out.terminal) == out.group;
	const int n = snprintf(whole, sizeof whole, "hetsort: %s\n", text);
	pthread_mutex_lock(&out.lock);
	if (is_planned(&s) && !out.ended && out.seen++ % out.each == 0) { /* for the report */
		if (out.n == PROGRESS_MOMENTS) {
			for (unsigned i = 1; 2 * i < PROGRESS_MOMENTS; i++)
				out.at[i] = out.at[2 * i];
			out.n /= 2;
			out.each *= 2;
		}
		out.at[out.n++] =
			(progress_moment){ now - line.begun_s, s.left_s, s.worked_s / s.work_s };
	}
	if ((asked || due) && !out.off && takes_a_line()) {
		line_clear();
		line_put(whole, (size_t)n);
		out.shown |= due;
	}
	if (draws && !out.off && takes_a_line()) {
		line_overwrite(text);
		out.shown = true;
	}
	pthread_mutex_unlock(&out.lock);
	while (due && line.next_s <= now)
		line.next_s += line.every_s;
}

void progress_line_start(const settings *o, bool wanted)
{
	line.terminal = wanted && out.terminal >= 0;
	line.every_s = wanted && o->progress_s > 0 ? o->progress_s : 0;
	line.begun_s = now_s();
	line.next_s = line.begun_s + line.every_s;
	monitor_show(line_show, line.terminal || line.every_s > 0 ? 1 : 0);
}

bool progress_line_stop(void)
{
	progress_line_clear();
	return out.shown; /* no thread changes it after the call above */
}

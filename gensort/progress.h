/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line on a terminal that tells how far work of more than two seconds is. It is rewritten once a
 * second, by whoever has done a block, so it costs a look at the clock for each. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PROGRESS_COLUMNS = 80 };

/* For one thread at a time. */
struct progress {
	uint64_t all; /* bytes; 0: not known */
	double begun, next;
	bool on;
	int columns; /* of the line that stands there */
};

static inline double progress_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void progress_begin(struct progress *p, uint64_t all, bool wanted)
{
	*p = (struct progress){ .all = all, .begun = progress_clock() };
	p->next = p->begun + 2;
	p->on = wanted && isatty(STDERR_FILENO);
}

/* The line gives way to text, and to nothing in the end. */
static inline void progress_show(struct progress *p, const char *text)
{
	struct winsize w;
	const bool told = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1;
	const int room = (told && w.ws_col < PROGRESS_COLUMNS ? w.ws_col : PROGRESS_COLUMNS) - 1;
	const int n = (int)strlen(text) < room ? (int)strlen(text) : room;

	fprintf(stderr, "\r%-*.*s%s", p->columns < room ? p->columns : room, n, text,
		n ? "" : "\r");
	fflush(stderr);
	p->columns = n;
}

/* "12.5 of 100.0 GB 12%, 812 MB/s, 1:05, 1:50 left" */
static inline void progress_now(struct progress *p, uint64_t done)
{
	const double now = progress_clock(), s = now - p->begun, rate = (double)done / s;
	char text[PROGRESS_COLUMNS + 60];
	size_t n = 0;

	if (!p->on || now < p->next || tcgetpgrp(STDERR_FILENO) != getpgrp())
		return;
	p->next = now + 1;
	n = (size_t)snprintf(text, sizeof text, "%.2f", 1e-9 * (double)done);
	if (p->all)
		n += (size_t)snprintf(text + n, sizeof text - n, " of %.2f GB %d%%",
				      1e-9 * (double)p->all,
				      (int)(100 * (double)done / (double)p->all));
	else
		n += (size_t)snprintf(text + n, sizeof text - n, " GB");
	n += (size_t)snprintf(text + n, sizeof text - n, ", %.0f MB/s, %d:%02d", 1e-6 * rate,
			      (int)s / 60, (int)s % 60);
	if (p->all >= done && done > 0) {
		const double left = (double)(p->all - done) / rate + 0.5;

		snprintf(text + n, sizeof text - n, ", %.0f:%02d left", (double)(long)(left / 60),
			 (int)((long)left % 60));
	}
	progress_show(p, text);
}

/* progress_clear - before anything else is printed. */
static inline void progress_clear(struct progress *p)
{
	if (p->columns > 0)
		progress_show(p, "");
}

#endif

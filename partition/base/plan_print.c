/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan_print.c - a plan explained in text, written into the caller's buffer.
 * May not touch: files, streams. Costs O(p) for the summary; at most 64 processors are shown. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "part.h"

#define MAX_LINES 64

struct text {
	char *buf;
	size_t size, len; /* len goes on counting when the buffer is full */
};

static void put(struct text *t, const char *fmt, ...) PART_PRINTF(2, 3);

static void put(struct text *t, const char *fmt, ...)
{
	size_t room = t->len < t->size ? t->size - t->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? t->buf + t->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
}

static void put_summary(struct text *t, const hetpart_plan *pl)
{
	double busy = 0;
	size_t idle = 0;

	for (size_t i = 0; i < pl->nprocs; i++) {
		busy += pl->makespan > 0 ? pl->time[i] / pl->makespan : 1;
		idle += pl->share[i] == 0;
	}
	put(t, "%" PRIu64 " item%s over %zu processor%s, method %s\n", pl->items,
	    pl->items == 1 ? "" : "s", pl->nprocs, pl->nprocs == 1 ? "" : "s", pl->method);
	put(t, "makespan %.6g", pl->makespan);
	if (isfinite(pl->real_makespan))
		put(t, " (%.6g before rounding)", pl->real_makespan);
	put(t, ", processors busy %.2f %% of it", 100 * busy / (double)pl->nprocs);
	if (idle)
		put(t, ", %zu without items", idle);
	put(t, "\n");
	if (pl->stopped != HETPART_OK)
		put(t, "%s before the method ended: no plan ends before %.6g\n",
		    hetpart_status_text(pl->stopped), pl->lower);
}

size_t hetpart_plan_print(const hetpart_plan *plan, char *buf, size_t size)
{
	struct text t = { buf, buf ? size : 0, 0 };
	size_t lines;

	if (t.size)
		buf[0] = 0;
	if (!plan)
		return 0;
	lines = plan->nprocs < MAX_LINES ? plan->nprocs : MAX_LINES;
	put_summary(&t, plan);
	put(&t, "%9s %20s %22s %14s %8s\n", "processor", "items", "before rounding", "time",
	    "share");
	for (size_t i = 0; i < lines; i++) {
		double part = plan->items ? 100 * (double)plan->share[i] / (double)plan->items : 0;
		put(&t, "%9zu %20" PRIu64, i, plan->share[i]);
		if (isnan(plan->real[i]))
			put(&t, " %22s", "-");
		else
			put(&t, " %22.3f", plan->real[i]);
		put(&t, " %14.6g %6.2f %%\n", plan->time[i], part);
	}
	if (lines < plan->nprocs)
		put(&t, "... and %zu more\n", plan->nprocs - lines);
	return t.len;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* budget.c - what a planner may use: time, memory, and the caller's patience.
 * May not touch: planners. Costs one look at the clock every BUDGET_STRIDE steps. */
#include "budget.h"
#include "number.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail: the clock is always there */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What the system can give without pushing out anything; 0 where it does not say. */
static uint64_t available_bytes(void)
{
	char text[1024] = "";
	int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
	const char *at = strstr(text, "MemAvailable:");
	uint64_t kib;

	if (fd >= 0)
		close(fd);
	if (got <= 0 || !at)
		return 0;
	at += strlen("MemAvailable:");
	at += strspn(at, " ");
	return number_at(&at, UINT64_MAX / 1024, &kib) ? kib * 1024 : 0;
}

static uint64_t default_bytes(void)
{
	uint64_t available = available_bytes();

	return available ? available / 2 : HETPART_MEM_DEFAULT_BYTES;
}

hetpart_status part_budget_open(struct budget *b, double time_limit_s, uint64_t max_mem_bytes,
				hetpart_stop_fn *stop, void *stop_ctx, hetpart_err *err)
{
	hetpart_status rc = part_check_time_limit(time_limit_s, err);

	if (rc != HETPART_OK)
		return rc;
	if (time_limit_s == 0)
		time_limit_s = HETPART_TIME_DEFAULT_S;
	*b = (struct budget){ .end_s = now_s() + time_limit_s,
			      .stop = stop,
			      .stop_ctx = stop_ctx,
			      .steps = BUDGET_STRIDE }; /* so that the first step looks */
	b->max_mem = max_mem_bytes ? max_mem_bytes : default_bytes();
	return HETPART_OK;
}

hetpart_status part_budget_within(struct budget *b, const hetpart_limits *limits, hetpart_err *err)
{
	hetpart_limits full = HETPART_LIMITS_INIT;
	hetpart_status rc = part_opts_copy(&full, PART_END_OF(hetpart_limits, stop_ctx),
					   sizeof full, limits, err);

	if (rc != HETPART_OK)
		return rc;
	return part_budget_open(b, full.time_limit_s, 0, full.stop, full.stop_ctx, err);
}

bool part_budget_look(struct budget *b)
{
	b->steps = 0;
	if (b->why == HETPART_OK && b->stop && b->stop(b->stop_ctx) != 0)
		b->why = HETPART_ECANCEL;
	if (b->why == HETPART_OK && now_s() >= b->end_s)
		b->why = HETPART_ETIME;
	return b->why != HETPART_OK;
}

double part_budget_left_s(const struct budget *b)
{
	return later(0, b->end_s - now_s());
}

double part_budget_reserve(struct budget *b, double part)
{
	double end = b->end_s, left = part_budget_left_s(b);

	if (left > 0 && left < INFINITY)
		b->end_s = end - part * left;
	return end;
}

hetpart_status part_budget_fail(const struct budget *b, hetpart_err *err)
{
	switch (b->why) {
	case HETPART_ETIME:
		return part_fail(err, b->why, "out of time before there was any plan");
	case HETPART_ECANCEL:
		return part_fail(err, b->why, "canceled before there was any plan");
	default:
		return part_fail(err, HETPART_ENOMEM,
				 "out of the memory allowed before there was any plan");
	}
}

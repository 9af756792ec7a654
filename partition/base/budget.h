/* SPDX-License-Identifier: GPL-3.0-or-later */
/* budget.h - what a planner may use: time, memory, and the caller's patience. Not installed. */
#ifndef BUDGET_H
#define BUDGET_H

#include "part.h"

struct budget {
	double end_s; /* of the monotonic clock */
	uint64_t max_mem;
	hetpart_stop_fn *stop;
	void *stop_ctx;
	uint64_t steps;     /* since the clock and the callback were asked */
	hetpart_status why; /* HETPART_OK as long as it lasts */
};

/* Steps of work, each some nanoseconds, between two looks: by count, so that the callback is asked
 * at the same places however fast the machine is. */
#define BUDGET_STRIDE (UINT64_C(1) << 20)

/* time_limit_s and max_mem_bytes as the caller gave them: 0 stands for the default. HETPART_EINVAL
 * for a limit that is NaN or negative. */
hetpart_status part_budget_open(struct budget *b, double time_limit_s, uint64_t max_mem_bytes,
				hetpart_stop_fn *stop, void *stop_ctx, hetpart_err *err);

/* The same from limits, NULL for defaults, of any version of the header. */
hetpart_status part_budget_within(struct budget *b, const hetpart_limits *limits, hetpart_err *err);

/* For calls that have no limits. */
#define NO_LIMITS ((hetpart_limits){ sizeof(hetpart_limits), INFINITY, NULL, NULL })

/* Whether the work is to stop; b->why tells what for, and stays. */
bool part_budget_look(struct budget *b);

static inline bool part_spend(struct budget *b, uint64_t steps)
{
	b->steps += steps;
	return b->steps < BUDGET_STRIDE ? b->why != HETPART_OK : part_budget_look(b);
}

/* The same, for one call of a cost. */
static inline bool part_spend_cost(struct budget *b, const hetpart_cost *cost)
{
	return part_spend(b, cost->kind == COST_CALLBACK ? BUDGET_STRIDE / 256 : 16);
}

/* Seconds that are left, not below 0. */
double part_budget_left_s(const struct budget *b);

/* Set a part of the time aside: returns the end, which becomes earlier until it is put back. */
double part_budget_reserve(struct budget *b, double part);

/* b->why with its reason, for a planner that has nothing to show yet. */
hetpart_status part_budget_fail(const struct budget *b, hetpart_err *err);

#endif

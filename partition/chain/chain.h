/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain.h - declarations for the files of the chain planner [S3]: the problem in units near 1, the
 * schedule, the step of an installment down the chain. A load is computed in one or more
 * installments. An installment has a fraction of the load for each processor, and is passed from
 * processor to processor. A date is the start or end of a message or a computation. Not
 * installed. */
#ifndef CHAIN_H
#define CHAIN_H

#include "base/part.h"

#define CHAIN_DATES_MAX 100000000

/* The problem, with times divided by 2^shift. */
typedef struct chain_problem {
	size_t m, nloads;
	double *comp;        /* [load][proc]: time of a whole load on a processor */
	double *comm;        /* [load][link]: time of a whole load over a link */
	double *tau;         /* [proc]: when the processor is free first */
	double *release;     /* [load]: when the first processor has it and all loads before it */
	double *latency;     /* [link]; NULL if the caller gave none */
	double *speed;       /* [load][proc]: proportional to 1/w of the load, with sum 1 */
	double *price;       /* [proc]: weights of processors in the lower bound, with sum 1 */
	const size_t *given; /* [load]: installments as given by the caller; NULL: one each */
	const double *weight, *released; /* [load]: as given by the caller, or NULL */
	bool flow;                       /* LP: minimise the flow instead of the makespan */
	int shift;
	part_budget budget;
} chain_problem;

struct hetpart_schedule {
	size_t m, nloads, total;       /* total: installments of all loads */
	size_t room;                   /* installments that fit into the arrays */
	size_t *first;                 /* [nloads + 1]: installments before each load */
	double *fraction;              /* [total][m] */
	double *comm_start, *comm_end; /* [total][m - 1] */
	double *comp_start, *comp_end; /* [total][m] */
	double *end;                   /* [nloads] */
	double makespan, planned, lower, flow, planned_flow;
	hetpart_status stopped; /* as in struct hetpart_plan */
	const char *method;
};

/* The state of a chain: the end of the last message on each link and of the last computation. */
typedef struct chain_state {
	double *link, *proc; /* m entries each; link[m - 1] is unused */
	bool latency;        /* a message takes its latency, too */
} chain_state;

/* Copy the caller's problem to full, with defaults for members of later versions, and check it. */
hetpart_status part_chain_check(hetpart_chain *full, const hetpart_chain *given, hetpart_err *err);

/* Check the caller's problem and set ch. Free with part_chain_free(), also after a failure. */
hetpart_status part_chain_init(chain_problem *ch, const hetpart_chain *given, hetpart_err *err);
void part_chain_free(chain_problem *ch);

/* Divide all times by 2^by. */
void part_chain_rescale(chain_problem *ch, int by);

/* Return a makespan that no schedule beats, in the caller's unit: messages take no time. */
double part_chain_lower(const chain_problem *ch);

/* Set the state before the first installment. Free it also after a failure. */
hetpart_status part_chain_start(chain_state *st, const chain_problem *ch, bool latency,
				hetpart_err *err);
void part_chain_end(chain_state *st);

/* Return the earliest start of a message over link i if its data arrives at the sender at
 * `arrived`. */
static inline double chain_send(const chain_problem *ch, const chain_state *st, size_t i,
				double arrived)
{
	const double after = i + 2 < ch->m ? st->link[i + 1] : st->link[i]; /* (2), (3) or m = 2 */
	return max_double(max_double(after, st->link[i]), arrived);
}

/* Send one installment of a load down the chain, with one fraction for each processor. Unless sd is
 * NULL, store the dates of each link and processor as installment `at` of the schedule. */
void part_chain_step(const chain_problem *ch, chain_state *st, size_t load, const double *fraction,
		     hetpart_schedule *sd, size_t at);

/* Create a schedule without installments. */
hetpart_status part_schedule_new(hetpart_schedule **out, const chain_problem *ch,
				 const char *method, hetpart_err *err);

/* Add count installments with fractions 0. */
hetpart_status part_schedule_grow(hetpart_schedule *sd, const chain_problem *ch, size_t count,
				  hetpart_err *err);

/* Return the flow of ends of loads, in the caller's unit divided by 2^shift. */
double part_chain_flow(const chain_problem *ch, const double *end, int shift);

/* Compute all dates, the makespan and the flow from the fractions, in the caller's unit. Return
 * HETPART_ERANGE if a date is beyond the range of a double. */
hetpart_status part_schedule_date(hetpart_schedule *sd, const chain_problem *ch, bool latency,
				  hetpart_err *err);

/* Set the fractions of sd, and sd->planned or planned_flow, by the linear programme. It starts from
 * the schedule `one`, with one installment of each load. If the budget ends first, set sd->stopped;
 * the fractions are then at least as good as the start. */
hetpart_status part_chain_lp(chain_problem *ch, hetpart_schedule *sd, hetpart_schedule *one,
			     hetpart_err *err);

/* Estimate the memory of part_chain_lp() for a number of installments. */
uint64_t part_chain_lp_bytes(size_t installments, size_t m);

#endif

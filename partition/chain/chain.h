/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain.h - what the files of the chain planner share: the problem in units near 1, the schedule
 * object, the one step by which an installment moves down the chain. Not installed. [S3] */
#ifndef CHAIN_H
#define CHAIN_H

#include "base/part.h"

#define CHAIN_DATES_MAX 100000000

/* The problem, times divided by 2^shift. */
struct chain {
	size_t m, nloads;
	double *comp;        /* [load][proc]: time of a whole load on a processor */
	double *comm;        /* [load][link]: time of a whole load over a link */
	double *tau;         /* m */
	double *latency;     /* m - 1; NULL where the caller gave none */
	double *speed;       /* m: fractions proportional to 1/w, sum 1 */
	const size_t *given; /* installments of the caller; NULL: one each */
	int shift;
	part_budget budget;
};

struct hetpart_schedule {
	size_t m, nloads, total;       /* total: installments of all loads */
	size_t room;                   /* installments the arrays have room for */
	size_t *first;                 /* nloads + 1: installments before each load */
	double *fraction;              /* total m */
	double *comm_start, *comm_end; /* total (m - 1) */
	double *comp_start, *comp_end; /* total m */
	double makespan, planned, lower;
	hetpart_status stopped; /* as in struct hetpart_plan */
	const char *method;
};

/* How far the chain has come: end of the last message on each link, of the last computation on each
 * processor. */
struct chain_state {
	double *link, *proc; /* m entries each; link[m - 1] is not used */
};

/* Check the caller's problem and fill in ch. Free with part_ch_free() even if it fails. */
hetpart_status part_ch_init(struct chain *ch, const hetpart_chain *given, hetpart_err *err);
void part_ch_free(struct chain *ch);

/* Divide all times by 2^by more. */
void part_ch_rescale(struct chain *ch, int by);
hetpart_status part_ch_check(hetpart_chain *full, const hetpart_chain *given, hetpart_err *err);

/* Number of installments of a load as the caller gave it. */
size_t part_ch_installments(const struct chain *ch, size_t load);

hetpart_status part_ch_state(struct chain_state *st, const struct chain *ch, hetpart_err *err);
void part_ch_state_free(struct chain_state *st);

/* Earliest start of a message over link i, given when it has arrived at its sender. */
static inline double chain_send(const struct chain *ch, const struct chain_state *st, size_t i,
				double arrived)
{
	double after = i + 2 < ch->m ? st->link[i + 1] : st->link[i]; /* (2), (3), m = 2 */

	after = max_double(after, st->link[i]);
	return max_double(after, arrived);
}

/* Let one installment of load through, with one fraction for each processor; the four dates of each
 * processor and link go to entry at of the schedule where sd is not NULL. */
void part_ch_step(const struct chain *ch, struct chain_state *st, size_t load,
		  const double *fraction, bool latency, hetpart_schedule *sd, size_t at);

/* A schedule with room for total installments; fractions 0. */
hetpart_status part_sd_new(hetpart_schedule **out, const struct chain *ch, const char *method,
			   hetpart_err *err);

/* Room for count installments more, all of the last load begun. */
hetpart_status part_sd_grow(hetpart_schedule *sd, const struct chain *ch, size_t count,
			    hetpart_err *err);

/* All dates from the fractions, scaled back to the caller's unit; sets makespan. HETPART_ERANGE if
 * one is beyond range. */
hetpart_status part_sd_date(hetpart_schedule *sd, const struct chain *ch, bool latency,
			    hetpart_err *err);

/* A makespan that no schedule beats, in the caller's unit: messages take no time. */
double part_ch_lower(const struct chain *ch);

/* The methods: fractions into sd, load after load; lp also sets planned. Those that the budget
 * stops do the rest in a quicker way, and say so in sd->stopped. */
hetpart_status part_ch_simple(const struct chain *ch, hetpart_schedule *sd, hetpart_err *err);
hetpart_status part_ch_singleinst(struct chain *ch, hetpart_schedule *sd, hetpart_err *err);
hetpart_status part_ch_multiinst(struct chain *ch, hetpart_schedule *sd, size_t most,
				 hetpart_err *err);
hetpart_status part_ch_lp(struct chain *ch, hetpart_schedule *sd, hetpart_err *err);
uint64_t part_ch_lp_bytes(size_t installments, size_t m);

#endif

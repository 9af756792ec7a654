/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast the ranks are: by their nominal rates, by what the user says, or measured. And process
 * emulation: how many equal virtual ranks fit unequal nodes. */
#ifndef HETSORT_MODEL_RANK_SPEEDS_H
#define HETSORT_MODEL_RANK_SPEEDS_H

#include "calibrate.h"
#include "shares.h"
#include "wisdom.h"

/* Where a rank runs. Ranks with the same host and processors are treated as alike: one scheduler
 * moves them about, so one of them gains what another one lacks. */
typedef struct placement {
	char host[HOST_BYTES];
	uint64_t cpus;          /* a hash of the set of processors that it may use */
	uint32_t count, online; /* how many they are, and how many the machine has */
} placement;

/* The basis of rank 0's plan; p is 0 at the other ranks. */
typedef struct rank_speeds {
	size_t p;
	placement *placement; /* [p]; all arrays are in its memory */
	allowance *had;       /* of the processors, each while it was measured */
	double *before;       /* speeds for the share that is read, */
	double *after;        /* and for the one that is written */
	size_t *order;        /* ranks of a host side by side, and there those that are alike */
	double cpus;          /* mean processors of a rank, if rates are of one processor; else 1 */
} rank_speeds;

/* rank_speeds_find - fill g at rank 0, and s->speed and s->rate there, with links and disks if they
 * are given. Collective. s->records and s->measured are set. If s->measured, `threads` of this rank
 * are measured. To be freed on failure too. */
status rank_speeds_find(rank_env *env, unsigned threads, share_plan *s, rank_speeds *g);

void rank_speeds_free(rank_env *env, rank_speeds *g);

/* rank_speeds_sort - fill g->order. rank_speeds_on_host - return how many ranks, from place `first`
 * of this order on, run on the same host. */
void rank_speeds_sort(rank_speeds *g);
size_t rank_speeds_on_host(const rank_speeds *g, size_t first);

/* rank_speeds_alike - give values above zero that are alike their mean: in order of size, those up
 * to `ratio` times the first one of their group. order: n entries, receives the order of the
 * values. */
void rank_speeds_alike(double *value, size_t *order, size_t n, double ratio);

/* rank_numbers_load - read a number for each rank from arg, in the form of --speeds, at rank 0.
 * what: the column in a file that names its columns, and the word for messages. */
status rank_numbers_load(rank_env *env, const rank_speeds *g, const char *arg, const char *what,
			 double *number);

/* rank_speeds_name - pass the names of the ranks and their numbers of processors to wisdom, at rank
 * 0. */
status rank_speeds_name(rank_env *env, const rank_speeds *g, wisdom *w);

typedef struct emulation {
	int *count;        /* virtual ranks of each rank of the comm, at least 1 */
	int size;          /* of all of them */
	double efficiency; /* the part of the whole speed that equal ranks reach */
} emulation;

/* emulation_plan - find numbers of virtual ranks by --speeds and --emulate, the same everywhere.
 * Collective, once options are read. The caller frees m->count, also on failure. Only ranks that
 * find a fault of their own, or rank 0 one of the plan, get a sentence. */
status emulation_plan(emulation *m, comm *c, const settings *o, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The speeds of ranks, of their links and of their disks: nominal, given by the user, or measured.
 * Process emulation also belongs here: it finds how many equal virtual ranks fit unequal nodes. */
#ifndef HETSORT_MODEL_RANK_SPEEDS_H
#define HETSORT_MODEL_RANK_SPEEDS_H

#include "calibrate.h"
#include "shares.h"
#include "wisdom.h"

/* The place of a rank. Ranks with the same host and processors are treated as alike: one scheduler
 * moves them between processors, so one of them gains what another one lacks. */
typedef struct placement {
	char host[HOST_BYTES];
	uint64_t cpus;          /* a hash of the set of processors that it may use */
	uint32_t count, online; /* the number of these processors, and of all that are online */
} placement;

/* The basis of rank 0's plan; p is 0 at the other ranks. */
typedef struct rank_speeds {
	size_t p;
	placement *placement; /* [p]; all arrays are in its memory */
	allowance *had;       /* of the processors, each while it was measured */
	double *before;       /* speeds for the share that is read, */
	double *after;        /* and for the one that is written */
	size_t *order;        /* sorted by host, then by processors */
	double cpus;          /* mean processors of a rank, if rates are of one processor; else 1 */
} rank_speeds;

/* rank_speeds_find - fill g at rank 0, and s->speed and s->rate there, with links and disks if they
 * are given. Collective. The caller has set s->records and s->measured. If s->measured is true,
 * this number of threads of each rank is measured. The caller frees g, also on failure. */
status rank_speeds_find(rank_env *env, unsigned threads, share_plan *s, rank_speeds *g);

void rank_speeds_free(rank_env *env, rank_speeds *g);

/* rank_speeds_sort - fill g->order. */
void rank_speeds_sort(rank_speeds *g);

/* rank_speeds_on_host - return how many ranks run on the same host, beginning with place `first`
 * of this order. */
size_t rank_speeds_on_host(const rank_speeds *g, size_t first);

/* rank_speeds_alike - replace similar values above zero by their mean. In order of size, a group
 * has the values up to `ratio` times its first one. order: n entries, receives the order of the
 * values. */
void rank_speeds_alike(double *value, size_t *order, size_t n, double ratio);

/* rank_numbers_load - read a number for each rank from arg, in the form of --speeds, at rank 0.
 * what: the name of the column in a file that names its columns, also used in messages. */
status rank_numbers_load(rank_env *env, const rank_speeds *g, const char *arg, const char *what,
			 double *number);

/* rank_speeds_name - pass the names of the ranks and their numbers of processors to wisdom. Called
 * at rank 0. */
status rank_speeds_name(rank_env *env, const rank_speeds *g, wisdom *w);

/* The tag of the messages that measure links, with the next one. A simulation (sim/) scales blocks
 * of records, but not these. */
enum { TAG_LINK_RATES = 60 };

/* link_rates_measure - measure the links between hosts, all at the same time, as far as they may
 * matter for the shares of the job. Collective. Each rank sends to a rank of another host and
 * receives from one. Unless the other work hides all links, this is repeated with other partners,
 * because the first ones may have been slower than the rank itself. After two messages of each
 * rank, or nine if --links=auto asks to measure, it takes about 2 % of the predicted time of the
 * job at most.
 * g       at rank 0: the places of ranks.
 * s       at rank 0: the number of records, and the rates of the ranks.
 * link_s  [p] of zeros at rank 0. Receives the seconds of a byte of each rank that sends the same
 *         to all ranks, including the ranks of its own host. 0 if all are on one host. */
status link_rates_measure(rank_env *env, const rank_speeds *g, const share_plan *s, double *link_s);

typedef struct emulation {
	int *count;        /* virtual ranks of each rank of the comm, at least 1 */
	int size;          /* of all of them */
	double efficiency; /* the part of the whole speed that equal ranks reach */
} emulation;

/* emulation_plan - find numbers of virtual ranks by --speeds and --emulate, the same everywhere.
 * Collective, once options are read. The caller frees m->count, also on failure. A rank gets a
 * message only for a fault of its own, rank 0 also for a fault of the plan. */
status emulation_plan(emulation *m, comm *c, const settings *o, err *e);

/* The ranks that need a number each, from a list or a file: relative speeds, or rates of links. */
typedef struct speeds_want {
	const char *what;  /* the column of a file, and for messages: "speed", "link" */
	size_t n;          /* ranks */
	const char *host;  /* the name of the first one's host */
	size_t host_bytes; /* from one name to the next */
} speeds_want;

/* speeds_host - return the name of the host of rank i. */
static inline const char *speeds_host(const speeds_want *w, size_t i)
{
	return w->host + i * w->host_bytes;
}

/* speeds_parse - read a number for each rank, > 0 and finite, from text of len bytes, which may
 * contain anything. # starts a comment that ends with the line. The text is exactly n numbers,
 * separated by commas or white space. If the first word is not a number, the text is lines HOST
 * NUMBER: every rank of that host gets the number. Each host of a rank must be named once, and no
 * other host. Messages give the line, and call the text by this name. */
status speeds_parse(const char *text, size_t len, const char *name, const speeds_want *w,
		    double *speed, err *e);

/* speeds_load - read the numbers from the file arg if it exists. Else arg is a list of numbers, if
 * it has a comma or begins like a number. */
status speeds_load(const char *arg, const speeds_want *w, double *speed, err *e);

/* speeds_range_is_sound - check whether the brackets of a range contain numbers, or pairs of them
 * in order. A range is the names of many hosts in the form of batch systems: node[1-48],
 * rack[1-2,7]n[01-24]. Numbers with leading zeros have a fixed width. A name without brackets is a
 * range of one. */
bool speeds_range_is_sound(const char *range, size_t len);

/* speeds_range_has - return whether a sound range has the host. */
bool speeds_range_has(const char *range, size_t len, const char *host);

#endif

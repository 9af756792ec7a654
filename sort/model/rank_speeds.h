/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The speeds of ranks, of their links and of their disks: nominal, given by the user, or measured.
 * Also the plan of --emulate: the numbers of equal virtual ranks that fit unequal nodes. */
#ifndef HETSORT_MODEL_RANK_SPEEDS_H
#define HETSORT_MODEL_RANK_SPEEDS_H

#include "calibrate.h"
#include "shares.h"
#include "wisdom.h"

/* The files of a rank. */
typedef struct rank_storage {
	double disk_s;  /* seconds per byte of the output's disk; 0: in memory */
	double input_s; /* likewise of the input's disk */
} rank_storage;

/* The place of a rank. Ranks with the same host and set of processors are alike and get equal
 * speeds. The scheduler moves their threads between the processors, so the time that one rank
 * loses, another one gains. */
typedef struct placement {
	char host[HOST_BYTES];
	uint64_t host_id;
	uint64_t cpus;          /* a hash of the set of processors that the rank may use */
	uint32_t count, online; /* the number of these processors, and of all that are online */
	rank_storage files;
	double own_cpus; /* the processors that the rank may use, by quotas and threads */
} placement;

/* The data for rank 0's plan; p is 0 at the other ranks. */
typedef struct rank_speeds {
	size_t p;
	placement *placement; /* [p]; all arrays are in its memory */
	allowance *had;       /* processors of each rank while it was measured */
	double *before;       /* speeds for the share that is read, */
	double *after;        /* and for the one that is written */
	size_t *order;        /* ranks sorted by host, then by processors */
	size_t *like;         /* for measured speeds: the first rank that is equally fast */
} rank_speeds;

/* rank_speeds_find - collective: fill g, s->speed and s->rate at rank 0 with given or nominal
 * values. Links get a rate only if the user gives it. The caller
 * has set s->records. The caller frees g, also on failure. cpus  the processors that this rank may
 * use. */
status rank_speeds_find(rank_env *env, double cpus, const rank_storage *f, share_plan *s,
			rank_speeds *g);

/* rank_speeds_measure - collective: replace speeds and rates by those that `threads` threads of
 * each rank show, all at the same time. Sets s->measured, to false if the job is too short for that
 * by the present rates. */
status rank_speeds_measure(rank_env *env, unsigned threads, share_plan *s, rank_speeds *g);

void rank_speeds_free(rank_env *env, rank_speeds *g);

/* rank_speeds_sort - fill g->order. */
void rank_speeds_sort(rank_speeds *g);

/* rank_speeds_on_host - return how many ranks of one host are in g->order from place `first` on. */
size_t rank_speeds_on_host(const rank_speeds *g, size_t first);

/* rank_speeds_hosts - return the number of hosts. */
size_t rank_speeds_hosts(const rank_speeds *g);

/* rank_speeds_alike - replace each group of similar values, >= 0, by their mean. In ascending
 * order, a group contains the values up to `ratio` times its first value. order: n entries,
 * receives the indices of the values in ascending order. */
void rank_speeds_alike(double *value, size_t *order, size_t n, double ratio);

/* rank_speeds_join - replace the rates of ranks that may be equally fast by their mean, at rank 0.
 * Ranks may be equally fast if their speeds before and after the exchange are, within the errors in
 * g->had. Fills g->before, g->after and s->speed from the rates; 1 is the fastest rank. */
void rank_speeds_join(const settings *o, const rank_speeds *g, share_plan *s);

/* rank_numbers_load - at rank 0: read a number for each rank from arg, in the form of --speeds.
 * what: the name of the column in a file with named columns, also used in messages. */
status rank_numbers_load(rank_env *env, const rank_speeds *g, const char *arg, const char *what,
			 double *number);

/* rank_speeds_name - at rank 0: give the names and numbers of processors of the ranks to wisdom. */
status rank_speeds_name(rank_env *env, const rank_speeds *g, wisdom *w);

/* Messages that measure links have this tag or one of the next, by the number of messages in flight
 * in each direction. A simulation (sim/) scales the size of blocks of records, but not of these
 * messages. */
enum { TAG_LINK_RATES = 60, LINK_SLOTS = 4 };

/* link_rates_measure - collective: measure the links between hosts, all at the same time. Each rank
 * sends to a rank of another host and receives from one. If a link may affect the shares, further
 * rounds use other partners, because the first one may have been slower than the rank itself. The
 * first round sends at least two messages per rank, or nine with --links=auto. After these, all
 * rounds take at most about 2 % of the predicted time of the job.
 * g       at rank 0: the places of ranks.
 * s       at rank 0: the number of records, and the rates of the ranks.
 * link_s  at rank 0: [p] zeros. Receives the mean seconds per byte of each rank, if it sends
 * equally to all others; bytes to ranks of its own host take 0 s. 0 if all are on one host. */
status link_rates_measure(rank_env *env, const rank_speeds *g, const share_plan *s, double *link_s);

typedef struct emulation {
	int *count;        /* virtual ranks of each rank of the comm, at least 1 */
	int size;          /* the sum of count */
	double efficiency; /* the part of the speed of all nodes that equal ranks can use */
} emulation;

/* emulation_plan - collective, after options are read: find the numbers of virtual ranks by
 * --speeds and --emulate. All ranks get the same numbers. The caller frees m->count, also on
 * failure. A rank gets a message only for its own error, rank 0 also for an error of the plan. */
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
 * contain anything. # starts a comment that ends with the line. The text is exactly w->n numbers,
 * separated by commas or white space. If the first word is not a number, the text is lines HOST
 * NUMBER: every rank of that host gets the number. Each host with a rank must be listed once, and
 * no other host. A name that is only alike stands for the one host that it is alike, unless another
 * line names this host exactly. Messages contain the line number and `name`. */
status speeds_parse(const char *text, size_t len, const char *name, const speeds_want *w,
		    double *speed, err *e);

/* speeds_load - read the numbers from the file arg. If it does not exist, and arg has a comma or
 * begins like a number, arg itself is the list of numbers. */
status speeds_load(const char *arg, const speeds_want *w, double *speed, err *e);

/* speeds_range_is_sound - return whether the brackets of a range contain only numbers and pairs
 * FROM-TO with FROM <= TO. A range names many hosts in the form of batch systems: node[1-48],
 * rack[1-2,7]n[01-24]. Numbers with leading zeros have a fixed width. A range may be a single
 * name. */
bool speeds_range_is_sound(const char *range, size_t len);

/* speeds_range_match - return whether a sound range contains the host. Names are alike if they
 * differ in case, or if one of them lacks the domain of the other, from a dot on. */
typedef enum host_match { HOST_OTHER, HOST_ALIKE, HOST_SAME } host_match;
host_match speeds_range_match(const char *range, size_t len, const char *host);

#endif

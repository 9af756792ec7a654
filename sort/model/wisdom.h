/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wisdom: what runs have shown of the ranks, kept in a file for the next run of the same kind. */
#ifndef HETSORT_MODEL_WISDOM_H
#define HETSORT_MODEL_WISDOM_H

#include "base/settings.h"

#include <hetpart.h>

typedef struct wisdom wisdom;

/* The two parts of a run that shares are made for. */
typedef enum run_part { PART_BEFORE, PART_AFTER, PARTS } run_part; /* the exchange */

enum { WISDOM_KEY_BYTES = 64, WISDOM_PATH_BYTES = 4096 };

/* A rank as wisdom knows it. Ranks with the same key are alike. */
typedef struct wisdom_rank {
	char key[WISDOM_KEY_BYTES]; /* HOST:PLACE, at most WISDOM_KEY_BYTES - 10 of a-z, A-Z, 0-9,
				     * '.', '_', ':' and '-'; PLACE has no ':' */
	double cpus;                /* processors it has for itself, above 0 */
} wisdom_rank;

/* What a rank reports of its run: seconds before and after the exchange, records read and written.
 */
typedef struct run_times {
	double before_s, after_s;
	uint64_t in, out;
} run_times;

/* wisdom_name - replace each character that a name may not have by '-': all but letters, digits,
 * '.' and '_'. */
void wisdom_name(char *s);

/* wisdom_path - where it is kept; false: nowhere. */
bool wisdom_path(const settings *o, char path[WISDOM_PATH_BYTES]);

/* wisdom_open - look for what is known of runs of this kind: these records, this strategy, whatever
 * the hosts and however many ranks. A file that cannot be read, is damaged, older than half a year,
 * of an earlier version or of another kind is not used, and note says so.
 * note  receives what is worth telling; its code is not looked at.
 * Returns ST_RESOURCE without memory; a file never makes it fail. */
status wisdom_open(wisdom **out, const settings *o, err *note, err *e);

/* wisdom_set_ranks - name the p ranks of this job. */
status wisdom_set_ranks(wisdom *w, const wisdom_rank *rank, size_t p, err *e);

/* wisdom_shares - n records among the ranks so that all take the same time, as far as is known. A
 * rank with another number of processors than when it was seen is taken to be as much faster. One
 * whose key is not known is taken to have the mean speed of those known on its host; else of those
 * on hosts whose names differ from its own in numbers only; else of all.
 * known  receives whether there are shares; false: nothing was learnt that could tell. */
status wisdom_shares(wisdom *w, run_part of, uint64_t n, uint64_t *share, bool *known, err *e);

/* wisdom_costs - find the seconds of up to n records on each rank, as wisdom_shares() takes them to
 * be; *out NULL: nothing was learnt that could tell. Ranks that are alike have the same cost. They
 * belong to w, until the next call for this part. */
status wisdom_costs(wisdom *w, run_part of, uint64_t n, const hetpart_cost *const **out, err *e);

/* wisdom_learn - add a run of these ranks to what the file says by now; earlier ones of the same
 * ranks count less. What is too much for the file is forgotten, that of the oldest runs first. */
void wisdom_learn(wisdom *w, const run_times *t);

/* wisdom_save - put the file in place of what was there, unless that is another kind of file; makes
 * its folder. Failure is only a note. time_s: since 1970. */
void wisdom_save(wisdom *w, uint64_t time_s, err *note);

void wisdom_free(wisdom *w);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wisdom: the costs of ranks as measured in earlier jobs. Jobs of the same kind share a file. */
#ifndef HETSORT_MODEL_WISDOM_H
#define HETSORT_MODEL_WISDOM_H

#include "base/settings.h"

#include <hetpart.h>

typedef struct wisdom wisdom;

/* The two parts of a job that have shares: before and after the exchange. */
typedef enum run_part { PART_BEFORE, PART_AFTER, PARTS } run_part;

enum { WISDOM_KEY_BYTES = 64, WISDOM_PATH_BYTES = 4096 };

/* A rank as wisdom knows it. Ranks with the same key are alike. */
typedef struct wisdom_rank {
	char key[WISDOM_KEY_BYTES]; /* HOST:PLACE, at most WISDOM_KEY_BYTES - 10 of a-z, A-Z, 0-9,
				     * '.', '_', ':' and '-'; PLACE has no ':' */
	double cpus;                /* its part of the host's processors, above 0 */
} wisdom_rank;

/* The seconds of a rank before and after the exchange, and the records read and written. */
typedef struct run_times {
	double before_s, after_s;
	uint64_t in, out;
} run_times;

/* wisdom_name - replace each character except letters, digits, '.' and '_' by '-'. */
void wisdom_name(char *s);

/* wisdom_path - find the path of the file. Returns false if no directory for it is known. */
bool wisdom_path(const settings *o, char path[WISDOM_PATH_BYTES]);

/* wisdom_open - load the file for jobs of this kind: with this record format, strategy and number
 * of threads, but any hosts and any number of ranks. A file is not used if it cannot be read, is
 * damaged, is older than half a year, or is of an earlier version or another kind. Then note gives
 * the reason; its code does not matter. Returns ST_RESOURCE without memory; no file makes it
 * fail. */
status wisdom_open(wisdom **out, const settings *o, err *note, err *e);

/* wisdom_set_ranks - name the p ranks of this job. */
status wisdom_set_ranks(wisdom *w, const wisdom_rank *rank, size_t p, err *e);

/* wisdom_shares - divide n records among the ranks so that all take the same time, by what earlier
 * jobs have shown. The speed of a rank is proportional to its number of processors. A rank with an
 * unknown key gets the mean speed of the known ranks on its host. If no rank of its host is known,
 * it gets the mean speed of hosts whose names differ only in numbers, or else of all known ranks.
 * known  receives true if share was filled, false if nothing was learnt for these ranks. */
status wisdom_shares(wisdom *w, run_part of, uint64_t n, uint64_t *share, bool *known, err *e);

/* wisdom_costs - find the seconds of up to n records on each rank, as for wisdom_shares(). *out is
 * NULL if nothing was learnt for these ranks. Ranks that are alike have the same cost. w owns the
 * costs, which are valid until the next call for this part. */
status wisdom_costs(wisdom *w, run_part of, uint64_t n, const hetpart_cost *const **out, err *e);

/* wisdom_learn - load the file again and add the times of this job's ranks. Earlier jobs of the
 * same ranks count less. If the file gets too large, the oldest jobs are forgotten first. */
void wisdom_learn(wisdom *w, const run_times *t);

/* wisdom_save - make the directory and replace the file, unless wisdom_open found a file of another
 * type or kind. A failure is only noted. time_s: seconds since 1970. */
void wisdom_save(wisdom *w, uint64_t time_s, err *note);

void wisdom_free(wisdom *w);

#endif

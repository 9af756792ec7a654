/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wisdom: what runs have shown of the ranks, kept in a file for the next run of the same kind. */
#ifndef HETSORT_MODEL_WISDOM_H
#define HETSORT_MODEL_WISDOM_H

#include "base/settings.h"

typedef struct wisdom wisdom;

/* The two parts of a run that shares are made for. */
typedef enum part { PART_BEFORE, PART_AFTER, PARTS } part; /* the exchange */

enum { WISDOM_KEY_BYTES = 64 };

/* wisdom_open - look for what is known of runs of this kind: these records, this strategy, so many
 * ranks, with rank 0 on this host. A file that cannot be read, is damaged, older than half a year
 * or of another kind is not used, and note says so.
 * note  receives what is worth telling; its code is not looked at.
 * Returns ST_RESOURCE without memory; a file never makes it fail. */
status wisdom_open(wisdom **out, const settings *o, const char *host, size_t ranks, err *note,
		   err *e);

/* wisdom_shares - n records among p ranks so that all take the same time, as far as is known.
 * key    p entries: equal ones for ranks that are alike, at most WISDOM_KEY_BYTES - 10 of the
 *        characters a-z, A-Z, 0-9, '.', '_', ':' and '-'. A rank whose key is not known is taken
 *        to be like the mean of those that are.
 * known  receives whether there are shares; false: nothing was learnt that could tell. */
status wisdom_shares(wisdom *w, part of, uint64_t n, const char *const *key, size_t p,
		     uint64_t *share, bool *known, err *e);

/* wisdom_fade - before a run is added: earlier ones count less. */
void wisdom_fade(wisdom *w);

/* wisdom_add - a rank took seconds for n records. */
void wisdom_add(wisdom *w, part of, const char *key, uint64_t n, double seconds);

/* wisdom_save - put the file in place of what was there, unless that is another kind of file; makes
 * its folder. Failure is only a note. time_s: since 1970. */
void wisdom_save(wisdom *w, uint64_t time_s, err *note);

void wisdom_free(wisdom *w);

#endif

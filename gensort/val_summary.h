/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the validator knows of a run of records, and how to join it with what it knows of the run
 * that follows. Joining is associative, and an empty run changes nothing, so parts can be summed
 * up by threads or on other machines in any grouping. Pure functions. */
#ifndef VAL_SUMMARY_H
#define VAL_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record.h"

typedef unsigned __int128 u128;

enum { VAL_SUMMARY_BYTES = 5 * 16 + 2 * RECORD_BYTES };

struct val_summary {
	u128 first_unordered; /* index of the first record smaller than the one before, 0: none */
	u128 unordered;       /* how many such records */
	u128 recs;
	u128 dups; /* records whose key equals that of the one before */
	u128 sum;  /* of the records' CRC32 */
	unsigned char first[RECORD_BYTES];
	unsigned char last[RECORD_BYTES];
};

/* val_compare - order of the keys of two records: < 0, 0 or > 0; fold: A to Z equal a to z. */
int val_compare(const unsigned char *a, const unsigned char *b, bool fold);

/* val_summarise - the summary of n (< 2^32) records. */
void val_summarise(struct val_summary *s, const unsigned char *p, size_t n, bool fold);

/* val_plausible - whether some records have this summary, as far as the numbers tell: one read from
 * a file may hold anything. */
bool val_plausible(const struct val_summary *s);

/* val_join - a becomes the summary of a's records followed by b's; all of them together are less
 * than 2^128. */
void val_join(struct val_summary *a, const struct val_summary *b, bool fold);

/* val_encode, val_decode - to and from the 280 bytes of a summary file, which are the same on
 * every host: five numbers of two little-endian 64-bit words, high word first; two records. */
void val_encode(const struct val_summary *s, unsigned char *out);
void val_decode(struct val_summary *s, const unsigned char *in);

#endif

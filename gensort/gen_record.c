/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run of records, made tile by tile: first the random values of a tile, then its bytes.
 * The walk is always LOOKAHEAD values ahead, since binary record n uses the values of n .. n+9.
 * Costs 13 KiB of stack; no allocation, no globals. */
#include <string.h>
#include "gen_record.h"

enum { LOOKAHEAD = 12 }; /* at least nine, and a whole number of rounds */

_Static_assert(LOOKAHEAD >= 9 && LOOKAHEAD % GEN_LANES == 0 && GEN_TILE % GEN_LANES == 0,
	       "tiles are whole rounds");

void gen_records(struct gen_kind kind, u128 first, size_t recs, unsigned char *out)
{
	uint64_t hi[GEN_TILE + LOOKAHEAD], lo[GEN_TILE + LOOKAHEAD];
	struct gen_tile t = { .hi = hi, .lo = lo };
	struct gen_walk w;

	gen_walk_start(&w, first);
	gen_walk_take(&w, LOOKAHEAD / GEN_LANES, hi, lo);
	for (;;) {
		t.first = first;
		t.recs = recs < GEN_TILE ? recs : GEN_TILE;
		gen_walk_take(&w, (t.recs + GEN_LANES - 1) / GEN_LANES, hi + LOOKAHEAD,
			      lo + LOOKAHEAD);
		if (kind.ascii)
			gen_ascii_tile(&t, kind.skew, out);
		else
			gen_binary_tile(&t, kind.skew, out);
		first += t.recs;
		recs -= t.recs;
		out += t.recs * RECORD_BYTES;
		if (recs == 0)
			return;
		memcpy(hi, hi + GEN_TILE, LOOKAHEAD * sizeof hi[0]);
		memcpy(lo, lo + GEN_TILE, LOOKAHEAD * sizeof lo[0]);
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the phases of a job hand on. Each value is made by one phase and only read by those after
 * it; run.c shows which phase makes which.
 */
#ifndef HETSORT_PHASES_VALUES_H
#define HETSORT_PHASES_VALUES_H

#include "base/memory_limit.h"
#include "exchange/splitter_search.h"
#include "exchange/two_level.h"
#include "io/input.h"
#include "io/output.h"
#include "kernel/inspect.h"
#include "model/rank_result.h"
#include "model/shares.h"
#include "scatter/scatter.h"
#include "spill/budget.h"
#include "workdir.h"

typedef enum frame_place { FRAME_HEADER, FRAME_TRAILER, FRAME_PIECES } frame_place;

typedef struct frame_piece {
	unsigned char *bytes;
	size_t n;
} frame_piece;

/* What is read and written, and by which backend. */
typedef struct files {
	input in;
	output out;
	frame_piece frame[FRAME_PIECES]; /* what this rank writes around the records */
	uint64_t trailer_bytes;          /* of the whole output */
	io_backend *io;
	bool late_refused; /* see alias_check */
} files;

typedef struct cpu_share {
	unsigned threads;    /* of this rank */
	unsigned ranks_here; /* on this host, */
	unsigned sharing;    /* and of them those that may use the same processors, */
	unsigned before;     /* of which so many precede this one */
	double processors;   /* the rank's part of these */
	numa *numa;          /* NULL: not looked at */
} cpu_share;

/* Memory: the limit, and how to stay within it. */
typedef struct memory_plan {
	memory_limit limit;
	uint64_t windows_bytes; /* of the exchange; the same on all ranks */
	exchange_way exchange;
	uint64_t between_recs; /* that there is room for between two steps of an exchange */
	budget budget;
	size_t kept;           /* how many of the runs that earlier jobs have left are used */
	char *tmpdir;          /* for runs, if none is named */
	bool other_spills;     /* where rank 0 plans for all: one of them does, so all do */
	bool other_copies_not; /* and one of them has no memory for a second copy */
} memory_plan;

/* What is settled before the first record is read. */
typedef struct settled {
	const files *f;
	const cpu_share *cpus;
	const workdir *w;
	const share_plan *s;
	const scatter_plan *sp;
	const memory_plan *mp;
} settled;

/* Records that are not written: with what came less what leaves as their checksum. */
typedef struct dropped {
	uint64_t records;
	checksum sum;
} dropped;

/* Where this rank's records are cut, and the runs that are cut: what each rank gets of each. */
typedef struct cuts {
	splitter_search search;
	sorted *s;      /* as read; by distributing later: one run, by destination */
	uint64_t *cut;  /* [(size + 1) * runs], or [(peers + 1)] of one run: */
	peer_flow flow; /* what comes and goes where not all are peers; most_peers of any rank */
	int most_peers;
	bool drops_rest; /* what the last rank would get none gets: */
	dropped dropped; /* that of this rank */
} cuts;

/* This rank's part of the output. */
typedef struct output_part {
	inspected seen;
	dropped dropped;
	unsigned char *keys; /* the first and the last one */
	bool found;          /* it is of an earlier program: all that is left is names */
} output_part;

/* output_order - of the records in a part. */
static inline inspect_order output_order(const settings *o)
{
	return o->partition_only ? INSPECT_ANY : o->unique ? INSPECT_STRICT : INSPECT_SORTED;
}

/* What a rank says of its part of the output when it is complete. Followed by the first and the
 * last key, zeros where there is no record. */
typedef struct part_summary {
	uint64_t in, out, dropped;
	checksum sum_in, sum_out, sum_dropped;
	checksum sum_stated;       /* of the input, as manifests state it, */
	uint64_t stated, unstated; /* of so many files; and files of which none does */
} part_summary;

static inline size_t part_summary_bytes(const layout *l)
{
	return sizeof(part_summary) + 2 * (((size_t)l->key_bytes + 7) / 8 * 8);
}

/* part_summary_at - that of a rank, among those of all; *first_key receives where its keys begin.
 */
static inline part_summary part_summary_at(const unsigned char *all, int rank, const layout *l,
					   const unsigned char **first_key)
{
	const unsigned char *at = all + (size_t)rank * part_summary_bytes(l);
	part_summary c;
	memcpy(&c, at, sizeof c);
	*first_key = at + sizeof c;
	return c;
}

/* What the ranks say of their parts. Rank 0 has compared it with the input. */
typedef struct verified {
	checksum sum;                  /* rank 0: of the input of all ranks */
	checksum sum_out;              /* and of the output, */
	uint64_t out;                  /* so many records */
	unsigned char *own;            /* part summary */
	unsigned char *part_summaries; /* rank 0: [size] */
} verified;

#endif

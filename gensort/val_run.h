/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validating: blocks of records are summed up by several threads and joined in order; or the
 * summaries of parts are read and joined. */
#ifndef VAL_RUN_H
#define VAL_RUN_H

#include "val_args.h"
#include "val_in.h"
#include "val_summary.h"

enum val_end {
	VAL_DONE,       /* the summary is that of the whole input */
	VAL_ERRNO,      /* reading failed */
	VAL_PARTIAL,    /* the input ends within a record, or within a summary */
	VAL_CHANGED,    /* the input changed its size meanwhile */
	VAL_IMPOSSIBLE, /* a summary, or all together, that no records have */
};

enum { VAL_BLOCK_RECS = 4096, VAL_BLOCK_BYTES = VAL_BLOCK_RECS * RECORD_BYTES };

struct val_result {
	enum val_end end;
	int err; /* with VAL_ERRNO */
	struct val_summary sum;
};

/* val_announce - called once, when the index of the first unordered record becomes known. */
typedef void val_announce(u128 index, void *arg);

/* val_run_records, val_run_summaries - judge all of `in`, opened with block_bytes of
 * VAL_BLOCK_BYTES or VAL_SUMMARY_BYTES. */
struct val_result val_run_records(struct val_in *in, const struct val_args *a, val_announce *say,
				  void *arg);
struct val_result val_run_summaries(struct val_in *in, const struct val_args *a, val_announce *say,
				    void *arg);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which sort a rank's runs on disk belong to, as a JSON document: enough to decide whether a later
 * program may use them, and to cut its input into the same runs; and whether its output is
 * complete. */
#ifndef HETSORT_SPILL_RESUME_STATE_H
#define HETSORT_SPILL_RESUME_STATE_H

#include "kernel/checksum.h"
#include "io/input.h"
#include "io/target.h"
#include "kernel/record.h"

#include <pthread.h>

struct json_t;

/* What identifies an input file on every host and after a restart: a device number does not. The
 * time of modification can be set back, that of the inode's change cannot. */
typedef struct input_id {
	uint64_t inode, bytes;
	int64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
} input_id;

/* A rank's part of an output that is complete, but under a temporary name. */
typedef struct output_checkpoint {
	uint64_t id; /* of that name, see target.h; 0: there is none */
	uint64_t records;
	checksum sum;
	uint64_t dropped; /* records that came to the rank and are not in it */
	checksum sum_dropped;
} output_checkpoint;

/* What was read from the input for a run, before the run was written: a run on disk is compared
 * with this, not with what it says of itself. */
typedef struct run_note {
	bool noted;
	checksum sum;
} run_note;

typedef struct resume_state {
	uint64_t job; /* a random number, the same on all ranks */
	int32_t rank, ranks;
	layout lay;
	char selection[SELECTION_TEXT_BYTES];
	uint64_t run_recs; /* records of a run; 0: the rank reads none */
	size_t stride;     /* of its samples */
	run_note *run;     /* [runs] */
	size_t runs;
	uint64_t *share_in; /* [ranks] records that each reads */
	input_id *input;    /* [inputs] */
	size_t inputs;
	output_checkpoint out;
} resume_state;

/* resume_state_alloc - arrays of these lengths. resume_state_free - also of a state that is all
 * zero. */
status resume_state_alloc(resume_state *s, int32_t ranks, size_t inputs, err *e);
void resume_state_free(resume_state *s);

/* resume_state_plan_runs - runs of run_recs records, whose samples have this stride, of the rank's
 * share, which is known; none of them is noted. */
status resume_state_plan_runs(resume_state *s, uint64_t run_recs, size_t stride, err *e);

/* resume_state_parse - text of len bytes, which may hold anything; name stands for it in messages.
 * Refuses (ST_REFUSED) what is no state or has impossible numbers; s is then empty. */
status resume_state_parse(const char *text, size_t len, const char *name, resume_state *s, err *e);

/* resume_state_load - the same of a file. */
status resume_state_load(const char *path, resume_state *s, err *e);

/* resume_state_json - the document; in has the names of the inputs. NULL without memory. */
struct json_t *resume_state_json(const resume_state *s, const input *in);

/* A state in its file, while runs are made. */
typedef struct run_notes {
	resume_state *s;
	target *to;
	const input *in; /* has the names of the inputs */
	bool fsync;
	pthread_mutex_t lock;
} run_notes;

/* run_notes_add - note the checksum of what was read for a run, also in the file. Any number of
 * threads, and no other user of the state or its file meanwhile. */
status run_notes_add(run_notes *n, size_t run, checksum sum, err *e);

/* resume_state_inputs - the identities of the inputs, s->inputs of them. */
void resume_state_inputs(resume_state *s, const input *in);

/* resume_state_fits - refuses (ST_REFUSED, with what differs) to go on with the sort `was` by the
 * sort `is`; shares and runs are not compared. */
status resume_state_fits(const resume_state *was, const resume_state *is, const input *in,
			 const char *name, err *e);

#endif

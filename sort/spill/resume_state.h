/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a rank, as a JSON document. It identifies the sort to which the rank's runs on disk
 * belong, and the input records in each run. It also says whether the rank's output is complete.
 * From the states, a later job, with any number of ranks, decides what it can use. */
#ifndef HETSORT_SPILL_RESUME_STATE_H
#define HETSORT_SPILL_RESUME_STATE_H

#include "kernel/inspect.h"
#include "io/input.h"
#include "io/target.h"
#include "kernel/key.h"

#include <pthread.h>

struct json_t;

/* The identity of an input file on every host and after a restart, hence without a device number.
 * A program can set the time of modification back, but not the time of the inode's change. */
typedef struct input_id {
	uint64_t inode, bytes;
	int64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
} input_id;

/* A rank's part of the output, complete under a temporary name. */
typedef struct output_checkpoint {
	uint64_t id; /* of the temporary name, see target.h; 0: no such file */
	uint64_t records;
	checksum sum;
	uint64_t dropped; /* records that came to the rank and are not in the output */
	checksum sum_dropped;
} output_checkpoint;

/* A run, noted before its checkpoint is written: its records of the input and their checksum. A
 * file is compared with this note, because its own checkpoint may belong to another run. */
typedef struct run_note {
	uint64_t number;      /* of its file, see resume_state_run_name */
	uint64_t first, recs; /* in the sequence of all ranks' records */
	uint64_t stride;      /* of its samples */
	uint64_t kept;        /* records after folding (kernel/fold.h), in the file */
	checksum sum;
	checksum dropped; /* of the others, see dropped.sum */
	int32_t rank;     /* of the file */
	int32_t group; /* of the ranks that find the run (resume/states.h); not in the document */
	file_id file;  /* as in the state of this rank */
} run_note;

/* Runs in a list that grows. */
typedef struct run_list {
	run_note *run; /* [runs] */
	size_t runs, room;
} run_list;

typedef struct resume_state {
	uint64_t job;        /* a random number, the same on all ranks */
	int32_t rank, ranks; /* of the last job that has written it */
	layout lay;
	char selection[SELECTION_TEXT_BYTES];
	run_list made;   /* the noted runs */
	run_list files;  /* that the rank has created or will create for runs: only these are ever
			  * removed. Of each, only number, rank and file are set */
	file_id dir;     /* the directory, if a job has created it; else inode 0 */
	file_id self;    /* the file from which the state was loaded or to which it was written */
	input_id *input; /* [inputs] */
	size_t inputs;
	output_checkpoint out;
} resume_state;

#define RESUME_PREFIX "hetsort-rank"
enum { RESUME_NAME_BYTES = 48, RESUME_MOST_RANKS = 1 << 20, RESUME_MOST_STRIDE = 1 << 20 };

/* resume_state_name - make the name of a rank's state in the workdir. */
void resume_state_name(int32_t rank, char name[RESUME_NAME_BYTES]);

/* resume_state_run_name - make the name of a run in the workdir. */
void resume_state_run_name(int32_t rank, uint64_t number, char name[RESUME_NAME_BYTES]);

/* resume_state_alloc - allocate memory for the inputs. */
status resume_state_alloc(resume_state *s, size_t inputs, err *e);

/* resume_state_free - free a state, which may be all zeros. */
void resume_state_free(resume_state *s);

status run_list_add(run_list *l, const run_note *n, err *e);

/* run_list_next - return a number that no file of these runs has. */
uint64_t run_list_next(const run_list *l);
void run_list_free(run_list *l);

/* resume_state_parse - parse any document; messages call it `name`. ST_REFUSED if it is not a
 * state, or has impossible numbers; s is then empty. */
status resume_state_parse(struct json_t *doc, const char *name, resume_state *s, err *e);

/* resume_state_load - parse a file, which must belong to this user and not be a symbolic link. */
status resume_state_load(const char *path, resume_state *s, err *e);

/* resume_state_json - make the document; `in` has the names of the inputs. NULL: out of memory. */
struct json_t *resume_state_json(const resume_state *s, const input *in);

/* A state in its file, while runs are made. */
typedef struct run_notes {
	resume_state *s;
	target *to;
	const input *in; /* has the names of the inputs */
	bool fsync;
	pthread_mutex_t lock;
} run_notes;

/* run_notes_files - note the files that were created for runs, except for kept runs, instead of the
 * planned files. Write the state. */
status run_notes_files(run_notes *n, const run_note *run, const bool *kept, size_t runs, err *e);

/* run_notes_write - note a run that was made, unless it is NULL, and write the state. Any number of
 * threads may call it; nothing else may use the state or its file at the same time. */
status run_notes_write(run_notes *n, const run_note *made, err *e);

/* resume_state_inputs - set the identities of the s->inputs inputs. */
void resume_state_inputs(resume_state *s, const input *in);

/* resume_state_inputs_hash - return a hash of the identities of the inputs. */
uint64_t resume_state_inputs_hash(const resume_state *s);

/* resume_state_fits - check that the sort `is` can continue the sort `was`: ST_REFUSED with the
 * difference if not. Inputs, ranks and runs are not compared. */
status resume_state_fits(const resume_state *was, const resume_state *is, const char *name, err *e);

/* resume_state_same_inputs - check that the inputs are the same and unchanged (ST_REFUSED). */
status resume_state_same_inputs(const resume_state *was, const resume_state *is, const input *in,
				const char *name, err *e);

/* resume_state_same_ranks - check that rank and number of ranks are the same (ST_REFUSED). */
status resume_state_same_ranks(const resume_state *was, const resume_state *is, const char *name,
			       err *e);

#endif

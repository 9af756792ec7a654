/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which sort the runs on disk belong to that a rank has made, as a JSON document: enough to decide
 * whether a later program may use them, which of the input's records each has, whatever the number
 * of ranks is then; and whether its output is complete. */
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

/* A run, noted before it was written: which records of the input it has, and the checksum of what
 * was read. A run on disk is compared with this, not with what it says of itself. */
typedef struct run_note {
	uint64_t number;      /* of its file, see resume_state_run_name */
	uint64_t first, recs; /* in the sequence of all ranks' records */
	uint64_t stride;      /* of its samples */
	checksum sum;
	int32_t rank;  /* of its file */
	int32_t group; /* of ranks that find it, see resume/groups.h; not in the document */
	file_id file;  /* which file it is, as its rank's state says */
} run_note;

/* A file for a run that a rank has made, or is about to make: only these are ever removed. */
typedef struct file_note {
	uint64_t number;
	file_id is;
} file_note;

typedef struct file_list {
	file_note *file; /* [files] */
	size_t files, room;
} file_list;

/* Runs in a list that grows. */
typedef struct run_list {
	run_note *run; /* [runs] */
	size_t runs, room;
} run_list;

typedef struct resume_state {
	uint64_t job;        /* a random number, the same on all ranks */
	int32_t rank, ranks; /* of the job that has written it last */
	layout lay;
	char selection[SELECTION_TEXT_BYTES];
	run_list made;
	file_list files;
	file_id dir;     /* the directory, where a job has made it; inode 0: it was there */
	file_id self;    /* the file that this was loaded from, or written to */
	input_id *input; /* [inputs] */
	size_t inputs;
	output_checkpoint out;
} resume_state;

#define RESUME_PREFIX "hetsort-rank"
enum { RESUME_NAME_BYTES = 48, RESUME_MOST_RANKS = 1 << 20, RESUME_MOST_STRIDE = 1 << 20 };

/* resume_state_name, resume_state_run_name - of files in the directory that runs are kept in. */
void resume_state_name(int32_t rank, char name[RESUME_NAME_BYTES]);
void resume_state_run_name(int32_t rank, uint64_t number, char name[RESUME_NAME_BYTES]);

/* resume_state_alloc - room for so many inputs. resume_state_free - also of a state that is all
 * zero. */
status resume_state_alloc(resume_state *s, size_t inputs, err *e);
void resume_state_free(resume_state *s);

/* run_list_add - one run more. run_list_next - a number that no file of these runs has. */
status run_list_add(run_list *l, const run_note *n, err *e);
uint64_t run_list_next(const run_list *l);
void run_list_free(run_list *l);

/* file_list_add - one file more. file_list_at - the note of a file; NULL: there is none. */
status file_list_add(file_list *l, const file_note *n, err *e);
const file_note *file_list_at(const file_list *l, uint64_t number);

/* resume_state_parse - text of len bytes, which may hold anything; name stands for it in messages.
 * Refuses (ST_REFUSED) what is no state or has impossible numbers; s is then empty. */
status resume_state_parse(const char *text, size_t len, const char *name, resume_state *s, err *e);

/* resume_state_load - the same of a file, which is no symbolic link and this user's own. */
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

/* run_notes_add - note a run, also in the file. Any number of threads, and no other user of the
 * state or its file meanwhile. */
status run_notes_add(run_notes *n, const run_note *run, err *e);

/* run_notes_files - note which files are there now of those that were about to be made, and write
 * the state. */
status run_notes_files(run_notes *n, const file_note *file, size_t files, err *e);

/* run_notes_write - write the state as it is. */
status run_notes_write(run_notes *n, err *e);

/* resume_state_inputs - the identities of the inputs, s->inputs of them. */
void resume_state_inputs(resume_state *s, const input *in);

/* resume_state_inputs_hash - the same number for the same inputs. */
uint64_t resume_state_inputs_hash(const resume_state *s);

/* resume_state_fits - refuses (ST_REFUSED, with what differs) to go on with the sort `was` by the
 * sort `is`. Inputs, ranks and runs are not compared. */
status resume_state_fits(const resume_state *was, const resume_state *is, const char *name, err *e);

/* resume_state_same_inputs - refuses other inputs, and those that were written to since. */
status resume_state_same_inputs(const resume_state *was, const resume_state *is, const input *in,
				const char *name, err *e);

/* resume_state_same_ranks - refuses another number of ranks, or rank. */
status resume_state_same_ranks(const resume_state *was, const resume_state *is, const char *name,
			       err *e);

#endif

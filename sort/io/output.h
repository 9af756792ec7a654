/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output: one file that all ranks write at exact offsets, one a rank, or
 * standard output; a manifest lists the parts, or the one file. No file gets its final name before
 * all ranks are done. */
#ifndef HETSORT_IO_OUTPUT_H
#define HETSORT_IO_OUTPUT_H

#include "comm/comm.h"
#include "target.h"
#include "base/settings.h"

typedef struct output {
	bool is_stdout; /* or another stream: a FIFO or a device with no place in it */
	bool per_rank;
	bool listed;     /* a manifest is written: of parts, and of one file where asked for */
	bool journaled;  /* a journal stands, or stood: the set of parts counts */
	bool spares_old; /* parts of the old set that the new one does not have are not removed */
	bool owner;      /* this rank creates, renames or removes a file of its own */
	target file;
	target manifest;                    /* rank 0, where listed: where the manifest goes */
	char staged[UNFINISHED_NAME_BYTES]; /* the manifest's name, until it is that of a journal */
	uint64_t kept_id;   /* of a temporary file that outlives the program; 0: there is none */
	unfinished_end end; /* what this rank does where the job ends before its time */
	int rank, size;
	const settings *opt;
	int fd;                 /* -1: not open */
	uint64_t header_bytes;  /* before the records of this rank's file, */
	uint64_t trailer_bytes; /* and after them; by frame_read() */
	uint64_t offset; /* where this rank's records start in the file, FILE_APPEND for stdout */
} output;

/* output_describe - find the directory and refuse, before any work, a name that exists (without
 * force; with resume see output_spare_old) or is no plain file. Touches nothing. */
status output_describe(output *o, const settings *opt, int rank, err *e);

/* output_is_stream - is it "-", or the name of a FIFO or of a character device? */
bool output_is_stream(const char *path);

/* output_lock - collective: lock what this rank owns, and remove what killed jobs have left there:
 * *removed files, but not the one that was kept with this id. What one has begun to rename is
 * renamed first; note, on rank 0: of old parts that stay. Refuses if another job is making it, and
 * still is after patience_s. */
status output_lock(output *o, comm *c, uint64_t kept_id, double patience_s, unsigned *removed,
		   err *note, err *e);

/* output_sweep_parts - what a killed job of more ranks has left of parts that this one does not
 * have, as their locks show. */
void output_sweep_parts(const output *o);

/* output_create - collective: make the temporary file (rank 0, or each rank its own), with room for
 * the bytes; id is the same on all ranks. offset, bytes: this rank's part of total. */
status output_create(output *o, comm *c, uint64_t id, uint64_t offset, uint64_t bytes,
		     uint64_t total, err *e);

/* output_keep - the temporary file is complete: it outlives the program, for a later one. */
void output_keep(output *o);

/* output_find - open the one that was kept with this id, or what has the final name already; false:
 * there is none, or it has another size. The other arguments as in output_create. */
bool output_find(output *o, uint64_t id, uint64_t offset, uint64_t bytes, uint64_t total);

/* output_spare_old - with resume and without force: refuse what has the final names, unless the
 * output was found, and found there. */
status output_spare_old(output *o, bool found, err *e);

/* output_drop - close and remove what was kept. False: another file stays in its place. */
bool output_drop(output *o);

/* output_has_room - can the disk of this rank's own file hold so many bytes? True where one file is
 * for all ranks: its size is known from the start. */
bool output_has_room(const output *o, uint64_t bytes);

/* output_sync - this rank's bytes to the disk, if fsync, and close. */
status output_sync(output *o, bool fsync, err *e);

/* output_commit - collective, after all have synced and verified, and rank 0 has staged the
 * manifest: final names, synced, and looked at. What the job reads stays in any case, also if it is
 * part of the set that is replaced. note, on rank 0: of old parts that stay. */
status output_commit(output *o, comm *c, err *note, err *e);

/* output_share_lock - collective, after all have locked what they own: where this rank owns
 * nothing, it removes the owner's lock as well if its process is ended, unless that lock notes
 * files. */
status output_share_lock(output *o, comm *c);

/* output_name - as the user knows it. */
const char *output_name(const output *o);

/* output_release - remove what is not committed, and locks. output_discard - and release all else:
 * until then this rank looks after those that die before they have done it. */
void output_release(output *o);
void output_discard(output *o);

#endif

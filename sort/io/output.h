/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output: one file that all ranks write at exact offsets, one file per rank, or standard
 * output. A manifest lists the parts, or the only file. No file gets its final name before all
 * ranks have succeeded. */
#ifndef HETSORT_IO_OUTPUT_H
#define HETSORT_IO_OUTPUT_H

#include "comm/comm.h"
#include "target.h"
#include "base/settings.h"

typedef struct output {
	bool is_stdout; /* or another stream: the output is a FIFO or a character device */
	bool per_rank;
	bool listed;     /* a manifest is written: of parts, or of one file if requested */
	bool journaled;  /* a journal was begun: the new set of parts is valid */
	bool spares_old; /* surplus parts of the old set are not removed */
	bool owner;      /* this rank creates, renames and removes its own file */
	target file;
	target manifest;                    /* on rank 0, if listed */
	char staged[UNFINISHED_NAME_BYTES]; /* the manifest's name before it becomes a journal */
	uint64_t kept_id;   /* of a temporary file that outlives the program; 0: none */
	unfinished_end end; /* the work of this rank if the job ends early */
	int rank, size;
	const settings *opt;
	int fd;                 /* -1: not open */
	uint64_t header_bytes;  /* before the records in this rank's file */
	uint64_t trailer_bytes; /* after them; set by frame_read() */
	uint64_t offset;        /* of this rank's records in the file; FILE_APPEND for stdout */
} output;

/* output_describe - find the directory of the output. Refuse anything but a regular file, and
 * without force or resume an existing file (with resume see output_spare_old). Change nothing. */
status output_describe(output *o, const settings *opt, int rank, err *e);

/* output_is_stream - return whether path is "-" or the name of a FIFO or character device. */
bool output_is_stream(const char *path);

/* output_dir - write the directory of the output files to dir, PATH_MAX bytes, and return dir.
 * Without such files, write "", which names no directory. */
const char *output_dir(const settings *o, char *dir);

/* output_lock - collective: lock the files that this rank owns. Complete a renaming that a killed
 * job has begun, and remove the files that killed jobs have left, except the one kept with
 * o->kept_id. Before, the caller must set o->kept_id, and reads and patience_s of o->file. `past`
 * of both targets describes the result. ST_REFUSED: another job is still making the output after
 * patience_s. */
status output_lock(output *o, comm *c, err *e);

/* output_sweep_parts - remove the temporary files of parts that a killed job with more ranks has
 * left, if locks note these files. */
void output_sweep_parts(const output *o);

/* The bytes of a rank's records, among the `total` bytes of all ranks. */
typedef struct output_place {
	uint64_t offset, bytes, total;
} output_place;

/* output_create - collective: create the temporary file (on rank 0, or one per rank) with space for
 * its bytes; id is the same on all ranks. */
status output_create(output *o, comm *c, uint64_t id, const output_place *place, err *e);

/* output_keep - let the complete temporary file outlive the program. */
void output_keep(output *o);

/* output_find - open the file that was kept with this id, or the file with the final name. False:
 * neither exists with the right size. */
bool output_find(output *o, uint64_t id, const output_place *place);

/* output_spare_old - with resume and without force: refuse files with the final names, unless the
 * output was found under them. */
status output_spare_old(output *o, bool found, err *e);

/* output_drop - close and remove the kept file. False: another file has its name, and stays. */
bool output_drop(output *o);

/* output_has_room - return whether the disk of this rank's own file has room for `bytes`. True if
 * all ranks write one file, because its size is known from the start. */
bool output_has_room(const output *o, uint64_t bytes);

/* output_sync - close this rank's file; if fsync, write its bytes to the disk first. */
status output_sync(output *o, bool fsync, err *e);

/* output_commit - collective: give all files their final names, sync the names, and check the files
 * again. Before, all ranks must have synced and verified, and rank 0 must have staged the manifest.
 * Files that the job reads always stay, even if they belong to the set that is replaced. On rank 0,
 * o->manifest.past.note names an old part that stays. */
status output_commit(output *o, comm *c, err *e);

/* output_share_lock - collective, after output_lock: let a rank that owns no file remove the
 * owner's lock if its process is ended early. The lock stays if it notes files. */
status output_share_lock(output *o, comm *c);

/* output_name - return the name for messages. */
const char *output_name(const output *o);

/* output_release - remove uncommitted files, and locks. output_discard - release everything. Before
 * it, an early end of this rank also removes the files of ranks that were killed before
 * output_release. */
void output_release(output *o);
void output_discard(output *o);

#endif

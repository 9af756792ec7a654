/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorted runs on disk: written in order by large writes, read back at any range of records. Every
 * block has a checksum in memory, and every read of the block verifies it.
 *
 * Each run has its own file, which has a name if the run must outlive the program
 * (run_checkpoint.h). The file has the records without gaps, and is divided into blocks. If
 * possible, block_bytes is a multiple of the record size, and a range of whole blocks is read
 * without other bytes. Otherwise a record may lie in two blocks.
 *
 * Some runs may stay in memory. Writers and readers use the same calls for them.
 *
 * All memory is allocated by spill_open: 8 bytes per block, which is about 80 KiB per GiB of
 * records, 80 bytes per run, and the runs in memory. Each run that is written at the same time as
 * others takes one to two times SPILL_WRITE_BYTES. Open files: two per run on disk. */
#ifndef HETSORT_SPILL_SPILL_H
#define HETSORT_SPILL_SPILL_H

#include "base/mem.h"
#include "io/tempdir.h"

#include <stdatomic.h>

/* ---------------------------------------------------------------------------------- directories */

/* The directories for runs on disk, which are used in turn. A directory without space for a run is
 * not used any more, unless it is the last one. */
typedef struct spill_dirs {
	mem *m;
	const char *const *name; /* [count] the caller's */
	tempdir *dir;
	size_t count;
	atomic_bool *full; /* [count] the directory is not used any more */
} spill_dirs;

/* spill_dirs_check - check that files can be created, and that `bytes` bytes in runs of run_bytes
 * fit, as spill_dirs_fit does. ST_REFUSED if tempdir_open does not accept a directory, ST_IO or
 * ST_RESOURCE if no directory has space for a file. */
status spill_dirs_check(const char *const *name, size_t count, uint64_t bytes, uint64_t run_bytes,
			err *e);

/* spill_dirs_open - open the directories; fails like tempdir_open. The names outlive d. Main thread
 * of the rank. Call spill_dirs_close, from the same thread, after a failure too. */
status spill_dirs_open(spill_dirs *d, mem *m, const char *const *name, size_t count, err *e);
void spill_dirs_close(spill_dirs *d);

/* spill_dirs_room - add up the free bytes of the file systems. Fails like tempdir_open. */
status spill_dirs_room(const char *const *name, size_t count, uint64_t *bytes, err *e);

/* spill_dirs_fit - check that there is space for `bytes` bytes in runs of run_bytes, and stop using
 * directories without space for one run. ST_RESOURCE, with the bytes needed and free, if not. */
status spill_dirs_fit(spill_dirs *d, uint64_t bytes, uint64_t run_bytes, err *e);

/* spill_dirs_next - return the next directory from `at` on that is in use. Any thread. */
size_t spill_dirs_next(const spill_dirs *d, size_t at);

/* spill_dirs_leave_out - stop using directory `at`, which is full. Return false, without effect, if
 * no other directory is in use. Any thread. */
bool spill_dirs_leave_out(spill_dirs *d, size_t at);

/* spill_dirs_create - create a file, like tempdir_create, in the first directory from *at on that
 * has space, and set *at to this directory. */
status spill_dirs_create(spill_dirs *d, size_t *at, const char *file, bool direct, io_fd *f,
			 err *e);

/* spill_dirs_failed - report a failed write; if a temporary directory is full, say what to do. */
status spill_dirs_failed(const err *why, bool temporary, err *e);

/* spill_dirs_left_out - list the directories that are not used any more, in quotes; "" for none.
 * Names that do not fit are counted. */
void spill_dirs_left_out(const spill_dirs *d, char *text, size_t bytes);

/* ----------------------------------------------------------------------------------------- runs */

enum {
	SPILL_LEAST_BLOCK_BYTES = 64 << 10,
	SPILL_ALIGN = IO_FD_ALIGN,                       /* of read buffers */
	SPILL_BLOCK_BYTES = 2 * SPILL_LEAST_BLOCK_BYTES, /* for usual record sizes */
	SPILL_MOST_BLOCK_BYTES = 256 << 10,
	/* Least size of a write, except the last of a run: direct I/O of 4 MiB is 1.5 times as
	 * fast as of 1 MiB. */
	SPILL_WRITE_BYTES = 4 << 20
};

typedef struct spill spill;

typedef struct spill_name {
	char text[48];
	bool there; /* the file exists and is opened unchanged; otherwise it is created */
} spill_name;

typedef struct spill_plan {
	const char *const
		*dir; /* run r goes to dir[r % dirs] if that has space; outlive the spill */
	size_t dirs;  /* at least 1 */
	const spill_name *name; /* [runs] names of the files, which outlive the plan; NULL: the
				 * files have no names */
	uint32_t record_bytes;  /* at least 1 */
	size_t runs;            /* the most runs */
	size_t memory_runs;     /* runs, spread evenly, that stay in memory and have no file: at
				 * most memory_recs records each */
	uint64_t memory_recs;
	uint64_t recs;       /* the most records of all runs together */
	size_t buffers;      /* the most runs that are written at the same time */
	size_t write_bytes;  /* least size of a write; 0: SPILL_WRITE_BYTES */
	unsigned ranks_here; /* ranks that write the same amount to these directories; at least 1 */
	size_t block_bytes;  /* a multiple of SPILL_ALIGN; 0: chosen by the record size */
	bool growing;        /* recs and runs are only limits: create the file of a run when the
			      * run begins, and check the space when it is used */
	bool buffered;       /* use the page cache even if direct I/O is possible */
} spill_plan;

/* spill_block_bytes - choose a block size: a multiple of SPILL_ALIGN and, unless that becomes too
 * large, of the record size. */
size_t spill_block_bytes(uint32_t record_bytes);

/* spill_memory_bytes - return the memory for a run of recs records; UINT64_MAX on overflow. */
uint64_t spill_memory_bytes(uint64_t recs, uint32_t record_bytes);

/* spill_disk_recs - return how many of recs records are on disk if memory_runs of the runs stay in
 * memory. All runs but the last have run_recs records; the last is the first to stay in memory. */
uint64_t spill_disk_recs(uint64_t recs, uint64_t runs, uint64_t run_recs, uint64_t memory_runs);

/* spill_open - prepare runs 0 to p->runs - 1; p is not kept. Check that the directories have space
 * for p->recs (ST_RESOURCE, with the bytes needed and free). Create all files, so that a limit on
 * open files is reported before the work. Main thread of the rank, like spill_close. */
status spill_open(spill **s, mem *m, const spill_plan *p, err *e);

/* spill_run_begin - begin to write run `run` (once) with at most recs records, and reserve the disk
 * space. Between begin and end a run belongs to one thread; runs are independent of each other. */
status spill_run_begin(spill *s, size_t run, uint64_t recs, err *e);

/* spill_run_room - return memory for the next records of a run, which are then appended without a
 * copy. Lower *n to the number of records that fit in the block, whose checksum is then computed
 * while it is in the cache. If *n becomes 0, the next record lies in two writes: copy it. */
void *spill_run_room(const spill *s, size_t run, size_t *n);

/* spill_run_append - write the next n records. */
status spill_run_append(spill *s, size_t run, const void *recs, uint64_t n, err *e);

/* spill_run_again - choose another directory after begin, append or end of this run returned
 * ST_RESOURCE. True: begin the run again, from its first record. False: no other directory has
 * space. */
bool spill_run_again(spill *s, size_t run);

/* spill_run_end - complete the run. Any number of threads can read it after this call. */
status spill_run_end(spill *s, size_t run, err *e);

/* spill_end_writing - free the memory for writing when all runs are complete. Main thread. */
void spill_end_writing(spill *s);

/* The layout of a run's file. */
typedef struct spill_layout {
	int fd;
	const char *label; /* for messages */
	uint64_t end;      /* bytes of the records; this module does not use the bytes after them */
	size_t block_bytes;
	const uint64_t *sum; /* [blocks] checksums, of a complete run */
	size_t blocks;
} spill_layout;

/* spill_layout_of - return the layout of a file that is not open (fd -1). */
spill_layout spill_layout_of(size_t block_bytes, uint32_t record_bytes, uint64_t recs);

/* spill_run_layout - return the layout of a run; valid until spill_close. */
spill_layout spill_run_layout(const spill *s, size_t run, uint64_t recs);

/* spill_run_adopt - use the existing file of run `run`, which was not begun, as a complete run of
 * recs records with these checksums of its blocks. */
status spill_run_adopt(spill *s, size_t run, uint64_t recs, const uint64_t *sum, err *e);

/* spill_run_recs - return the number of records of the complete run. */
uint64_t spill_run_recs(const spill *s, size_t run);

/* spill_disk_bytes - return the bytes of the records of all runs on disk. */
uint64_t spill_disk_bytes(const spill *s);

/* spill_block_recs - return the records per block; 0 if a record may lie in two blocks. */
size_t spill_block_recs(const spill *s);

/* spill_read_bytes - return the buffer size for any n records of a run; SIZE_MAX on overflow. */
size_t spill_read_bytes(const spill *s, uint64_t n);

/* spill_chunk_recs - return the number n of records in a chunk of about `bytes`, at least one
 * block. Set *buf_bytes to the buffer size for n records from any multiple of n on. There is no
 * excess if blocks hold whole records. */
uint64_t spill_chunk_recs(const spill *s, size_t bytes, size_t *buf_bytes);

/* Records [first, first + n) of a run. The buffer is aligned to SPILL_ALIGN. */
typedef struct spill_view {
	void *buf;
	size_t buf_bytes;
	size_t run;
	uint64_t first, n;
	const unsigned char *recs; /* in buf or in the memory of the run */
} spill_view;

/* spill_read - read the records of v, whose run is complete, and set v->recs. Any number of
 * threads. ST_IO if a block has a wrong checksum; then the file loses its name, if it has one. */
status spill_read(spill *s, spill_view *v, err *e);

/* spill_key - set *rec to record `at` of the complete run i, valid until the next call with v. The
 * last one or two blocks that a search has read stay in v, so its last steps find their records
 * there. Before the first call set buf and buf_bytes (spill_read_bytes(s, 1)), the rest to 0. One
 * thread. */
status spill_key(spill *s, spill_view *v, size_t i, uint64_t at, const unsigned char **rec, err *e);

/* spill_left_out - list the full directories, like spill_dirs_left_out, and set *again to the
 * number of runs that were written a second time. */
void spill_left_out(const spill *s, char *text, size_t bytes, uint64_t *again);

/* spill_close - drop all runs, complete or not. s may be NULL. */
void spill_close(spill *s);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorted runs on disk: written in order by large writes, read back at any range of records. Every
 * block has a checksum in memory, which every reading of it verifies.
 *
 * A run is a file of its own without a name, or with one where it is to outlive the program
 * (run_checkpoint.h); records lie in it one after another, and blocks are cut out of that stream,
 * so a record may lie in two of them. Where block_bytes can be a multiple of the record none does:
 * a range that begins and ends with a block is then read without excess.
 *
 * Some of the runs may stay in memory, which changes nothing for those who write and read them.
 *
 * Memory, all taken in spill_open: 8 bytes a block (64 to 256 KiB: about 80 KiB for each GiB of
 * records), SPILL_WRITE_BYTES to twice that for each run written at the same time, 80 bytes a run,
 * and the runs in memory. Open files: two a run on disk. */
#ifndef HETSORT_SPILL_SPILL_H
#define HETSORT_SPILL_SPILL_H

#include "spill_dirs.h"

enum {
	SPILL_LEAST_BLOCK_BYTES = 64 << 10,
	SPILL_ALIGN = IO_FD_ALIGN,                       /* of the buffers that are read into */
	SPILL_BLOCK_BYTES = 2 * SPILL_LEAST_BLOCK_BYTES, /* of usual records */
	SPILL_MOST_BLOCK_BYTES = 256 << 10,
	SPILL_WRITE_BYTES = 4 << 20 /* least bytes in a write, except the last of a run; a direct
				     * write or read of 4 MiB is 1.5 times as fast as one of 1 */
};

typedef struct spill spill;

typedef struct spill_name {
	char text[48];
	bool there; /* a file of this name was kept: it is opened as it is. Else it is made. */
} spill_name;

typedef struct spill_plan {
	const char *const *dir; /* run r goes to dir[r % dirs], if that has room; they outlive the
				 * spill */
	size_t dirs;            /* at least 1 */
	const spill_name *name; /* [runs] of their files, which outlive the plan; NULL: they have
				 * none */
	uint32_t record_bytes;  /* at least 1 */
	size_t runs;            /* at most */
	size_t memory_runs;     /* of these so many, spread evenly, stay in memory, and no file is
				 * made for them: at most memory_recs each */
	uint64_t memory_recs;
	uint64_t recs;       /* at most, in all runs together */
	size_t buffers;      /* runs that are written at the same time, at most */
	size_t write_bytes;  /* in place of SPILL_WRITE_BYTES; 0: that */
	unsigned ranks_here; /* ranks that put as much into the same directories; at least 1 */
	size_t block_bytes;  /* a multiple of SPILL_ALIGN; 0: chosen by the record */
	bool growing;        /* recs and runs may be far more than will come: a run's file is
			      * created when the run begins, and space is checked when it is used */
	io_backend *io;      /* outlives the spill; NULL: blocking calls */
	bool buffered;       /* go through the page cache even where direct I/O is possible */
} spill_plan;

/* spill_block_bytes - a multiple of the alignment and, if that is not too large, of the record. */
size_t spill_block_bytes(uint32_t record_bytes);

/* spill_memory_bytes - what a run of so many records takes in memory; UINT64_MAX: more than there
 * can be. */
uint64_t spill_memory_bytes(uint64_t recs, uint32_t record_bytes);

/* spill_disk_recs - of recs in runs of run_recs, but for the last, those that are on disk where
 * memory_runs of the runs are not: the last one is in memory if any is. */
uint64_t spill_disk_recs(uint64_t recs, uint64_t runs, uint64_t run_recs, uint64_t memory_runs);

/* spill_open - room for runs 0 to p->runs - 1; p is not kept. Checks that the directories have
 * the space for p->recs (ST_RESOURCE, with the bytes needed and free), and creates all files, so
 * that a limit on open files shows before the work. Main thread of the rank, as spill_close. */
status spill_open(spill **s, mem *m, const spill_plan *p, err *e);

/* spill_run_begin - begin to write run `run` (once) with at most recs records, and reserve the disk
 * space. Between begin and end a run belongs to one thread; runs are independent of each other. */
status spill_run_begin(spill *s, size_t run, uint64_t recs, err *e);

/* spill_run_room - where the next records of a run that has begun can be put, so that appending
 * them copies nothing; *n is lowered to how many: no more than their block has, so that its
 * checksum finds them in the cache; 0: the next one lies in two writes. */
void *spill_run_room(const spill *s, size_t run, size_t *n);

/* spill_run_append - the next n records. */
status spill_run_append(spill *s, size_t run, const void *recs, uint64_t n, err *e);

/* spill_run_again - begin, append or end of this run was ST_RESOURCE: has another directory room?
 * Then the run can begin there, with as many records, the first of which comes first again. */
bool spill_run_again(spill *s, size_t run);

/* spill_run_end - the run is complete and can be read, by any number of threads that begin after
 * this call. */
status spill_run_end(spill *s, size_t run, err *e);

/* spill_end_writing - all runs are complete: free the memory for writing. Main thread. */
void spill_end_writing(spill *s);

/* How the file of a run of so many records is laid out. */
typedef struct spill_layout {
	int fd;
	const char *label; /* for messages */
	uint64_t end; /* bytes that the records take; what lies behind them is not of this module */
	size_t block_bytes;
	const uint64_t *sum; /* [blocks] checksums, of a complete run */
	size_t blocks;
} spill_layout;

/* spill_layout_of - of a file that is not open (fd -1). spill_run_layout - of a run; valid until
 * spill_close. */
spill_layout spill_layout_of(size_t block_bytes, uint32_t record_bytes, uint64_t recs);
spill_layout spill_run_layout(const spill *s, size_t run, uint64_t recs);

/* spill_run_adopt - run `run`, which was not begun, is complete in its file, with recs records and
 * these checksums of its blocks. */
status spill_run_adopt(spill *s, size_t run, uint64_t recs, const uint64_t *sum, err *e);

/* spill_run_recs - how many records the complete run has. */
uint64_t spill_run_recs(const spill *s, size_t run);

/* spill_block_recs - records of a block that holds whole ones; 0: records lie across the ends of
 * blocks. */
size_t spill_block_recs(const spill *s);

/* spill_read_bytes - a buffer for any n records of a run; SIZE_MAX if there can be none. */
size_t spill_read_bytes(const spill *s, uint64_t n);

/* spill_chunk_recs - how many records n make a chunk of about `bytes`, a block at least; *buf_bytes
 * is a buffer for n of them from any multiple of n on, with no excess where blocks hold whole
 * records. */
uint64_t spill_chunk_recs(const spill *s, size_t bytes, size_t *buf_bytes);

/* spill_read - records [first, first + n) of a complete run into buf, which is aligned to
 * SPILL_ALIGN; *recs is where the first lies, there or in the memory of the run. Safe from any
 * number of threads. A block whose checksum is not what was written is ST_IO, and a file with a
 * name then loses it. */
status spill_read(spill *s, size_t run, uint64_t first, uint64_t n, void *buf, size_t buf_bytes,
		  const unsigned char **recs, err *e);

/* The block or two that a search read last: its last steps find their records there. Set buf and
 * buf_bytes (spill_read_bytes(s, 1), aligned to SPILL_ALIGN), the rest to 0. For one thread. */
typedef struct spill_view {
	void *buf;
	size_t buf_bytes;
	size_t run;
	uint64_t first, n; /* the records in it */
	const unsigned char *recs;
} spill_view;

/* spill_key - record `at` of the complete run i; *rec is valid until the next call with v. */
status spill_key(spill *s, spill_view *v, size_t i, uint64_t at, const unsigned char **rec, err *e);

/* spill_drop_run - free the run's disk space, unless its file has a name. No thread reads or writes
 * the run any more. */
void spill_drop_run(spill *s, size_t run);

/* spill_left_out - the directories that had no room for all that was to go there (see
 * spill_dirs_left_out), and *again: how many runs were written a second time. */
void spill_left_out(const spill *s, char *text, size_t bytes, uint64_t *again);

/* spill_close - drop all runs, whatever their state; NULL is fine. */
void spill_close(spill *s);

#endif

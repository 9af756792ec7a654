/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of valsort. Except for what crc.h says, nothing here is shared with the generator, so
 * that one cannot hide an error of the other. */
#ifndef VAL_H
#define VAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "say.h"
#include "record.h"

enum { VAL_MAX_THREADS = 1024 };

struct val_args {
	bool fold;        /* compare keys without regard to case */
	bool quiet;       /* print failures only */
	bool summaries;   /* the input is summaries, not records */
	unsigned threads; /* 0: as many as processors */
	const char *save; /* where to write the summary, or NULL */
	const char *file; /* "-" is standard input */
};

enum val_verdict { VAL_RUN, VAL_HELP, VAL_VERSION, VAL_USAGE };

/* val_args_parse - what to do; on VAL_USAGE the reason has been printed. */
enum val_verdict val_args_parse(int argc, char **argv, struct val_args *a);

/* What the validator knows of a run of records, and how to join it with what it knows of the run
 * that follows. Joining is associative, and an empty run changes nothing, so parts can be summed
 * up by threads or on other machines in any grouping. Pure functions. */

typedef unsigned __int128 u128;

enum { VAL_SUMMARY_BYTES = 5 * 16 + 2 * RECORD_BYTES };

struct val_summary {
	u128 first_unordered; /* index of the first record smaller than the one before, 0: none */
	u128 unordered;       /* how many such records */
	u128 recs;
	u128 dups; /* records whose key equals that of the one before */
	u128 sum;  /* of the records' CRC32 */
	unsigned char first[RECORD_BYTES];
	unsigned char last[RECORD_BYTES];
};

/* val_compare - order of the keys of two records: < 0, 0 or > 0; fold: A to Z equal a to z. */
int val_compare(const unsigned char *a, const unsigned char *b, bool fold);

/* val_summarise - the summary of n (< 2^32) records. */
void val_summarise(struct val_summary *s, const unsigned char *p, size_t n, bool fold);

/* val_plausible - whether some records have this summary, as far as the numbers tell: one read from
 * a file may hold anything. */
bool val_plausible(const struct val_summary *s);

/* val_join - a becomes the summary of a's records followed by b's; all of them together are less
 * than 2^128. */
void val_join(struct val_summary *a, const struct val_summary *b, bool fold);

/* val_encode, val_decode - to and from the 280 bytes of a summary file, which are the same on
 * every host: five numbers of two little-endian 64-bit words, high word first; two records. */
void val_encode(const struct val_summary *s, unsigned char *out);
void val_decode(struct val_summary *s, const unsigned char *in);

/* The input of valsort, read in large blocks of equal size. Regular files are read at offsets,
 * by any number of threads; all else (pipes, devices) in order, one thread at a time.
 * Never maps a file: one that is cut meanwhile would kill the reader. */

struct val_in {
	const char *name;
	int fd;
	bool regular;
	off_t base;         /* where a regular file starts for us */
	off_t size;         /* of a regular file when it was opened */
	size_t block_bytes; /* of each block but the last */
	uint64_t next;      /* number of the next block, guarded by the lock */
	bool ended;         /* a block was short, guarded by the lock */
	pthread_mutex_t lock;
};

/* val_in_open - open `name` ("-": standard input) for blocks of block_bytes; 0 or errno. */
int val_in_open(struct val_in *in, const char *name, size_t block_bytes);

/* val_in_take - read the next block: its number, and in *got its size, less than a whole block
 * only at the end. Returns false if the end is already known. A failed read sets *err. */
bool val_in_take(struct val_in *in, unsigned char *buf, uint64_t *number, size_t *got, int *err);

/* val_in_changed - a regular file no longer has the size it had, or not `bytes` were read. */
bool val_in_changed(const struct val_in *in, uint64_t bytes);

void val_in_close(struct val_in *in);

/* Validating: blocks of records are summed up by several threads and joined in order; or the
 * summaries of parts are read and joined. */

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

/* The summary file that valsort -o writes. It is emptied at once, so after a failure it holds
 * nothing that could be taken for a verdict. */

struct val_save {
	const char *name;
	int fd;
	bool regular;
};

/* val_save_open - create or empty the file, unless it is the file open as `input`. Reports its
 * failure and returns it. */
bool val_save_open(struct val_save *s, const char *name, int input);

/* val_save_finish - write the summary (NULL: nothing) and close. Reports and returns a failure. */
bool val_save_finish(struct val_save *s, const struct val_summary *sum);

/* val_say_reason - "NAME: REASON", as the benchmark's validator does for its input. */
void val_say_reason(const char *name, int err);

#endif

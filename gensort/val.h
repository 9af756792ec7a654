/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of valsort. Only crc.h and tool.h are shared with gensort, as the two must not hide
 * each other's errors. */
#ifndef VAL_H
#define VAL_H

#include <sys/types.h>

#include "tool.h"

/* ------------------------------------------------------------ command line */

typedef struct val_args {
	bool fold;        /* ignore the case of letters in keys */
	bool quiet;       /* print only failures */
	bool summaries;   /* the input is summaries, not records */
	unsigned threads; /* 0: one per processor */
	const char *save; /* file for the summary, or NULL */
	const char *file; /* "-" is standard input */
} val_args;

typedef enum val_verdict { VAL_RUN, VAL_HELP, VAL_VERSION, VAL_USAGE } val_verdict;

/* val_args_parse - read the command line. Print the reason for VAL_USAGE. */
val_verdict val_args_parse(int argc, char **argv, val_args *a);

/* ------------------------------------------------------------ summaries
 *
 * A summary describes consecutive records. Joining two summaries gives the summary of the first
 * records followed by the second. Joining is associative, and an empty summary changes nothing, so
 * parts can be summarised and joined in any grouping. Pure functions. */

enum { VAL_SUMMARY_BYTES = 5 * 16 + 2 * RECORD_BYTES };

typedef struct val_summary {
	u128 first_unordered; /* index of the first record below the one before it; 0: none */
	u128 unordered;       /* number of such records */
	u128 recs;
	u128 dups; /* records whose key equals the key before */
	u128 sum;  /* of the records' CRC32 */
	unsigned char first[RECORD_BYTES];
	unsigned char last[RECORD_BYTES];
} val_summary;

/* val_compare - compare the keys of two records: < 0, 0 or > 0. fold: treat A to Z as a to z. */
int val_compare(const unsigned char *a, const unsigned char *b, bool fold);

/* val_summarise - find the summary of n (< 2^32) records. */
void val_summarise(val_summary *s, const unsigned char *p, size_t n, bool fold);

/* val_plausible - return whether any records can have this summary; its file may be damaged. */
bool val_plausible(const val_summary *s);

/* val_join - set a to the summary of a's records followed by b's, fewer than 2^128 together. */
void val_join(val_summary *a, const val_summary *b, bool fold);

/* val_encode - write the 280 bytes of a summary file, which are the same on every host: five
 * numbers of two little-endian 64-bit words, high word first, and two records. */
void val_encode(const val_summary *s, unsigned char *out);

/* val_decode - read the bytes of a summary file. */
void val_decode(val_summary *s, const unsigned char *in);

/* ------------------------------------------------------------ input
 *
 * The input is read in large blocks of equal size. Regular files are read at offsets, by any number
 * of threads. Pipes, devices and others are read in order, by one thread at a time. Files are never
 * mapped, because a mapped file that another process shortens would kill valsort. */

typedef struct val_in {
	const char *name;
	int fd;
	bool regular;
	off_t base;         /* where reading starts in a regular file */
	off_t size;         /* of a regular file when it was opened */
	size_t block_bytes; /* of each block except the last */
	uint64_t next;      /* number of the next block, guarded by the lock */
	bool ended;         /* a block was short, guarded by the lock */
	pthread_mutex_t lock;
} val_in;

/* val_in_open - open `name` ("-": standard input) for blocks of block_bytes. Return 0 or errno. */
int val_in_open(val_in *in, const char *name, size_t block_bytes);

/* val_in_next - read the next block. Set *number, and *got to its size, which is less than a whole
 * block only at the end. *err: 0 or a failure. Return false after the end. */
bool val_in_next(val_in *in, unsigned char *buf, uint64_t *number, size_t *got, int *err);

/* val_in_changed - return whether the size of a regular file has changed or is not `bytes`. */
bool val_in_changed(const val_in *in, uint64_t bytes);

void val_in_close(val_in *in);

/* ------------------------------------------------------------ job */

typedef enum val_end {
	VAL_DONE,       /* the summary covers the whole input */
	VAL_ERRNO,      /* reading failed */
	VAL_PARTIAL,    /* the input ends within a record, or within a summary */
	VAL_CHANGED,    /* the size of the input changed while it was read */
	VAL_IMPOSSIBLE, /* a summary has impossible numbers, or all have too many records */
} val_end;

enum { VAL_BLOCK_RECS = 4096, VAL_BLOCK_BYTES = VAL_BLOCK_RECS * RECORD_BYTES };

typedef struct val_result {
	val_end end;
	int err; /* with VAL_ERRNO */
	val_summary sum;
} val_result;

/* val_announce - print the index of the first unordered record; called once, when it is known. */
typedef void val_announce(u128 index, void *arg);

/* val_run_records - summarise the records of `in`, opened with blocks of VAL_BLOCK_BYTES. Several
 * threads summarise blocks, which are joined in order. */
val_result val_run_records(val_in *in, const val_args *a, val_announce *announce, void *arg);

/* val_run_summaries - join the summaries of `in`, opened with blocks of VAL_SUMMARY_BYTES. */
val_result val_run_summaries(val_in *in, const val_args *a, val_announce *announce, void *arg);

/* ------------------------------------------------------------ summary file
 *
 * The file that valsort -o writes. It is emptied first, so no old summary remains after a
 * failure. */

typedef struct val_save {
	const char *name;
	int fd;
	bool regular;
} val_save;

/* val_save_open - create or empty the file; fail if it is the file that is open as `input`. Print
 * the reason of a failure and return false. */
bool val_save_open(val_save *s, const char *name, int input);

/* val_save_finish - write the summary (NULL: nothing), and close. Print a failure, return false. */
bool val_save_finish(val_save *s, const val_summary *sum);

/* val_print_reason - print "NAME: REASON", as the benchmark's validator does for its input. */
void val_print_reason(const char *name, int err);

#endif

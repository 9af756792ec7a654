/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of gensort, from the random numbers to the output. */
#ifndef GEN_H
#define GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "say.h"
#include "record.h"

typedef unsigned __int128 u128;

/* Independent lanes: the latency of one lane's multiplication hides behind the other lanes'. */
enum { GEN_LANES = 4 };

struct gen_walk {
	u128 lane[GEN_LANES]; /* lane i holds the value i places ahead of the next one to be taken
			       */
	u128 mul, add;        /* the map that leaps GEN_LANES values ahead */
};

/* gen_lcg_at - x[n], the n-th value of the generator. */
u128 gen_lcg_at(u128 n);

/* gen_walk_start - let the next value taken be R(n). */
void gen_walk_start(struct gen_walk *w, u128 n);

/* gen_walk_take - store the high and low halves of the next GEN_LANES * rounds values. */
void gen_walk_take(struct gen_walk *w, size_t rounds, uint64_t *hi, uint64_t *lo);

/* Skew: the key of record n may start with bits of the key of a much smaller record number, the
 * skew index s(n), which is nearly the bit length of n. So heavy prefixes appear, and ever more
 * of them as the record numbers grow. Pure functions. */

enum { GEN_SKEW_BYTES = 6 }; /* the longest prefix that is ever replaced */

/* gen_skew_index - s(n), 0 to 128; 61 to 63 and 125 to 127 never occur. */
unsigned gen_skew_index(u128 n);

/* gen_skew_span - how many records from n on share its skew index, at most max. */
size_t gen_skew_span(u128 n, size_t max);

/* gen_skew_bits - how many leading bits of a binary key are replaced, 0 to 48. */
unsigned gen_skew_bits(uint64_t lo);

/* gen_skew_chars - how many leading characters of an ASCII key are replaced, 0 to 6. */
unsigned gen_skew_chars(uint64_t lo);

/* From record numbers to bytes: the four kinds of records (binary or ASCII, uniform or skewed).
 * Record n is a pure function of its kind and n, so any thread can make any slice. */

struct gen_kind {
	bool ascii;
	bool skew;
};

enum { GEN_TILE = 512 }; /* records whose random values stay in the nearest cache at a time */

struct gen_tile {           /* what a maker needs to make up to GEN_TILE records */
	u128 first;         /* number of the first record */
	size_t recs;        /* 1 to GEN_TILE */
	const uint64_t *hi; /* high and low halves of the random values: recs of them, */
	const uint64_t *lo; /* and for binary records nine more */
};

/* gen_records - write records first .. first + recs - 1, recs >= 1, to out (recs * RECORD_BYTES
 * bytes). */
void gen_records(struct gen_kind kind, u128 first, size_t recs, unsigned char *out);

/* gen_binary_tile, gen_ascii_tile - the same for one tile, given its random values. */
void gen_binary_tile(const struct gen_tile *t, bool skew, unsigned char *out);
void gen_ascii_tile(const struct gen_tile *t, bool skew, unsigned char *out);

/* gen_ascii_init - fill the tables of digits; call once before any thread makes records. */
void gen_ascii_init(void);

/* The command line of gensort: the grammar of the Sort Benchmark's generator, with long options,
 * clusters and detached numbers besides, and every number checked to its end.
 * Reports a usage error itself; exits never. */

enum { GEN_MAX_THREADS = 1024 };

struct gen_args {
	struct gen_kind kind;
	u128 start;       /* number of the first record */
	uint64_t recs;    /* how many */
	bool checksum;    /* print it */
	bool fsync;       /* make a regular file durable */
	unsigned threads; /* 0: as many as processors */
	const char *file; /* "-" is standard output */
};

enum gen_verdict { GEN_RUN, GEN_HELP, GEN_VERSION, GEN_USAGE };

/* gen_args_parse - what to do; on GEN_USAGE the reason has been printed. */
enum gen_verdict gen_args_parse(int argc, char **argv, struct gen_args *a);

/* Where the records go: a regular file (written at exact offsets, by any thread), a stream
 * (written in order), or nowhere (the name /dev/null). A regular file never has its full size
 * before it is complete, and a failed one is removed or emptied. */

struct gen_out {
	const char *name;
	int fd;       /* -1 for nowhere */
	bool regular; /* opened by name and regular: offsets, preallocation, removal */
	bool created; /* by us, so ours to remove */
	bool changed; /* what was there before, if it was regular */
	dev_t dev;    /* which file it was, so that no other is removed */
	ino_t ino;
};

/* gen_out_open - open or create `name` for `bytes` bytes (UINT64_MAX: that or more); reports its
 * failure and returns it. A file that cannot hold them, or for which there is no room, is refused
 * here. */
bool gen_out_open(struct gen_out *o, const char *name, uint64_t bytes);

/* gen_out_write - write all of n bytes; at offset `at` if the output is regular, else next.
 * Returns 0 or the errno of the failure. Safe from several threads if regular. */
int gen_out_write(const struct gen_out *o, const unsigned char *p, size_t n, uint64_t at);

/* gen_out_finish - make it durable if wanted, and close; reports its failure and returns it. */
bool gen_out_finish(struct gen_out *o, bool durable);

/* gen_out_discard - after a failure: leave nothing that looks complete, and say what is left. */
void gen_out_discard(struct gen_out *o);

/* Making all records with several threads: blocks are handed out in order, made independently,
 * and written at their offsets or in turn. The last block is written after all others, so a
 * file reaches its full size only when it is complete. */

struct gen_result {
	u128 checksum; /* 0 unless it was asked for */
	int err;       /* errno of the first failure, 0 if there was none */
	int signal;    /* that asked to stop, 0 if none did */
};

/* gen_run - make the records of `a` and write them to `out`. */
struct gen_result gen_run(const struct gen_args *a, const struct gen_out *out);

/* gen_stop - ask a run to stop at the next block; may be called by a signal handler. */
void gen_stop(int signal);

#endif

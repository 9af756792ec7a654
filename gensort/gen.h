/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of gensort, from the random numbers to the output. */
#ifndef GEN_H
#define GEN_H

#include <sys/types.h>

#include "tool.h"

/* ------------------------------------------------------------ random numbers */

/* Independent lanes hide the latency of each other's multiplications. */
enum { GEN_LANES = 4 };

typedef struct gen_walk {
	u128 lane[GEN_LANES]; /* lane i has the value i places after the next one */
	u128 mul, add;        /* the map that leaps GEN_LANES values ahead */
} gen_walk;

/* gen_lcg_at - return x[n], the n-th value of the generator. */
u128 gen_lcg_at(u128 n);

/* gen_walk_start - let the next value be x[n + 1], the random value of record n. */
void gen_walk_start(gen_walk *w, u128 n);

/* gen_walk_next - store the high and low halves of the next GEN_LANES * rounds values. */
void gen_walk_next(gen_walk *w, size_t rounds, uint64_t *hi, uint64_t *lo);

/* ------------------------------------------------------------ skew
 *
 * The key of record n may start with bits of the key of a much smaller record number, the skew
 * index s(n), which is nearly the bit length of n. So heavy prefixes appear, and their number grows
 * with the record numbers. Pure functions. */

enum { GEN_SKEW_BYTES = 6 }; /* of the longest prefix that is replaced */

/* gen_skew_index - return s(n), 0 to 128; 61 to 63 and 125 to 127 never occur. */
unsigned gen_skew_index(u128 n);

/* gen_skew_span - count the records from n on that share its skew index, at most max. */
size_t gen_skew_span(u128 n, size_t max);

/* gen_skew_bits - return the number of leading bits of a binary key to replace, 0 to 48. */
unsigned gen_skew_bits(uint64_t lo);

/* gen_skew_chars - return the number of leading characters of an ASCII key to replace, 0 to 6. */
unsigned gen_skew_chars(uint64_t lo);

/* ------------------------------------------------------------ records
 *
 * There are four kinds: binary or ASCII, uniform or skewed. Record n is a pure function of its kind
 * and n, so any thread can make any part of the output. */

typedef struct gen_kind {
	bool ascii;
	bool skew;
} gen_kind;

enum { GEN_TILE = 512 }; /* records whose random values stay in the nearest cache at a time */

/* The input for up to GEN_TILE records. */
typedef struct gen_tile {
	u128 first;         /* number of the first record */
	size_t recs;        /* 1 to GEN_TILE */
	const uint64_t *hi; /* high and low halves of the random values: recs of them, */
	const uint64_t *lo; /* and for binary records nine more */
} gen_tile;

/* gen_records - write records first .. first + recs - 1, recs >= 1, to out, which has room for recs
 * * RECORD_BYTES bytes. */
void gen_records(gen_kind kind, u128 first, size_t recs, unsigned char *out);

/* gen_binary_tile - write the binary records of a tile. */
void gen_binary_tile(const gen_tile *t, bool skew, unsigned char *out);

/* gen_ascii_tile - write the ASCII records of a tile. */
void gen_ascii_tile(const gen_tile *t, bool skew, unsigned char *out);

/* gen_ascii_init - fill the tables of digits. Call it once before any thread makes records. */
void gen_ascii_init(void);

/* ------------------------------------------------------------ command line
 *
 * The grammar of the Sort Benchmark's generator. In addition there are long options, joined short
 * options and separate numbers, and every number is checked to its end. */

typedef struct gen_args {
	gen_kind kind;
	u128 start;       /* number of the first record */
	uint64_t recs;    /* number of records */
	bool checksum;    /* print it */
	bool fsync;       /* make a regular file durable */
	unsigned threads; /* 0: one per processor */
	const char *file; /* "-" is standard output */
} gen_args;

typedef enum gen_verdict { GEN_RUN, GEN_HELP, GEN_VERSION, GEN_USAGE } gen_verdict;

/* gen_args_parse - read the command line. Prints the reason for GEN_USAGE; never exits. */
gen_verdict gen_args_parse(int argc, char **argv, gen_args *a);

/* ------------------------------------------------------------ output
 *
 * Records go to a regular file (written at exact offsets, by any thread), to a stream (written in
 * order), or nowhere (the name /dev/null). A regular file never has its full size before it is
 * complete, and a failed file is removed or emptied. */

typedef struct gen_out {
	const char *name;
	int fd;       /* -1 for nowhere */
	bool regular; /* opened by name and regular: offsets, preallocation, removal */
	bool created; /* by this process, which may remove it */
	bool changed; /* the earlier contents, if it was regular */
	dev_t dev;    /* identity of the file, so that no other is removed */
	ino_t ino;
} gen_out;

/* gen_out_open - open or create `name` for `bytes` bytes; UINT64_MAX stands for larger sizes too. A
 * file that cannot hold them, or has no room for them, is refused here. Prints its failure and
 * returns false. */
bool gen_out_open(gen_out *o, const char *name, uint64_t bytes);

/* gen_out_write - write all of n bytes: at offset `at` if the output is regular, else after the
 * bytes before. Returns 0 or the errno of the failure. Safe from several threads if regular. */
int gen_out_write(const gen_out *o, const unsigned char *p, size_t n, uint64_t at);

/* gen_out_finish - close the output, durable if asked. Prints its failure and returns false. */
bool gen_out_finish(gen_out *o, bool durable);

/* gen_out_discard - after a failure, leave nothing that looks complete, and print what remains. */
void gen_out_discard(gen_out *o);

/* ------------------------------------------------------------ job */

typedef struct gen_result {
	u128 checksum; /* 0 unless it was asked for */
	int err;       /* errno of the first failure; 0: none */
	int signal;    /* that asked to stop; 0: none */
} gen_result;

/* gen_run - make the records of `a` and write them to `out`, in several threads. Blocks are
 * assigned in order, made independently, and written at their offsets or in turn. The last block is
 * written after all others, so a file reaches its full size only when it is complete. */
gen_result gen_run(const gen_args *a, const gen_out *out);

/* gen_stop - make gen_run stop at the next block. A signal handler may call it. */
void gen_stop(int signal);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of gensort, from the random numbers to the output. */
#ifndef GEN_H
#define GEN_H

#include <sys/types.h>

#include "tool.h"

/* ------------------------------------------------------------ random numbers */

/* The generator runs in independent lanes: each computes every GEN_LANES-th value. So a
 * multiplication need not wait for the one before it. */
enum { GEN_LANES = 4 };

typedef struct gen_walk {
	u128 lane[GEN_LANES]; /* lane 0 has the next value, lane i the i-th after it */
	u128 mul, add;        /* x -> mul x + add leaps GEN_LANES values ahead */
} gen_walk;

/* gen_lcg_at - return x[n], the n-th value of the generator. */
u128 gen_lcg_at(u128 n);

/* gen_walk_start - set a walk so that its next value is x[n + 1], the random value of record n. */
void gen_walk_start(gen_walk *w, u128 n);

/* gen_walk_next - store the high and low halves of the next GEN_LANES * rounds values. */
void gen_walk_next(gen_walk *w, size_t rounds, uint64_t *hi, uint64_t *lo);

/* ------------------------------------------------------------ skew
 *
 * In skewed data, the key of record n may begin with the first bits of the key of record s(n). The
 * skew index s(n) is nearly the bit length of n, so large groups of records share a prefix. Pure
 * functions. */

enum { GEN_SKEW_BYTES = 6 }; /* the longest prefix that is replaced */

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

enum { GEN_TILE = 512 }; /* records made at a time: their random values stay in the nearest cache */

/* The input for up to GEN_TILE records. */
typedef struct gen_tile {
	u128 first;         /* number of the first record */
	size_t recs;        /* 1 to GEN_TILE */
	const uint64_t *hi; /* high halves of recs random values (binary records: recs + 9) */
	const uint64_t *lo; /* low halves */
} gen_tile;

/* gen_records - write records first .. first + recs - 1, recs >= 1, to out. */
void gen_records(gen_kind kind, u128 first, size_t recs, unsigned char *out);

/* gen_binary_tile - write the binary records of a tile. */
void gen_binary_tile(const gen_tile *t, bool skew, unsigned char *out);

/* gen_ascii_tile - write the ASCII records of a tile. */
void gen_ascii_tile(const gen_tile *t, bool skew, unsigned char *out);

/* gen_ascii_init - fill the tables of digits. Call it once before any thread makes records. */
void gen_ascii_init(void);

/* ------------------------------------------------------------ command line
 *
 * The grammar of the Sort Benchmark's generator. In addition, there are long options, short options
 * may be joined, and a number may be a separate word. Every number is checked to its end. */

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

/* gen_args_parse - read the command line. Print the reason for GEN_USAGE; never exit. */
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
	bool changed; /* the earlier contents of a regular file are lost */
	dev_t dev;    /* identity of the file, so that no other is removed */
	ino_t ino;
} gen_out;

/* gen_out_open - open or create `name` for `bytes` bytes; UINT64_MAX stands for larger sizes too.
 * Refuse a file that cannot have this size, or a file system without space for it. Print the reason
 * of a failure and return false. */
bool gen_out_open(gen_out *o, const char *name, uint64_t bytes);

/* gen_out_write - write all of n bytes: at offset `at` if the output is regular, which several
 * threads may do, otherwise after the bytes written before. Return 0 or the errno of the
 * failure. */
int gen_out_write(const gen_out *o, const unsigned char *p, size_t n, uint64_t at);

/* gen_out_finish - close the output. durable: first wait until it is on permanent storage. Print
 * the reason of a failure and return false. */
bool gen_out_finish(gen_out *o, bool durable);

/* gen_out_discard - after a failure, remove or empty a regular file, so that it does not look
 * complete. Print whether it was removed or emptied. */
void gen_out_discard(gen_out *o);

/* ------------------------------------------------------------ job */

typedef struct gen_result {
	u128 checksum; /* 0 unless it was asked for */
	int err;       /* errno of the first failure; 0: none */
	int signal;    /* the signal that asked to stop; 0: none */
} gen_result;

/* gen_run - make the records of `a` and write them to `out`, in several threads. Threads take
 * blocks in order, make them, and write them at their offsets, or in order to a stream. The last
 * block is written last, so a file reaches its full size only when it is complete. */
gen_result gen_run(const gen_args *a, const gen_out *out);

/* gen_stop - make gen_run stop at the next block. A signal handler may call it. */
void gen_stop(int signal);

#endif

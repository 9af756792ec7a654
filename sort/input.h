/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input: files read as one sequence of records, of which each rank takes a slice. */
#ifndef HETSORT_INPUT_H
#define HETSORT_INPUT_H

#include "checksum.h"
#include "mem.h"
#include "options.h"

#include <sys/stat.h>

typedef struct input_file {
	char *path;
	uint64_t first, count; /* its records in the sequence of all files */
	struct stat st;        /* as first seen: it must not change meanwhile */
} input_file;

typedef struct input {
	input_file *file;
	size_t files;
	uint64_t records; /* in all files that this rank knows of */
	bool per_rank;    /* every rank has files of its own */
	bool is_stdin;    /* the only input; its size shows when it is read */
} input;

/* What reading leaves behind: records in memory, an entry for each, their checksum. */
typedef struct loaded {
	unsigned char *recs;
	entry *entries;
	size_t n, room; /* records, and how many there is memory for */
	checksum sum;
	double verify_s; /* spent on the checksum */
} loaded;

/* input_describe - look at the files of this rank; refuses what is no regular file, cannot be read,
 * or does not hold whole records. */
status input_describe(input *in, const options *o, int rank, err *e);

/* input_load - read records [first, first + n) of the sequence, or standard input to its end. */
status input_load(const input *in, mem *m, const layout *l, uint64_t first, size_t n, loaded *out,
		  err *e);

/* loaded_free - give back records and entries. */
void loaded_free(mem *m, loaded *d, const layout *l);

void input_free(input *in);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input: files read as one sequence of records, of which each rank takes a slice. */
#ifndef HETSORT_IO_INPUT_H
#define HETSORT_IO_INPUT_H

#include "base/settings.h"

#include <sys/stat.h>

typedef struct input_file {
	char *path;
	uint64_t first, count; /* its records in the sequence of all files */
	struct stat st;        /* as first seen: it must not change */
} input_file;

typedef struct input {
	input_file *file;
	size_t files;
	uint64_t records; /* in all files that this rank knows of */
	bool per_rank;    /* every rank has files of its own */
	bool is_stdin;    /* the only input; its size is not known before its end */
} input;

/* input_describe - stat the files of this rank; refuses what is no regular file, cannot be read, or
 * does not hold whole records. */
status input_describe(input *in, const settings *o, int rank, err *e);

/* input_open - for reading. Refuses (ST_IO) what is not the file that was described any more, and
 * never waits for it: it may have become a FIFO. *fd is -1 on failure. */
status input_open(const input_file *f, int *fd, err *e);

/* input_unchanged - refuses (ST_IO) a file, open as fd, that is not what was described, or goes on
 * behind its size. */
status input_unchanged(const input_file *f, int fd, err *e);

void input_free(input *in);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input: files and streams, read as one sequence of records of which each rank takes a slice.
 */
#ifndef HETSORT_IO_INPUT_H
#define HETSORT_IO_INPUT_H

#include "base/settings.h"
#include "file.h"
#include "kernel/checksum.h"

#include <sys/stat.h>

/* What a manifest states of the records of a part, and what this rank has read of them. */
typedef struct input_stated {
	char *manifest;
	checksum sum;
	uint64_t read_recs;
	checksum read;
} input_stated;

/* What the beginning of a file looks like. HEAD_LINES: text in lines that do not fit the records.
 */
typedef enum head_kind { HEAD_ANY, HEAD_LINES, HEAD_MANIFEST } head_kind;

typedef struct input_file {
	char *path;
	framing frame;
	uint64_t first, count; /* its records in the sequence of all files */
	struct stat st;        /* as first seen: it must not change */
	head_kind head;        /* what it looks like */
	bool is_stream;        /* a pipe, a device, ...: its size shows at its end */
	int fd; /* a file without a name that the stream was copied to, or the only stream behind
		 * its header; -1: none */
	input_stated *stated; /* NULL: no manifest states anything of it */
} input_file;

typedef struct input {
	input_file *file;
	size_t files, streams; /* streams: so many of the files */
	framing frame;         /* of a file whose manifest does not say otherwise */
	uint64_t records; /* in all files that this rank knows of, but for streams not copied */
	file_set reads;   /* these files, and those of other ranks, none of which may be removed */
	bool per_rank;    /* every rank has files of its own */
	bool is_stream;   /* the only file is a stream that the only rank reads as it comes */
} input;

/* input_describe - look at the files of this rank; refuses what is a directory or a socket, cannot
 * be read, does not hold whole records, or belongs to a set whose commit has not ended. A manifest
 * stands for its parts; so does, with all_parts (see parts.h), a name with %r. Streams are not
 * opened. in->is_stream is not set. To be freed on failure too. */
status input_describe(input *in, const settings *o, int rank, bool all_parts, err *e);

/* input_count - where the records of each file are, anew: streams have been copied. */
status input_count(input *in, const layout *l, err *e);

/* input_open - for reading. A file: refuses (ST_IO) what is not the one that was described any
 * more, and never waits for it: it may have become a FIFO. A stream is waited for: a FIFO until
 * somebody writes to it; with f->fd set, that is the stream, of which something has been read. *fd
 * is -1 on failure. */
status input_open(const input_file *f, bool stream, int *fd, err *e);

/* input_unchanged - refuses (ST_IO) a file, open as fd, that is not what was described, or goes on
 * behind its size. */
status input_unchanged(const input_file *f, int fd, err *e);

/* input_note_read - n records of the file were read, and have this checksum. Any thread may call
 * it. */
void input_note_read(const input_file *f, size_t n, checksum sum);

/* input_check_stated - refuses (ST_IO) a file whose records, where input_note_read has seen all of
 * them, do not have the checksum that a manifest states. */
status input_check_stated(const input_file *f, err *e);

void input_free(input *in);

#endif

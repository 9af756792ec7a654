/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input: files and streams, treated as one sequence of records, of which each rank reads a
 * share. */
#ifndef HETSORT_IO_INPUT_H
#define HETSORT_IO_INPUT_H

#include "base/settings.h"
#include "file.h"
#include "kernel/inspect.h"
#include "shape.h"

#include <sys/stat.h>

/* The checksum that a manifest gives for a part, and the checksum of the records read by this rank.
 */
typedef struct input_stated {
	char *manifest;
	checksum sum;
	uint64_t read_recs;
	checksum read;
} input_stated;

/* The kind of a file, judged by its first bytes. HEAD_LINES: lines of text that do not have the
 * record size. */
typedef enum head_kind { HEAD_ANY, HEAD_LINES, HEAD_MANIFEST } head_kind;

typedef struct input_file {
	char *path;
	framing frame;
	uint64_t first, count; /* its records in the sequence of all files */
	struct stat st;        /* when the file was described; it must not change later */
	head_kind head;
	bool is_stream; /* a pipe, a device, ...: its size is known at its end */
	bool written;   /* it may change without a new time, see file_is_written() */
	int fd; /* a copy of the stream in a file without a name, or the only stream, read up to the
		   end of its header; -1: none */
	input_stated *stated; /* NULL: no manifest names the file */
} input_file;

typedef struct input {
	input_file *file;
	size_t files, streams; /* streams: the number of files that are streams */
	framing frame;         /* of a file, unless its manifest has another */
	shape shape;           /* how records are read */
	uint64_t records; /* in all files of this rank, except streams that are not copied yet */
	file_set reads;   /* the files of all ranks, none of which may be removed */
	bool lists;       /* a manifest names files */
	bool per_rank;    /* every rank has its own files */
	bool is_stream;   /* the only file is a stream that the only rank reads directly */
} input;

/* input_describe - look at the files of this rank. Refuse a directory, a socket, and a file that
 * cannot be read or does not contain whole records. Refuse a file of a set that is being renamed.
 * The name of a manifest stands for its parts. With all_parts (see parts_find), a name with %r
 * stands for all parts too. Streams are not opened. in->is_stream is not set. Free *in after a
 * failure too. */
status input_describe(input *in, const settings *o, int rank, bool all_parts, err *e);

/* input_count - count the records of each file again after streams have been copied. */
status input_count(input *in, const layout *l, err *e);

/* input_file_bytes - return the size of a record in a file. */
static inline uint32_t input_file_bytes(const input *in, const layout *l)
{
	return shape_file_bytes(&in->shape, l->record_bytes);
}

/* input_open - open a file or stream for reading. ST_IO if the file is no longer the described one.
 * Opening a file never waits, even if the file has become a FIFO. Opening a FIFO as a stream waits
 * until a writer opens it. If f->fd is set, *fd is a duplicate of it. *fd is -1 on failure. */
status input_open(const input_file *f, bool stream, int *fd, err *e);

/* input_unchanged - check that the file open as fd is the described one and has its size (ST_IO).
 */
status input_unchanged(const input_file *f, int fd, err *e);

/* input_note_read - note that n records of the file, with this checksum, were read. Any thread.
 * input_note_shaped - do the same for records before shape_apply(). */
void input_note_read(const input_file *f, size_t n, checksum sum);
void input_note_shaped(const input_file *f, const shape *s, const unsigned char *recs, size_t n);

/* input_check_stated - if all records of the file were noted as read, check that they have the
 * checksum given in the manifest (ST_IO). */
status input_check_stated(const input_file *f, err *e);

/* input_may_be_mapped - return whether the input is used where it is, if it is in memory. */
bool input_may_be_mapped(const input *in, direct_io direct);

/* input_is_cached - return whether the first `bytes` of the input are in memory, by its first file.
 * A stream is, and so is too little data for a disk to matter. */
bool input_is_cached(const input *in, uint64_t bytes);

void input_free(input *in);

#endif

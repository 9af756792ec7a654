/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON file beside an output in several parts that names them, read back. */
#ifndef HETSORT_IO_MANIFEST_H
#define HETSORT_IO_MANIFEST_H

#include "base/settings.h"
#include "json.h"

/* What is stated of a part. Texts belong to the manifest. */
typedef struct manifest_part {
	const char *file;         /* in the manifest's folder */
	const char *first, *last; /* keys, in hexadecimal digits; NULL: none is stated */
	const json_t *first_values, *last_values; /* of a key of fields; likewise */
	framing frame; /* a header only of the first part, a trailer only of the last one */
	uint64_t records;
	checksum sum; /* of its records */
} manifest_part;

typedef struct manifest {
	json_t *doc;
	layout lay;
	bool unsorted_inside; /* parts are in order, the records of each are not */
	uint64_t records;     /* of all parts */
	manifest_part *part;
	size_t parts;
} manifest;

/* manifest_load - refuses (ST_REFUSED) what is no manifest of ours, or states what cannot be. To be
 * freed on failure too. manifest_load_own - of a file in dirfd that belongs to this user; what: its
 * kind, for messages. */
status manifest_load(manifest *m, const char *path, err *e);
status manifest_load_own(manifest *m, int dirfd, const char *what, const char *name, err *e);
void manifest_free(manifest *m);

/* manifest_settled - refuses (ST_REFUSED) a manifest or a part of a set while a journal in its
 * directory says that the set is being renamed, or that the job which did it was killed. path may
 * be a symbolic link, and need not exist.
 * *quiet: a directory that was seen to hold no journal, so that it is not searched for each of its
 * files; NULL at first, to be freed. */
status manifest_settled(const char *path, char **quiet, err *e);

/* manifest_values - what a manifest states of a key, in its normal form, as values: an array with a
 * text for each field, numbers in decimal, bytes in hexadecimal digits. NULL: no memory. */
json_t *manifest_values(const layout *l, const unsigned char *key);

/* manifest_part_bytes - of the whole file, with records of l, which have the manifest's length. */
static inline uint64_t manifest_part_bytes(const manifest_part *p, const layout *l)
{
	return p->frame.header_bytes + p->records * l->record_bytes + p->frame.trailer_bytes;
}

/* manifest_check_frame - refuses (ST_REFUSED) a manifest of other records, or with another header
 * or trailer, than the options say. */
status manifest_check_frame(const manifest *m, const char *path, const framing *wanted, err *e);

/* manifest_part_path - beside the manifest at path: a fresh string, NULL without memory. */
char *manifest_part_path(const char *path, const manifest_part *p, err *e);

/* Inputs with %r in their names, and the manifests that tell how many of them belong together. */

/* parts_find - *all: the manifests name another number of parts than there are ranks, so all parts
 * are the input of all ranks. Refuses (ST_REFUSED) parts that no rank would read. */
status parts_find(const settings *o, int ranks, bool *all, err *e);

/* parts_load - the manifest of parts with such names. *name, to be freed, is that of the manifest,
 * "" where there is none. To be freed on failure too. */
status parts_load(manifest *m, const char *pattern, char **name, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads manifests: the JSON file next to an output in several parts that names the parts. */
#ifndef HETSORT_IO_MANIFEST_H
#define HETSORT_IO_MANIFEST_H

#include "base/settings.h"
#include "json.h"

/* A part. Texts belong to the manifest. */
typedef struct manifest_part {
	const char *file;         /* in the manifest's directory */
	const char *first, *last; /* keys, in hexadecimal digits; NULL: not given */
	const json_t *first_values,
		*last_values; /* values of these keys, if they have fields; NULL: not given */
	framing frame;        /* only the first part has a header, only the last one a trailer */
	uint64_t records;
	checksum sum; /* of its records */
} manifest_part;

typedef struct manifest {
	json_t *doc;
	layout lay;
	bool unsorted_inside; /* the parts are in order, but not the records within a part */
	bool unordered;       /* neither are the parts: no keys are stated */
	uint64_t records;     /* of all parts */
	manifest_part *part;
	size_t parts;
} manifest;

/* manifest_load - load a manifest. ST_REFUSED: the file is not a manifest of hetsort, or contains
 * impossible values. Free *m after a failure too. manifest_load_at - do the same for a name in
 * dirfd. own: as in json_read; what: the kind of file, for messages. */
status manifest_load(manifest *m, const char *path, err *e);
status manifest_load_at(manifest *m, int dirfd, bool own, const char *what, const char *name,
			err *e);
void manifest_free(manifest *m);

/* manifest_names - if this journal next to t names t as a part, return its number of parts, else 0.
 * A malformed journal, or with `own` the journal of another user, names no part. */
size_t manifest_names(const target *t, const char *journal, bool own);

/* manifest_settled - check a manifest or a part. ST_REFUSED while its directory has a journal of
 * the set: a job is renaming the set, or was killed while renaming it. path may be a symbolic link,
 * and need not exist. *quiet is a directory without any journal, so that it is not searched again
 * for each of its files. It must be NULL before the first call, and freed after the last. quiet may
 * be NULL. */
status manifest_settled(const char *path, char **quiet, err *e);

/* manifest_values - convert a key in its normal form to an array with a text for each field:
 * numbers in decimal, bytes in hexadecimal digits. NULL: no memory. */
json_t *manifest_values(const layout *l, const unsigned char *key);

/* manifest_part_bytes - return the size of the part's file; l has the manifest's record size. */
static inline uint64_t manifest_part_bytes(const manifest_part *p, const layout *l)
{
	return p->frame.header_bytes + p->records * l->record_bytes + p->frame.trailer_bytes;
}

/* manifest_part_path - return the path of a part of the manifest at path, as a new string. NULL
 * without memory. */
char *manifest_part_path(const char *path, const manifest_part *p, err *e);

/* The functions below are for inputs with %r in their names. */

/* parts_find - set *all if a manifest has another number of parts than the number of ranks, or with
 * --merge. Then all parts together are the input of all ranks. ST_REFUSED if no rank would read a
 * part. */
status parts_find(const settings *o, int ranks, bool *all, err *e);

/* parts_load - load the manifest of the parts named by pattern. Set *name to the name of the
 * manifest, or to "" if it does not exist; the caller frees *name, and *m after a failure too. */
status parts_load(manifest *m, const char *pattern, char **name, err *e);

#endif

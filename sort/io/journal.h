/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of parts gets its names all or none, whatever ends the job: before the first part is
 * renamed, the new manifest stands complete beside them under a hidden name, that of a journal.
 *
 *   1  all parts, and the manifest, are complete on the disk under temporary names
 *   2  journal_begin: the manifest's becomes that of the journal, and from here on the set counts
 *   3  journal_put_aside: an old manifest loses its name, as the parts that it names are about to
 *   4  the parts get their names
 *   5  journal_remove_old: parts that only the old manifest names are removed
 *   6  journal_end: the journal becomes the manifest
 *
 * Up to 2 the old set is untouched. After it the journal names all that is to be done, and whoever
 * holds the lock of the manifest can go on with it. No step takes room for data. */
#ifndef HETSORT_IO_JOURNAL_H
#define HETSORT_IO_JOURNAL_H

#include "target.h"

/* journal_begin - on failure there is none. m is the manifest, as json_stage has left it; kind: of
 * the journal. */
status journal_begin(target *m, target_kind kind, bool fsync, err *e);

status journal_put_aside(target *m, bool fsync, err *e);

/* journal_surplus - how many parts the manifest that is about to be replaced has beyond those of
 * the new set. False, with a sentence in note: one of these does not have the name that the new
 * set's pattern makes, so it may belong to another set. */
bool journal_surplus(const target *m, const char *pattern, size_t parts, size_t *surplus,
		     err *note);

/* journal_remove_old - under TARGET_REPLACES, remove these. A part is removed only if its size and
 * the checksum of its records are those that the old manifest states, and its name is that of part
 * 0, `first`, but for the number; one that stays gets a sentence in note. */
status journal_remove_old(const target *m, const char *first, size_t parts, err *note, err *e);

/* journal_end - also where there is no journal, but a staged manifest. force: another manifest may
 * have appeared. */
status journal_end(target *m, bool force, bool fsync, err *e);

/* journal_recover - after target_lock(m): if a job has ended between 2 and 5, take the steps that
 * are left; *named: of so many parts; note: as in journal_remove_old. Where a part is gone and none
 * has its name yet, the journal is dropped instead and the old set stays. ST_REFUSED: a part is
 * gone otherwise, a job is at it, or nothing is locked here. */
status journal_recover(target *m, unsigned *named, err *note, err *e);

enum { CLEANED_NAME_BYTES = 256 };

/* What journal_clean has done. */
typedef struct cleaned {
	unsigned removed; /* files under hidden names */
	unsigned named;   /* parts that got their names */
	unsigned stays;   /* files that stay, because nothing proves that hetsort made them, */
	char first[CLEANED_NAME_BYTES]; /* and one of them */
	err note;                       /* of an old part that stays */
} cleaned;

/* journal_clean - remove what killed jobs have left for the output, part or manifest at path, or
 * end what they have begun, of a single output by its manifest's journal. ST_REFUSED if a job is
 * making it, and still is after patience_s, if the journal of a manifest names it still, or if the
 * file system has no locks. */
status journal_clean(const char *path, double patience_s, cleaned *n, err *e);

#endif

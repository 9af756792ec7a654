/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of parts gets its names all or none, whatever ends the job: before the first part is
 * renamed, the new manifest stands complete beside them under a hidden name, that of a journal.
 *
 *   1  all parts, and the manifest, are complete on the disk under temporary names
 *   2  journal_begin: the manifest's becomes that of the journal, and from here on the set counts
 *   3  journal_put_aside: an old manifest loses its name, as the parts that it names are about to
 *   4  the parts get their names
 *   5  journal_end: parts that only the old manifest names are removed, and the journal becomes the
 *      manifest
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

/* journal_end - of a set of so many parts; also where there is no journal, but a staged manifest.
 * first: the name of part 0; what the old manifest names is removed only under TARGET_REPLACES and
 * if its name is the same but for the number. force: another manifest may have appeared meanwhile.
 */
status journal_end(target *m, const char *first, size_t parts, bool force, bool fsync, err *e);

/* journal_find - the one of this manifest: m->id and m->kind are set. False: there is none. */
bool journal_find(target *m);

/* journal_recover - after target_lock(m): if a job has ended between 2 and 5, take the steps that
 * are left; *named: of so many parts. Where a part is gone and none has its name yet, the journal
 * is dropped instead and the old set stays. ST_REFUSED: a part is gone otherwise, a job is at it,
 * or nothing is locked here. */
status journal_recover(target *m, unsigned *named, err *e);

enum { CLEANED_NAME_BYTES = 256 };

/* What journal_clean has done. */
typedef struct cleaned {
	unsigned removed; /* files under hidden names */
	unsigned named;   /* parts that got their names */
	unsigned stays;   /* files that stay, because nothing proves that hetsort made them, */
	char first[CLEANED_NAME_BYTES]; /* and one of them */
} cleaned;

/* journal_clean - remove what killed jobs have left for the output, part or manifest at path, or
 * end what they have begun, of a single output by its manifest's journal. ST_REFUSED if a job is
 * making it, and still is after patience_s, or if the file system has no locks. */
status journal_clean(const char *path, double patience_s, cleaned *n, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal renames a set of parts as a whole: either all parts get their final names or none
 * does, however the job ends. The head of journal.c explains the steps. */
#ifndef HETSORT_IO_JOURNAL_H
#define HETSORT_IO_JOURNAL_H

#include "target.h"

/* journal_begin - make the staged manifest m (see json_stage) a journal of this kind. After a
 * failure no journal exists. */
status journal_begin(target *m, target_kind kind, bool fsync, err *e);

/* journal_put_aside - take the final name from an old manifest, because its parts will be replaced.
 */
status journal_put_aside(target *m, bool fsync, err *e);

/* journal_surplus - count the parts of the old manifest that the new set does not replace. False,
 * with a sentence in m->past.note: one of them does not have a name by the new set's pattern, so it
 * may belong to another set. */
bool journal_surplus(target *m, const char *pattern, size_t parts, size_t *surplus);

/* journal_remove_old - under TARGET_REPLACES, remove the surplus parts. A part is removed only if
 * it has the size and checksum given in the old manifest, and its name differs from the name of
 * part 0, `first`, only in the number. A sentence in m->past.note names a part that stays. */
status journal_remove_old(target *m, const char *first, size_t parts, err *e);

/* journal_end - give the journal, or a staged manifest without a journal, its final name. force:
 * replace another manifest. */
status journal_end(target *m, bool force, bool fsync, err *e);

/* journal_recover - after target_lock(m): if a job has ended between steps 2 and 6, take the
 * remaining steps, and count the parts in m->past.named. If a part is missing and none has its
 * final name yet, drop the journal; the old set stays. ST_REFUSED: a part is missing later, a job
 * is renaming the set, or m is not locked. */
status journal_recover(target *m, err *e);

/* journal_clean - remove the files that killed jobs have left for the output, part or manifest at
 * path, or complete the renaming that they have begun. ST_REFUSED: a job is still making it after
 * patience_s, the journal of a manifest still names it, or the file system has no locks. */
status journal_clean(const char *path, double patience_s, cleaned *n, err *e);

#endif

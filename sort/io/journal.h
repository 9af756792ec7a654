/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal renames a set of parts as a whole: either all parts get their final names or none
 * does, however the job ends. The head of journal.c explains the steps. */
#ifndef HETSORT_IO_JOURNAL_H
#define HETSORT_IO_JOURNAL_H

#include "target.h"

/* journal_begin - make the staged manifest m (see json_stage) a journal of this kind. After a
 * failure no journal exists. */
status journal_begin(target *m, target_kind kind, bool fsync, err *e);

/* journal_put_aside - give an old manifest a hidden name instead of its final name, because its
 * parts will be replaced. */
status journal_put_aside(target *m, bool fsync, err *e);

/* journal_surplus - set *surplus to the number of parts of the old manifest that the new set does
 * not replace. If such a part is not named by the new set's pattern, it may belong to another set:
 * return false, with a text in m->past.note. */
bool journal_surplus(target *m, const char *pattern, size_t parts, size_t *surplus);

/* journal_check_surplus - refuse surplus parts that journal_remove_old could not remove. Parts stay
 * if the job reads one of them. Changes nothing. */
status journal_check_surplus(target *m, const char *pattern, size_t parts, err *e);

/* journal_remove_old - if the journal m is TARGET_REPLACES, remove the surplus parts of the old
 * set. A part is removed only if it has the size and checksum given in the old manifest. Its name
 * must differ from `first`, the name of part 0, only in the number. A text in m->past.note names a
 * part that stays. */
status journal_remove_old(target *m, const char *first, size_t parts, err *e);

/* journal_end - give the journal, or a staged manifest without a journal, its final name. force:
 * replace another manifest. */
status journal_end(target *m, bool force, bool fsync, err *e);

/* journal_recover - after target_lock(m): if a job has ended between steps 2 and 6, execute the
 * remaining steps, and set m->past.named to the number of parts. If a part is lost before any old
 * file was replaced, remove the journal; the old set stays. ST_REFUSED: a part was lost later, a
 * job is renaming the set, or m is not locked. */
status journal_recover(target *m, err *e);

/* journal_clean - complete the renaming that a killed job has begun, and remove the files that
 * killed jobs have left for the output, part or manifest at path. ST_REFUSED: after patience_s a
 * job is still making this file, the journal of another manifest names it, or the file system has
 * no locks. */
status journal_clean(const char *path, double patience_s, cleaned *n, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal. A set of parts must get its final names as a whole. But the kernel renames one file
 * at a time, and a job may end between two renames. The journal makes these renames one step: it is
 * a file next to the parts that names all of them. While it exists, the new set is valid, and any
 * process can complete the renaming. The journal is the complete new manifest, under a hidden name
 * that shows that it is a journal.
 *
 * Rank 0 writes the journal, and each rank renames its own part. The ranks agree on the result of
 * steps 1 to 4, so no rank begins a step before all ranks have completed the previous one:
 *
 *   1  All parts and the manifest are complete under temporary names. With --fsync, they are on
 *      the disk.
 *   2  journal_begin: the temporary name of the manifest becomes the name of the journal. From now
 *      on the new set is valid.
 *   3  journal_put_aside: an old manifest gets a hidden name, because its parts will be replaced.
 *   4  Each rank gives its part the final name, and so replaces an old part of that name.
 *   5  journal_remove_old: parts that only the old manifest names are removed.
 *   6  journal_end: the journal gets the final name of the manifest.
 *
 * If the job ends before step 2, the old set is untouched. The temporary files of the new set are
 * removed by the job or by the next job. If it ends later, the parts keep their temporary names.
 * The next job for this output, or --clean, then calls journal_recover, which executes the
 * remaining steps. Parts in several directories, such as local disks of several hosts, have no
 * journal, because no process could rename them all.
 *
 * The name of the journal is a target_kind: it says whether parts may replace others and whether
 * surplus old parts are removed. So a process that recovers need not decide this again.
 *
 * Recovery holds the lock of the manifest, and locks each part in turn. While a rank of the job
 * still runs, it holds the lock of its part, so two processes never rename the same set. A reader
 * of the set that finds a journal refuses the set (manifest_settled), because some names may lead
 * to old parts and others to new ones.
 *
 * A step that is repeated does no harm. A part without a temporary name has its final name already,
 * and a missing old manifest has been put aside already. A part that has neither name is lost. If
 * the old manifest still has its name, or no part has its final name, nothing was replaced. Then
 * recovery removes the journal, and the old set is valid again. Otherwise recovery refuses to
 * continue and names the lost part, because neither set is complete.
 *
 * Anybody may write a file with the name of a journal or a part. So a journal must belong to this
 * user, and manifest.c checks its contents before anything is done. An old part is removed only if
 * its size and checksum prove that it belongs to the old set. No step needs space for data. */
#include "journal.h"
#include "manifest.h"
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------- the steps */

static status sync_dir(const target *m, bool sync, err *e)
{
	return sync ? file_sync_dir(m->dirfd, m->path, e) : ST_OK;
}

status journal_begin(target *m, target_kind kind, bool sync, err *e)
{
	const char *from = target_hidden(m, m->kind), *to = target_hidden(m, kind);
	const file_id is = m->temp.is;
	m->kind = kind;
	if (file_rename_new(m->dirfd, from, to) != 0)
		return err_sys(e, errno, "cannot make the journal of %s", quoted(m->path));
	unfinished_forget(&m->temp);
	status rc = target_ready(m, true, e); /* check the file under its new name */
	if (rc == ST_OK)
		rc = sync_dir(m, sync, e);
	if (rc != ST_OK) /* remove it, but not a file of another program */
		(void)file_remove(m->dirfd, to, &is, NULL);
	return rc;
}

status journal_put_aside(target *m, bool sync, err *e)
{
	const char *old = target_hidden(m, TARGET_OLD);
	file_id is;
	if (!file_id_at(m->dirfd, m->base, &is))
		return ST_OK; /* any other kind of file is refused when the manifest is renamed */
	if (!role_wrote(ROLE_MANIFEST, m->dirfd, m->base))
		return err_set(e, ST_REFUSED, "%s is no longer a manifest of hetsort",
			       quoted(m->path));
	const status noted = target_note(m, TARGET_OLD, &is, e);
	if (noted != ST_OK)
		return noted;
	if (file_rename_new(m->dirfd, m->base, old) != 0)
		return errno == ENOENT
			       ? ST_OK
			       : err_sys(e, errno, "cannot put the old %s aside", quoted(m->path));
	if (file_is(m->dirfd, old, &is))
		return sync_dir(m, sync, e);
	if (file_rename_new(m->dirfd, old, m->base) != 0 && errno != ENOENT)
		return err_set(e, ST_IO,
			       "another program replaced %s; the file that had this name is %s now",
			       quoted(m->path), quoted(old));
	return err_set(e, ST_IO, "another program replaced %s", quoted(m->path));
}

/* ------------------------------------------------------------------------------- manifests */

/* Open a part next to the manifest as a target with the id of the manifest's job. Discard it after
 * a failure too. */
static status part_open(target *t, const target *m, const manifest *l, size_t i, err *e)
{
	char *path = manifest_part_path(m->path, &l->part[i], e);
	*t = (target){ .dirfd = -1 };
	const status rc = path ? target_open(t, path, e) : ST_RESOURCE;
	free(path);
	t->id = m->id;
	return rc;
}

/* Set *there to whether the final name of a part, or its hidden name, has a file with the size of
 * the part. The file under the hidden name must belong to this user, because others who may write
 * to the directory can guess the name. */
static status look_for(const target *t, uint64_t bytes, bool hidden, bool *there, err *e)
{
	const char *name = hidden ? target_hidden(t, TARGET_TEMP) : t->base;
	struct stat st;
	const int rc = fstatat(t->dirfd, name, &st, AT_SYMLINK_NOFOLLOW);
	*there = rc == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == bytes &&
		 (!hidden || st.st_uid == geteuid());
	return rc == 0 || errno == ENOENT
		       ? ST_OK
		       : err_sys(e, errno, "cannot look at part %s", quoted(t->path));
}

/* ------------------------------------------------------------------------------- the end */

/* Return whether the name differs from `first`, the name of part 0, only in its number. */
static bool is_numbered(const char *name, const char *first, size_t rank)
{
	char text[NAME_MAX + 24];
	for (size_t at = 0; first[at]; at++)
		for (size_t zeros = 1; first[at + zeros - 1] == '0'; zeros++) {
			snprintf(text, sizeof text, "%.*s%0*zu%s", (int)at, first, (int)zeros, rank,
				 first + at + zeros);
			if (strcmp(text, name) == 0)
				return true;
		}
	return false;
}

bool journal_surplus(target *m, const char *pattern, size_t parts, size_t *surplus)
{
	manifest old;
	size_t i = parts;
	const status rc = manifest_load_at(&old, m->dirfd, true, "manifest", m->base, NULL);
	for (; rc == ST_OK && i < old.parts && i <= INT_MAX; i++) {
		char *path = name_expand(pattern, (int)i, NULL);
		const bool same = path && strcmp(file_base(path), old.part[i].file) == 0;
		free(path);
		if (!same)
			break;
	}
	const bool ours = rc != ST_OK || i >= old.parts;
	if (!ours)
		err_set(&m->past.note, ST_REFUSED,
			"the old manifest %s names %s as part %zu, which is not named as the parts "
			"of this output: no old part was removed",
			quoted(m->path), quoted(old.part[i].file), i);
	*surplus = rc == ST_OK && ours && old.parts > parts ? old.parts - parts : 0;
	manifest_free(&old);
	return ours;
}

status journal_check_surplus(target *m, const char *pattern, size_t parts, err *e)
{
	manifest old;
	err why = { ST_OK, "" };
	size_t surplus;
	bool reads = false;
	if (!journal_surplus(m, pattern, parts, &surplus) || surplus == 0)
		return ST_OK;
	status rc = manifest_load_at(&old, m->dirfd, true, "manifest", m->base, e);
	for (size_t i = parts; rc == ST_OK && i < old.parts; i++) {
		target t;
		rc = part_open(&t, m, &old, i, e);
		t.reads = m->reads;
		reads = reads || (rc == ST_OK && target_reads(&t, t.base));
		if (rc == ST_OK && why.code == ST_OK)
			(void)target_check_replace(&t, &why);
		target_discard(&t);
	}
	manifest_free(&old);
	return rc == ST_OK && !reads ? err_join(e, &why) : rc;
}

/* Remove part i of the old manifest, whose lock is held, if the file is that part. Prove this by
 * reading its records, because inode numbers and times do not survive a copy or a restored backup.
 * This is rarely needed: few jobs have fewer parts than their predecessor. The file must not change
 * between the proof and its removal. If it stays, a text in t->past.note says why. */
static status remove_proved(target *t, const manifest *old, size_t i, err *e)
{
	struct stat before, now;
	inspected seen = { .order = INSPECT_ANY };
	const char *why;
	if (fstatat(t->dirfd, t->base, &before, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? ST_OK
				       : err_sys(e, errno, "cannot look at the old part %s",
						 quoted(t->path));
	const status rc = reader_inspect_part(t->dirfd, &old->part[i], &old->lay, &seen, &why, e);
	if (rc != ST_OK)
		return rc;
	if (!why && (fstatat(t->dirfd, t->base, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
		     before.st_dev != now.st_dev || before.st_ino != now.st_ino ||
		     memcmp(&before.st_ctim, &now.st_ctim, sizeof now.st_ctim) != 0))
		why = "has changed since";
	if (why)
		err_set(&t->past.note, ST_REFUSED,
			"the old part %s was not removed, because it does not match the old "
			"manifest: it %s",
			quoted(t->path), why);
	else if (unlinkat(t->dirfd, t->base, 0) != 0)
		return err_sys(e, errno, "cannot remove the old part %s", quoted(t->path));
	return ST_OK;
}

status journal_remove_old(target *m, const char *first, size_t parts, err *e)
{
	manifest old;
	const char *name = target_hidden(m, TARGET_OLD);
	err no_manifest = { ST_OK, "" };
	if (m->kind != TARGET_REPLACES || !file_exists(m->dirfd, name))
		return ST_OK;
	status rc = manifest_load_at(&old, m->dirfd, true, "journal", name, &no_manifest);
	if (rc == ST_REFUSED) { /* the file is not a manifest, so it names no parts */
		rc = ST_OK;
		old.parts = 0;
	} else {
		(void)err_join(e, &no_manifest);
	}
	for (size_t i = parts; rc == ST_OK && i < old.parts; i++) {
		target t;
		rc = part_open(&t, m, &old, i, e);
		if (rc == ST_OK && is_numbered(t.base, first, i)) {
			/* if a job removed the part and was killed, only the part's lock is left */
			if (file_exists(t.dirfd, t.base))
				rc = target_lock(&t, e);
			else
				target_sweep(t.path, 0, NULL, NULL);
			if (rc == ST_OK)
				rc = remove_proved(&t, &old, i, e);
			(void)err_join(&m->past.note, &t.past.note);
		}
		target_discard(&t);
	}
	manifest_free(&old);
	return rc;
}

status journal_end(target *m, bool force, bool sync, err *e)
{
	const char *old = target_hidden(m, TARGET_OLD);
	status rc = target_commit(m, force, e);
	if (rc == ST_OK && sync)
		rc = target_sync_name(m, e);
	/* Check twice: one failed check proves nothing, and the old manifest would stay. If it
	 * cannot be removed, the next job removes it. */
	if (rc == ST_OK && /* NOLINTNEXTLINE(misc-redundant-expression): it reads the file twice */
	    (role_wrote(ROLE_MANIFEST, m->dirfd, old) || role_wrote(ROLE_MANIFEST, m->dirfd, old)))
		(void)unlinkat(m->dirfd, old, 0);
	return rc;
}

/* ------------------------------------------------------------------------------- recovery */

/* Set *named to whether any part has its final name, and *missing to a part that has neither a
 * final nor a hidden name, or NULL. Lock each part, so that no rank of the job can still rename
 * it. */
static status look_at_parts(const target *m, const manifest *l, bool *named, const char **missing,
			    err *e)
{
	status rc = ST_OK;
	*named = false;
	*missing = NULL;
	for (size_t i = 0; rc == ST_OK && i < l->parts; i++) {
		const uint64_t bytes = manifest_part_bytes(&l->part[i], &l->lay);
		target t;
		bool hidden = false, final = false;
		rc = part_open(&t, m, l, i, e);
		if (rc == ST_OK)
			rc = target_lock(&t, e);
		if (rc == ST_OK)
			rc = look_for(&t, bytes, true, &hidden, e);
		if (rc == ST_OK && !hidden)
			rc = look_for(&t, bytes, false, &final, e);
		*named |= final;
		if (rc == ST_OK && !hidden && !final)
			*missing = l->part[i].file;
		target_discard(&t);
	}
	return rc;
}

/* Execute steps 3 to 6. */
static status journal_continue(target *m, const manifest *l, err *e)
{
	const bool force = m->kind != TARGET_ADDS;
	status rc = force ? journal_put_aside(m, true, e) : ST_OK;
	for (size_t i = 0; rc == ST_OK && i < l->parts; i++) {
		const uint64_t bytes = manifest_part_bytes(&l->part[i], &l->lay);
		target t;
		bool hidden = false;
		rc = part_open(&t, m, l, i, e);
		if (rc == ST_OK)
			rc = look_for(&t, bytes, true, &hidden, e);
		if (rc == ST_OK && hidden)
			rc = target_commit(&t, force, e);
		if (rc == ST_OK) /* its lock still notes the hidden name, so remove the lock */
			(void)target_sweep(t.path, 0, NULL, NULL);
		target_discard(&t);
	}
	if (rc == ST_OK)
		rc = sync_dir(m, true, e);
	if (rc == ST_OK)
		rc = journal_remove_old(m, l->parts ? l->part[0].file : "", l->parts, e);
	return rc == ST_OK ? journal_end(m, force, true, e) : rc;
}

/* Refuse a target that could not be locked, because the journal's job may still run. */
static status check_lock(const target *m, err *e)
{
	return m->lock_fd >= 0
		       ? ST_OK
		       : err_set(e, ST_REFUSED,
				 "the file system of %s has no locks, so hetsort cannot find out "
				 "whether a job is making it",
				 quoted(m->path));
}

status journal_recover(target *m, err *e)
{
	manifest l = { .doc = NULL };
	const char *missing;
	bool found = false, named;
	for (hidden_name h = { 0 }; target_next_hidden(m, &h);)
		if (!found && h.mark == m->mark && target_is_journal(h.kind)) {
			found = true;
			m->id = h.id;
			m->kind = h.kind;
			m->shown = h.shown;
		}
	if (!found)
		return ST_OK;
	const char *journal = target_hidden(m, m->kind);
	status rc = check_lock(m, e);
	if (rc == ST_OK)
		rc = manifest_load_at(&l, m->dirfd, true, "journal", journal, e);
	if (rc == ST_OK)
		rc = look_at_parts(m, &l, &named, &missing, e);
	if (rc == ST_OK && !missing) {
		rc = journal_continue(m, &l, e);
		m->past.named = rc == ST_OK ? (unsigned)l.parts : 0;
	} else if (rc == ST_OK && named && !file_exists(m->dirfd, m->base)) {
		rc = err_set(e, ST_REFUSED,
			     "the parts of %s were being renamed when their job ended, and %s is "
			     "missing now: remove '%s' to give up that set",
			     quoted(m->path), quoted(missing), journal);
	} else if (rc == ST_OK && unlinkat(m->dirfd, journal, 0) != 0) {
		/* nothing was replaced, so the old set is complete without the journal */
		rc = err_sys(e, errno, "cannot remove '%s' next to %s", journal, quoted(m->path));
	}
	manifest_free(&l);
	return rc;
}

/* ------------------------------------------------------------------------------- cleaning */

static status clean(target *t, double patience_s, cleaned *n, err *e)
{
	t->patience_s = patience_s;
	status rc = target_lock(t, e);
	if (rc == ST_OK)
		rc = check_lock(t, e);
	if (rc == ST_OK)
		rc = journal_recover(t, e);
	if (rc == ST_OK) /* a journal of another manifest may name this file */
		rc = manifest_settled(t->path, NULL, e);
	cleaned_add(n, &t->past);
	return rc;
}

status journal_clean(const char *path, double patience_s, cleaned *n, err *e)
{
	target t, m;
	bool found = false;
	*n = (cleaned){ 0 };
	status rc = target_open(&t, path, e);
	/* find a journal of only this file: cleaning one part must not complete a whole set */
	for (hidden_name h = { 0 }; rc == ST_OK && target_next_hidden(&t, &h);)
		if (!found && target_is_journal(h.kind) && manifest_names(&t, h.name, true) == 1)
			found = target_open_hidden(&m, &t, &h);
	if (found) {
		rc = clean(&m, patience_s, n, e);
		target_discard(&m);
	}
	if (rc == ST_OK)
		rc = clean(&t, patience_s, n, e);
	target_discard(&t);
	return rc;
}

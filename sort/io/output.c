/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps from the name of the output to the complete file. All ranks take them together. */
#include "output.h"
#include "testing/failpoint.h"
#include "journal.h"
#include "json.h"
#include "manifest.h"
#include "number.h"
#include "base/arith.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static status describe_one(target *t, const char *path, const settings *opt, err *e)
{
	bool may_exist = opt->force || opt->resume; /* --resume may find its own output */
	status rc = target_open(t, path, e);
	if (rc != ST_OK)
		return rc;
	/* if a renaming was interrupted, output_lock completes it and checks again */
	if (!may_exist && !opt->explain && file_exists(t->dirfd, t->base))
		may_exist = manifest_settled(path, NULL, NULL) != ST_OK;
	rc = target_check(t, may_exist, e);
	if (rc == ST_OK && opt->force)
		rc = target_check_replace(t, e);
	return rc;
}

/* Return the name of the manifest, allocated, or NULL without memory. */
static char *manifest_name(const output *o, err *e)
{
	return o->opt->manifest ? strdup(o->opt->manifest)
				: name_expand(o->opt->output, RANK_MANIFEST, e);
}

bool output_is_stream(const char *path)
{
	struct stat st;
	return stream_is_standard(path) ||
	       (stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)));
}

const char *output_dir(const settings *o, char *dir)
{
	const char *out = o->output && !output_is_stream(o->output) ? o->output : "";
	const int before = (int)(file_base(out) - out);
	const int n = snprintf(dir, PATH_MAX, "%.*s%s", before, out, *out ? "." : "");
	if (n >= PATH_MAX)
		*dir = '\0';
	return dir;
}

status output_describe(output *o, const settings *opt, int rank, err *e)
{
	*o = (output){ .is_stdout = output_is_stream(opt->output),
		       .per_rank = name_is_per_rank(opt->output),
		       .file = { .dirfd = -1, .lock_fd = -1 },
		       .manifest = { .dirfd = -1, .lock_fd = -1 },
		       .opt = opt,
		       .fd = -1 };
	o->owner = !o->is_stdout && (o->per_rank || rank == 0);
	o->header_bytes = (!o->per_rank || rank == 0) && !opt->order_out ? opt->header_bytes : 0;
	o->listed = o->per_rank || opt->manifest;
	if (opt->manifest && o->is_stdout)
		return err_set(e, ST_REFUSED, "--manifest requires an output that is a file");
	if (o->is_stdout)
		return ST_OK;
	char *path = o->per_rank ? name_expand(opt->output, rank, e) : strdup(opt->output);
	if (!path)
		return err_set(e, ST_RESOURCE, "no memory for the output's name");
	status rc = describe_one(&o->file, path, opt, e);
	free(path);
	if (rc != ST_OK || !o->listed || rank != 0)
		return rc;
	json_t *name = json_string(opt->output);
	json_decref(name);
	if (!name)
		return err_set(e, ST_REFUSED,
			       "output %s: its name is not valid UTF-8, so a manifest cannot "
			       "contain it",
			       quoted(opt->output));
	path = manifest_name(o, e);
	rc = path ? describe_one(&o->manifest, path, opt, e)
		  : err_set(e, ST_RESOURCE, "no memory for the manifest's name");
	free(path);
	return rc;
}

/* ------------------------------------------------------------------ a job that is ended early */

/* Return whether the journal exists, so that all parts will get their names. First remove the
 * staged manifest, if it still exists: then it cannot become a journal, and no part gets its
 * name. */
static bool journal_exists(void *output_)
{
	const output *o = output_;
	if (*o->staged)
		(void)unlinkat(o->file.dirfd, o->staged, 0);
	return *o->staged && target_has_journal(&o->file, o->file.id);
}

static char *part_name(int rank, const void *output_)
{
	const output *o = output_;
	return name_expand(o->opt->output, rank, NULL);
}

/* Remove the files of killed ranks. If the journal exists, the last rank that comes here completes
 * the renaming, because every other rank has released its locks before. */
static void output_sweep_others(void *output_)
{
	static const double PATIENCE_S = 0.2; /* until the previous rank releases its locks */
	const output *o = output_;
	cleaned n;
	err e = { ST_OK, "" };
	if (o->per_rank)
		target_sweep_after(o->rank, o->size, part_name, o, o->kept_id);
	else if (!o->owner)
		target_sweep(o->file.path, o->kept_id, NULL, NULL);
	char *name = o->listed ? manifest_name(o, &e) : NULL;
	if (name && *o->staged && target_has_journal(&o->file, o->file.id))
		journal_clean(name, PATIENCE_S, &n, &e);
	else if (name && o->rank)
		target_sweep(name, 0, NULL, NULL);
	free(name);
}

/* ------------------------------------------------------------------------------ making it */

status output_lock(output *o, comm *c, err *e)
{
	target *m = &o->manifest;
	const bool may_exist = o->opt->force || o->opt->resume;
	if (o->is_stdout)
		return ST_OK;
	m->reads = o->file.reads;
	m->patience_s = o->file.patience_s;
	o->file.id = o->kept_id;
	o->rank = c->rank;
	o->size = c->size;
	o->end = (unfinished_end){ .keep = journal_exists, .sweep = output_sweep_others, .arg = o };
	unfinished_at_end(&o->end);
	/* before any rank locks its part, because journal_recover locks the parts */
	status rc = m->base ? target_lock(m, e) : ST_OK;
	if (rc == ST_OK && m->base)
		rc = journal_recover(m, e);
	if (m->past.named && !may_exist)
		rc = err_set(e, ST_REFUSED,
			     "an earlier job was ended while it renamed its parts: %s is complete "
			     "now; use --force to replace it",
			     quoted(m->path));
	rc = comm_agree(c, rc);
	if (rc != ST_OK || !o->owner)
		return rc;
	rc = target_lock(&o->file, e);
	if (rc == ST_OK && !o->file.no_journal)
		rc = manifest_settled(o->file.path, NULL, e);
	if (rc == ST_OK)
		rc = target_check(&o->file, may_exist, e);
	if (rc == ST_OK)
		rc = target_try(&o->file, o->opt->force, e);
	if (rc == ST_OK && m->base)
		rc = target_check(m, may_exist, e);
	return rc == ST_OK && m->base ? target_try(m, false, e) : rc;
}

static bool is_mark_of_part(const output *o, int i, uint64_t mark)
{
	char *name = part_name(i, o);
	const bool is = name && target_mark(name) == mark;
	free(name);
	return is;
}

/* If this file in the output's directory is the lock of a part, return the part's number, else -1.
 * Try all numbers in the file's name. If the name was cut, try other numbers. */
static int part_of_lock(const output *o, const char *file)
{
	enum { MOST_TRIED = 4096 };
	uint64_t mark;
	const char *base = target_parse_lock_name(file, &mark);
	for (const char *at = base; at && *at; at++) {
		const char *after = at;
		uint64_t i;
		if (number_at(&after, INT_MAX - 1, &i) && is_mark_of_part(o, (int)i, mark))
			return (int)i;
	}
	for (int i = o->size; base && target_is_cut(base) && i < MOST_TRIED; i++)
		if (is_mark_of_part(o, i, mark))
			return i;
	return -1;
}

void output_sweep_parts(const output *o)
{
	DIR *d = o->per_rank ? target_list(&o->file) : NULL;
	for (const struct dirent *f; d && (f = readdir(d));) {
		const int i = part_of_lock(o, f->d_name);
		char *name = i >= o->size && i % o->size == o->rank ? part_name(i, o) : NULL;
		if (name)
			(void)target_sweep(name, 0, o->file.reads, NULL);
		free(name);
	}
	if (d)
		closedir(d);
}

status output_share_lock(output *o, comm *c)
{
	uint64_t notes = !o->is_stdout && o->owner && target_notes_files(&o->file);
	const status rc = comm_reduce(c, notes, u64_max, &notes);
	if (rc == ST_OK && !o->is_stdout && !o->owner)
		target_share_lock(&o->file, notes);
	return rc;
}

const char *output_name(const output *o)
{
	return o->is_stdout ? o->opt->output : o->file.path;
}

/* Set the offset of this rank's records, and return the size of its file. */
static uint64_t output_lay_out(output *o, const output_place *p)
{
	o->offset = o->header_bytes + (o->per_rank ? 0 : p->offset);
	return o->header_bytes + (o->per_rank ? p->bytes : p->total) + o->trailer_bytes;
}

status output_create(output *o, comm *c, uint64_t id, const output_place *place, err *e)
{
	status rc = ST_OK;
	const uint64_t all = output_lay_out(o, place);
	if (o->is_stdout) { /* opening a FIFO waits until a program reads from it */
		o->offset = FILE_APPEND;
		o->fd = stream_is_standard(o->opt->output)
				? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
				: open(o->opt->output, O_WRONLY | O_NOCTTY | O_CLOEXEC);
		return o->fd >= 0
			       ? ST_OK
			       : err_sys(e, errno, "cannot open output %s", quoted(o->opt->output));
	}
	if (o->owner)
		rc = target_create(&o->file, id, &o->fd, e);
	if (rc == ST_OK && o->owner)
		rc = file_reserve(o->fd, all, o->file.path, e);
	if (rc == ST_OK && o->owner && ftruncate(o->fd, (off_t)all) != 0)
		rc = err_sys(e, errno, "cannot set the size of %s", quoted(o->file.path));
	rc = comm_agree(c, rc);
	if (rc == ST_OK && !o->owner)
		rc = target_attach(&o->file, id, &o->fd, e);
	return rc;
}

void output_keep(output *o)
{
	target_keep(&o->file, true);
	o->kept_id = o->file.id;
}

bool output_find(output *o, uint64_t id, const output_place *place)
{
	struct stat st;
	const uint64_t all = output_lay_out(o, place);
	target_find(&o->file, id, &o->fd);
	return o->fd >= 0 && fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == all;
}

status output_spare_old(output *o, bool found, err *e)
{
	const bool named = found && o->file.named;
	status rc = named ? ST_OK : target_check(&o->file, false, e);
	if (rc == ST_OK && o->manifest.base && !named)
		rc = target_check(&o->manifest, false, e);
	return rc;
}

bool output_drop(output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	o->kept_id = 0;
	return !o->owner || target_drop(&o->file);
}

bool output_has_room(const output *o, uint64_t bytes)
{
	uint64_t left;
	return !o->per_rank || !file_free_bytes(o->file.dirfd, &left) || bytes <= left;
}

status output_sync(output *o, bool sync, err *e)
{
	const int fd = o->fd;
	if (o->is_stdout || fd < 0)
		return ST_OK;
	o->fd = -1;
	return target_close(&o->file, fd, o->owner, sync, e);
}

/* Return whether an existing manifest may be replaced: by --force, or because --resume has found
 * the output under its final name. */
static bool replaces(const output *o)
{
	return o->opt->force || o->file.named;
}

/* Decide whether old parts must stay, before the journal exists. The kind of the journal stores the
 * decision for a process that completes the renaming. Each rank looks for inputs among the old
 * parts, because device numbers differ between hosts. */
static status decide_surplus(output *o, comm *c)
{
	enum { MOST = 1 << 20 }; /* more parts than a manifest can name */
	const size_t parts = (size_t)c->size;
	size_t surplus = 0;
	uint64_t first = UINT64_MAX; /* first surplus part that is an input */
	if (!o->per_rank)
		return ST_OK;
	if (o->manifest.base && replaces(o))
		o->spares_old = !journal_surplus(&o->manifest, o->opt->output, parts, &surplus);
	status rc = comm_bcast(c, &surplus, sizeof surplus, 0);
	if (rc != ST_OK || surplus == 0)
		return rc;
	if (surplus > MOST)
		return comm_noted(c, ST_PEER);
	for (size_t i = parts + surplus; i-- > parts;) {
		char *path = part_name((int)i, o);
		if (!path || target_reads(&o->file, file_base(path)))
			first = i;
		free(path);
	}
	rc = comm_reduce(c, first, u64_min, &first);
	o->spares_old |= first != UINT64_MAX;
	if (first != UINT64_MAX && c->rank == 0)
		err_set(&o->manifest.past.note, ST_REFUSED,
			"part %" PRIu64
			" of the old set %s is an input of this job: no old part was removed",
			first, quoted(o->manifest.path));
	return rc;
}

/* Begin the journal: from now on the new set is valid, and files of the old set may be replaced.
 * Each step that changes names holds the lock of unfinished files, so that a signal ends the
 * process before or after the step. */
static status begin_set(output *o, comm *c, err *e)
{
	char name[UNFINISHED_NAME_BYTES] = "";
	if (o->manifest.base)
		target_hidden_name(&o->manifest, TARGET_TEMP, name);
	if (comm_bcast(c, name, sizeof name, 0) != ST_OK)
		return ST_PEER;
	name[sizeof name - 1] = '\0';
	/* Parts on local disks of several hosts have no journal, because no process could rename
	 * them all. */
	const bool mine = *name && !strchr(name, '/') && file_exists(o->file.dirfd, name);
	unfinished_hold();
	snprintf(o->staged, sizeof o->staged, "%s", mine ? name : "");
	unfinished_release();
	const bool near = comm_agree(c, mine ? ST_OK : ST_REFUSED) == ST_OK;
	status rc = atomic_load(&c->broken) ? ST_PEER : ST_OK;
	if (rc == ST_OK && near)
		rc = decide_surplus(o, c);
	if (rc == ST_OK && near) {
		const target_kind kind = !replaces(o)                    ? TARGET_ADDS
					 : o->spares_old || !o->per_rank ? TARGET_REPLACES_ONE
									 : TARGET_REPLACES;
		unfinished_hold();
		if (o->manifest.base)
			rc = journal_begin(&o->manifest, kind, o->opt->fsync, e);
		unfinished_release();
		rc = comm_agree(c, rc);
		o->journaled = rc == ST_OK;
		if (o->journaled)
			target_keep(&o->file, false);
	}
	if (rc == ST_OK && o->manifest.base && replaces(o)) {
		unfinished_hold();
		rc = journal_put_aside(&o->manifest, o->opt->fsync, e);
		unfinished_release();
	}
	return comm_agree(c, rc);
}

status output_commit(output *o, comm *c, err *e)
{
	/* from now on no rank stops for a signal: all files get their names, or none */
	unfinished_settle();
	status rc = o->owner ? target_ready(&o->file, o->opt->force, e) : ST_OK;
	if (rc == ST_OK && o->manifest.base)
		rc = target_ready(&o->manifest, replaces(o), e);
	/* before any name changes, find out whether the directory can be synced */
	if (rc == ST_OK && o->owner && o->opt->fsync)
		rc = file_sync_dir(o->file.dirfd, o->file.path, e);
	rc = comm_agree(c, rc);
	if (rc == ST_OK && o->listed)
		rc = begin_set(o, c, e);
	if (rc == ST_OK && o->owner) {
		unfinished_hold();
		rc = target_commit(&o->file, o->opt->force, e);
		unfinished_release();
		FAIL_PHASE("named");
		if (rc == ST_OK && o->opt->fsync)
			rc = target_sync_name(&o->file, e);
		if (rc == ST_OK)
			rc = target_look(&o->file, e);
	}
	rc = comm_agree(c, rc);
	if (rc != ST_OK || !o->manifest.base)
		return rc;
	rc = journal_remove_old(&o->manifest, o->file.base, (size_t)c->size, e);
	if (rc != ST_OK)
		return rc;
	unfinished_hold();
	rc = journal_end(&o->manifest, replaces(o), o->opt->fsync, e);
	unfinished_release();
	return rc == ST_OK ? target_look(&o->manifest, e) : rc;
}

void output_release(output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	target_release(&o->file);
	target_release(&o->manifest);
}

void output_discard(output *o)
{
	output_release(o);
	unfinished_end_as_usual(&o->end);
	target_discard(&o->file);
	target_discard(&o->manifest);
}

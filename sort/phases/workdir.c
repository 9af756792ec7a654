/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of a sort that have to do with its directory. The state is written before the first run
 * and removed when the output has its final name, each time by all ranks before any goes on; so
 * runs without a state are nobody's. */
#include "workdir.h"
#include "job.h"
#include "io/json.h"
#include "io/lock.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define PREFIX "hetsort-rank"

/* ------------------------------------------------------------------------------- the directory */

/* Nobody else may put files there under our names. */
static status check_dir(int dirfd, const char *path, err *e)
{
	char q[QUOTED_BYTES];
	struct stat st;
	if (fstat(dirfd, &st) != 0)
		return err_refuse(e, errno, "cannot look at workdir %s", err_quoted(path, q));
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return err_set(e, ST_REFUSED,
			       "workdir %s belongs to others or can be written by them",
			       err_quoted(path, q));
	return ST_OK;
}

static status make_dir(const char *path, err *e)
{
	char q[QUOTED_BYTES];
	if (mkdir(path, 0700) != 0)
		return errno == EEXIST ? ST_OK
				       : err_refuse(e, errno, "cannot make workdir %s",
						    err_quoted(path, q));
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int up = fd < 0 ? -1 : openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const status rc =
		up < 0 ? err_refuse(e, errno, "cannot open workdir %s", err_quoted(path, q))
		       : file_sync_dir(up, path, e);
	if (up >= 0)
		close(up);
	if (fd >= 0)
		close(fd);
	return rc;
}

static status open_target(target *t, const char *dir, int64_t rank, err *e)
{
	char *path;
	if (asprintf(&path, "%s/" PREFIX "%" PRId64 ".json", dir, rank) < 0)
		return err_set(e, ST_RESOURCE, "no memory for a name");
	status rc = target_open(t, path, e);
	if (rc == ST_OK)
		rc = check_dir(t->dirfd, dir, e);
	free(path);
	return rc;
}

/* A run's file that is an input as well is not to be lost. */
static status spare_inputs(int dirfd, const char *name, const input *in, err *e)
{
	char q[QUOTED_BYTES];
	struct stat st;
	if (fstatat(dirfd, name, &st, 0) != 0)
		return ST_OK;
	for (size_t i = 0; i < in->files; i++)
		if (st.st_ino == in->file[i].st.st_ino && st.st_dev == in->file[i].st.st_dev)
			return err_set(e, ST_REFUSED,
				       "input %s has the name of a run in the workdir",
				       err_quoted(in->file[i].path, q));
	return ST_OK;
}

/* Remove the files whose name begins so, but none of in (NULL: no matter); *removed counts. */
static status remove_all(int dirfd, const char *begin, const char *path, const input *in,
			 unsigned *removed, err *e)
{
	char q[QUOTED_BYTES];
	status rc = ST_OK;
	const int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		rc = err_sys(e, errno, "cannot read the directory of %s", err_quoted(path, q));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (const struct dirent *f; rc == ST_OK && (f = readdir(d));) {
		if (strncmp(f->d_name, begin, strlen(begin)) != 0)
			continue;
		if (in && (rc = spare_inputs(dirfd, f->d_name, in, e)) != ST_OK)
			break;
		if (unlinkat(dirfd, f->d_name, 0) == 0)
			++*removed;
		else if (errno != ENOENT)
			rc = err_sys(e, errno, "cannot remove %s", err_quoted(f->d_name, q));
	}
	closedir(d);
	return rc;
}

/* ------------------------------------------------------------------------------- the phases */

/* What this sort is, without its shares and runs. */
static status own_state(const job *j, resume_state *s, err *e)
{
	const status rc = resume_state_alloc(s, j->c->size, j->in.files, e);
	if (rc != ST_OK)
		return rc;
	s->rank = j->c->rank;
	s->lay = j->o->lay;
	resume_state_inputs(s, &j->in);
	return ST_OK;
}

static status load(job *j)
{
	workdir *w = &j->work;
	char q[QUOTED_BYTES];
	struct stat st;
	resume_state is = { 0 };
	if (fstatat(w->file.dirfd, w->file.base, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? ST_OK
				       : err_refuse(&j->e, errno, "cannot look at %s",
						    err_quoted(w->file.path, q));
	if (!j->o->resume)
		return err_set(&j->e, ST_REFUSED,
			       "workdir %s holds a sort that has not ended: --resume goes on with "
			       "it, --clean removes it",
			       err_quoted(j->o->workdir, q));
	status rc = resume_state_load(w->file.path, &w->s, &j->e);
	if (rc == ST_OK)
		rc = own_state(j, &is, &j->e);
	if (rc == ST_OK)
		rc = resume_state_fits(&w->s, &is, &j->in, w->file.path, &j->e);
	resume_state_free(&is);
	w->found = rc == ST_OK;
	return rc;
}

status workdir_open(job *j)
{
	workdir *w = &j->work;
	const settings *o = j->o;
	unsigned removed = 0;
	if (!o->workdir || o->explain)
		return ST_OK;
	if (j->in.is_stdin)
		return err_set(&j->e, ST_REFUSED,
			       "standard input cannot be read again: --workdir takes files");
	w->on = true;
	snprintf(w->name, sizeof w->name, PREFIX "%d.run", j->c->rank);
	status rc = make_dir(o->workdir, &j->e);
	if (rc == ST_OK)
		rc = open_target(&w->file, o->workdir, j->c->rank, &j->e);
	if (rc == ST_OK)
		rc = target_lock(&w->file, &removed, &j->e);
	j->mine.leftovers += removed;
	return rc == ST_OK ? load(j) : rc;
}

/* What ranks tell each other of what they found. */
typedef struct finding {
	uint64_t found, job, shares;
} finding;

static uint64_t hash_shares(const job *j)
{
	uint64_t h = 0;
	for (int i = 0; j->work.found && i < j->c->size; i++)
		h = h * UINT64_C(0x9e3779b97f4a7c15) + j->work.s.share_in[i];
	return h;
}

/* Of the first rank that has a state; -1: none has. */
static status compare(job *j, const finding *all, int *first)
{
	*first = -1;
	for (int i = 0; i < j->c->size; i++) {
		if (!all[i].found)
			continue;
		if (*first < 0)
			*first = i;
		if (all[i].job != all[*first].job || all[i].shares != all[*first].shares)
			return err_set(&j->e, ST_REFUSED,
				       "the states of ranks %d and %d are of different sorts",
				       *first, i);
	}
	return ST_OK;
}

/* The shares of the earlier program are those of its runs. */
static status take_shares(job *j, int first)
{
	uint64_t sum = 0;
	if (j->c->rank == first)
		memcpy(j->share_in, j->work.s.share_in, (size_t)j->c->size * sizeof *j->share_in);
	const status rc =
		comm_bcast(j->c, j->share_in, (size_t)j->c->size * sizeof *j->share_in, first);
	if (rc != ST_OK)
		return rc;
	for (int i = 0; i < j->c->size; i++)
		sum += j->share_in[i];
	if (sum != j->records || (j->in.per_rank && own_share(j, j->share_in) != j->in.records))
		return err_set(&j->e, ST_REFUSED, "the shares of the state are not of this input");
	j->mine.planned_in = own_share(j, j->share_in);
	return ST_OK;
}

static status agree_on_job(job *j, finding *all)
{
	workdir *w = &j->work;
	int first;
	const finding mine = { w->found, w->s.job, hash_shares(j) };
	status rc = comm_allgather(j->c, &mine, all, sizeof mine);
	if (rc == ST_OK && memcmp(&all[j->c->rank], &mine, sizeof mine) != 0)
		rc = err_set(&j->e, ST_PEER, "what ranks found of earlier sorts came damaged");
	if (rc == ST_OK)
		rc = compare(j, all, &first);
	rc = comm_agree(j->c, rc);
	if (rc != ST_OK)
		return rc;
	w->resuming = first >= 0;
	w->seal = (run_checkpoint_plan){ w->s.job, w->name, j->o->fsync };
	if (!w->resuming && j->c->rank == 0 &&
	    getrandom(&w->seal.job, sizeof w->seal.job, 0) != sizeof w->seal.job)
		w->seal.job = (uint64_t)getpid();
	rc = comm_bcast(j->c, &w->seal.job, sizeof w->seal.job, w->resuming ? first : 0);
	return rc == ST_OK && w->resuming ? take_shares(j, first) : rc;
}

status phase_resume(job *j)
{
	const size_t p = (size_t)j->c->size;
	if (!j->work.on)
		return ST_OK;
	finding *all = mem_array(&j->m, p, sizeof *all, "states", &j->e);
	status rc = comm_agree(j->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = agree_on_job(j, all);
	mem_free(&j->m, all);
	return rc;
}

status phase_save_state(job *j)
{
	workdir *w = &j->work;
	unsigned removed = 0;
	if (!w->on || w->found)
		return ST_OK;
	status rc = remove_all(w->file.dirfd, w->name, w->file.path, &j->in, &removed, &j->e);
	j->mine.leftovers += removed;
	if (rc == ST_OK)
		rc = own_state(j, &w->s, &j->e);
	if (rc != ST_OK)
		return rc;
	w->s.job = w->seal.job;
	w->s.run_recs = j->budget.run_recs;
	w->s.stride = j->budget.stride;
	if (own_share(j, j->share_in) == 0)
		w->s.run_recs = w->s.stride = 0;
	memcpy(w->s.share_in, j->share_in, (size_t)j->c->size * sizeof *j->share_in);
	return json_write(resume_state_json(&w->s, &j->in), &w->file, true, j->o->fsync, &j->e);
}

/* The output is complete under its name: what cannot be removed now is only worth a note. Nothing
 * is synced: runs are made again for a state that comes back without them. */
status phase_drop_checkpoints(job *j)
{
	const workdir *w = &j->work;
	char name[WORKDIR_NAME_BYTES + 24];
	if (!w->on)
		return ST_OK;
	int rc = unlinkat(w->file.dirfd, w->file.base, 0);
	for (uint64_t run = 0; rc == 0 && run < j->budget.runs; run++) {
		snprintf(name, sizeof name, "%s%" PRIu64, w->name, run);
		rc = unlinkat(w->file.dirfd, name, 0);
	}
	if (rc != 0)
		err_sys(&j->note, errno, "the output is complete; cannot empty the workdir");
	return ST_OK;
}

void workdir_close(workdir *w)
{
	if (w->on)
		target_discard(&w->file);
	resume_state_free(&w->s);
}

/* ------------------------------------------------------------------------------- cleaning */

/* The rank that a file belongs to: its own name, or one of a lock or of a state on its way. */
static bool rank_of(const char *name, int64_t *rank)
{
	const char *at = strstr(name, PREFIX);
	char *rest;
	if (!at || (at != name && strncmp(name, ".hetsort-", 9) != 0))
		return false;
	at += strlen(PREFIX);
	if (!isdigit((unsigned char)*at))
		return false;
	errno = 0;
	*rank = strtoll(at, &rest, 10);
	return errno == 0 && *rank <= INT32_MAX &&
	       (strncmp(rest, ".run", 4) == 0 || strncmp(rest, ".json", 5) == 0);
}

static status clean_rank(const char *path, int64_t rank, unsigned *removed, err *e)
{
	target t;
	char q[QUOTED_BYTES], name[WORKDIR_NAME_BYTES];
	unsigned temporary = 0;
	status rc = open_target(&t, path, rank, e);
	if (rc == ST_OK)
		rc = target_lock(&t, &temporary, e);
	if (rc == ST_OK && t.lock_fd < 0)
		rc = err_set(e, ST_REFUSED,
			     "the file system of %s has no locks: nothing tells whether a job is "
			     "at it",
			     err_quoted(path, q));
	snprintf(name, sizeof name, PREFIX "%" PRId64 ".json", rank);
	if (rc == ST_OK)
		rc = remove_all(t.dirfd, name, path, NULL, removed, e);
	snprintf(name, sizeof name, PREFIX "%" PRId64 ".run", rank);
	if (rc == ST_OK)
		rc = remove_all(t.dirfd, name, path, NULL, removed, e);
	*removed += temporary;
	target_discard(&t);
	return rc;
}

status workdir_clean(const char *path, unsigned *removed, err *e)
{
	char q[QUOTED_BYTES];
	int64_t rank;
	status rc = ST_OK;
	DIR *d = opendir(path);
	*removed = 0;
	if (!d)
		return err_refuse(e, errno, "cannot read directory %s", err_quoted(path, q));
	for (const struct dirent *f; rc == ST_OK && (f = readdir(d));)
		if (rank_of(f->d_name, &rank) &&
		    faccessat(dirfd(d), f->d_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			rc = clean_rank(path, rank, removed, e);
	closedir(d);
	return rc;
}

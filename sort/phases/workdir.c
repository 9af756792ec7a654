/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of a sort that have to do with its directory. The state is written before the first run
 * and removed when the output has its final name, each time by all ranks before any goes on; so
 * runs without a state belong to no job. */
#include "phases.h"
#include "io/file.h"
#include "io/json.h"

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

static char *state_name(const char *dir, int64_t rank)
{
	char *path;
	return asprintf(&path, "%s/" PREFIX "%" PRId64 ".json", dir, rank) < 0 ? NULL : path;
}

static status open_target(target *t, const char *dir, int64_t rank, err *e)
{
	char *path = state_name(dir, rank);
	if (!path)
		return err_set(e, ST_RESOURCE, "no memory for a name");
	status rc = target_open(t, path, e);
	if (rc == ST_OK)
		rc = check_dir(t->dirfd, dir, e);
	free(path);
	t->most = 0;
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
static status own_state(const rank_env *env, const input *in, resume_state *s, err *e)
{
	const status rc = resume_state_alloc(s, env->c->size, in->files, e);
	if (rc != ST_OK)
		return rc;
	s->rank = env->c->rank;
	s->lay = env->o->lay;
	settings_selection_text(env->o, s->selection);
	resume_state_inputs(s, in);
	return ST_OK;
}

static status load(rank_env *env, const input *in, workdir *w)
{
	char q[QUOTED_BYTES];
	struct stat st;
	resume_state is = { 0 };
	if (fstatat(w->file.dirfd, w->file.base, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? ST_OK
				       : err_refuse(&env->e, errno, "cannot look at %s",
						    err_quoted(w->file.path, q));
	if (!env->o->resume)
		return err_set(&env->e, ST_REFUSED,
			       "workdir %s holds a sort that has not ended: --resume goes on with "
			       "it, --clean removes it",
			       err_quoted(env->o->workdir, q));
	status rc = resume_state_load(w->file.path, &w->s, &env->e);
	if (rc == ST_OK)
		rc = own_state(env, in, &is, &env->e);
	if (rc == ST_OK)
		rc = resume_state_fits(&w->s, &is, in, w->file.path, &env->e);
	resume_state_free(&is);
	w->found = rc == ST_OK;
	return rc;
}

static char *state_of_rank(int rank, const void *dir)
{
	return state_name(dir, rank);
}

/* The locks of ranks that were killed; runs and states stay. */
static void sweep_others(void *workdir_)
{
	const workdir *w = workdir_;
	target_sweep_after(w->rank, w->ranks, state_of_rank, w->dir, 0);
}

double workdir_patience_s(const rank_env *env)
{
	static const double PATIENCE_S = 5;
	return env->o->resume ? PATIENCE_S : 0;
}

status workdir_open(rank_env *env, const input *in, workdir *w)
{
	const settings *o = env->o;
	unsigned removed = 0;
	if (!o->workdir || o->explain)
		return ST_OK;
	if (in->streams)
		return err_set(&env->e, ST_REFUSED,
			       "a stream cannot be read again: --workdir takes files");
	w->on = true;
	w->notes = (run_notes){ .s = &w->s, .to = &w->file, .fsync = o->fsync };
	pthread_mutex_init(&w->notes.lock, NULL);
	snprintf(w->name, sizeof w->name, PREFIX "%d.run", env->c->rank);
	status rc = make_dir(o->workdir, &env->e);
	if (rc == ST_OK)
		rc = open_target(&w->file, o->workdir, env->c->rank, &env->e);
	w->file.patience_s = workdir_patience_s(env);
	w->dir = o->workdir;
	w->rank = env->c->rank;
	w->ranks = env->c->size;
	w->end = (unfinished_end){ .sweep = sweep_others, .arg = w };
	unfinished_at_end(&w->end);
	if (rc == ST_OK)
		rc = target_lock(&w->file, &removed, &env->e);
	env->stats->leftovers += removed;
	return rc == ST_OK ? load(env, in, w) : rc;
}

/* What ranks tell each other of what they found. */
typedef struct finding {
	uint64_t found, job, shares;
} finding;

static uint64_t hash_shares(const rank_env *env, const workdir *w)
{
	uint64_t h = 0;
	for (int i = 0; w->found && i < env->c->size; i++)
		h = h * UINT64_C(0x9e3779b97f4a7c15) + w->s.share_in[i];
	return h;
}

/* Of the first rank that has a state; -1: none has. */
static status compare(rank_env *env, const finding *all, int *first)
{
	*first = -1;
	for (int i = 0; i < env->c->size; i++) {
		if (!all[i].found)
			continue;
		if (*first < 0)
			*first = i;
		if (all[i].job != all[*first].job || all[i].shares != all[*first].shares)
			return err_set(&env->e, ST_REFUSED,
				       "the states of ranks %d and %d are of different sorts",
				       *first, i);
	}
	return ST_OK;
}

/* The shares of the earlier program are those of its runs. */
static status take_shares(rank_env *env, const input *in, const workdir *w, int first,
			  share_plan *next)
{
	const size_t bytes = (size_t)env->c->size * sizeof *next->in;
	uint64_t sum = 0;
	if (env->c->rank == first)
		memcpy(next->in, w->s.share_in, bytes);
	const status rc = comm_bcast(env->c, next->in, bytes, first);
	if (rc != ST_OK)
		return rc;
	bool ok = true;
	for (int i = 0; i < env->c->size; i++)
		ok &= !__builtin_add_overflow(sum, next->in[i], &sum);
	if (!ok || sum != next->records ||
	    (in->per_rank && own_share(env, next->in) != in->records))
		return err_set(&env->e, ST_REFUSED,
			       "the shares of the state are not of this input");
	env->stats->planned_in = own_share(env, next->in);
	return ST_OK;
}

/* *first: the first rank that found something; -1: none did. */
static status agree_on_job(rank_env *env, workdir *w, finding *all, int *first)
{
	const finding mine = { w->found, w->s.job, hash_shares(env, w) };
	status rc = comm_allgather(env->c, &mine, all, sizeof mine);
	if (rc == ST_OK && memcmp(&all[env->c->rank], &mine, sizeof mine) != 0)
		rc = err_set(&env->e, ST_PEER,
			     "a message of rank %d came damaged: what it found of earlier sorts",
			     env->c->rank);
	if (rc == ST_OK)
		rc = compare(env, all, first);
	rc = comm_agree(env->c, rc);
	if (rc != ST_OK)
		return rc;
	w->resuming = *first >= 0;
	w->seal = (run_checkpoint_plan){ .job = w->s.job,
					 .rank = env->c->rank,
					 .notes = &w->notes,
					 .name = w->name,
					 .fsync = env->o->fsync };
	if (!w->resuming && env->c->rank == 0 &&
	    getrandom(&w->seal.job, sizeof w->seal.job, 0) != sizeof w->seal.job)
		w->seal.job = (uint64_t)getpid();
	return comm_bcast(env->c, &w->seal.job, sizeof w->seal.job, w->resuming ? *first : 0);
}

status phase_resume(rank_env *env, const input *in, workdir *w, const share_plan *s,
		    share_plan *next)
{
	const size_t p = (size_t)env->c->size;
	int first = -1;
	if (!w->on)
		return ST_OK;
	finding *all = mem_array(&env->m, p, sizeof *all, "states", &env->e);
	status rc = all ? share_plan_copy(env, s, next) : ST_RESOURCE;
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = agree_on_job(env, w, all, &first);
	if (rc == ST_OK && w->resuming)
		rc = take_shares(env, in, w, first, next);
	mem_free(&env->m, all);
	return rc;
}

status workdir_remove_runs(rank_env *env, const input *in, const workdir *w)
{
	unsigned removed = 0;
	const status rc = remove_all(w->file.dirfd, w->name, w->file.path, in, &removed, &env->e);
	env->stats->leftovers += removed;
	return rc;
}

status phase_save_state(rank_env *env, const settled *k, workdir *w)
{
	const input *in = &k->f->in;
	if (!w->on)
		return ST_OK;
	w->seal.first = in->per_rank ? 0 : share_before(env, k->s->in);
	w->notes.in = in;
	if (w->found)
		return ST_OK;
	status rc = workdir_remove_runs(env, in, w);
	if (rc == ST_OK)
		rc = own_state(env, in, &w->s, &env->e);
	if (rc != ST_OK)
		return rc;
	w->s.job = w->seal.job;
	memcpy(w->s.share_in, k->s->in, (size_t)env->c->size * sizeof *k->s->in);
	rc = resume_state_plan_runs(&w->s, k->mp->budget.run_recs, k->mp->budget.stride, &env->e);
	return rc == ST_OK ? json_write(resume_state_json(&w->s, in), &w->file, true, env->o->fsync,
					&env->e)
			   : rc;
}

/* Or was gone before: the output was found there, by a program that has no state of its runs. */
static bool remove_one(int dirfd, const char *name)
{
	return unlinkat(dirfd, name, 0) == 0 || errno == ENOENT;
}

/* The output is complete under its name: what cannot be removed now is only worth a note. Nothing
 * is synced: runs are made again for a state that comes back without them. */
status phase_drop_checkpoints(rank_env *env, const workdir *w, uint64_t count)
{
	char name[WORKDIR_NAME_BYTES + 24];
	if (!w->on)
		return ST_OK;
	bool removed = remove_one(w->file.dirfd, w->file.base);
	for (uint64_t run = 0; removed && run < count; run++) {
		snprintf(name, sizeof name, "%s%" PRIu64, w->name, run);
		removed = remove_one(w->file.dirfd, name);
	}
	if (!removed)
		err_sys(&env->note, errno, "the output is complete; cannot empty the workdir");
	return ST_OK;
}

void workdir_release(workdir *w)
{
	if (w->on)
		target_release(&w->file);
}

void workdir_close(workdir *w)
{
	if (w->on) {
		unfinished_end_as_usual(&w->end);
		target_discard(&w->file);
		pthread_mutex_destroy(&w->notes.lock);
	}
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

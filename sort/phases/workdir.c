/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of a sort that have to do with its directory. The state is written before the first run
 * and removed when the output has its final name, each time by all ranks before any goes on; so
 * runs without a state belong to no job. */
#include "phases.h"
#include "io/file.h"
#include "base/minmax.h"
#include "io/json.h"
#include "resume/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

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

static char *state_path(const char *dir, int32_t rank)
{
	char name[RESUME_NAME_BYTES], *path;
	resume_state_name(rank, name);
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static status open_target(target *t, const char *dir, int32_t rank, err *e)
{
	char *path = state_path(dir, rank);
	if (!path)
		return err_set(e, ST_RESOURCE, "no memory for a name");
	status rc = target_open(t, path, e);
	if (rc == ST_OK)
		rc = check_dir(t->dirfd, dir, e);
	free(path);
	t->most = 0;
	return rc;
}

/* ------------------------------------------------------------------------------- the phases */

/* What this sort is, without its runs. */
static status own_state(const rank_env *env, const input *in, resume_state *s, err *e)
{
	const status rc = resume_state_alloc(s, in->files, e);
	if (rc != ST_OK)
		return rc;
	s->rank = env->c->rank;
	s->ranks = env->c->size;
	s->lay = env->o->lay;
	settings_selection_text(env->o, s->selection);
	resume_state_inputs(s, in);
	return ST_OK;
}

static char *state_of_rank(int rank, const void *dir)
{
	return state_path(dir, rank);
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

static status lock(rank_env *env, workdir *w)
{
	const settings *o = env->o;
	unsigned removed = 0;
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
	return rc;
}

/* What ranks tell each other of what they found. */
typedef struct finding {
	uint64_t found, job;
	int64_t rank; /* of the state */
} finding;

static status of_different_sorts(rank_env *env, int64_t a, int64_t b)
{
	return err_set(&env->e, ST_REFUSED,
		       "the states of ranks %" PRId64 " and %" PRId64 " are of different sorts", a,
		       b);
}

static status compare_own(rank_env *env, const workdir *w, finding *mine)
{
	const states *s = &w->earlier;
	*mine = (finding){ .found = s->count > 0 };
	for (size_t i = 0; i < s->count; i++) {
		if (s->s[i].job != s->s[0].job)
			return of_different_sorts(env, s->s[0].rank, s->s[i].rank);
		mine->job = s->s[i].job;
		mine->rank = s->s[0].rank;
	}
	return ST_OK;
}

/* *first: the first rank that has loaded a state; -1: none has. */
static status compare_all(rank_env *env, const finding *all, int *first)
{
	*first = -1;
	for (int i = 0; i < env->c->size; i++) {
		if (!all[i].found)
			continue;
		if (*first < 0)
			*first = i;
		if (all[i].job != all[*first].job)
			return of_different_sorts(env, all[*first].rank, all[i].rank);
	}
	return ST_OK;
}

/* A number for this sort: that of the states, or a new one. */
static status agree_on_job(rank_env *env, workdir *w)
{
	int first = -1;
	finding mine,
		*all = mem_array(&env->m, (size_t)env->c->size, sizeof *all, "states", &env->e);
	status rc = compare_own(env, w, &mine);
	rc = comm_agree(env->c, all ? rc : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_allgather(env->c, &mine, all, sizeof mine);
	if (rc == ST_OK)
		rc = compare_all(env, all, &first);
	mem_free(&env->m, all);
	rc = comm_agree(env->c, rc);
	if (rc != ST_OK)
		return rc;
	w->resuming = first >= 0;
	w->seal.job = mine.job;
	if (!w->resuming && env->c->rank == 0 &&
	    getrandom(&w->seal.job, sizeof w->seal.job, 0) != sizeof w->seal.job)
		w->seal.job = (uint64_t)getpid();
	return comm_bcast(env->c, &w->seal.job, sizeof w->seal.job, w->resuming ? first : 0);
}

/* The state of this rank: what it has left before, or a new one. */
static status take_own(rank_env *env, const input *in, workdir *w)
{
	resume_state *was = groups_has(env->c, &w->g, env->c->rank)
				    ? states_of(&w->earlier, env->c->rank)
				    : NULL;
	status rc = ST_OK;
	w->found = was != NULL;
	if (was) {
		w->s.out = was->out;
		for (size_t i = 0; rc == ST_OK && i < was->made.runs; i++)
			rc = run_list_add(&w->s.made, &was->made.run[i], &env->e);
	}
	w->s.job = w->seal.job;
	w->notes.in = in;
	w->seal.notes = &w->notes;
	w->seal.rank = env->c->rank;
	w->seal.number = run_list_next(&w->s.made);
	w->seal.fsync = env->o->fsync;
	return rc;
}

static status find_earlier(rank_env *env, const input *in, workdir *w)
{
	const states_query q = { .c = env->c,
				 .m = &env->m,
				 .g = &w->g,
				 .in = in,
				 .is = &w->s,
				 .dir = w->dir,
				 .dirfd = w->file.dirfd,
				 .resume = env->o->resume,
				 .patience_s = workdir_patience_s(env) };
	status rc = states_find(&q, &w->earlier, &env->e);
	if (rc == ST_OK)
		rc = agree_on_job(env, w);
	if (rc == ST_OK)
		rc = comm_agree(env->c, take_own(env, in, w));
	if (rc == ST_OK && w->resuming)
		rc = saved_output_find(env->c, &env->m, &w->earlier, &w->saved, &env->e);
	return rc == ST_OK ? comm_reduce(env->c, (uint64_t)w->earlier.most, u64_max, &w->most_ranks)
			   : rc;
}

status workdir_open(rank_env *env, const input *in, workdir *w)
{
	const settings *o = env->o;
	if (!o->workdir || o->explain)
		return ST_OK;
	w->on = true;
	w->notes = (run_notes){ .s = &w->s, .to = &w->file, .fsync = o->fsync };
	pthread_mutex_init(&w->notes.lock, NULL);
	status rc = in->streams ? err_set(&env->e, ST_REFUSED,
					  "a stream cannot be read again: --workdir takes files")
				: lock(env, w);
	if (rc == ST_OK)
		rc = own_state(env, in, &w->s, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = groups_find(env->c, &env->m, &w->file, w->dir, resume_state_name, &w->g,
				 &env->e);
	return rc == ST_OK ? find_earlier(env, in, w) : rc;
}

uint64_t workdir_first(const rank_env *env, const workdir *w, const uint64_t *share_in)
{
	return w->shared.rank_at ? w->shared.first : share_before(env, share_in);
}

uint32_t workdir_place(const rank_env *env, const workdir *w)
{
	return (uint32_t)(w->shared.rank_at ? w->shared.place : env->c->rank);
}

/* ----------------------------------------------------------------------------------- resuming */

static int by_place(const void *a_, const void *b_)
{
	const run_note *a = a_, *b = b_;
	return (a->first > b->first) - (a->first < b->first);
}

/* Inputs of each rank: its own runs, if they are of its own records. */
static status take_own_runs(rank_env *env, workdir *w, uint64_t first, uint64_t recs)
{
	run_list *mine = &w->s.made, *own = &w->shared.own;
	uint64_t at = first;
	status rc = ST_OK;
	if (mine->runs)
		qsort(mine->run, mine->runs, sizeof *mine->run, by_place);
	for (size_t i = 0; rc == ST_OK && i < mine->runs; i++) {
		const run_note *n = &mine->run[i];
		if (n->first < at || n->first - first > recs || n->recs > recs - (n->first - first))
			continue;
		at = n->first + n->recs;
		rc = run_list_add(own, n, &env->e);
		if (rc == ST_OK)
			rc = run_list_add(&w->shared.used, n, &env->e);
	}
	return rc;
}

/* No later job is to have it in mind. */
static status forget_run(rank_env *env, const input *in, const workdir *w, const run_note *n)
{
	char name[RESUME_NAME_BYTES];
	resume_state_run_name(n->rank, n->number, name);
	const status rc = remove_spares_inputs(w->file.dirfd, name, in, &env->e);
	if (rc == ST_OK)
		(void)unlinkat(w->file.dirfd, name, 0);
	return rc;
}

/* Those that are what they should be, the others go. */
static status look_at_runs(rank_env *env, const input *in, workdir *w)
{
	run_list *own = &w->shared.own;
	size_t n = 0;
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < own->runs; i++) {
		const run_note run = own->run[i];
		bool is;
		rc = run_checkpoint_look(w->file.dirfd, &run, w->s.job, &env->o->lay, &env->m, &is,
					 &env->e);
		if (rc == ST_OK && is)
			own->run[n++] = run;
		else if (rc == ST_OK)
			rc = forget_run(env, in, w, &run);
	}
	own->runs = n;
	return rc;
}

/* Their samples are to be merged: what a program with other sizes has made is read again. */
static status match_strides(rank_env *env, const input *in, workdir *w)
{
	run_list *own = &w->shared.own;
	uint64_t most = 1;
	size_t n = 0;
	status rc = ST_OK;
	for (size_t i = 0; i < own->runs; i++)
		most = u64_max(most, own->run[i].stride);
	for (size_t i = 0; rc == ST_OK && i < own->runs; i++)
		if (most % own->run[i].stride == 0)
			own->run[n++] = own->run[i];
		else
			rc = forget_run(env, in, w, &own->run[i]);
	own->runs = n;
	return rc;
}

static status deal_out(rank_env *env, const input *in, workdir *w, const share_plan *s,
		       uint64_t *share)
{
	const share_runs_query q = { .c = env->c,
				     .m = &env->m,
				     .g = &w->g,
				     .found = &w->earlier,
				     .records = s->records,
				     .planned = s->in };
	status rc = in->per_rank
			    ? take_own_runs(env, w, share_before(env, s->in), own_share(env, s->in))
			    : share_runs(&q, share, &w->shared, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = look_at_runs(env, in, w);
	if (rc == ST_OK)
		rc = match_strides(env, in, w);
	states_free(&w->earlier);
	env->stats->planned_in = own_share(env, share);
	return rc;
}

status phase_resume(rank_env *env, const input *in, workdir *w, const share_plan *s,
		    share_plan *next)
{
	if (!w->on)
		return ST_OK;
	status rc = comm_agree(env->c, share_plan_copy(env, s, next));
	if (rc == ST_OK && w->resuming)
		rc = deal_out(env, in, w, s, next->in);
	if (rc == ST_OK)
		w->seal.kept = (kept_runs){ .run = w->shared.own.run,
					    .count = w->shared.own.runs,
					    .first = workdir_first(env, w, next->in),
					    .recs = own_share(env, next->in) };
	return rc;
}

static bool is_same_file(const run_note *n, int64_t rank, uint64_t number)
{
	return n->rank == rank && n->number == number;
}

static int by_file(const void *a_, const void *b_)
{
	const run_note *a = a_, *b = b_;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* A run that nobody goes on with. */
static bool is_stray(const char *name, const void *workdir_)
{
	const workdir *w = workdir_;
	int64_t rank;
	const char *rest;
	char *end;
	if (!remove_is_of(name, ".run", &rank, &rest))
		return false;
	const uint64_t number = strtoull(rest, &end, 10);
	const run_note n = { .rank = (int32_t)rank, .number = number };
	const run_list *used = &w->shared.used;
	const run_note *at =
		used->runs ? bsearch(&n, used->run, used->runs, sizeof n, by_file) : NULL;
	return *end || !at || !is_same_file(at, rank, number);
}

/* With inputs of each rank no rank knows of the runs of others. */
static bool is_own_stray(const char *name, const void *workdir_)
{
	const workdir *w = workdir_;
	int64_t rank;
	const char *rest;
	return remove_is_of(name, ".run", &rank, &rest) && rank == w->rank && is_stray(name, w);
}

status workdir_remove_strays(rank_env *env, const input *in, const workdir *w)
{
	unsigned removed = 0;
	const bool own = in->per_rank && w->resuming;
	if (!own && w->g.place != 0)
		return ST_OK;
	const status rc = remove_files(w->file.dirfd, own ? is_own_stray : is_stray, w,
				       w->file.path, in, &removed, &env->e);
	env->stats->leftovers += removed;
	return rc;
}

/* Those that memory is too small for are read again. */
static status drop_some(rank_env *env, const input *in, workdir *w, size_t kept)
{
	status rc = ST_OK;
	for (size_t i = kept; rc == ST_OK && i < w->seal.kept.count; i++)
		rc = forget_run(env, in, w, &w->seal.kept.run[i]);
	if (kept < w->seal.kept.count)
		w->seal.kept.count = kept;
	return rc;
}

status phase_save_state(rank_env *env, const settled *k, workdir *w)
{
	const input *in = &k->f->in;
	run_list *used = &w->shared.used;
	if (!w->on)
		return ST_OK;
	if (used->runs)
		qsort(used->run, used->runs, sizeof *used->run, by_file);
	status rc = workdir_remove_strays(env, in, w);
	if (rc == ST_OK)
		rc = drop_some(env, in, w, k->mp->kept);
	if (rc != ST_OK || (w->found && w->saved.all.id))
		return rc; /* the output that it speaks of may be all that is needed */
	w->s.out = (output_checkpoint){ 0 };
	return json_write(resume_state_json(&w->s, in), &w->file, true, env->o->fsync, &env->e);
}

/* Or was gone before: the output was found there, by a program that has no state of its runs. */
static bool remove_one(int dirfd, const char *name)
{
	return unlinkat(dirfd, name, 0) == 0 || errno == ENOENT;
}

static bool remove_run(const workdir *w, const run_note *n)
{
	char name[RESUME_NAME_BYTES];
	resume_state_run_name(n->rank, n->number, name);
	return remove_one(w->file.dirfd, name);
}

/* States and runs of former ranks. */
static bool is_left(const char *name, const void *unused)
{
	int64_t rank;
	const char *rest;
	(void)unused;
	return remove_is_of(name, ".run", &rank, &rest) ||
	       (remove_is_of(name, ".json", &rank, &rest) && !*rest);
}

/* The output is complete under its name: what cannot be removed now is only worth a note. Nothing
 * is synced: runs are made again for a state that comes back without them. */
status phase_drop_checkpoints(rank_env *env, const workdir *w)
{
	unsigned removed = 0;
	err why = { ST_OK, "" };
	if (!w->on)
		return ST_OK;
	const run_list *made = &w->s.made;
	bool all = remove_one(w->file.dirfd, w->file.base);
	for (size_t i = 0; all && i < w->seal.kept.count; i++)
		all = remove_run(w, &w->seal.kept.run[i]);
	for (size_t i = 0; all && i < made->runs; i++)
		all = made->run[i].number < w->seal.number || remove_run(w, &made->run[i]);
	if (!all)
		err_sys(&env->note, errno, "the output is complete; cannot empty the workdir");
	const status rc = comm_agree(env->c, ST_OK);
	if (rc == ST_OK && all && w->g.place == 0 &&
	    remove_files(w->file.dirfd, is_left, NULL, w->file.path, NULL, &removed, &why) != ST_OK)
		err_set(&env->note, why.code, "the output is complete; %s", why.text);
	return rc;
}

void workdir_release(workdir *w)
{
	if (w->on)
		target_release(&w->file);
}

void workdir_close(rank_env *env, workdir *w)
{
	if (w->on) {
		unfinished_end_as_usual(&w->end);
		target_discard(&w->file);
		pthread_mutex_destroy(&w->notes.lock);
	}
	resume_state_free(&w->s);
	states_free(&w->earlier);
	saved_output_free(&env->m, &w->saved);
	shared_runs_free(&env->m, &w->shared);
	groups_free(&env->m, &w->g);
}

/* ------------------------------------------------------------------------------- cleaning */

/* Of this rank. */
static bool is_of_rank(const char *name, const void *rank_)
{
	const int64_t *rank = rank_;
	int64_t its;
	const char *rest;
	return (remove_is_of(name, ".json", &its, &rest) ||
		remove_is_of(name, ".run", &its, &rest)) &&
	       its == *rank;
}

static status clean_rank(const char *path, int64_t rank, unsigned *removed, err *e)
{
	target t;
	char q[QUOTED_BYTES];
	unsigned temporary = 0;
	status rc = open_target(&t, path, (int32_t)rank, e);
	if (rc == ST_OK)
		rc = target_lock(&t, &temporary, e);
	if (rc == ST_OK && t.lock_fd < 0)
		rc = err_set(e, ST_REFUSED,
			     "the file system of %s has no locks: nothing tells whether a job is "
			     "at it",
			     err_quoted(path, q));
	if (rc == ST_OK)
		rc = remove_files(t.dirfd, is_of_rank, &rank, path, NULL, removed, e);
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
		if (states_rank_of(f->d_name, &rank) &&
		    faccessat(dirfd(d), f->d_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			rc = clean_rank(path, rank, removed, e);
	closedir(d);
	return rc;
}

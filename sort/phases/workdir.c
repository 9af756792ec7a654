/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of a sort that have to do with its directory. Whatever is removed there was noted first:
 * the state names the files that its rank is about to make, then says which files they are, before
 * a record is in them; it is removed last. What has such a name and is not noted belongs to
 * somebody else, and stays. */
#include "phases.h"
#include "io/file.h"
#include "base/minmax.h"
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

/* *made: the directory, if it was not there; else zero. */
static status make_dir(const char *path, file_id *made, err *e)
{
	char q[QUOTED_BYTES];
	*made = (file_id){ 0 };
	if (mkdir(path, 0700) != 0)
		return errno == EEXIST ? ST_OK
				       : err_refuse(e, errno, "cannot make workdir %s",
						    err_quoted(path, q));
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)file_id_of(fd, made);
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

static char *state_path(int rank, const void *dir)
{
	char name[RESUME_NAME_BYTES], *path;
	resume_state_name(rank, name);
	return asprintf(&path, "%s/%s", (const char *)dir, name) < 0 ? NULL : path;
}

static status open_target(target *t, const char *dir, int32_t rank, err *e)
{
	char *path = state_path(rank, dir);
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

/* The locks of ranks that were killed; runs and states stay. */
static void sweep_others(void *workdir_)
{
	const workdir *w = workdir_;
	target_sweep_after(w->rank, w->ranks, state_path, w->dir, 0);
}

double workdir_patience_s(const rank_env *env)
{
	static const double PATIENCE_S = 5;
	return env->o->resume ? PATIENCE_S : 0;
}

static status lock(rank_env *env, const input *in, workdir *w)
{
	const settings *o = env->o;
	unsigned removed = 0;
	file_id made;
	status rc = make_dir(o->workdir, &made, &env->e);
	if (rc == ST_OK)
		rc = open_target(&w->file, o->workdir, env->c->rank, &env->e);
	w->file.patience_s = workdir_patience_s(env);
	w->file.reads = &in->reads;
	w->file.dir = made;
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
		w->s.self = was->self;
		if (was->dir.inode)
			w->file.dir = was->dir;
		for (size_t i = 0; rc == ST_OK && i < was->made.runs; i++)
			rc = run_list_add(&w->s.made, &was->made.run[i], &env->e);
		for (size_t i = 0; rc == ST_OK && i < was->files.files; i++)
			rc = file_list_add(&w->s.files, &was->files.file[i], &env->e);
	}
	w->s.dir = w->file.dir;
	w->s.job = w->seal.job;
	w->notes.in = in;
	w->seal.notes = &w->notes;
	w->seal.rank = env->c->rank;
	w->seal.fsync = env->o->fsync;
	return rc;
}

/* Give the state of every rank the note of who made the directory, so that no rank's state is the
 * only one that proves it. */
static status share_dir_note(rank_env *env, workdir *w)
{
	file_id is;
	file_id *all = mem_array(&env->m, (size_t)env->c->size, sizeof *all, "states", &env->e);
	status rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_allgather(env->c, &w->file.dir, all, sizeof *all);
	if (rc == ST_OK && file_id_of(w->file.dirfd, &is))
		for (int i = 0; i < env->c->size; i++)
			if (all[i].inode && memcmp(&all[i], &is, sizeof is) == 0)
				w->file.dir = is;
	mem_free(&env->m, all);
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
				 .reads = &in->reads,
				 .resume = env->o->resume,
				 .patience_s = workdir_patience_s(env) };
	status rc = states_find(&q, &w->earlier, &env->e);
	if (w->earlier.dir.inode) {
		w->file.dir = w->earlier.dir;
		if (w->file.lock_fd >= 0)
			(void)target_write_lock(&w->file, NULL);
	}
	if (rc == ST_OK)
		rc = agree_on_job(env, w);
	if (rc == ST_OK)
		rc = share_dir_note(env, w);
	if (rc == ST_OK)
		rc = comm_agree(env->c, take_own(env, in, w));
	if (rc == ST_OK && w->resuming)
		rc = saved_output_find(env->c, &env->m, &w->earlier, &w->saved, &env->e);
	return rc;
}

static status open_list(rank_env *env, workdir *w)
{
	char q[QUOTED_BYTES];
	w->list = w->g.place == 0 ? target_list(&w->file) : NULL;
	return w->list || w->g.place ? ST_OK
				     : err_refuse(&env->e, errno, "cannot read workdir %s",
						  err_quoted(w->dir, q));
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
				: lock(env, in, w);
	if (rc == ST_OK)
		rc = own_state(env, in, &w->s, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = groups_find(env->c, &env->m, &w->file, w->dir, resume_state_name, &w->g,
				 &env->e);
	if (rc == ST_OK)
		rc = comm_agree(env->c, open_list(env, w));
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
static void forget_run(const workdir *w, const run_note *n)
{
	unsigned removed = 0;
	(void)remove_run(w->file.dirfd, n->rank, &(file_note){ n->number, n->file }, &removed);
}

/* Those that are what they should be, the others go. */
static status look_at_runs(rank_env *env, workdir *w)
{
	run_list *own = &w->shared.own;
	size_t n = 0;
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < own->runs; i++) {
		run_note run = own->run[i];
		bool is;
		rc = run_checkpoint_look(w->file.dirfd, &run, w->s.job, &env->o->lay, &env->m, &is,
					 &env->e);
		if (rc == ST_OK && is)
			own->run[n++] = run;
		else if (rc == ST_OK)
			forget_run(w, &run);
	}
	own->runs = n;
	return rc;
}

/* Their samples are to be merged: what a program with other sizes has made is read again. */
static void match_strides(workdir *w)
{
	run_list *own = &w->shared.own;
	uint64_t most = 1;
	size_t n = 0;
	for (size_t i = 0; i < own->runs; i++)
		most = u64_max(most, own->run[i].stride);
	for (size_t i = 0; i < own->runs; i++)
		if (most % own->run[i].stride == 0)
			own->run[n++] = own->run[i];
		else
			forget_run(w, &own->run[i]);
	own->runs = n;
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
		rc = look_at_runs(env, w);
	if (rc == ST_OK)
		match_strides(w);
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

/* None of the files of states that this rank has loaded stays that no rank continues with. */
static status remove_unused(rank_env *env, workdir *w)
{
	unsigned removed = 0;
	size_t n = 0;
	run_list *used = &w->shared.used;
	const status rc =
		remove_all_but(w->file.dirfd, &w->earlier, used, w->dir, &removed, &env->e);
	for (size_t k = 0; k < w->s.files.files; k++)
		if (remove_spares(used, w->rank, w->s.files.file[k].number))
			w->s.files.file[n++] = w->s.files.file[k];
	w->s.files.files = n;
	env->stats->leftovers += removed;
	return rc;
}

/* Those that memory is too small for are read again. */
static void drop_some(workdir *w, size_t kept)
{
	for (size_t i = kept; i < w->seal.kept.count; i++)
		forget_run(w, &w->seal.kept.run[i]);
	if (kept < w->seal.kept.count)
		w->seal.kept.count = kept;
}

/* Names of the files to come. */
static status plan_files(rank_env *env, workdir *w, size_t n)
{
	status rc = ST_OK;
	w->seal.number = run_list_next(&w->s.made);
	for (size_t i = 0; i < w->s.files.files; i++)
		w->seal.number = u64_max(w->seal.number, w->s.files.file[i].number + 1);
	w->seal.number = states_free_numbers(w->file.dirfd, w->rank, w->seal.number, n);
	for (size_t i = 0; rc == ST_OK && i < n; i++)
		rc = file_list_add(&w->s.files, &(file_note){ .number = w->seal.number + i },
				   &env->e);
	return rc;
}

status phase_save_state(rank_env *env, const settled *k, workdir *w)
{
	if (!w->on)
		return ST_OK;
	status rc = remove_unused(env, w);
	if (rc == ST_OK)
		drop_some(w, k->mp->kept);
	if (rc == ST_OK)
		rc = plan_files(env, w, k->mp->budget.runs);
	if (rc != ST_OK || (w->found && w->saved.all.id))
		return rc; /* the output that it speaks of may be all that is needed */
	w->s.out = (output_checkpoint){ 0 };
	return run_notes_write(&w->notes, &env->e);
}

static void note_strangers(rank_env *env, const workdir *w)
{
	char first[CLEANED_NAME_BYTES], q[QUOTED_BYTES], qd[QUOTED_BYTES], more[32] = "";
	const unsigned n = remove_count_strangers(w->list, &w->file, first, sizeof first);
	if (n == 0)
		return;
	if (n > 1)
		snprintf(more, sizeof more, " and %u more", n - 1);
	err_set(&env->note, ST_REFUSED,
		"%s%s in workdir %s stay%s, because no state says that hetsort made %s",
		err_quoted(first, q), more, err_quoted(w->dir, qd), n > 1 ? "" : "s",
		n > 1 ? "them" : "it");
}

/* The output is complete under its name: what cannot be removed now is only worth a note. Nothing
 * is synced: a state that comes back finds its runs missing. */
status phase_drop_checkpoints(rank_env *env, const workdir *w)
{
	unsigned removed = 0;
	bool all = true;
	if (!w->on)
		return ST_OK;
	for (size_t i = 0; i < w->seal.kept.count; i++)
		forget_run(w, &w->seal.kept.run[i]);
	all = remove_state(w->file.dirfd, &w->s, &removed);
	for (size_t i = 0; all && i < w->earlier.count; i++)
		all = remove_state(w->file.dirfd, &w->earlier.s[i], &removed);
	if (!all)
		err_sys(&env->note, errno, "the output is complete; cannot empty the workdir");
	const status rc = comm_agree(env->c, ST_OK);
	if (rc == ST_OK && all && w->list)
		note_strangers(env, w);
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
		if (w->list)
			closedir(w->list);
		pthread_mutex_destroy(&w->notes.lock);
	}
	resume_state_free(&w->s);
	states_free(&w->earlier);
	saved_output_free(&env->m, &w->saved);
	shared_runs_free(&env->m, &w->shared);
	groups_free(&env->m, &w->g);
}

/* ------------------------------------------------------------------------------- cleaning */

static bool is_dir(const target *t, const file_id *made)
{
	file_id is;
	return made->inode && file_id_of(t->dirfd, &is) && memcmp(&is, made, sizeof is) == 0;
}

/* What the state of this rank notes, then it. */
static status clean_state(target *t, bool *made, cleaned *n, err *e)
{
	char q[QUOTED_BYTES];
	resume_state s = { 0 };
	if (faccessat(t->dirfd, t->base, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return ST_OK;
	status rc = resume_state_load(t->path, &s, e);
	if (rc == ST_OK && !remove_state(t->dirfd, &s, &n->removed))
		rc = err_sys(e, errno, "cannot remove all files of %s", err_quoted(t->path, q));
	*made = *made || is_dir(t, &s.dir);
	resume_state_free(&s);
	return rc;
}

static status clean_rank(const char *path, int64_t rank, bool *made, cleaned *n, err *e)
{
	target t;
	char q[QUOTED_BYTES];
	unsigned temporary = 0;
	status rc = open_target(&t, path, (int32_t)rank, e);
	if (rc == ST_OK)
		rc = target_lock(&t, &temporary, e);
	n->removed += temporary;
	if (rc == ST_OK && t.lock_fd < 0)
		rc = err_set(e, ST_REFUSED,
			     "the file system of %s has no locks: nothing tells whether a job is "
			     "at it",
			     err_quoted(path, q));
	if (rc == ST_OK)
		rc = clean_state(&t, made, n, e);
	*made = *made || is_dir(&t, &t.dir);
	if (t.stays) {
		n->stays += t.stays;
		snprintf(n->first, sizeof n->first, "%s", t.stays_name);
	}
	target_discard(&t);
	return rc;
}

status workdir_clean(const char *path, cleaned *n, err *e)
{
	char q[QUOTED_BYTES];
	int64_t *ranks;
	size_t count;
	bool made = false;
	DIR *d = opendir(path);
	*n = (cleaned){ 0 };
	if (!d)
		return err_refuse(e, errno, "cannot read directory %s", err_quoted(path, q));
	status rc = states_list(d, &ranks, &count, e);
	for (size_t i = 0; i < count; i++) {
		const status one = clean_rank(path, ranks[i], &made, n, e);
		rc = one > rc ? one : rc;
	}
	free(ranks);
	n->stays += remove_count_strangers(d, NULL, n->first, sizeof n->first);
	closedir(d);
	if (rc == ST_OK && made && rmdir(path) == 0)
		n->removed++;
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of a sort that use its workdir. Every file is noted before it is made. The state of a
 * rank first notes the names of the files that the rank is about to make. Before these files
 * contain records, the state notes also their identities. The state is removed last. A file with
 * such a name that no state notes belongs to somebody else, and stays. */
#include "base/arith.h"
#include "io/file.h"
#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Make the directory. *made receives its id, or zero if it existed. */
static status workdir_make(const char *path, file_id *made, err *e)
{
	*made = (file_id){ 0 };
	if (mkdir(path, 0700) != 0)
		return errno == EEXIST
			       ? ST_OK
			       : err_refuse(e, errno, "cannot make workdir %s", quoted(path));
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)file_id_of(fd, made);
	const int up = fd < 0 ? -1 : openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const status rc = up < 0 ? err_refuse(e, errno, "cannot open workdir %s", quoted(path))
				 : file_sync_dir(up, path, e);
	if (up >= 0)
		close(up);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Return the path of the state of a rank, to be freed, or NULL. */
static char *state_path(int rank, const void *dir)
{
	char name[RESUME_NAME_BYTES], *path;
	resume_state_name(rank, name);
	return asprintf(&path, "%s/%s", (const char *)dir, name) < 0 ? NULL : path;
}

/* Open the state of a rank. Refuse a directory where others may create files with our names. */
static status workdir_open_state(target *t, const char *dir, int32_t rank, err *e)
{
	struct stat st;
	char *path = state_path(rank, dir);
	if (!path)
		return err_set(e, ST_RESOURCE, "no memory for a name");
	status rc = target_open(t, path, e);
	if (rc == ST_OK && fstat(t->dirfd, &st) != 0)
		rc = err_refuse(e, errno, "cannot look at workdir %s", quoted(dir));
	else if (rc == ST_OK && (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))))
		rc = err_set(e, ST_REFUSED,
			     "workdir %s must belong to you and be writable by nobody else",
			     quoted(dir));
	free(path);
	t->most = 0;
	return rc == ST_OK ? target_check_dir(t, "make state", e) : rc;
}

status workdir_check(job *j)
{
	const settings *o = j->env.o;
	err *e = &j->env.e;
	target t = { .dirfd = -1, .lock_fd = -1, .fd = -1 };
	if (!o->workdir || !o->explain)
		return ST_OK;
	char *path = strdup(o->workdir);
	for (size_t n = path ? strlen(path) : 0; n > 1 && path[n - 1] == '/';)
		path[--n] = '\0';
	status rc = path ? ST_OK : err_set(e, ST_RESOURCE, "no memory for a name");
	if (rc == ST_OK && file_exists(AT_FDCWD, path)) {
		rc = workdir_open_state(&t, path, j->env.c->rank, e);
	} else if (rc == ST_OK) {
		rc = target_open(&t, path, e);
		if (rc == ST_OK)
			rc = target_check(&t, false, e);
	}
	free(path);
	target_discard(&t);
	return rc;
}

double workdir_patience_s(const rank_env *env)
{
	static const double PATIENCE_S = 5;
	return env->o->resume ? PATIENCE_S : 0;
}

/* Remove the locks of ranks that were killed; runs and states stay. */
static void workdir_sweep(void *job_)
{
	const job *j = job_;
	target_sweep_after(j->env.c->rank, j->env.c->size, state_path, j->env.o->workdir, 0);
}

/* Lock the state of this rank, and describe this sort in it, without runs. */
static status workdir_lock(job *j)
{
	rank_env *env = &j->env;
	const char *dir = env->o->workdir;
	const input *in = &j->files.in;
	workdir *w = &j->work;
	file_id made;
	if (in->streams)
		return err_set(&env->e, ST_REFUSED,
			       "a stream cannot be read again, so --workdir needs files");
	status rc = workdir_make(dir, &made, &env->e);
	if (rc == ST_OK)
		rc = workdir_open_state(&w->file, dir, env->c->rank, &env->e);
	w->file.patience_s = workdir_patience_s(env);
	w->file.reads = &in->reads;
	w->file.dir = made;
	w->end = (unfinished_end){ .sweep = workdir_sweep, .arg = j };
	unfinished_at_end(&w->end);
	if (rc == ST_OK)
		rc = target_lock(&w->file, &env->e);
	env->stats->leftovers += w->file.past.removed;
	if (rc == ST_OK)
		rc = resume_state_alloc(&w->s, in->files, &env->e);
	if (rc != ST_OK)
		return rc;
	w->s.rank = env->c->rank;
	w->s.ranks = env->c->size;
	w->s.lay = env->o->lay;
	settings_selection_text(env->o, w->s.selection);
	resume_state_inputs(&w->s, in);
	return ST_OK;
}

/* Find the ranks that share this directory; the first of them opens it. Then load the states of
 * earlier jobs, and combine them. */
static status workdir_find_earlier(job *j)
{
	rank_env *env = &j->env;
	workdir *w = &j->work;
	status rc = groups_find(env, &w->file, &w->g);
	if (rc == ST_OK && w->g.place == 0 && !(w->list = target_list(&w->file)))
		rc = err_refuse(&env->e, errno, "cannot read workdir %s", quoted(env->o->workdir));
	rc = comm_agree(env->c, rc);
	if (rc != ST_OK)
		return rc;
	const states_query q = { .g = &w->g,
				 .in = &j->files.in,
				 .is = &w->s,
				 .dir = env->o->workdir,
				 .list = w->list,
				 .t = &w->file };
	rc = states_find(env, &q, &w->earlier);
	if (w->earlier.dir.inode) {
		w->file.dir = w->earlier.dir;
		if (w->file.lock_fd >= 0)
			(void)target_write_lock(&w->file, NULL);
	}
	if (rc == ST_OK)
		rc = saved_output_find(env, &w->earlier, &w->saved);
	w->resuming = w->saved.states > 0;
	w->s.job = w->saved.job;
	return rc;
}

/* Make the state of this rank, starting from its earlier state if it has one. Every state contains
 * the identity of a directory that a rank has made, in case the state of that rank is lost. */
static status workdir_own_state(job *j)
{
	rank_env *env = &j->env;
	workdir *w = &j->work;
	target *t = &w->file;
	file_id is;
	status rc;
	file_id *all = env_allgather(env, &t->dir, sizeof *all, "states", &rc);
	if (all && file_id_of(t->dirfd, &is))
		for (int i = 0; i < env->c->size; i++)
			if (all[i].inode && memcmp(&all[i], &is, sizeof is) == 0)
				t->dir = is;
	mem_free(&env->m, all);
	const resume_state *was = states_of(&w->earlier, env->c->rank);
	if (was) {
		w->s.out = was->out;
		w->s.self = was->self;
		if (was->dir.inode)
			t->dir = was->dir;
		for (size_t i = 0; rc == ST_OK && i < was->made.runs; i++)
			rc = run_list_add(&w->s.made, &was->made.run[i], &env->e);
		for (size_t i = 0; rc == ST_OK && i < was->files.runs; i++)
			rc = run_list_add(&w->s.files, &was->files.run[i], &env->e);
	}
	w->s.dir = t->dir;
	return rc;
}

status workdir_open(job *j)
{
	static job_step *const step[] = { workdir_lock, workdir_find_earlier, workdir_own_state };
	rank_env *env = &j->env;
	workdir *w = &j->work;
	if (!env->o->workdir)
		return ST_OK;
	w->on = true;
	w->notes = (run_notes){
		.s = &w->s, .to = &w->file, .in = &j->files.in, .fsync = env->o->fsync
	};
	w->seal = (run_checkpoint_plan){ .notes = &w->notes };
	pthread_mutex_init(&w->notes.lock, NULL);
	return job_each(j, step, sizeof step / sizeof *step);
}

uint64_t workdir_first(const job *j, const uint64_t *share_in)
{
	const shared_runs *s = &j->work.shared;
	return s->rank_at ? s->first : share_before(&j->env, share_in);
}

uint32_t workdir_place(const job *j)
{
	const shared_runs *s = &j->work.shared;
	return (uint32_t)(s->rank_at ? s->place : j->env.c->rank);
}

static int runs_by_place(const void *a_, const void *b_)
{
	const run_note *a = a_, *b = b_;
	return (a->first > b->first) - (a->first < b->first);
}

/* Forget the runs of a list that no rank uses. */
static void keep_used(run_list *l, const run_list *used)
{
	size_t n = 0;
	for (size_t k = 0; k < l->runs; k++)
		if (states_uses(used, &l->run[k]))
			l->run[n++] = l->run[k];
	l->runs = n;
}

/* Remove the file of a run that no later job may use. */
static void forget_run(const workdir *w, const run_note *n)
{
	(void)states_remove_run(w->file.dirfd, n, NULL);
}

/* Keep the runs that are as noted, if their strides divide the largest one, because their samples
 * are merged. The records of other runs are read again. */
static status check_kept_runs(job *j)
{
	workdir *w = &j->work;
	run_list *own = &w->shared.own;
	uint64_t most = 1;
	size_t good = 0, n = 0;
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < own->runs; i++) {
		run_note run = own->run[i];
		bool is;
		rc = run_checkpoint_look(&w->seal, &run, &j->env.m, &is, &j->env.e);
		if (rc == ST_OK && is)
			own->run[good++] = run;
		else if (rc == ST_OK)
			forget_run(w, &run);
	}
	for (size_t i = 0; i < good; i++)
		most = u64_max(most, own->run[i].stride);
	for (size_t i = 0; rc == ST_OK && i < good; i++)
		if (most % own->run[i].stride == 0)
			own->run[n++] = own->run[i];
		else
			forget_run(w, &own->run[i]);
	own->runs = rc == ST_OK ? n : good;
	return rc;
}

status phase_resume(job *j)
{
	rank_env *env = &j->env;
	workdir *w = &j->work;
	const share_runs_query q = { &w->g, &w->earlier, j->shares.records, j->shares.in };
	status rc = job_replan(j);
	if (rc == ST_OK && w->resuming) {
		if (j->files.in.per_rank) {
			/* each rank has its own inputs: take the runs that belong to its records */
			const run_list *made = &w->s.made;
			const uint64_t first = share_before(env, j->shares.in);
			const uint64_t end = first + own_share(env, j->shares.in);
			uint64_t at = first;
			if (made->runs)
				qsort(made->run, made->runs, sizeof *made->run, runs_by_place);
			for (size_t i = 0; rc == ST_OK && i < made->runs; i++) {
				const run_note *n = &made->run[i];
				if (n->first < at || n->first > end || n->recs > end - n->first)
					continue;
				at = n->first + n->recs;
				rc = run_list_add(&w->shared.own, n, &env->e);
				if (rc == ST_OK)
					rc = run_list_add(&w->shared.used, n, &env->e);
			}
		} else {
			rc = share_runs(env, &q, j->next.in, &w->shared);
		}
		rc = comm_agree(env->c, rc);
		if (rc == ST_OK)
			rc = check_kept_runs(j);
		env->stats->planned_in = own_share(env, j->next.in);
	}
	if (rc == ST_OK)
		w->seal.kept = (kept_runs){ .run = w->shared.own.run,
					    .count = w->shared.own.runs,
					    .first = workdir_first(j, j->next.in),
					    .recs = own_share(env, j->next.in) };
	return rc;
}

status phase_save_state(job *j)
{
	workdir *w = &j->work;
	run_list *noted = &w->s.files, *used = &w->shared.used;
	kept_runs *had = &w->seal.kept;
	const size_t runs = j->memory.sort.runs, kept = j->memory.kept;
	status rc = states_remove_unused(w->file.dirfd, &w->earlier, used, j->env.o->workdir,
					 &j->env.stats->leftovers, &j->env.e);
	/* no number is used twice */
	w->seal.number = u64_max(run_list_next(&w->s.made), run_list_next(noted));
	/* a state with a run that has no file would be refused */
	keep_used(&w->s.made, used);
	keep_used(noted, used);
	if (rc != ST_OK)
		return rc;
	/* remove runs that memory is too small for; their records are read again */
	for (size_t i = kept; i < had->count; i++)
		forget_run(w, &had->run[i]);
	had->count = kept < had->count ? kept : had->count;
	/* note the names of the runs that this job will make */
	w->seal.number = states_free_numbers(w->file.dirfd, w->s.rank, w->seal.number, runs);
	for (size_t i = 0; rc == ST_OK && i < runs; i++) {
		const run_note planned = { .number = w->seal.number + i, .rank = w->s.rank };
		rc = run_list_add(noted, &planned, &j->env.e);
	}
	if (rc != ST_OK || (w->saved.all.id && states_of(&w->earlier, w->s.rank)))
		return rc; /* keep the earlier state: the output that it notes may be complete */
	w->s.out = (output_checkpoint){ 0 };
	return run_notes_write(&w->notes, NULL, &j->env.e);
}

/* Remove runs and states. The output is complete, so a failure is only worth a note. Nothing is
 * synced: a state that reappears after a power loss finds its runs missing. */
status phase_drop_checkpoints(job *j)
{
	rank_env *env = &j->env;
	const workdir *w = &j->work;
	char first[UNFINISHED_NAME_BYTES], more[32] = "";
	for (size_t i = 0; i < w->seal.kept.count; i++)
		forget_run(w, &w->seal.kept.run[i]);
	bool all = states_remove(w->file.dirfd, &w->s, NULL);
	for (size_t i = 0; all && i < w->earlier.count; i++)
		all = states_remove(w->file.dirfd, &w->earlier.s[i], NULL);
	if (!all)
		err_sys(&env->note, errno, "the output is complete; cannot empty the workdir");
	const status rc = comm_agree(env->c, ST_OK);
	if (rc != ST_OK || !all || !w->list)
		return rc;
	const unsigned n = states_count_strangers(w->list, &w->file, first, sizeof first);
	if (n > 1)
		snprintf(more, sizeof more, " and %u more", n - 1);
	if (n > 0)
		err_set(&env->note, ST_REFUSED,
			"%s%s in workdir %s stay%s, because no state says that hetsort made %s",
			quoted(first), more, quoted(env->o->workdir), n > 1 ? "" : "s",
			n > 1 ? "them" : "it");
	return rc;
}

void workdir_close(job *j)
{
	workdir *w = &j->work;
	mem *m = &j->env.m;
	if (w->on) {
		unfinished_end_as_usual(&w->end);
		target_discard(&w->file);
		if (w->list)
			closedir(w->list);
		pthread_mutex_destroy(&w->notes.lock);
	}
	resume_state_free(&w->s);
	states_free(&w->earlier);
	mem_free(m, w->saved.part);
	shared_runs_free(m, &w->shared);
	mem_free(m, w->g.of);
}

/* Return whether the directory of t is the one that hetsort made. */
static bool is_dir(const target *t, const file_id *made)
{
	file_id is;
	return made->inode && file_id_of(t->dirfd, &is) && memcmp(&is, made, sizeof is) == 0;
}

/* Remove the files that the state of a rank notes, then the state. */
static status clean_rank(const char *path, int32_t rank, bool *made, cleaned *n, err *e)
{
	target t = { .dirfd = -1, .lock_fd = -1, .fd = -1 };
	status rc = workdir_open_state(&t, path, rank, e);
	if (rc == ST_OK)
		rc = target_lock(&t, e);
	if (rc == ST_OK && t.lock_fd < 0)
		rc = err_set(e, ST_REFUSED,
			     "the file system of %s has no locks, so a job may be using it",
			     quoted(path));
	if (rc == ST_OK && file_exists(t.dirfd, t.base)) {
		resume_state s = { 0 };
		rc = resume_state_load(t.path, &s, e);
		if (rc == ST_OK && !states_remove(t.dirfd, &s, &t.past.removed))
			rc = err_sys(e, errno, "cannot remove all files of %s", quoted(t.path));
		*made = *made || is_dir(&t, &s.dir);
		resume_state_free(&s);
	}
	*made = *made || is_dir(&t, &t.dir);
	cleaned_add(n, &t.past);
	target_discard(&t);
	return rc;
}

status workdir_clean(const char *path, cleaned *n, err *e)
{
	bool made = false;
	DIR *d = opendir(path);
	*n = (cleaned){ 0 };
	if (!d)
		return err_refuse(e, errno, "cannot read directory %s", quoted(path));
	bool *has = calloc(RESUME_MOST_RANKS, sizeof *has);
	status rc = has ? ST_OK : err_set(e, ST_RESOURCE, "no memory for states");
	if (has)
		states_mark(d, has);
	for (int32_t rank = 0; has && rank < RESUME_MOST_RANKS; rank++) {
		const status one = has[rank] ? clean_rank(path, rank, &made, n, e) : ST_OK;
		rc = one > rc ? one : rc;
	}
	free(has);
	n->stays += states_count_strangers(d, NULL, n->first, sizeof n->first);
	closedir(d);
	if (rc == ST_OK && made && rmdir(path) == 0)
		n->removed++;
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checkpoints. With --workdir each rank keeps its sorted runs in a directory, next to a state,
 * hetsort-rankN.json, that notes them. If the job ends early, a later job with --resume, with any
 * number of ranks, continues with these runs. This chapter describes the order in which the files
 * change; phases/workdir.c takes the steps, and spill/run_checkpoint.c writes the runs.
 *
 * Only rank N of a job writes the state of rank N and its runs. It holds the lock of the state
 * until the job ends. A new version of a state replaces the old one by a rename, so no reader sees
 * a part of it. The rank writes in this order:
 *
 *   1  The state notes the numbers of the files that the rank will create for runs.
 *   2  The files are created, and the state notes their identity (file_id).
 *   3  The records of a run are written, and the state notes the run. Last, the checkpoint is
 *      written after the records: checksums of the blocks, samples, and a head that covers them.
 *      With --fsync, the records are on the disk before the head is.
 *   4  The output is complete under a temporary name, and the state notes its checksum.
 *   5  The output has its final name. The runs are removed, and the state last.
 *
 * Each job reads the states before it plans. The first rank of a group lists the directory. The
 * states of ranks that this job does not have are divided among the ranks of the group. A state is
 * loaded under its lock, so a running job is not mistaken for one that has ended. Rank 0 then
 * collects all states, and deals the runs to the ranks (share_runs.c).
 *
 * A state is a claim and proves nothing, so a stale state does no harm:
 *   - It names its sort: a random job number, the record layout, the selection, and the identity of
 *     each input. A state of another sort or of a changed input is refused.
 *   - A run counts only if its head has the job number, the records and the checksum that the state
 *     notes. Every later read verifies the checksums of its blocks.
 *   - A run that is missing, incomplete or changed is skipped: its records are read from the input
 *     again. So a state that reappears after a loss of power, or a run that was never completed,
 *     costs only time.
 *   - A noted output counts only if the parts of all ranks exist, and if reading them gives the
 *     noted checksums.
 *
 * Two invariants hold at each moment. A file exists only after a state has noted it, so --clean
 * finds everything. A file is removed only if a state notes its name and identity, so a file that
 * another program has put under this name stays. Thus a job may be killed at any moment: the kernel
 * releases the locks, and the next job continues or removes what the states note. A failure to
 * remove files after the output is complete is reported as a note, and the job succeeds.
 *
 * Names are looked up and unlinked in a directory that is held open. */
#include "states.h"
#include "base/clock.h"
#include "number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ------------------------------------------------------------------------------------- groups
 *
 * The first rank of each host makes a file with a new name in its workdir, and looks there for the
 * files of earlier hosts. Each other rank looks for the file of its host. Ranks of one host may
 * have different workdirs, so ranks that do not find the file of their host make files, too. Then
 * each rank that has made a file looks for the files of all earlier ranks. Numbers of devices and
 * inodes are not enough, because two local disks may have the same numbers. Costs six collectives
 * and 20 bytes per rank. The first rank of each host also looks once for the file of each earlier
 * host that does not share its directory. */

/* The search for groups. */
typedef struct search {
	rank_env *env;
	target *t;
	uint64_t id;
	int32_t *first, *of; /* [size] for each rank, the first rank of its host; of its group */
	int32_t own;         /* this rank, or an earlier one whose file it has found */
} search;

/* Find the first rank of the host of each rank. */
static status find_hosts(rank_env *env, int32_t *first)
{
	comm *c = env->c;
	const uint64_t mine = c->host_id;
	int32_t own = c->rank;
	status rc;
	uint64_t *host = env_allgather(env, &mine, sizeof mine, "hosts", &rc);
	for (int32_t i = c->rank; host && i-- > 0;)
		if (host[i] == mine)
			own = i;
	mem_free(&env->m, host);
	return rc == ST_OK ? comm_allgather(c, &own, first, sizeof own) : rc;
}

/* Make the file of this rank if `makes` is set. Then find the first of the ranks [from, to) whose
 * file is in this workdir. */
static status groups_look(search *x, bool makes, int32_t from, int32_t to)
{
	comm *c = x->env->c;
	char base[RESUME_NAME_BYTES], hidden[UNFINISHED_NAME_BYTES];
	int fd = -1;
	status rc = comm_agree(c, makes ? target_create(x->t, x->id, &fd, &x->env->e) : ST_OK);
	if (fd >= 0)
		close(fd);
	for (int32_t i = from; rc == ST_OK && x->own == c->rank && i < to; i++) {
		if (x->first[i] != i)
			continue;
		resume_state_name(i, base);
		const target t = { .base = base, .mark = target_mark(base), .id = x->id };
		target_hidden_name(&t, TARGET_TEMP, hidden);
		if (file_exists(x->t->dirfd, hidden))
			x->own = i;
	}
	return rc == ST_OK ? comm_allgather(c, &x->own, x->of, sizeof x->own) : rc;
}

/* Let ranks that have not found the file of their host make files themselves. */
static status look_again(search *x)
{
	comm *c = x->env->c;
	bool any = false;
	x->own = x->of[c->rank];
	for (int32_t i = 0; i < c->size; i++)
		if (x->of[i] == i && x->first[i] != i) {
			x->first[i] = i;
			any = true;
		}
	return any ? groups_look(x, x->own == c->rank && !*x->t->temp.name, 0, c->rank)
		   : comm_agree(c, ST_OK); /* no file is removed before all ranks have looked */
}

status groups_find(rank_env *env, target *t, groups *g)
{
	comm *c = env->c;
	const size_t p = (size_t)c->size;
	*g = (groups){ .of = mem_array(&env->m, p, sizeof *g->of, "groups", &env->e) };
	search x = { .env = env, .t = t, .of = g->of, .own = c->rank };
	x.first = mem_array(&env->m, p, sizeof *x.first, "hosts", &env->e);
	status rc = comm_agree(c, g->of && x.first ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK && c->process_ranks < c->size) {
		x.id = unique_number();
		rc = find_hosts(env, x.first);
		if (rc == ST_OK)
			rc = comm_bcast(c, &x.id, sizeof x.id, 0);
		const int32_t host = x.first[c->rank];
		const bool follows = host >= 0 && host < c->rank;
		if (rc == ST_OK)
			rc = groups_look(&x, host == c->rank, follows ? host : 0,
					 follows ? host + 1 : c->rank);
		if (rc == ST_OK)
			rc = look_again(&x);
		unfinished_remove(&t->temp);
		t->id = 0;
	}
	/* a rank joins the group of the rank whose file it has found, if that rank precedes it */
	for (int32_t i = 0; rc == ST_OK && i < c->size; i++)
		g->of[i] = g->of[i] < 0 || g->of[i] >= i ? i : g->of[g->of[i]];
	for (int32_t i = 0; rc == ST_OK && i < c->size; i++) {
		g->own = g->of[c->rank];
		g->ranks += g->of[i] == g->own;
		g->place += i < c->rank && g->of[i] == g->own;
	}
	mem_free(&env->m, x.first);
	return rc;
}

/* --------------------------------------------------------------------------------------- names */

/* Return the part of the name after the number of the rank, or NULL. */
static const char *state_name_rest(const char *name, int64_t *rank)
{
	const char *at = strstr(name, RESUME_PREFIX);
	uint64_t n;
	if (!at)
		return NULL;
	at += strlen(RESUME_PREFIX);
	if (!number_at(&at, INT32_MAX, &n))
		return NULL;
	*rank = (int64_t)n;
	return at;
}

static bool is_own_name(const char *name)
{
	return strncmp(name, RESUME_PREFIX, strlen(RESUME_PREFIX)) == 0;
}

/* Return whether this is the name of a rank's state, of its lock or of its temporary file. */
static bool is_of_state(const char *name, int64_t *rank)
{
	const char *rest = state_name_rest(name, rank);
	if (!rest)
		return false;
	return is_own_name(name)
		       ? strcmp(rest, ".json") == 0
		       : strncmp(name, ".hetsort-", 9) == 0 && strncmp(rest, ".json.", 6) == 0;
}

void states_mark(DIR *d, bool *has)
{
	int64_t rank;
	for (const struct dirent *f; (f = readdir(d));)
		if (is_of_state(f->d_name, &rank) && rank < RESUME_MOST_RANKS)
			has[rank] = true;
}

unsigned states_count_strangers(DIR *d, const target *t, char *first, size_t bytes)
{
	unsigned n = 0;
	int64_t rank;
	rewinddir(d);
	for (const struct dirent *f; (f = readdir(d));) {
		const char *rest =
			is_own_name(f->d_name) ? state_name_rest(f->d_name, &rank) : NULL;
		const bool is_run = rest && strncmp(rest, ".run", 4) == 0 && rest[4] &&
				    rest[4 + strspn(rest + 4, "0123456789")] == '\0';
		if (!rest || (!is_run && strcmp(rest, ".json") != 0) ||
		    (t && target_reads(t, f->d_name)))
			continue;
		if (n++ == 0)
			snprintf(first, bytes, "%s", f->d_name);
	}
	return n;
}

uint64_t states_free_numbers(int dirfd, int32_t rank, uint64_t first, size_t n)
{
	char name[RESUME_NAME_BYTES];
	struct stat st;
	for (uint64_t i = first; i < first + n; i++) {
		resume_state_run_name(rank, i, name);
		if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			first = i + 1;
	}
	return first;
}

/* -------------------------------------------------------------------------------------- loading */

/* The input and the directory, as a rank sees them. */
typedef struct rank_view {
	uint64_t inputs; /* hash of the inputs */
	int64_t end;     /* set by the first rank of a group: the highest rank number that has a
			  * file in the directory, plus one */
} rank_view;

/* Look whether the workdir has a file of this name. */
static status states_find_file(const states_query *q, const char *name, bool *found, err *e)
{
	struct stat st;
	*found = fstatat(q->t->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	return *found || errno == ENOENT ? ST_OK
					 : err_refuse(e, errno, "cannot look at %s in workdir %s",
						      quoted(name), quoted(q->dir));
}

/* Refuse the state of another sort. */
static status states_compare(rank_env *env, const states_query *q, const resume_state *s,
			     int32_t rank, const char *path, const rank_view *view)
{
	err *e = &env->e;
	const uint64_t inputs = resume_state_inputs_hash(s);
	status rc = resume_state_fits(s, q->is, path, e);
	if (rc == ST_OK && q->in->per_rank)
		rc = resume_state_same_ranks(s, q->is, path, e);
	if (rc == ST_OK && s->rank != rank)
		rc = err_set(e, ST_REFUSED, "state %s is of rank %" PRId32 ", not of rank %" PRId32,
			     quoted(path), s->rank, rank);
	for (int i = 0; rc == ST_OK && !q->in->per_rank && i < env->c->size; i++)
		if (view[i].inputs == inputs)
			return ST_OK;
	return rc == ST_OK ? resume_state_same_inputs(s, q->is, q->in, path, e) : rc;
}

/* Load a state without the runs whose file is missing; their records are read again. */
static status states_add(rank_env *env, const states_query *q, const char *path, int32_t rank,
			 const rank_view *view, states *out)
{
	err *e = &env->e;
	char name[RESUME_NAME_BYTES];
	resume_state s;
	size_t n = 0;
	status rc = resume_state_load(path, &s, e);
	if (rc == ST_OK && !env->o->resume)
		rc = err_set(e, ST_REFUSED,
			     "workdir %s holds a sort that has not ended: --resume continues it, "
			     "--clean removes it",
			     quoted(q->dir));
	if (rc == ST_OK)
		rc = states_compare(env, q, &s, rank, path, view);
	for (size_t i = 0; rc == ST_OK && i < s.made.runs; i++) {
		bool found;
		resume_state_run_name(s.rank, s.made.run[i].number, name);
		rc = states_find_file(q, name, &found, e);
		s.made.run[n] = s.made.run[i];
		s.made.run[n].group = q->g->own;
		n += found;
	}
	s.made.runs = n;
	if (rc == ST_OK)
		out->s[out->count++] = s;
	else
		resume_state_free(&s);
	return rc;
}

/* Load the state of a rank, if it exists. This rank's own state is locked already. */
static status load_one(rank_env *env, const states_query *q, int32_t rank, const rank_view *view,
		       states *out)
{
	const bool locked = rank == env->c->rank;
	char name[RESUME_NAME_BYTES], *path;
	target t;
	bool found;
	resume_state_name(rank, name);
	status rc = states_find_file(q, name, &found, &env->e);
	if (rc != ST_OK)
		return rc;
	if (asprintf(&path, "%s/%s", q->dir, name) < 0)
		return err_set(&env->e, ST_RESOURCE, "no memory for a name");
	if (!found) {
		if (!locked)
			(void)target_sweep(path, 0, q->t->reads, &out->dir);
	} else if (locked) {
		rc = states_add(env, q, path, rank, view, out);
	} else {
		rc = target_open(&t, path, &env->e);
		t.reads = q->t->reads;
		t.patience_s = q->t->patience_s;
		if (rc == ST_OK)
			rc = target_lock(&t, &env->e);
		if (rc == ST_OK)
			rc = states_add(env, q, path, rank, view, out);
		target_discard(&t);
	}
	free(path);
	return rc;
}

status states_find(rank_env *env, const states_query *q, states *out)
{
	comm *c = env->c;
	rank_view mine = { .inputs = resume_state_inputs_hash(q->is) };
	int64_t rank;
	status rc;
	*out = (states){ .s = NULL };
	for (const struct dirent *f; q->list && (f = readdir(q->list));)
		if (is_of_state(f->d_name, &rank) && rank < RESUME_MOST_RANKS && rank >= mine.end)
			mine.end = rank + 1;
	rank_view *view = env_allgather(env, &mine, sizeof mine, "states", &rc);
	if (view) { /* the first rank of the group has read the directory */
		const int64_t end = view[q->g->own].end;
		const bool changed = view[c->rank].end != mine.end;
		/* its own state, and those that it loads for others */
		const size_t room = (size_t)(q->in->per_rank ? end : end / q->g->ranks) + 2;
		if (changed || end < 0 || end > RESUME_MOST_RANKS)
			rc = err_set(&env->e, ST_PEER,
				     "a message of rank %d has an invalid number of states",
				     changed ? c->rank : (int)q->g->own);
		else if (!(out->s = calloc(room, sizeof *out->s)))
			rc = err_set(&env->e, ST_RESOURCE, "no memory for %zu states", room);
		else
			rc = load_one(env, q, c->rank, view, out);
		/* If each rank has its own inputs, it can only compare its own state with them. The
		 * first rank of a group also loads states of ranks beyond this job's, to refuse
		 * them. */
		for (int64_t i = 0; rc == ST_OK && i < end; i++) {
			const bool assigned = q->in->per_rank ? q->g->place == 0 && i >= c->size
							      : i % q->g->ranks == q->g->place;
			const bool loads_itself = i < c->size && q->g->of[i] == q->g->own;
			if (assigned && !loads_itself)
				rc = load_one(env, q, (int32_t)i, view, out);
		}
		rc = comm_agree(c, rc);
	}
	mem_free(&env->m, view);
	return rc;
}

resume_state *states_of(const states *s, int32_t rank)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->s[i].rank == rank)
			return &s->s[i];
	return NULL;
}

void states_free(states *s)
{
	for (size_t i = 0; i < s->count; i++)
		resume_state_free(&s->s[i]);
	free(s->s);
	*s = (states){ .s = NULL };
}

bool states_remove_run(int dirfd, const run_note *n, unsigned *removed)
{
	char name[RESUME_NAME_BYTES];
	resume_state_run_name(n->rank, n->number, name);
	return file_remove(dirfd, name, &n->file, removed);
}

bool states_remove(int dirfd, const resume_state *s, unsigned *removed)
{
	bool all = true;
	char name[RESUME_NAME_BYTES];
	for (size_t i = 0; all && i < s->files.runs; i++)
		all = states_remove_run(dirfd, &s->files.run[i], removed);
	resume_state_name(s->rank, name);
	return all && (!s->self.inode || file_remove(dirfd, name, &s->self, removed));
}

static int states_by_file(const void *a_, const void *b_)
{
	const run_note *a = a_, *b = b_;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

bool states_uses(const run_list *used, const run_note *n)
{
	return used->runs && bsearch(n, used->run, used->runs, sizeof *n, states_by_file);
}

status states_remove_unused(int dirfd, const states *found, run_list *used, const char *dir,
			    unsigned *removed, err *e)
{
	if (used->runs)
		qsort(used->run, used->runs, sizeof *used->run, states_by_file);
	for (const resume_state *s = found->s; s < found->s + found->count; s++)
		for (size_t k = 0; k < s->files.runs; k++) {
			const run_note *n = &s->files.run[k];
			if (!states_uses(used, n) && !states_remove_run(dirfd, n, removed))
				return err_sys(e, errno,
					       "cannot remove run %" PRIu64 " of rank %" PRId32
					       " in %s",
					       n->number, s->rank, quoted(dir));
		}
	return ST_OK;
}

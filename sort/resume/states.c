/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first rank of a group reads the directory; states of ranks that this job has not in that
 * group are shared out. A state is looked at under its lock, so a job of more ranks that has not
 * ended is not taken for one that has. */
#include "states.h"
#include "number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What follows the number of the rank, NULL: there is none. */
static const char *rest_of(const char *name, int64_t *rank)
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

bool states_rank_of(const char *name, int64_t *rank)
{
	const char *rest = rest_of(name, rank);
	const bool own = strncmp(name, RESUME_PREFIX, strlen(RESUME_PREFIX)) == 0;
	if (!rest)
		return false;
	return own ? strcmp(rest, ".json") == 0
		   : strncmp(name, ".hetsort-", 9) == 0 && strncmp(rest, ".json.", 6) == 0;
}

bool states_is_name(const char *name)
{
	int64_t rank;
	const char *rest = rest_of(name, &rank), *number = ".run";
	if (!rest || strncmp(name, RESUME_PREFIX, strlen(RESUME_PREFIX)) != 0)
		return false;
	if (strncmp(rest, number, strlen(number)) != 0)
		return strcmp(rest, ".json") == 0;
	rest += strlen(number);
	return *rest && rest[strspn(rest, "0123456789")] == '\0';
}

/* One more than the highest rank that has a file there. */
static status look_through(const states_query *q, int64_t *end, err *e)
{
	char quoted[QUOTED_BYTES];
	int64_t rank;
	const int fd = openat(q->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	*end = 0;
	if (!d) {
		const status rc =
			err_refuse(e, errno, "cannot read workdir %s", err_quoted(q->dir, quoted));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (const struct dirent *f; (f = readdir(d));)
		if (states_rank_of(f->d_name, &rank) && rank < RESUME_MOST_RANKS && rank >= *end)
			*end = rank + 1;
	closedir(d);
	return ST_OK;
}

/* Look whether the workdir has a file of this name. */
static status find_file(const states_query *q, const char *name, bool *found, err *e)
{
	char quoted[2][QUOTED_BYTES];
	struct stat st;
	*found = fstatat(q->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	return *found || errno == ENOENT
		       ? ST_OK
		       : err_refuse(e, errno, "cannot look at %s in workdir %s",
				    err_quoted(name, quoted[0]), err_quoted(q->dir, quoted[1]));
}

/* Forget the runs whose file is missing: their records are read again. */
static status leave_out_missing(const states_query *q, resume_state *s, err *e)
{
	char name[RESUME_NAME_BYTES];
	size_t n = 0;
	for (size_t i = 0; i < s->made.runs; i++) {
		bool found;
		resume_state_run_name(s->rank, s->made.run[i].number, name);
		const status rc = find_file(q, name, &found, e);
		if (rc != ST_OK)
			return rc;
		s->made.run[n] = s->made.run[i];
		s->made.run[n].group = q->g->own;
		n += found;
	}
	s->made.runs = n;
	return ST_OK;
}

/* Is it of this very sort? known: hashes of the inputs, as each rank sees them. */
static status compare(const states_query *q, const resume_state *s, int32_t rank, const char *path,
		      const uint64_t *known, err *e)
{
	char quoted[QUOTED_BYTES];
	const uint64_t inputs = resume_state_inputs_hash(s);
	status rc = resume_state_fits(s, q->is, path, e);
	if (rc == ST_OK && q->in->per_rank)
		rc = resume_state_same_ranks(s, q->is, path, e);
	if (rc == ST_OK && s->rank != rank)
		rc = err_set(e, ST_REFUSED, "state %s is of rank %" PRId32 ", not of %" PRId32,
			     err_quoted(path, quoted), s->rank, rank);
	if (rc != ST_OK)
		return rc;
	for (int i = 0; !q->in->per_rank && i < q->c->size; i++)
		if (known[i] == inputs)
			return ST_OK;
	return resume_state_same_inputs(s, q->is, q->in, path, e);
}

static status add(const states_query *q, const char *path, int32_t rank, const uint64_t *known,
		  states *out, err *e)
{
	char quoted[QUOTED_BYTES];
	resume_state s;
	status rc = resume_state_load(path, &s, e);
	if (rc == ST_OK && !q->resume)
		rc = err_set(e, ST_REFUSED,
			     "workdir %s holds a sort that has not ended: --resume continues it, "
			     "--clean removes it",
			     err_quoted(q->dir, quoted));
	if (rc == ST_OK)
		rc = compare(q, &s, rank, path, known, e);
	if (rc == ST_OK)
		rc = leave_out_missing(q, &s, e);
	if (rc == ST_OK && out->count == out->room) {
		const size_t room = 2 * out->room + 1;
		resume_state *more = realloc(out->s, room * sizeof *more);
		if (more) {
			out->s = more;
			out->room = room;
		} else {
			rc = err_set(e, ST_RESOURCE, "no memory for %zu states", room);
		}
	}
	if (rc != ST_OK) {
		resume_state_free(&s);
		return rc;
	}
	out->most = s.ranks > out->most ? s.ranks : out->most;
	out->s[out->count++] = s;
	return ST_OK;
}

/* That of a rank of this job is locked already. */
static status load_one(const states_query *q, int32_t rank, bool locked, const uint64_t *known,
		       states *out, err *e)
{
	char name[RESUME_NAME_BYTES], *path;
	unsigned removed;
	target t;
	bool found;
	resume_state_name(rank, name);
	status rc = find_file(q, name, &found, e);
	if (rc != ST_OK)
		return rc;
	if (asprintf(&path, "%s/%s", q->dir, name) < 0)
		return err_set(e, ST_RESOURCE, "no memory for a name");
	if (!found) {
		if (!locked)
			(void)target_sweep(path, 0, q->reads, &out->dir);
	} else if (locked) {
		rc = add(q, path, rank, known, out, e);
	} else {
		rc = target_open(&t, path, e);
		t.reads = q->reads;
		t.patience_s = q->patience_s;
		if (rc == ST_OK)
			rc = target_lock(&t, &removed, e);
		if (rc == ST_OK)
			rc = add(q, path, rank, known, out, e);
		target_discard(&t);
	}
	free(path);
	return rc;
}

/* This rank's own, and its part of those that no rank of the group has; of inputs of each rank only
 * its own can be judged, and the leader sees whether there are others. */
static status load_all(const states_query *q, int64_t end, const uint64_t *known, states *out,
		       err *e)
{
	const comm *c = q->c;
	const bool leads = q->g->place == 0;
	status rc = load_one(q, c->rank, true, known, out, e);
	for (int64_t i = 0; rc == ST_OK && i < end; i++) {
		const bool mine =
			q->in->per_rank ? leads && i >= c->size : i % q->g->ranks == q->g->place;
		if (mine && !groups_has(c, q->g, i))
			rc = load_one(q, (int32_t)i, false, known, out, e);
	}
	return rc;
}

status states_find(const states_query *q, states *out, err *e)
{
	comm *c = q->c;
	const size_t p = (size_t)c->size;
	const uint64_t inputs = resume_state_inputs_hash(q->is);
	int64_t end = 0;
	*out = (states){ .s = NULL };
	uint64_t *known = mem_array(q->m, p, sizeof *known, "inputs", e);
	int64_t *ends = mem_array(q->m, p, sizeof *ends, "states", e);
	status rc = known && ends ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK && q->g->place == 0)
		rc = look_through(q, &end, e);
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_allgather(c, &inputs, known, sizeof inputs);
	if (rc == ST_OK)
		rc = comm_allgather(c, &end, ends, sizeof end);
	if (rc == ST_OK) {
		end = ends[q->g->own];
		end = end < RESUME_MOST_RANKS ? end : RESUME_MOST_RANKS; /* whatever was said */
		rc = comm_agree(c, load_all(q, end, known, out, e));
	}
	mem_free(q->m, known);
	mem_free(q->m, ends);
	return rc;
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

static int by_rank(const void *a_, const void *b_)
{
	const int64_t a = *(const int64_t *)a_, b = *(const int64_t *)b_;
	return (a > b) - (a < b);
}

/* The ranks that have states or locks there, each once. */
status states_list(DIR *d, int64_t **ranks, size_t *count, err *e)
{
	size_t room = 0, n = 0;
	int64_t rank;
	*ranks = NULL;
	*count = 0;
	for (const struct dirent *f; (f = readdir(d));) {
		if (!states_rank_of(f->d_name, &rank))
			continue;
		if (n == room) {
			room = 2 * room + 16;
			int64_t *more = realloc(*ranks, room * sizeof *more);
			if (!more)
				return err_set(e, ST_RESOURCE, "no memory for %zu states", room);
			*ranks = more;
		}
		(*ranks)[n++] = rank;
	}
	if (n)
		qsort(*ranks, n, sizeof **ranks, by_rank);
	for (size_t i = 0; i < n; i++)
		if (*count == 0 || (*ranks)[i] != (*ranks)[*count - 1])
			(*ranks)[(*count)++] = (*ranks)[i];
	return ST_OK;
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

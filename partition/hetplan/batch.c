/* SPDX-License-Identifier: GPL-3.0-or-later */
/* batch.c - one request a line in, one answer a line out. A bad line is answered too, and
 * the batch goes on.
 * May not touch: what a request means. Costs one line of memory, bounded by the limits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hetplan.h"

/* An object that begins with the request's id, if that is known, and the status. */
static json_t *begin(const struct hp_job *job, const char *status)
{
	json_t *a = json_object(), *id = json_object_get(job->in, "id");

	if ((id && json_object_set(a, "id", id) != 0) ||
	    json_object_set_new(a, "status", json_string(status)) != 0) {
		json_decref(a);
		return NULL;
	}
	return a;
}

static json_t *refusal(const struct hp_job *job)
{
	json_t *a = begin(job, "error");

	if (a && json_object_set_new(a, "message", json_string(job->text)) != 0) {
		json_decref(a);
		return NULL;
	}
	return a;
}

static json_t *success(const struct hp_job *job)
{
	json_t *a = begin(job, "ok");

	if (a && json_object_update(a, job->out) != 0) {
		json_decref(a);
		return NULL;
	}
	return a;
}

json_t *hp_answer(const char *line, size_t bytes, size_t number, const struct hp_limits *limits,
		  bool *ok)
{
	struct hp_job job;
	json_t *a;

	*ok = hp_job_init(&job, limits, NULL) && hp_parse(&job, line, bytes, number) &&
	      (limits->time_limit_s >= 0 || hp_fail(&job, NULL, "the batch is out of time")) &&
	      hp_run(&job);
	a = *ok ? success(&job) : refusal(&job);
	hp_job_free(&job);
	return a;
}

/* A line that grows up to the limit; the rest of a longer one is read and dropped. */
struct line {
	char *text;
	size_t bytes, room;
};

static bool add(struct line *l, char c, size_t limit)
{
	if (l->bytes > limit)
		return true; /* one byte over is enough for the parser to refuse it */
	if (l->bytes == l->room) {
		size_t room = l->room ? 2 * l->room : 4096;
		char *text = realloc(l->text, room);
		if (!text)
			return false;
		l->text = text;
		l->room = room;
	}
	l->text[l->bytes++] = c;
	return true;
}

enum got { GOT_LINE, GOT_END, GOT_NO_MEMORY };

static enum got read_line(FILE *in, struct line *l, size_t limit)
{
	int c;

	l->bytes = 0;
	while ((c = getc_unlocked(in)) != EOF && c != '\n')
		if (!add(l, (char)c, limit))
			return GOT_NO_MEMORY;
	return c == EOF && l->bytes == 0 ? GOT_END : GOT_LINE;
}

static double now_s(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail: the clock is always there */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Answer one line; false if the answer cannot be made or written. */
static bool one(const struct line *l, size_t number, FILE *out, const struct hp_limits *limits,
		bool *ok)
{
	json_t *a = hp_answer(l->text ? l->text : "", l->bytes, number, limits, ok);
	bool written;

	if (!a) {
		hp_say("line %zu: out of memory for the answer", number);
		return false;
	}
	written = hp_write_json(out, a) && fflush(out) == 0;
	if (!written)
		hp_say("cannot write '%s': %s", "standard output", strerror(errno));
	json_decref(a);
	return written;
}

int hp_batch(FILE *in, const char *name, FILE *out, const struct hp_limits *limits, double time_s)
{
	struct hp_limits left = *limits;
	double end_s = now_s() + time_s;
	struct line l = { 0 };
	bool all = true, ok, going = true;
	enum got got = GOT_END;

	for (size_t number = 1;
	     going && (got = read_line(in, &l, limits->line_bytes)) == GOT_LINE && !ferror(in);
	     number++) {
		if (time_s > 0)
			left.time_limit_s = end_s - now_s();
		going = one(&l, number, out, &left, &ok);
		all = all && ok;
	}
	free(l.text);
	if (got == GOT_NO_MEMORY)
		hp_say("out of memory for a line of '%s'", name);
	if (ferror(in))
		hp_say("cannot read '%s': %s", name, strerror(errno));
	return !all || !going || got == GOT_NO_MEMORY || ferror(in);
}

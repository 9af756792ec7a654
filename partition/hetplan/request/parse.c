/* SPDX-License-Identifier: GPL-3.0-or-later */
/* parse.c - bytes to a request object. A first pass bounds depth and number of values, so
 * that no line makes the parser take more memory than the limits say.
 * May not touch: what the request means. Costs two passes over the bytes. */
#include <errno.h>

#include "request.h"

struct scan {
	size_t depth, deepest, values;
};

/* Where a string that begins at i ends: its closing quote, or n. */
static size_t string_end(const char *text, size_t n, size_t i)
{
	for (i++; i < n && text[i] != '"'; i++)
		if (text[i] == '\\')
			i++;
	return i;
}

static struct scan look_over(const char *text, size_t n)
{
	struct scan s = { 0, 0, 1 };

	for (size_t i = 0; i < n; i++) {
		switch (text[i]) {
		case '"':
			i = string_end(text, n, i);
			break;
		case '[':
		case '{':
			s.depth++;
			s.values++;
			if (s.depth > s.deepest)
				s.deepest = s.depth;
			break;
		case ']':
		case '}':
			s.depth -= s.depth > 0;
			break;
		case ',':
			s.values++;
			break;
		default:
			break;
		}
	}
	return s;
}

static bool small_enough(struct hp_job *job, const char *text, size_t n, size_t line)
{
	const struct hp_limits *lim = job->limits;
	struct scan s;

	if (n > lim->line_bytes)
		return hp_fail(job, NULL, "line %zu: longer than %zu bytes", line, lim->line_bytes);
	s = look_over(text, n);
	if (s.deepest > lim->depth)
		return hp_fail(job, NULL, "line %zu: nested more than %zu deep", line, lim->depth);
	if (s.values > lim->values)
		return hp_fail(job, NULL, "line %zu: more than %zu values", line, lim->values);
	return true;
}

static bool blank(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
		i++;
	return i == n;
}

bool hp_parse(struct hp_job *job, const char *text, size_t bytes, size_t line)
{
	json_error_t e;

	if (!small_enough(job, text, bytes, line))
		return false;
	if (blank(text, bytes))
		return hp_fail(job, NULL, "line %zu: empty, want a request", line);
	errno = 0;
	job->in = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &e);
	if (!job->in && errno == ENOMEM) /* which jansson has no words for */
		return hp_fail(job, NULL, "line %zu: out of memory", line);
	if (!job->in)
		return hp_fail(job, NULL, "line %zu, column %d: %s",
			       line + (e.line > 0 ? (size_t)e.line - 1 : 0), e.column, e.text);
	if (!json_is_object(job->in))
		return hp_fail(job, NULL, "line %zu: want a request in {...}", line);
	return hp_repeat(job);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strict parsing of speeds. The parser works on a counted buffer and trusts nothing in it; a file
 * is read whole, and refused beyond MAX_FILE_BYTES. */
#include "speeds.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 4 << 20, NUMBER_BYTES = 40 };

typedef struct cursor {
	const char *at, *end;
	size_t line;
} cursor;

static bool is_gap(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* To the next thing that counts. */
static void skip_gaps(cursor *c)
{
	bool comment = false;
	for (; c->at < c->end; c->at++) {
		comment = (comment || *c->at == '#') && *c->at != '\n';
		if (!comment && !is_gap(*c->at))
			break;
		c->line += *c->at == '\n';
	}
}

/* The word under the cursor, up to a gap, a comma or a comment. */
static size_t word(const cursor *c)
{
	const char *p = c->at;
	while (p < c->end && !is_gap(*p) && *p != ',' && *p != '#')
		p++;
	return (size_t)(p - c->at);
}

static status bad_number(const cursor *c, size_t len, const char *name, const char *why, err *e)
{
	char q[QUOTED_BYTES], qn[QUOTED_BYTES], shown[NUMBER_BYTES];
	const size_t n = len < sizeof shown - 1 ? len : sizeof shown - 1;
	memcpy(shown, c->at, n);
	shown[n] = '\0';
	return err_set(e, ST_REFUSED, "speeds %s, line %zu: %s is no speed: %s", quoted(name, qn),
		       c->line, quoted(shown, q), why);
}

static status one_speed(cursor *c, const char *name, double *speed, err *e)
{
	char text[NUMBER_BYTES], *rest;
	const size_t len = word(c);
	if (len == 0 || len >= sizeof text || memchr(c->at, '\0', len))
		return bad_number(c, len, name, "a number is wanted", e);
	memcpy(text, c->at, len);
	text[len] = '\0';
	*speed = strtod(text, &rest);
	if (*rest || rest == text)
		return bad_number(c, len, name, "a number is wanted", e);
	if (!isfinite(*speed) || !(*speed > 0))
		return bad_number(c, len, name, "it must be finite and above zero", e);
	c->at += len;
	return ST_OK;
}

status speeds_parse(const char *text, size_t len, const char *name, double *speed, size_t n, err *e)
{
	cursor c = { text, text + len, 1 };
	char q[QUOTED_BYTES];
	size_t got = 0;
	for (skip_gaps(&c); c.at < c.end; skip_gaps(&c)) {
		double v = 0;
		const status rc = one_speed(&c, name, &v, e);
		if (rc != ST_OK)
			return rc;
		if (got < n)
			speed[got] = v;
		got++;
		skip_gaps(&c);
		if (c.at < c.end && *c.at == ',') {
			c.at++;
			skip_gaps(&c);
			if (c.at == c.end)
				return err_set(e, ST_REFUSED, "speeds %s end with a comma",
					       quoted(name, q));
		}
	}
	if (got != n)
		return err_set(e, ST_REFUSED, "speeds %s: %zu are given, but there are %zu ranks",
			       quoted(name, q), got, n);
	return ST_OK;
}

static status parse_file(int fd, const char *path, double *speed, size_t n, err *e)
{
	char q[QUOTED_BYTES], *text = malloc(MAX_FILE_BYTES + 1);
	size_t got = 0;
	if (!text)
		return err_set(e, ST_RESOURCE, "no memory for %s", quoted(path, q));
	status rc = file_read_some(fd, text, MAX_FILE_BYTES + 1, &got, path, e);
	if (rc == ST_OK && got > MAX_FILE_BYTES)
		rc = err_set(e, ST_REFUSED, "speeds file %s is larger than %d bytes",
			     quoted(path, q), MAX_FILE_BYTES);
	if (rc == ST_OK)
		rc = speeds_parse(text, got, path, speed, n, e);
	free(text);
	return rc;
}

status speeds_load(const char *arg, double *speed, size_t n, err *e)
{
	char q[QUOTED_BYTES];
	const bool is_list = strspn(arg, "0123456789.,+-eE \t") == strlen(arg) && *arg;
	const int fd = open(arg, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && is_list)
		return speeds_parse(arg, strlen(arg), arg, speed, n, e);
	if (fd < 0)
		return err_set(e, ST_REFUSED, "cannot open speeds file %s: %s", quoted(arg, q),
			       strerror(errno));
	const status rc = parse_file(fd, arg, speed, n, e);
	close(fd);
	return rc == ST_IO ? ST_REFUSED : rc;
}

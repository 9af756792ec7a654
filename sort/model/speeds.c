/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A strict parser of one number for each rank, see rank_speeds.h. The parser works on a counted
 * buffer and trusts nothing in it. Files larger than MAX_FILE_BYTES are refused. */
#include "rank_speeds.h"
#include "base/size.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 4 << 20, NUMBER_BYTES = 80 };

typedef struct cursor {
	const char *at, *end;
	size_t line;      /* 0: the text is a list on the command line */
	const char *name; /* of the whole text, for messages */
	const speeds_want *want;
	size_t column; /* of the numbers to read; the host's name is column 0 */
} cursor;

static bool speeds_is_gap(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Move to the next word or comma. */
static void speeds_skip_gaps(cursor *c)
{
	bool comment = false;
	for (; c->at < c->end; c->at++) {
		comment = (comment || *c->at == '#') && *c->at != '\n';
		if (!comment && !speeds_is_gap(*c->at))
			break;
		c->line += *c->at == '\n' && c->line;
	}
}

/* A word ends at white space, at a comma outside of brackets, or at a comment. */
typedef struct word {
	const char *at;
	size_t len, line;
	bool comma; /* a comma follows on the same line */
} word;

/* Read a word, and move to the next word. */
static word speeds_next_word(cursor *c)
{
	word w = { .at = c->at, .line = c->line };
	bool in_brackets = false;
	for (; c->at < c->end && !speeds_is_gap(*c->at) && *c->at != '#' &&
	       (in_brackets || *c->at != ',');
	     c->at++)
		in_brackets = (in_brackets || *c->at == '[') && *c->at != ']';
	w.len = (size_t)(c->at - w.at);
	speeds_skip_gaps(c);
	w.comma = c->at < c->end && *c->at == ',' && c->line == w.line;
	c->at += w.comma;
	speeds_skip_gaps(c);
	return w;
}

static bool word_is(const word *w, const char *text)
{
	return w->len == strlen(text) && memcmp(w->at, text, w->len) == 0;
}

/* Refuse a word, which may contain any bytes. */
static status speeds_refuse(const cursor *c, const char *kind, const word *w, const char *why,
			    err *e)
{
	char text[NUMBER_BYTES], line[40] = "";
	snprintf(text, sizeof text, "%.*s", (int)(w->len < sizeof text ? w->len : sizeof text),
		 w->at);
	if (w->line)
		snprintf(line, sizeof line, ", line %zu", w->line);
	return err_set(e, ST_REFUSED, "%ss %s%s: %s%s %s", c->want->what, quoted(c->name), line,
		       kind, quoted(text), why);
}

/* Convert a word to a number of any size and sign. Return false if it is not a number. */
static bool to_number(const word *w, double *v)
{
	char text[NUMBER_BYTES], *rest;
	if (w->len == 0 || w->len >= sizeof text || memchr(w->at, '\0', w->len))
		return false;
	memcpy(text, w->at, w->len);
	text[w->len] = '\0';
	*v = strtod(text, &rest);
	return !*rest && rest != text;
}

static status speeds_number(const cursor *c, const word *w, double *v, err *e)
{
	const bool number = to_number(w, v);
	const char *why = !number && w->line ? "it must be a number"
			  : !number          ? "it must be a number, or the name of a file"
			  : !isfinite(*v) || !(*v > 0) ? "it must be finite and above zero"
						       : NULL;
	char text[NUMBER_BYTES];
	if (!why)
		return ST_OK;
	snprintf(text, sizeof text, "is not a valid %s: %s", c->want->what, why);
	return speeds_refuse(c, "", w, text, e);
}

static status parse_numbers(cursor *c, double *speed, err *e)
{
	const speeds_want *want = c->want;
	size_t got = 0;
	while (c->at < c->end) {
		double v = 0;
		word w = speeds_next_word(c);
		const status rc = speeds_number(c, &w, &v, e);
		if (rc != ST_OK)
			return rc;
		if (got < want->n)
			speed[got] = v;
		got++;
		if (!w.comma && c->at < c->end && *c->at == ',') { /* on a later line */
			w.comma = true;
			c->at++;
			speeds_skip_gaps(c);
		}
		if (w.comma && c->at == c->end)
			return err_set(e, ST_REFUSED, "%ss %s end with a comma", want->what,
				       quoted(c->name));
	}
	if (got != want->n)
		return err_set(e, ST_REFUSED, "%ss %s: %zu given, but there %s %zu rank%s",
			       want->what, quoted(c->name), got, want->n == 1 ? "is" : "are",
			       want->n, plural(want->n));
	return ST_OK;
}

enum { MOST_DIGITS = 18 }; /* fit a uint64_t, whatever they are */

typedef struct number {
	uint64_t value;
	size_t digits; /* 0: no number */
	bool padded;   /* has leading zeros */
} number;

/* Read the digits from p on. */
static number range_number(const char *p, const char *end)
{
	number n = { 0, 0, false };
	while (p + n.digits < end && p[n.digits] >= '0' && p[n.digits] <= '9')
		n.digits++;
	if (n.digits > MOST_DIGITS)
		n.digits = 0;
	for (size_t i = 0; i < n.digits; i++)
		n.value = 10 * n.value + (uint64_t)(p[i] - '0');
	n.padded = n.digits > 1 && *p == '0';
	return n;
}

/* Read a number, or a pair FROM-TO. Return the end of this text, or NULL if it is neither. */
static const char *one_range(const char *p, const char *end, number *from, number *to)
{
	*from = *to = range_number(p, end);
	p += from->digits;
	if (from->digits && p < end && *p == '-') {
		*to = range_number(++p, end);
		p += to->digits;
	}
	return to->digits && from->value <= to->value ? p : NULL;
}

bool speeds_range_is_sound(const char *range, size_t len)
{
	const char *p = range, *const end = range + len;
	number from, to;
	while ((p = memchr(p, '[', (size_t)(end - p))) != NULL) {
		do
			p = one_range(p + 1, end, &from, &to);
		while (p && p < end && *p == ',');
		if (!p || p == end || *p != ']')
			return false;
	}
	return true;
}

bool speeds_range_has(const char *range, size_t len, const char *host)
{
	const char *p = range, *const end = range + len;
	while (p < end && *p != '[') {
		if (!*host || *p++ != *host++) /* a range may contain a zero byte */
			return false;
	}
	if (p == end)
		return !*host;
	const number n = range_number(host, host + strlen(host));
	bool has = false;
	do { /* p is at '[' or ',' */
		number from, to;
		p = one_range(p + 1, end, &from, &to);
		has |= n.value >= from.value && n.value <= to.value &&
		       (from.padded ? n.digits == from.digits : !n.padded);
	} while (*p == ',');
	p++;
	return n.digits && has && speeds_range_has(p, (size_t)(end - p), host + n.digits);
}

/* Set the number of all ranks on a host, or on the hosts of a range. Hosts of a range may have no
 * ranks. Ranks without a number have 0. */
static status speeds_set(const cursor *c, const word *host, double v, double *speed, err *e)
{
	const speeds_want *w = c->want;
	bool known = memchr(host->at, '[', host->len) != NULL;
	if (!speeds_range_is_sound(host->at, host->len))
		return speeds_refuse(c, "host ", host,
				     "is not a range of hosts such as node[1-48,50]", e);
	for (size_t i = 0; i < w->n; i++) {
		if (!speeds_range_has(host->at, host->len, speeds_host(w, i)))
			continue;
		if (speed[i] > 0)
			return speeds_refuse(c, "host ", host, "is listed twice", e);
		speed[i] = v;
		known = true;
	}
	return known ? ST_OK : speeds_refuse(c, "host ", host, "has no rank", e);
}

/* Skip the rest of the line, which has columns of other numbers. */
static void speeds_skip_line(cursor *c)
{
	const char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
	c->at = stop ? stop : c->end;
	speeds_skip_gaps(c);
}

/* Skip a first line of column names such as name,speed, and find the column to read. */
static void speeds_skip_header(cursor *c)
{
	cursor h = *c;
	size_t found = 0;
	word w = speeds_next_word(&h);
	if (!word_is(&w, "name") && !word_is(&w, "host"))
		return;
	for (size_t column = 1; w.comma && w.line == c->line; column++) {
		w = speeds_next_word(&h);
		if (!found && w.line == c->line && word_is(&w, c->want->what))
			found = column;
	}
	if (!found)
		return;
	speeds_skip_line(c);
	c->column = found;
}

/* Read one line HOST NUMBER, or HOST,NUMBER, or HOST,COLUMN,...,NUMBER. */
static status speeds_host_line(cursor *c, double *speed, err *e)
{
	const word host = speeds_next_word(c);
	word w = host;
	double v = 0;
	size_t k = 1;
	for (; k < c->column && w.comma && c->line == host.line; k++)
		w = speeds_next_word(c);
	const bool comma = w.comma;
	if (host.len == 0 || k < c->column || (k > 1 && !comma) || c->line != host.line ||
	    c->at == c->end)
		return speeds_refuse(c, "host ", &host, "is not followed by a number", e);
	w = speeds_next_word(c);
	status rc = speeds_number(c, &w, &v, e);
	if (rc == ST_OK)
		rc = speeds_set(c, &host, v, speed, e);
	if (rc == ST_OK && comma && w.comma && c->line == host.line)
		speeds_skip_line(c);
	else if (rc == ST_OK && ((w.comma && !comma) || (c->at < c->end && c->line == host.line)))
		rc = speeds_refuse(c, "host ", &host, "is followed by more than a number", e);
	return rc;
}

status speeds_parse(const char *text, size_t len, const char *name, const speeds_want *w,
		    double *speed, err *e)
{
	cursor c = { text, text + len, 1, name, w, 1 };
	status rc = ST_OK;
	double v;
	speeds_skip_gaps(&c);
	cursor ahead = c;
	const word first = speeds_next_word(&ahead);
	if (first.len == 0 || to_number(&first, &v))
		return parse_numbers(&c, speed, e);
	for (size_t i = 0; i < w->n; i++)
		speed[i] = 0;
	speeds_skip_header(&c);
	while (rc == ST_OK && c.at < c.end)
		rc = speeds_host_line(&c, speed, e);
	for (size_t i = 0; rc == ST_OK && i < w->n; i++)
		if (!(speed[i] > 0))
			rc = err_set(e, ST_REFUSED, "%ss %s do not name host %s of rank %zu",
				     w->what, quoted(name), quoted(speeds_host(w, i)), i);
	return rc;
}

status speeds_load(const char *arg, const speeds_want *w, double *speed, err *e)
{
	const int fd = open(arg, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	/* arg looks more like numbers than like the name of a missing file */
	const bool like_list =
		*arg && !strchr(arg, '/') && (strchr("0123456789+-.", *arg) || strchr(arg, ','));
	if (fd < 0 && like_list) {
		cursor c = { arg, arg + strlen(arg), 0, arg, w, 1 };
		speeds_skip_gaps(&c);
		return parse_numbers(&c, speed, e);
	}
	if (fd < 0)
		return err_set(e, ST_REFUSED, "cannot open %ss file %s: %s", w->what, quoted(arg),
			       strerror(errno));
	char most[SIZE_TEXT_BYTES], *text = malloc(MAX_FILE_BYTES + 1);
	size_t got = 0;
	status rc = text ? file_read_some(fd, text, MAX_FILE_BYTES + 1, &got, arg, e)
			 : err_set(e, ST_RESOURCE, "no memory for %s", quoted(arg));
	if (rc == ST_OK && got > MAX_FILE_BYTES)
		rc = err_set(e, ST_REFUSED, "%ss file %s is larger than %s", w->what, quoted(arg),
			     size_text(MAX_FILE_BYTES, most));
	if (rc == ST_OK)
		rc = speeds_parse(text, got, arg, w, speed, e);
	free(text);
	close(fd);
	return rc == ST_IO ? ST_REFUSED : rc;
}

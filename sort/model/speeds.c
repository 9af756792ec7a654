/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A strict parser of one number for each rank, see rank_speeds.h. The parser works on a counted
 * buffer and trusts nothing in it. Files larger than MAX_FILE_BYTES are refused. */
#include "rank_speeds.h"
#include "base/arith.h"
#include "base/size.h"
#include "io/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 4 << 20, NUMBER_BYTES = 80 };

/* Predicted times are products and quotients of such numbers, and must fit a double. */
static const double LEAST = 1e-30, MOST = 1e30;

typedef struct cursor {
	const char *at, *end;
	size_t line;      /* 0: the text is a list on the command line */
	const char *name; /* of the whole text, for messages */
	const speeds_want *want;
	size_t column;       /* of the numbers to read; the host's name is column 0 */
	const size_t *order; /* ranks by the names of their hosts, see by_host */
	bool alike;          /* second pass: set numbers of hosts that no line names exactly */
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
			  : !(*v >= LEAST && *v <= MOST) ? "it must be from 1e-30 to 1e30"
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

host_match speeds_range_match(const char *range, size_t len, const char *host)
{
	const char *p = range, *const end = range + len;
	host_match m = HOST_SAME;
	for (;; p++) {
		for (; p < end && *p != '['; p++, host++) {
			if (!*host) /* a range may contain a zero byte */
				return *p == '.' && p > range ? HOST_ALIKE : HOST_OTHER;
			if (tolower((unsigned char)*p) != tolower((unsigned char)*host))
				return HOST_OTHER;
			if (*p != *host)
				m = HOST_ALIKE;
		}
		if (p == end)
			return !*host ? m : *host == '.' ? HOST_ALIKE : HOST_OTHER;
		const number n = range_number(host, host + strlen(host));
		bool has = false;
		do { /* p is at '[' or ',' */
			number from, to;
			p = one_range(p + 1, end, &from, &to);
			has |= n.value >= from.value && n.value <= to.value &&
			       (from.padded ? n.digits == from.digits : !n.padded);
		} while (*p == ',');
		if (!n.digits || !has)
			return HOST_OTHER;
		host += n.digits;
	}
}

/* Compare names without their domains and without regard to case. Names that match a host have the
 * same short name. */
static int compare_short(const char *a, size_t len, const char *b)
{
	for (size_t i = 0;; i++) {
		const int x = i < len && a[i] != '.' ? tolower((unsigned char)a[i]) : 0;
		const int y = b[i] != '.' ? tolower((unsigned char)b[i]) : 0;
		if (x != y || !x)
			return x - y;
	}
}

/* Order ranks by the short names of their hosts, then by the whole names. */
static int by_host(const void *a, const void *b, void *want)
{
	const char *x = speeds_host(want, *(const size_t *)a);
	const char *y = speeds_host(want, *(const size_t *)b);
	const int differ = compare_short(x, strlen(x), y);
	return differ ? differ : strcmp(x, y);
}

/* Refuse a word that names no host with a rank, and name these hosts, as far as there is room. */
static status refuse_host(const cursor *c, const word *host, err *e)
{
	enum { SHOWN_BYTES = 160 };
	char why[SHOWN_BYTES + QUOTED_BYTES] = "has no rank; hosts with ranks: ";
	size_t at = strlen(why), left = 0;
	const char *last = NULL;
	for (size_t i = 0; i < c->want->n; i++) {
		const char *name = speeds_host(c->want, c->order[i]);
		if (last && strcmp(last, name) == 0)
			continue;
		if (at < SHOWN_BYTES)
			at += (size_t)snprintf(why + at, sizeof why - at, "%s%s", last ? ", " : "",
					       quoted(name));
		else
			left++;
		last = name;
	}
	if (left)
		snprintf(why + at, sizeof why - at, " and %zu more", left);
	return speeds_refuse(c, "host ", host, why, e);
}

/* Set the number of ranks whose hosts have one short name: order[0, n). Hosts that are only alike
 * are set in the second pass, when all hosts are known that lines name exactly. Then the number is
 * negative, which distinguishes it from exact ones. */
static status set_alike(const cursor *c, const word *host, const size_t *order, size_t n, double v,
			double *speed, bool *known, err *e)
{
	const char *found = NULL;
	char why[2 * QUOTED_BYTES];
	bool same = false;
	for (size_t i = 0; i < n && !same; i++)
		same = speeds_range_match(host->at, host->len, speeds_host(c->want, order[i])) ==
		       HOST_SAME;
	*known |= same;
	for (size_t i = 0; i < n && same != c->alike; i++) {
		const char *name = speeds_host(c->want, order[i]);
		double *to = &speed[order[i]];
		if (speeds_range_match(host->at, host->len, name) !=
			    (same ? HOST_SAME : HOST_ALIKE) ||
		    (c->alike && *to > 0))
			continue;
		if (*to > 0)
			return speeds_refuse(c, "host ", host, "is listed twice", e);
		if (*to < 0)
			snprintf(why, sizeof why, "and an earlier line both name %s", quoted(name));
		else if (c->alike && found && strcmp(found, name) != 0)
			snprintf(why, sizeof why, "may be %s or %s: write the whole name",
				 quoted(found), quoted(name));
		else {
			*to = c->alike ? -v : v;
			found = name;
			*known = true;
			continue;
		}
		return speeds_refuse(c, "host ", host, why, e);
	}
	return ST_OK;
}

/* Set the number of all ranks on a host, or on the hosts of a range. Hosts of a range may have no
 * ranks. Ranks without a number have 0. */
static status speeds_set(const cursor *c, const word *host, double v, double *speed, err *e)
{
	const speeds_want *w = c->want;
	const bool range = memchr(host->at, '[', host->len) != NULL;
	bool known = range;
	status rc = ST_OK;
	lower_bound first = { .lo = 0, .hi = range ? 0 : w->n };
	if (!speeds_range_is_sound(host->at, host->len))
		return speeds_refuse(c, "host ", host,
				     "is not a range of hosts such as node[1-48,50]", e);
	while (lower_bound_open(&first))
		lower_bound_step(&first, compare_short(host->at, host->len,
						       speeds_host(w, c->order[first.mid])) > 0);
	for (size_t i = first.lo, n; rc == ST_OK && i < w->n; i += n) {
		const char *name = speeds_host(w, c->order[i]);
		const size_t len = strlen(name);
		if (!range && compare_short(host->at, host->len, name) != 0)
			break;
		for (n = 1; i + n < w->n; n++)
			if (compare_short(name, len, speeds_host(w, c->order[i + n])) != 0)
				break;
		rc = set_alike(c, host, c->order + i, n, v, speed, &known, e);
	}
	return rc != ST_OK || known || !c->alike ? rc : refuse_host(c, host, e);
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
	const cursor start = { text, text + len, 1, name, w, 1, NULL, false };
	cursor c = start;
	status rc = ST_OK;
	double v;
	speeds_skip_gaps(&c);
	cursor ahead = c;
	const word first = speeds_next_word(&ahead);
	if (first.len == 0 || to_number(&first, &v))
		return parse_numbers(&c, speed, e);
	size_t *order = malloc((w->n ? w->n : 1) * sizeof *order);
	if (!order)
		return err_set(e, ST_RESOURCE, "no memory for the names of %zu hosts", w->n);
	for (size_t i = 0; i < w->n; i++) {
		speed[i] = 0;
		order[i] = i;
	}
	qsort_r(order, w->n, sizeof *order, by_host, (void *)w);
	for (int pass = 0; pass < 2; pass++) {
		c = start;
		c.order = order;
		c.alike = pass > 0;
		speeds_skip_gaps(&c);
		speeds_skip_header(&c);
		while (rc == ST_OK && c.at < c.end)
			rc = speeds_host_line(&c, speed, e);
	}
	free(order);
	for (size_t i = 0; rc == ST_OK && i < w->n; i++) {
		speed[i] = fabs(speed[i]);
		if (!(speed[i] > 0))
			rc = err_set(e, ST_REFUSED, "%ss %s do not name host %s of rank %zu",
				     w->what, quoted(name), quoted(speeds_host(w, i)), i);
	}
	return rc;
}

status speeds_load(const char *arg, const speeds_want *w, double *speed, err *e)
{
	const int fd = open(arg, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	/* arg looks more like numbers than like the name of a missing file */
	const bool like_list =
		*arg && !strchr(arg, '/') && (strchr("0123456789+-.", *arg) || strchr(arg, ','));
	if (fd < 0 && like_list) {
		cursor c = { arg, arg + strlen(arg), 0, arg, w, 1, NULL, false };
		speeds_skip_gaps(&c);
		return parse_numbers(&c, speed, e);
	}
	if (fd < 0)
		return err_refuse(e, errno, "cannot open %ss file %s", w->what, quoted(arg));
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

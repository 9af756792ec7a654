/* SPDX-License-Identifier: GPL-3.0-or-later */
/* csv.c - a file of speeds: numbers, or a line for each processor with its name, its speed and
 * what its link is like. Fields have commas or blanks between them, # starts a comment, and a first
 * line of column names says what stands where.
 * May not touch: requests. Costs a pass over the text. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "hetplan.h"

enum column { NAME, SPEED, LATENCY, BANDWIDTH, COLUMNS };

static const char *const titles[COLUMNS] = { "name", "speed", "latency", "bandwidth" };

#define FIELDS_MAX 64

struct table {
	json_t *out;
	enum column column[COLUMNS]; /* what the fields of a line are */
	size_t ncolumns;             /* 0: numbers only; not known before the first line */
	size_t line;
	char *why;
};

/* The reason, with the line. */
#define refuse(t, ...) (tell((t), __VA_ARGS__), false)
static void tell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void tell(struct table *t, const char *fmt, ...)
{
	char text[HP_TEXT_BYTES / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(t->why, HP_TEXT_BYTES, "line %zu: %s", t->line, text);
}

static bool out_of_memory(struct table *t)
{
	snprintf(t->why, HP_TEXT_BYTES, "out of memory");
	return false;
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	s += strspn(s, " \t\r");
	while (end > s && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return s;
}

/* Cut a line into fields: at commas where it has some, otherwise at blanks. */
static bool cut(struct table *t, char *line, char *field[FIELDS_MAX], size_t *n)
{
	const char *between;

	line[strcspn(line, "#")] = '\0';
	between = strchr(line, ',') ? "," : " \t\r";
	line = trim(line);
	*n = 0;
	while (*line) {
		size_t len = strcspn(line, between);
		bool more = line[len] != '\0';
		if (*n == FIELDS_MAX)
			return refuse(t, "more than %d fields", FIELDS_MAX);
		line[len] = '\0';
		field[(*n)++] = trim(line);
		line += len + more;
		if (*between != ',')
			line += strspn(line, between);
		else if (more && !*trim(line))
			return refuse(t, "ends with a comma");
	}
	return true;
}

static enum column column_of(const char *title)
{
	size_t i = 0;

	if (strcmp(title, "host") == 0)
		return NAME;
	while (i < COLUMNS && strcmp(title, titles[i]) != 0)
		i++;
	return (enum column)i;
}

/* A line of column names; any order, each once, speed among them. */
static bool read_header(struct table *t, char *const *field, size_t n)
{
	unsigned seen = 0;

	for (size_t i = 0; i < n; i++) {
		enum column c = column_of(field[i]);
		if (c == COLUMNS)
			return refuse(
				t, "unknown column '%.64s', want: name, speed, latency, bandwidth",
				field[i]);
		if (seen & 1u << c)
			return refuse(t, "column '%s' is there twice", titles[c]);
		seen |= 1u << c;
		t->column[i] = c;
	}
	t->ncolumns = n;
	return seen & 1u << SPEED ? true : refuse(t, "no column 'speed'");
}

static bool add(struct table *t, enum column c, const char *text)
{
	static const char *const keys[COLUMNS] = { "names", "speeds", "latency", "bandwidth" };
	json_t *list = json_object_get(t->out, keys[c]);
	double x;

	if (!list && json_object_set_new(t->out, keys[c], list = json_array()) != 0)
		return out_of_memory(t);
	if (c == NAME) {
		json_t *name;
		errno = 0;
		name = json_string(text);
		if (!name && errno != ENOMEM)
			return refuse(t, "want a name in UTF-8, not '%.64s'", text);
		return json_array_append_new(list, name) == 0 || out_of_memory(t);
	}
	if (!hp_text_real(text, &x) || !(c == LATENCY ? x >= 0 : x > 0))
		return refuse(t, "want a %s, a number %s, not '%.64s'", titles[c],
			      c == LATENCY ? "of at least 0" : "above 0", text);
	return json_array_append_new(list, json_real(x)) == 0 || out_of_memory(t);
}

/* The columns by the first line: numbers only, column names, or name, speed and what may follow. */
static bool read_first(struct table *t, char *const *field, size_t n, bool *header)
{
	double x;

	*header = column_of(field[0]) != COLUMNS;
	if (*header)
		return read_header(t, field, n);
	if (hp_text_real(field[0], &x))
		return true;
	if (n < 2 || n > COLUMNS)
		return refuse(t,
			      "%zu field%s, want: name, speed, and latency and bandwidth if known",
			      n, n == 1 ? "" : "s");
	t->ncolumns = n;
	for (size_t i = 0; i < n; i++)
		t->column[i] = (enum column)i;
	return true;
}

static bool read_line(struct table *t, char *line, bool *first)
{
	char *field[FIELDS_MAX];
	bool header = false;
	size_t n;

	if (!cut(t, line, field, &n))
		return false;
	if (n == 0)
		return true;
	if (*first && !read_first(t, field, n, &header))
		return false;
	*first = false;
	if (header)
		return true;
	if (t->ncolumns && n != t->ncolumns)
		return refuse(t, "%zu field%s, want %zu", n, n == 1 ? "" : "s", t->ncolumns);
	for (size_t i = 0; i < n; i++)
		if (!add(t, t->ncolumns ? t->column[i] : SPEED, field[i]))
			return false;
	return true;
}

json_t *hp_speeds_table(char *text, size_t bytes, char why[HP_TEXT_BYTES])
{
	struct table t = { .out = json_object(), .line = 0, .why = why };
	bool ok = t.out || out_of_memory(&t), first = true;
	char *at = text, *end = text + bytes;

	while (ok && at < end) {
		char *stop = memchr(at, '\n', (size_t)(end - at));
		char *next = stop ? stop + 1 : end;
		t.line++;
		*(stop ? stop : end) = '\0';
		ok = strlen(at) == (size_t)((stop ? stop : end) - at) ? read_line(&t, at, &first)
								      : refuse(&t, "has a byte 0");
		at = next;
	}
	t.line += t.line == 0;
	if (ok && !json_object_get(t.out, "speeds"))
		ok = refuse(&t, "no speeds");
	if (!ok) {
		json_decref(t.out);
		t.out = NULL;
	}
	return t.out;
}

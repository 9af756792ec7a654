/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speeds_file.c - a file of speeds as members of the request. The file has numbers only, or a line
 * for each processor with its name, its speed, and the latency and bandwidth of its link. Fields
 * are separated by commas or blanks, # starts a comment, and the first line may name the columns.
 * Costs a pass over the text, and one JSON value for each number. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "hetplan.h"

bool hp_read_file(hp_job *job, const char *path, char **text, size_t *bytes)
{
	const bool standard = strcmp(path, "-") == 0;
	const size_t limit = job->limits->line_bytes + 1;
	FILE *const f = standard ? stdin : fopen(path, "r");
	*text = NULL;
	*bytes = 0;
	if (!f)
		return hp_fail(job, NULL, "%s", strerror(errno));
	bool ok = true;
	size_t room = 0, got;
	do {
		if (*bytes == room) {
			room = room ? 2 * room : 65536;
			char *const more = realloc(*text, room + 1);
			if (!more) {
				ok = hp_fail(job, NULL, "out of memory");
				break;
			}
			*text = more;
		}
		got = fread(*text + *bytes, 1, room - *bytes, f);
		*bytes += got;
	} while (got > 0 && *bytes < limit);
	if (ok && ferror(f))
		ok = hp_fail(job, NULL, "%s", strerror(errno));
	if (!standard && fclose(f) != 0)
		ok = hp_fail(job, NULL, "%s", strerror(errno));
	return ok;
}

/* -------------------------------------------------------------------------------- the table */

typedef enum speeds_column { NAME, SPEED, LATENCY, BANDWIDTH, COLUMNS } speeds_column;

static const char *const titles[COLUMNS] = { "name", "speed", "latency", "bandwidth" };

#define FIELDS_MAX 64

typedef struct speeds_table {
	json_t *out;
	speeds_column column[COLUMNS]; /* of the fields of a line */
	size_t ncolumns;               /* 0: numbers only, or not known before the first line */
	size_t line;
	char *why;
} speeds_table;

/* Store the reason, after the number of the line. */
static void bad_speeds_line(speeds_table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void bad_speeds_line(speeds_table *t, const char *fmt, ...)
{
	char text[HP_TEXT_BYTES / 2];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(t->why, HP_TEXT_BYTES, "line %zu: %s", t->line, text);
}
#define refuse_line(t, ...) (bad_speeds_line((t), __VA_ARGS__), false)

static bool table_no_memory(speeds_table *t)
{
	snprintf(t->why, HP_TEXT_BYTES, "out of memory");
	return false;
}

/* Remove blanks at both ends. */
static char *trim_blanks(char *s)
{
	char *end = s + strlen(s);
	s += strspn(s, " \t\r");
	while (end > s && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return s;
}

/* Cut a line into fields, at commas if it has any, otherwise at blanks. */
static bool cut_fields(speeds_table *t, char *line, char *field[FIELDS_MAX], size_t *n)
{
	line[strcspn(line, "#")] = '\0';
	const char *const between = strchr(line, ',') ? "," : " \t\r";
	line = trim_blanks(line);
	*n = 0;
	while (*line) {
		const size_t len = strcspn(line, between);
		const bool more = line[len] != '\0';
		if (*n == FIELDS_MAX)
			return refuse_line(t, "more than %d fields", FIELDS_MAX);
		line[len] = '\0';
		field[(*n)++] = trim_blanks(line);
		line += len + more;
		if (*between != ',')
			line += strspn(line, between);
		else if (more && !*trim_blanks(line))
			return refuse_line(t, "ends with a comma");
	}
	return true;
}

static speeds_column column_of(const char *title)
{
	unsigned i = 0;
	if (strcmp(title, "host") == 0)
		return NAME;
	while (i < COLUMNS && strcmp(title, titles[i]) != 0)
		i++;
	return (speeds_column)i;
}

/* Find the columns by the first line. It has their names in any order, numbers only, or name and
 * speed and what may follow. Store in *header whether the line has names of columns. */
static bool find_columns(speeds_table *t, char *const *field, size_t n, bool *header)
{
	unsigned seen = 0;
	double x;
	*header = column_of(field[0]) != COLUMNS;
	if (!*header && hp_text_real(field[0], &x))
		return true;
	if (!*header && (n < 2 || n > COLUMNS))
		return refuse_line(t,
				   "%zu field%s, must be name, speed, and latency and bandwidth if "
				   "known",
				   n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++) {
		const speeds_column c = *header ? column_of(field[i]) : (speeds_column)i;
		if (c == COLUMNS)
			return refuse_line(t,
					   "unknown column '%.64s', must be one of: name, speed, "
					   "latency, bandwidth",
					   field[i]);
		if (seen & 1u << c)
			return refuse_line(t, "column '%s' is given twice", titles[c]);
		seen |= 1u << c;
		t->column[i] = c;
	}
	t->ncolumns = n;
	return seen & 1u << SPEED ? true : refuse_line(t, "column 'speed' is missing");
}

static bool add_field(speeds_table *t, speeds_column c, const char *text)
{
	static const char *const keys[COLUMNS] = { "names", "speeds", "latency", "bandwidth" };
	json_t *list = json_object_get(t->out, keys[c]);
	if (!list && json_object_set_new(t->out, keys[c], list = json_array()) != 0)
		return table_no_memory(t);
	if (c == NAME) {
		errno = 0;
		json_t *const name = json_string(text);
		if (!name && errno != ENOMEM)
			return refuse_line(t, "name must be text in UTF-8, not '%.64s'", text);
		return json_array_append_new(list, name) == 0 || table_no_memory(t);
	}
	double x;
	if (!hp_text_real(text, &x) || !(c == LATENCY ? x >= 0 : x > 0))
		return refuse_line(t, "%s must be a number %s, not '%.64s'", titles[c],
				   c == LATENCY ? "of at least 0" : "above 0", text);
	return json_array_append_new(list, json_real(x)) == 0 || table_no_memory(t);
}

static bool add_line(speeds_table *t, char *line, bool *first)
{
	char *field[FIELDS_MAX];
	bool header = false;
	size_t n;
	if (!cut_fields(t, line, field, &n))
		return false;
	if (n == 0)
		return true;
	if (*first && !find_columns(t, field, n, &header))
		return false;
	*first = false;
	if (header)
		return true;
	if (t->ncolumns && n != t->ncolumns)
		return refuse_line(t, "%zu field%s, must be %zu", n, n == 1 ? "" : "s",
				   t->ncolumns);
	for (size_t i = 0; i < n; i++)
		if (!add_field(t, t->ncolumns ? t->column[i] : SPEED, field[i]))
			return false;
	return true;
}

json_t *hp_speeds_table(char *text, size_t bytes, char why[HP_TEXT_BYTES])
{
	speeds_table t = { .out = json_object(), .why = why };
	bool ok = t.out || table_no_memory(&t), first = true;
	char *at = text, *const end = text + bytes;
	while (ok && at < end) {
		char *const found = memchr(at, '\n', (size_t)(end - at)), *const stop =
										  found ? found
											: end;
		t.line++;
		*stop = '\0';
		ok = strlen(at) == (size_t)(stop - at) ? add_line(&t, at, &first)
						       : refuse_line(&t, "contains a byte 0");
		at = stop + (found != NULL);
	}
	t.line += t.line == 0;
	if (ok && !json_object_get(t.out, "speeds"))
		ok = refuse_line(&t, "no speeds");
	if (!ok) {
		json_decref(t.out);
		t.out = NULL;
	}
	return t.out;
}

/* ---------------------------------------------------------------------- members of the request */

/* Add processor i of a scatter. Its cost is --cost divided by its speed, and its link is given by
 * its line of the file. The root, which is the last processor, keeps its share and has no link. */
static bool add_speeds_proc(json_t *procs, const json_t *table, const json_t *cost, size_t i)
{
	const json_t *const speeds = json_object_get(table, "speeds");
	const json_t *const scale = json_object_get(cost, "scale");
	const json_t *const latency = json_object_get(table, "latency");
	const double factor = (scale ? json_number_value(scale) : 1) / hp_at_index(speeds, i);
	json_t *const p = json_object(), *const compute = json_copy((json_t *)cost);
	const bool root = i + 1 == json_array_size(speeds);
	return json_array_append_new(procs, p) == 0 &&
	       json_object_set_new(p, "compute", compute) == 0 &&
	       json_object_set_new(compute, "scale", json_real(factor)) == 0 &&
	       (root ||
		json_object_set_new(
			p, "link",
			json_pack("{s:s,s:f,s:f}", "type", "affine", "startup",
				  latency ? hp_at_index(latency, i) : 0.0, "per_item",
				  1 / hp_at_index(json_object_get(table, "bandwidth"), i))) == 0);
}

/* Replace --cost and --speeds by the processors of a scatter. */
static bool make_speeds_procs(hp_job *job, json_t *set, const json_t *table)
{
	const json_t *const cost = json_object_get(set, "cost");
	const size_t n = json_array_size(json_object_get(table, "speeds"));
	if (!cost)
		return hp_fail(job, NULL, "'--speeds' of a scatter requires '--cost'");
	if (!json_object_get(table, "bandwidth"))
		return hp_fail(job, NULL,
			       "'--speeds' of a scatter must be a file with a column 'bandwidth'");
	json_t *const procs = json_array();
	bool ok = json_object_set_new(set, "processors", procs) == 0;
	for (size_t i = 0; ok && i < n; i++)
		ok = add_speeds_proc(procs, table, cost, i);
	return (ok && json_object_del(set, "cost") == 0 && json_object_del(set, "speeds") == 0) ||
	       hp_fail(job, NULL, "out of memory");
}

/* Add the contents of a file of speeds to the request. --names replaces the names of the file. */
static bool add_speeds(hp_job *job, json_t *set, const char *verb, const json_t *table)
{
	json_t *const names = json_object_get(table, "names");
	if (names && !json_object_get(set, "names") && json_object_set(set, "names", names) != 0)
		return hp_fail(job, NULL, "out of memory");
	if (strcmp(verb, "scatter") == 0)
		return make_speeds_procs(job, set, table);
	return json_object_set(set, "speeds", json_object_get(table, "speeds")) == 0 ||
	       hp_fail(job, NULL, "out of memory");
}

bool hp_read_speeds(hp_job *job, const hp_args *a)
{
	const json_t *const v = json_object_get(a->set, "speeds");
	if (v && !json_is_string(v) && strcmp(a->verb, "scatter") == 0)
		return hp_fail(job, NULL,
			       "'--speeds' of a scatter must be a file with a column 'bandwidth'");
	if (!v || !json_is_string(v))
		return true;
	char *const path = strdup(json_string_value(v)), *text = NULL;
	if (!path)
		return hp_fail(job, NULL, "out of memory");
	char why[HP_TEXT_BYTES];
	json_t *table = NULL;
	size_t bytes;
	bool ok;
	if (!hp_read_file(job, path, &text, &bytes)) {
		snprintf(why, sizeof why, "%s", job->text);
		ok = hp_fail(job, NULL, "'%.128s': %s", path, why);
	} else if (bytes > job->limits->line_bytes) {
		ok = hp_fail(job, NULL, "'%.128s': longer than %zu bytes", path,
			     job->limits->line_bytes);
	} else if (!(table = hp_speeds_table(text, bytes, why))) {
		ok = hp_fail(job, NULL, "'%.128s': %s", path, why);
	} else {
		ok = add_speeds(job, a->set, a->verb, table);
	}
	json_decref(table);
	free(text);
	free(path);
	return ok;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speeds_file.c - read a file of speeds into members of the request. The file contains only speeds,
 * or a line for each processor with its name, its speed, and the latency and bandwidth of its link.
 * Fields are separated by commas or blanks, # starts a comment, and the first line may contain the
 * titles of the columns. */
#include <errno.h>
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
				ok = hp_no_memory(job);
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
	hp_job *job;
	json_t *out;
	speeds_column column[COLUMNS]; /* column of each field of a line */
	size_t ncolumns; /* 0: the file contains only speeds, or the first line has not been read */
	bool begun;      /* a line that is not empty has been read */
} speeds_table;

/* Remove blanks at both ends. */
static char *trim_blanks(char *s)
{
	char *end = s + strlen(s);
	s += strspn(s, " \t\r");
	while (end > s && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return s;
}

/* Cut a line into fields, at commas if it has any, otherwise at blanks. *n is their number. */
static bool cut_fields(hp_job *job, char *line, char *field[FIELDS_MAX], size_t *n)
{
	line[strcspn(line, "#")] = '\0';
	const char *const between = strchr(line, ',') ? "," : " \t\r";
	line = trim_blanks(line);
	*n = 0;
	while (*line) {
		const size_t len = strcspn(line, between);
		const bool more = line[len] != '\0';
		if (*n == FIELDS_MAX)
			return hp_fail(job, NULL, "more than %d fields", FIELDS_MAX);
		line[len] = '\0';
		field[(*n)++] = trim_blanks(line);
		line += len + more;
		if (*between != ',')
			line += strspn(line, between);
		else if (more && !*trim_blanks(line))
			return hp_fail(job, NULL, "ends with a comma");
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

/* Find the columns by the first line. It contains their titles in any order, only speeds, or a
 * name, a speed, and optionally a latency and a bandwidth. Set *header to whether it contains
 * titles. */
static bool find_columns(speeds_table *t, char *const *field, size_t n, bool *header)
{
	unsigned seen = 0;
	double x;
	*header = column_of(field[0]) != COLUMNS;
	if (!*header && hp_text_real(field[0], &x))
		return true;
	if (!*header && (n < 2 || n > COLUMNS))
		return hp_fail(t->job, NULL,
			       "%zu field%s, must be name, speed, and latency and bandwidth if "
			       "known",
			       n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++) {
		const speeds_column c = *header ? column_of(field[i]) : (speeds_column)i;
		if (c == COLUMNS)
			return hp_fail(t->job, NULL,
				       "unknown column '%.64s', must be one of: name, speed, "
				       "latency, bandwidth",
				       field[i]);
		if (seen & 1u << c)
			return hp_fail(t->job, NULL, "column '%s' is given twice", titles[c]);
		seen |= 1u << c;
		t->column[i] = c;
	}
	t->ncolumns = n;
	return seen & 1u << SPEED ? true : hp_fail(t->job, NULL, "column 'speed' is missing");
}

static bool add_field(speeds_table *t, speeds_column c, const char *text)
{
	static const char *const keys[COLUMNS] = { "names", "speeds", "latency", "bandwidth" };
	json_t *list = json_object_get(t->out, keys[c]), *value;
	double x;
	if (!list && json_object_set_new(t->out, keys[c], list = json_array()) != 0)
		return hp_no_memory(t->job);
	if (c == NAME) {
		errno = 0;
		value = json_string(text);
		if (!value && errno != ENOMEM)
			return hp_fail(t->job, NULL, "name must be text in UTF-8, not '%.64s'",
				       text);
	} else {
		if (!hp_text_real(text, &x) || !(c == LATENCY ? x >= 0 : x > 0))
			return hp_fail(t->job, NULL, "%s must be a number %s, not '%.64s'",
				       titles[c], c == LATENCY ? "of at least 0" : "above 0", text);
		value = json_real(x);
	}
	return hp_append(t->job, list, value);
}

static bool add_line(speeds_table *t, char *line)
{
	char *field[FIELDS_MAX];
	bool header = false;
	size_t n;
	if (!cut_fields(t->job, line, field, &n))
		return false;
	if (n == 0)
		return true;
	if (!t->begun && !find_columns(t, field, n, &header))
		return false;
	t->begun = true;
	if (header)
		return true;
	if (t->ncolumns && n != t->ncolumns)
		return hp_fail(t->job, NULL, "%zu field%s, must be %zu", n, n == 1 ? "" : "s",
			       t->ncolumns);
	for (size_t i = 0; i < n; i++)
		if (!add_field(t, t->ncolumns ? t->column[i] : SPEED, field[i]))
			return false;
	return true;
}

json_t *hp_speeds_table(hp_job *job, char *text, size_t bytes)
{
	speeds_table t = { .job = job, .out = json_object() };
	bool ok = t.out || hp_no_memory(job);
	char *const end = text + bytes;
	for (job->line = 1; ok && text < end; job->line++) {
		char *const newline = memchr(text, '\n', (size_t)(end - text));
		char *const stop = newline ? newline : end;
		*stop = '\0';
		ok = strlen(text) == (size_t)(stop - text)
			     ? add_line(&t, text)
			     : hp_fail(job, NULL, "contains a byte 0");
		text = stop + (newline != NULL);
	}
	job->line -= job->line > 1; /* for a message about the end of the file */
	ok = ok && (json_object_get(t.out, "speeds") || hp_fail(job, NULL, "no speeds"));
	job->line = 0;
	if (ok)
		return t.out;
	json_decref(t.out);
	return NULL;
}

/* ---------------------------------------------------------------------- members of the request */

/* Replace --cost and --speeds by the processors of a scatter. The cost of a processor is --cost
 * divided by its speed. Its link has the latency and bandwidth in the file. The root, which is the
 * last processor, has no link. */
static bool make_speeds_procs(hp_job *job, json_t *set, const json_t *table)
{
	json_t *const cost = json_object_get(set, "cost");
	const json_t *const scale = json_object_get(cost, "scale");
	const json_t *const speeds = json_object_get(table, "speeds");
	const json_t *const latency = json_object_get(table, "latency");
	const json_t *const bandwidth = json_object_get(table, "bandwidth");
	const size_t n = json_array_size(speeds);
	if (!cost)
		return hp_fail(job, NULL, "'--speeds' of a scatter requires '--cost'");
	if (!bandwidth)
		return hp_fail(job, NULL,
			       "'--speeds' of a scatter must be a file with a column 'bandwidth'");
	json_t *const procs = json_array();
	bool ok = json_object_set_new(set, "processors", procs) == 0;
	for (size_t i = 0; ok && i < n; i++) {
		const double factor = scale ? json_number_value(scale) : 1;
		json_t *const p = json_object(), *const compute = json_copy(cost);
		ok = json_array_append_new(procs, p) == 0 &&
		     json_object_set_new(p, "compute", compute) == 0 &&
		     json_object_set_new(compute, "scale",
					 json_real(factor / hp_at_index(speeds, i))) == 0 &&
		     (i + 1 == n ||
		      json_object_set_new(p, "link",
					  json_pack("{s:s,s:f,s:f}", "type", "affine", "startup",
						    latency ? hp_at_index(latency, i) : 0.0,
						    "per_item", 1 / hp_at_index(bandwidth, i))) ==
			      0);
	}
	return (ok && json_object_del(set, "cost") == 0 && json_object_del(set, "speeds") == 0) ||
	       hp_no_memory(job);
}

bool hp_read_speeds(hp_job *job, const hp_args *a)
{
	const json_t *const v = json_object_get(a->set, "speeds");
	const bool scatter = strcmp(a->verb, "scatter") == 0;
	if (v && !json_is_string(v) && scatter)
		return hp_fail(job, NULL,
			       "'--speeds' of a scatter must be a file with a column 'bandwidth'");
	if (!v || !json_is_string(v))
		return true;
	const size_t limit = job->limits->line_bytes;
	json_t *table = NULL;
	char *text;
	size_t bytes;
	job->source = json_string_value(v);
	bool ok = hp_read_file(job, job->source, &text, &bytes) &&
		  (bytes <= limit || hp_fail(job, NULL, "longer than %zu bytes", limit)) &&
		  (table = hp_speeds_table(job, text, bytes));
	job->source = NULL;
	json_t *const names = json_object_get(table, "names"); /* --names has precedence */
	if (ok && names && !json_object_get(a->set, "names"))
		ok = json_object_set(a->set, "names", names) == 0 || hp_no_memory(job);
	if (ok)
		ok = scatter ? make_speeds_procs(job, a->set, table)
			     : json_object_set(a->set, "speeds",
					       json_object_get(table, "speeds")) == 0 ||
				       hp_no_memory(job);
	json_decref(table);
	free(text);
	return ok;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* write.c - an answer as an aligned table, as CSV, as JSON or as a page for a browser. A table has
 * a row for each processor; for a chain, it has one for each load, installment and processor. Costs
 * two passes over the cells. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "display.h"

/* -------------------------------------------------------------------------------------- table */

typedef enum column_kind {
	COLUMN_ROW,
	COLUMN_NAME,
	COLUMN_LIST,
	COLUMN_BY_ORDER,
	COLUMN_PLACE,
	COLUMN_CELL
} column_kind;

typedef struct table_column {
	const char *title;
	column_kind kind;
	size_t part;        /* of a place: load, installment, processor */
	const json_t *list; /* numbers or names, in the order of the rows or of the processors */
	size_t width;
} table_column;

#define COLUMNS_MAX 10
#define CELL_BYTES  512

typedef struct table_place {
	size_t part[3];
} table_place;

typedef struct table_view {
	size_t ncolumns, nrows;
	table_column column[COLUMNS_MAX];
	const json_t *order; /* processor of each row; NULL: row i is processor i */
	table_place *places;
	bool csv;
} table_view;

static table_column *add_column(table_view *v, const char *title, column_kind kind,
				const json_t *list)
{
	v->column[v->ncolumns] = (table_column){ .title = title, .kind = kind, .list = list };
	return &v->column[v->ncolumns++];
}

static void number_cell(char *buf, const json_t *x, bool csv)
{
	if (json_is_integer(x))
		snprintf(buf, CELL_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(x));
	else if (!json_is_real(x))
		snprintf(buf, CELL_BYTES, "%s", csv ? "" : "-");
	else if (csv)
		hp_number(buf, json_real_value(x));
	else
		snprintf(buf, CELL_BYTES, "%.10g", json_real_value(x));
}

/* Write the text of a cell. */
static void table_cell(const table_view *v, size_t row, const table_column *c, char buf[CELL_BYTES])
{
	const size_t *const place = v->places ? v->places[row].part : NULL;
	const size_t proc = place      ? place[2]
			    : v->order ? (size_t)json_integer_value(json_array_get(v->order, row))
				       : row;
	char text[CELL_BYTES / 3];
	const char *name;
	switch (c->kind) {
	case COLUMN_ROW:
		snprintf(buf, CELL_BYTES, "%zu", proc);
		break;
	case COLUMN_NAME:
		name = json_string_value(json_array_get(c->list, proc));
		hp_clean(text, sizeof text, name ? name : "", name ? strlen(name) : 0);
		if (v->csv)
			hp_csv(buf, CELL_BYTES, text);
		else
			memcpy(buf, text, strlen(text) + 1);
		break;
	case COLUMN_LIST:
		number_cell(buf, json_array_get(c->list, row), v->csv);
		break;
	case COLUMN_BY_ORDER:
		number_cell(buf, json_array_get(c->list, proc), v->csv);
		break;
	case COLUMN_PLACE:
		snprintf(buf, CELL_BYTES, "%zu", place[c->part]);
		break;
	case COLUMN_CELL:
		number_cell(
			buf,
			json_array_get(json_array_get(json_array_get(c->list, place[0]), place[1]),
				       place[2]),
			v->csv);
		break;
	}
}

/* Find the rows of a chain, one for each number of an array [load][installment][processor]. */
static bool find_rows(hp_job *job, const json_t *loads, table_view *v)
{
	for (size_t l = 0; l < json_array_size(loads); l++)
		for (size_t j = 0; j < json_array_size(json_array_get(loads, l)); j++)
			v->nrows += json_array_size(json_array_get(json_array_get(loads, l), j));
	if (!(v->places = hp_alloc(job, v->nrows, sizeof *v->places)))
		return false;
	size_t n = 0;
	for (size_t l = 0; l < json_array_size(loads); l++)
		for (size_t j = 0; j < json_array_size(json_array_get(loads, l)); j++) {
			const json_t *const row = json_array_get(json_array_get(loads, l), j);
			for (size_t i = 0; i < json_array_size(row); i++)
				v->places[n++] = (table_place){ { l, j, i } };
		}
	return true;
}

static bool view_chain(hp_job *job, table_view *v)
{
	static const char *const keys[] = { "fractions", "comm_start", "comm_end", "comp_start",
					    "comp_end" };
	static const char *const titles[] = { "load", "installment", "processor" };
	const json_t *const rows = json_object_get(job->out, "fractions");
	if (!find_rows(job, rows ? rows : json_object_get(job->out, "comp_start"), v))
		return false;
	for (size_t i = 0; i < HP_LEN(titles); i++)
		add_column(v, titles[i], COLUMN_PLACE, NULL)->part = i;
	if (json_object_get(job->in, "names"))
		add_column(v, "name", COLUMN_NAME, json_object_get(job->in, "names"));
	for (size_t i = 0; i < HP_LEN(keys); i++)
		if (json_object_get(job->out, keys[i]))
			add_column(v, i == 0 ? "fraction" : keys[i], COLUMN_CELL,
				   json_object_get(job->out, keys[i]));
	return true;
}

/* Choose the columns and rows of an answer. */
static bool view_answer(hp_job *job, bool csv, table_view *v)
{
	static const struct {
		const char *key, *title;
		column_kind kind;
	} lists[] = { { "shares", "share", COLUMN_LIST },
		      { "counts", "count", COLUMN_LIST },
		      { "real", "real", COLUMN_LIST },
		      { "times", "time", COLUMN_LIST },
		      { "total_by_root", "total_as_root", COLUMN_BY_ORDER } };
	*v = (table_view){ .csv = csv };
	if (json_object_get(job->in, "w"))
		return view_chain(job, v);
	v->order = json_object_get(job->out, "order");
	add_column(v, "processor", COLUMN_ROW, NULL);
	if (json_object_get(job->in, "names"))
		add_column(v, "name", COLUMN_NAME, json_object_get(job->in, "names"));
	for (size_t i = 0; i < HP_LEN(lists); i++) {
		const json_t *const list = json_object_get(job->out, lists[i].key);
		if (!list)
			continue;
		add_column(v, lists[i].title, lists[i].kind, list);
		v->nrows = json_array_size(list);
	}
	return true;
}

/* Write a cell, numbers aligned to the right, names to the left. */
static bool put_cell(FILE *f, const table_column *c, const char *text, bool first)
{
	const int gap = (int)(c->width - hp_columns(text));
	const bool left = c->kind == COLUMN_NAME;
	return fprintf(f, "%s%*s%s%*s", first ? "" : "  ", left ? 0 : gap, "", text, left ? gap : 0,
		       "") >= 0;
}

static bool put_table(FILE *f, table_view *v)
{
	char buf[CELL_BYTES];
	for (size_t c = 0; c < v->ncolumns; c++) {
		table_column *const col = &v->column[c];
		col->width = strlen(col->title);
		for (size_t r = 0; r < v->nrows; r++) {
			table_cell(v, r, col, buf);
			if (hp_columns(buf) > col->width)
				col->width = hp_columns(buf);
		}
	}
	for (size_t c = 0; c < v->ncolumns; c++)
		if (!put_cell(f, &v->column[c], v->column[c].title, c == 0))
			return false;
	for (size_t r = 0; r < v->nrows; r++) {
		if (putc('\n', f) == EOF)
			return false;
		for (size_t c = 0; c < v->ncolumns; c++) {
			table_cell(v, r, &v->column[c], buf);
			if (!put_cell(f, &v->column[c], buf, c == 0))
				return false;
		}
	}
	return putc('\n', f) != EOF;
}

/* Write the single numbers of the answer: "makespan 12.5, lower bound 12.4". */
static bool put_facts(FILE *f, const hp_job *job)
{
	static const struct {
		const char *key, *title;
	} facts[] = { { "makespan", "makespan" },           { "real_makespan", "before rounding" },
		      { "lower_bound", "lower bound" },     { "gap_percent", "gap %" },
		      { "planned_makespan", "as planned" }, { "processes", "processes" },
		      { "efficiency", "efficiency" },       { "root", "root" } };
	const char *const op = json_string_value(json_object_get(job->out, "op"));
	const char *const method = json_string_value(json_object_get(job->out, "method"));
	const char *const stopped = json_string_value(json_object_get(job->out, "stopped"));
	if (fprintf(f, "%s%s%s", op, method ? ", method " : "", method ? method : "") < 0)
		return false;
	for (size_t i = 0; i < HP_LEN(facts); i++) {
		const json_t *const x = json_object_get(job->out, facts[i].key);
		char buf[CELL_BYTES];
		if (!x)
			continue;
		number_cell(buf, x, false);
		if (fprintf(f, "%s%s %s", i == 0 ? ": " : ", ", facts[i].title, buf) < 0)
			return false;
	}
	if (stopped && fprintf(f, "\nstopped: %s; this is the best so far", stopped) < 0)
		return false;
	return putc('\n', f) != EOF;
}

bool hp_print_table(FILE *f, hp_job *job)
{
	const json_t *const points = json_object_get(job->out, "points");
	table_view v;
	if (!view_answer(job, false, &v) || !put_facts(f, job) || !put_table(f, &v))
		return false;
	if (json_array_size(points) &&
	    fputs("\nfitted cost:\n       items          time\n", f) == EOF)
		return false;
	for (size_t i = 0; i < json_array_size(points); i++) {
		const json_t *const p = json_array_get(points, i);
		if (fprintf(f, "%12.10g  %12.10g\n", hp_at_index(p, 0), hp_at_index(p, 1)) < 0)
			return false;
	}
	return true;
}

bool hp_print_csv(FILE *f, hp_job *job)
{
	table_view v;
	if (!view_answer(job, true, &v))
		return false;
	for (size_t c = 0; c < v.ncolumns; c++)
		if (fprintf(f, "%s%s", c ? "," : "", v.column[c].title) < 0)
			return false;
	for (size_t r = 0; r < v.nrows; r++)
		for (size_t c = 0; c < v.ncolumns; c++) {
			char buf[CELL_BYTES];
			table_cell(&v, r, &v.column[c], buf);
			if (fprintf(f, "%s%s", c ? "," : "\n", buf) < 0)
				return false;
		}
	return putc('\n', f) != EOF;
}

/* --------------------------------------------------------------------------------------- JSON */

static bool put_string(FILE *f, const char *s)
{
	json_t *const v = json_string(s);
	char *const quoted = v ? json_dumps(v, JSON_ENCODE_ANY) : NULL;
	const bool ok = quoted && fputs(quoted, f) != EOF;
	free(quoted);
	json_decref(v);
	return ok;
}

/* Write a value with numbers that are short and exact, which jansson does not offer. */
static bool put_value(FILE *f, const json_t *v)
{
	json_t *const o = (json_t *)v; /* the iterator needs it so, and changes nothing */
	const char *between = "";
	char buf[HP_NUMBER_BYTES];
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		if (putc('{', f) == EOF)
			return false;
		for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
			if (fputs(between, f) == EOF || !put_string(f, json_object_iter_key(it)) ||
			    putc(':', f) == EOF || !put_value(f, json_object_iter_value(it)))
				return false;
			between = ",";
		}
		return putc('}', f) != EOF;
	case JSON_ARRAY:
		if (putc('[', f) == EOF)
			return false;
		for (size_t i = 0; i < json_array_size(v); i++)
			if ((i && putc(',', f) == EOF) || !put_value(f, json_array_get(v, i)))
				return false;
		return putc(']', f) != EOF;
	case JSON_STRING:
		return put_string(f, json_string_value(v));
	case JSON_INTEGER:
		return fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(v)) > 0;
	case JSON_REAL:
		return fputs(hp_number(buf, json_real_value(v)), f) != EOF;
	case JSON_TRUE:
		return fputs("true", f) != EOF;
	case JSON_FALSE:
		return fputs("false", f) != EOF;
	default:
		return fputs("null", f) != EOF;
	}
}

bool hp_write_json(FILE *f, const json_t *v)
{
	return put_value(f, v) && putc('\n', f) != EOF;
}

/* --------------------------------------------------------------------------------------- page */

/* The template around the data, which the Makefile makes a string of C. */
extern const char plan_page_head[], plan_page_tail[];

/* Write JSON as data of a page. '<' occurs only in strings; escaped, no name can be markup. */
static int put_page_data(const char *text, size_t bytes, void *file)
{
	FILE *const f = file;
	for (size_t i = 0; i < bytes; i++)
		if (text[i] == '<' ? fputs("\\u003c", f) == EOF : putc(text[i], f) == EOF)
			return -1;
	return 0;
}

bool hp_page(FILE *f, const hp_job *job, const hp_bars *bars, const json_t *comparison,
	     const char *title)
{
	json_t *const data = json_pack("{s:s, s:O, s:O, s:O?}", "title", title, "answer", job->out,
				       "request", job->in, "comparison", comparison);
	bool ok = data != NULL;
	if (ok && bars) {
		json_t *const names = json_array(), *const list = json_array();
		ok = json_object_set_new(data, "names", names) == 0;
		ok = json_object_set_new(data, "bars", list) == 0 && ok &&
		     json_object_set_new(data, "overlap", json_boolean(bars->overlap)) == 0;
		for (size_t i = 0; ok && i < bars->nrows; i++)
			ok = json_array_append_new(names, json_string(bars->names[i])) == 0;
		for (size_t i = 0; ok && i < bars->nbars; i++) {
			const hp_bar *const b = &bars->bar[i];
			ok = json_array_append_new(list,
						   json_pack("[i,i,f,f]", (int)b->row, (int)b->kind,
							     b->start, b->end)) == 0;
		}
	}
	ok = ok && fputs(HP_HTML_MARK, f) != EOF && fputs(plan_page_head, f) != EOF &&
	     json_dump_callback(data, put_page_data, f, JSON_COMPACT) == 0 &&
	     putc('\n', f) != EOF && fputs(plan_page_tail, f) != EOF;
	json_decref(data);
	return ok;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* write.c - write an answer as an aligned table, CSV, JSON or a page for a browser. A table has a
 * row for each processor or, for a chain, for each load, installment and processor. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "display.h"

/* -------------------------------------------------------------------------------------- table */

typedef enum column_kind {
	COLUMN_NAME,     /* names, in the order of the processors */
	COLUMN_LIST,     /* numbers, in the order of the rows */
	COLUMN_BY_ORDER, /* numbers, in the order of the processors */
	COLUMN_PLACE,    /* the load, installment or processor of the row */
	COLUMN_CELL      /* numbers of [load][installment][processor] */
} column_kind;

typedef struct table_column {
	const char *title;
	column_kind kind;
	size_t part; /* for COLUMN_PLACE: index in table_place.part */
	const json_t *list;
	size_t width;
} table_column;

#define COLUMNS_MAX 10
#define CELL_BYTES  512

enum { LOAD, INSTALLMENT, PROCESSOR };

typedef struct table_place {
	size_t part[3];
} table_place;

typedef struct table_view {
	size_t ncolumns, nrows;
	table_column column[COLUMNS_MAX];
	table_place *places; /* of each row */
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

/* Return the row of an installment from an array [load][installment][processor]. */
static const json_t *row_of(const json_t *loads, size_t load, size_t installment)
{
	return json_array_get(json_array_get(loads, load), installment);
}

/* Write the text of a cell. */
static void table_cell(const table_view *v, size_t row, const table_column *c, char buf[CELL_BYTES])
{
	const size_t *const place = v->places[row].part;
	char text[CELL_BYTES / 3];
	const char *name;
	switch (c->kind) {
	case COLUMN_NAME:
		name = json_string_value(json_array_get(c->list, place[PROCESSOR]));
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
		number_cell(buf, json_array_get(c->list, place[PROCESSOR]), v->csv);
		break;
	case COLUMN_PLACE:
		snprintf(buf, CELL_BYTES, "%zu", place[c->part]);
		break;
	case COLUMN_CELL:
		number_cell(buf,
			    json_array_get(row_of(c->list, place[LOAD], place[INSTALLMENT]),
					   place[PROCESSOR]),
			    v->csv);
		break;
	}
}

/* Choose the columns and rows of the answer for a chain. */
static bool view_chain(hp_job *job, table_view *v)
{
	static const char *const keys[] = { "fractions", "comm_start", "comm_end", "comp_start",
					    "comp_end" };
	static const char *const titles[] = { "load", "installment", "processor" };
	const json_t *loads = json_object_get(job->out, "fractions");
	if (!loads)
		loads = json_object_get(job->out, "comp_start");
	for (size_t l = 0; l < json_array_size(loads); l++)
		for (size_t j = 0; j < json_array_size(json_array_get(loads, l)); j++)
			v->nrows += json_array_size(row_of(loads, l, j));
	if (!(v->places = hp_alloc(job, v->nrows, sizeof *v->places)))
		return false;
	size_t n = 0;
	for (size_t l = 0; l < json_array_size(loads); l++)
		for (size_t j = 0; j < json_array_size(json_array_get(loads, l)); j++)
			for (size_t i = 0; i < json_array_size(row_of(loads, l, j)); i++)
				v->places[n++] = (table_place){ { l, j, i } };
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

/* Choose the columns and rows of an answer. A program that reads CSV knows the member
 * "real"; people read "before rounding". */
static bool view_answer(hp_job *job, bool csv, table_view *v)
{
	const struct {
		const char *key, *title;
		column_kind kind;
	} lists[] = { { "shares", "share", COLUMN_LIST },
		      { "counts", "count", COLUMN_LIST },
		      { "real", csv ? "real" : "before rounding", COLUMN_LIST },
		      { "times", "time", COLUMN_LIST },
		      { "total_by_root", "total_as_root", COLUMN_BY_ORDER } };
	*v = (table_view){ .csv = csv };
	if (json_object_get(job->in, "vcomm"))
		return view_chain(job, v);
	add_column(v, "processor", COLUMN_PLACE, NULL)->part = PROCESSOR;
	if (json_object_get(job->in, "names"))
		add_column(v, "name", COLUMN_NAME, json_object_get(job->in, "names"));
	for (size_t i = 0; i < HP_LEN(lists); i++) {
		const json_t *const list = json_object_get(job->out, lists[i].key);
		if (!list)
			continue;
		add_column(v, lists[i].title, lists[i].kind, list);
		v->nrows = json_array_size(list);
	}
	if (!(v->places = hp_alloc(job, v->nrows, sizeof *v->places)))
		return false;
	for (size_t i = 0; i < v->nrows; i++)
		v->places[i].part[PROCESSOR] = hp_served(job, i);
	return true;
}

/* Write a cell: names are aligned to the left, numbers to the right. */
static void put_cell(FILE *f, const table_column *c, const char *text, bool first)
{
	const int gap = (int)(c->width - hp_columns(text));
	const bool left = c->kind == COLUMN_NAME;
	fprintf(f, "%s%*s%s%*s", first ? "" : "  ", left ? 0 : gap, "", text, left ? gap : 0, "");
}

/* Write the single numbers of the answer: "makespan 12.5, lower bound 12.4". */
static void put_facts(FILE *f, const hp_job *job)
{
	static const struct {
		const char *key, *title;
	} facts[] = { { "makespan", "makespan" },
		      { "real_makespan", "before rounding" },
		      { "lower_bound", "lower bound" },
		      { "gap_percent", "gap %" },
		      { "planned_makespan", "as planned" },
		      { "processes", "processes" },
		      { "efficiency", "efficiency" },
		      { "root", "root" },
		      { "flow", "flow" },
		      { "planned_flow", "planned flow" } };
	const char *const op = json_string_value(json_object_get(job->out, "op"));
	const char *const method = json_string_value(json_object_get(job->out, "method"));
	const char *const stopped = json_string_value(json_object_get(job->out, "stopped"));
	fprintf(f, "%s%s%s", op, method ? ", method " : "", method ? method : "");
	for (size_t i = 0; i < HP_LEN(facts); i++) {
		const json_t *const x = json_object_get(job->out, facts[i].key);
		char buf[CELL_BYTES];
		if (!x)
			continue;
		number_cell(buf, x, false);
		fprintf(f, "%s%s %s", i == 0 ? ": " : ", ", facts[i].title, buf);
	}
	if (stopped)
		fprintf(f, "\nstopped: %s; this is the best so far", stopped);
	putc('\n', f);
}

bool hp_print_table(FILE *f, hp_job *job)
{
	const json_t *const points = json_object_get(job->out, "points");
	char buf[CELL_BYTES];
	table_view v;
	if (!view_answer(job, false, &v))
		return false;
	put_facts(f, job);
	for (size_t c = 0; c < v.ncolumns; c++) {
		table_column *const col = &v.column[c];
		col->width = strlen(col->title);
		for (size_t r = 0; r < v.nrows; r++) {
			table_cell(&v, r, col, buf);
			if (hp_columns(buf) > col->width)
				col->width = hp_columns(buf);
		}
	}
	for (size_t c = 0; c < v.ncolumns; c++)
		put_cell(f, &v.column[c], v.column[c].title, c == 0);
	for (size_t r = 0; r < v.nrows; r++) {
		putc('\n', f);
		for (size_t c = 0; c < v.ncolumns; c++) {
			table_cell(&v, r, &v.column[c], buf);
			put_cell(f, &v.column[c], buf, c == 0);
		}
	}
	putc('\n', f);
	if (json_array_size(points))
		fputs("\nfitted cost:\n       items          time\n", f);
	for (size_t i = 0; i < json_array_size(points); i++) {
		const json_t *const p = json_array_get(points, i);
		fprintf(f, "%12.10g  %12.10g\n", hp_at_index(p, 0), hp_at_index(p, 1));
	}
	return !ferror(f);
}

bool hp_print_csv(FILE *f, hp_job *job)
{
	char buf[CELL_BYTES];
	table_view v;
	if (!view_answer(job, true, &v))
		return false;
	for (size_t c = 0; c < v.ncolumns; c++)
		fprintf(f, "%s%s", c ? "," : "", v.column[c].title);
	for (size_t r = 0; r < v.nrows; r++)
		for (size_t c = 0; c < v.ncolumns; c++) {
			table_cell(&v, r, &v.column[c], buf);
			fprintf(f, "%s%s", c ? "," : "\n", buf);
		}
	putc('\n', f);
	return !ferror(f);
}

/* --------------------------------------------------------------------------------------- JSON */

/* Write a JSON string. Return false if out of memory. */
static bool put_string(FILE *f, const char *s)
{
	json_t *const v = json_string(s);
	char *const quoted = v ? json_dumps(v, JSON_ENCODE_ANY) : NULL;
	if (quoted)
		fputs(quoted, f);
	free(quoted);
	json_decref(v);
	return quoted != NULL;
}

/* Write a JSON value with numbers by hp_number(), because jansson's are longer. Return false if out
 * of memory. */
static bool put_value(FILE *f, const json_t *v)
{
	json_t *const o = (json_t *)v; /* the iterator takes no const, but changes nothing */
	const char *between = "";
	char buf[HP_NUMBER_BYTES];
	bool ok = true;
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		putc('{', f);
		for (void *it = json_object_iter(o); ok && it; it = json_object_iter_next(o, it)) {
			fputs(between, f);
			ok = put_string(f, json_object_iter_key(it));
			putc(':', f);
			ok = ok && put_value(f, json_object_iter_value(it));
			between = ",";
		}
		putc('}', f);
		break;
	case JSON_ARRAY:
		putc('[', f);
		for (size_t i = 0; ok && i < json_array_size(v); i++) {
			fputs(i ? "," : "", f);
			ok = put_value(f, json_array_get(v, i));
		}
		putc(']', f);
		break;
	case JSON_STRING:
		ok = put_string(f, json_string_value(v));
		break;
	case JSON_INTEGER:
		fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		break;
	case JSON_REAL:
		fputs(hp_number(buf, json_real_value(v)), f);
		break;
	default:
		fputs(json_is_null(v) ? "null" : json_is_true(v) ? "true" : "false", f);
	}
	return ok;
}

bool hp_write_json(FILE *f, const json_t *v)
{
	return put_value(f, v) && putc('\n', f) != EOF && !ferror(f);
}

/* --------------------------------------------------------------------------------------- page */

/* The template before and after the data, which the Makefile turns into C strings. */
extern const char plan_page_head[], plan_page_tail[];

/* Write JSON as data of a page. '<' occurs only in strings. It is escaped so that no text of the
 * request can be markup. */
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

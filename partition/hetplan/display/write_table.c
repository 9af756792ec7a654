/* SPDX-License-Identifier: GPL-3.0-or-later */
/* write_table.c - an answer as an aligned table or as CSV: one row for each processor, for a
 * chain one for each load, installment and processor.
 * May not touch: numbers; it only writes them. Costs two passes over the cells. */
#include <math.h>
#include <string.h>

#include "display.h"

enum column_kind {
	COLUMN_ROW,
	COLUMN_NAME,
	COLUMN_LIST,
	COLUMN_BY_ORDER,
	COLUMN_PLACE,
	COLUMN_CELL
};

struct column {
	const char *title;
	enum column_kind kind;
	size_t part;        /* of a place: load, installment, processor */
	const json_t *list; /* numbers or names, in the order of the rows or of the processors */
	size_t width;
};

#define COLUMNS_MAX 10
#define CELL_BYTES  512

struct place {
	size_t part[3];
};

struct view {
	size_t ncolumns, nrows;
	struct column column[COLUMNS_MAX];
	const json_t *order; /* processor of each row; NULL: as they come */
	struct place *places;
	bool csv;
};

static void add(struct view *v, const char *title, enum column_kind kind, const json_t *list)
{
	v->column[v->ncolumns++] = (struct column){ .title = title, .kind = kind, .list = list };
}

static size_t processor(const struct view *v, size_t row)
{
	if (v->places)
		return v->places[row].part[2];
	return v->order ? (size_t)json_integer_value(json_array_get(v->order, row)) : row;
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

static void name_cell(char *buf, const json_t *name, bool csv)
{
	char text[CELL_BYTES / 3];
	const char *s = json_string_value(name);

	hp_clean(text, sizeof text, s ? s : "", s ? strlen(s) : 0);
	if (csv)
		hp_csv(buf, CELL_BYTES, text);
	else
		memcpy(buf, text, strlen(text) + 1);
}

static const json_t *deep(const json_t *list, const struct place *p)
{
	return json_array_get(json_array_get(json_array_get(list, p->part[0]), p->part[1]),
			      p->part[2]);
}

static void cell(const struct view *v, size_t row, const struct column *c, char buf[CELL_BYTES])
{
	switch (c->kind) {
	case COLUMN_ROW:
		snprintf(buf, CELL_BYTES, "%zu", processor(v, row));
		break;
	case COLUMN_NAME:
		name_cell(buf, json_array_get(c->list, processor(v, row)), v->csv);
		break;
	case COLUMN_LIST:
		number_cell(buf, json_array_get(c->list, row), v->csv);
		break;
	case COLUMN_BY_ORDER:
		number_cell(buf, json_array_get(c->list, processor(v, row)), v->csv);
		break;
	case COLUMN_PLACE:
		snprintf(buf, CELL_BYTES, "%zu", v->places[row].part[c->part]);
		break;
	case COLUMN_CELL:
		number_cell(buf, deep(c->list, &v->places[row]), v->csv);
		break;
	}
}

/* The rows of a chain, one for each number of the array. */
static bool find_places(struct hp_job *job, const json_t *loads, struct view *v)
{
	size_t n = 0;

	for (size_t l = 0; l < json_array_size(loads); l++)
		for (size_t j = 0; j < json_array_size(json_array_get(loads, l)); j++)
			v->nrows += json_array_size(json_array_get(json_array_get(loads, l), j));
	if (!(v->places = hp_alloc(job, v->nrows, sizeof *v->places)))
		return false;
	for (size_t l = 0; l < json_array_size(loads); l++)
		for (size_t j = 0; j < json_array_size(json_array_get(loads, l)); j++) {
			const json_t *row = json_array_get(json_array_get(loads, l), j);
			for (size_t i = 0; i < json_array_size(row); i++)
				v->places[n++] = (struct place){ { l, j, i } };
		}
	return true;
}

static bool view_chain(struct hp_job *job, struct view *v)
{
	static const char *const keys[] = { "fractions", "comm_start", "comm_end", "comp_start",
					    "comp_end" };
	static const char *const titles[] = { "load", "installment", "processor" };
	const json_t *rows = json_object_get(job->out, "fractions");

	if (!find_places(job, rows ? rows : json_object_get(job->out, "comp_start"), v))
		return false;
	for (size_t i = 0; i < HP_LEN(titles); i++) {
		add(v, titles[i], COLUMN_PLACE, NULL);
		v->column[i].part = i;
	}
	if (json_object_get(job->in, "names"))
		add(v, "name", COLUMN_NAME, json_object_get(job->in, "names"));
	for (size_t i = 0; i < HP_LEN(keys); i++)
		if (json_object_get(job->out, keys[i]))
			add(v, i == 0 ? "fraction" : keys[i], COLUMN_CELL,
			    json_object_get(job->out, keys[i]));
	return true;
}

static void view_plan(const struct hp_job *job, struct view *v)
{
	static const struct {
		const char *key, *title;
		enum column_kind kind;
	} lists[] = { { "shares", "share", COLUMN_LIST },
		      { "counts", "count", COLUMN_LIST },
		      { "real", "real", COLUMN_LIST },
		      { "times", "time", COLUMN_LIST },
		      { "total_by_root", "total_as_root", COLUMN_BY_ORDER } };

	v->order = json_object_get(job->out, "order");
	add(v, "processor", COLUMN_ROW, NULL);
	if (json_object_get(job->in, "names"))
		add(v, "name", COLUMN_NAME, json_object_get(job->in, "names"));
	for (size_t i = 0; i < HP_LEN(lists); i++) {
		const json_t *list = json_object_get(job->out, lists[i].key);
		if (!list)
			continue;
		add(v, lists[i].title, lists[i].kind, list);
		v->nrows = json_array_size(list);
	}
}

static bool make_view(struct hp_job *job, bool csv, struct view *v)
{
	*v = (struct view){ .csv = csv };
	if (json_object_get(job->in, "w"))
		return view_chain(job, v);
	view_plan(job, v);
	return true;
}

static void measure(struct view *v)
{
	char buf[CELL_BYTES];

	for (size_t c = 0; c < v->ncolumns; c++) {
		struct column *col = &v->column[c];
		col->width = strlen(col->title);
		for (size_t r = 0; r < v->nrows; r++) {
			cell(v, r, col, buf);
			if (hp_columns(buf) > col->width)
				col->width = hp_columns(buf);
		}
	}
}

/* Numbers to the right, names to the left. */
static bool put_cell(FILE *f, const struct column *c, const char *text, bool first)
{
	int gap = (int)(c->width - hp_columns(text));
	bool left = c->kind == COLUMN_NAME;

	return fprintf(f, "%s%*s%s%*s", first ? "" : "  ", left ? 0 : gap, "", text, left ? gap : 0,
		       "") >= 0;
}

static bool put_rows(FILE *f, const struct view *v)
{
	char buf[CELL_BYTES];

	for (size_t c = 0; c < v->ncolumns; c++)
		if (!put_cell(f, &v->column[c], v->column[c].title, c == 0))
			return false;
	for (size_t r = 0; r < v->nrows; r++) {
		if (putc('\n', f) == EOF)
			return false;
		for (size_t c = 0; c < v->ncolumns; c++) {
			cell(v, r, &v->column[c], buf);
			if (!put_cell(f, &v->column[c], buf, c == 0))
				return false;
		}
	}
	return putc('\n', f) != EOF;
}

/* "makespan 12.5, lower bound 12.4": what there is of the numbers that stand alone. */
static bool put_head(FILE *f, const struct hp_job *job)
{
	static const struct {
		const char *key, *title;
	} facts[] = { { "makespan", "makespan" },           { "real_makespan", "before rounding" },
		      { "lower_bound", "lower bound" },     { "gap_percent", "gap %" },
		      { "planned_makespan", "as planned" }, { "processes", "processes" },
		      { "efficiency", "efficiency" },       { "root", "root" } };
	const char *op = json_string_value(json_object_get(job->out, "op"));
	const char *method = json_string_value(json_object_get(job->out, "method"));
	const char *stopped = json_string_value(json_object_get(job->out, "stopped"));
	char buf[CELL_BYTES];

	if (fprintf(f, "%s%s%s", op, method ? ", method " : "", method ? method : "") < 0)
		return false;
	for (size_t i = 0; i < HP_LEN(facts); i++) {
		const json_t *x = json_object_get(job->out, facts[i].key);
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

/* The corners of a fitted cost. */
static bool put_points(FILE *f, const struct hp_job *job)
{
	const json_t *points = json_object_get(job->out, "points");

	if (json_array_size(points) &&
	    fputs("\nfitted cost:\n       items          time\n", f) == EOF)
		return false;
	for (size_t i = 0; i < json_array_size(points); i++) {
		const json_t *p = json_array_get(points, i);
		if (fprintf(f, "%12.10g  %12.10g\n", hp_at_index(p, 0), hp_at_index(p, 1)) < 0)
			return false;
	}
	return true;
}

bool hp_print_table(FILE *f, struct hp_job *job)
{
	struct view v;

	if (!make_view(job, false, &v))
		return false;
	measure(&v);
	return put_head(f, job) && put_rows(f, &v) && put_points(f, job);
}

bool hp_print_csv(FILE *f, struct hp_job *job)
{
	struct view v;
	char buf[CELL_BYTES];

	if (!make_view(job, true, &v))
		return false;
	for (size_t c = 0; c < v.ncolumns; c++)
		if (fprintf(f, "%s%s", c ? "," : "", v.column[c].title) < 0)
			return false;
	for (size_t r = 0; r < v.nrows; r++)
		for (size_t c = 0; c < v.ncolumns; c++) {
			cell(&v, r, &v.column[c], buf);
			if (fprintf(f, "%s%s", c ? "," : "\n", buf) < 0)
				return false;
		}
	return putc('\n', f) != EOF;
}

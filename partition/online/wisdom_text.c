/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wisdom_text.c - wisdom, the measurements of one machine: named models and named numbers, in
 * memory and as text. The text has a version line, the host, the time, numbers, models with their
 * cells, and a checksum over all that precedes it. The reader is strict: it refuses a line that is
 * not exactly right, with the line's number in the message. Opens no files. Costs O(bytes) for a
 * text, and O(names) to find a name. */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "number.h"

#define WISDOM_NAME_BYTES 64
#define WISDOM_HOST_BYTES 128
#define WISDOM_ENTRIES    4096 /* the most models, and the most numbers, of a file */
#define WISDOM_FORMAT     1

/* A named model, or a named number. */
typedef struct wisdom_entry {
	char name[WISDOM_NAME_BYTES];
	hetpart_model *model; /* NULL: a number */
	double value;
} wisdom_entry;

typedef struct wisdom_list {
	wisdom_entry *at;
	size_t n;
} wisdom_list;

struct hetpart_wisdom {
	char host[WISDOM_HOST_BYTES];
	uint64_t time_s; /* seconds since 1970, as the caller sets it; 0: not known */
	wisdom_list models, numbers;
};

/* -------------------------------------------------------------------------- names and values */

static bool wisdom_name_ok(const char *name, size_t len)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
	if (len == 0 || len >= WISDOM_NAME_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!name[i] || !strchr(allowed, name[i]))
			return false;
	return true;
}

static bool wisdom_host_ok(const char *host, size_t len)
{
	if (len == 0 || len >= WISDOM_HOST_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		if (host[i] < 0x20 || host[i] > 0x7e)
			return false;
	return host[0] != ' ' && host[len - 1] != ' ';
}

static wisdom_entry *wisdom_find(const wisdom_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->at[i].name, name) == 0)
			return &list->at[i];
	return NULL;
}

/* Append an entry without a model; return NULL if that is impossible. */
static wisdom_entry *wisdom_append(wisdom_list *list, const char *name)
{
	wisdom_entry *const more =
		list->n < WISDOM_ENTRIES ? realloc(list->at, (list->n + 1) * sizeof *more) : NULL;
	if (!more)
		return NULL;
	list->at = more;
	more[list->n] = (wisdom_entry){ .model = NULL };
	memcpy(more[list->n].name, name, strlen(name) + 1);
	return &more[list->n++];
}

hetpart_status hetpart_wisdom_create(hetpart_wisdom **out, const char *host, hetpart_err *err)
{
	if (out)
		*out = NULL;
	if (!out || !host)
		return part_is_null(err, out ? "host" : "out");
	if (!wisdom_host_ok(host, strnlen(host, WISDOM_HOST_BYTES)))
		return part_invalid(err,
				    "the host must be a line of 1 to %d printable ASCII characters",
				    WISDOM_HOST_BYTES - 1);
	*out = part_calloc(1, sizeof **out);
	if (!*out)
		return part_fail(err, HETPART_ENOMEM, "no memory for wisdom");
	memcpy((*out)->host, host, strlen(host) + 1);
	return HETPART_OK;
}

void hetpart_wisdom_free(hetpart_wisdom *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->models.n; i++)
		hetpart_model_free(w->models.at[i].model);
	free(w->models.at);
	free(w->numbers.at);
	free(w);
}

PART_GETTER(const char *, hetpart_wisdom_host, hetpart_wisdom, host, "")
PART_GETTER(uint64_t, hetpart_wisdom_time, hetpart_wisdom, time_s, 0)

hetpart_status hetpart_wisdom_set_time(hetpart_wisdom *w, uint64_t time_s, hetpart_err *err)
{
	if (!w)
		return part_is_null(err, "wisdom");
	if (time_s >= UINT64_C(10000000000000000000))
		return part_invalid(err, "the time must be below 1e19");
	w->time_s = time_s;
	return HETPART_OK;
}

static hetpart_status check_name(const hetpart_wisdom *w, const char *name, hetpart_err *err)
{
	if (!w || !name)
		return part_is_null(err, w ? "name" : "wisdom");
	if (!wisdom_name_ok(name, strnlen(name, WISDOM_NAME_BYTES)))
		return part_invalid(err,
				    "'%.80s' is not a valid name: it must have 1 to %d letters, "
				    "digits, '.', '_', ':' or '-'",
				    name, WISDOM_NAME_BYTES - 1);
	return HETPART_OK;
}

hetpart_status hetpart_wisdom_model(hetpart_wisdom *w, const char *name, hetpart_model **out,
				    hetpart_err *err)
{
	if (!out)
		return part_is_null(err, "out");
	*out = NULL;
	hetpart_status rc = check_name(w, name, err);
	if (rc != HETPART_OK)
		return rc;
	wisdom_entry *at = wisdom_find(&w->models, name);
	if (!at) {
		hetpart_model *m;
		if ((rc = hetpart_model_create(&m, err)) != HETPART_OK)
			return rc;
		at = wisdom_append(&w->models, name);
		if (!at) {
			hetpart_model_free(m);
			return part_fail(err, HETPART_ENOMEM,
					 "no memory for model '%s', or more than %d models", name,
					 WISDOM_ENTRIES);
		}
		at->model = m;
	}
	*out = at->model;
	return HETPART_OK;
}

hetpart_status hetpart_wisdom_set(hetpart_wisdom *w, const char *name, double value,
				  hetpart_err *err)
{
	const hetpart_status rc = check_name(w, name, err);
	if (rc != HETPART_OK)
		return rc;
	if (!isfinite(value))
		return part_invalid(err, "value of '%s' is '%g': must be a finite number", name,
				    value);
	wisdom_entry *at = wisdom_find(&w->numbers, name);
	if (!at && !(at = wisdom_append(&w->numbers, name)))
		return part_fail(err, HETPART_ENOMEM,
				 "no memory for number '%s', or more than %d numbers", name,
				 WISDOM_ENTRIES);
	at->value = value;
	return HETPART_OK;
}

bool hetpart_wisdom_get(const hetpart_wisdom *w, const char *name, double *value)
{
	const wisdom_entry *const at = w && name ? wisdom_find(&w->numbers, name) : NULL;
	if (at && value)
		*value = at->value;
	return at != NULL;
}

const char *hetpart_wisdom_model_name(const hetpart_wisdom *w, size_t index)
{
	return w && index < w->models.n ? w->models.at[index].name : NULL;
}

const char *hetpart_wisdom_number_name(const hetpart_wisdom *w, size_t index)
{
	return w && index < w->numbers.n ? w->numbers.at[index].name : NULL;
}

hetpart_status hetpart_wisdom_merge(hetpart_wisdom *into, const hetpart_wisdom *from,
				    hetpart_err *err)
{
	if (!into || !from)
		return part_is_null(err, into ? "from" : "into");
	if (into == from)
		return part_invalid(err, "wisdom cannot be merged into itself");
	if (strcmp(into->host, from->host) != 0)
		return part_fail(err, HETPART_ESTALE, "wisdom of '%s' is not for '%s'", from->host,
				 into->host);
	const bool newer = from->time_s >= into->time_s;
	hetpart_status rc = HETPART_OK;
	for (size_t i = 0; i < from->models.n && rc == HETPART_OK; i++) {
		const wisdom_entry *const e = &from->models.at[i];
		hetpart_model *m;
		rc = hetpart_wisdom_model(into, e->name, &m, err);
		if (rc == HETPART_OK)
			rc = hetpart_model_merge(m, e->model, err);
	}
	for (size_t i = 0; i < from->numbers.n && rc == HETPART_OK; i++) {
		const wisdom_entry *const e = &from->numbers.at[i];
		if (newer || !wisdom_find(&into->numbers, e->name))
			rc = hetpart_wisdom_set(into, e->name, e->value, err);
	}
	if (rc == HETPART_OK && newer)
		into->time_s = from->time_s;
	return rc;
}

/* ------------------------------------------------------------------------------------ the text */

#define MAGIC "hetpart-wisdom"

/* Extend a checksum (FNV-1a, 64 bits) by a text. */
#define CHECKSUM_START UINT64_C(0xcbf29ce484222325)
static uint64_t checksum(uint64_t sum, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return sum;
}

/* Let this thread write and read numbers with a decimal point, whatever the program's locale. */
static locale_t plain_locale(locale_t *was)
{
	const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	*was = plain ? uselocale(plain) : (locale_t)0;
	return plain;
}

static void restore_locale(locale_t plain, locale_t was)
{
	if (plain) {
		uselocale(was);
		freelocale(plain);
	}
}

/* ------------------------------------------------------------------------------------- writing */

typedef struct wisdom_writer {
	char *buf;
	size_t size, len; /* len also counts text that does not fit into buf */
	uint64_t sum;     /* checksum of all text, also beyond the buffer */
} wisdom_writer;

static void put_line(wisdom_writer *t, const char *fmt, ...) PART_PRINTF(2, 3);
static void put_line(wisdom_writer *t, const char *fmt, ...)
{
	char line[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	t->sum = checksum(t->sum, line, strlen(line));
	for (const char *p = line; *p; p++, t->len++)
		if (t->len + 1 < t->size)
			t->buf[t->len] = *p;
}

size_t hetpart_wisdom_print(const hetpart_wisdom *w, char *buf, size_t size)
{
	wisdom_writer t = { buf, buf ? size : 0, 0, CHECKSUM_START };
	if (w) {
		locale_t was;
		const locale_t plain = plain_locale(&was);
		put_line(&t, MAGIC " %d\nhost %s\n", WISDOM_FORMAT, w->host);
		if (w->time_s)
			put_line(&t, "time %" PRIu64 "\n", w->time_s);
		for (size_t i = 0; i < w->numbers.n; i++)
			put_line(&t, "number %s %.17g\n", w->numbers.at[i].name,
				 w->numbers.at[i].value);
		for (size_t i = 0; i < w->models.n; i++) {
			put_line(&t, "model %s\n", w->models.at[i].name);
			for (size_t j = 0; j < MODEL_CELLS; j++) {
				const model_cell *const c = &w->models.at[i].model->cell[j];
				if (c->weight > 0)
					put_line(&t, "cell %.17g %.17g %.17g %.17g\n", c->items,
						 c->cost, c->weight, c->spread);
			}
		}
		put_line(&t, "checksum %016" PRIx64 "\n", t.sum);
		restore_locale(plain, was);
	}
	if (buf && t.size)
		buf[t.len < t.size ? t.len : t.size - 1] = 0;
	return t.len;
}

/* ------------------------------------------------------------------------------------- reading */

typedef struct wisdom_reader {
	const char *text, *end, *line; /* line: the start of the current line */
	size_t number;                 /* number of the current line, from 1 */
	char word[512];                /* the current line, with 0 instead of its end */
	hetpart_wisdom *w;
	hetpart_model *model; /* the model to which cells belong */
	size_t next_cell;     /* the least index that the next cell may have */
	bool has_time;
	hetpart_err *err;
} wisdom_reader;

static hetpart_status bad_wisdom_line(const wisdom_reader *r, const char *why)
{
	return part_fail(r->err, HETPART_EFORMAT, "line %zu: %s", r->number, why);
}

/* Copy the next line into word. Return false at the end of the text, or on failure. */
static bool next_line(wisdom_reader *r, hetpart_status *rc)
{
	*rc = HETPART_OK;
	r->line = r->text;
	if (r->text == r->end)
		return false;
	r->number++;
	const char *const nl = memchr(r->text, '\n', (size_t)(r->end - r->text));
	const size_t len = nl ? (size_t)(nl - r->text) : 0;
	if (!nl || len >= sizeof r->word) {
		*rc = bad_wisdom_line(r, nl ? "too long" : "the last line has no newline");
		return false;
	}
	for (size_t i = 0; i < len; i++)
		if (r->text[i] < 0x20 || r->text[i] > 0x7e) {
			*rc = bad_wisdom_line(r, "a character that is not printable ASCII");
			return false;
		}
	memcpy(r->word, r->text, len);
	r->word[len] = 0;
	r->text = nl + 1;
	return true;
}

/* Return the text after "key " in the line, or NULL if the line has another key. */
static const char *after_word(const wisdom_reader *r, const char *key)
{
	const size_t len = strlen(key);
	return strncmp(r->word, key, len) == 0 && r->word[len] == ' ' ? r->word + len + 1 : NULL;
}

/* Read a number as put_line() writes it, followed by a space if `more`, otherwise by the end of the
 * line. Move *p to the text after it. */
static bool take_real(const char **p, bool more, double *value)
{
	const size_t len = strspn(*p, "0123456789+-.e");
	if (len == 0 || (*p)[len] != (more ? ' ' : 0))
		return false;
	char *end;
	*value = strtod(*p, &end);
	if (end != *p + len || !isfinite(*value))
		return false;
	*p = end + (more ? 1 : 0);
	return true;
}

static bool parse_whole(const char *p, uint64_t *value)
{
	return !(p[0] == '0' && p[1]) && number_parse(p, 0, UINT64_MAX, value);
}

static hetpart_status read_number_line(wisdom_reader *r, const char *p)
{
	const char *const space = strchr(p, ' ');
	if (!space || !wisdom_name_ok(p, (size_t)(space - p)))
		return bad_wisdom_line(r, "must be 'number NAME VALUE'");
	char name[WISDOM_NAME_BYTES];
	double value;
	memcpy(name, p, (size_t)(space - p));
	name[space - p] = 0;
	p = space + 1;
	if (!take_real(&p, false, &value))
		return bad_wisdom_line(r, "the value must be a finite number");
	if (wisdom_find(&r->w->numbers, name))
		return bad_wisdom_line(r, "this number occurs twice");
	if (hetpart_wisdom_set(r->w, name, value, NULL) != HETPART_OK)
		return part_fail(r->err, HETPART_ENOMEM,
				 "line %zu: no memory, or more than %d numbers", r->number,
				 WISDOM_ENTRIES);
	return HETPART_OK;
}

static hetpart_status read_model_line(wisdom_reader *r, const char *name)
{
	if (!wisdom_name_ok(name, strlen(name)))
		return bad_wisdom_line(r, "must be 'model NAME'");
	if (wisdom_find(&r->w->models, name))
		return bad_wisdom_line(r, "this model occurs twice");
	r->next_cell = 0;
	if (hetpart_wisdom_model(r->w, name, &r->model, NULL) != HETPART_OK)
		return part_fail(r->err, HETPART_ENOMEM,
				 "line %zu: no memory, or more than %d models", r->number,
				 WISDOM_ENTRIES);
	return HETPART_OK;
}

static hetpart_status read_cell_line(wisdom_reader *r, const char *p)
{
	model_cell c;
	if (!r->model)
		return bad_wisdom_line(r, "a cell before any model");
	if (!take_real(&p, true, &c.items) || !take_real(&p, true, &c.cost) ||
	    !take_real(&p, true, &c.weight) || !take_real(&p, false, &c.spread))
		return bad_wisdom_line(r, "must be 'cell ITEMS COST WEIGHT SPREAD'");
	if (!(c.items >= 1 && c.items <= 0x1p63))
		return bad_wisdom_line(r, "items must be 1 to 2^63");
	if (!(c.cost >= 0 && c.weight > 0 && c.weight <= MODEL_WEIGHT && c.spread >= 0))
		return bad_wisdom_line(r, "cost, weight or spread is out of range");
	const size_t place = part_model_cell(c.items);
	if (place < r->next_cell)
		return bad_wisdom_line(r, "the cells are not in rising order");
	r->next_cell = place + 1;
	r->model->cell[place] = c;
	return HETPART_OK;
}

/* Read a line by its key. Ignore an unknown key, which a later version may have written. */
static hetpart_status read_wisdom_line(wisdom_reader *r)
{
	const char *p;
	if ((p = after_word(r, "cell")))
		return read_cell_line(r, p);
	if ((p = after_word(r, "model")))
		return read_model_line(r, p);
	if ((p = after_word(r, "number")))
		return read_number_line(r, p);
	if ((p = after_word(r, "time"))) {
		if (r->has_time)
			return bad_wisdom_line(r, "the time occurs twice");
		r->has_time = true;
		return parse_whole(p, &r->w->time_s)
			       ? HETPART_OK
			       : bad_wisdom_line(r, "the time must be a whole number");
	}
	const size_t len = strspn(r->word, "abcdefghijklmnopqrstuvwxyz-");
	if (len == 0 || (r->word[len] != ' ' && r->word[len] != 0))
		return bad_wisdom_line(r, "must begin with a key");
	if (strcmp(r->word, "host") == 0 || after_word(r, "host") || after_word(r, MAGIC))
		return bad_wisdom_line(r, "this key must be in the first two lines");
	return HETPART_OK;
}

/* Check the last line, whose checksum is of all text before it. */
static hetpart_status read_checksum(wisdom_reader *r, const char *p, const char *begin)
{
	char sum[17];
	snprintf(sum, sizeof sum, "%016" PRIx64,
		 checksum(CHECKSUM_START, begin, (size_t)(r->line - begin)));
	if (strcmp(p, sum) != 0)
		return bad_wisdom_line(r, "the checksum does not match: the file is damaged");
	if (r->text != r->end) {
		r->number++;
		return bad_wisdom_line(r, "text after the checksum");
	}
	return HETPART_OK;
}

/* Read version and host. A text of another version is stale, not damaged. */
static hetpart_status read_head(wisdom_reader *r)
{
	hetpart_status rc;
	uint64_t version;
	if (!next_line(r, &rc))
		return rc != HETPART_OK ? rc
					: part_fail(r->err, HETPART_EFORMAT, "the text is empty");
	const char *p = after_word(r, MAGIC);
	if (!p || !parse_whole(p, &version))
		return bad_wisdom_line(r, "must be '" MAGIC " 1'");
	if (version != WISDOM_FORMAT)
		return part_fail(r->err, HETPART_ESTALE, "line 1: format '%s' is not format %d", p,
				 WISDOM_FORMAT);
	if (!next_line(r, &rc))
		return rc != HETPART_OK ? rc
					: bad_wisdom_line(r, "the host is missing after this line");
	p = after_word(r, "host");
	if (!p || !wisdom_host_ok(p, strlen(p)))
		return bad_wisdom_line(r, "must be 'host NAME'");
	return hetpart_wisdom_create(&r->w, p, r->err);
}

hetpart_status hetpart_wisdom_parse(hetpart_wisdom **out, const char *text, size_t bytes,
				    const char *host, uint64_t oldest_s, hetpart_err *err)
{
	if (out)
		*out = NULL;
	if (!out || (!text && bytes))
		return part_is_null(err, out ? "text" : "out");
	wisdom_reader r = { .text = text ? text : "", .err = err };
	r.end = r.text + bytes;
	locale_t was;
	const locale_t plain = plain_locale(&was);
	hetpart_status rc = read_head(&r);
	bool ended = false; /* by the checksum */
	while (rc == HETPART_OK && !ended && next_line(&r, &rc)) {
		const char *const sum = after_word(&r, "checksum");
		ended = sum != NULL;
		rc = ended ? read_checksum(&r, sum, text) : read_wisdom_line(&r);
	}
	if (rc == HETPART_OK && !ended)
		rc = bad_wisdom_line(&r, "the checksum is missing: the file is cut short");
	restore_locale(plain, was);
	if (rc == HETPART_OK && host && strcmp(r.w->host, host) != 0)
		rc = part_fail(err, HETPART_ESTALE, "made on '%s', not on '%.127s'", r.w->host,
			       host);
	if (rc == HETPART_OK && r.w->time_s < oldest_s)
		rc = part_fail(err, HETPART_ESTALE,
			       "made at '%" PRIu64 "', before %" PRIu64 " (seconds since 1970)",
			       r.w->time_s, oldest_s);
	if (rc == HETPART_OK)
		*out = r.w;
	else
		hetpart_wisdom_free(r.w);
	return rc;
}

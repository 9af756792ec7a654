/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wisdom_text.c - wisdom as text and back: a version line, the host, the time, numbers, models with
 * their cells, a checksum over all before it. Strict: a line that is not exactly right is refused
 * with its number. May not touch: files. Costs O(bytes). */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wisdom.h"
#include "number.h"

#define MAGIC "hetpart-wisdom"

/* Return the checksum of a text (FNV-1a, 64 bits). */
static uint64_t checksum(const char *text, size_t bytes)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* ------------------------------------------------------------------------------------- writing */

struct text {
	char *buf;
	size_t size, len; /* len goes on counting when the buffer is full */
	uint64_t sum;     /* checksum so far, whether it fitted or not */
};

static void put(struct text *t, const char *fmt, ...) PART_PRINTF(2, 3);

static void put(struct text *t, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	for (const char *p = line; *p; p++, t->len++) {
		t->sum = (t->sum ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
		if (t->len + 1 < t->size)
			t->buf[t->len] = *p;
	}
}

static void put_all(struct text *t, const hetpart_wisdom *w)
{
	put(t, MAGIC " %d\nhost %s\n", WISDOM_FORMAT, w->host);
	if (w->time_s)
		put(t, "time %" PRIu64 "\n", w->time_s);
	for (size_t i = 0; i < w->nnumbers; i++)
		put(t, "number %s %.17g\n", w->numbers[i].name, w->numbers[i].value);
	for (size_t i = 0; i < w->nmodels; i++) {
		put(t, "model %s\n", w->models[i].name);
		for (size_t j = 0; j < MODEL_CELLS; j++) {
			const struct cell *c = &w->models[i].model->cell[j];
			if (c->weight > 0)
				put(t, "cell %.17g %.17g %.17g %.17g\n", c->items, c->cost,
				    c->weight, c->spread);
		}
	}
	put(t, "checksum %016" PRIx64 "\n", t->sum);
}

/* Numbers are written and read with a decimal point, whatever the program's locale; only this
 * thread sees the change. */
static locale_t plain_locale(locale_t *was)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

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

size_t hetpart_wisdom_print(const hetpart_wisdom *w, char *buf, size_t size)
{
	struct text t = { buf, buf ? size : 0, 0, checksum("", 0) };
	locale_t was, plain;

	if (w) {
		plain = plain_locale(&was);
		put_all(&t, w);
		restore_locale(plain, was);
	}
	if (buf && t.size)
		buf[t.len < t.size ? t.len : t.size - 1] = 0;
	return t.len;
}

/* ------------------------------------------------------------------------------------- reading */

struct reader {
	const char *text, *end, *line; /* line: begin of the present one */
	size_t number;                 /* of the present line, from 1 */
	char word[512];                /* the present line, 0 in place of the line end */
	hetpart_wisdom *w;
	hetpart_model *model; /* the one that cells belong to */
	size_t next_cell;     /* cells rise */
	bool has_time;
	hetpart_err *err;
};

static hetpart_status bad(const struct reader *r, const char *why)
{
	return part_fail(r->err, HETPART_EFORMAT, "line %zu: %s", r->number, why);
}

/* The next line into word; false at the end of the text. */
static bool next_line(struct reader *r, hetpart_status *rc)
{
	const char *nl;
	size_t len;

	*rc = HETPART_OK;
	r->line = r->text;
	if (r->text == r->end)
		return false;
	r->number++;
	nl = memchr(r->text, '\n', (size_t)(r->end - r->text));
	len = nl ? (size_t)(nl - r->text) : 0;
	if (!nl || len >= sizeof r->word) {
		*rc = bad(r, nl ? "too long" : "the last line has no end");
		return false;
	}
	for (size_t i = 0; i < len; i++)
		if (r->text[i] < 0x20 || r->text[i] > 0x7e) {
			*rc = bad(r, "a character that is not printable ASCII");
			return false;
		}
	memcpy(r->word, r->text, len);
	r->word[len] = 0;
	r->text = nl + 1;
	return true;
}

/* What follows "key " in the line, NULL if the line has another key. */
static const char *after(const struct reader *r, const char *key)
{
	size_t len = strlen(key);

	return strncmp(r->word, key, len) == 0 && r->word[len] == ' ' ? r->word + len + 1 : NULL;
}

/* One number as put() writes it, followed by a space (more) or the end; moves *p behind it. */
static bool real(const char **p, bool more, double *value)
{
	size_t len = strspn(*p, "0123456789+-.e");
	char *end;

	if (len == 0 || (*p)[len] != (more ? ' ' : 0))
		return false;
	*value = strtod(*p, &end);
	if (end != *p + len || !isfinite(*value))
		return false;
	*p = end + (more ? 1 : 0);
	return true;
}

static bool whole(const char *p, uint64_t *value)
{
	return !(p[0] == '0' && p[1]) && number_parse(p, 0, UINT64_MAX, value);
}

static hetpart_status read_number(struct reader *r, const char *p)
{
	const char *space = strchr(p, ' ');
	char name[WISDOM_NAME_BYTES];
	double value;

	if (!space || !part_wisdom_name_ok(p, (size_t)(space - p)))
		return bad(r, "want 'number NAME VALUE'");
	memcpy(name, p, (size_t)(space - p));
	name[space - p] = 0;
	p = space + 1;
	if (!real(&p, false, &value))
		return bad(r, "the value is no finite number");
	if (part_wisdom_number(r->w, name))
		return bad(r, "this number was there before");
	if (hetpart_wisdom_set(r->w, name, value, NULL) != HETPART_OK)
		return part_fail(r->err, HETPART_ENOMEM, "line %zu: no room for it", r->number);
	return HETPART_OK;
}

static hetpart_status read_model(struct reader *r, const char *name)
{
	if (!part_wisdom_name_ok(name, strlen(name)))
		return bad(r, "want 'model NAME'");
	if (part_wisdom_find(r->w, name))
		return bad(r, "this model was there before");
	r->next_cell = 0;
	if (hetpart_wisdom_model(r->w, name, &r->model, NULL) != HETPART_OK)
		return part_fail(r->err, HETPART_ENOMEM, "line %zu: no room for it", r->number);
	return HETPART_OK;
}

static hetpart_status read_cell(struct reader *r, const char *p)
{
	struct cell c;

	if (!r->model)
		return bad(r, "a cell before any model");
	if (!real(&p, true, &c.items) || !real(&p, true, &c.cost) || !real(&p, true, &c.weight) ||
	    !real(&p, false, &c.spread))
		return bad(r, "want 'cell ITEMS COST WEIGHT SPREAD'");
	if (!(c.items >= 1 && c.items <= 0x1p63))
		return bad(r, "items out of range: want 1 to 2^63");
	if (!(c.cost >= 0 && c.weight > 0 && c.weight <= MODEL_WEIGHT && c.spread >= 0))
		return bad(r, "cost, weight or spread out of range");
	if (part_model_cell(c.items) < r->next_cell)
		return bad(r, "the cells do not rise");
	r->next_cell = part_model_cell(c.items) + 1;
	r->model->cell[r->next_cell - 1] = c;
	return HETPART_OK;
}

static hetpart_status read_time(struct reader *r, const char *p)
{
	if (r->has_time)
		return bad(r, "a second time");
	r->has_time = true;
	return whole(p, &r->w->time_s) ? HETPART_OK : bad(r, "the time is no whole number");
}

/* A key of a later version: skipped if it looks like one. */
static hetpart_status read_unknown(const struct reader *r)
{
	size_t len = strspn(r->word, "abcdefghijklmnopqrstuvwxyz-");

	if (len == 0 || (r->word[len] != ' ' && r->word[len] != 0))
		return bad(r, "want a key");
	if (strcmp(r->word, "host") == 0 || after(r, "host") || after(r, MAGIC))
		return bad(r, "not here: it belongs to the beginning");
	return HETPART_OK;
}

/* The last line; everything before it counts. */
static hetpart_status read_checksum(struct reader *r, const char *p, const char *begin)
{
	char want[17];

	snprintf(want, sizeof want, "%016" PRIx64, checksum(begin, (size_t)(r->line - begin)));
	if (strcmp(p, want) != 0)
		return bad(r, "the checksum does not fit: the file is damaged");
	if (r->text != r->end) {
		r->number++;
		return bad(r, "text behind the checksum");
	}
	return HETPART_OK;
}

static hetpart_status read_line(struct reader *r)
{
	const char *p;

	if ((p = after(r, "cell")))
		return read_cell(r, p);
	if ((p = after(r, "model")))
		return read_model(r, p);
	if ((p = after(r, "number")))
		return read_number(r, p);
	if ((p = after(r, "time")))
		return read_time(r, p);
	return read_unknown(r);
}

/* Version and host. Another version is stale, not damaged. */
static hetpart_status read_head(struct reader *r)
{
	hetpart_status rc;
	const char *p;
	uint64_t version;

	if (!next_line(r, &rc))
		return rc != HETPART_OK ? rc : part_fail(r->err, HETPART_EFORMAT, "empty");
	p = after(r, MAGIC);
	if (!p || !whole(p, &version))
		return bad(r, "want '" MAGIC " 1'");
	if (version != WISDOM_FORMAT)
		return part_fail(r->err, HETPART_ESTALE, "line 1: format '%s' is not format %d", p,
				 WISDOM_FORMAT);
	if (!next_line(r, &rc))
		return rc != HETPART_OK ? rc : bad(r, "nothing behind this line");
	p = after(r, "host");
	if (!p || !part_wisdom_host_ok(p, strlen(p)))
		return bad(r, "want 'host NAME'");
	return hetpart_wisdom_create(&r->w, p, r->err);
}

static hetpart_status read_body(struct reader *r, const char *begin)
{
	hetpart_status rc;

	while (next_line(r, &rc)) {
		const char *p = after(r, "checksum");
		if (p)
			return read_checksum(r, p, begin);
		rc = read_line(r);
		if (rc != HETPART_OK)
			return rc;
	}
	return rc != HETPART_OK ? rc : bad(r, "the checksum is missing: the file is cut short");
}

static hetpart_status check_stale(const hetpart_wisdom *w, const char *host, uint64_t oldest_s,
				  hetpart_err *err)
{
	if (host && strcmp(w->host, host) != 0)
		return part_fail(err, HETPART_ESTALE, "made on '%s', not on '%.127s'", w->host,
				 host);
	if (w->time_s < oldest_s)
		return part_fail(err, HETPART_ESTALE,
				 "made at '%" PRIu64 "', before %" PRIu64 " (seconds since 1970)",
				 w->time_s, oldest_s);
	return HETPART_OK;
}

hetpart_status hetpart_wisdom_parse(hetpart_wisdom **out, const char *text, size_t bytes,
				    const char *host, uint64_t oldest_s, hetpart_err *err)
{
	struct reader r = { .text = text, .err = err };
	locale_t was, plain;
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || (!text && bytes))
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "text" : "out");
	r.text = text ? text : "";
	r.end = r.text + bytes;
	plain = plain_locale(&was);
	rc = read_head(&r);
	if (rc == HETPART_OK)
		rc = r.w ? read_body(&r, text) : HETPART_EINTERNAL;
	restore_locale(plain, was);
	if (rc == HETPART_OK)
		rc = check_stale(r.w, host, oldest_s, err);
	if (rc == HETPART_OK)
		*out = r.w;
	else
		hetpart_wisdom_free(r.w);
	return rc;
}

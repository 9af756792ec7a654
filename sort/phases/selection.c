/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checksum of dropped records is the checksum of the input minus the checksum of the output. So
 * it also includes the changes of folded fields. Memory: two records, and for each piece the values
 * of its folded fields. */
#include "selection.h"
#include "base/arith.h"
#include "base/size.h"

#include <inttypes.h>

status selection_open(selection *s, rank_env *env, uint64_t most, bool raw)
{
	const settings *o = env->o;
	*s = (selection){ .lay = o->lay, .unique = o->unique, .raw = raw, .left = most };
	s->held = mem_array(&env->m, 2, o->lay.record_bytes, "two records", &env->e);
	s->next = s->held ? s->held + o->lay.record_bytes : NULL;
	return s->held ? ST_OK : ST_RESOURCE;
}

void selection_close(selection *s, mem *m)
{
	mem_free(m, s->held);
	s->held = NULL;
}

/* ------------------------------------------------------------------------------- folded fields */

/* Return the value of folded field i of a record. */
static fold_value selection_value(const selection *s, uint32_t i, const unsigned char *rec)
{
	const key_field *f = &s->lay.fold[i];
	return s->raw && f->fold == FOLD_COUNT ? 1 : fold_load(f, rec);
}

static void selection_begin(const selection *s, fold_value *value, const unsigned char *rec)
{
	for (uint32_t i = 0; i < s->lay.folds; i++)
		value[i] = selection_value(s, i, rec);
}

static void selection_fold(const selection *s, fold_value *value, const unsigned char *rec)
{
	for (uint32_t i = 0; i < s->lay.folds; i++)
		value[i] = fold_join(&s->lay.fold[i], value[i], selection_value(s, i, rec));
}

static void selection_fold_values(const selection *s, fold_value *value, const fold_value *more)
{
	for (uint32_t i = 0; i < s->lay.folds; i++)
		value[i] = fold_join(&s->lay.fold[i], value[i], more[i]);
}

/* Report that the sum in field f does not fit. */
static status too_large(const layout *l, const key_field *f, const unsigned char *rec, err *e)
{
	enum { SHOWN = 32 };
	char key[2 * SHOWN + 1], folds[FOLD_TEXT_BYTES];
	layout one = { .folds = 1, .fold[0] = *f };
	unsigned char normal[SHOWN];
	const uint32_t n = l->key_bytes < SHOWN ? l->key_bytes : SHOWN;
	if (l->fields)
		key_of_fields(l, rec, 0, n, normal);
	else
		memcpy(normal, key_at(l, rec), n);
	for (uint32_t i = 0; i < n; i++)
		snprintf(key + 2 * i, 3, "%02x", normal[i]);
	char value[KEY_VALUE_TEXT_BYTES] = "";
	if (l->fields && l->field[0].type != KEY_TYPE_BYTES)
		key_value_text(&l->field[0], normal, value);
	return err_set(e, ST_INVALID,
		       "%s: the sum of the records with the key %s%s%s%s%s does not fit the field",
		       layout_fold_text(&one, FOLD_NONE, folds), key, n < l->key_bytes ? "..." : "",
		       *value ? " (" : "", value, *value ? ")" : "");
}

/* Check that the values of the folded fields of a record fit. */
static status selection_check(const selection *s, const unsigned char *rec, const fold_value *value,
			      err *e)
{
	const key_field *f = s->lay.fold;
	for (uint32_t i = 0; i < s->lay.folds; i++)
		if (!fold_fits(&f[i], value[i]))
			return too_large(&s->lay, &f[i], rec, e);
	return ST_OK;
}

status selection_store(const selection *s, unsigned char *recs, size_t n, const fold_value *value,
		       dropped *d, err *e)
{
	const layout *l = &s->lay;
	if (l->folds == 0 || n == 0)
		return ST_OK;
	const checksum before = checksum_records(l, recs, n);
	for (size_t k = 0; k < n; k++, value += l->folds) {
		unsigned char *rec = recs + k * l->record_bytes;
		if (selection_check(s, rec, value, e) != ST_OK)
			return e->code;
		for (uint32_t i = 0; i < l->folds; i++)
			fold_store(&l->fold[i], rec, value[i]);
	}
	dropped_change(d, before, checksum_records(l, recs, n));
	return ST_OK;
}

/* ------------------------------------------------------------------------------------- records */

/* Count a dropped record. folded: its values are in another record. */
static void selection_drop(const selection *s, const unsigned char *rec, bool folded, dropped *d)
{
	checksum sum = checksum_records(&s->lay, rec, 1);
	if (folded)
		sum.total = 0;
	d->records++;
	d->sum = checksum_join(d->sum, sum);
}

/* Drop a record that --top excludes, with the records that were folded into it. Their sums must
 * fit, too, because a job may exclude the record here, or after it was written. */
static void selection_exclude(const selection *s, const unsigned char *rec, const fold_value *value,
			      dropped *d, err *e)
{
	(void)selection_check(s, rec, value, e);
	selection_drop(s, rec, true, d);
	for (uint32_t i = 0; i < s->lay.folds; i++)
		if (s->lay.fold[i].fold == FOLD_SUM)
			d->sum.total += fold_factor(i) * (uint64_t)value[i];
}

/* Return the record of an entry that gather() does not copy; count it if its key is not the
 * entry's. Inlined, because a call for each record that --top drops takes as long as the
 * comparison. */
static inline __attribute__((always_inline)) const unsigned char *selection_take(piece *p,
										 const entry *e)
{
	const unsigned char *rec = record_at(p->recs, entry_pos(e));
	p->misfits += !entry_fits(e, rec, &p->recs->lay);
	return rec;
}

status selection_end(selection *s, writer *to, err *e)
{
	size_t room;
	if (s->holds) {
		unsigned char *rec = writer_room(to, &room);
		if (selection_last(s, rec))
			writer_add(to, 1);
	}
	return err_join(e, &s->e);
}

void selection_put(selection *s, const unsigned char *rec, writer *to)
{
	if (s->unique && s->holds && key_compare(&s->lay, s->held, rec) == 0) {
		selection_fold(s, s->value, rec);
		selection_drop(s, rec, true, &s->dropped);
		return;
	}
	(void)selection_end(s, to, NULL);
	record_copy(s->held, rec, s->lay.record_bytes);
	selection_begin(s, s->value, rec);
	s->holds = true;
}

bool selection_last(selection *s, unsigned char *rec)
{
	bool written = s->holds && s->left;
	if (written) {
		written = selection_store(s, s->held, 1, s->value, &s->dropped, &s->e) == ST_OK;
		record_copy(rec, s->held, s->lay.record_bytes);
		s->left -= written;
	} else if (s->holds) {
		selection_exclude(s, s->held, s->value, &s->dropped, &s->e);
	}
	s->holds = false;
	return written;
}

/* ------------------------------------------------------------------------------------- pieces */

void selection_thin(const selection *s, piece *p, entry *order)
{
	const uint32_t folds = s->lay.folds, bytes = s->lay.record_bytes;
	const size_t ahead = record_ahead(bytes);
	size_t n = 0;
	for (size_t i = 0; i < p->n; i++) {
		const entry e = p->order[i];
		if (i + ahead < p->n)
			record_fetch(record_at(p->recs, entry_pos(&p->order[i + ahead])), bytes);
		if (n > 0 && entry_key_cmp(&order[n - 1], &e, p->recs) == 0) {
			const unsigned char *rec = selection_take(p, &e);
			selection_fold(s, p->value + (n - 1) * folds, rec);
			selection_drop(s, rec, true, &p->dropped);
			continue;
		}
		if (folds)
			selection_begin(s, p->value + n * folds, record_at(p->recs, entry_pos(&e)));
		order[n++] = e;
	}
	p->order = order;
	p->n = n;
}

uint64_t selection_join(selection *s, piece *p)
{
	const uint32_t bytes = s->lay.record_bytes, folds = s->lay.folds;
	const size_t values = folds * sizeof *s->value;
	p->fronts = false;
	if (s->unique && p->n && s->holds &&
	    key_compare(&s->lay, s->held, record_at(p->recs, entry_pos(p->order))) == 0) {
		/* the held key continues in this piece */
		selection_fold_values(s, s->value, p->value);
		selection_drop(s, selection_take(p, p->order), true, &p->dropped);
		p->order++;
		p->value += folds;
		p->n--;
	}
	if (s->unique && p->n) {
		/* the held key is complete; the last key may continue in the next piece */
		p->fronts = s->holds;
		if (s->holds)
			record_copy(p->front, s->held, bytes);
		memcpy(p->front_value, s->value, values);
		p->n--;
		record_copy(s->held, selection_take(p, &p->order[p->n]), bytes);
		if (folds)
			memcpy(s->value, p->value + p->n * folds, values);
		s->holds = true;
	}
	if (p->fronts && s->left == 0) {
		selection_exclude(s, p->front, p->front_value, &p->dropped, &s->e);
		p->fronts = false;
	}
	const size_t before = p->fronts;
	const size_t n = (size_t)u64_min(s->left - before, p->n);
	p->rest = p->n - n;
	p->n = n;
	s->left -= before + n;
	return before + n;
}

void selection_drop_rest(const selection *s, piece *p, err *e)
{
	for (size_t i = p->n; i < p->n + p->rest; i++) {
		const unsigned char *rec = selection_take(p, &p->order[i]);
		if (s->unique)
			selection_exclude(s, rec, p->value + i * s->lay.folds, &p->dropped, e);
		else
			selection_drop(s, rec, false, &p->dropped);
	}
}

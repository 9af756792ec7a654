/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checksum of dropped records is the checksum of the input minus the checksum of the output. So
 * it also includes the changes that --count makes to written records. Memory: two records. */
#include "selection.h"
#include "base/arith.h"

status selection_open(selection *s, rank_env *env, uint64_t most)
{
	const settings *o = env->o;
	*s = (selection){ .lay = o->lay, .unique = o->unique, .count = o->count, .left = most };
	s->held = mem_array(&env->m, 2, o->lay.record_bytes, "two records", &env->e);
	s->next = s->held ? s->held + o->lay.record_bytes : NULL;
	return s->held ? ST_OK : ST_RESOURCE;
}

void selection_close(selection *s, mem *m)
{
	mem_free(m, s->held);
	s->held = NULL;
}

/* Count a dropped record. */
static void selection_drop(const selection *s, const unsigned char *rec, dropped *d)
{
	d->records++;
	d->sum = checksum_join(d->sum, checksum_records(rec, 1, s->lay.record_bytes));
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

void selection_count(const selection *s, unsigned char *recs, size_t n, const uint64_t *count,
		     dropped *d)
{
	const uint32_t bytes = s->lay.record_bytes;
	if (!s->count.bytes || !count)
		return;
	const checksum before = checksum_records(recs, n, bytes);
	for (size_t i = 0; i < n; i++) {
		/* if a number does not fit the field, write the largest number that does */
		const key_field *f = &s->count;
		const uint64_t v = f->bytes == 4 ? u64_min(count[i], UINT32_MAX) : count[i];
		unsigned char *to = recs + i * bytes + f->off;
		for (uint32_t k = 0; k < f->bytes; k++)
			to[f->little ? k : f->bytes - 1 - k] = (unsigned char)(v >> 8 * k);
	}
	d->sum = checksum_join(d->sum, checksum_without(before, checksum_records(recs, n, bytes)));
}

void selection_end(selection *s, writer *to)
{
	size_t room;
	if (s->held_count == 0)
		return;
	unsigned char *rec = writer_room(to, &room);
	if (selection_last(s, rec))
		writer_add(to, 1);
}

void selection_put(selection *s, const unsigned char *rec, writer *to)
{
	if (s->unique && s->held_count && key_compare(&s->lay, s->held, rec) == 0) {
		s->held_count++;
		selection_drop(s, rec, &s->dropped);
		return;
	}
	selection_end(s, to);
	record_copy(s->held, rec, s->lay.record_bytes);
	s->held_count = 1;
}

bool selection_last(selection *s, unsigned char *rec)
{
	const bool written = s->held_count && s->left;
	if (written) {
		selection_count(s, s->held, 1, &s->held_count, &s->dropped);
		record_copy(rec, s->held, s->lay.record_bytes);
		s->left--;
	} else if (s->held_count) {
		selection_drop(s, s->held, &s->dropped);
	}
	s->held_count = 0;
	return written;
}

void selection_thin(const selection *s, piece *p, entry *order, uint64_t *count)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n; i++) {
		const entry e = p->order[i];
		if (n > 0 && entry_key_cmp(&order[n - 1], &e, p->recs) == 0) {
			count[n - 1]++;
			selection_drop(s, selection_take(p, &e), &p->dropped);
		} else {
			order[n] = e;
			count[n++] = 1;
		}
	}
	p->order = order;
	p->count = count;
	p->n = n;
}

uint64_t selection_join(selection *s, piece *p)
{
	const uint32_t bytes = s->lay.record_bytes;
	p->front_count = 0;
	if (s->unique && p->n && s->held_count &&
	    key_compare(&s->lay, s->held, record_at(p->recs, entry_pos(p->order))) == 0) {
		/* the held key continues in this piece */
		s->held_count += p->count[0];
		selection_drop(s, selection_take(p, p->order), &p->dropped);
		p->order++;
		p->count++;
		p->n--;
	}
	if (s->unique && p->n) {
		/* the held key is complete; the last key may continue in the next piece */
		p->front_count = s->held_count;
		if (s->held_count)
			record_copy(p->front, s->held, bytes);
		p->n--;
		record_copy(s->held, selection_take(p, &p->order[p->n]), bytes);
		s->held_count = p->count[p->n];
	}
	if (p->front_count && s->left == 0) {
		selection_drop(s, p->front, &p->dropped);
		p->front_count = 0;
	}
	const size_t before = p->front_count > 0;
	const size_t n = (size_t)u64_min(s->left - before, p->n);
	p->rest = p->n - n;
	p->n = n;
	s->left -= before + n;
	return before + n;
}

void selection_drop_rest(const selection *s, piece *p)
{
	for (size_t i = 0; i < p->rest; i++)
		selection_drop(s, selection_take(p, &p->order[p->n + i]), &p->dropped);
}

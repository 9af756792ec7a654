/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pivot sampling: each rank sends evenly spread samples to rank 0, which sorts them and brackets
 * every splitter between two of them. A bracket is an estimate: its user checks it against true
 * counts. Memory: SAMPLES_PER_RANK items at most, at rank 0 as many for each rank, and of many
 * ranks no more than grow as the root of their number: brackets are no wider then. */
#include "sample.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "base/splitmix.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES_PER_RANK = 256, FEW_RANKS = 64, MAX_SAMPLE_BYTES = 1 << 20 };

static const double MARGIN = 2.5; /* five standard deviations, each at most half a root */

/* What a rank sends: how many samples, each for how many records, then the items. */
typedef struct sample_batch {
	uint64_t count;
	double weight;
	unsigned char items[];
} sample_batch;

/* A sample at rank 0. */
typedef struct weighed_sample {
	const item *it;
	double weight; /* records that it stands for */
	double before; /* records before it, by the samples */
} weighed_sample;

/* At most `room` samples: those that the sequence has; or one from each part, always the same place
 * of the sequence, or a random one of the records as they lie (a fixed stride would meet periodic
 * inputs in step). */
static void draw(sample_batch *out, sorted *s, const records *as_read, size_t room)
{
	const uint64_t n = sorted_total(s), of_part = sample_phase((int)s->rank, 0);
	const size_t k = (size_t)u64_min(n, room), isz = item_bytes(&s->lay);
	uint64_t state = UINT64_C(0x68657473) + s->rank;
	out->count = s->ops->sample ? s->ops->sample(s, room, out->items) : k;
	out->weight = out->count ? (double)n / (double)out->count : 0;
	for (size_t i = 0; !s->ops->sample && i < k; i++) {
		const uint64_t from = sample_place(n, i, k, 0), to = sample_place(n, i + 1, k, 0);
		item *it = (void *)(out->items + i * isz);
		if (as_read) {
			const uint64_t at = from + splitmix(&state) % (to - from);
			const entry e = entry_make(record_at(as_read, at), &s->lay, at);
			item_of(it, &e, as_read);
		} else {
			s->ops->item(s, sample_place(n, i, k, of_part), it);
		}
	}
}

double sample_margin(double sum, double square)
{
	return fmin(sum, MARGIN * sqrt(square));
}

/* How far a sample's estimated place in the total order may be off. Regular samples of a rank are
 * wrong by one at most, all together; those from random places each by itself. */
static double margin_of(const sample_batch *const *b, int size, bool regular)
{
	double sum = 0, square = 0;
	for (int i = 0; i < size; i++) {
		const double own = b[i]->weight * b[i]->weight;
		sum += b[i]->weight;
		square += regular ? own : (double)b[i]->count * own;
	}
	return regular ? sample_margin(sum, square) : MARGIN * sqrt(square);
}

/* The first of n samples with more than t before it (or n); `before` grows along the list. */
static size_t first_beyond(const weighed_sample *w, size_t n, double t)
{
	lower_bound b = { .lo = 0, .hi = n };
	while (lower_bound_open(&b))
		lower_bound_step(&b, w[b.mid].before <= t);
	return b.lo;
}

/* The last sample surely before place t, and the first surely behind it. */
static bracket pick(const weighed_sample *w, size_t n, double t, double margin)
{
	const size_t lo = first_beyond(w, n, t - margin), hi = first_beyond(w, n, t + margin);
	return (bracket){ lo > 0 ? w[lo - 1].it : NULL, hi < n ? w[hi].it : NULL };
}

/* Brackets travel as (has lo, has hi, lo, hi), each item isz wide. */
static size_t raw_stride(const layout *l)
{
	return 2 * sizeof(uint64_t) + 2 * item_bytes(l);
}

static void pack(unsigned char *raw, const bracket *b, size_t isz)
{
	const uint64_t has[2] = { b->lo != NULL, b->hi != NULL };
	memcpy(raw, has, sizeof has);
	if (b->lo)
		memcpy(raw + sizeof has, b->lo, isz);
	if (b->hi)
		memcpy(raw + sizeof has + isz, b->hi, isz);
}

static void unpack(brackets *out, const layout *l)
{
	const size_t isz = item_bytes(l);
	for (size_t j = 0; j < out->count; j++) {
		const unsigned char *raw = out->raw + j * raw_stride(l);
		uint64_t has[2];
		memcpy(has, raw, sizeof has);
		const void *lo = raw + sizeof has, *hi = raw + sizeof has + isz;
		out->b[j] = (bracket){ has[0] ? lo : NULL, has[1] ? hi : NULL };
	}
}

/* Rank 0: all samples into one sorted list, a bracket for each target. */
static status choose(mem *m, const unsigned char *all, size_t batch_bytes, int size, bool regular,
		     const layout *l, const uint64_t *target, brackets *out, err *er)
{
	const size_t isz = item_bytes(l), most = (batch_bytes - sizeof(sample_batch)) / isz;
	const sample_batch **b = mem_array(m, (size_t)size, sizeof *b, "sample batches", er);
	weighed_sample *w = NULL;
	size_t n = 0, room = 0;
	status rc = b ? ST_OK : ST_RESOURCE;
	for (int i = 0; b && i < size; i++) {
		b[i] = (const void *)(all + (size_t)i * batch_bytes);
		room += b[i]->count;
		if (b[i]->count > most)
			rc = err_set(er, ST_PEER,
				     "the samples of rank %d are more than it may send", i);
	}
	if (rc != ST_OK)
		goto out;
	w = mem_array(m, room, sizeof *w, "samples", er);
	rc = w ? ST_OK : ST_RESOURCE;
	for (int i = 0; w && i < size; i++)
		for (size_t k = 0; k < b[i]->count; k++)
			w[n++] = (weighed_sample){ (const void *)(b[i]->items + k * isz),
						   b[i]->weight, 0 };
	if (w) {
		layout lay = *l;
		qsort_r(w, n, sizeof *w, item_order, &lay);
		for (size_t i = 1; i < n; i++)
			w[i].before = w[i - 1].before + w[i - 1].weight;
		const double margin = margin_of(b, size, regular);
		for (size_t j = 0; j < out->count; j++) {
			const bracket one = pick(w, n, (double)target[j], margin);
			pack(out->raw + j * raw_stride(l), &one, isz);
		}
	}
	mem_free(m, w);
out:
	mem_free(m, b);
	return rc;
}

static status alloc_brackets(mem *m, brackets *out, size_t count, const layout *l, err *er)
{
	*out = (brackets){ .count = count, .raw_bytes = count * raw_stride(l) };
	out->b = mem_array(m, count, sizeof *out->b, "brackets", er);
	out->raw = mem_array(m, out->raw_bytes, 1, "brackets", er);
	return out->b && out->raw ? ST_OK : ST_RESOURCE;
}

/* Samples of one rank that are sent: few, of long keys fewer, and among many ranks. */
static size_t sample_room(size_t isz, size_t p)
{
	const double many = p > FEW_RANKS ? sqrt((double)FEW_RANKS / (double)p) : 1;
	const size_t n = size_max((size_t)(SAMPLES_PER_RANK * many), 1);
	return size_min(MAX_SAMPLE_BYTES / isz, n);
}

double sample_bracket_recs(uint64_t n, size_t p)
{
	return 2 * MARGIN * (double)n / sqrt((double)p * (double)sample_room(sizeof(item), p));
}

size_t sample_most_bytes(const layout *l)
{
	const size_t isz = item_bytes(l);
	return sizeof(sample_batch) + sample_room(isz, 1) * (isz + sizeof(weighed_sample));
}

status sample_brackets(comm *c, mem *m, sorted *s, const records *as_read, const uint64_t *target,
		       brackets *out, err *er)
{
	const layout *l = &s->lay;
	const size_t isz = item_bytes(l), p = (size_t)c->size;
	const size_t room = sample_room(isz, p), bytes = sizeof(sample_batch) + room * isz;
	status rc = alloc_brackets(m, out, p - 1, l, er);
	sample_batch *mine = mem_array(m, bytes, 1, "samples", er);
	unsigned char *all = c->rank == 0 ? mem_array(m, p, bytes, "samples", er) : NULL;
	if (!mine || (c->rank == 0 && !all))
		rc = ST_RESOURCE;
	rc = comm_agree(c, rc);
	if (rc == ST_OK) {
		draw(mine, s, as_read, room);
		rc = comm_gather(c, mine, all, bytes, 0);
	}
	if (rc == ST_OK && c->rank == 0)
		rc = choose(m, all, bytes, c->size, !as_read && s->count == 1, l, target, out, er);
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_bcast(c, out->raw, out->raw_bytes, 0);
	if (rc == ST_OK)
		unpack(out, l);
	mem_free(m, mine);
	mem_free(m, all);
	return rc;
}

void sample_brackets_free(mem *m, brackets *b)
{
	mem_free(m, b->b);
	mem_free(m, b->raw);
	*b = (brackets){ 0 };
}

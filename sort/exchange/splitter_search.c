/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact multi-way selection. A rank is in charge of one splitter, or of a few. In each round, every
 * rank sends a bid to the rank in charge: the numbers of its records before each of two pivots, and
 * samples of its records between them. The rank in charge answers all ranks with two closer pivots.
 * The error of the samples of p ranks grows as the root of p, and two pivots are at most five times
 * this error apart. So 4 or 5 rounds suffice if all ranks have similar keys. Otherwise a round
 * leaves about half of the places. A round takes two collectives, of some hundred bytes per pair of
 * ranks. */
#include "splitter_search.h"
#include "base/arith.h"

#include <math.h>
#include <stdlib.h>

enum {
	MOST_ROUNDS = 1000,       /* far more than halving 2^64 places takes */
	MOST_SAMPLES = 64,        /* from a rank for a splitter */
	SAMPLES_BYTES = 64 << 10, /* from a rank for all splitters */
};

static const double MARGIN = 2.5; /* five standard deviations of at most half, see sum_bids() */

/* The bid of a rank for a splitter. */
typedef struct bid {
	uint64_t before[2]; /* records of the rank before the lower pivot, and before the upper */
	uint64_t count;     /* of samples between them, 0 only without records; or UNREADABLE */
	unsigned char items[]; /* the samples */
} bid;

static const uint64_t UNREADABLE = UINT64_MAX; /* runs on disk could not be read */

/* The place of a splitter, relative to the last pivots. DECIDED: was found before. BEFORE: is
 * before the item in the answer. */
enum verdict { DECIDED, AT_LOWER, AT_UPPER, BEFORE, LEFT, BETWEEN, RIGHT, FAILED };

enum pivots { LOWER = 1, UPPER = 2 };

/* The answer of the rank in charge. */
typedef struct answer {
	uint32_t verdict;
	uint32_t pivots;       /* a mask: the items that are set */
	unsigned char items[]; /* [2] */
} answer;

/* ------------------------------------------------------------------------------------- memory */

static size_t item_size(const splitter_search *s)
{
	return item_bytes(&s->r->lay);
}

static size_t samples_for(size_t splitters, size_t bytes)
{
	return size_max(1, size_min(MOST_SAMPLES, SAMPLES_BYTES / splitters / bytes));
}

/* Return the number of samples from each run, if there are several runs. */
static size_t samples_a_run(const splitter_search *s)
{
	return s->r->src ? 1 : size_max(1, s->samples / s->r->count);
}

void splitter_search_close(splitter_search *s)
{
	if (!s->m)
		return;
	mem_free(s->m, s->g);
	mem_free(s->m, s->mine);
	mem_free(s->m, s->order);
	mem_free(s->m, s->own);
	*s = (splitter_search){ 0 };
}

/* --------------------------------------------------------------------------------------- bids */

/* Draw samples from each run, one from each part, and choose some of them, at even distances by
 * weight. The number of chosen samples grows with the root of the number of runs, because the
 * precision of a place does not grow faster. */
static size_t draw_from_runs(const splitter_search *s, const range *cut, uint64_t width,
			     unsigned char *to)
{
	layout lay = s->r->lay;
	const size_t one = item_size(s), most = samples_a_run(s);
	const size_t known = (size_t)((double)most * sqrt((double)s->r->count));
	const size_t count = size_max(1, size_min(s->samples, known));
	const uint64_t phase = sample_phase(s->c->rank, s->round);
	double before = 0;
	size_t n = 0, at = 0;
	for (size_t k = 0; k < s->r->count; k++) {
		const uint64_t w = cut[k].hi - cut[k].lo;
		const size_t parts = (size_t)u64_min(most, w);
		for (size_t i = 0; i < parts; i++, n++) {
			item *it = (void *)(s->items + n * one);
			s->r->ops->item(s->r, cut[k].lo + sample_place(w, i, parts, phase), it);
			s->own[n] = (weighed){ it, (double)w / (double)parts };
		}
	}
	qsort_r(s->own, n, sizeof *s->own, item_order, &lay);
	for (size_t i = 0; i < count; i++, to += one) {
		const double place = (double)sample_place(width, i, count, phase);
		while (at + 1 < n && before + s->own[at].weight <= place)
			before += s->own[at++].weight;
		memcpy(to, s->own[at].it, one);
	}
	return count;
}

/* Draw samples of the records between the pivots of a splitter, and return their number. */
static size_t draw_samples(const splitter_search *s, const range *cut, uint64_t width,
			   unsigned char *to)
{
	if (width <= s->samples) { /* all records between the pivots */
		for (size_t k = 0; k < s->r->count; k++)
			for (uint64_t at = cut[k].lo; at < cut[k].hi; at++, to += item_size(s))
				s->r->ops->item(s->r, at, (void *)to);
		return (size_t)width;
	}
	if (s->round == 0 && s->as_read) { /* from each part of the records in memory */
		uint64_t state = UINT64_C(0x68657473) + s->r->rank;
		for (size_t i = 0; i < s->samples; i++, to += item_size(s)) {
			const uint64_t at =
				part_random_place(sorted_total(s->r), i, s->samples, &state);
			const entry e = entry_make(record_at(s->as_read, at), &s->r->lay, at);
			item_of((void *)to, &e, s->as_read);
		}
		return s->samples;
	}
	if (s->round == 0 && s->r->ops->sample)
		return s->r->ops->sample(s->r, s->samples, to);
	if (s->r->count > 1)
		return draw_from_runs(s, cut, width, to);
	const size_t n = s->r->src ? 1 : s->samples;
	for (size_t i = 0; i < n; i++, to += item_size(s))
		s->r->ops->item(
			s->r,
			cut->lo + sample_place(width, i, n, sample_phase(s->c->rank, s->round)),
			(void *)to);
	return n;
}

/* -------------------------------------------------------------------------- the rank in charge */

/* The sum of the bids of all ranks for a splitter. */
typedef struct bid_sum {
	uint64_t before[2];
	bool unreadable;
	size_t n; /* samples, in s->order */
	bool all; /* the samples are all records between the pivots */
	double margin;
} bid_sum;

/* Add up the bids. The margin limits the error of a place that is estimated from samples, each of
 * which stands for `weight` records of its rank. The error is at most the sum of one weight per
 * rank. It is also at most five standard deviations, except once in a million times. A standard
 * deviation is at most half the root of the sum of the squares of these weights. */
static bid_sum sum_bids(const splitter_search *s, size_t number)
{
	bid_sum h = { .all = true };
	layout lay = s->r->lay;
	double sum = 0, square = 0;
	for (int i = 0; i < s->c->size; i++) {
		const bid *b =
			(const void *)(s->in + (size_t)i * s->bids_bytes + number * s->bid_bytes);
		const uint64_t width = b->before[1] - b->before[0];
		const size_t n = (size_t)u64_min(b->count, s->samples);
		const double weight = n ? (double)width / (double)n : 0;
		h.before[0] += b->before[0];
		h.before[1] += b->before[1];
		h.unreadable |= b->count == UNREADABLE;
		for (size_t k = 0; k < n; k++)
			s->order[h.n++] =
				(weighed){ (const void *)(b->items + k * item_size(s)), weight };
		if (n == width)
			continue;
		h.all = false;
		sum += weight;
		square += weight * weight;
	}
	h.margin = fmin(sum, MARGIN * sqrt(square));
	qsort_r(s->order, h.n, sizeof *s->order, item_order, &lay);
	return h;
}

/* Find the place of a splitter of this rank relative to the last pivots. If it is between them, set
 * pivot[0] to the item at this place. If the samples do not contain that, set closer pivots: the
 * nearest samples that are a margin before and after it. If neither exists, or the last pivots
 * gained little, set both to the median sample. */
static enum verdict decide_splitter(splitter_search *s, size_t number, const item *pivot[2])
{
	charge *mine = &s->mine[number];
	const bid_sum h = sum_bids(s, number);
	if (h.unreadable)
		return FAILED;
	if (mine->decided)
		return DECIDED;
	const uint64_t target = s->target[(size_t)s->c->rank * s->each + number],
		       width = h.before[1] - h.before[0];
	if (target <= h.before[0])
		return target < h.before[0] ? LEFT : AT_LOWER;
	if (target >= h.before[1])
		return target > h.before[1] ? RIGHT : AT_UPPER;
	const uint64_t t = target - h.before[0];
	const bool careful = width > mine->width - mine->width / 4;
	mine->width = width;
	if (h.n == 0)
		return FAILED;
	if (h.all && t < h.n) {
		pivot[0] = s->order[t].it;
		return BEFORE;
	}
	const item *median = NULL;
	double before = 0;
	for (size_t i = 0; i < h.n; i++) {
		const weighed *w = &s->order[i];
		const double place = before + w->weight / 2;
		before += w->weight;
		if (place <= (double)t - h.margin)
			pivot[0] = w->it;
		if (place >= (double)t + h.margin && !pivot[1])
			pivot[1] = w->it;
		if (before > (double)width / 2 && !median)
			median = w->it;
	}
	if (careful || (!pivot[0] && !pivot[1]))
		pivot[0] = pivot[1] = median;
	return BETWEEN;
}

/* ------------------------------------------------------------------------------------- rounds */

/* Narrow the ranges of splitter j to the part in which it lies, and find the new pivots there. */
static void take_answer(const splitter_search *s, size_t j, const answer *a)
{
	const item *lower = (const void *)a->items;
	const item *upper = (const void *)(a->items + item_size(s));
	for (size_t i = j * s->r->count; i < (j + 1) * s->r->count; i++) {
		range *g = &s->g[i], *cut = &s->cut[i];
		if (a->verdict == BETWEEN || a->verdict == BEFORE)
			*g = *cut;
		if (a->verdict == LEFT)
			g->hi = cut->lo;
		if (a->verdict == RIGHT)
			g->lo = cut->hi;
		if (a->verdict == AT_LOWER)
			g->lo = g->hi = cut->lo;
		if (a->verdict == AT_UPPER)
			g->lo = g->hi = cut->hi;
		*cut = *g;
		if (a->pivots & LOWER)
			cut->lo = s->r->ops->before(s->r, g->lo, g->hi, lower);
		if (a->pivots & UPPER)
			cut->hi = s->r->ops->before(s->r, cut->lo, g->hi, upper);
		if (a->verdict == BEFORE)
			g->lo = g->hi = cut->hi = cut->lo;
	}
}

/* Return the bid for splitter j in the message to the rank in charge, and the answer in its message
 * to all ranks. */
static bid *bid_for(const splitter_search *s, size_t j)
{
	return (void *)(s->out + j / s->each * s->bids_bytes + j % s->each * s->bid_bytes);
}

static const answer *answer_for(const splitter_search *s, size_t j)
{
	return (const void *)(s->in + j / s->each * s->answers_bytes +
			      j % s->each * s->answer_bytes);
}

/* Decide the splitters of this rank. */
static void decide(splitter_search *s)
{
	for (size_t k = 0; k < s->each; k++) {
		answer *own = (void *)(s->answers + k * s->answer_bytes);
		const item *pivot[2] = { NULL, NULL };
		own->verdict = decide_splitter(s, k, pivot);
		own->pivots = 0;
		for (unsigned i = 0; i < 2; i++)
			if (pivot[i]) {
				own->pivots |= 1U << i;
				memcpy(own->items + i * item_size(s), pivot[i], item_size(s));
			}
		s->mine[k].decided |= own->verdict <= BEFORE;
	}
}

/* Collective: send bids for all splitters, decide the splitters of this rank, and take all answers.
 */
static status search_round(splitter_search *s)
{
	for (size_t j = 0; j < s->count; j++) {
		bid *b = bid_for(s, j);
		const range *cut = s->cut + j * s->r->count;
		b->before[0] = b->before[1] = 0;
		for (size_t k = 0; k < s->r->count; k++) {
			b->before[0] += cut[k].lo - s->r->start[k];
			b->before[1] += cut[k].hi - s->r->start[k];
		}
		b->count = draw_samples(s, cut, b->before[1] - b->before[0], b->items);
	}
	for (size_t j = 0; j < s->count && sorted_failure(s->r, NULL) != ST_OK; j++)
		bid_for(s, j)->count = UNREADABLE;
	status rc = comm_alltoall_sealed(s->c, s->out, s->in, s->bids_bytes);
	if (rc != ST_OK)
		return rc;
	decide(s);
	rc = comm_allgather_sealed(s->c, s->answers, s->in, s->answers_bytes);
	if (rc != ST_OK)
		return rc;
	s->live = false;
	s->failed = s->round++ == MOST_ROUNDS;
	for (size_t j = 0; j < (size_t)s->c->size * s->each; j++) {
		s->failed |= answer_for(s, j)->verdict >= FAILED;
		s->live |= answer_for(s, j)->verdict > BEFORE;
	}
	for (size_t j = 0; j < s->count && !s->failed; j++)
		if (answer_for(s, j)->verdict != DECIDED)
			take_answer(s, j, answer_for(s, j));
	return ST_OK;
}

status splitter_search_open(splitter_search *s, err *er)
{
	const size_t p = (size_t)s->c->size, runs = s->r->count, places = s->count * runs;
	const size_t one = item_size(s);
	s->samples = samples_for(p * s->each, one);
	s->answer_bytes = sizeof(answer) + 2 * one;
	s->bid_bytes = sizeof(bid) + s->samples * one;
	s->answers_bytes = s->each * s->answer_bytes + COMM_SEAL_BYTES;
	s->bids_bytes = s->each * s->bid_bytes + COMM_SEAL_BYTES;
	const size_t own_room = runs > 1 ? size_max(s->samples, runs * samples_a_run(s)) : 0;
	const size_t in_bytes = size_max(s->bids_bytes, s->answers_bytes);
	const size_t order_bytes = s->samples * sizeof *s->order;
	s->g = mem_array(s->m, places, 2 * sizeof *s->g, "splitter ranges", er);
	s->mine = mem_array(s->m, s->each, sizeof *s->mine, "splitters", er);
	/* a part for each rank, and one for the answers of this rank */
	s->order = mem_array(s->m, p + 1, order_bytes + s->bids_bytes + in_bytes,
			     "splitter samples", er);
	s->own = mem_array(s->m, own_room, sizeof *s->own + one, "splitter samples", er);
	const bool room = s->g && s->mine && s->order && s->own;
	const status rc = comm_agree(s->c, room ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	s->cut = s->g + places;
	s->out = (unsigned char *)s->order + p * order_bytes;
	s->in = s->out + p * s->bids_bytes;
	s->answers = s->in + p * in_bytes;
	s->items = (unsigned char *)(s->own + own_room);
	for (size_t k = 0; k < s->each; k++)
		s->mine[k] = (charge){ UINT64_MAX, (size_t)s->c->rank * s->each + k >= s->count };
	for (size_t i = 0; i < places; i++) /* the ranges are whole runs at first */
		s->g[i] = s->cut[i] = (range){ s->r->start[i % runs], s->r->start[i % runs + 1] };
	return s->count > 0 ? search_round(s) : ST_OK;
}

status splitter_search_end(splitter_search *s, uint64_t *cut, err *er)
{
	const size_t runs = s->r->count, places = s->count * runs;
	status rc = ST_OK;
	while (rc == ST_OK && s->live && !s->failed)
		rc = search_round(s);
	if (rc == ST_OK)
		rc = comm_agree(s->c, sorted_failure(s->r, er));
	if (rc == ST_OK && s->failed)
		return err_set(er, ST_PEER, "the ranks cannot agree on the places of the cuts");
	for (size_t k = 0; rc == ST_OK && k < runs; k++) {
		cut[k] = s->r->start[k];
		cut[runs + places + k] = s->r->start[k + 1];
	}
	for (size_t i = 0; rc == ST_OK && i < places; i++)
		cut[runs + i] = s->g[i].lo;
	return rc;
}

uint64_t splitter_search_peer_bytes(const layout *l)
{
	const uint64_t items = MOST_SAMPLES * item_bytes(l);
	return 2 * (sizeof(bid) + items + COMM_SEAL_BYTES) + MOST_SAMPLES * sizeof(weighed) +
	       2 * sizeof(range) + sizeof(charge);
}

double splitter_search_left(uint64_t n, size_t p)
{
	return 2 * MARGIN * (double)n / sqrt((double)p * (double)samples_for(p, sizeof(item)));
}

/* -------------------------------------------------------------------------- cuts between keys
 *
 * All records with the key of the greatest record before a splitter must be before it, too. For
 * splitter j, each rank sends its own greatest record to rank j, which answers with the greatest of
 * all. This takes two messages per rank and splitter. */

/* The last record before a splitter. Arrays have the stride 8 + item_bytes. */
typedef struct last_before {
	uint64_t any; /* 0: no record precedes the splitter */
	item it;
} last_before;

static void take_greater(last_before *to, const last_before *from, size_t stride, const layout *l)
{
	if (from->any && (!to->any || item_cmp(&to->it, &from->it, l) < 0))
		memcpy(to, from, stride);
}

status key_borders_move(comm *c, mem *m, sorted *s, size_t each, uint64_t *cut, err *er)
{
	const size_t p = (size_t)c->size, all_count = p * each;
	const size_t stride = offsetof(last_before, it) + item_bytes(&s->lay);
	unsigned char *own = mem_array(m, all_count, 2 * stride, "splitters", er);
	unsigned char *all = own ? own + all_count * stride : NULL;
	last_before *room = (void *)all;
	status rc = comm_agree(c, own ? ST_OK : ST_RESOURCE);
	for (size_t i = s->count; rc == ST_OK && i < all_count * s->count; i++) {
		const size_t j = i / s->count - 1, k = i % s->count;
		room->any = cut[i] > s->start[k];
		if (room->any)
			s->ops->item(s, cut[i] - 1, &room->it);
		take_greater((void *)(own + j * stride), room, stride, &s->lay);
	}
	if (rc == ST_OK)
		rc = comm_agree(c, sorted_failure(s, er));
	if (rc == ST_OK)
		rc = comm_alltoall(c, own, all, each * stride);
	for (size_t k = 0; rc == ST_OK && k < each; k++) {
		last_before *mine = (void *)(own + k * stride);
		mine->any = 0;
		for (size_t i = 0; i < p; i++)
			take_greater(mine, (const void *)(all + (i * each + k) * stride), stride,
				     &s->lay);
		mine->it.rank = UINT64_MAX; /* greater than any record with this key */
	}
	if (rc == ST_OK)
		rc = comm_allgather(c, own, all, each * stride);
	for (size_t i = s->count; rc == ST_OK && i < all_count * s->count; i++) {
		const last_before *last = (const void *)(all + (i / s->count - 1) * stride);
		if (last->any)
			cut[i] = s->ops->before(s, cut[i], s->start[i % s->count + 1], &last->it);
	}
	rc = comm_agree(c, rc == ST_OK ? sorted_failure(s, er) : rc);
	mem_free(m, own);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making the map from a sorted sample, in two walks down the tree: the first decides which cells
 * have a table or a heavy key, the second, which then knows how many buckets these take, numbers
 * the buckets. Pure. */
#include "classifier.h"
#include "base/minmax.h"

size_t classifier_sample_size(uint64_t n, uint32_t buckets)
{
	enum { PER_BUCKET = 8 };
	return size_min(size_min((size_t)buckets * PER_BUCKET, SAMPLE_MAX), n);
}

size_t classifier_sample(const records *in, uint64_t n, uint32_t buckets, entry *sample)
{
	const size_t want = classifier_sample_size(n, buckets);
	uint64_t x = n;
	for (size_t i = 0; i < want; i++) {
		/* anywhere in the i-th stretch: a fixed distance could meet a pattern */
		const uint64_t from = n / want * i + n % want * i / want;
		const uint64_t to = n / want * (i + 1) + n % want * (i + 1) / want;
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		const uint64_t pos = from + (x >> 33) % (to - from);
		sample[i] = entry_make(record_at(in, pos), &in->lay, pos);
	}
	return want;
}

/* What the making of a map needs besides the map. */
typedef struct maker {
	classifier *m;
	const records *in;
	const entry *sample;
	size_t n;
	uint32_t buckets;
	size_t dense;    /* samples from which on a cell has a table of its own */
	uint16_t *cells; /* that are not taken yet */
	size_t cells_left;
	uint32_t extra_left; /* tables and heavy keys that the number of buckets still allows */
	/* the second walk */
	uint32_t b, end; /* the current bucket, and the first that is left for other uses */
	size_t held;     /* samples in it */
	size_t left;     /* samples in it and behind it */
	bool open;       /* it has a cell */
} maker;

static const unsigned char *sample_at(const maker *k, size_t i)
{
	return record_at(k->in, entry_pos(&k->sample[i]));
}

static uint64_t window_of(const maker *k, const classifier_table *t, size_t i)
{
	return key_window_read(&k->in->lay, &t->window, sample_at(k, i));
}

static size_t cell_of(const maker *k, const classifier_table *t, size_t i)
{
	const uint64_t x = window_of(k, t, i) - t->base;
	return t == &k->m->root ? classifier_cell(t, x) : (size_t)(x >> t->shift);
}

/* Where the samples from i on that share its cell of t end, before `end`. */
static size_t cell_end(const maker *k, const classifier_table *t, size_t i, size_t end)
{
	const size_t cell = cell_of(k, t, i);
	do
		i++;
	while (i < end && cell_of(k, t, i) == cell);
	return i;
}

/* The key that occurs most often among the samples [i, end), by a record; how often. */
static size_t most_frequent(const maker *k, size_t i, size_t end, const unsigned char **rec)
{
	const layout *l = &k->in->lay;
	size_t most = 0, run = 0;
	for (; i < end; i++) {
		const unsigned char *at = sample_at(k, i);
		run = run && key_compare(l, at, sample_at(k, i - 1)) == 0 ? run + 1 : 1;
		if (run > most) {
			most = run;
			*rec = at;
		}
	}
	return most;
}

/* ------------------------------------------------------------------------- which tables there are
 */

/* The range of samples [i, end) in the window from byte key_from of the key on. */
static void table_range(const maker *k, classifier_table *t, uint32_t key_from, size_t i,
			size_t end)
{
	const layout *l = &k->in->lay;
	const uint32_t left = l->key_bytes - key_from;
	t->key_from = key_from;
	t->window = key_window_at(l, key_from, (uint32_t)u64_min(left, KEY_WINDOW_BYTES));
	t->base = window_of(k, t, i);
	t->top = window_of(k, t, end - 1);
	const uint64_t range = t->top - t->base;
	t->norm = range ? (unsigned)__builtin_clzll(range) : 0;
	/* What a number leaves out of the window must be bits that are 0 in every key. */
	const unsigned zeros = t->window.keep ? (unsigned)__builtin_ctzll(t->window.keep) : 64;
	const unsigned pos_bits = 64 - (unsigned)__builtin_clzll(k->m->pos_mask);
	t->exact = left <= KEY_WINDOW_BYTES && t->norm + zeros >= pos_bits;
}

static void take_cells(maker *k, classifier_table *t, size_t cells)
{
	t->cells = (uint32_t)cells;
	t->of_cell = k->cells;
	k->cells += cells;
	k->cells_left -= cells;
	memset(t->of_cell, 0, cells * sizeof *t->of_cell);
}

/* A table for samples [i, end) of one cell of `up`, or NULL: they share what is left of the key, or
 * room or buckets are used up. */
static classifier_table *add_table(maker *k, const classifier_table *up, size_t i, size_t end)
{
	enum { FEWEST_BITS = 6, CELLS_A_SAMPLE = 4 };
	classifier *m = k->m;
	classifier_table *t = &m->table[m->n_tables];
	const uint64_t from = window_of(k, up, i), to = window_of(k, up, end - 1);
	const unsigned same_bits = from == to ? 64 : (unsigned)__builtin_clzll(from ^ to);
	const uint32_t key_from = up->key_from + same_bits / 8;
	if (key_from >= k->in->lay.key_bytes || m->n_tables == TABLES_MAX || k->extra_left == 0)
		return NULL;
	table_range(k, t, key_from, i, end);
	const uint64_t range = t->top - t->base;
	const unsigned width = 64 - (unsigned)__builtin_clzll(range | 1);
	unsigned bits = FEWEST_BITS;
	while ((end - i) * CELLS_A_SAMPLE >> bits)
		bits++;
	t->shift = width > bits ? width - bits : 0;
	if ((range >> t->shift) + 1 > k->cells_left)
		return NULL;
	t->from = from;
	t->to = to;
	take_cells(k, t, (size_t)(range >> t->shift) + 1);
	m->n_tables++;
	k->extra_left--;
	return t;
}

/* Decides what each cell of t that has samples, [i, end) in all, leads to. */
static void grow(maker *k, const classifier_table *t, size_t i, size_t end, unsigned depth)
{
	classifier *m = k->m;
	for (size_t next; i < end; i = next) {
		const unsigned char *rec = NULL;
		next = cell_end(k, t, i, end);
		if (next - i <= k->dense && next - i <= k->n / HEAVY_MAX)
			continue;
		const size_t n = next - i, same = most_frequent(k, i, next, &rec);
		uint16_t *to = &t->of_cell[cell_of(k, t, i)];
		const classifier_table *deeper = NULL;
		if (n - same > k->dense && depth < TABLE_DEPTH)
			deeper = add_table(k, t, i, next);
		if (deeper) {
			*to = (uint16_t)(TABLE_CELL | (deeper - m->table));
			grow(k, deeper, i, next, depth + 1);
		} else if (same > 1 && same > k->n / HEAVY_MAX && same >= n / 2 &&
			   m->n_heavy < HEAVY_MAX && k->extra_left > 0) {
			m->heavy[m->n_heavy++] = rec;
			*to = (uint16_t)(HEAVY_CELL | m->n_heavy);
			k->extra_left--;
		}
	}
}

/* ----------------------------------------------------------------------------------- their buckets
 */

static void next_bucket(maker *k, bool exact)
{
	k->left -= k->held;
	k->held = 0;
	k->open = false;
	k->m->exact[++k->b] = exact;
}

/* The current bucket, the next and the one after it: below the heavy key, itself, and above. */
static uint16_t number_heavy(maker *k, uint16_t heavy, bool exact)
{
	classifier *m = k->m;
	const uint32_t b = k->b;
	k->end += 4;
	m->beside[b] = (uint8_t)heavy;
	m->beside[b + 1] = HEAVY_ITSELF;
	m->exact[b + 1] = true;
	m->exact[b + 2] = exact;
	k->b += 2;
	next_bucket(k, exact);
	return (uint16_t)(HEAVY_CELL | b);
}

/* Neighbouring cells to one bucket, up to an even share of what the sample has left; a heavy one to
 * three; a table to its own ones. Begins and ends with a bucket for keys outside the range. */
static void number_buckets(maker *k, classifier_table *t, size_t i, size_t end)
{
	classifier *m = k->m;
	size_t next = cell_of(k, t, i);
	t->below = (uint16_t)k->b;
	m->exact[k->b] = false;
	next_bucket(k, t->exact);
	for (uint32_t c = 0; c < t->cells; c++) {
		const uint16_t was = t->of_cell[c];
		const size_t at = i;
		if (c == next) {
			i = cell_end(k, t, i, end);
			next = i < end ? cell_of(k, t, i) : SIZE_MAX;
		}
		const size_t n = i - at, share = k->left / (k->end - k->b);
		const bool full = k->held > 0 && k->b + 1 < k->end && k->held + n / 2 >= share;
		if (k->open && (was || full))
			next_bucket(k, t->exact);
		if (was & TABLE_CELL) {
			k->end += 2;
			number_buckets(k, &m->table[was & ~TABLE_CELL], at, i);
			k->end += 2;
			next_bucket(k, t->exact);
			continue;
		}
		k->held += n;
		k->open = true;
		t->of_cell[c] = was ? number_heavy(k, was, t->exact) : (uint16_t)k->b;
	}
	if (k->open)
		next_bucket(k, false);
	m->exact[k->b] = false;
	t->above = (uint16_t)k->b;
}

void classifier_make(classifier *m, const records *in, const entry *sample, size_t n,
		     unsigned pos_bits, uint32_t buckets, const classifier_room *room)
{
	const layout *l = &in->lay;
	maker k = { .m = m,
		    .in = in,
		    .sample = sample,
		    .n = n,
		    .dense = 2 * n / buckets + 2,
		    .cells = room->cells,
		    .cells_left = CELLS_MAX,
		    .extra_left = (buckets - 3) / 8,
		    .left = n };
	classifier_table *root = &m->root;
	m->common = sample_at(&k, 0);
	m->lay = *l;
	m->pos_mask = (UINT64_C(1) << pos_bits) - 1;
	m->n_tables = m->n_heavy = 0;
	m->table = room->table;
	memset(m->beside, 0, sizeof m->beside);
	const uint32_t shared = key_shared_bytes(l, m->common, sample_at(&k, n - 1));
	m->head = key_window_at(l, 0, (uint32_t)u64_min(shared, KEY_WINDOW_BYTES));
	m->head_value = key_window_read(l, &m->head, m->common);
	table_range(&k, root, shared, 0, n);
	unsigned bits = 6;
	while (bits < CELL_BITS_MAX && 1u << bits < buckets)
		bits++;
	root->shift = 52 - bits;
	take_cells(&k, root, classifier_cell(root, root->top - root->base) + 1);
	grow(&k, root, 0, n, 0);
	k.end = buckets - 1 - 4 * (m->n_tables + m->n_heavy);
	number_buckets(&k, root, 0, n);
	m->buckets = k.b + 1;
}

/* ---------------------------------------------------------------------------------------- its use
 */

int classifier_outside(const classifier *m, const unsigned char *rec)
{
	const uint64_t v = key_window_read(&m->lay, &m->head, rec);
	if (v != m->head_value)
		return v < m->head_value ? -1 : 1;
	if (m->root.key_from <= KEY_WINDOW_BYTES)
		return 0;
	return key_part_compare(&m->lay, rec, m->common, KEY_WINDOW_BYTES, m->root.key_from);
}

static uint32_t beside_heavy(const classifier *m, const unsigned char *rec, uint32_t bucket)
{
	const unsigned char *heavy = m->heavy[m->beside[bucket] - 1];
	const int c = key_compare(&m->lay, rec, heavy);
	return bucket + (c >= 0) + (c > 0);
}

uint32_t classifier_deeper(const classifier *m, const unsigned char *rec, uint64_t pos, uint64_t w,
			   uint32_t cell, uint64_t *number)
{
	while (cell & TABLE_CELL && !(cell & HEAVY_CELL)) {
		const classifier_table *t = &m->table[cell & ~(uint32_t)TABLE_CELL];
		*number = pos;
		if (w < t->from || w > t->to)
			return w < t->from ? t->below : t->above;
		w = key_window_read(&m->lay, &t->window, rec);
		if (w < t->base || w > t->top)
			return w < t->base ? t->below : t->above;
		const uint64_t x = w - t->base;
		*number |= x << t->norm & ~m->pos_mask;
		cell = t->of_cell[x >> t->shift];
	}
	return cell & HEAVY_CELL ? beside_heavy(m, rec, cell & ~(uint32_t)HEAVY_CELL) : cell;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making the map from a sample. Two looks at it: the shared bytes, then the range behind them; a
 * third fills the cells. Pure. */
#include "classifier.h"
#include "base/minmax.h"

static uint32_t shared_bytes(const layout *l, const unsigned char *const *sample, size_t n)
{
	uint32_t shared = l->key_bytes;
	for (size_t i = 1; i < n && shared > 0; i++)
		shared = key_shared_bytes(key_at(l, sample[i]), key_at(l, sample[0]), shared);
	return shared;
}

int classifier_outside(const classifier *m, const unsigned char *rec)
{
	const uint64_t v = key_window_read(&m->head, rec);
	if (v != m->head_value)
		return v < m->head_value ? -1 : 1;
	if (m->shared_bytes <= KEY_WINDOW_BYTES)
		return 0;
	return key_part_compare(key_at(&m->lay, rec), m->common, KEY_WINDOW_BYTES, m->shared_bytes);
}

static void find_window(classifier *m, const layout *l, const unsigned char *const *sample,
			size_t n)
{
	const uint32_t shared = shared_bytes(l, sample, n), left = l->key_bytes - shared;
	const uint32_t head = (uint32_t)u64_min(shared, KEY_WINDOW_BYTES);
	const uint32_t body = (uint32_t)u64_min(left, KEY_WINDOW_BYTES);
	m->lay = *l;
	m->common = key_at(l, sample[0]);
	m->shared_bytes = shared;
	m->constant = left == 0;
	m->exact = left <= KEY_WINDOW_BYTES;
	m->head = key_window_at(l, 0, head);
	m->head_value = key_window_read(&m->head, sample[0]);
	m->body = key_window_at(l, shared, body);
}

static void find_range(classifier *m, const unsigned char *const *sample, size_t n,
		       unsigned pos_bits)
{
	m->base = UINT64_MAX;
	m->top = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t w = key_window_read(&m->body, sample[i]);
		m->base = u64_min(w, m->base);
		m->top = u64_max(w, m->top);
	}
	const uint64_t range = m->top - m->base;
	m->norm = range ? (unsigned)__builtin_clzll(range) : 0;
	m->pos_mask = (UINT64_C(1) << pos_bits) - 1;
	/* What a number leaves out of the window must be bits that are 0 in every key. */
	const unsigned zeros = m->body.keep ? (unsigned)__builtin_ctzll(m->body.keep) : 64;
	m->exact = m->exact && m->norm + zeros >= pos_bits;
}

uint32_t classifier_beside(const classifier *m, const unsigned char *rec, uint32_t bucket)
{
	const unsigned char *heavy = m->heavy[m->beside[bucket] - 1];
	const int c = key_compare(&m->lay, key_at(&m->lay, rec), heavy);
	return bucket + (c >= 0) + (c > 0);
}

static inline size_t cell_of_sample(const classifier *m, const unsigned char *rec)
{
	return classifier_cell(m, key_window_read(&m->body, rec) - m->base);
}

static bool same_key(const classifier *m, const unsigned char *rec, const unsigned char *key)
{
	return key_equal(&m->lay, key_at(&m->lay, rec), key);
}

/* Cells that hold much of the sample, most of it one key: of_cell becomes 1 + the key's index
 * there, and 0 elsewhere. A vote finds the only key that can be most of a cell, a second look
 * counts it. */
static void find_heavy(classifier *m, const unsigned char *const *sample, size_t n,
		       const uint32_t *count, size_t cells, uint32_t most)
{
	size_t votes[HEAVY_MAX] = { 0 }, real[HEAVY_MAX] = { 0 };
	m->n_heavy = 0;
	for (size_t c = 0; c < cells; c++) {
		const bool much = count[c] > n / HEAVY_MAX && count[c] > 1;
		m->of_cell[c] = much && m->n_heavy < most ? (uint16_t)++m->n_heavy : 0;
	}
	for (size_t i = 0; m->n_heavy > 0 && i < n; i++) {
		const unsigned h = m->of_cell[cell_of_sample(m, sample[i])];
		if (h == 0)
			continue;
		if (votes[h - 1] == 0)
			m->heavy[h - 1] = key_at(&m->lay, sample[i]);
		votes[h - 1] += same_key(m, sample[i], m->heavy[h - 1]) ? 1 : (size_t)-1;
	}
	for (size_t i = 0; m->n_heavy > 0 && i < n; i++) {
		const unsigned h = m->of_cell[cell_of_sample(m, sample[i])];
		if (h > 0)
			real[h - 1] += same_key(m, sample[i], m->heavy[h - 1]);
	}
	for (size_t c = 0; m->n_heavy > 0 && c < cells; c++)
		if (m->of_cell[c] && real[m->of_cell[c] - 1] < count[c] / 2)
			m->of_cell[c] = 0;
}

/* Neighbouring cells to one bucket, up to an even share of what the sample has left; heavy ones to
 * three. Returns the last bucket. */
static uint32_t divide_cells(classifier *m, const uint32_t *count, size_t cells, size_t n,
			     uint32_t buckets)
{
	uint32_t b = 1, held = 0, end = buckets - 4 * m->n_heavy;
	size_t left = n; /* in this bucket, and in cells from here on */
	memset(m->beside, 0, sizeof m->beside);
	for (size_t c = 0; c < cells; c++) {
		const unsigned heavy = m->of_cell[c];
		const size_t share = left / (end - b);
		if (held > 0 && (heavy || (b + 1 < end && held + count[c] / 2 >= share))) {
			left -= held;
			held = 0;
			b++;
		}
		m->of_cell[c] = (uint16_t)(heavy ? b | HEAVY_CELL : b);
		held += count[c];
		if (!heavy)
			continue;
		m->beside[b] = (uint8_t)heavy;
		m->beside[b + 1] = HEAVY_ITSELF;
		left -= held;
		held = 0;
		b += 3;
		end += 4;
	}
	return b;
}

void classifier_make(classifier *m, const layout *l, const unsigned char *const *sample, size_t n,
		     unsigned pos_bits, uint32_t buckets, uint16_t *of_cell, uint32_t *count)
{
	unsigned bits = 6;
	find_window(m, l, sample, n);
	find_range(m, sample, n, pos_bits);
	while (bits < CELL_BITS_MAX && 1u << bits < buckets)
		bits++;
	m->cell_shift = 52 - bits;
	m->of_cell = of_cell;
	const size_t cells = classifier_cell(m, m->top - m->base) + 1;
	memset(count, 0, cells * sizeof *count);
	for (size_t i = 0; i < n; i++)
		count[cell_of_sample(m, sample[i])]++;
	const uint32_t most = (uint32_t)u64_min((buckets - 4) / 8, HEAVY_MAX);
	find_heavy(m, sample, n, count, cells, most);
	m->buckets = divide_cells(m, count, cells, n, buckets - 1) + 2;
}

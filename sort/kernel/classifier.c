/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making the map from a sorted sample. First, the splitters of each table are chosen, beginning
 * with the root. Then buckets are numbered in the order of keys. Pure. */
#include "classifier.h"
#include "base/arith.h"

enum {
	/* Buckets in addition to the full ones between splitters. Two are for keys that do not
	 * share the common bytes. A table has one at each end, and one that is not full. Each node
	 * ends another bucket early. */
	ROOT_EXTRA = 6,
	NODE_EXTRA = 4,
	CELLS_LEAST = 8,     /* of a table */
	CELLS_A_SEGMENT = 4, /* fewer if memory is short: nested tables use the samples again */
	SEGMENT_BYTES = sizeof(uint64_t) + sizeof(uint16_t) + sizeof(uint8_t),
};

size_t classifier_sample_size(uint64_t n, uint32_t buckets)
{
	enum { PER_BUCKET = 8 };
	return size_min(size_min((size_t)buckets * PER_BUCKET, SAMPLE_MAX), n);
}

size_t classifier_sample(const records *in, uint64_t n, uint32_t buckets, entry *sample)
{
	const size_t want = classifier_sample_size(n, buckets);
	uint64_t random = n;
	for (size_t i = 0; i < want; i++) {
		const uint64_t pos = part_random_place(n, i, want, &random);
		sample[i] = entry_make(record_at(in, pos), &in->lay, pos);
	}
	return want;
}

/* Return the greatest number of nodes (struct node): they may take half of the buckets. */
static size_t classifier_nodes(uint32_t buckets)
{
	return (buckets - BUCKETS_LEAST) / (2 * NODE_EXTRA);
}

/* A segment of one value that has a large part of the sample: [i, end). */
typedef struct node {
	uint16_t *to;      /* where its segment leads */
	uint32_t key_from; /* offset of the key's bytes after this value */
	unsigned depth;
	size_t i, end;
} node;

/* The arrays of a map. */
typedef struct map_room {
	classifier_table *table;
	classifier_heavy *heavy;
	classifier_bucket *bucket;
	classifier_segments segment;
	uint64_t *tree;
	uint16_t *cell;
	size_t cells;
} map_room;

/* The map that is being made. */
typedef struct maker {
	map_room room;
	const records *in;
	const entry *sample;
	size_t share; /* samples that a bucket should have */
	size_t dense; /* a value with more samples becomes a node, up to nodes_dense nodes, */
	size_t huge;  /* and with more samples than this, up to nodes_most */
	size_t cells, segments, tables, heavy;
	size_t nodes, nodes_most, nodes_dense;
	node node[NODES_MAX];
	unsigned pos_bits;
	uint32_t bucket;
} maker;

static key_window window_from(const layout *l, uint32_t from)
{
	return key_window_at(l, from, (uint32_t)u64_min(l->key_bytes - from, KEY_WINDOW_BYTES));
}

static const unsigned char *maker_sample(const maker *k, size_t i)
{
	return record_at(k->in, entry_pos(&k->sample[i]));
}

static uint64_t maker_window(const maker *k, const classifier_table *t, size_t i)
{
	return key_window_read(&k->in->lay, &t->window, maker_sample(k, i));
}

/* ------------------------------------------------------------------------------ its tables */

/* Return the least value of cell c (0 begins at base), or UINT64_MAX if it is above all values. */
static uint64_t cell_begin(const classifier_table *t, uint64_t c)
{
	/* set_cells makes the scale at least 1. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	const uint64_t from = ((c << 32) + t->scale - 1) / t->scale;
	const uint64_t x = u64_min(from, (t->range >> t->shift) + 1);
	const unsigned __int128 v = (unsigned __int128)t->base + ((unsigned __int128)x << t->shift);
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static uint64_t maker_cell(const maker *k, const classifier_table *t, size_t i)
{
	return classifier_cell(t, maker_window(k, t, i) - t->base);
}

/* Begin a segment of t at this value, unless one begins there already. */
static void begin_segment(maker *k, classifier_table *t, uint64_t from)
{
	if (t->segments > 0 && t->segment.from[t->segments - 1] == from)
		return;
	t->segment.from[t->segments] = from;
	t->segment.to[t->segments++] = 0;
	k->segments++;
}

/* Choose splitters among samples [i, end) of a cell with many samples, where any value may be a
 * splitter. The last segment has `held` samples before i; return how many it has at the end.
 *
 * A value with many samples becomes a node, which resolve_node() resolves later. */
static size_t cut_cell(maker *k, classifier_table *t, size_t i, size_t end, size_t held,
		       unsigned depth)
{
	for (size_t next = i; i < end; i = next) {
		const uint64_t value = maker_window(k, t, i);
		do
			next++;
		while (next < end && maker_window(k, t, next) == value);
		const size_t n = next - i, most = n > k->huge ? k->nodes_most : k->nodes_dense;
		const bool is_node = n > k->dense && k->nodes < most;
		if (held >= k->share || is_node) {
			begin_segment(k, t, value);
			held = 0;
		}
		if (!is_node) {
			held += n;
			continue;
		}
		const uint32_t key_from = t->key_from + KEY_WINDOW_BYTES;
		if (key_from < k->in->lay.key_bytes)
			k->node[k->nodes++] =
				(node){ &t->segment.to[t->segments - 1], key_from, depth, i, next };
		if (value < UINT64_MAX)
			begin_segment(k, t, value + 1);
	}
	return held;
}

/* Choose the splitters of samples [i, end): if `all`, the borders of all cells. Otherwise, borders
 * of some cells, and values in cells with many samples. */
static void cut_segments(maker *k, classifier_table *t, size_t i, size_t end, bool all,
			 unsigned depth)
{
	size_t held = 0;
	t->segment = (classifier_segments){ k->room.segment.from + k->segments,
					    k->room.segment.to + k->segments,
					    k->room.segment.norm + k->segments };
	begin_segment(k, t, 0);
	begin_segment(k, t, t->base);
	for (uint64_t c = 1; all && c + 1 < t->last_cell; c++)
		begin_segment(k, t, cell_begin(t, c));
	for (size_t next = i; !all && i < end; i = next) {
		const uint64_t cell = maker_cell(k, t, i);
		do
			next++;
		while (next < end && maker_cell(k, t, next) == cell);
		if (next - i > k->dense) {
			held = cut_cell(k, t, i, next, held, depth);
			continue;
		}
		if (held >= k->share) {
			begin_segment(k, t, cell_begin(t, cell));
			held = 0;
		}
		held += next - i;
	}
	const uint64_t above = cell_begin(t, t->last_cell - 1);
	if (above < UINT64_MAX)
		begin_segment(k, t, above);
	for (uint32_t s = 0; s < t->segments; s++) {
		const uint64_t stop = s + 1 < t->segments ? t->segment.from[s + 1] : 0;
		const uint64_t range = stop - 1 - t->segment.from[s];
		t->segment.norm[s] = range ? (uint8_t)__builtin_clzll(range) : 63;
	}
}

/* Divide the range of a table into at most `cells` cells of equal width. The width has 32 bits of
 * precision, so the range grows to a multiple of 2^shift. */
static void set_cells(classifier_table *t, uint64_t cells)
{
	const unsigned width = 64 - (unsigned)__builtin_clzll(t->range | 1);
	t->shift = width > 32 ? width - 32 : 0;
	const uint64_t range = t->range >> t->shift;
	cells = u64_min(cells, range + 1);
	t->scale = (cells << 32) / (range + 1);
	t->last_cell = (uint32_t)cells + 1;
	t->range = u64_min(t->range | ((UINT64_C(1) << t->shift) - 1), UINT64_MAX - t->base);
}

/* Return whether samples [i, end) are spread so evenly that each cell may be a segment. There must
 * be many samples. No group of neighbouring cells may have more than 1.5 times its share of them.
 * No cell may have more than CELL_SHARES times the samples of a bucket: larger buckets are
 * split. */
static bool is_even(const maker *k, const classifier_table *t, size_t i, size_t end)
{
	enum { GROUPS = 64, GROUP_LEAST = 128, CELL_SHARES = 4 };
	const size_t mean = (end - i) / GROUPS;
	size_t group[GROUPS] = { 0 }, cell = 0, held = 0;
	if (mean < GROUP_LEAST)
		return false;
	for (; i < end; i++) {
		const size_t c = maker_cell(k, t, i);
		held = c == cell ? held + 1 : 1;
		cell = c;
		if (held > CELL_SHARES * k->share || c >= t->last_cell - 1 ||
		    ++group[c * GROUPS / (t->last_cell - 1)] > mean + mean / 2)
			return false;
	}
	return true;
}

/* Return the least power of 2 that is at least n. */
static uint32_t power_from(uint32_t n)
{
	uint32_t power = 1;
	while (power < n)
		power *= 2;
	return power;
}

/* Set the segment where the search for the values of each cell begins, and the reach of the table.
 * No search goes past the last segment. If possible, the reach is a power of 2, so that the number
 * of steps is a constant in loops. */
static void fill_cells(maker *k, classifier_table *t)
{
	uint32_t s = 0;
	t->of_cell = k->room.cell + k->cells;
	k->cells += t->last_cell + 1;
	t->of_cell[0] = 0;
	t->reach = 1;
	for (uint32_t c = 1; c <= t->last_cell; c++) {
		const uint64_t begin = cell_begin(t, c - 1);
		const uint64_t end = c < t->last_cell ? cell_begin(t, c) : UINT64_MAX;
		while (s + 1 < t->segments && t->segment.from[s + 1] <= begin)
			s++;
		t->of_cell[c] = (uint16_t)s;
		uint32_t last = s;
		while (last + 1 < t->segments &&
		       (t->segment.from[last + 1] < end || end == UINT64_MAX))
			last++;
		t->reach = (uint32_t)u64_max(t->reach, last - s + 1);
	}
	if (power_from(t->reach) <= t->segments)
		t->reach = power_from(t->reach);
	for (uint32_t c = 1; c <= t->last_cell; c++)
		t->of_cell[c] = (uint16_t)u64_min(t->of_cell[c], t->segments - t->reach);
}

/* Make a search tree for the root, unless searches from its cells take few steps. */
static void fill_tree(maker *k, classifier_table *t)
{
	uint64_t *tree = k->room.tree;
	if (t->reach <= REACH_UNROLLED)
		return;
	t->tree = tree;
	while ((uint32_t)1 << t->levels < t->segments)
		t->levels++;
	for (unsigned d = 0; d < t->levels; d++)
		for (uint32_t i = 0; i < (uint32_t)1 << d; i++) {
			const uint32_t s = (2 * i + 1) << (t->levels - 1 - d);
			tree[((size_t)1 << d) + i] =
				s < t->segments ? t->segment.from[s] - 1 : UINT64_MAX;
		}
}

/* Make a table for samples [i, end), which have equal keys up to key_from. */
static void make_table(maker *k, classifier_table *t, uint32_t key_from, size_t i, size_t end,
		       unsigned depth)
{
	const size_t segments = (end - i) / k->share + 1;
	const size_t left = k->room.cells - k->cells - (k->nodes_most - k->tables) * CELLS_LEAST;
	*t = (classifier_table){ .key_from = key_from,
				 .like = maker_sample(k, i),
				 .window = window_from(&k->in->lay, key_from) };
	t->base = maker_window(k, t, i);
	t->range = maker_window(k, t, end - 1) - t->base;
	set_cells(t, segments);
	const bool even = segments + 2 <= left && is_even(k, t, i, end);
	if (!even)
		set_cells(t, size_min(CELLS_A_SEGMENT * segments, left - 2));
	cut_segments(k, t, i, end, even, depth);
	fill_cells(k, t);
}

/* Turn a node into a heavy key, a bucket, or a table, which may have further nodes. */
static void resolve_node(maker *k, const node *n)
{
	const unsigned char *rec = maker_sample(k, n->i);
	const layout *l = &k->in->lay;
	if (key_compare(l, rec, maker_sample(k, n->end - 1)) == 0) {
		classifier_heavy *h = &k->room.heavy[k->heavy];
		*n->to = (uint16_t)(TO_HEAVY | k->heavy++);
		*h = (classifier_heavy){ .rec = rec,
					 .key_from = n->key_from,
					 .short_rest =
						 l->key_bytes - n->key_from <= KEY_WINDOW_BYTES,
					 .window = window_from(l, n->key_from) };
		h->value = key_window_read(l, &h->window, rec);
	} else if (n->depth < TABLE_DEPTH) {
		*n->to = (uint16_t)(TO_TABLE | k->tables);
		make_table(k, &k->room.table[k->tables++], n->key_from, n->i, n->end, n->depth + 1);
	}
}

/* ----------------------------------------------------------------------------- its buckets */

/* Record in b that its keys begin with the same `shared` bytes as the key of rec. */
static void begin_like(const maker *k, classifier_bucket *b, const unsigned char *rec,
		       uint32_t shared)
{
	const layout *l = &k->in->lay;
	b->like = rec;
	b->shared = shared;
	b->head = key_window_at(l, 0, (uint32_t)u64_min(shared, KEY_WINDOW_BYTES));
	b->head_value = key_window_read(l, &b->head, rec);
}

/* Add the three buckets of a heavy key: in the outer two, the window may have any value. */
static void add_heavy(maker *k, classifier_heavy *h)
{
	classifier_bucket *b = &k->room.bucket[k->bucket];
	h->bucket = k->bucket;
	k->bucket += 3;
	b[0] = b[2] = (classifier_bucket){ .limit = UINT64_MAX, .window = h->window };
	b[1] = (classifier_bucket){
		.from = h->value, .window = h->window, .norm = 63, .exact = true, .same = true
	};
	for (unsigned i = 0; i < 3; i++)
		begin_like(k, &b[i], h->rec, h->key_from);
	if (!h->short_rest)
		b[1].shared = k->in->lay.key_bytes;
}

/* Add a bucket for keys below (first call) or above (last call) all that share the common bytes. */
static void add_outside(maker *k)
{
	k->room.bucket[k->bucket++] =
		(classifier_bucket){ .limit = UINT64_MAX, .window = window_from(&k->in->lay, 0) };
}

/* Add the buckets of a table and of the tables that it leads to, in the order of keys. Return the
 * number of segments that are not. */
static size_t number_buckets(maker *k, const classifier_table *t)
{
	/* a number may drop only bits of the window that are 0 in every key */
	const unsigned zeros = t->window.keep ? (unsigned)__builtin_ctzll(t->window.keep) : 64;
	const bool last = k->in->lay.key_bytes - t->key_from <= KEY_WINDOW_BYTES;
	size_t misfits = 0;
	for (uint32_t i = 0; i < t->segments; i++) {
		uint16_t *to = &t->segment.to[i];
		const uint64_t from = t->segment.from[i];
		misfits += i > 0 && from <= t->segment.from[i - 1];
		if (*to & TO_HEAVY) {
			add_heavy(k, &k->room.heavy[*to & ~TO_HEAVY]);
		} else if (*to & TO_TABLE) {
			misfits += number_buckets(k, &k->room.table[*to & ~TO_TABLE]);
		} else {
			*to = (uint16_t)k->bucket;
			const uint64_t end = i + 1 < t->segments ? t->segment.from[i + 1] : 0;
			k->room.bucket[k->bucket] = (classifier_bucket){
				.from = from,
				.limit = end - 1 - from,
				.window = t->window,
				.norm = t->segment.norm[i],
				.exact = last && t->segment.norm[i] + zeros >= k->pos_bits,
				.same = last && end - from == 1,
			};
			begin_like(k, &k->room.bucket[k->bucket++], t->like, t->key_from);
		}
	}
	return misfits;
}

static size_t cells_of(uint32_t buckets)
{
	enum { CELLS_A_BUCKET = 16 };
	return (size_t)buckets * CELLS_A_BUCKET + (classifier_nodes(buckets) + 1) * CELLS_LEAST;
}

size_t classifier_room_bytes(uint32_t buckets)
{
	const size_t nodes = classifier_nodes(buckets);
	return nodes * (sizeof(classifier_table) + sizeof(classifier_heavy)) +
	       buckets * (sizeof(classifier_bucket) + SEGMENT_BYTES) +
	       power_from(buckets) * sizeof(uint64_t) + cells_of(buckets) * sizeof(uint16_t);
}

/* Set the limits of nodes. Nodes may take a quarter of the buckets: one half of it for the first
 * dense values, one half for huge ones. If prefixes are dense, nodes may take up to another
 * quarter, because a large bucket that is not a node must be split again. */
static void set_nodes(maker *k, size_t n, uint32_t buckets)
{
	const size_t most = classifier_nodes(buckets), usual = most / 2;
	const entry *e = k->sample;
	size_t dense = 0; /* prefixes with many samples */
	for (size_t i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && key_prefix_compare(e[end].hi, e[end].lo, e[i].hi, e[i].lo) == 0)
			end++;
		dense += end - i > 2 * (n / buckets + 1);
	}
	const size_t more = size_min(dense, most - usual);
	k->nodes_most = usual + more;
	k->nodes_dense = usual / 2 + more;
	k->share = n / (buckets - ROOT_EXTRA - NODE_EXTRA * k->nodes_most) + 1;
	k->dense = 2 * k->share;
	k->huge = usual ? 2 * n / usual + 1 : n;
}

size_t classifier_make(classifier *m, const records *in, const entry *sample, size_t n,
		       uint32_t buckets)
{
	const layout *l = &in->lay;
	maker k = { .in = in, .sample = sample, .pos_bits = m->pos_bits };
	/* divide the room among arrays: each size is a multiple of the next array's alignment */
	const size_t nodes = classifier_nodes(buckets);
	map_room *r = &k.room;
	r->table = m->room;
	r->heavy = (void *)(r->table + nodes);
	r->bucket = (void *)(r->heavy + nodes);
	r->segment.from = (void *)(r->bucket + buckets);
	r->tree = r->segment.from + buckets;
	r->segment.to = (void *)(r->tree + power_from(buckets));
	r->cell = r->segment.to + buckets;
	r->segment.norm = (void *)(r->cell + cells_of(buckets));
	r->cells = cells_of(buckets);
	set_nodes(&k, n, buckets);
	*m = (classifier){ .room = m->room,
			   .pos_bits = m->pos_bits,
			   .lay = *l,
			   .first = window_from(l, 0),
			   .pos_mask = (UINT64_C(1) << m->pos_bits) - 1,
			   .table = k.room.table,
			   .heavy = k.room.heavy,
			   .bucket = k.room.bucket };
	const uint32_t shared =
		l->key_bytes <= KEY_WINDOW_BYTES
			? 0 /* the root's window has the whole key */
			: key_shared_bytes(l, maker_sample(&k, 0), maker_sample(&k, n - 1));
	m->head = key_window_at(l, 0, (uint32_t)u64_min(shared, KEY_WINDOW_BYTES));
	m->head_value = key_window_read(l, &m->head, maker_sample(&k, 0));
	make_table(&k, &m->root, shared, 0, n, 0);
	fill_tree(&k, &m->root);
	const uint32_t known = (uint32_t)u64_min(l->key_bytes, shared + KEY_WINDOW_BYTES);
	m->rest = window_from(l, known);
	m->short_rest = l->key_bytes - known <= KEY_WINDOW_BYTES;
	m->root_leads = k.nodes > 0;
	for (size_t i = 0; i < k.nodes; i++)
		resolve_node(&k, &k.node[i]);
	add_outside(&k);
	const size_t misfits = number_buckets(&k, &m->root);
	add_outside(&k);
	m->buckets = k.bucket;
	return misfits;
}

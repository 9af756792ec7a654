/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads take chunks of the input in order, check each chunk without a lock, and join the results
 * in the same order. So the first disorder is found. The last record of a chunk is compared with
 * the first record of the next chunk, even across files.
 *
 * A thread takes a chunk of a file under a lock, but reads the chunk without it. A stream is read
 * under the lock, because only reading shows where it ends.
 *
 * Keys compare field by field. Signed numbers and floats compare as signed numbers of 64 bits. A
 * float is a sign and a magnitude; negative floats count down from -1, so -0 is just below +0, and
 * a NaN is beyond infinity. */
#include "check_order.h"
#include "base/arith.h"
#include "base/pool.h"
#include "base/size.h"
#include "io/file.h"
#include "io/io_fd.h"
#include "io/reader.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
	WAITING = 2, /* threads more than processors, so that the disk always has work */
	CHUNK_BYTES = 4 << 20,
	CACHED_CHUNK_BYTES = 512 << 10, /* stays in the processor's cache until it is checked */
};

typedef struct source {
	const input *in;
	const check_plan *p;
	reader *files;              /* all that are not streams */
	size_t chunk, cached_chunk; /* records; cached: of a file in the page cache */
	size_t room;                /* bytes of a buffer for any chunk */
	size_t trailer_bytes;       /* of streams */
	unsigned char *held;        /* the last bytes of the stream, which may be its trailer */
	uint64_t end;               /* of the records to check, in the sequence of all */
	pthread_mutex_t lock;       /* for the members below, and `held` */
	size_t file;                /* number of the file of the next chunk */
	uint64_t at;                /* the next record of this sequence, which omits streams */
	uint64_t chunks;            /* chunks taken so far */
	int stream;                 /* the descriptor of the open stream, or -1 */
	uint64_t taken;             /* records taken from the stream */
	size_t held_bytes;
} source;

/* Consecutive records of one file. */
typedef struct source_chunk {
	uint64_t number; /* of the chunk */
	const input_file *f;
	uint64_t first; /* number of records of the file before it */
	size_t n;       /* at least 1 */
	unsigned char *recs;
	checksum sum; /* if requested */
} source_chunk;

typedef struct checking {
	const check_plan *p;
	check_result *r;
	source from;
	unsigned char *buffers; /* of from.room bytes each, one per thread */
	atomic_bool stop;
	pthread_mutex_t lock; /* for the members below, and *r */
	pthread_cond_t turn;
	uint64_t joined; /* chunks whose results are in *r */
	err e;
} checking;

/* ------------------------------------------------------------------------------ order of keys */

/* Return the bits of a number. A field of 4 or 8 bytes needs only one load. */
static inline uint64_t order_bits(const key_field *f, const unsigned char *p)
{
	const bool native = f->little == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	uint64_t v = 0;
	uint32_t four;
	if (f->bytes == sizeof v) {
		memcpy(&v, p, sizeof v);
		return native ? v : __builtin_bswap64(v);
	}
	if (f->bytes == sizeof four) {
		memcpy(&four, p, sizeof four);
		return native ? four : __builtin_bswap32(four);
	}
	for (uint32_t i = 0; i < f->bytes; i++)
		v = v << 8 | p[f->little ? f->bytes - 1 - i : i];
	return v;
}

/* Return a number that orders signed numbers and floats like their values. */
static inline int64_t order_signed(const key_field *f, uint64_t bits)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): bytes is 1 to 8 */
	const uint64_t half = UINT64_C(1) << (8 * f->bytes - 1);
	if (!(bits & half))
		return (int64_t)bits;
	const uint64_t magnitude =
		f->type == KEY_TYPE_FLOAT ? bits & (half - 1) : half - 1 - (bits & (half - 1));
	return -1 - (int64_t)magnitude;
}

/* Return the order of floats whose magnitudes are x and y if one is NaN, otherwise 0. */
static int order_of_nans(const key_field *f, uint64_t x, uint64_t y)
{
	const unsigned fraction = f->bytes == 2 ? 10 : f->bytes == 4 ? 23 : 52;
	const uint64_t rest = (UINT64_C(1) << (8 * f->bytes - 1)) - 1;
	const uint64_t infinity = rest >> fraction << fraction;
	return ((x & rest) > infinity) - ((y & rest) > infinity);
}

/* Compare numbers of which NaN or NaT follows all others in either direction. Numbers with NaN in
 * different parts of a complex number are ordered when its real parts are compared. */
static int order_nan_last(const key_field *f, const unsigned char *a, const unsigned char *b)
{
	const uint64_t x = order_bits(f, a), y = order_bits(f, b);
	int64_t s = order_signed(f, x), t = order_signed(f, y);
	int nans = 0;
	if (f->type == KEY_TYPE_SIGNED) {
		const uint64_t nat = UINT64_C(1) << (8 * f->bytes - 1);
		nans = (x == nat) - (y == nat);
	} else {
		nans = order_of_nans(f, x, y);
		if (f->nan == NAN_LAST_REAL && nans == 0)
			nans = order_of_nans(f, order_bits(f, a + f->bytes),
					     order_bits(f, b + f->bytes));
		if (nans == 0 && order_of_nans(f, x, 0))
			return 0;
		s += s == -1; /* -0 */
		t += t == -1;
	}
	if (nans)
		return nans;
	return f->desc ? (s < t) - (s > t) : (s > t) - (s < t);
}

static inline int order_of_keys(const layout *l, const unsigned char *a, const unsigned char *b)
{
	if (l->fields == 0)
		return memcmp(a + l->key_off, b + l->key_off, l->key_bytes);
	for (uint32_t i = 0; i < l->fields; i++) {
		const key_field *f = &l->field[i];
		int c;
		if (f->nan) {
			c = order_nan_last(f, a + f->off, b + f->off);
			if (c != 0)
				return c;
			continue;
		}
		if (f->type == KEY_TYPE_BYTES) {
			c = memcmp(a + f->off, b + f->off, f->bytes);
		} else {
			const uint64_t x = order_bits(f, a + f->off), y = order_bits(f, b + f->off);
			const int64_t s = order_signed(f, x), t = order_signed(f, y);
			c = f->type == KEY_TYPE_UNSIGNED ? (x > y) - (x < y) : (s > t) - (s < t);
		}
		if (c != 0)
			return f->desc ? (c < 0) - (c > 0) : c;
	}
	return 0;
}

int order_compare(const layout *l, const unsigned char *a, const unsigned char *b)
{
	return order_of_keys(l, a, b);
}

order_seen order_look(const layout *l, const unsigned char *recs, size_t n, bool unique)
{
	order_seen seen = { n, 0 };
	for (size_t i = 1; i < n; i++, recs += l->record_bytes) {
		const int c = order_of_keys(l, recs, recs + l->record_bytes);
		seen.equal += c == 0;
		if (order_wrong(c, unique) && seen.wrong == n)
			seen.wrong = i;
	}
	return seen;
}

/* ------------------------------------------------------------------------------ the chunks */

/* Read the next of the records that --records counts. After the last one, read the bytes that
 * follow it, and reject a trailer of another size. */
static status check_read_counted(const source *s, source_chunk *c, err *e)
{
	const input_file *f = c->f;
	const size_t bytes = s->p->lay.record_bytes, room = s->chunk * bytes;
	const uint64_t expected = s->in->frame.trailer_bytes;
	uint64_t rest = 0;
	size_t got = room;
	status rc = ST_OK;
	c->n = (size_t)u64_min(s->chunk, f->frame.records - s->taken);
	if (c->n > 0) {
		rc = file_read_some(s->stream, c->recs, c->n * bytes, &got, f->path, e);
		if (rc == ST_OK && got < c->n * bytes)
			rc = err_set(e, ST_REFUSED,
				     "input %s ends after %" PRIu64 " records, before the %" PRIu64
				     " of --records",
				     quoted(f->path), s->taken + got / bytes, f->frame.records);
		return rc;
	}
	for (; rc == ST_OK && got == room; rest += got)
		rc = file_read_some(s->stream, c->recs, room, &got, f->path, e);
	if (rc == ST_OK && expected && rest != expected)
		rc = err_set(e, ST_REFUSED,
			     "input %s has %" PRIu64 " byte%s after its %" PRIu64
			     " records; use --skip-trailer=%" PRIu64,
			     quoted(f->path), rest, plural(rest), f->frame.records, rest);
	return rc;
}

/* Read the next records of a stream; c->n is 0 at its end. The last bytes read are held until
 * others follow them, because they may be the trailer. */
static status check_read_uncounted(source *s, source_chunk *c, err *e)
{
	const input_file *f = c->f;
	const size_t bytes = s->p->lay.record_bytes, trailer = s->trailer_bytes;
	size_t got;
	memcpy(c->recs, s->held, s->held_bytes);
	const status rc =
		file_read_some(s->stream, c->recs + s->held_bytes,
			       trailer + s->chunk * bytes - s->held_bytes, &got, f->path, e);
	if (rc != ST_OK)
		return rc;
	got += s->held_bytes;
	if (got < trailer)
		return err_set(e, ST_REFUSED, "input %s ends within its trailer", quoted(f->path));
	got -= trailer;
	c->n = got / bytes;
	s->held_bytes = trailer;
	memcpy(s->held, c->recs + got, trailer);
	return got % bytes == 0
		       ? ST_OK
		       : err_set(e, ST_REFUSED, "input %s ends with a partial record of %zu byte%s",
				 quoted(f->path), got % bytes, plural(got % bytes));
}

/* Read the next records of a stream, after its header; c->n is 0 at its end. */
static status check_read_stream(source *s, source_chunk *c, err *e)
{
	const input_file *f = c->f;
	status rc = ST_OK;
	if (s->stream < 0) {
		const size_t room = s->chunk * s->p->lay.record_bytes;
		s->taken = s->held_bytes = 0;
		rc = input_open(f, true, &s->stream, e);
		for (uint64_t left = f->frame.header_bytes, n; rc == ST_OK && left > 0; left -= n) {
			size_t got;
			n = u64_min(left, room);
			rc = file_read_some(s->stream, c->recs, (size_t)n, &got, f->path, e);
			if (rc == ST_OK && got < n)
				rc = err_set(e, ST_REFUSED, "input %s ends within its header",
					     quoted(f->path));
		}
	}
	if (rc == ST_OK)
		rc = f->frame.records ? check_read_counted(s, c, e) : check_read_uncounted(s, c, e);
	c->first = s->taken;
	s->taken += c->n;
	if (s->stream >= 0 && (rc != ST_OK || c->n == 0)) {
		close(s->stream);
		s->stream = -1;
	}
	return rc;
}

/* Take the next chunk, with its records in buf. Return false at the end or on failure, with e set.
 */
static bool check_take(source *s, unsigned char *buf, source_chunk *c, err *e)
{
	const check_plan *p = s->p;
	status rc = ST_OK;
	*c = (source_chunk){ .recs = buf + (size_t)(-(uintptr_t)buf % IO_FD_ALIGN) };
	pthread_mutex_lock(&s->lock);
	for (; rc == ST_OK && s->file < s->in->files; s->file++) {
		const input_file *f = c->f = &s->in->file[s->file];
		const uint64_t end = u64_min(f->first + f->count, s->end), at = s->at - p->first;
		if (f->is_stream) {
			rc = check_read_stream(s, c, e);
		} else if (s->at < end) {
			c->first = s->at - f->first;
			c->n = reader_chunk(s->files, at, end - s->at);
			if (reader_is_cached(s->files, at))
				c->n = size_min(c->n, s->cached_chunk);
			s->at += c->n;
		}
		if (c->n > 0)
			break;
	}
	if (rc != ST_OK) /* so that no thread takes another chunk */
		s->file = s->in->files;
	const bool taken = rc == ST_OK && c->n > 0;
	c->number = s->chunks;
	s->chunks += taken;
	pthread_mutex_unlock(&s->lock);
	if (taken && !c->f->is_stream) {
		const uint64_t at = c->f->first + c->first - p->first;
		loading l = { .arrived = NULL };
		c->recs += reader_align(s->files, at);
		(void)reader_load(s->files, at, c->n, c->recs, p->sum ? &l : NULL, e);
		c->sum = l.sum;
	} else if (taken && p->sum) {
		c->sum = checksum_records(&p->lay, c->recs, c->n);
		input_note_read(c->f, c->n, c->sum);
	}
	return taken;
}

/* -------------------------------------------------------------------------------- the checks */

static check_place check_place_of(const checking *k, const source_chunk *c, size_t i)
{
	return (check_place){ c->f->path, c->first + i, c->recs + i * k->p->lay.record_bytes };
}

/* Copy a place and its record. */
static void check_keep(const checking *k, check_place *to, check_place from)
{
	unsigned char *rec = to->rec;
	*to = from;
	to->rec = memcpy(rec, from.rec, k->p->lay.record_bytes);
}

/* Keep the first disorder. Stop all threads, unless all records must be counted. */
static void check_note_disorder(checking *k, check_place before, check_place at)
{
	check_result *r = k->r;
	if (!r->in_order)
		return;
	r->in_order = false;
	check_keep(k, &r->before, before);
	check_keep(k, &r->at, at);
	atomic_store(&k->stop, !k->p->sum);
}

/* Check a chunk, and join its results in the order of the chunks. */
static void check_chunk(checking *k, const source_chunk *c, const err *e)
{
	const layout *l = &k->p->lay;
	check_result *r = k->r;
	order_seen seen = { c->n, 0 };
	if (e->code == ST_OK)
		seen = order_look(l, c->recs, c->n, k->p->unique);
	pthread_mutex_lock(&k->lock);
	while (k->joined != c->number)
		pthread_cond_wait(&k->turn, &k->lock);
	(void)err_join(&k->e, e);
	if (k->e.code != ST_OK) {
		atomic_store(&k->stop, true);
	} else {
		const int border = r->records ? order_compare(l, r->last.rec, c->recs) : -1;
		if (order_wrong(border, k->p->unique))
			check_note_disorder(k, r->last, check_place_of(k, c, 0));
		if (seen.wrong < c->n)
			check_note_disorder(k, check_place_of(k, c, seen.wrong - 1),
					    check_place_of(k, c, seen.wrong));
		if (r->records == 0)
			check_keep(k, &r->first, check_place_of(k, c, 0));
		r->records += c->n;
		r->equal += seen.equal + (border == 0);
		r->sum = checksum_join(r->sum, c->sum);
		check_keep(k, &r->last, check_place_of(k, c, c->n - 1));
	}
	k->joined++;
	pthread_cond_broadcast(&k->turn);
	pthread_mutex_unlock(&k->lock);
}

static void check_work(void *checking_, unsigned worker)
{
	checking *k = checking_;
	err e = { ST_OK, "" };
	source_chunk c;
	while (!atomic_load(&k->stop) &&
	       check_take(&k->from, k->buffers + worker * k->from.room, &c, &e))
		check_chunk(k, &c, &e);
	pthread_mutex_lock(&k->lock);
	(void)err_join(&k->e, &e);
	pthread_mutex_unlock(&k->lock);
}

status check_order(const input *in, const check_plan *p, mem *m, check_result *r, err *e)
{
	const unsigned threads = (p->threads ? p->threads : processors_count()) + WAITING;
	const uint32_t bytes = p->lay.record_bytes;
	checking k = { .p = p,
		       .r = r,
		       .from = { .in = in,
				 .p = p,
				 .chunk = io_fd_chunk_recs(bytes, CHUNK_BYTES),
				 .cached_chunk = io_fd_chunk_recs(bytes, CACHED_CHUNK_BYTES),
				 .at = p->first,
				 .stream = -1 } };
	source *s = &k.from;
	check_place *const place[] = { &r->before, &r->at, &r->first, &r->last };
	*r = (check_result){ .in_order = true };
	if (in->streams && in->frame.records == 0)
		s->trailer_bytes = (size_t)in->frame.trailer_bytes;
	s->room = s->trailer_bytes + s->chunk * bytes + 2 * IO_FD_ALIGN;
	if (__builtin_add_overflow(p->first, p->n, &s->end))
		s->end = UINT64_MAX;
	const reader_plan rp = {
		.first = p->first, .n = s->end - p->first, .lay = p->lay, .direct = p->direct
	};
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&k.lock, NULL);
	pthread_cond_init(&k.turn, NULL);
	s->held = mem_array(m, s->trailer_bytes, 1, "a trailer", e);
	k.buffers = mem_array(m, threads, s->room, "records", e);
	r->recs = mem_array(m, 4, bytes, "records", e);
	for (size_t i = 0; r->recs && i < 4; i++)
		place[i]->rec = r->recs + i * bytes;
	status rc =
		s->held && k.buffers && r->recs ? reader_open(&s->files, in, &rp, e) : ST_RESOURCE;
	if (rc == ST_OK) {
		pool_run(threads, check_work, &k);
		rc = err_join(e, &k.e);
	}
	if (rc == ST_OK && (r->in_order || p->sum)) /* all records were read */
		rc = reader_check(s->files, e);
	if (s->stream >= 0)
		close(s->stream);
	reader_close(s->files);
	mem_free(m, s->held);
	mem_free(m, k.buffers);
	pthread_cond_destroy(&k.turn);
	pthread_mutex_destroy(&k.lock);
	pthread_mutex_destroy(&s->lock);
	return rc == ST_OK && !r->in_order ? ST_INVALID : rc;
}

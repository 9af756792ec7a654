/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads take chunks of the input in order, check each one without a lock, and join the results in
 * the same order. So the first disorder is found. Where two chunks meet, their records are
 * compared, even across files.
 *
 * The places of the chunks of a file are handed out under the lock, but read without it. A stream
 * is read under the lock, because its end shows only while it is read. A file is open only while
 * chunks of it are read, because there may be more files than a process can have open.
 *
 * Keys compare field by field. Numbers compare as signed numbers of 64 bits. A float is a sign and
 * a magnitude; negative floats count down from -1, so -0 is just below +0, and a NaN is beyond
 * infinity.
 */
#include "check_order.h"
#include "base/arith.h"
#include "base/pool.h"
#include "base/size.h"
#include "io/file.h"
#include "io/io_fd.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
	WAITING = 2, /* threads more than processors, so that the disk always has work */
	CHUNK_BYTES = 4 << 20,
	CACHED_CHUNK_BYTES = 512 << 10, /* stays in the processor's cache until it is checked */
};

typedef struct source_file {
	io_fd fd;
	size_t users; /* chunks that threads have */
	uint64_t taken;
	bool complete;       /* all of it is taken */
	unsigned char *held; /* of a stream: the last bytes read, which may be its trailer */
	size_t held_bytes;
} source_file;

typedef struct source {
	input *in;
	layout lay;
	direct_io direct;
	size_t chunk, cached_chunk; /* records; cached: of a file that the page cache may hold */
	size_t room;                /* bytes of a buffer for any chunk */
	size_t trailer_bytes;       /* of streams */
	uint64_t end;               /* of the records that are taken */
	source_file *file;
	pthread_mutex_t lock; /* for the members below, and the files */
	size_t at;            /* the file of the next chunk */
	uint64_t chunks;      /* taken */
} source;

/* Consecutive records of one file. */
typedef struct source_chunk {
	uint64_t number; /* of the chunk */
	size_t file;
	uint64_t first; /* the file's records before it */
	size_t n;       /* at least 1 */
	unsigned char *recs;
} source_chunk;

typedef struct checking {
	const check_plan *p;
	check_result *r;
	source from;
	unsigned char *buffers; /* of from.room bytes each, one per thread */
	atomic_bool stop;
	pthread_mutex_t lock; /* for the members below, and *r */
	pthread_cond_t turn;
	uint64_t joined; /* chunks */
	err e;
} checking;

/* ------------------------------------------------------------------------------ order of keys */

/* Return the field's bits, by one load if the machine has a number of that width. */
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

static inline int64_t order_signed(const key_field *f, uint64_t bits)
{
	const uint64_t half = UINT64_C(1) << (8 * f->bytes - 1);
	if (!(bits & half))
		return (int64_t)bits;
	const uint64_t magnitude =
		f->type == KEY_TYPE_FLOAT ? bits & (half - 1) : half - 1 - (bits & (half - 1));
	return -1 - (int64_t)magnitude;
}

static inline int order_of_keys(const layout *l, const unsigned char *a, const unsigned char *b)
{
	if (l->fields == 0)
		return memcmp(a + l->key_off, b + l->key_off, l->key_bytes);
	for (uint32_t i = 0; i < l->fields; i++) {
		const key_field *f = &l->field[i];
		int c;
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

/* Skip the header of a stream. */
static status check_skip_header(const input_file *f, const source_file *o, source_chunk *c,
				size_t room, err *e)
{
	status rc = ST_OK;
	for (uint64_t left = f->frame.header_bytes; rc == ST_OK && left > 0;) {
		const size_t n = (size_t)u64_min(left, room);
		size_t got;
		rc = file_read_some(o->fd.fd, c->recs, n, &got, f->path, e);
		if (rc == ST_OK && got < n)
			rc = err_set(e, ST_REFUSED, "input %s ends within its header",
				     quoted(f->path));
		left -= n;
	}
	return rc;
}

/* Read the bytes after the records of --records, and reject a trailer of another size. */
static status check_skip_rest(const source *s, const input_file *f, const source_file *o,
			      source_chunk *c, err *e)
{
	const size_t room = s->chunk * s->lay.record_bytes;
	const uint64_t expected = s->in->frame.trailer_bytes;
	uint64_t rest = 0;
	status rc = ST_OK;
	for (size_t got = room; rc == ST_OK && got == room; rest += got)
		rc = file_read_some(o->fd.fd, c->recs, room, &got, f->path, e);
	if (rc == ST_OK && expected && rest != expected)
		rc = err_set(e, ST_REFUSED,
			     "input %s has %" PRIu64 " byte%s after its %" PRIu64
			     " records (--skip-trailer=%" PRIu64 ")",
			     quoted(f->path), rest, plural(rest), f->frame.records, rest);
	return rc;
}

/* Read the next of the records that --records counts. */
static status check_read_counted(const source *s, const input_file *f, const source_file *o,
				 source_chunk *c, err *e)
{
	const size_t bytes = s->lay.record_bytes;
	const size_t n = (size_t)u64_min(s->chunk, f->frame.records - o->taken);
	size_t got;
	if (n == 0)
		return check_skip_rest(s, f, o, c, e);
	const status rc = file_read_some(o->fd.fd, c->recs, n * bytes, &got, f->path, e);
	if (rc != ST_OK)
		return rc;
	c->n = n;
	return got == n * bytes
		       ? ST_OK
		       : err_set(e, ST_REFUSED,
				 "input %s ends after %" PRIu64 " records, before the %" PRIu64
				 " of --records",
				 quoted(f->path), o->taken + got / bytes, f->frame.records);
}

/* Read the next records of a stream; c->n is 0 at its end. The last bytes read are held until
 * others follow them, because they may be the trailer. */
static status check_read_stream(const source *s, const input_file *f, source_file *o,
				source_chunk *c, err *e)
{
	const size_t bytes = s->lay.record_bytes, trailer = s->trailer_bytes;
	size_t got;
	if (f->frame.records)
		return check_read_counted(s, f, o, c, e);
	memcpy(c->recs, o->held, o->held_bytes);
	const status rc =
		file_read_some(o->fd.fd, c->recs + o->held_bytes,
			       trailer + s->chunk * bytes - o->held_bytes, &got, f->path, e);
	if (rc != ST_OK)
		return rc;
	got += o->held_bytes;
	if (got < trailer)
		return err_set(e, ST_REFUSED, "input %s ends within its trailer", quoted(f->path));
	got -= trailer;
	c->n = got / bytes;
	o->held_bytes = trailer;
	memcpy(o->held, c->recs + got, trailer);
	return got % bytes == 0
		       ? ST_OK
		       : err_set(e, ST_REFUSED, "input %s ends with a partial record of %zu byte%s",
				 quoted(f->path), got % bytes, plural(got % bytes));
}

/* Take the next records of the next file; c->n is 0 at its end. The caller has the lock. */
static status check_take_of_file(source *s, source_chunk *c, err *e)
{
	input_file *f = &s->in->file[s->at];
	source_file *o = &s->file[s->at];
	const size_t bytes = s->lay.record_bytes;
	const uint64_t count = f->first < s->end ? u64_min(f->count, s->end - f->first) : 0;
	status rc = ST_OK;
	*c = (source_chunk){
		.number = s->chunks, .file = s->at, .first = o->taken, .recs = c->recs
	};
	if (o->fd.fd < 0 && (f->is_stream || o->taken < count)) {
		rc = input_open(f, f->is_stream, &o->fd.fd, e);
		if (rc == ST_OK && f->is_stream)
			rc = check_skip_header(f, o, c, s->chunk * bytes, e);
		else if (rc == ST_OK)
			io_fd_will_read(&o->fd, s->direct, f->frame.header_bytes, f->count * bytes);
	}
	if (rc == ST_OK && f->is_stream)
		rc = check_read_stream(s, f, o, c, e);
	else if (rc == ST_OK && o->taken < count)
		c->n = (size_t)u64_min(o->fd.direct < 0 ? s->cached_chunk : s->chunk,
				       count - o->taken);
	o->taken += c->n;
	o->complete = rc != ST_OK || (f->is_stream ? c->n == 0 : o->taken >= count);
	if (o->complete && c->n == 0 && o->users == 0)
		io_fd_close(&o->fd);
	return rc;
}

/* Take the next chunk, with its records in buf. Return false at the end or on failure, with e set.
 * After the last chunk of a file check_release() closes the file. */
static bool check_take(source *s, unsigned char *buf, source_chunk *c, err *e)
{
	const uint32_t bytes = s->lay.record_bytes;
	status rc = ST_OK;
	c->recs = buf + (size_t)(-(uintptr_t)buf % IO_FD_ALIGN);
	c->n = 0;
	pthread_mutex_lock(&s->lock);
	while (rc == ST_OK && c->n == 0 && s->at < s->in->files) {
		rc = check_take_of_file(s, c, e);
		s->at += rc == ST_OK && c->n == 0;
	}
	if (rc != ST_OK) /* no thread gets more */
		s->at = s->in->files;
	const bool taken = rc == ST_OK && c->n > 0;
	s->chunks += taken;
	if (taken)
		s->file[c->file].users++;
	pthread_mutex_unlock(&s->lock);
	if (!taken)
		return false;
	const input_file *f = &s->in->file[c->file];
	if (f->is_stream)
		return true;
	const uint64_t offset = f->frame.header_bytes + c->first * bytes;
	c->recs += offset % IO_FD_ALIGN;
	(void)io_fd_read_at(&s->file[c->file].fd, c->recs, c->n * bytes, offset, f->path, e);
	return true;
}

/* Release a chunk; fail (ST_IO) if it was the last one and its file has changed. */
static void check_release(source *s, const source_chunk *c, err *e)
{
	const input_file *f = &s->in->file[c->file];
	source_file *o = &s->file[c->file];
	pthread_mutex_lock(&s->lock);
	const bool last = --o->users == 0 && o->complete;
	if (last && !f->is_stream)
		(void)input_unchanged(f, o->fd.fd, e);
	if (last)
		io_fd_close(&o->fd);
	pthread_mutex_unlock(&s->lock);
}

/* -------------------------------------------------------------------------------- the checks */

static check_place check_place_of(const checking *k, const source_chunk *c, size_t i)
{
	return (check_place){ k->from.in->file[c->file].path, c->first + i,
			      c->recs + i * k->p->lay.record_bytes };
}

/* Copy a place and its record. */
static void check_keep(const checking *k, check_place *to, check_place from)
{
	unsigned char *rec = to->rec;
	*to = from;
	to->rec = memcpy(rec, from.rec, k->p->lay.record_bytes);
}

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

/* Join the results of a chunk. The caller has the lock, and calls come in the order of the chunks.
 */
static void check_join(checking *k, const source_chunk *c, const order_seen *seen, checksum sum)
{
	check_result *r = k->r;
	const int border = r->records ? order_compare(&k->p->lay, r->last.rec, c->recs) : -1;
	if (order_wrong(border, k->p->unique))
		check_note_disorder(k, r->last, check_place_of(k, c, 0));
	if (seen->wrong < c->n)
		check_note_disorder(k, check_place_of(k, c, seen->wrong - 1),
				    check_place_of(k, c, seen->wrong));
	if (r->records == 0)
		check_keep(k, &r->first, check_place_of(k, c, 0));
	r->records += c->n;
	r->equal += seen->equal + (border == 0);
	r->sum = checksum_join(r->sum, sum);
	check_keep(k, &r->last, check_place_of(k, c, c->n - 1));
}

static void check_chunk(checking *k, const source_chunk *c, err *e)
{
	const layout *l = &k->p->lay;
	order_seen seen = { c->n, 0 };
	checksum sum = { 0, 0 };
	if (e->code == ST_OK)
		seen = order_look(l, c->recs, c->n, k->p->unique);
	if (e->code == ST_OK && k->p->sum) {
		sum = checksum_records(c->recs, c->n, l->record_bytes);
		input_note_read(&k->from.in->file[c->file], c->n, sum);
	}
	check_release(&k->from, c, e);
	pthread_mutex_lock(&k->lock);
	while (k->joined != c->number)
		pthread_cond_wait(&k->turn, &k->lock);
	if (k->e.code == ST_OK)
		k->e = *e;
	if (k->e.code != ST_OK)
		atomic_store(&k->stop, true);
	else
		check_join(k, c, &seen, sum);
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
	if (k->e.code == ST_OK)
		k->e = e;
	pthread_mutex_unlock(&k->lock);
}

static status check_memory(checking *k, unsigned threads, mem *m, err *e)
{
	source *s = &k->from;
	check_result *r = k->r;
	const size_t bytes = s->lay.record_bytes;
	s->file = mem_array(m, s->in->files, sizeof *s->file, "files", e);
	for (size_t i = 0; s->file && i < s->in->files; i++)
		s->file[i].fd = (io_fd)IO_FD_NONE;
	for (size_t i = 0; s->file && i < s->in->files; i++)
		if (s->in->file[i].is_stream &&
		    !(s->file[i].held = mem_array(m, s->trailer_bytes, 1, "a trailer", e)))
			return ST_RESOURCE;
	k->buffers = mem_array(m, threads, s->room, "records", e);
	r->recs = mem_array(m, 4, bytes, "records", e);
	if (!s->file || !k->buffers || !r->recs)
		return ST_RESOURCE;
	r->before.rec = r->recs;
	r->at.rec = r->recs + bytes;
	r->first.rec = r->recs + 2 * bytes;
	r->last.rec = r->recs + 3 * bytes;
	return ST_OK;
}

status check_order(input *in, const check_plan *p, mem *m, check_result *r, err *e)
{
	const unsigned threads = (p->threads ? p->threads : processors_count()) + WAITING;
	const uint32_t bytes = p->lay.record_bytes;
	checking k = { .p = p,
		       .r = r,
		       .from = { .in = in,
				 .lay = p->lay,
				 .direct = p->direct,
				 .chunk = io_fd_chunk_recs(bytes, CHUNK_BYTES),
				 .cached_chunk = io_fd_chunk_recs(bytes, CACHED_CHUNK_BYTES) } };
	source *s = &k.from;
	*r = (check_result){ .in_order = true };
	if (in->streams && in->frame.records == 0)
		s->trailer_bytes = (size_t)in->frame.trailer_bytes;
	s->room = s->trailer_bytes + s->chunk * bytes + 2 * IO_FD_ALIGN;
	if (__builtin_add_overflow(p->first, p->n, &s->end))
		s->end = UINT64_MAX;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&k.lock, NULL);
	pthread_cond_init(&k.turn, NULL);
	status rc = check_memory(&k, threads, m, e);
	for (size_t i = 0; rc == ST_OK && i < in->files; i++) {
		const input_file *f = &in->file[i];
		if (!f->is_stream && p->first > f->first)
			s->file[i].taken = u64_min(p->first - f->first, f->count);
	}
	if (rc == ST_OK)
		pool_run(threads, check_work, &k);
	if (rc == ST_OK)
		rc = err_join(e, &k.e);
	for (size_t i = 0; s->file && i < in->files; i++) {
		io_fd_close(&s->file[i].fd);
		mem_free(m, s->file[i].held);
	}
	mem_free(m, s->file);
	mem_free(m, k.buffers);
	pthread_cond_destroy(&k.turn);
	pthread_mutex_destroy(&k.lock);
	pthread_mutex_destroy(&s->lock);
	return rc == ST_OK && !r->in_order ? ST_INVALID : rc;
}

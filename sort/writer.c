/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The writer looks at every record once more before it leaves: order, checksum, count. The buffer
 * is small enough to be still in the cache then. */
#include "writer.h"
#include "clock.h"
#include "file.h"

#include <inttypes.h>

enum { BUFFER_BYTES = 1 << 20 };

static unsigned char *behind(const writer *w)
{
	return w->buf - w->lay.record_bytes;
}

status writer_open(writer *w, mem *m, const layout *l, const sink *to, err *e)
{
	*w = (writer){ .fd = to->fd,
		       .path = to->path,
		       .offset = to->offset,
		       .durable = to->durable,
		       .lay = *l,
		       .m = m,
		       .e = e };
	w->room = BUFFER_BYTES / l->record_bytes + 1;
	unsigned char *all = mem_array(m, w->room + 1, l->record_bytes, "output buffer", e);
	w->first_key = mem_array(m, 2, l->key_bytes, "keys", e);
	if (!all || !w->first_key) {
		mem_free(m, all, w->room + 1, l->record_bytes);
		mem_free(m, w->first_key, 2, l->key_bytes);
		w->first_key = NULL;
		return ST_RESOURCE;
	}
	w->buf = all + l->record_bytes;
	w->last_key = w->first_key + l->key_bytes;
	return ST_OK;
}

/* Records of the buffer smaller than the one before them. */
static size_t count_unordered(const writer *w)
{
	const layout *l = &w->lay;
	const unsigned char *key = w->buf + l->key_off;
	size_t bad = 0;
	for (size_t i = w->records == 0; i < w->used; i++) {
		const unsigned char *k = key + i * l->record_bytes;
		if (l->key_bytes == DEFAULT_KEY_BYTES)
			bad += memcmp(k - l->record_bytes, k, DEFAULT_KEY_BYTES) > 0;
		else
			bad += memcmp(k - l->record_bytes, k, l->key_bytes) > 0;
	}
	return bad;
}

static void inspect(writer *w)
{
	const layout *l = &w->lay;
	const size_t bad = count_unordered(w);
	const unsigned char *last = w->buf + (w->used - 1) * l->record_bytes;
	if (bad && w->failed == ST_OK)
		w->failed = err_set(w->e, ST_INTERNAL,
				    "%zu records from record %" PRIu64 " on are out of order", bad,
				    w->records);
	if (w->records == 0)
		memcpy(w->first_key, w->buf + l->key_off, l->key_bytes);
	memcpy(w->last_key, last + l->key_off, l->key_bytes);
	w->sum = checksum_join(w->sum, checksum_records(w->buf, w->used, l->record_bytes));
	w->records += w->used;
	memcpy(behind(w), last, l->record_bytes);
}

static void put(writer *w)
{
	const size_t bytes = w->used * w->lay.record_bytes;
	if (w->used == 0)
		return;
	const double start = now_s();
	inspect(w);
	w->used = 0;
	const double t0 = now_s();
	w->verify_s += t0 - start;
	if (w->failed != ST_OK)
		return;
	w->failed = file_write_at(w->fd, w->buf, bytes, w->offset, w->path, w->e);
	if (w->offset != FILE_APPEND) {
		if (w->durable && w->failed == ST_OK)
			file_start_writeback(w->fd, w->offset, bytes);
		w->offset += bytes;
	}
	w->write_s += now_s() - t0;
}

void writer_add(writer *w, size_t n)
{
	w->used += n;
	if (w->used == w->room)
		put(w);
}

status writer_flush(writer *w)
{
	put(w);
	return w->failed;
}

void writer_free(writer *w)
{
	if (!w->buf)
		return;
	mem_free(w->m, behind(w), w->room + 1, w->lay.record_bytes);
	mem_free(w->m, w->first_key, 2, w->lay.key_bytes);
	*w = (writer){ 0 };
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A few buffers are filled and written in turn. If the record size allows it, full buffers end at a
 * multiple of IO_FD_ALIGN, so that direct I/O can write them. */
#include "writer.h"
#include "base/size.h"
#include "base/clock.h"
#include "base/arith.h"
#include "base/progress.h"
#include "base/pool.h"
#include "testing/failpoint.h"
#include "file.h"
#include "shape.h"

#include <inttypes.h>

enum {
	DISK_BYTES = 2 << 20,    /* of a buffer that is written to the disk */
	CACHE_BYTES = 512 << 10, /* or to the page cache: it stays in the processor's cache */
	LEAST_BYTES = 256 << 10,
	BUFFER_PART = 128
};

/* Return the size of a buffer for this amount of data: so small that all buffers together are much
 * smaller than the data. */
static size_t choose_buffer(uint64_t bytes, bool direct)
{
	return (size_t)u64_min(u64_max(bytes / BUFFER_PART, LEAST_BYTES),
			       direct ? DISK_BYTES : CACHE_BYTES);
}

/* Allow for twice the records, because a changed plan may give a rank more to write. */
uint64_t writer_most_bytes(uint64_t recs, uint32_t record_bytes)
{
	const uint64_t some = u64_min(recs, (uint64_t)DISK_BYTES * BUFFER_PART);
	const uint64_t bytes = choose_buffer(2 * some * record_bytes, true) + 2 * IO_FD_ALIGN;
	return WRITER_BUFFERS * u64_min(bytes, some * record_bytes + 2 * IO_FD_ALIGN);
}

/* Begin to fill the next buffer. For direct I/O, its start has the same offset in a page as in the
 * file. */
static void next_buffer(writer *w)
{
	const uint32_t bytes = shape_out_bytes(w->to.shape, w->lay.record_bytes);
	const uint64_t first = w->to.offset / bytes; /* records from the start of the file */
	unsigned char *b = w->raw + w->filled % WRITER_BUFFERS * w->buffer_bytes;
	b += (size_t)(-(uintptr_t)b % IO_FD_ALIGN);
	w->buf = b + w->to.offset % IO_FD_ALIGN;
	w->used = 0;
	w->room = w->chunk - (size_t)(first % w->chunk);
}

/* Inspect and write the next full buffer. Called under the lock, which is free during this work. */
static void write_next(writer *w)
{
	err e = w->e;
	const size_t i = w->written % WRITER_BUFFERS, n = w->full[i].n;
	const size_t bytes = n * shape_out_bytes(w->to.shape, w->lay.record_bytes);
	unsigned char *recs = w->full[i].recs;
	pthread_mutex_unlock(&w->lock);
	const double t0 = now_s();
	FAIL_PHASE("write");
	FAIL_FLIP(FAIL_WRITE, recs, n * w->lay.record_bytes);
	const size_t bad = inspect(w->seen, &w->lay, recs, n);
	w->verify_s += now_s() - t0;
	if (bad)
		err_set(&e, ST_INTERNAL,
			"records for output %s are out of order before record %" PRIu64
			": %zu record%s",
			quoted(w->to.path), w->seen->records, bad, plural(bad));
	if (shape_cuts(w->to.shape))
		shape_cut(w->to.shape, w->lay.record_bytes, recs, n, &w->seen->written);
	if (e.code == ST_OK &&
	    io_fd_write_at(&w->to.fd, recs, bytes, w->full[i].offset, w->to.path, &e) == ST_OK) {
		progress_add(PROGRESS_OUT, n * w->lay.record_bytes);
		if (w->to.durable)
			file_start_writeback(w->to.fd.fd, w->full[i].offset, bytes);
	}
	pthread_mutex_lock(&w->lock);
	w->e = e;
	w->written++;
	pthread_cond_signal(&w->changed);
}

/* Write full buffers until `ending` is set. */
static void *writer_thread(void *writer_)
{
	writer *w = writer_;
	pthread_mutex_lock(&w->lock);
	while (w->written < w->filled || !w->ending)
		if (w->written < w->filled)
			write_next(w);
		else
			pthread_cond_wait(&w->changed, &w->lock);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

status writer_open(writer *w, mem *m, const layout *l, const file_records *to, inspected *seen,
		   err *e)
{
	*w = (writer){ .to = *to, .lay = *l, .m = m, .seen = seen };
	const uint32_t out = shape_out_bytes(to->shape, l->record_bytes);
	const size_t most_bytes = choose_buffer(to->recs * l->record_bytes, to->fd.direct >= 0);
	w->chunk = io_fd_chunk_recs(out, most_bytes / l->record_bytes * out);
	const size_t most = to->recs < w->chunk ? (size_t)to->recs : w->chunk;
	w->buffer_bytes = most * l->record_bytes + 2 * IO_FD_ALIGN;
	w->raw = mem_array(m, WRITER_BUFFERS * w->buffer_bytes, 1, "output buffers", e);
	if (!w->raw)
		return ST_RESOURCE;
	next_buffer(w);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->threaded = thread_start(&w->thread, "writer", writer_thread, w) == 0;
	return ST_OK;
}

/* Wait until `goal` buffers are written; without a writing thread, write them here. */
static void await_written(writer *w, uint64_t goal)
{
	const double t0 = now_s();
	while (w->written < goal)
		if (w->threaded)
			pthread_cond_wait(&w->changed, &w->lock);
		else
			write_next(w);
	w->wait_s += now_s() - t0;
}

/* Hand the filled buffer over to the writing thread, and wait until another buffer is free. */
static void hand_over(writer *w)
{
	const size_t i = w->filled % WRITER_BUFFERS;
	if (w->used == 0)
		return;
	w->full[i].recs = w->buf;
	w->full[i].n = w->used;
	w->full[i].offset = w->to.offset;
	w->to.offset += w->used * shape_out_bytes(w->to.shape, w->lay.record_bytes);
	pthread_mutex_lock(&w->lock);
	w->filled++;
	pthread_cond_signal(&w->changed);
	await_written(w, w->filled < WRITER_BUFFERS ? 0 : w->filled - WRITER_BUFFERS + 1);
	pthread_mutex_unlock(&w->lock);
	next_buffer(w);
}

void writer_add(writer *w, size_t n)
{
	w->used += n;
	if (w->used == w->room)
		hand_over(w);
}

status writer_flush(writer *w, err *e)
{
	hand_over(w);
	pthread_mutex_lock(&w->lock);
	await_written(w, w->filled);
	pthread_mutex_unlock(&w->lock);
	return err_join(e, &w->e);
}

void writer_free(writer *w)
{
	if (!w->raw)
		return;
	if (w->threaded) {
		pthread_mutex_lock(&w->lock);
		w->ending = true;
		pthread_cond_signal(&w->changed);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	mem_free(w->m, w->raw);
	*w = (writer){ 0 };
}

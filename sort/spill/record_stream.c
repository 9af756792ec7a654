/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record_stream.h"
#include "base/arith.h"
#include "base/size.h"
#include "base/trace.h"
#include "io/file.h"

enum { STREAM_BYTES = 4 << 20 };

/* Return how many records to read at once. */
static size_t step_recs(const record_stream *s)
{
	const size_t step = reader_step_recs(&s->lay);
	const uint32_t file = shape_file_bytes(s->shape, s->lay.record_bytes);
	return file > s->lay.record_bytes ? size_max(step * s->lay.record_bytes / file, 1) : step;
}

size_t record_stream_raw_bytes(const record_stream *s)
{
	return shape_is_on(s->shape) ? step_recs(s) * s->shape->file_bytes : 0;
}

status record_stream_take(void *record_stream_, unsigned char *to, size_t n, size_t *got, err *e)
{
	record_stream *s = record_stream_;
	const uint32_t bytes = s->lay.record_bytes;
	const bool shaped = shape_is_on(s->shape);
	const uint32_t file_bytes = shape_file_bytes(s->shape, bytes);
	*got = 0;
	for (bool ended = false; *got < n && !ended;) {
		const size_t step = size_min(n - *got, step_recs(s));
		unsigned char *at = to + *got * bytes;
		size_t k = 0;
		const double span = trace_begin();
		const status rc = file_read_some(s->fd, shaped ? s->raw : at, step * file_bytes, &k,
						 s->path, e);
		trace_end(TRACE_READ, span);
		if (rc == ST_OK && k % file_bytes)
			return err_set(e, ST_REFUSED,
				       "input %s ends with a partial record of %zu byte%s",
				       quoted(s->path), k % file_bytes, plural(k % file_bytes));
		if (rc != ST_OK)
			return rc;
		k /= file_bytes;
		if (shaped && shape_check(s->shape, s->records + k, e) != ST_OK)
			return e->code;
		if (shaped)
			shape_apply(s->shape, bytes, at, s->raw, k, s->records);
		s->records += k;
		s->sum = checksum_join(s->sum, reader_checksum(&s->lay, at, k, &s->verify_s));
		*got += k;
		ended = k < step;
	}
	return ST_OK;
}

status record_stream_load(record_stream *s, const load_plan *p, mem *m, sorted_share *d,
			  bool *ended, err *e)
{
	const size_t chunk = STREAM_BYTES / p->lay.record_bytes + 1;
	uint64_t room = p->most_recs; /* halved, so that doubling it reaches most_recs */
	while (room / 2 > 2 * chunk)
		room /= 2;
	*d = (sorted_share){ 0 };
	*ended = false;
	status rc = memory_share_room(p, m, room ? (size_t)room : 1, 0, d, e);
	while (rc == ST_OK && !*ended && d->n < memory_share_most(p, d)) {
		if (d->n == d->memory.room && (rc = memory_share_grow(p, m, d, e)) != ST_OK)
			break;
		const size_t n = size_min(d->memory.room - d->n, chunk);
		size_t got = 0;
		rc = record_stream_take(s, d->memory.recs + d->n * p->lay.record_bytes, n, &got, e);
		d->n += got;
		*ended = got < n;
	}
	d->sum = s->sum;
	d->verify_s = s->verify_s;
	return rc;
}

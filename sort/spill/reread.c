/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From front to back, in chunks that end at blocks of the file where the record size allows, so
 * that they go past the page cache whole. */
#include "reread.h"

enum { CHUNK_BYTES = 4 << 20 };

static status inspect_all(const io_fd *f, const char *path, uint64_t offset, uint64_t n,
			  const layout *l, size_t chunk, unsigned char *buf, inspected *seen,
			  err *e)
{
	const uint64_t bytes = l->record_bytes, end = offset / bytes + n;
	size_t k;
	for (uint64_t at = offset / bytes; at < end; at += k) {
		unsigned char *to = buf + at * bytes % IO_FD_ALIGN;
		k = chunk - (size_t)(at % chunk);
		k = k < end - at ? k : (size_t)(end - at);
		const status rc = io_fd_read_at(f, to, k * bytes, at * bytes, path, e);
		if (rc != ST_OK)
			return rc;
		if (inspect(seen, l, to, k) != 0)
			return ST_INVALID;
	}
	return ST_OK;
}

status reread(const io_fd *f, const char *path, uint64_t offset, uint64_t n, const layout *l,
	      mem *m, inspected *seen, err *e)
{
	const size_t chunk = io_fd_chunk_recs(l->record_bytes, CHUNK_BYTES);
	const size_t most = n < chunk ? (size_t)n : chunk;
	const size_t bytes = most * l->record_bytes + 2 * IO_FD_ALIGN;
	unsigned char *raw = mem_array(m, bytes, 1, "records", e);
	if (!raw)
		return ST_RESOURCE;
	unsigned char *buf = raw + (size_t)(-(uintptr_t)raw % IO_FD_ALIGN);
	const status rc = inspect_all(f, path, offset, n, l, chunk, buf, seen, e);
	mem_free(m, raw);
	return rc;
}

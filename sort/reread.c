/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From front to back, through the page cache, while the kernel reads ahead. */
#include "reread.h"
#include "file.h"

#include <fcntl.h>

enum { CHUNK_BYTES = 1 << 20 };

status reread(int fd, const char *path, uint64_t offset, uint64_t n, const layout *l, mem *m,
	      inspected *seen, err *e)
{
	const uint64_t bytes = l->record_bytes;
	const size_t most = CHUNK_BYTES / l->record_bytes, room = n < most ? (size_t)n : most;
	unsigned char *buf = mem_array(m, room, bytes, "records", e);
	status rc = buf ? ST_OK : ST_RESOURCE;
	(void)posix_fadvise(fd, (off_t)offset, (off_t)(n * bytes), POSIX_FADV_SEQUENTIAL);
	for (uint64_t at = 0; rc == ST_OK && at < n; at += room) {
		const size_t k = n - at < room ? (size_t)(n - at) : room;
		rc = file_read_at(fd, buf, k * bytes, offset + at * bytes, path, e);
		if (rc == ST_OK && inspect(seen, l, buf, k) != 0)
			rc = ST_INVALID;
	}
	mem_free(m, buf, room, bytes);
	return rc;
}

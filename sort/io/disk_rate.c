/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads write as the sort does, so that the disk has something to do all the time. */
#include "disk_rate.h"
#include "base/clock.h"
#include "base/pool.h"
#include "tempdir.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITERS = 2, PIECE_BYTES = 2 << 20 };

static const double LIMIT_S = 0.1;

typedef struct trial {
	io_fd f;
	const unsigned char *piece;
	uint64_t pieces;
	atomic_uint_least64_t next;
	atomic_bool failed;
	double begun_s;
} trial;

static void write_pieces(void *trial_, unsigned worker)
{
	trial *t = trial_;
	(void)worker;
	while (!atomic_load(&t->failed) && now_s() - t->begun_s < LIMIT_S) {
		const uint64_t i = atomic_fetch_add(&t->next, 1);
		if (i >= t->pieces)
			return;
		if (io_fd_write_at(&t->f, t->piece, PIECE_BYTES, i * PIECE_BYTES, "", NULL) !=
		    ST_OK)
			atomic_store(&t->failed, true);
	}
}

static double try(trial *t)
{
	struct stat st;
	t->begun_s = now_s();
	pool_run(WRITERS, write_pieces, t);
	if (atomic_load(&t->failed) || fdatasync(t->f.fd) != 0 || fstat(t->f.fd, &st) != 0 ||
	    st.st_size == 0)
		return 0;
	return (now_s() - t->begun_s) / (double)st.st_size;
}

double disk_rate_s(mem *m, const char *dir, uint64_t most_bytes)
{
	trial t = { .f = IO_FD_NONE, .pieces = most_bytes / PIECE_BYTES };
	tempdir d = { .fd = -1 };
	double s = 0;
	unsigned char *raw =
		mem_array(m, PIECE_BYTES + IO_FD_ALIGN, 1, "a trial of the disk", NULL);
	if (raw && tempdir_open(&d, dir, NULL) == ST_OK &&
	    tempdir_create(&d, NULL, true, &t.f, NULL) == ST_OK) {
		t.piece = raw + (size_t)(-(uintptr_t)raw % IO_FD_ALIGN);
		s = try(&t);
	}
	if (t.f.direct >= 0)
		close(t.f.direct);
	if (t.f.fd >= 0)
		close(t.f.fd);
	tempdir_close(&d);
	mem_free(m, raw);
	return s;
}

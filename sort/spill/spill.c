/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs on disk. There is no lock: one thread writes a run, and after its end all threads only read
 * it. Runs share write buffers and the table of checksums, which are assigned by atomic operations.
 * No file is synced here: files without names do not outlive the program, and run_checkpoint.c
 * syncs files with names. The checksums detect a write that the disk has lost. */
#include "spill.h"
#include "base/arith.h"
#include "testing/failpoint.h"
#include "io/file.h"
#include "io/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef enum run_state { RUN_EMPTY, RUN_WRITING, RUN_COMPLETE } run_state;

typedef struct run_file {
	io_fd f;
	run_state state;
	size_t dir;            /* index of its directory */
	uint64_t room_bytes;   /* of the records announced by begin */
	uint64_t bytes;        /* of records appended */
	size_t buffer;         /* index of its write buffer, while it is written */
	unsigned char *memory; /* of a run in memory; NULL: on disk */
	uint64_t *sum;         /* of its blocks, in the table of the spill */
} run_file;

struct spill {
	mem *m;
	spill_plan p; /* with the chosen sizes */
	spill_dirs dirs;
	atomic_uint_least64_t again; /* runs written a second time */
	run_file *run;               /* [runs] */
	uint64_t *sum;               /* of all blocks of all runs */
	size_t sums;                 /* elements of sum, */
	atomic_size_t sums_taken;    /* and how many belong to runs */
	unsigned char *memory;       /* [memory_runs] of memory_bytes */
	size_t memory_bytes;
	unsigned char *buffer; /* [buffers] of write_bytes */
	atomic_bool *busy;     /* [buffers] */
};

/* ------------------------------------------------------------------------------- sizes */

size_t spill_block_bytes(uint32_t record_bytes)
{
	/* the greatest common divisor, because the alignment is a power of two */
	const size_t common = size_min(record_bytes & -record_bytes, SPILL_ALIGN);
	const size_t both = SPILL_ALIGN / common * record_bytes;
	if (both > SPILL_MOST_BLOCK_BYTES)
		return SPILL_BLOCK_BYTES;
	return both > SPILL_BLOCK_BYTES ? both : SPILL_BLOCK_BYTES / both * both;
}

uint64_t spill_memory_bytes(uint64_t recs, uint32_t record_bytes)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(recs, record_bytes, &bytes) || bytes > INT64_MAX)
		return UINT64_MAX;
	return u64_round_up(bytes, SPILL_ALIGN);
}

uint64_t spill_disk_recs(uint64_t recs, uint64_t runs, uint64_t run_recs, uint64_t memory_runs)
{
	const uint64_t before = runs ? (runs - 1) * run_recs : 0;
	const uint64_t last = recs > before ? u64_min(recs - before, run_recs) : 0;
	return memory_runs ? recs - u64_min(recs, (memory_runs - 1) * run_recs + last) : recs;
}

spill_layout spill_layout_of(size_t block_bytes, uint32_t record_bytes, uint64_t recs)
{
	const uint64_t bytes = u64_round_up(recs * record_bytes, SPILL_ALIGN);
	return (spill_layout){ .fd = -1,
			       .end = bytes,
			       .block_bytes = block_bytes,
			       .blocks = (size_t)((bytes + block_bytes - 1) / block_bytes) };
}

static const char *run_name(const spill *s, size_t i)
{
	return s->p.name ? s->p.name[i].text : NULL;
}

static const tempdir *run_dir(const spill *s, size_t i)
{
	return &s->dirs.dir[s->run[i].dir];
}

/* Return the bytes of a run on disk or in memory. After its last record, arbitrary bytes fill the
 * run up to the alignment. */
static uint64_t stored_bytes(const run_file *r)
{
	return u64_round_up(r->bytes, SPILL_ALIGN);
}

/* ------------------------------------------------------------------------------- opening */

/* Create or open the file of run i. Hold the list of unfinished files while a file with a name is
 * created. A process that is being terminated has given up this list, and the next job may already
 * use the directory. */
static status run_create_file(spill *s, size_t i, err *e)
{
	run_file *r = &s->run[i];
	if (s->p.name)
		unfinished_hold();
	const status rc =
		s->p.name && s->p.name[i].there
			? tempdir_open_file(run_dir(s, i), run_name(s, i), !s->p.buffered, &r->f, e)
			: spill_dirs_create(&s->dirs, &r->dir, run_name(s, i), !s->p.buffered,
					    &r->f, e);
	if (s->p.name)
		unfinished_release();
	return rc;
}

/* Open the directories, check that the runs on disk fit, and create their files. Do not count the
 * space of existing files, because their runs may be complete. Runs with names are all on disk. */
static status spill_open_dirs(spill *s, err *e)
{
	const spill_plan *p = &s->p;
	const uint64_t runs = p->runs - p->memory_runs;
	struct stat st;
	uint64_t all, existing = 0;
	status rc = spill_dirs_open(&s->dirs, s->m, p->dir, p->dirs, e);
	if (rc != ST_OK || p->growing)
		return rc;
	for (size_t i = 0; p->name && i < p->runs; i++)
		if (fstatat(run_dir(s, i)->fd, run_name(s, i), &st, AT_SYMLINK_NOFOLLOW) == 0)
			existing += (uint64_t)st.st_blocks * 512;
	uint64_t bytes =
		spill_disk_recs(p->recs, p->runs, p->memory_recs, p->memory_runs) * p->record_bytes;
	bytes -= u64_min(bytes, existing);
	if (__builtin_mul_overflow(bytes, p->ranks_here, &all))
		all = UINT64_MAX;
	rc = spill_dirs_fit(&s->dirs, all, runs ? bytes / runs : 0, e);
	for (size_t i = 0; rc == ST_OK && i < p->runs; i++)
		if (!s->run[i].memory)
			rc = run_create_file(s, i, e);
	for (size_t i = 0; rc == ST_OK && p->name && i < p->dirs; i++)
		rc = file_sync_dir(s->dirs.dir[i].fd, s->dirs.dir[i].label, e);
	return rc;
}

/* Allocate all memory. Runs in memory are spread evenly, so that the disk always has work. */
static status spill_allocate(spill *s, err *e)
{
	const size_t runs = s->p.runs, held = s->p.memory_runs;
	s->run = mem_array(s->m, runs, sizeof *s->run, "spilled runs", e);
	s->sum = mem_array(s->m, s->sums, sizeof *s->sum, "checksums of spilled blocks", e);
	s->busy = mem_array(s->m, s->p.buffers, sizeof *s->busy, "spill writers", e);
	s->buffer = mem_array(s->m, s->p.buffers, s->p.write_bytes, "spill buffers", e);
	s->memory = mem_array(s->m, held, s->memory_bytes, "runs in memory", e);
	for (size_t i = 0; s->run && i < runs; i++) {
		const size_t before = i * held / runs;
		s->run[i] = (run_file){ .f = IO_FD_NONE, .dir = i % s->p.dirs };
		if (s->memory && (i + 1) * held / runs > before)
			s->run[i].memory = s->memory + before * s->memory_bytes;
	}
	return s->run && s->sum && s->busy && s->buffer && s->memory ? ST_OK : ST_RESOURCE;
}

status spill_open(spill **out, mem *m, const spill_plan *plan, err *e)
{
	uint64_t bytes;
	*out = NULL;
	if (plan->dirs == 0 || plan->record_bytes == 0 || plan->ranks_here == 0 ||
	    plan->block_bytes % SPILL_ALIGN != 0 || plan->memory_runs > plan->runs ||
	    (plan->memory_runs && plan->name))
		return err_set(e, ST_INTERNAL, "invalid plan of runs on disk");
	spill *s = mem_array(m, 1, sizeof *s, "spilling", e);
	if (!s)
		return ST_RESOURCE;
	*s = (spill){ .m = m, .p = *plan, .dirs.m = m };
	spill_plan *p = &s->p;
	if (!p->block_bytes)
		p->block_bytes = spill_block_bytes(p->record_bytes);
	status rc = ST_OK;
	/* each run begins with a new block */
	if (__builtin_mul_overflow(p->recs, p->record_bytes, &bytes) || bytes > INT64_MAX ||
	    __builtin_add_overflow(bytes / p->block_bytes, p->runs, &s->sums))
		rc = err_set(e, ST_RESOURCE,
			     "cannot spill %" PRIu64 " records of %" PRIu32 " bytes: too many",
			     p->recs, p->record_bytes);
	if (rc == ST_OK) {
		const uint64_t most = p->write_bytes ? p->write_bytes : SPILL_WRITE_BYTES;
		p->write_bytes = (size_t)u64_round_up(u64_min(bytes + 1, most), p->block_bytes);
		s->memory_bytes = spill_memory_bytes(p->memory_recs, p->record_bytes);
		rc = spill_allocate(s, e);
	}
	if (rc == ST_OK)
		rc = spill_open_dirs(s, e);
	if (rc == ST_OK)
		*out = s;
	else
		spill_close(s);
	return rc;
}

/* ------------------------------------------------------------------------------- writing */

static status run_misused(err *e, size_t i, const char *why)
{
	return err_set(e, ST_INTERNAL, "spilled run %zu: %s", i, why);
}

/* Reserve the run's part of the table of checksums. */
static status run_reserve_sums(spill *s, size_t i, uint64_t recs, err *e)
{
	if (i >= s->p.runs || s->run[i].state != RUN_EMPTY)
		return run_misused(e, i, "it cannot begin now");
	run_file *r = &s->run[i];
	uint64_t bytes;
	if (__builtin_mul_overflow(recs, s->p.record_bytes, &bytes) || bytes > INT64_MAX ||
	    (r->sum && bytes != r->room_bytes) || (r->memory && bytes > s->memory_bytes))
		return run_misused(e, i, "it is longer than was planned");
	if (r->sum) /* reserved for an attempt in another directory */
		return ST_OK;
	r->room_bytes = bytes;
	const size_t blocks =
		(size_t)(u64_round_up(r->room_bytes, s->p.block_bytes) / s->p.block_bytes);
	const size_t at = atomic_fetch_add(&s->sums_taken, blocks);
	if (at > s->sums || blocks > s->sums - at)
		return run_misused(e, i, "it is longer than was planned");
	r->sum = s->sum + at;
	return ST_OK;
}

/* Remove the name of the run's file, so that no later job uses it. */
static void run_remove_name(const spill *s, size_t i)
{
	file_id is;
	if (s->p.name && file_id_of(s->run[i].f.fd, &is))
		(void)file_remove(run_dir(s, i)->fd, run_name(s, i), &is, NULL);
}

static void run_leave_dir(spill *s, size_t i)
{
	run_remove_name(s, i);
	io_fd_close(&s->run[i].f);
}

status spill_run_begin(spill *s, size_t i, uint64_t recs, err *e)
{
	status rc = run_reserve_sums(s, i, recs, e);
	if (rc != ST_OK)
		return rc;
	run_file *r = &s->run[i];
	if (!r->memory) {
		r->buffer = 0;
		while (r->buffer < s->p.buffers && atomic_exchange(&s->busy[r->buffer], true))
			r->buffer++;
		if (r->buffer == s->p.buffers)
			return run_misused(e, i, "more runs are being written than were planned");
	}
	r->state = RUN_WRITING;
	if (r->memory)
		return ST_OK;
	if (spill_dirs_next(&s->dirs, r->dir) != r->dir) /* the run's directory has become full */
		run_leave_dir(s, i);
	if (r->f.fd < 0 && (rc = run_create_file(s, i, e)) != ST_OK)
		return rc;
	const tempdir *t = run_dir(s, i);
	/* not on tmpfs, which would fill the space with zeros */
	return t->in_memory ? ST_OK
			    : file_reserve(r->f.fd, u64_round_up(r->room_bytes, SPILL_ALIGN),
					   t->label, e);
}

bool spill_run_again(spill *s, size_t i)
{
	run_file *r = &s->run[i];
	if (r->state != RUN_WRITING || r->memory || !spill_dirs_leave_out(&s->dirs, r->dir))
		return false;
	run_leave_dir(s, i);
	atomic_store(&s->busy[r->buffer], false);
	atomic_fetch_add(&s->again, 1);
	r->bytes = 0;
	r->state = RUN_EMPTY;
	return true;
}

/* Return the address of this byte of the run while the run is written. */
static unsigned char *run_byte(const spill *s, const run_file *r, uint64_t byte)
{
	return r->memory ? r->memory + byte
			 : s->buffer + r->buffer * s->p.write_bytes + byte % s->p.write_bytes;
}

/* Compute the checksum of the run's last block, which is complete, while it is in the cache. */
static void run_sum_block(const spill *s, const run_file *r)
{
	const uint64_t block = (r->bytes - 1) / s->p.block_bytes, from = block * s->p.block_bytes;
	const unsigned char *p = run_byte(s, r, from);
	r->sum[block] = XXH3_64bits(p, (size_t)(stored_bytes(r) - from));
}

/* Write the last `fill` bytes of the run from its buffer; a run in memory has them in place. */
static status run_flush(spill *s, size_t i, size_t fill, err *e)
{
	const run_file *r = &s->run[i];
	const uint64_t offset = r->bytes - fill;
	unsigned char *p = run_byte(s, r, offset);
	const size_t stored = (size_t)u64_round_up(fill, SPILL_ALIGN);
	FAIL_FLIP(FAIL_SPILL, p, fill);
	if (r->memory)
		return ST_OK;
	err why = { ST_OK, "" };
	const status rc = io_fd_write_at(&r->f, p, stored, offset, run_dir(s, i)->label, &why);
	if (rc != ST_OK)
		return spill_dirs_failed(&why, s->p.name == NULL, e);
	if (r->f.direct < 0) /* do not wait until memory is full of dirty pages */
		file_start_writeback(r->f.fd, offset, stored);
	return ST_OK;
}

void *spill_run_room(const spill *s, size_t i, size_t *n)
{
	const run_file *r = &s->run[i];
	const size_t fill = (size_t)(r->bytes % s->p.write_bytes);
	const size_t block = s->p.block_bytes - fill % s->p.block_bytes;
	const size_t most = block < s->p.record_bytes
				    ? size_min(s->p.write_bytes - fill, s->p.record_bytes)
				    : block;
	*n = size_min(*n, most / s->p.record_bytes);
	return run_byte(s, r, r->bytes);
}

status spill_run_append(spill *s, size_t i, const void *recs, uint64_t n, err *e)
{
	if (i >= s->p.runs || s->run[i].state != RUN_WRITING)
		return run_misused(e, i, "it is not being written");
	run_file *r = &s->run[i];
	if (n > (r->room_bytes - r->bytes) / s->p.record_bytes)
		return run_misused(e, i, "it is longer than was announced");
	const unsigned char *from = recs;
	status rc = ST_OK;
	for (size_t left = (size_t)n * s->p.record_bytes, some; left > 0 && rc == ST_OK;
	     left -= some) {
		const size_t fill = (size_t)(r->bytes % s->p.write_bytes);
		unsigned char *to = run_byte(s, r, r->bytes);
		some = size_min(left, s->p.block_bytes - fill % s->p.block_bytes);
		if (from != to)
			memcpy(to, from, some);
		from += some;
		r->bytes += some;
		if (r->bytes % s->p.block_bytes == 0)
			run_sum_block(s, r);
		if (r->bytes % s->p.write_bytes == 0)
			rc = run_flush(s, i, s->p.write_bytes, e);
	}
	return rc;
}

status spill_run_end(spill *s, size_t i, err *e)
{
	if (i >= s->p.runs || s->run[i].state != RUN_WRITING)
		return run_misused(e, i, "it is not being written");
	run_file *r = &s->run[i];
	const size_t fill = (size_t)(r->bytes % s->p.write_bytes);
	if (r->bytes % s->p.block_bytes)
		run_sum_block(s, r);
	const status rc = fill ? run_flush(s, i, fill, e) : ST_OK;
	if (rc != ST_OK)
		return rc;
	if (!r->memory && r->bytes < r->room_bytes &&
	    ftruncate(r->f.fd, (off_t)stored_bytes(r)) != 0)
		return err_sys(e, errno, "cannot shorten %s", quoted(run_dir(s, i)->label));
	if (!r->memory)
		atomic_store(&s->busy[r->buffer], false);
	r->state = RUN_COMPLETE;
	return ST_OK;
}

void spill_end_writing(spill *s)
{
	mem_free(s->m, s->buffer);
	s->buffer = NULL;
}

/* ------------------------------------------------------------------------------- checkpoints */

spill_layout spill_run_layout(const spill *s, size_t i, uint64_t recs)
{
	const run_file *r = &s->run[i];
	spill_layout at = spill_layout_of(s->p.block_bytes, s->p.record_bytes, recs);
	at.fd = r->f.fd;
	at.label = run_dir(s, i)->label;
	at.sum = r->sum;
	return at;
}

status spill_run_adopt(spill *s, size_t i, uint64_t recs, const uint64_t *sum, err *e)
{
	const status rc = run_reserve_sums(s, i, recs, e);
	if (rc != ST_OK)
		return rc;
	run_file *r = &s->run[i];
	memcpy(r->sum, sum, spill_run_layout(s, i, recs).blocks * sizeof *sum);
	r->bytes = r->room_bytes;
	r->state = RUN_COMPLETE;
	return ST_OK;
}

/* ------------------------------------------------------------------------------- reading */

/* A range of whole blocks, in bytes of the file. */
typedef struct span {
	uint64_t start, end;
} span;

/* Return the blocks that contain records [first, first + n), n >= 1. */
static span span_of(const spill *s, const run_file *r, uint64_t first, uint64_t n)
{
	const uint64_t from = first * s->p.record_bytes, to = from + n * s->p.record_bytes;
	return (span){ from / s->p.block_bytes * s->p.block_bytes,
		       u64_min(u64_round_up(to, s->p.block_bytes), stored_bytes(r)) };
}

uint64_t spill_run_recs(const spill *s, size_t i)
{
	return s->run[i].bytes / s->p.record_bytes;
}

uint64_t spill_disk_bytes(const spill *s)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < s->p.runs; i++)
		bytes += s->run[i].memory ? 0 : s->run[i].bytes;
	return bytes;
}

size_t spill_block_recs(const spill *s)
{
	return s->p.block_bytes % s->p.record_bytes ? 0 : s->p.block_bytes / s->p.record_bytes;
}

size_t spill_read_bytes(const spill *s, uint64_t n)
{
	uint64_t bytes, most;
	if (n == 0)
		return 0;
	/* the first byte of the records may be the last of its block */
	if (__builtin_mul_overflow(n, s->p.record_bytes, &bytes) ||
	    __builtin_add_overflow(bytes, 2 * s->p.block_bytes, &most))
		return SIZE_MAX;
	return (size_t)(((bytes + s->p.block_bytes - 2) / s->p.block_bytes + 1) * s->p.block_bytes);
}

uint64_t spill_chunk_recs(const spill *s, size_t bytes, size_t *buf_bytes)
{
	const size_t block = s->p.block_bytes, rec = s->p.record_bytes;
	if (block % rec == 0) {
		*buf_bytes = bytes > block ? bytes / block * block : block;
		return *buf_bytes / rec;
	}
	const size_t least = block / rec + 1; /* with fewer records, most bytes would be excess */
	const uint64_t n = bytes > 2 * block + least * rec ? (bytes - 2 * block) / rec : least;
	*buf_bytes = spill_read_bytes(s, n);
	return n;
}

status spill_read(spill *s, spill_view *v, err *e)
{
	if (v->run >= s->p.runs || s->run[v->run].state != RUN_COMPLETE)
		return run_misused(e, v->run, "it is not complete");
	const run_file *r = &s->run[v->run];
	const size_t block_bytes = s->p.block_bytes;
	const char *label = r->memory ? "(memory)" : run_dir(s, v->run)->label;
	const uint64_t have = spill_run_recs(s, v->run), at = v->first * s->p.record_bytes;
	v->recs = v->buf;
	if (v->first > have || v->n > have - v->first)
		return run_misused(e, v->run, "it has fewer records than are to be read");
	if (v->n == 0)
		return ST_OK;
	const span w = span_of(s, r, v->first, v->n);
	const unsigned char *p = v->buf;
	if (r->memory) {
		p = r->memory + w.start;
	} else {
		if (w.end - w.start > v->buf_bytes || (uintptr_t)v->buf % SPILL_ALIGN != 0)
			return run_misused(e, v->run,
					   "the buffer to read it is too small or not aligned");
		const status rc =
			io_fd_read_at(&r->f, v->buf, (size_t)(w.end - w.start), w.start, label, e);
		if (rc != ST_OK)
			return rc;
	}
	v->recs = p + (at - w.start);
	for (uint64_t b = w.start; b < w.end; b += block_bytes, p += block_bytes) {
		if (XXH3_64bits(p, u64_min(w.end - b, block_bytes)) == r->sum[b / block_bytes])
			continue;
		run_remove_name(s, v->run);
		return err_set(e, ST_IO, "%s: block %" PRIu64 " of run %zu is damaged%s",
			       quoted(label), b / block_bytes, v->run,
			       s->p.name ? "; use --resume to write it again" : "");
	}
	return ST_OK;
}

status spill_key(spill *s, spill_view *v, size_t i, uint64_t at, const unsigned char **rec, err *e)
{
	const uint64_t bytes = s->p.record_bytes;
	if (v->n == 0 || v->run != i || at < v->first || at - v->first >= v->n) {
		spill_view one = {
			.buf = v->buf, .buf_bytes = v->buf_bytes, .run = i, .first = at, .n = 1
		};
		v->n = 0;
		const status rc = spill_read(s, &one, e);
		if (rc != ST_OK)
			return rc;
		/* keep all whole records in these blocks */
		const span w = span_of(s, &s->run[i], at, 1);
		const uint64_t before = (at * bytes - w.start) / bytes;
		one.first -= before;
		one.recs -= before * bytes;
		one.n = u64_min(w.end, s->run[i].bytes) / bytes - one.first;
		*v = one;
	}
	*rec = v->recs + (at - v->first) * bytes;
	return ST_OK;
}

/* ------------------------------------------------------------------------------- closing */

void spill_left_out(const spill *s, char *text, size_t bytes, uint64_t *again)
{
	spill_dirs_left_out(&s->dirs, text, bytes);
	*again = atomic_load(&s->again);
}

void spill_close(spill *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->run && i < s->p.runs; i++)
		io_fd_close(&s->run[i].f);
	mem *m = s->m;
	spill_dirs_close(&s->dirs);
	mem_free(m, s->memory);
	mem_free(m, s->buffer);
	mem_free(m, s->busy);
	mem_free(m, s->sum);
	mem_free(m, s->run);
	mem_free(m, s);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads header and trailer, and then a rank's share, in one of six ways (read_share), to sorted
 * runs in memory or on disk. Streams are copied first.
 *
 * Shares follow from sizes, and the size of a stream is known only at its end. So a stream is first
 * copied to a file in the first directory for runs that has room for all of it. If all ranks read
 * the same files, rank 0 copies, and the others, which are threads of the same process, duplicate
 * its descriptor. Costs a write and a read of each byte. Memory: 2 MiB.
 *
 * Header and trailer are kept in memory, with a second copy of one of them while it is compared. */
#include "base/arith.h"
#include "base/size.h"
#include "base/sysfile.h"
#include "io/file.h"
#include "phases.h"
#include "spill/sorted_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

/* A copy under way. */
typedef struct stream_copy {
	spill_dirs dirs;
	size_t dir; /* the number of the directory that the copy is in */
	int fd;
	/* of directories in memory: copied bytes, and the memory that was left before, or 0 */
	uint64_t copied_bytes, left_bytes;
	unsigned ranks;               /* of this host that copy streams */
	unsigned char *piece, *moved; /* bytes to append; bytes moved to another directory */
} stream_copy;

static const char *stream_copy_label(const stream_copy *c)
{
	return c->dirs.dir[c->dir].label;
}

/* Write n bytes of the stream at `at`, unless they would take the last memory of the machine. */
static status stream_copy_append(stream_copy *c, size_t n, uint64_t at, err *e)
{
	enum { SORT_PART = 16 }; /* of the memory, for the sort */
	char left[SIZE_TEXT_BYTES];
	if (file_takes_memory(c->fd)) {
		const memory_limit_query q = { .root = "",
					       .node_ranks = c->ranks,
					       .process_ranks = 1 };
		memory_limit l = { .left_bytes = c->left_bytes };
		if (!c->left_bytes && memory_limit_find(&q, &l, e) != ST_OK)
			return e->code;
		c->left_bytes = l.left_bytes;
		c->copied_bytes += n;
		if (c->copied_bytes > l.left_bytes - l.left_bytes / SORT_PART)
			return err_set(e, ST_RESOURCE,
				       "cannot write %s: this directory is in memory, of which "
				       "%s were left",
				       quoted(stream_copy_label(c)), size_text(l.left_bytes, left));
	}
	return file_write_at(c->fd, c->piece, n, at, stream_copy_label(c), e);
}

/* Write n bytes of the stream at `at`. If the directory is full, first move the file to the next
 * directory that has room. */
static status stream_copy_write(stream_copy *c, size_t n, uint64_t at, err *e)
{
	err why = { ST_OK, "" };
	status rc = stream_copy_append(c, n, at, &why);
	while (rc == ST_RESOURCE && spill_dirs_leave_out(&c->dirs, c->dir)) {
		io_fd to = IO_FD_NONE;
		why = (err){ ST_OK, "" };
		rc = spill_dirs_create(&c->dirs, &c->dir, NULL, false, &to, &why);
		for (uint64_t i = 0; rc == ST_OK && i < at; i += PIECE_BYTES) {
			const size_t k = (size_t)u64_min(PIECE_BYTES, at - i);
			rc = file_read_at(c->fd, c->moved, k, i, stream_copy_label(c), &why);
			if (rc == ST_OK)
				rc = file_write_at(to.fd, c->moved, k, i, stream_copy_label(c),
						   &why);
		}
		const int done_with = rc == ST_OK ? c->fd : to.fd;
		if (rc == ST_OK)
			c->fd = to.fd;
		if (done_with >= 0)
			close(done_with);
		if (rc == ST_OK)
			rc = stream_copy_append(c, n, at, &why);
	}
	return rc == ST_OK ? ST_OK : spill_dirs_failed(&why, true, e);
}

/* Copy all streams of this rank, and let the copies replace them. */
static status stream_copy_all(job *j)
{
	rank_env *env = &j->env;
	input *in = &j->files.in;
	err *e = &env->e;
	size_t dirs;
	const char *const *dir = memory_plan_tmpdirs(j, &dirs);
	stream_copy c = { .fd = -1, .ranks = in->per_rank ? j->cpus.ranks_here : 1 };
	c.piece = mem_array(&env->m, PIECE_BYTES, 1, "copying a stream", e);
	c.moved = mem_array(&env->m, PIECE_BYTES, 1, "copying a stream", e);
	status rc = spill_dirs_open(&c.dirs, &env->m, dir, dirs, e);
	if (!c.piece || !c.moved)
		rc = ST_RESOURCE;
	for (input_file *f = in->file; f < in->file + in->files && rc == ST_OK; f++) {
		io_fd to = IO_FD_NONE;
		int from = -1;
		if (!f->is_stream)
			continue;
		rc = input_open(f, true, &from, e);
		if (rc == ST_OK)
			rc = spill_dirs_create(&c.dirs, &c.dir, NULL, false, &to, e);
		c.fd = to.fd;
		size_t got = PIECE_BYTES;
		for (uint64_t at = 0; rc == ST_OK && got == PIECE_BYTES; at += got) {
			rc = file_read_some(from, c.piece, PIECE_BYTES, &got, f->path, e);
			if (rc == ST_OK)
				rc = stream_copy_write(&c, got, at, e);
		}
		if (from >= 0)
			close(from);
		f->fd = c.fd;
		if (rc == ST_OK && fstat(f->fd, &f->st) != 0)
			rc = err_sys(e, errno, "cannot look at %s", quoted(stream_copy_label(&c)));
	}
	if (rc == ST_OK)
		spill_dirs_left_out(&c.dirs, j->mine.left_out, sizeof j->mine.left_out);
	spill_dirs_close(&c.dirs);
	mem_free(&env->m, c.piece);
	mem_free(&env->m, c.moved);
	return rc;
}

status copy_streams(job *j)
{
	rank_env *env = &j->env;
	input *in = &j->files.in;
	const bool shared = !in->per_rank && !env->o->from_root;
	const bool copies = in->streams && (env->c->rank == 0 || !shared);
	if (in->is_stream)
		return ST_OK;
	status rc = comm_agree(env->c, copies ? stream_copy_all(j) : ST_OK);
	/* all ranks read the same copies, each by its own descriptor */
	for (size_t i = 0; shared && i < in->files && rc == ST_OK; i++) {
		input_file *f = &in->file[i];
		int32_t fd = f->fd;
		if (!f->is_stream)
			continue;
		rc = comm_bcast(env->c, &fd, sizeof fd, 0);
		if (rc == ST_OK && env->c->rank > 0) {
			f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
			if (f->fd < 0 || fstat(f->fd, &f->st) != 0)
				rc = err_sys(&env->e, errno, "cannot open the copy of input %s",
					     quoted(f->path));
		}
		rc = comm_agree(env->c, rc);
	}
	return rc == ST_OK && in->streams ? input_count(in, &env->o->lay, &env->e) : rc;
}

static const char *const frame_names[FRAME_PIECES] = { "header", "trailer" };

static status frame_alloc(job *j, frame_place place, uint64_t n)
{
	frame_piece *p = &j->files.frame[place];
	p->n = (size_t)n;
	p->bytes = mem_array(&j->env.m, p->n, 1, frame_names[place], &j->env.e);
	return p->bytes ? ST_OK : ST_RESOURCE;
}

/* Read the first n bytes of a stream, which stays open, or n bytes of a file from `at` on. */
static status frame_read_piece(job *j, frame_place place, input_file *f, uint64_t at, uint64_t n)
{
	err *e = &j->env.e;
	const frame_piece *p = &j->files.frame[place];
	const bool stream = j->files.in.is_stream;
	size_t got = (size_t)n;
	int fd = -1;
	status rc = frame_alloc(j, place, n);
	if (rc == ST_OK && n)
		rc = input_open(f, stream, stream ? &f->fd : &fd, e);
	if (rc != ST_OK || n == 0)
		return rc;
	if (!stream) {
		rc = file_read_at(fd, p->bytes, p->n, at, f->path, e);
		close(fd);
		return rc;
	}
	rc = file_read_some(f->fd, p->bytes, p->n, &got, f->path, e);
	if (rc == ST_OK && got < n)
		rc = err_set(e, ST_REFUSED,
			     "input %s ends after %zu byte%s, but its header must have %" PRIu64
			     " (--skip-header)",
			     quoted(f->path), got, plural(got), n);
	return rc;
}

/* Send the trailer from the rank with the last input to the rank with the last output. */
static status frame_pass_trailer(job *j, int from, int to)
{
	rank_env *env = &j->env;
	job_files *f = &j->files;
	frame_piece *p = &f->frame[FRAME_TRAILER];
	const int rank = env->c->rank;
	f->trailer_bytes = p->n;
	status rc = comm_bcast(env->c, &f->trailer_bytes, sizeof f->trailer_bytes, from);
	if (rc == ST_OK && f->trailer_bytes > FRAME_MOST_BYTES)
		rc = err_set(&env->e, ST_PEER, "rank %d sent an invalid size of the trailer", from);
	if (rc == ST_OK && from != to && rank != from)
		rc = frame_alloc(j, FRAME_TRAILER, f->trailer_bytes);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK && from != to && f->trailer_bytes)
		rc = comm_bcast(env->c, p->bytes, p->n, from);
	if (!f->out.per_rank || rank == env->c->size - 1)
		f->out.trailer_bytes = f->trailer_bytes;
	if (rank != to)
		p->n = 0;
	return rc;
}

/* Read both pieces. Rank 0 writes the header: its file, or the common file, begins with its
 * records. */
status frame_read(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const int rank = env->c->rank, last = env->c->size - 1;
	job_files *f = &j->files;
	const int from = f->in.per_rank ? last : 0, to = f->out.per_rank ? last : 0;
	const bool trails = (o->trailer_bytes || o->records) && !o->explain;
	status rc = ST_OK;
	if (!o->explain && o->header_bytes && rank == 0)
		rc = frame_read_piece(j, FRAME_HEADER, f->in.file, 0, o->header_bytes);
	if (rc == ST_OK && trails && rank == from) {
		input_file *in = &f->in.file[f->in.files - 1];
		const uint64_t n = in->frame.trailer_bytes;
		rc = frame_read_piece(j, FRAME_TRAILER, in, (uint64_t)in->st.st_size - n, n);
	}
	rc = comm_agree(env->c, rc);
	return rc == ST_OK && trails ? frame_pass_trailer(j, from, to) : rc;
}

/* Find where a piece is in this rank's file. */
static status frame_find(const output *o, int fd, const frame_piece *p, frame_place place,
			 uint64_t *at, err *e)
{
	struct stat st;
	*at = 0;
	if (place == FRAME_HEADER)
		return ST_OK;
	if (fstat(fd, &st) != 0)
		return err_sys(e, errno, "cannot look at %s", quoted(output_name(o)));
	if ((uint64_t)st.st_size < p->n)
		return err_set(e, ST_IO, "%s is shorter than its trailer", quoted(output_name(o)));
	*at = (uint64_t)st.st_size - p->n;
	return ST_OK;
}

status frame_write(job *j, frame_place place)
{
	const output *o = &j->files.out;
	const frame_piece *p = &j->files.frame[place];
	err *e = &j->env.e;
	uint64_t at = FILE_APPEND;
	status rc = ST_OK;
	if (p->n == 0)
		return ST_OK;
	if (!o->is_stdout)
		rc = frame_find(o, o->fd, p, place, &at, e);
	return rc == ST_OK ? file_write_at(o->fd, p->bytes, p->n, at, output_name(o), e) : rc;
}

status frame_check(job *j, int fd, err *e)
{
	const output *o = &j->files.out;
	status rc = ST_OK;
	for (int i = 0; rc == ST_OK && i < FRAME_PIECES; i++) {
		const frame_piece *p = &j->files.frame[i];
		uint64_t at;
		if (p->n == 0)
			continue;
		unsigned char *there = mem_array(&j->env.m, p->n, 1, frame_names[i], e);
		rc = there ? frame_find(o, fd, p, (frame_place)i, &at, e) : ST_RESOURCE;
		if (rc == ST_OK)
			rc = file_read_at(fd, there, p->n, at, output_name(o), e);
		if (rc == ST_OK && memcmp(there, p->bytes, p->n) != 0)
			rc = err_set(e, ST_IO, "%s is not as it was written: its %s differs",
				     quoted(output_name(o)), frame_names[i]);
		mem_free(&j->env.m, there);
	}
	return rc;
}

/* Return what a stream that exceeds the plan needs. */
static const char *no_room(const memory_plan *mp)
{
	return mp->out_in_memory ? "its output is in memory; use an output on a disk"
	       : mp->memory_dirs ? "its runs are in memory; use a --tmpdir on a disk"
				 : "spilling to disk needs more memory (--memory) or more space "
				   "for runs (--tmpdir)";
}

/* Read the only stream to its end, spill it to disk if it exceeds the memory, and plan again with
 * its size. */
static status read_only_stream(job *j, run_formation_plan *p)
{
	rank_env *env = &j->env;
	read_runs *d = &j->data;
	const input_file *f = j->files.in.file;
	record_stream from = { .lay = env->o->lay, .path = f->path };
	char limit[SIZE_TEXT_BYTES];
	bool ended;
	status rc = input_open(f, true, &from.fd, &env->e);
	if (rc != ST_OK)
		return rc;
	rc = read_runs_stream(&p->load, &from, &env->m, d, &ended, &env->e);
	if (rc == ST_OK && ended)
		rc = read_runs_sort(&p->load, &env->m, d, &env->e);
	p->load.n = j->memory.sort.most_recs;
	p->full = no_room(&j->memory);
	if (rc == ST_OK && !ended && p->load.n) {
		rc = run_formation_stream(read_runs_take, &from, p, &env->m, d, &env->e);
		d->sum = from.sum;
		d->verify_s = from.verify_s;
	} else if (rc == ST_OK && !ended) {
		rc = err_set(&env->e, ST_RESOURCE,
			     "input %s has more than the %zu records that %s of memory hold: %s",
			     quoted(f->path), d->n, size_text(j->memory.limit.rank_bytes, limit),
			     no_room(&j->memory));
	}
	close(from.fd);
	if (rc == ST_OK)
		rc = job_replan(j);
	if (rc != ST_OK)
		return rc;
	share_plan *next = &j->next;
	next->records = next->in[0] = next->out[0] = next->before[0] = d->n;
	env->stats->planned_in = env->stats->planned_out = d->n;
	memory_plan_ended(j);
	return ST_OK;
}

void read_note(job *j, uint64_t in)
{
	rank_result *r = j->env.stats;
	const read_runs *d = &j->data;
	const uint64_t bytes = j->env.o->lay.record_bytes;
	r->in = in;
	r->kept_runs = d->runs_kept;
	r->kept_bytes = d->recs_kept * bytes;
	r->read_bytes = in * bytes - r->kept_bytes;
	r->sum_in = d->sum;
	r->verify_s += d->verify_s;
	if (d->disk.spill)
		spill_left_out(d->disk.spill, r->left_out, sizeof r->left_out, &r->runs_again);
	result_shift(r, PH_SORT, d->sort_s);
}

/* Read the share of this rank in the way that the plan requires. */
static status read_share(job *j, run_formation_plan *p)
{
	rank_env *env = &j->env;
	const input *in = &j->files.in;
	const bool spills = j->memory.sort.spills;
	if (env->o->merge &&
	    j->shares.records > 0) { /* sorted inputs are read when they are merged */
		const size_t ranks = ((size_t)env->c->size - 1) / (size_t)env->c->processes + 1;
		j->data = (read_runs){ .n = (size_t)own_share(env, j->shares.in) };
		const reader_plan rp = { .lay = env->o->lay, .direct = env->o->direct };
		const status rc =
			sorted_files_open(&j->data.files, &env->m, in, &rp, ranks, &env->e);
		j->data.s = j->data.files;
		return rc;
	}
	if (in->is_stream)
		return read_only_stream(j, p);
	if (env_scatters(env)) {
		const scatter_job k = { in, &j->shares, &j->scatter, p };
		status rc = scatter_input(env, &k, &j->data);
		if (env->o->scatter != SCATTER_DYNAMIC)
			return rc;
		const uint64_t mine = env->stats->planned_in = j->data.n;
		if (rc == ST_OK)
			rc = job_replan(j);
		return rc == ST_OK ? comm_allgather(env->c, &mine, j->next.in, sizeof mine) : rc;
	}
	return spills ? run_formation_input(in, p, &env->m, &j->data, &env->e)
		      : read_runs_input(in, &p->load, &env->m, &j->data, &env->e);
}

status phase_read(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const input *in = &j->files.in;
	const memory_plan *mp = &j->memory;
	const uint64_t n = own_share(env, j->shares.in);
	/* a rank that waits for others while it reads shows no speed */
	const bool waits = env_scatters(env) && o->scatter != SCATTER_DYNAMIC;
	const bool measures = o->adapt.on && env->c->size > 1 && n > 0 && !waits;
	/* the most records in memory, if their number is known only at their end: a buffer that
	 * grows exists twice for a while */
	const uint64_t most_recs = in->is_stream ? mp->sort.core_recs
						 : mp->limit.rank_bytes / 3 * 2 /
							   (o->lay.record_bytes + sizeof(entry));
	run_formation_plan p = { .load = { .first = in->per_rank ? 0
								 : workdir_first(j, j->shares.in),
					   .n = n,
					   .lay = o->lay,
					   .rank = workdir_place(j),
					   .threads = j->cpus.threads,
					   .direct = o->direct,
					   .most_recs = most_recs,
					   .sizes = test_sizes_of(o),
					   .speed_history = measures ? &j->speeds : NULL },
				 .b = &mp->sort,
				 .ranks_here = j->cpus.ranks_here,
				 .keep = j->work.on ? &j->work.seal : NULL,
				 .stop = j->work.on ? o->stop : NULL };
	p.dir = memory_plan_tmpdirs(j, &p.dirs);
	const status rc = read_share(j, &p);
	read_note(j, j->data.n);
	/* Find how much of the input buffer is in huge pages. Reading smaps_rollup walks the page
	 * table, so skip small buffers, and mapped files, which have no huge pages. */
	uint64_t kb = 0;
	if (env->m.now_bytes >= 32 << 20 && !j->data.mapped)
		sysfile_number("", "/proc/self/smaps_rollup", "AnonHugePages", &kb);
	env->stats->huge_bytes = kb * 1024;
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Describing and reading input files. Blocks are read with pread (a mapped file that shrinks would
 * kill the process), and entries and checksum are taken while a block is still in the cache. */
#include "input.h"
#include "clock.h"
#include "file.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 20 };

/* Opening without blocking finds out whether we may read it, and cannot hang on a FIFO. */
static status look(input_file *f, err *e)
{
	char q[QUOTED_BYTES];
	const int fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, ST_REFUSED, "cannot open input %s: %s", quoted(f->path, q),
			       strerror(errno));
	const int rc = fstat(fd, &f->st), errnum = errno;
	close(fd);
	if (rc != 0)
		return err_set(e, ST_REFUSED, "cannot look at input %s: %s", quoted(f->path, q),
			       strerror(errnum));
	if (S_ISDIR(f->st.st_mode))
		return err_set(e, ST_REFUSED, "input %s is a directory", quoted(f->path, q));
	if (!S_ISREG(f->st.st_mode))
		return err_set(e, ST_REFUSED, "input %s is not a regular file", quoted(f->path, q));
	return ST_OK;
}

static status measure(input *in, input_file *f, const layout *l, err *e)
{
	char q[QUOTED_BYTES];
	const uint64_t bytes = (uint64_t)f->st.st_size;
	if (bytes % l->record_bytes)
		return err_set(e, ST_REFUSED,
			       "input %s has %" PRIu64 " bytes, no multiple of the record size %u: "
			       "%" PRIu64 " bytes are left over",
			       quoted(f->path, q), bytes, l->record_bytes, bytes % l->record_bytes);
	f->first = in->records;
	f->count = bytes / l->record_bytes;
	in->records += f->count;
	return ST_OK;
}

static status add_file(input *in, const options *o, const char *pattern, int rank, err *e)
{
	input_file *f = &in->file[in->files];
	char q[QUOTED_BYTES];
	f->path = in->per_rank ? name_expand(pattern, rank, e) : strdup(pattern);
	if (!f->path)
		return err_set(e, ST_RESOURCE, "no memory for the name %s", quoted(pattern, q));
	in->files++;
	const status rc = look(f, e);
	return rc == ST_OK ? measure(in, f, &o->lay, e) : rc;
}

static status check_kinds(input *in, const options *o, err *e)
{
	size_t own = 0, dashes = 0;
	for (size_t i = 0; i < o->ninputs; i++) {
		own += name_is_per_rank(o->inputs[i]);
		dashes += strcmp(o->inputs[i], "-") == 0;
	}
	if (own && own < o->ninputs)
		return err_set(e, ST_REFUSED, "either all inputs have %%r in their names, or none");
	if (dashes && o->ninputs > 1)
		return err_set(e, ST_REFUSED, "standard input (-) must be the only input");
	in->per_rank = own > 0;
	in->is_stdin = dashes > 0;
	return ST_OK;
}

status input_describe(input *in, const options *o, int rank, err *e)
{
	*in = (input){ 0 };
	status rc = check_kinds(in, o, e);
	if (rc != ST_OK || in->is_stdin)
		return rc;
	in->file = calloc(o->ninputs, sizeof *in->file);
	if (!in->file)
		return err_set(e, ST_RESOURCE, "no memory for %zu input names", o->ninputs);
	for (size_t i = 0; i < o->ninputs && rc == ST_OK; i++)
		rc = add_file(in, o, o->inputs[i], rank, e);
	return rc;
}

void input_free(input *in)
{
	for (size_t i = 0; i < in->files; i++)
		free(in->file[i].path);
	free(in->file);
	*in = (input){ 0 };
}

/* Entries and checksum of records [at, at + n), which have just been read. */
static void take_in(loaded *d, const layout *l, size_t at, size_t n)
{
	const unsigned char *rec = d->recs + at * l->record_bytes;
	entry *e = d->entries + at;
	const double t0 = now_s();
	d->sum = checksum_join(d->sum, checksum_records(rec, n, l->record_bytes));
	d->verify_s += now_s() - t0;
	if (l->key_bytes == DEFAULT_KEY_BYTES)
		for (size_t i = 0; i < n; i++, rec += l->record_bytes)
			e[i] = entry_make10(rec + l->key_off, at + i);
	else
		for (size_t i = 0; i < n; i++, rec += l->record_bytes)
			e[i] = entry_make(rec, l, at + i);
}

static status check_unchanged(const input_file *f, int fd, err *e)
{
	struct stat st;
	char q[QUOTED_BYTES];
	if (fstat(fd, &st) != 0)
		return err_sys(e, errno, "cannot look at input %s", quoted(f->path, q));
	if (st.st_dev != f->st.st_dev || st.st_ino != f->st.st_ino || st.st_size != f->st.st_size ||
	    st.st_mtim.tv_sec != f->st.st_mtim.tv_sec ||
	    st.st_mtim.tv_nsec != f->st.st_mtim.tv_nsec)
		return err_set(e, ST_IO, "input %s changed while it was being sorted",
			       quoted(f->path, q));
	return ST_OK;
}

/* Records [skip, skip + n) of one file to the end of what is loaded. */
static status load_part(const input_file *f, const layout *l, uint64_t skip, size_t n, loaded *d,
			err *e)
{
	char q[QUOTED_BYTES];
	const size_t most = READ_BYTES / l->record_bytes + 1;
	const int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "cannot open input %s", quoted(f->path, q));
	status rc = ST_OK;
	(void)posix_fadvise(fd, (off_t)(skip * l->record_bytes), (off_t)(n * l->record_bytes),
			    POSIX_FADV_SEQUENTIAL);
	while (n > 0 && rc == ST_OK) {
		const size_t k = n < most ? n : most;
		rc = file_read_at(fd, d->recs + d->n * l->record_bytes, k * l->record_bytes,
				  skip * l->record_bytes, f->path, e);
		if (rc == ST_OK)
			take_in(d, l, d->n, k);
		d->n += k;
		skip += k;
		n -= k;
	}
	if (rc == ST_OK)
		rc = check_unchanged(f, fd, e);
	close(fd);
	return rc;
}

static status load_slice(const input *in, const layout *l, uint64_t first, uint64_t n, loaded *d,
			 err *e)
{
	status rc = ST_OK;
	for (size_t i = 0; i < in->files && rc == ST_OK; i++) {
		const input_file *f = &in->file[i];
		const uint64_t lo = first > f->first ? first : f->first;
		const uint64_t end =
			first + n < f->first + f->count ? first + n : f->first + f->count;
		if (lo < end)
			rc = load_part(f, l, lo - f->first, end - lo, d, e);
	}
	return rc;
}

static status alloc_loaded(mem *m, const layout *l, size_t room, loaded *d, err *e)
{
	d->recs = mem_array(m, room, l->record_bytes, "records", e);
	d->entries = mem_array(m, room, sizeof *d->entries, "entries", e);
	d->room = room;
	return d->recs && d->entries ? ST_OK : ST_RESOURCE;
}

void loaded_free(mem *m, loaded *d, const layout *l)
{
	mem_free(m, d->recs, d->room, l->record_bytes);
	mem_free(m, d->entries, d->room, sizeof *d->entries);
	*d = (loaded){ 0 };
}

/* Twice the room, with what is there. */
static status grow(mem *m, const layout *l, loaded *d, err *e)
{
	loaded more = { .n = d->n, .sum = d->sum, .verify_s = d->verify_s };
	const status rc = alloc_loaded(m, l, 2 * d->room, &more, e);
	if (rc != ST_OK) {
		loaded_free(m, &more, l);
		return rc;
	}
	memcpy(more.recs, d->recs, d->n * l->record_bytes);
	memcpy(more.entries, d->entries, d->n * sizeof *d->entries);
	loaded_free(m, d, l);
	*d = more;
	return ST_OK;
}

static status load_stdin(mem *m, const layout *l, loaded *d, err *e)
{
	const size_t chunk = READ_BYTES / l->record_bytes + 1;
	size_t got = chunk * l->record_bytes;
	status rc = alloc_loaded(m, l, 4 * chunk, d, e);
	while (rc == ST_OK && got == chunk * l->record_bytes) {
		if (d->n + chunk > d->room && (rc = grow(m, l, d, e)) != ST_OK)
			break;
		rc = file_read_some(STDIN_FILENO, d->recs + d->n * l->record_bytes,
				    chunk * l->record_bytes, &got, "-", e);
		if (rc == ST_OK && got % l->record_bytes)
			rc = err_set(e, ST_REFUSED,
				     "standard input ends with a partial record of %zu bytes",
				     got % l->record_bytes);
		if (rc == ST_OK)
			take_in(d, l, d->n, got / l->record_bytes);
		d->n += got / l->record_bytes;
	}
	return rc;
}

status input_load(const input *in, mem *m, const layout *l, uint64_t first, size_t n, loaded *out,
		  err *e)
{
	*out = (loaded){ 0 };
	if (in->is_stdin)
		return load_stdin(m, l, out, e);
	const status rc = alloc_loaded(m, l, n, out, e);
	return rc == ST_OK ? load_slice(in, l, first, n, out, e) : rc;
}

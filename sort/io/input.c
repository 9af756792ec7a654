/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Find the kind of inputs and their number of records, and open unchanged inputs. */
#include "input.h"
#include "io_fd.h"
#include "base/arith.h"
#include "base/size.h"
#include "manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* With these flags, open never waits, even if the file is a FIFO or has become one. */
enum { OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, HEAD_BYTES = 4096 };

/* Find out whether a file continues after `size` bytes, because some file systems report a size
 * that is too small. Return 1 if it does, 0 if not, or -1 with errno. */
static ssize_t read_after(int fd, off_t size)
{
	char c;
	ssize_t n;
	do
		n = pread(fd, &c, 1, size);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Return whether a text consists of lines that are not records. If records are lines of equal
 * length, every newline has the same place in its record. If the places differ, the user has
 * probably confused hetsort with sort(1). With records of one byte, any text is records. */
static bool is_lines(const char *text, size_t bytes, uint32_t record_bytes)
{
	bool differ = bytes < record_bytes && record_bytes > 1;
	for (size_t i = 0; i < bytes; i++) {
		const unsigned char c = (unsigned char)text[i];
		if ((c < ' ' && !memchr("\t\n\f\r", c, 4)) || c == 0x7f)
			return false;
		if (i >= record_bytes && record_bytes > 1)
			differ |= (c == '\n') != (text[i - record_bytes] == '\n');
	}
	return differ && memchr(text, '\n', bytes);
}

/* Open the file to find out whether it may be read. A file with some content but size 0, like the
 * files of procfs, is read as a stream, because its size is known only at its end. */
static status look_inside(input_file *f, uint32_t record_bytes, err *e)
{
	char head[HEAD_BYTES];
	struct iovec v = { head, sizeof head };
	const int fd = open(f->path, OPEN_FLAGS);
	if (fd < 0)
		return err_refuse(e, errno, "cannot open input %s", quoted(f->path));
	int errnum = fstat(fd, &f->st) == 0 ? 0 : errno;
	const ssize_t more = errnum == 0 && f->st.st_size == 0 ? read_after(fd, 0) : 0;
	if (more < 0)
		errnum = errno;
	const ssize_t n = errnum == 0 ? preadv2(fd, &v, 1, 0, 0) : 0;
	const size_t bytes =
		n > 0 ? (size_t)n : 0; /* a failure is reported when the file is read */
	if (role_begins(ROLE_MANIFEST, head, bytes))
		f->head = HEAD_MANIFEST;
	else if (!f->frame.header_bytes && is_lines(head, bytes, record_bytes))
		f->head = HEAD_LINES; /* the bytes are records, not a header */
	f->written = file_is_written(fd);
	close(fd);
	f->is_stream = more > 0;
	return errnum ? err_refuse(e, errnum, "cannot read input %s", quoted(f->path)) : ST_OK;
}

/* Look at a file without reading its records. */
static status input_look(input_file *f, uint32_t record_bytes, err *e)
{
	const bool is_stdin = stream_is_standard(f->path);
	if ((is_stdin ? fstat(STDIN_FILENO, &f->st) : stat(f->path, &f->st)) != 0)
		return err_refuse(e, errno, "cannot open input %s", quoted(f->path));
	if (S_ISDIR(f->st.st_mode) || (S_ISSOCK(f->st.st_mode) && !is_stdin))
		return err_set(e, ST_REFUSED, "input %s is a %s", quoted(f->path),
			       S_ISDIR(f->st.st_mode) ? "directory" : "socket");
	if (S_ISREG(f->st.st_mode) && !is_stdin)
		return look_inside(f, record_bytes, e);
	/* do not open a stream before it is read, because the writer of a FIFO would notice */
	f->is_stream = true;
	if (!is_stdin && faccessat(AT_FDCWD, f->path, R_OK, AT_EACCESS) != 0)
		return err_refuse(e, errno, "cannot open input %s", quoted(f->path));
	return ST_OK;
}

/* Find the size of the trailer if the number of records is given: all bytes after these. */
static status measure_trailer(const input *in, input_file *f, uint32_t record_bytes, err *e)
{
	const uint64_t all = (uint64_t)f->st.st_size, header = f->frame.header_bytes;
	const uint64_t has = all > header ? (all - header) / record_bytes : 0;
	if (has < f->frame.records)
		return err_set(e, ST_REFUSED,
			       "input %s has %" PRIu64 " record%s of %u byte%s, not the %" PRIu64
			       " of --records",
			       quoted(f->path), has, plural(has), record_bytes,
			       plural(record_bytes), f->frame.records);
	const uint64_t rest = all - header - f->frame.records * record_bytes;
	const uint64_t wanted = in->frame.trailer_bytes;
	if (wanted && rest != wanted)
		return err_set(e, ST_REFUSED,
			       "input %s has %" PRIu64 " byte%s after its %" PRIu64
			       " records; use --skip-trailer=%" PRIu64,
			       quoted(f->path), rest, plural(rest), f->frame.records, rest);
	if (rest > FRAME_MOST_BYTES)
		return err_set(e, ST_REFUSED,
			       "input %s has %" PRIu64 " bytes after its %" PRIu64
			       " records, but a trailer has at most %d",
			       quoted(f->path), rest, f->frame.records, FRAME_MOST_BYTES);
	f->frame.trailer_bytes = rest;
	return ST_OK;
}

/* Find the place and the number of the records of a file. */
static status input_measure(input *in, input_file *f, uint32_t record_bytes, err *e)
{
	const uint64_t all = (uint64_t)f->st.st_size, header = f->frame.header_bytes;
	if (all < header)
		return err_set(e, ST_REFUSED,
			       "input %s has %" PRIu64 " byte%s, but its header must have %" PRIu64
			       " (--skip-header)",
			       quoted(f->path), all, plural(all), header);
	const status rc = f->frame.records ? measure_trailer(in, f, record_bytes, e) : ST_OK;
	if (rc != ST_OK)
		return rc;
	if (all - header < f->frame.trailer_bytes)
		return err_set(e, ST_REFUSED,
			       "input %s has %" PRIu64
			       " byte%s%s, but its trailer must have %" PRIu64 " (--skip-trailer)",
			       quoted(f->path), all - header, plural(all - header),
			       header ? " after its header" : "", f->frame.trailer_bytes);
	const uint64_t bytes = all - header - f->frame.trailer_bytes;
	if (bytes % record_bytes)
		return err_set(e, ST_REFUSED,
			       "input %s has %" PRIu64
			       " byte%s%s%s, not a multiple of the record size %u: "
			       "%" PRIu64 " left over%s",
			       quoted(f->path), bytes, plural(bytes),
			       header ? " after its header" : "",
			       !f->frame.trailer_bytes ? ""
			       : header                ? " and before its trailer"
						       : " before its trailer",
			       record_bytes, bytes % record_bytes,
			       f->head == HEAD_LINES ? "; it looks like lines of text, which "
						       "sort(1) sorts"
						     : "");
	f->first = in->records;
	f->count = bytes / record_bytes;
	if (__builtin_add_overflow(in->records, f->count, &in->records))
		return err_set(e, ST_REFUSED, "too many records: input %s exceeds the limit",
			       quoted(f->path));
	return ST_OK;
}

status input_count(input *in, const layout *l, err *e)
{
	const uint32_t record_bytes = input_file_bytes(in, l);
	status rc = ST_OK;
	in->records = 0;
	for (size_t i = 0; i < in->files && rc == ST_OK; i++)
		if (!in->file[i].is_stream || in->file[i].fd >= 0)
			rc = input_measure(in, &in->file[i], record_bytes, e);
	return rc;
}

/* Add a file. path is consumed; NULL means that memory was missing. */
static status input_add_file(input *in, char *path, const layout *l, err *e)
{
	input_file *more = path ? realloc(in->file, (in->files + 1) * sizeof *more) : NULL;
	if (!more) {
		free(path);
		return err_set(e, ST_RESOURCE, "no memory for %zu input names", in->files + 1);
	}
	in->file = more;
	input_file *f = &in->file[in->files++];
	*f = (input_file){ .path = path, .fd = -1, .frame = in->frame };
	const status rc = input_look(f, input_file_bytes(in, l), e);
	in->streams += f->is_stream;
	return rc;
}

/* Store the values that the manifest at path gives for part p. The part is the file added last. */
static status take_stated(input *in, const char *path, const manifest_part *p, const layout *l,
			  err *e)
{
	input_file *f = &in->file[in->files - 1];
	f->frame = p->frame;
	if (f->is_stream || (uint64_t)f->st.st_size != manifest_part_bytes(p, l))
		return err_set(e, ST_REFUSED,
			       "input %s does not have the size given in manifest %s",
			       quoted(f->path), quoted(path));
	f->stated = calloc(1, sizeof *f->stated);
	if (f->stated)
		*f->stated = (input_stated){ .manifest = strdup(path), .sum = p->sum };
	return f->stated && f->stated->manifest
		       ? ST_OK
		       : err_set(e, ST_RESOURCE, "no memory for input %s", quoted(f->path));
}

/* Check that records, header and trailer of the manifest match the options. */
static status check_manifest(const input *in, const manifest *m, const char *path, const layout *l,
			     err *e)
{
	const framing *wanted = &in->frame;
	const uint32_t record_bytes = input_file_bytes(in, l);
	const uint64_t header = m->parts ? m->part[0].frame.header_bytes : 0;
	const uint64_t trailer = m->parts ? m->part[m->parts - 1].frame.trailer_bytes : 0;
	if (m->lay.record_bytes != record_bytes)
		return err_set(e, ST_REFUSED, "manifest %s has records of %u byte%s, not %u",
			       quoted(path), m->lay.record_bytes, plural(m->lay.record_bytes),
			       record_bytes);
	if (header != wanted->header_bytes)
		return err_set(e, ST_REFUSED,
			       "manifest %s states a header of %" PRIu64
			       " bytes before its records; use --skip-header=%" PRIu64,
			       quoted(path), header, header);
	if (wanted->records && wanted->records != m->records)
		return err_set(e, ST_REFUSED,
			       "manifest %s states %" PRIu64 " records; use --records=%" PRIu64,
			       quoted(path), m->records, m->records);
	if (trailer != wanted->trailer_bytes && !(wanted->records && wanted->trailer_bytes == 0))
		return err_set(e, ST_REFUSED,
			       "manifest %s states a trailer of %" PRIu64
			       " bytes after its records; use --skip-trailer=%" PRIu64,
			       quoted(path), trailer, trailer);
	return ST_OK;
}

static status input_add_manifest(input *in, const char *path, const layout *l, err *e)
{
	manifest m;
	status rc = manifest_load(&m, path, e);
	in->lists = true;
	if (rc == ST_OK)
		rc = check_manifest(in, &m, path, l, e);
	for (size_t i = 0; i < m.parts && rc == ST_OK; i++) {
		rc = input_add_file(in, manifest_part_path(path, &m.part[i], e), l, e);
		if (rc == ST_OK)
			rc = take_stated(in, path, &m.part[i], &m.lay, e);
	}
	manifest_free(&m);
	return rc;
}

/* Add the file of a rank, with its values in the manifest, if there is one. */
static status input_add_own(input *in, const char *pattern, int rank, const layout *l, err *e)
{
	manifest m;
	char *name;
	status rc = input_add_file(in, name_expand(pattern, rank, e), l, e);
	if (rc != ST_OK)
		return rc;
	rc = parts_load(&m, pattern, &name, e);
	if (rc == ST_OK && *name) {
		rc = check_manifest(in, &m, name, l, e);
		if (rc == ST_OK && (size_t)rank >= m.parts)
			rc = err_set(e, ST_REFUSED, "manifest %s does not name part %d",
				     quoted(name), rank);
		if (rc == ST_OK)
			rc = take_stated(in, name, &m.part[rank], &m.lay, e);
	}
	manifest_free(&m);
	free(name);
	return rc;
}

status input_describe(input *in, const settings *o, int rank, bool all_parts, err *e)
{
	const layout *l = &o->lay;
	err why = { ST_OK, "" };
	status rc = ST_OK, settled = ST_OK;
	size_t own = 0;
	*in = (input){ .frame = { o->header_bytes, o->trailer_bytes, o->records },
		       .shape = o->shape };
	for (size_t i = 0; i < o->ninputs; i++)
		own += name_is_per_rank(o->inputs[i]);
	in->per_rank = own && !all_parts;
	if (own && own < o->ninputs)
		rc = err_set(&why, ST_REFUSED,
			     "either all inputs must have %%r in their names, or none");
	for (size_t i = 0; i < o->ninputs && rc == ST_OK; i++) {
		char *path = NULL; /* of a manifest */
		if (own && all_parts) {
			path = name_expand(o->inputs[i], RANK_MANIFEST, &why);
			rc = why.code;
		} else if (own) {
			rc = input_add_own(in, o->inputs[i], rank, l, &why);
		} else {
			rc = input_add_file(in, strdup(o->inputs[i]), l, &why);
			if (rc == ST_OK && in->file[in->files - 1].head == HEAD_MANIFEST)
				path = in->file[--in->files].path;
		}
		if (path)
			rc = input_add_manifest(in, path, l, &why);
		free(path);
	}
	if (rc == ST_OK)
		(void)input_count(in, l, &why);
	/* After looking at all files, check that no set is being renamed. If one is, report this
	 * instead of other errors, because it may have caused them. A renaming that begins later
	 * replaces files, and input_open detects that. */
	char *quiet = NULL;
	for (size_t i = 0; i < in->files && settled == ST_OK; i++)
		if (!in->file[i].is_stream)
			settled = manifest_settled(in->file[i].path, &quiet, e);
	free(quiet);
	return settled != ST_OK ? settled : err_join(e, &why);
}

bool input_is_cached(const input *in, uint64_t bytes)
{
	enum { BRIEF_BYTES = 1 << 20 };
	if (!in->files || in->file->is_stream || bytes < BRIEF_BYTES)
		return true;
	const int fd = open(in->file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const bool cached =
		fd < 0 || io_fd_is_cached(fd, 0, u64_min(bytes, (uint64_t)in->file->st.st_size));
	if (fd >= 0)
		close(fd);
	return cached;
}

void input_free(input *in)
{
	for (size_t i = 0; i < in->files; i++) {
		free(in->file[i].path);
		if (in->file[i].stated)
			free(in->file[i].stated->manifest);
		free(in->file[i].stated);
		if (in->file[i].fd >= 0)
			close(in->file[i].fd);
	}
	free(in->file);
	free(in->reads.file);
	*in = (input){ 0 };
}

static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;

void input_note_read(const input_file *f, size_t n, checksum sum)
{
	input_stated *s = f->stated;
	if (!s)
		return;
	pthread_mutex_lock(&noting);
	s->read_recs += n;
	s->read = checksum_join(s->read, sum);
	pthread_mutex_unlock(&noting);
}

void input_note_shaped(const input_file *f, const shape *s, const unsigned char *recs, size_t n)
{
	const layout l = LAYOUT_BYTES(s->file_bytes, 0, 1);
	if (f->stated)
		input_note_read(f, n, checksum_records(&l, recs, n));
}

status input_check_stated(const input_file *f, err *e)
{
	const input_stated *s = f->stated;
	if (!s || s->read_recs != f->count || checksum_equal(s->read, s->sum))
		return ST_OK;
	return err_set(e, ST_IO,
		       "input %s does not have the checksum given in manifest %s: one of them was "
		       "changed or damaged",
		       quoted(f->path), quoted(s->manifest));
}

/* Check that the open file is the described one. Do not compare sizes and times of streams, because
 * writing to a stream changes them. A program that writes to a file can set the time of
 * modification back, but not the time of change. */
static status check_identity(const input_file *f, int fd, bool stream, err *e)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return err_sys(e, errno, "cannot look at input %s", quoted(f->path));
	if (st.st_dev != f->st.st_dev || st.st_ino != f->st.st_ino ||
	    (st.st_mode & S_IFMT) != (f->st.st_mode & S_IFMT) ||
	    (!stream && (st.st_size != f->st.st_size ||
			 memcmp(&st.st_mtim, &f->st.st_mtim, sizeof st.st_mtim) != 0 ||
			 memcmp(&st.st_ctim, &f->st.st_ctim, sizeof st.st_ctim) != 0)))
		return err_set(e, ST_IO, "input %s changed %s read", quoted(f->path),
			       stream ? "before it was" : "while it was being");
	return ST_OK;
}

status input_open(const input_file *f, bool stream, int *fd, err *e)
{
	const bool waits = stream && !S_ISREG(f->st.st_mode);
	const int stand_in =
		f->fd < 0 && stream && stream_is_standard(f->path) ? STDIN_FILENO : f->fd;
	*fd = stand_in >= 0 ? fcntl(stand_in, F_DUPFD_CLOEXEC, 0)
			    : open(f->path, waits ? OPEN_FLAGS & ~O_NONBLOCK : OPEN_FLAGS);
	if (*fd < 0)
		return err_sys(e, errno, "cannot open input %s", quoted(f->path));
	status rc = check_identity(f, *fd, stream, e);
	if (rc == ST_OK && !stream && f->fd < 0 && fcntl(*fd, F_SETFL, 0) != 0)
		rc = err_sys(e, errno, "cannot read input %s", quoted(f->path));
	if (rc == ST_OK)
		return ST_OK;
	close(*fd);
	*fd = -1;
	return rc;
}

status input_unchanged(const input_file *f, int fd, err *e)
{
	const status rc = check_identity(f, fd, false, e);
	const ssize_t more = rc == ST_OK ? read_after(fd, f->st.st_size) : 0;
	if (more < 0)
		return err_sys(e, errno, "cannot read the end of input %s", quoted(f->path));
	if (more > 0)
		return err_set(e, ST_IO,
			       "input %s does not end after the %jd bytes that are its size",
			       quoted(f->path), (intmax_t)f->st.st_size);
	return rc;
}

bool input_may_be_mapped(const input *in, direct_io direct)
{
	return in->files == 1 && !shape_is_on(&in->shape) && !in->file->written &&
	       direct != DIRECT_ALWAYS;
}

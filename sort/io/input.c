/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Describing input files: what they are and how many records they hold. No data is read. */
#include "input.h"
#include "name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Never waits: the file may be a FIFO, or have become one. */
enum { OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

/* Opening shows whether we may read it. */
static status look(input_file *f, err *e)
{
	char q[QUOTED_BYTES];
	const int fd = open(f->path, OPEN_FLAGS);
	if (fd < 0)
		return err_refuse(e, errno, "cannot open input %s", err_quoted(f->path, q));
	const int rc = fstat(fd, &f->st), errnum = errno;
	close(fd);
	if (rc != 0)
		return err_refuse(e, errnum, "cannot look at input %s", err_quoted(f->path, q));
	if (S_ISDIR(f->st.st_mode))
		return err_set(e, ST_REFUSED, "input %s is a directory", err_quoted(f->path, q));
	if (!S_ISREG(f->st.st_mode))
		return err_set(e, ST_REFUSED, "input %s is not a regular file",
			       err_quoted(f->path, q));
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
			       err_quoted(f->path, q), bytes, l->record_bytes,
			       bytes % l->record_bytes);
	f->first = in->records;
	f->count = bytes / l->record_bytes;
	if (__builtin_add_overflow(in->records, f->count, &in->records))
		return err_set(e, ST_REFUSED, "with input %s there are too many records",
			       err_quoted(f->path, q));
	return ST_OK;
}

static status add_file(input *in, const settings *o, const char *pattern, int rank, err *e)
{
	input_file *f = &in->file[in->files];
	char q[QUOTED_BYTES];
	f->path = in->per_rank ? name_expand(pattern, rank, e) : strdup(pattern);
	if (!f->path)
		return err_set(e, ST_RESOURCE, "no memory for the name %s", err_quoted(pattern, q));
	in->files++;
	const status rc = look(f, e);
	return rc == ST_OK ? measure(in, f, &o->lay, e) : rc;
}

static status check_kinds(input *in, const settings *o, err *e)
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

status input_describe(input *in, const settings *o, int rank, err *e)
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

/* What follows the bytes that the size speaks of: 1 or 0, -1 with errno. Some file systems know of
 * less than there is. */
static ssize_t read_behind(int fd, off_t size)
{
	char c;
	ssize_t n;
	do
		n = pread(fd, &c, 1, size);
	while (n < 0 && errno == EINTR);
	return n;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Who writes can set the time of modification back, but not that of change. */
static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT) && a->st_size == b->st_size &&
	       same_time(a->st_mtim, b->st_mtim) && same_time(a->st_ctim, b->st_ctim);
}

static status check_identity(const input_file *f, int fd, err *e)
{
	struct stat st;
	char q[QUOTED_BYTES];
	if (fstat(fd, &st) != 0)
		return err_sys(e, errno, "cannot look at input %s", err_quoted(f->path, q));
	if (!same_file(&st, &f->st))
		return err_set(e, ST_IO, "input %s changed while it was being sorted",
			       err_quoted(f->path, q));
	return ST_OK;
}

status input_open(const input_file *f, int *fd, err *e)
{
	char q[QUOTED_BYTES];
	*fd = open(f->path, OPEN_FLAGS);
	if (*fd < 0)
		return err_sys(e, errno, "cannot open input %s", err_quoted(f->path, q));
	status rc = check_identity(f, *fd, e);
	if (rc == ST_OK && fcntl(*fd, F_SETFL, 0) != 0)
		rc = err_sys(e, errno, "cannot read input %s", err_quoted(f->path, q));
	if (rc == ST_OK)
		return ST_OK;
	close(*fd);
	*fd = -1;
	return rc;
}

status input_unchanged(const input_file *f, int fd, err *e)
{
	char q[QUOTED_BYTES];
	const status rc = check_identity(f, fd, e);
	const ssize_t more = rc == ST_OK ? read_behind(fd, f->st.st_size) : 0;
	if (more < 0)
		return err_sys(e, errno, "cannot read the end of input %s", err_quoted(f->path, q));
	if (more > 0)
		return err_set(e, ST_IO,
			       "input %s does not end with the %jd bytes that are its size",
			       err_quoted(f->path, q), (intmax_t)f->st.st_size);
	return rc;
}

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

/* Opening shows whether we may read it; without blocking, as a FIFO would hang. */
static status look(input_file *f, err *e)
{
	char q[QUOTED_BYTES];
	const int fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
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

status input_unchanged(const input_file *f, int fd, err *e)
{
	struct stat st;
	char q[QUOTED_BYTES];
	if (fstat(fd, &st) != 0)
		return err_sys(e, errno, "cannot look at input %s", err_quoted(f->path, q));
	if (st.st_dev != f->st.st_dev || st.st_ino != f->st.st_ino || st.st_size != f->st.st_size ||
	    st.st_mtim.tv_sec != f->st.st_mtim.tv_sec ||
	    st.st_mtim.tv_nsec != f->st.st_mtim.tv_nsec)
		return err_set(e, ST_IO, "input %s changed while it was being sorted",
			       err_quoted(f->path, q));
	return ST_OK;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading, writing and comparing the header. Memory: the header, and once more while it is
 * compared. */
#include "header.h"
#include "base/size.h"
#include "io/file.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* The first output is rank 0's file, or begins with its records. */
static bool has_header(const rank_env *env)
{
	return env->o->header_bytes > 0 && env->c->rank == 0;
}

static status read_file(const input_file *f, unsigned char *to, size_t n, err *e)
{
	int fd;
	status rc = input_open(f, &fd, e);
	if (rc != ST_OK)
		return rc;
	rc = file_read_at(fd, to, n, 0, f->path, e);
	close(fd);
	return rc;
}

static status read_stream(input_file *f, unsigned char *to, size_t n, err *e)
{
	char q[QUOTED_BYTES];
	size_t got;
	status rc = input_open_stream(f, &f->fd, e);
	if (rc == ST_OK)
		rc = file_read_some(f->fd, to, n, &got, f->path, e);
	if (rc == ST_OK && got < n)
		rc = err_set(e, ST_REFUSED,
			     "input %s ends after %zu byte%s, and its header is to have %zu "
			     "(--skip-header)",
			     err_quoted(f->path, q), got, plural(got), n);
	return rc;
}

status header_read(rank_env *env, files *f)
{
	const size_t n = (size_t)env->o->header_bytes;
	if (!has_header(env) || env->o->explain)
		return ST_OK;
	f->header = mem_array(&env->m, n, 1, "the header", &env->e);
	if (!f->header)
		return ST_RESOURCE;
	return f->in.is_stream ? read_stream(f->in.file, f->header, n, &env->e)
			       : read_file(f->in.file, f->header, n, &env->e);
}

status header_write(rank_env *env, const files *f)
{
	const output *o = &f->out;
	return has_header(env)
		       ? file_write_at(o->fd, f->header, (size_t)o->header_bytes,
				       o->is_stdout ? FILE_APPEND : 0, output_name(o), &env->e)
		       : ST_OK;
}

status header_check(rank_env *env, const files *f, int fd, err *e)
{
	const output *o = &f->out;
	const size_t n = (size_t)o->header_bytes;
	char q[QUOTED_BYTES];
	if (!has_header(env))
		return ST_OK;
	unsigned char *there = mem_array(&env->m, n, 1, "the header", e);
	status rc = there ? file_read_at(fd, there, n, 0, output_name(o), e) : ST_RESOURCE;
	if (rc == ST_OK && memcmp(there, f->header, n) != 0)
		rc = err_set(e, ST_IO, "%s is not as it was written: its header is another",
			     err_quoted(output_name(o), q));
	mem_free(&env->m, there);
	return rc;
}

void header_free(rank_env *env, files *f)
{
	mem_free(&env->m, f->header);
	f->header = NULL;
}

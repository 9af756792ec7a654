/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of the JSON report and its page, and what that of a trace has in common with them. It is
 * written on success and on failure alike, complete or not at all, and over what stands under its
 * name: so its name is looked at before all else, also whether it can be had. A stat for each input
 * and output of each rank, if there is an old report. */
#include "io/target.h"
#include "io/name.h"
#include "report.h"
#include "report/page.h"
#include "report_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether or not there is a file: the same name in the same folder. */
static bool same_name(const char *a, const char *b)
{
	target ta, tb = { .dirfd = -1, .lock_fd = -1 };
	struct stat da, db;
	err unsaid = { ST_OK, "" };
	const bool same = target_open(&ta, a, &unsaid) == ST_OK &&
			  target_open(&tb, b, &unsaid) == ST_OK && strcmp(ta.base, tb.base) == 0 &&
			  fstat(ta.dirfd, &da) == 0 && fstat(tb.dirfd, &db) == 0 &&
			  same_file(&da, &db);
	target_discard(&ta);
	target_discard(&tb);
	return same;
}

/* What is read or written under a name; "-" is what the shell has led the stream to. */
static bool look(const char *what, const char *path, struct stat *st)
{
	if (strcmp(path, "-") != 0)
		return stat(path, st) == 0;
	return fstat(strcmp(what, "input") == 0 ? STDIN_FILENO : STDOUT_FILENO, st) == 0;
}

static status keep_apart(const side_file *f, const char *what, const char *path, err *e)
{
	struct stat there, other;
	char q[QUOTED_BYTES], qp[QUOTED_BYTES];
	const bool printed = strcmp(f->path, "-") == 0;
	const bool same = look(f->what, f->path, &there) && look(what, path, &other) &&
			  same_file(&there, &other) && !S_ISCHR(there.st_mode);
	if (!same && (printed || strcmp(path, "-") == 0 || !same_name(f->path, path)))
		return ST_OK;
	return err_set(e, ST_REFUSED, "%s %s is the same file as %s %s", f->what,
		       err_quoted(f->path, q), what, err_quoted(path, qp));
}

/* For every rank, or once where they share it. What is no name others will say. */
static status apart_from_all(const side_file *f, const char *what, const char *pattern, int ranks,
			     err *e)
{
	const bool per_rank = name_is_per_rank(pattern);
	status rc = ST_OK;
	for (int r = 0; rc == ST_OK && r < (per_rank ? ranks : 1); r++) {
		char *path = per_rank ? name_expand(pattern, r, NULL) : strdup(pattern);
		if (path)
			rc = keep_apart(f, what, path, e);
		free(path);
	}
	return rc;
}

/* As report_write will make it, as far as can be told without doing so. */
static status can_be_made(const side_file *f, err *e)
{
	target t;
	char q[QUOTED_BYTES];
	status rc = target_open(&t, f->path, e);
	if (rc == ST_OK)
		rc = target_check(&t, true, e);
	if (rc == ST_OK && faccessat(t.dirfd, ".", W_OK | X_OK, 0) != 0)
		rc = err_refuse(e, errno, "cannot make %s %s", f->what, err_quoted(f->path, q));
	target_discard(&t);
	return rc;
}

static status apart_from_files(const settings *o, const side_file *f, int ranks, err *e)
{
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < o->ninputs; i++)
		rc = apart_from_all(f, "input", o->inputs[i], ranks, e);
	if (rc != ST_OK || !o->output)
		return rc;
	rc = apart_from_all(f, "output", o->output, ranks, e);
	if (rc != ST_OK || !(o->manifest || name_is_per_rank(o->output)))
		return rc;
	char *manifest =
		o->manifest ? strdup(o->manifest) : name_expand_text(o->output, "manifest", NULL);
	if (manifest)
		rc = keep_apart(f, "manifest", manifest, e);
	free(manifest);
	return rc;
}

static status check_side(const settings *o, const side_file *f, int ranks, err *e)
{
	if (!f->path)
		return ST_OK;
	const status rc = apart_from_files(o, f, ranks, e);
	return rc == ST_OK && strcmp(f->path, "-") != 0 ? can_be_made(f, e) : rc;
}

/* One of them, also from those before it. */
static status check_side_file(const settings *o, int i, int ranks, err *e)
{
	const side_file f = settings_side_file(o, i);
	status rc = check_side(o, &f, ranks, e);
	for (int k = 0; rc == ST_OK && f.path && k < i; k++) {
		const side_file other = settings_side_file(o, k);
		if (other.path)
			rc = keep_apart(&f, other.what, other.path, e);
	}
	return rc;
}

status report_check(const settings *o, int ranks, err *e)
{
	status rc = ST_OK;
	for (int i = 0; rc == ST_OK && i < SIDE_FILES; i++)
		rc = check_side_file(o, i, ranks, e);
	return rc;
}

/* Who is about to be killed does not wait for a disk. */
static bool synced(const job_result *r, const settings *o)
{
	return o->fsync && r->status < ST_SIGNAL;
}

status report_write(const job_result *r, const settings *o, int argc, char *const *argv, err *e)
{
	const report_source source = { r, o, argc, argv };
	target t;
	if (strcmp(o->report, "-") == 0)
		return json_print(report_object(report_fields, r, &source), e);
	status rc = target_open(&t, o->report, e);
	if (rc == ST_OK)
		rc = target_check(&t, true, e);
	if (rc == ST_OK)
		rc = json_write(report_object(report_fields, r, &source), &t, true, synced(r, o),
				e);
	target_discard(&t);
	return rc;
}

status report_page(const job_result *r, const settings *o, int argc, char *const *argv, err *e)
{
	const report_source source = { r, o, argc, argv };
	json_t *report = report_object(report_fields, r, &source);
	const status rc = page_write(report, o->html, synced(r, o), e);
	json_decref(report);
	return rc;
}

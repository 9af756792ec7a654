/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --clean and --check-manifest: each operand is looked at, also if one fails, and the worst status
 * is the program's. */
#include "operands.h"
#include "base/size.h"
#include "io/journal.h"
#include "io/file.h"
#include "manifest_check.h"
#include "phases/workdir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One file or directory; n becomes larger. */
static status clean_path(const char *path, cleaned *n)
{
	err e = { ST_OK, "" };
	struct stat st;
	cleaned here = { 0 };
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		workdir_clean(path, &here, &e);
	else
		journal_clean(path, 0, &here, &e);
	n->removed += here.removed;
	n->named += here.named;
	n->stays += here.stays;
	if (here.stays)
		memcpy(n->first, here.first, sizeof n->first);
	if (here.note.code != ST_OK)
		fprintf(stderr, "hetsort: note: %s\n", here.note.text);
	if (e.code != ST_OK)
		fprintf(stderr, "hetsort: %s\n", e.text);
	return e.code;
}

/* The manifest of the pattern's parts, if it lies beside them. */
static char *manifest_beside(const settings *o, const char *pattern)
{
	const char *slash = strrchr(pattern, '/');
	char *dir = strndup(pattern, slash ? (size_t)(slash - pattern) : 0);
	const bool beside = dir && !name_is_per_rank(dir);
	free(dir);
	if (o->manifest)
		return strdup(o->manifest);
	return beside ? name_expand_text(pattern, "manifest", NULL) : NULL;
}

/* Parts of which a journal speaks get their names before each is looked at by itself. */
static status clean_parts(const settings *o, const char *pattern, cleaned *n)
{
	char *manifest = manifest_beside(o, pattern);
	status worst = manifest ? clean_path(manifest, n) : ST_OK;
	free(manifest);
	for (int r = 0; r < o->ranks; r++) {
		err e = { ST_OK, "" };
		char *part = name_expand(pattern, r, &e);
		const status rc = part ? clean_path(part, n) : e.code;
		if (!part)
			fprintf(stderr, "hetsort: %s\n", e.text);
		free(part);
		worst = rc > worst ? rc : worst;
	}
	return worst;
}

static status clean_name(const char *name, cleaned *n)
{
	err e = { ST_OK, "" };
	char *path = name_expand(name, 0, &e);
	if (!path)
		fprintf(stderr, "hetsort: %s\n", e.text);
	const status rc = path ? clean_path(path, n) : e.code;
	free(path);
	return rc;
}

static void print_cleaned(const char *operand, const cleaned *n)
{
	char q[QUOTED_BYTES];
	fprintf(stderr, "hetsort: %s: ", err_quoted(operand, q));
	if (n->named)
		fprintf(stderr, "ended the commit of %u part%s%s", n->named, plural(n->named),
			n->removed ? ", " : "");
	if (n->removed)
		fprintf(stderr, "removed %u file%s", n->removed, plural(n->removed));
	if (!n->removed && !n->named)
		fputs("nothing to clean", stderr);
	if (n->stays) {
		fprintf(stderr, "; %s", err_quoted(n->first, q));
		if (n->stays > 1)
			fprintf(stderr, " and %u more", n->stays - 1);
		fprintf(stderr, " stay%s, because nothing proves that hetsort made %s",
			n->stays > 1 ? "" : "s", n->stays > 1 ? "them" : "it");
	}
	fputc('\n', stderr);
}

status operands_clean(const settings *o)
{
	status worst = ST_OK;
	for (size_t i = 0; i < o->ninputs; i++) {
		cleaned n = { 0 };
		const status rc = name_is_per_rank(o->inputs[i]) ? clean_parts(o, o->inputs[i], &n)
								 : clean_name(o->inputs[i], &n);
		if (o->verbosity >= 0 && (rc == ST_OK || n.removed || n.named))
			print_cleaned(o->inputs[i], &n);
		worst = rc > worst ? rc : worst;
	}
	return worst;
}

static void print_checked(const char *operand, const manifest_checked *n)
{
	char q[QUOTED_BYTES];
	fprintf(stderr,
		"hetsort: %s: %" PRIu64 " part%s, %" PRIu64 " record%s, %" PRIu64
		" byte%s: sizes, order, first and last keys and checksums are as stated\n",
		err_quoted(operand, q), n->parts, plural(n->parts), n->records, plural(n->records),
		n->bytes, plural(n->bytes));
}

status operands_check(const settings *o)
{
	status worst = ST_OK;
	for (size_t i = 0; i < o->ninputs; i++) {
		err e = { ST_OK, "" };
		manifest_checked n;
		const status rc = manifest_check(o->inputs[i], &n, &e);
		if (rc != ST_OK)
			fprintf(stderr, "hetsort: %s\n", e.text);
		else if (o->verbosity > 0)
			print_checked(o->inputs[i], &n);
		worst = rc > worst ? rc : worst;
	}
	return worst;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* %r is the number of a rank, and a set of parts may have been written by more or fewer ranks than
 * read it. Its manifest tells; where there is none, the next number's file does. */
#include "parts.h"
#include "base/size.h"
#include "name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

status parts_load(manifest *m, const char *pattern, char **name, err *e)
{
	*m = (manifest){ 0 };
	*name = name_expand_text(pattern, "manifest", e);
	if (!*name)
		return e->code;
	if (access(*name, F_OK) == 0)
		return manifest_load(m, *name, e);
	char *quiet = NULL; /* it is missing also while a set is renamed */
	const status rc = manifest_settled(*name, &quiet, e);
	free(quiet);
	**name = '\0';
	return rc;
}

/* A file with the number that follows the last one. */
static status refuse_more(const char *pattern, const char *manifest_name, size_t parts, err *e)
{
	char q[QUOTED_BYTES], qm[QUOTED_BYTES];
	char *next = name_expand(pattern, (int)parts, e);
	if (!next)
		return e->code;
	status rc = ST_OK;
	if (access(next, F_OK) == 0)
		rc = *manifest_name
			     ? err_set(e, ST_REFUSED,
				       "manifest %s names %zu part%s, but there is %s",
				       err_quoted(manifest_name, qm), parts, plural(parts),
				       err_quoted(next, q))
			     : err_set(e, ST_REFUSED,
				       "no rank would read %s: without a manifest it takes a rank "
				       "for each part, or the names of all",
				       err_quoted(next, q));
	free(next);
	return rc;
}

/* The names are those of the pattern: the manifest may have been named otherwise than its parts. */
static status check_names(const manifest *m, const char *pattern, const char *name, err *e)
{
	char q[QUOTED_BYTES], qp[QUOTED_BYTES];
	status rc = ST_OK;
	for (size_t i = 0; i < m->parts && rc == ST_OK; i++) {
		char *path = name_expand(pattern, (int)i, e);
		if (!path)
			return e->code;
		const char *slash = strrchr(path, '/');
		if (strcmp(slash ? slash + 1 : path, m->part[i].file) != 0)
			rc = err_set(e, ST_REFUSED, "manifest %s does not name %s as part %zu",
				     err_quoted(name, q), err_quoted(path, qp), i);
		free(path);
	}
	return rc;
}

/* *parts: 0 where there is no manifest. */
static status count_parts(const char *pattern, int ranks, size_t *parts, err *e)
{
	manifest m;
	char *name;
	status rc = parts_load(&m, pattern, &name, e);
	*parts = m.parts;
	if (rc == ST_OK)
		rc = check_names(&m, pattern, name, e);
	if (rc == ST_OK)
		rc = refuse_more(pattern, name, *name ? m.parts : (size_t)ranks, e);
	manifest_free(&m);
	free(name);
	return rc;
}

status parts_find(const settings *o, int ranks, bool *all, err *e)
{
	char q[QUOTED_BYTES];
	const char *alone = NULL; /* has no manifest */
	status rc = ST_OK;
	*all = false;
	for (size_t i = 0; i < o->ninputs && rc == ST_OK; i++) {
		size_t parts = 0;
		if (!name_is_per_rank(o->inputs[i]))
			continue;
		rc = count_parts(o->inputs[i], ranks, &parts, e);
		if (parts == 0)
			alone = o->inputs[i];
		else if (parts != (size_t)ranks || o->merge)
			*all = true;
	}
	if (rc == ST_OK && *all && alone)
		rc = err_set(e, ST_REFUSED,
			     "input %s has no manifest, so it takes as many ranks as it has parts",
			     err_quoted(alone, q));
	return rc;
}

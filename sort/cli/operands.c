/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --clean and --check-manifest: each operand is looked at, also if one fails, and the worst status
 * is the program's. */
#include "operands.h"
#include "io/name.h"
#include "io/target.h"
#include "manifest_check.h"
#include "phases/workdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static status clean_one(const settings *o, const char *pattern, int rank)
{
	err e = { ST_OK, "" };
	char q[QUOTED_BYTES];
	unsigned removed = 0;
	struct stat st;
	char *path = name_expand(pattern, rank, &e);
	const bool dir = path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	if (path && (dir ? workdir_clean : target_clean)(path, &removed, &e) == ST_OK &&
	    o->verbosity > 0)
		fprintf(stderr, "hetsort: %s: %u files removed\n", err_quoted(path, q), removed);
	if (e.code != ST_OK)
		fprintf(stderr, "hetsort: %s\n", e.text);
	free(path);
	return e.code;
}

status operands_clean(const settings *o)
{
	status worst = ST_OK;
	for (size_t i = 0; i < o->ninputs; i++) {
		const bool per_rank = name_is_per_rank(o->inputs[i]);
		for (int r = 0; r < (per_rank ? o->ranks : 1); r++) {
			const status rc = clean_one(o, o->inputs[i], r);
			worst = rc > worst ? rc : worst;
		}
	}
	return worst;
}

status operands_check(const settings *o)
{
	status worst = ST_OK;
	for (size_t i = 0; i < o->ninputs; i++) {
		err e = { ST_OK, "" };
		const status rc = manifest_check(o->inputs[i], &e);
		if (rc != ST_OK)
			fprintf(stderr, "hetsort: %s\n", e.text);
		worst = rc > worst ? rc : worst;
	}
	return worst;
}

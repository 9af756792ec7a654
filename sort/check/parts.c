/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A manifest tells how many parts there are; else the first number without a file does. */
#include "parts.h"
#include "io/manifest.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* name is consumed; NULL: there was no memory for it. */
static status add(parts_list *l, char *name, err *e)
{
	char **more = name ? realloc(l->name, (l->count + 1) * sizeof *more) : NULL;
	if (!more) {
		free(name);
		return err_set(e, ST_RESOURCE, "no memory for %zu names", l->count + 1);
	}
	l->name = more;
	l->name[l->count++] = name;
	return ST_OK;
}

/* That of 0 is named also where it is missing: whoever opens it says so. */
static status add_numbered(parts_list *l, const char *pattern, err *e)
{
	status rc = ST_OK;
	for (int r = 0; rc == ST_OK; r++) {
		char *name = name_expand(pattern, r, e);
		if (name && r > 0 && access(name, F_OK) != 0) {
			free(name);
			break;
		}
		rc = name ? add(l, name, e) : e->code;
	}
	return rc;
}

static status add_pattern(parts_list *l, const char *pattern, err *e)
{
	char *name = name_expand_text(pattern, "manifest", e);
	if (!name)
		return e->code;
	if (access(name, F_OK) == 0)
		return add(l, name, e);
	free(name);
	return add_numbered(l, pattern, e);
}

status check_parts(parts_list *l, const settings *o, err *e)
{
	status rc = ST_OK;
	*l = (parts_list){ NULL, 0 };
	for (size_t i = 0; rc == ST_OK && i < o->ninputs; i++)
		rc = name_is_per_rank(o->inputs[i]) ? add_pattern(l, o->inputs[i], e)
						    : add(l, strdup(o->inputs[i]), e);
	return rc;
}

status check_parts_layout(const parts_list *l, layout *lay, err *e)
{
	size_t i = 0;
	while (i < l->count && !role_begins_file(ROLE_MANIFEST, l->name[i]))
		i++;
	if (i == l->count)
		return ST_OK;
	manifest m;
	const status rc = manifest_load(&m, l->name[i], e);
	if (rc == ST_OK)
		*lay = m.lay;
	manifest_free(&m);
	return rc;
}

void check_parts_free(parts_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->name[i]);
	free(l->name);
	*l = (parts_list){ NULL, 0 };
}

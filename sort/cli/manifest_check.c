/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts are read where they lie, in the manifest's own folder, and never through a link. */
#include "manifest_check.h"
#include "io/manifest.h"
#include "io/reader.h"

#include <stdlib.h>
#include <string.h>

typedef struct check {
	int dirfd;
	layout lay;
	inspect_order order;
	mem m;
	unsigned char *keys; /* first and last of the part, last of all before */
	bool any;            /* records before this part */
	err *e;
} check;

static status wrong(check *c, const char *file, const char *why)
{
	char q[QUOTED_BYTES];
	return err_set(c->e, ST_INVALID, "part %s %s", err_quoted(file, q), why);
}

static status same_hex(check *c, const manifest_part *s, const char *what, const unsigned char *key,
		       const char *said)
{
	json_t *is = json_hex(key, c->lay.key_bytes);
	const bool same = is && said && strcmp(json_string_value(is), said) == 0;
	json_decref(is);
	return same ? ST_OK : wrong(c, s->file, what);
}

/* An older manifest has none. */
static status same_values(check *c, const manifest_part *s, const char *what,
			  const unsigned char *key, const json_t *said)
{
	json_t *are = manifest_values(&c->lay, key);
	const bool same = !said || (are && c->lay.fields && json_equal(are, said));
	json_decref(are);
	return same ? ST_OK : wrong(c, s->file, what);
}

static status same_keys(check *c, const manifest_part *s, const inspected *seen)
{
	const size_t key = c->lay.key_bytes;
	unsigned char *before = c->keys + 2 * key;
	if (s->records == 0)
		return ST_OK;
	if (same_hex(c, s, "has another first key than is stated", seen->first_key, s->first) ||
	    same_hex(c, s, "has another last key than is stated", seen->last_key, s->last))
		return ST_INVALID;
	if (same_values(c, s, "has another first key than its values state", seen->first_key,
			s->first_values) ||
	    same_values(c, s, "has another last key than its values state", seen->last_key,
			s->last_values))
		return ST_INVALID;
	if (c->any && key_copies_compare(&c->lay, before, seen->first_key) > 0)
		return wrong(c, s->file, "begins before the part before it ends");
	memcpy(before, seen->last_key, key);
	c->any = true;
	return ST_OK;
}

static status check_part(check *c, const manifest_part *s)
{
	inspected seen = { .first_key = c->keys,
			   .last_key = c->keys + c->lay.key_bytes,
			   .order = c->order };
	const char *why;
	const status rc = reader_inspect_part(c->dirfd, s, &c->lay, &c->m, &seen, &why, c->e);
	if (rc != ST_OK)
		return rc;
	return why ? wrong(c, s->file, why) : same_keys(c, s, &seen);
}

static status check_parts(check *c, const manifest *said)
{
	const size_t keys = 3u * c->lay.key_bytes;
	c->keys = mem_array(&c->m, keys, 1, "keys", c->e);
	status rc = c->keys ? ST_OK : ST_RESOURCE;
	for (size_t i = 0; i < said->parts && rc == ST_OK; i++)
		rc = check_part(c, &said->part[i]);
	mem_free(&c->m, c->keys);
	return rc;
}

status manifest_check(const char *path, manifest_checked *n, err *e)
{
	manifest said = { NULL };
	target t;
	char *quiet = NULL;
	status rc = target_open(&t, path, e);
	if (rc == ST_OK)
		rc = manifest_settled(path, &quiet, e) == ST_OK ? ST_OK : (e->code = ST_INVALID);
	free(quiet);
	if (rc == ST_OK)
		rc = manifest_load(&said, path, e);
	if (rc == ST_OK) {
		check c = { .dirfd = t.dirfd,
			    .lay = said.lay,
			    .order = said.unsorted_inside ? INSPECT_ANY : INSPECT_SORTED,
			    .e = e };
		rc = check_parts(&c, &said);
	}
	*n = (manifest_checked){ said.parts, said.records, said.records * said.lay.record_bytes };
	manifest_free(&said);
	target_discard(&t);
	return rc;
}

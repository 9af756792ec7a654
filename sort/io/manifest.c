/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Anybody may have written a manifest. So every member is checked, an unknown member is an error,
 * and a part must be a plain name in the manifest's own directory. */
#include "manifest.h"
#include "kernel/key.h"
#include "base/size.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Return whether a header or trailer may have this size. Only a part with `has` may have one. */
static bool is_frame(json_int_t bytes, json_int_t most, bool has)
{
	return bytes >= 0 && bytes <= most && (has || bytes == 0);
}

/* Read part i. Return NULL, or the reason why it is refused. */
static const char *load_part(manifest *m, size_t i, json_t *part)
{
	manifest_part *p = &m->part[i];
	const char *sum;
	json_int_t rank, recs, header = 0, trailer = 0;
	if (json_unpack(part, "{s:I, s:s, s?I, s?I, s:I, s:s, s?s, s?s, s?o, s?o !}", "rank", &rank,
			"file", &p->file, "header_bytes", &header, "trailer_bytes", &trailer,
			"records", &recs, "checksum", &sum, "first_key", &p->first, "last_key",
			&p->last, "first_values", &p->first_values, "last_values",
			&p->last_values) != 0)
		return "a part has missing or unknown members";
	if (rank < 0 || (size_t)rank != i || recs < 0 || (uint64_t)recs > m->records || !*p->file ||
	    strchr(p->file, '/') || strcmp(p->file, ".") == 0 || strcmp(p->file, "..") == 0)
		return "a part's rank, count or name is impossible";
	if (recs == 0 && (p->first || p->last || p->first_values || p->last_values))
		return "a part without records has keys";
	if (!json_parse_checksum(sum, &p->sum))
		return "a part's checksum is impossible";
	const json_int_t most = INT64_MAX - recs * m->lay.record_bytes;
	if (!is_frame(header, most, i == 0))
		return "a part's header is impossible";
	if (!is_frame(trailer, most - header, i + 1 == m->parts))
		return "a part's trailer is impossible";
	p->frame =
		(framing){ .header_bytes = (uint64_t)header, .trailer_bytes = (uint64_t)trailer };
	p->records = (uint64_t)recs;
	return NULL;
}

static const char no_memory[] = "no memory for its parts";

/* Read the document. Return NULL, or the reason why it is refused. */
static const char *load_document(manifest *m)
{
	const char *format, *sum, *fields = NULL;
	json_int_t version, bytes, off, key, total;
	json_t *parts;
	int sorted = true, ordered = true;
	if (json_unpack(m->doc, "{s:s, s:I, s:I, s:I, s:I, s?s, s?b, s?b, s:I, s:s, s:o !}",
			"format", &format, "version", &version, "record_bytes", &bytes,
			"key_offset", &off, "key_bytes", &key, "key", &fields, "sorted_inside",
			&sorted, "ordered", &ordered, "records", &total, "checksum_kind", &sum,
			"parts", &parts) != 0 ||
	    strcmp(format, "hetsort-manifest") != 0 || !json_is_array(parts))
		return "is not a manifest of hetsort";
	if (version != 1 || strcmp(sum, CHECKSUM_NAME) != 0)
		return "is of another version";
	if (!layout_restore(&m->lay, bytes, off, key, fields) || total < 0 ||
	    total > INT64_MAX / bytes)
		return "its sizes are impossible";
	m->unsorted_inside = !sorted || !ordered;
	m->unordered = !ordered;
	m->records = (uint64_t)total;
	m->parts = json_array_size(parts);
	m->part = calloc(m->parts + 1, sizeof *m->part);
	if (!m->part)
		return no_memory;
	uint64_t recs = 0;
	for (size_t i = 0; i < m->parts; i++) {
		const char *why = load_part(m, i, json_array_get(parts, i));
		if (why)
			return why;
		if (__builtin_add_overflow(recs, m->part[i].records, &recs))
			return "its sizes are impossible";
	}
	return recs == m->records ? NULL : "its number of records is not the sum of its parts";
}

status manifest_load_at(manifest *m, int dirfd, bool own, const char *what, const char *name,
			err *e)
{
	*m = (manifest){ 0 };
	const status rc = json_read(dirfd, own, what, name, &m->doc, e);
	const char *why = rc == ST_OK ? load_document(m) : NULL;
	return !why ? rc
		    : err_set(e, why == no_memory ? ST_RESOURCE : ST_REFUSED, "%s %s: %s", what,
			      quoted(name), why);
}

status manifest_load(manifest *m, const char *path, err *e)
{
	return manifest_load_at(m, AT_FDCWD, false, "manifest", path, e);
}

/* ------------------------------------------------------------------------ unfinished commits */

size_t manifest_names(const target *t, const char *journal, bool own)
{
	manifest m;
	size_t named = 0;
	if (manifest_load_at(&m, t->dirfd, own, "journal", journal, NULL) == ST_OK)
		for (size_t i = 0; i < m.parts && !named; i++)
			named = strcmp(m.part[i].file, t->base) == 0 ? m.parts : 0;
	manifest_free(&m);
	return named;
}

/* Refuse a file if its directory, the first `dir` bytes of its path, contains a journal of its set.
 * If the directory contains no journal at all, set *quiet to it. A directory that this user may not
 * list is assumed to contain none. */
static status search_journals(const char *file, size_t dir, char **quiet, err *e)
{
	err why = { ST_OK, "" };
	target t, m;
	bool any = false;
	status rc = target_open(&t, file, &why);
	if (rc == ST_OK) {
		hidden_name h = { 0 };
		while (target_next_hidden(&t, &h)) {
			any |= target_is_journal(h.kind);
			if (rc != ST_OK || !target_is_journal(h.kind) ||
			    (h.mark != t.mark && !manifest_names(&t, h.name, false)))
				continue;
			/* name the manifest, not the part: the same message on all ranks */
			const bool known = target_open_hidden(&m, &t, &h);
			const char *q = quoted(known ? m.path : h.name);
			if (known)
				target_discard(&m);
			rc = err_set(e, ST_REFUSED,
				     "a job is renaming the parts of %s, or was interrupted while "
				     "renaming them: if no such job is running, hetsort --clean %s "
				     "completes it",
				     q, known ? q : "MANIFEST");
		}
		if (h.errnum && h.errnum != EACCES && h.errnum != EPERM)
			rc = err_sys(e, h.errnum, "cannot list the directory of %s",
				     quoted(t.path));
	} else if (rc == ST_REFUSED) { /* the directory is missing or may not be read */
		rc = ST_OK;
	} else {
		(void)err_join(e, &why);
	}
	target_discard(&t);
	if (rc != ST_OK || any || !quiet)
		return rc;
	free(*quiet);
	*quiet = strndup(file, dir);
	return *quiet ? ST_OK : err_set(e, ST_RESOURCE, "no memory for the name of a directory");
}

status manifest_settled(const char *path, char **quiet, err *e)
{
	char link[1], *real = readlink(path, link, sizeof link) >= 0 ? realpath(path, NULL) : NULL;
	const char *file = real ? real : path;
	const size_t dir = (size_t)(file_base(file) - file);
	const bool searched =
		quiet && *quiet && strlen(*quiet) == dir && memcmp(*quiet, file, dir) == 0;
	const status rc = searched ? ST_OK : search_journals(file, dir, quiet, e);
	free(real);
	return rc;
}

void manifest_free(manifest *m)
{
	json_decref(m->doc);
	free(m->part);
	*m = (manifest){ 0 };
}

json_t *manifest_values(const layout *l, const unsigned char *key)
{
	json_t *all = json_array();
	for (const key_field *f = l->field; f < l->field + l->fields; key += f++->bytes) {
		unsigned char bytes[KEY_FIELDS_BYTES_MAX];
		char text[KEY_VALUE_TEXT_BYTES];
		if (f->type != KEY_TYPE_BYTES) {
			key_value_text(f, key, text);
			all = json_and(all, json_string(text));
			continue;
		}
		for (uint32_t i = 0; i < f->bytes; i++)
			bytes[i] = key[i] ^ (f->desc ? 0xff : 0);
		all = json_and(all, json_hex(bytes, f->bytes));
	}
	return all;
}

char *manifest_part_path(const char *path, const manifest_part *p, err *e)
{
	const int dir = (int)(file_base(path) - path);
	char *out;
	if (asprintf(&out, "%.*s%s", dir, path, p->file) >= 0)
		return out;
	err_set(e, ST_RESOURCE, "no memory for the name of a part");
	return NULL;
}

/* ---------------------------------------------------------------------------- names with %r */

/* %r is the number of a rank. A set of parts may have been written by more or fewer ranks than read
 * it now, so the manifest gives the number of parts. */

status parts_load(manifest *m, const char *pattern, char **name, err *e)
{
	*m = (manifest){ 0 };
	*name = name_expand(pattern, RANK_MANIFEST, e);
	if (!*name)
		return e->code;
	if (access(*name, F_OK) == 0)
		return manifest_load(m, *name, e);
	/* a manifest is missing for a moment while a set is renamed */
	const status rc = manifest_settled(*name, NULL, e);
	**name = '\0';
	return rc;
}

/* Set *parts to the number of parts in the manifest, 0 without one. The names in the manifest must
 * match the pattern, because somebody may have renamed the manifest. A file with the number after
 * the last part is refused, because no rank would read it. */
static status count_parts(const char *pattern, int ranks, size_t *parts, err *e)
{
	manifest m;
	char *name;
	status rc = parts_load(&m, pattern, &name, e);
	*parts = m.parts;
	const bool listed = rc == ST_OK && *name;
	const size_t known = listed ? m.parts : (size_t)ranks;
	for (size_t i = listed ? 0 : known; i <= known && rc == ST_OK; i++) {
		char *path = name_expand(pattern, (int)i, e);
		if (!path)
			rc = e->code;
		else if (listed && i < known && strcmp(file_base(path), m.part[i].file) != 0)
			rc = err_set(e, ST_REFUSED, "manifest %s does not name %s as part %zu",
				     quoted(name), quoted(path), i);
		else if (i == known && access(path, F_OK) == 0)
			rc = listed ? err_set(e, ST_REFUSED,
					      "manifest %s names %zu part%s, but %s exists",
					      quoted(name), known, plural(known), quoted(path))
				    : err_set(e, ST_REFUSED,
					      "no rank would read %s: without a manifest, use one "
					      "rank per part, or name all parts",
					      quoted(path));
		free(path);
	}
	manifest_free(&m);
	free(name);
	return rc;
}

status parts_find(const settings *o, int ranks, bool *all, err *e)
{
	const char *bare = NULL; /* an input without a manifest */
	status rc = ST_OK;
	*all = false;
	for (size_t i = 0; i < o->ninputs && rc == ST_OK; i++) {
		size_t parts = 0;
		if (!name_is_per_rank(o->inputs[i]))
			continue;
		rc = count_parts(o->inputs[i], ranks, &parts, e);
		if (parts == 0)
			bare = o->inputs[i];
		else if (parts != (size_t)ranks || o->merge)
			*all = true;
	}
	if (rc == ST_OK && *all && bare)
		rc = err_set(e, ST_REFUSED,
			     "input %s has no manifest, so it requires one rank per part",
			     quoted(bare));
	return rc;
}

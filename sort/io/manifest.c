/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A manifest is what somebody else may have written: every member is looked at, none that is
 * unknown is passed over, and a part is a plain name in the manifest's own folder. */
#include "manifest.h"
#include "kernel/key.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is read, for messages. */
typedef struct source {
	const char *what, *name;
} source;

static status malformed(source s, const char *why, err *e)
{
	char q[QUOTED_BYTES];
	return err_set(e, ST_REFUSED, "%s %s: %s", s.what, err_quoted(s.name, q), why);
}

static bool is_plain(const char *file)
{
	return *file && !strchr(file, '/') && strcmp(file, ".") != 0 && strcmp(file, "..") != 0;
}

static status load_part(manifest *m, size_t i, json_t *part, source s, err *e)
{
	manifest_part *p = &m->part[i];
	json_int_t rank, records, header = 0;
	if (json_unpack(part, "{s:I, s:s, s?I, s:I, s:s, s?s, s?s, s?o, s?o !}", "rank", &rank,
			"file", &p->file, "header_bytes", &header, "records", &records, "checksum",
			&p->sum, "first_key", &p->first, "last_key", &p->last, "first_values",
			&p->first_values, "last_values", &p->last_values) != 0)
		return malformed(s, "a part is not as it should be", e);
	if (rank < 0 || (size_t)rank != i || records < 0 || (uint64_t)records > m->records ||
	    !is_plain(p->file))
		return malformed(s, "a part's rank, count or name is impossible", e);
	if (records == 0 && (p->first || p->last || p->first_values || p->last_values))
		return malformed(s, "keys of a part without records", e);
	if (header < 0 || header > INT64_MAX - records * m->lay.record_bytes || (header && i > 0))
		return malformed(s, "a part's header is impossible", e);
	p->header_bytes = (uint64_t)header;
	p->records = (uint64_t)records;
	return ST_OK;
}

static status load_parts(manifest *m, json_t *parts, source s, err *e)
{
	uint64_t sum = 0;
	m->parts = json_array_size(parts);
	m->part = calloc(m->parts + 1, sizeof *m->part);
	if (!m->part)
		return err_set(e, ST_RESOURCE, "no memory for %zu parts", m->parts);
	for (size_t i = 0; i < m->parts; i++) {
		const status rc = load_part(m, i, json_array_get(parts, i), s, e);
		if (rc != ST_OK)
			return rc;
		if (__builtin_add_overflow(sum, m->part[i].records, &sum))
			return malformed(s, "its sizes are impossible", e);
	}
	return sum == m->records ? ST_OK
				 : malformed(s, "its parts have not its number of records", e);
}

static status load_document(manifest *m, source s, err *e)
{
	const char *format, *sum, *fields = NULL;
	json_int_t version, bytes, off, key, total;
	json_t *parts;
	int sorted = true;
	if (json_unpack(m->doc, "{s:s, s:I, s:I, s:I, s:I, s?s, s?b, s:I, s:s, s:o !}", "format",
			&format, "version", &version, "record_bytes", &bytes, "key_offset", &off,
			"key_bytes", &key, "key", &fields, "sorted_inside", &sorted, "records",
			&total, "checksum_kind", &sum, "parts", &parts) != 0 ||
	    strcmp(format, "hetsort-manifest") != 0 || !json_is_array(parts))
		return malformed(s, "is no manifest of hetsort", e);
	if (version != 1 || strcmp(sum, CHECKSUM_NAME) != 0)
		return malformed(s, "is of another version", e);
	if (!layout_restore(&m->lay, bytes, off, key, fields) || total < 0 ||
	    total > INT64_MAX / bytes)
		return malformed(s, "its sizes are impossible", e);
	m->unsorted_inside = !sorted;
	m->records = (uint64_t)total;
	return load_parts(m, parts, s, e);
}

status manifest_load(manifest *m, const char *path, err *e)
{
	const source s = { "manifest", path };
	*m = (manifest){ 0 };
	const status rc = json_read(s.what, path, &m->doc, e);
	return rc == ST_OK ? load_document(m, s, e) : rc;
}

status manifest_load_journal(manifest *m, int dirfd, const char *name, err *e)
{
	const source s = { "journal", name };
	*m = (manifest){ 0 };
	const status rc = json_read_at(dirfd, s.what, name, &m->doc, e);
	return rc == ST_OK ? load_document(m, s, e) : rc;
}

void manifest_free(manifest *m)
{
	json_decref(m->doc);
	free(m->part);
	*m = (manifest){ 0 };
}

status manifest_check_header(const manifest *m, const char *path, uint64_t header_bytes, err *e)
{
	char q[QUOTED_BYTES];
	const uint64_t has = m->parts ? m->part[0].header_bytes : 0;
	return has == header_bytes
		       ? ST_OK
		       : err_set(e, ST_REFUSED,
				 "manifest %s states a header of %" PRIu64
				 " bytes before its records (--skip-header=%" PRIu64 ")",
				 err_quoted(path, q), has, has);
}

bool manifest_begins(const char *text, size_t bytes)
{
	static const char *const token[] = { "{", "\"format\"", ":", "\"hetsort-manifest\"" };
	size_t at = 0;
	for (size_t i = 0; i < sizeof token / sizeof *token; i++) {
		const size_t n = strlen(token[i]);
		while (at < bytes && memchr(" \t\n\r", text[at], 4))
			at++;
		if (bytes - at < n || memcmp(text + at, token[i], n) != 0)
			return false;
		at += n;
	}
	return true;
}

static json_t *value_json(const key_field *f, const unsigned char *normal)
{
	unsigned char bytes[KEY_FIELDS_BYTES_MAX];
	char text[KEY_VALUE_TEXT_BYTES];
	if (f->type != KEY_TYPE_BYTES) {
		key_value_text(f, normal, text);
		return json_string(text);
	}
	for (uint32_t i = 0; i < f->bytes; i++)
		bytes[i] = normal[i] ^ (f->desc ? 0xff : 0);
	return json_hex(bytes, f->bytes);
}

json_t *manifest_values(const layout *l, const unsigned char *key)
{
	json_t *all = json_array();
	for (uint32_t i = 0; i < l->fields; key += l->field[i++].bytes)
		all = json_and(all, value_json(&l->field[i], key));
	return all;
}

char *manifest_part_path(const char *path, const manifest_part *p, err *e)
{
	const char *slash = strrchr(path, '/');
	const size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
	char *out = malloc(dir + strlen(p->file) + 1);
	if (!out) {
		err_set(e, ST_RESOURCE, "no memory for the name of a part");
		return NULL;
	}
	memcpy(out, path, dir);
	strcpy(out + dir, p->file);
	return out;
}

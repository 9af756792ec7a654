/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A manifest is what somebody else may have written: every member is looked at, none that is
 * unknown is passed over, and a part is a plain name in the manifest's own folder. */
#include "manifest_check.h"
#include "io/json.h"
#include "io/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct check {
	const char *path; /* of the manifest */
	int dirfd;
	layout lay;
	mem m;
	unsigned char *keys; /* first and last of the part, last of all before */
	bool any;            /* records before this part */
	uint64_t records;
	err *e;
} check;

/* What the manifest says of a part. */
typedef struct stated {
	const char *file, *sum, *first, *last;
	json_int_t rank, records;
} stated;

static status malformed(check *c, const char *why)
{
	char q[QUOTED_BYTES];
	return err_set(c->e, ST_REFUSED, "manifest %s: %s", err_quoted(c->path, q), why);
}

static status wrong(check *c, const char *file, const char *why)
{
	char q[QUOTED_BYTES];
	return err_set(c->e, ST_INVALID, "part %s %s", err_quoted(file, q), why);
}

static status same_hex(check *c, const stated *s, const char *what, const unsigned char *key,
		       const char *said)
{
	json_t *is = json_hex(key, c->lay.key_bytes);
	const bool same = is && said && strcmp(json_string_value(is), said) == 0;
	json_decref(is);
	return same ? ST_OK : wrong(c, s->file, what);
}

static status same_keys(check *c, const stated *s, const inspected *seen)
{
	const size_t key = c->lay.key_bytes;
	unsigned char *before = c->keys + 2 * key;
	if (s->records == 0)
		return s->first || s->last ? malformed(c, "keys of a part without records") : ST_OK;
	if (same_hex(c, s, "has another first key than is stated", seen->first_key, s->first) ||
	    same_hex(c, s, "has another last key than is stated", seen->last_key, s->last))
		return ST_INVALID;
	if (c->any && key_compare(&c->lay, before, seen->first_key) > 0)
		return wrong(c, s->file, "begins before the part before it ends");
	key_copy(&c->lay, before, seen->last_key);
	c->any = true;
	return ST_OK;
}

static status check_part(check *c, const stated *s)
{
	struct stat st;
	inspected seen = { .first_key = c->keys, .last_key = c->keys + c->lay.key_bytes };
	const int fd = openat(c->dirfd, s->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return wrong(c, s->file, errno == ENOENT ? "is missing" : "cannot be opened");
	const io_fd f = { fd, -1, NULL };
	status rc = ST_OK;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		rc = wrong(c, s->file, "is no regular file");
	else if ((uint64_t)st.st_size / c->lay.record_bytes != (uint64_t)s->records ||
		 (uint64_t)st.st_size % c->lay.record_bytes)
		rc = wrong(c, s->file, "has not the size that is stated");
	if (rc == ST_OK)
		rc = reader_inspect(&f, s->file, 0, (uint64_t)s->records, &c->lay, &c->m, &seen,
				    c->e);
	close(fd);
	if (rc == ST_INVALID)
		return wrong(c, s->file, "is not in order");
	if (rc != ST_OK)
		return rc;
	json_t *sum = json_checksum(seen.sum);
	if (!sum || strcmp(json_string_value(sum), s->sum) != 0)
		rc = wrong(c, s->file, "has another checksum than is stated");
	json_decref(sum);
	return rc == ST_OK ? same_keys(c, s, &seen) : rc;
}

static status check_parts(check *c, json_t *parts, uint64_t total)
{
	size_t i;
	json_t *part;
	status rc = ST_OK;
	json_array_foreach(parts, i, part)
	{
		stated s = { 0 };
		if (json_unpack(part, "{s:I, s:s, s:I, s:s, s?s, s?s !}", "rank", &s.rank, "file",
				&s.file, "records", &s.records, "checksum", &s.sum, "first_key",
				&s.first, "last_key", &s.last) != 0)
			return malformed(c, "a part is not as it should be");
		if (s.rank < 0 || (size_t)s.rank != i || s.records < 0 || !*s.file ||
		    strchr(s.file, '/') || strcmp(s.file, ".") == 0 || strcmp(s.file, "..") == 0)
			return malformed(c, "a part's rank, count or name is impossible");
		if ((rc = check_part(c, &s)) != ST_OK)
			return rc;
		c->records += (uint64_t)s.records;
	}
	return c->records == total ? ST_OK
				   : malformed(c, "its parts have not its number of records");
}

static status with_memory(check *c, json_t *parts, uint64_t total)
{
	const size_t keys = 3u * c->lay.key_bytes;
	c->keys = mem_array(&c->m, keys, 1, "keys", c->e);
	const status rc = c->keys ? check_parts(c, parts, total) : ST_RESOURCE;
	mem_free(&c->m, c->keys);
	return rc;
}

static status check_document(check *c, json_t *doc)
{
	const char *format, *sum;
	json_int_t version, bytes, off, key, total;
	json_t *parts;
	if (json_unpack(doc, "{s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:o !}", "format", &format,
			"version", &version, "record_bytes", &bytes, "key_offset", &off,
			"key_bytes", &key, "records", &total, "checksum_kind", &sum, "parts",
			&parts) != 0 ||
	    strcmp(format, "hetsort-manifest") != 0 || !json_is_array(parts))
		return malformed(c, "is no manifest of hetsort");
	if (version != 1 || strcmp(sum, CHECKSUM_NAME) != 0)
		return malformed(c, "is of another version");
	if (bytes < 1 || bytes > MAX_RECORD_BYTES || key < 1 || key > bytes || off < 0 ||
	    off > bytes - key || total < 0 || total > INT64_MAX / bytes)
		return malformed(c, "its sizes are impossible");
	c->lay = (layout){ (uint32_t)bytes, (uint32_t)off, (uint32_t)key };
	return with_memory(c, parts, (uint64_t)total);
}

status manifest_check(const char *path, err *e)
{
	check c = { .path = path, .e = e };
	target t;
	json_t *doc = NULL;
	status rc = target_open(&t, path, e);
	if (rc == ST_OK)
		rc = json_read("manifest", path, &doc, e);
	c.dirfd = t.dirfd;
	if (rc == ST_OK)
		rc = check_document(&c, doc);
	json_decref(doc);
	target_discard(&t);
	return rc;
}

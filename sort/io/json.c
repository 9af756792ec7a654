/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Manifests, reports and states are JSON documents. A document is dumped to memory and written as a
 * whole, so that no reader sees an incomplete one. Documents that are read are not trusted. */
#include "json.h"
#include "base/clock.h"
#include "number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DOCUMENT_BYTES_MAX = 64 << 20 };

json_t *json_name(const char *path)
{
	json_t *s = json_string(path);
	char *text = s ? NULL : malloc(4 * strlen(path) + 1);
	if (!text)
		return s;
	for (size_t i = 0, at = 0; i <= strlen(path); i++) {
		const unsigned char c = (unsigned char)path[i];
		at += (size_t)snprintf(text + at, 5, c < 0x80 ? "%c" : "\\%03o", c);
	}
	s = json_string(text);
	free(text);
	return s;
}

json_t *json_hex(const unsigned char *bytes, size_t n)
{
	char *text = malloc(2 * n + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	text[2 * n] = '\0';
	json_t *s = json_string(text);
	free(text);
	return s;
}

json_t *json_checksum(checksum s)
{
	char text[40];
	snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, s.hi, s.lo);
	return json_string(text);
}

bool json_parse_hex(const char *text, size_t n, uint64_t *number)
{
	for (size_t i = 0; i < n; i++)
		if (!number_hex(&text, &number[i]))
			return false;
	return !*text;
}

bool json_parse_checksum(const char *text, checksum *sum)
{
	uint64_t half[2];
	if (!json_parse_hex(text, 2, half))
		return false;
	*sum = (checksum){ half[0], half[1], 0 };
	return true;
}

json_t *json_with(json_t *o, const char *key, json_t *value)
{
	if (json_object_set_new(o, key, value) == 0)
		return o;
	json_decref(o);
	return NULL;
}

json_t *json_and(json_t *a, json_t *value)
{
	if (json_array_append_new(a, value) == 0)
		return a;
	json_decref(a);
	return NULL;
}

status json_parse(const char *text, size_t len, const char *what, const char *name, json_t **doc,
		  err *e)
{
	json_error_t je;
	*doc = json_loadb(text, len, JSON_REJECT_DUPLICATES, &je);
	if (*doc)
		return ST_OK;
	for (char *c = je.text; *c; c++) /* the text may quote bytes of the document */
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return err_set(e, ST_REFUSED, "%s is not a valid %s: line %d, column %d: %s", quoted(name),
		       what, je.line, je.column, je.text);
}

status json_read(int dirfd, bool own, const char *what, const char *name, json_t **doc, err *e)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (own ? O_NOFOLLOW : 0);
	const char *q = quoted(name);
	const int fd = openat(dirfd, name, flags);
	char *text = NULL;
	struct stat st;
	status rc;
	*doc = NULL;
	if (fd < 0 && own && errno == ELOOP)
		rc = err_set(e, ST_REFUSED, "%s %s is a symbolic link", what, q);
	else if (fd < 0 && (!own || errno == EACCES))
		rc = err_refuse(e, errno, "cannot open %s %s", what, q);
	else if (fd < 0 || fstat(fd, &st) != 0)
		rc = err_sys(e, errno, "cannot open %s %s", what, q);
	else if (own && st.st_uid != geteuid())
		rc = err_set(e, ST_REFUSED, "%s %s belongs to another user", what, q);
	else if (!S_ISREG(st.st_mode))
		rc = err_set(e, ST_REFUSED, "%s %s is not a regular file", what, q);
	else if (st.st_size > DOCUMENT_BYTES_MAX)
		rc = err_set(e, ST_REFUSED, "%s %s is larger than 64 MiB", what, q);
	else if (!(text = malloc((size_t)st.st_size + 1)))
		rc = err_set(e, ST_RESOURCE, "no memory for %s %s", what, q);
	else
		rc = file_read_at(fd, text, (size_t)st.st_size, 0, name, e);
	if (rc == ST_OK)
		rc = json_parse(text, (size_t)st.st_size, what, name, doc, e);
	free(text);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Write a text to the temporary file of t. If the text is t->text, keep the file open, because it
 * will be compared with the text later. */
static status json_put_text(target *t, uint64_t id, const char *text, size_t bytes, bool sync,
			    err *e)
{
	int fd = -1;
	status rc = target_create(t, id, &fd, e);
	if (fd < 0)
		return rc;
	if (rc == ST_OK)
		rc = file_write_at(fd, text, bytes, 0, t->path, e);
	const status closed = target_close(t, fd, text == t->text, rc == ST_OK && sync, e);
	return rc == ST_OK ? closed : rc;
}

/* Return the document as text, which ends in a newline, without a zero byte. doc is consumed. */
static char *json_format(json_t *doc, const char *path, size_t *bytes, err *e)
{
	char *text = doc ? json_dumps(doc, JSON_INDENT(2)) : NULL;
	json_decref(doc);
	*bytes = text ? strlen(text) + 1 : 0;
	if (text)
		text[*bytes - 1] = '\n';
	else
		err_set(e, ST_RESOURCE, "no memory for %s", quoted(path));
	return text;
}

status json_stage(json_t *doc, target *t, uint64_t id, bool sync, err *e)
{
	free(t->text);
	t->text = json_format(doc, t->path, &t->text_bytes, e);
	return t->text ? json_put_text(t, id, t->text, t->text_bytes, sync, e) : ST_RESOURCE;
}

static status text_write(const char *text, size_t bytes, target *t, bool sync, err *e)
{
	status rc = json_put_text(t, unique_number(), text, bytes, sync, e);
	if (rc == ST_OK)
		rc = target_commit(t, true, e);
	if (rc != ST_OK) /* the target may be written again, maybe by another thread */
		unfinished_remove(&t->temp);
	return rc == ST_OK && sync ? target_sync_name(t, e) : rc;
}

status json_write(json_t *doc, target *t, bool sync, err *e)
{
	size_t bytes;
	char *text = json_format(doc, t->path, &bytes, e);
	const status rc = text ? text_write(text, bytes, t, sync, e) : ST_RESOURCE;
	free(text);
	return rc;
}

status text_write_role(file_role role, const char *path, const char *text, size_t bytes, bool sync,
		       err *e)
{
	target t;
	if (stream_is_standard(path))
		return file_write_at(STDOUT_FILENO, text, bytes, FILE_APPEND, path, e);
	status rc = target_open(&t, path, e);
	if (rc == ST_OK)
		rc = target_check_role(&t, role, e);
	t.role = role;
	if (rc == ST_OK)
		rc = text_write(text, bytes, &t, sync, e);
	target_discard(&t);
	return rc;
}

status json_write_role(file_role role, const char *path, json_t *doc, bool sync, err *e)
{
	size_t bytes;
	char *text = json_format(doc, path, &bytes, e);
	const status rc = text ? text_write_role(role, path, text, bytes, sync, e) : ST_RESOURCE;
	free(text);
	return rc;
}

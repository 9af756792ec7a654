/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Manifest and report share this: a document is dumped to memory and written as a whole, so that no
 * reader ever sees half of it. */
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

json_t *json_name(const char *path)
{
	char q[QUOTED_BYTES];
	json_t *s = json_string(path);
	return s ? s : json_string(quoted(path, q));
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

static status put_text(const char *text, target *t, bool force, bool sync, err *e)
{
	uint64_t id = 0;
	int fd = -1;
	char q[QUOTED_BYTES];
	if (getrandom(&id, sizeof id, 0) != sizeof id)
		id = (uint64_t)getpid();
	status rc = target_create(t, id, &fd, e);
	if (rc != ST_OK)
		return rc;
	rc = file_write_at(fd, text, strlen(text), 0, t->path, e);
	if (rc == ST_OK && sync && fsync(fd) != 0)
		rc = err_sys(e, errno, "cannot sync %s", quoted(t->path, q));
	if (close(fd) != 0 && rc == ST_OK)
		rc = err_sys(e, errno, "cannot close %s", quoted(t->path, q));
	if (rc == ST_OK)
		rc = target_commit(t, force, e);
	if (rc == ST_OK && sync)
		rc = file_sync_dir(t->dirfd, t->path, e);
	return rc;
}

status json_write(json_t *doc, target *t, bool force, bool sync, err *e)
{
	char q[QUOTED_BYTES];
	char *text = doc ? json_dumps(doc, JSON_INDENT(2)) : NULL;
	json_decref(doc);
	if (!text)
		return err_set(e, ST_RESOURCE, "no memory for %s", quoted(t->path, q));
	const status rc = put_text(text, t, force, sync, e);
	free(text);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wisdom_file.c - wisdom from and to a file; the only place of the library that opens one.
 * May not touch: the format. Costs one read, or one write, fsync and rename: a reader sees the old
 * file or the new one, never half of it. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wisdom.h"

static hetpart_status failed(hetpart_err *err, const char *what, const char *path)
{
	return part_fail(err, HETPART_EIO, "cannot %s '%.160s': %s", what, path, strerror(errno));
}

/* Read all of fd into buf; what does not fit is too long. */
static bool read_all(int fd, char *buf, size_t size, size_t *len)
{
	ssize_t n;

	*len = 0;
	while (*len < size) {
		n = read(fd, buf + *len, size - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		*len += (size_t)n;
	}
	return true;
}

static hetpart_status read_file(const char *path, char **text, size_t *len, hetpart_err *err)
{
	struct stat st;
	hetpart_status rc = HETPART_OK;
	size_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return failed(err, "open", path);
	if (fstat(fd, &st) != 0) {
		rc = failed(err, "read", path);
	} else if (!S_ISREG(st.st_mode)) {
		rc = part_fail(err, HETPART_EIO, "cannot read '%.160s': not a plain file", path);
	} else if ((uint64_t)st.st_size > WISDOM_FILE_BYTES) {
		rc = part_fail(err, HETPART_EFORMAT, "'%.160s' is too long for wisdom", path);
	} else {
		size = (size_t)st.st_size + 1; /* one more: a file that grows is noticed */
		*text = malloc(size);
		if (!*text)
			rc = part_fail(err, HETPART_ENOMEM, "no memory for '%.160s'", path);
		else if (!read_all(fd, *text, size, len))
			rc = failed(err, "read", path);
	}
	close(fd);
	return rc;
}

hetpart_status hetpart_wisdom_load(hetpart_wisdom **out, const char *path, const char *host,
				   uint64_t oldest_s, hetpart_err *err)
{
	char *text = NULL;
	hetpart_err why;
	hetpart_status rc;
	size_t len = 0;

	if (out)
		*out = NULL;
	if (!out || !path)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "path" : "out");
	rc = read_file(path, &text, &len, err);
	if (rc == HETPART_OK) {
		rc = hetpart_wisdom_parse(out, text, len, host, oldest_s, &why);
		if (rc != HETPART_OK)
			part_set_error(err, rc, "'%.60s': %s", path, why.text);
	}
	free(text);
	return rc;
}

/* A new file beside path, its name into temp; -1 and errno if there can be none. */
static int open_beside(const char *path, char *temp, size_t size)
{
	for (unsigned try = 0; try < 100; try++) {
		int n = snprintf(temp, size, "%s.%ld.%u.tmp", path, (long)getpid(), try);
		if (n < 0 || (size_t)n >= size) {
			errno = ENAMETOOLONG;
			return -1;
		}
		int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static bool write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) == 0;
}

/* The new name outlives a power failure; where a folder cannot be synced, that is no fault. */
static void sync_folder(char *path)
{
	int fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		(void)fsync(fd);
		close(fd);
	}
}

static hetpart_status replace(const char *path, const char *text, size_t len, hetpart_err *err)
{
	size_t size = strlen(path) + 64;
	char *temp = malloc(size);
	hetpart_status rc = HETPART_OK;
	bool written;
	int fd;

	if (!temp)
		return part_fail(err, HETPART_ENOMEM, "no memory for '%.160s'", path);
	fd = open_beside(path, temp, size);
	if (fd < 0) {
		rc = failed(err, "create", temp);
		goto out;
	}
	written = write_all(fd, text, len);
	if (close(fd) != 0 || !written)
		rc = failed(err, "write", temp);
	else if (rename(temp, path) != 0)
		rc = failed(err, "replace", path);
	if (rc != HETPART_OK)
		(void)unlink(temp);
	else
		sync_folder(temp);
out:
	free(temp);
	return rc;
}

hetpart_status hetpart_wisdom_save(const hetpart_wisdom *w, const char *path, hetpart_err *err)
{
	size_t len;
	char *text;
	hetpart_status rc;

	if (!w || !path)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", w ? "path" : "wisdom");
	len = hetpart_wisdom_print(w, NULL, 0);
	if (len > WISDOM_FILE_BYTES)
		return part_fail(err, HETPART_ERANGE, "more wisdom than a file may hold");
	text = malloc(len + 1);
	if (!text)
		return part_fail(err, HETPART_ENOMEM, "no memory for '%.160s'", path);
	hetpart_wisdom_print(w, text, len + 1);
	rc = replace(path, text, len, err);
	free(text);
	return rc;
}

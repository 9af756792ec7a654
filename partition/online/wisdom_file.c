/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wisdom_file.c - wisdom in a file, for later jobs. Only this part of the library opens files. The
 * format is in wisdom_text.c.
 *
 * The wisdom file
 *
 * The file is a text. It has a version line, the host, the time, numbers, models with their cells,
 * and a checksum over all that precedes it. It has no index and no free space. It is always read
 * and written as a whole, and it is small: at most WISDOM_FILE_BYTES.
 *
 * Who reads. A program loads the file once when it starts, before it plans. The call opens the
 * file, reads it to its end, closes it, and parses the text in memory. The program never reads the
 * file again: the hetpart_wisdom in memory is a copy.
 *
 * Who writes. The same program saves the wisdom when its job has ended, after it has added its
 * observations. Of a parallel job, only one process should read and write the file, as hetsort does
 * at rank 0. Saving writes the text to a new file in the same directory, calls fsync, and renames
 * the file to its final name. Then it syncs the directory, so that the new name survives a power
 * failure.
 *
 * How writers exclude each other. They do not: there is no lock. Each writer has a temporary file
 * of its own, which O_EXCL guarantees; its name contains the process number. The rename replaces
 * the file in one step, so writers never mix their texts, and the last one wins. The observations
 * of the others since they loaded the file are lost. A lock would keep them, but it can block a job
 * on a shared file system, and the next jobs observe the same machine again.
 *
 * Why readers never see half a file. A reader has either the old file or the new one, because the
 * name changes only after the new file is complete. If a file is damaged by other means, the
 * checksum or a line does not match, and loading fails with HETPART_EFORMAT. The caller then starts
 * without wisdom. No content can make a program fail: every number is checked for its range.
 *
 * Why stale data does no harm. Wisdom only guides the division of work. A wrong cost makes shares
 * unequal, never wrong: they always sum to the number of items. Wisdom of another host, or one that
 * is older than the caller allows, is refused with HETPART_ESTALE. Old observations lose weight by
 * hetpart_model_decay(), so a model follows a machine that changes.
 *
 * Failures. If writing fails or the disk is full, the temporary file is removed and the
 * old file stays. If the process is killed, the temporary file stays and is never read; a later
 * process with the same number chooses another name. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/part.h"

#define WISDOM_FILE_BYTES (UINT64_C(1) << 24) /* the longest file that is read */

static hetpart_status file_failed(hetpart_err *err, const char *what, const char *path)
{
	return part_fail(err, HETPART_EIO, "cannot %s '%.160s': %s", what, path, strerror(errno));
}

/* Read a file into new memory, which the caller frees, also after a failure. */
static hetpart_status read_wisdom(const char *path, char **text, size_t *len, hetpart_err *err)
{
	hetpart_status rc = HETPART_OK;
	struct stat st;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return file_failed(err, "open", path);
	if (fstat(fd, &st) != 0) {
		rc = file_failed(err, "read", path);
	} else if (!S_ISREG(st.st_mode)) {
		rc = part_fail(err, HETPART_EIO, "cannot read '%.160s': not a plain file", path);
	} else if ((uint64_t)st.st_size > WISDOM_FILE_BYTES) {
		rc = part_fail(err, HETPART_EFORMAT, "'%.160s' is too long for wisdom", path);
	} else {
		const size_t size = (size_t)st.st_size + 1; /* + 1 detects a file that grows */
		*text = malloc(size);
		if (!*text)
			rc = part_fail(err, HETPART_ENOMEM, "no memory for '%.160s'", path);
		while (rc == HETPART_OK && *len < size) {
			const ssize_t n = read(fd, *text + *len, size - *len);
			if (n == 0)
				break;
			if (n > 0)
				*len += (size_t)n;
			else if (errno != EINTR)
				rc = file_failed(err, "read", path);
		}
	}
	close(fd);
	return rc;
}

hetpart_status hetpart_wisdom_load(hetpart_wisdom **out, const char *path, const char *host,
				   uint64_t oldest_s, hetpart_err *err)
{
	if (out)
		*out = NULL;
	if (!out || !path)
		return part_is_null(err, out ? "path" : "out");
	char *text = NULL;
	size_t len = 0;
	hetpart_status rc = read_wisdom(path, &text, &len, err);
	if (rc == HETPART_OK) {
		hetpart_err why;
		rc = hetpart_wisdom_parse(out, text, len, host, oldest_s, &why);
		if (rc != HETPART_OK)
			part_set_error(err, rc, "'%.60s': %s", path, why.text);
	}
	free(text);
	return rc;
}

/* Create a temporary file next to path; store its name in temp. Return the descriptor, or -1. */
static int create_next_to(const char *path, char *temp, size_t size)
{
	for (unsigned try = 0; try < 100; try++) {
		const int n = snprintf(temp, size, "%s.%ld.%u.tmp", path, (long)getpid(), try);
		if (n < 0 || (size_t)n >= size) {
			errno = ENAMETOOLONG;
			return -1;
		}
		const int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static bool write_synced(int fd, const char *text, size_t len)
{
	while (len) {
		const ssize_t n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) == 0;
}

/* Replace the file at path by a complete new one. */
static hetpart_status replace_wisdom(const char *path, const char *text, size_t len,
				     hetpart_err *err)
{
	const size_t size = strlen(path) + 64;
	char *const temp = malloc(size);
	if (!temp)
		return part_fail(err, HETPART_ENOMEM, "no memory for '%.160s'", path);
	const int fd = create_next_to(path, temp, size);
	if (fd < 0) {
		const hetpart_status rc = file_failed(err, "create", temp);
		free(temp);
		return rc;
	}
	hetpart_status rc = HETPART_OK;
	const bool written = write_synced(fd, text, len);
	if (close(fd) != 0 || !written)
		rc = file_failed(err, "write", temp);
	else if (rename(temp, path) != 0)
		rc = file_failed(err, "replace", path);
	if (rc != HETPART_OK) {
		(void)unlink(temp);
	} else { /* ignore file systems that cannot sync a directory */
		const int dir = open(dirname(temp), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0) {
			(void)fsync(dir);
			close(dir);
		}
	}
	free(temp);
	return rc;
}

hetpart_status hetpart_wisdom_save(const hetpart_wisdom *w, const char *path, hetpart_err *err)
{
	if (!w || !path)
		return part_is_null(err, w ? "path" : "wisdom");
	const size_t len = hetpart_wisdom_print(w, NULL, 0);
	if (len > WISDOM_FILE_BYTES)
		return part_fail(err, HETPART_ERANGE,
				 "wisdom of %zu bytes is too long for a file, which has at most "
				 "%" PRIu64,
				 len, WISDOM_FILE_BYTES);
	char *const text = malloc(len + 1);
	if (!text)
		return part_fail(err, HETPART_ENOMEM, "no memory for '%.160s'", path);
	hetpart_wisdom_print(w, text, len + 1);
	const hetpart_status rc = replace_wisdom(path, text, len, err);
	free(text);
	return rc;
}

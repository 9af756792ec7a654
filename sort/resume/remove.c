/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One walk through the directory. What is gone already is no failure: ranks may remove the same. */
#include "remove.h"
#include "states.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

status remove_spares_inputs(int dirfd, const char *name, const input *in, err *e)
{
	char q[QUOTED_BYTES];
	struct stat st;
	if (fstatat(dirfd, name, &st, 0) != 0)
		return ST_OK;
	for (size_t i = 0; i < in->files; i++)
		if (st.st_ino == in->file[i].st.st_ino && st.st_dev == in->file[i].st.st_dev)
			return err_set(e, ST_REFUSED,
				       "input %s has the name of a run in the workdir",
				       err_quoted(in->file[i].path, q));
	return ST_OK;
}

status remove_files(int dirfd, remove_goes *goes, const void *arg, const char *path,
		    const input *in, unsigned *removed, err *e)
{
	char q[QUOTED_BYTES];
	status rc = ST_OK;
	const int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		rc = err_sys(e, errno, "cannot look for what is beside %s, which stays",
			     err_quoted(path, q));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (const struct dirent *f; rc == ST_OK && (f = readdir(d));) {
		if (!goes(f->d_name, arg))
			continue;
		if (in && (rc = remove_spares_inputs(dirfd, f->d_name, in, e)) != ST_OK)
			break;
		if (unlinkat(dirfd, f->d_name, 0) == 0)
			++*removed;
		else if (errno != ENOENT)
			rc = err_sys(e, errno, "cannot remove %s", err_quoted(f->d_name, q));
	}
	closedir(d);
	return rc;
}

bool remove_is_of(const char *name, const char *kind, int64_t *rank, const char **rest)
{
	if (strncmp(name, RESUME_PREFIX, strlen(RESUME_PREFIX)) != 0 || !states_rank_of(name, rank))
		return false;
	*rest = strchr(name, '.');
	if (!*rest || strncmp(*rest, kind, strlen(kind)) != 0)
		return false;
	*rest += strlen(kind);
	return true;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way of a target from its temporary name to its final one. Names are resolved once, in a
 * directory that is kept open, and symbolic links are not followed. */
#include "target.h"
#include "base/arith.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	TEMP_FLAGS = O_RDWR | O_NOFOLLOW | O_CLOEXEC,
	RIGHTS = 0777,
	OWNERS = 0600,
	GROUPS = 070,
	BLOCK_BYTES = 4096
};

status target_check_dir(const target *t, const char *what, err *e)
{
	struct statx st;
	if (faccessat(t->dirfd, ".", W_OK | X_OK, AT_EACCESS) != 0)
		return err_refuse(e, errno, "cannot %s %s", what, quoted(t->path));
	if (statx(t->dirfd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 &&
	    (st.stx_attributes & STATX_ATTR_APPEND))
		return err_set(e, ST_REFUSED,
			       "cannot %s %s: its directory is append-only, so files in it cannot "
			       "be renamed",
			       what, quoted(t->path));
	return ST_OK;
}

status target_check_replace(const target *t, err *e)
{
	const uint64_t fixed = STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND;
	struct statx st;
	if (statx(t->dirfd, t->base, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_UID, &st) != 0 ||
	    !S_ISREG(st.stx_mode))
		return ST_OK; /* reported elsewhere */
	if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return err_set(e, ST_REFUSED,
			       "cannot replace %s, because another file is mounted there",
			       quoted(t->path));
	/* The kernel first checks whether the name may be removed, and then that a regular file is
	 * no directory. So this never removes the file. It is the only way to find out about
	 * capabilities, user namespaces and file systems with rules of their own. */
	if (unlinkat(t->dirfd, t->base, AT_REMOVEDIR) == 0 || errno != EPERM)
		return ST_OK;
	return err_set(e, ST_REFUSED, "cannot replace %s: it is %s", quoted(t->path),
		       st.stx_attributes & fixed ? "immutable or append-only"
		       : st.stx_uid != geteuid()
			       ? "the file of another user, in a directory with the sticky bit"
			       : "protected");
}

/* Do the work of target_check. what: of a directory that cannot be used, for messages. */
static status check_target(target *t, bool force, const char *what, err *e)
{
	struct stat st;
	if (fstatat(t->dirfd, t->base, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno == ENOENT)
			return target_check_dir(t, what, e);
		return err_refuse(e, errno, "cannot look at %s", quoted(t->path));
	}
	const char *is = S_ISDIR(st.st_mode)   ? "a directory"
			 : S_ISLNK(st.st_mode) ? "a symbolic link"
			 : S_ISREG(st.st_mode) ? NULL
					       : "not a regular file";
	if (is)
		return err_set(e, ST_REFUSED, "output %s is %s", quoted(t->path), is);
	if (!force)
		return err_set(e, ST_REFUSED, "output %s exists; use --force to replace it",
			       quoted(t->path));
	t->replaces = true;
	t->old_mode = st.st_mode & RIGHTS;
	t->old_gid = st.st_gid;
	return target_check_dir(t, what, e);
}

status target_check(target *t, bool force, err *e)
{
	return check_target(t, force, "create output", e);
}

status target_check_role(target *t, file_role role, err *e)
{
	char what[40];
	snprintf(what, sizeof what, "make %s", role_name(role));
	const status rc = check_target(t, true, what, e);
	if (rc == ST_OK && t->replaces && !role_wrote(role, t->dirfd, t->base))
		return err_set(e, ST_REFUSED,
			       "%s exists and was not written by %s: choose another name, or "
			       "remove it",
			       quoted(t->path), role_writer(role));
	return rc == ST_OK ? target_check_replace(t, e) : rc;
}

static status set_mode(const target *t, int fd, mode_t mode, err *e)
{
	return fchmod(fd, mode) == 0
		       ? ST_OK
		       : err_sys(e, errno, "cannot set the mode of %s", quoted(t->path));
}

status target_note(target *t, target_kind kind, const file_id *is, err *e)
{
	t->own = (hidden_file){ kind, t->id, *is };
	return t->lock_fd >= 0 ? target_write_lock(t, e) : ST_OK;
}

status target_create(target *t, uint64_t id, int *fd, err *e)
{
	struct stat st;
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	t->id = id;
	t->kind = TARGET_TEMP;
	t->named = false;
	t->temp.dirfd = t->dirfd;
	*fd = -1;
	status rc = target_note(t, TARGET_TEMP, &(file_id){ 0 }, e);
	if (rc != ST_OK)
		return rc;
	target_hidden_name(t, t->kind, t->temp.name);
	unfinished_hold();
	*fd = openat(t->dirfd, t->temp.name, TEMP_FLAGS | O_CREAT | O_EXCL, 0666);
	if (*fd >= 0)
		unfinished_note(&t->temp);
	else
		t->temp.name[0] = '\0';
	unfinished_release();
	if (*fd < 0)
		return err_sys(e, errno, "cannot create a file next to %s", quoted(t->path));
	rc = target_note(t, TARGET_TEMP, &t->temp.is, e);
	if (rc != ST_OK)
		return rc;
	/* set mode and group while the file is empty; until it is complete, its owner may write */
	if (fstat(*fd, &st) != 0)
		return err_sys(e, errno, "cannot look at the file next to %s", quoted(t->path));
	const mode_t has = st.st_mode & RIGHTS;
	t->mode = t->replaces ? t->old_mode : has & (t->most | OWNERS);
	if (t->replaces && st.st_gid != t->old_gid && fchown(*fd, (uid_t)-1, t->old_gid) != 0)
		t->mode &= (mode_t)~GROUPS; /* these rights were meant for the old group */
	const mode_t now = t->mode | OWNERS;
	return now == has ? ST_OK : set_mode(t, *fd, now, e);
}

/* Return whether the directory is on a local file system, with hard links and modes. */
static bool is_local(const target *t)
{
	struct statfs fs;
	if (fstatfs(t->dirfd, &fs) != 0)
		return true;
	switch (fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

status target_try(target *t, bool force, err *e)
{
	const target before = *t;
	int fd = -1;
	if (is_local(t))
		return ST_OK;
	/* both names are noted before the file is made */
	hidden_file *left = realloc(t->left, (t->lefts + 1) * sizeof *left);
	if (!left)
		return err_set(e, ST_RESOURCE, "no memory for the name %s", quoted(t->path));
	t->left = left;
	const uint64_t id = unique_number();
	t->left[t->lefts++] = (hidden_file){ TARGET_OLD, id, { 0 } };
	status rc = target_create(t, id, &fd, e);
	if (rc == ST_OK && t->mode != (t->mode | OWNERS))
		rc = set_mode(t, fd, t->mode, e);
	const char *from = target_hidden(t, TARGET_TEMP), *to = target_hidden(t, TARGET_OLD);
	if (rc == ST_OK && (force ? renameat(t->dirfd, from, t->dirfd, to)
				  : file_rename_new(t->dirfd, from, to)) != 0)
		rc = err_refuse(e, errno, "cannot rename a file next to %s%s", quoted(t->path),
				force ? ""
				      : " without replacing another, as --force does for a "
					"single output");
	if (rc == ST_OK && unlinkat(t->dirfd, to, 0) == 0)
		unfinished_forget(&t->temp);
	else
		unfinished_remove(&t->temp);
	if (fd >= 0)
		close(fd);
	t->lefts--;
	t->id = before.id;
	t->kind = before.kind;
	t->mode = before.mode;
	t->own = before.own;
	return rc;
}

status target_attach(target *t, uint64_t id, int *fd, err *e)
{
	t->id = id;
	t->shared = true;
	t->temp.dirfd = t->dirfd;
	target_hidden_name(t, t->kind, t->temp.name);
	unfinished_note(&t->temp);
	*fd = openat(t->dirfd, t->temp.name, TEMP_FLAGS);
	return *fd >= 0 ? ST_OK
			: err_sys(e, errno, "cannot open the file next to %s", quoted(t->path));
}

void target_keep(target *t, bool with_lock)
{
	unfinished_forget(&t->temp);
	if (with_lock)
		unfinished_forget(&t->lock);
	else
		target_list_lock(t);
}

void target_find(target *t, uint64_t id, int *fd)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	t->id = id;
	*fd = openat(t->dirfd, target_hidden(t, t->kind), flags);
	t->named = *fd < 0;
	if (t->named)
		*fd = openat(t->dirfd, t->base, flags);
}

bool target_drop(const target *t)
{
	const char *name = target_hidden(t, TARGET_TEMP);
	for (size_t i = 0; i < t->lefts; i++)
		if (t->left[i].id == t->id && t->left[i].kind == TARGET_TEMP)
			(void)file_remove(t->dirfd, name, &t->left[i].is, NULL);
	return !file_exists(t->dirfd, name);
}

status target_close(target *t, int fd, bool hold, bool sync, err *e)
{
	status rc = ST_OK;
	if (t->mode && t->mode != (t->mode | OWNERS))
		rc = set_mode(t, fd, t->mode, e);
	if (rc == ST_OK && sync && t->lock_fd >= 0)
		(void)fdatasync(t->lock_fd); /* the note before its file */
	if (rc == ST_OK && sync && fsync(fd) != 0)
		rc = err_sys(e, errno, "cannot sync %s", quoted(t->path));
	if (rc == ST_OK && hold && (t->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
		rc = err_sys(e, errno, "cannot hold %s open", quoted(t->path));
	if (close(fd) != 0 && rc == ST_OK)
		rc = err_sys(e, errno, "cannot close %s", quoted(t->path));
	return rc;
}

/* Read a block; return 0 or an errno. */
static int target_read_block(int fd, char *to, size_t n, off_t at)
{
	errno = EIO; /* if the file is too short */
	return file_read_at(fd, to, n, (uint64_t)at, "", NULL) == ST_OK ? 0 : errno;
}

/* Return 0 if this name leads to the written file, else ENOENT for no file, EEXIST for another
 * file, EILSEQ for other content, or the errno of a call. Compare all blocks of a text, else the
 * first and the last. */
static int target_compare(const target *t, int dirfd, const char *name)
{
	char read_there[BLOCK_BYTES], read_written[BLOCK_BYTES];
	struct stat written, there;
	if (fstat(t->fd, &written) != 0 || fstatat(dirfd, name, &there, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	if (written.st_dev != there.st_dev || written.st_ino != there.st_ino)
		return EEXIST;
	const off_t size = there.st_size;
	if (written.st_size != size || (t->text && (size_t)size != t->text_bytes))
		return EILSEQ;
	const int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) /* its mode may forbid its owner to read it */
		return errno == EACCES ? 0 : errno;
	const bool all = t->text || size <= BLOCK_BYTES;
	const off_t step = all ? BLOCK_BYTES : size - BLOCK_BYTES;
	int why = 0;
	for (off_t at = 0; why == 0 && at < size; at += step) {
		const size_t n = size_min((size_t)(size - at), BLOCK_BYTES);
		why = target_read_block(fd, read_there, n, at);
		if (why == 0 && !t->text)
			why = target_read_block(t->fd, read_written, n, at);
		if (why == 0 && memcmp(read_there, t->text ? t->text + at : read_written, n) != 0)
			why = EILSEQ;
	}
	close(fd);
	return why;
}

status target_ready(const target *t, bool force, err *e)
{
	if (t->named)
		return ST_OK;
	const int why = target_compare(t, t->dirfd, target_hidden(t, t->kind));
	if (why == EEXIST || why == ENOENT)
		return err_set(e, ST_IO, "another program %s the temporary file of %s",
			       why == EEXIST ? "replaced" : "removed", quoted(t->path));
	if (why == EILSEQ)
		return err_set(e, ST_IO, "the temporary file of %s is not as it was written",
			       quoted(t->path));
	if (why)
		return err_sys(e, why, "cannot look at the temporary file of %s", quoted(t->path));
	if (!force && file_exists(t->dirfd, t->base))
		return err_set(e, ST_REFUSED, "another program created the output %s",
			       quoted(t->path));
	return ST_OK;
}

/* Replace an existing file if hetsort wrote it for t->role. First exchange the names of the two
 * files, so that the old file can be checked under the temporary name. No signal may end the
 * process then, because the list of unfinished files contains this name. Return 0, or -1 with
 * errno. */
static int replace_proven(target *t, const char *temp)
{
	unfinished_hold();
	int rc = renameat2(t->dirfd, temp, t->dirfd, t->base, RENAME_EXCHANGE), why = errno;
	const bool exchanged = rc == 0;
	if (exchanged && role_wrote(t->role, t->dirfd, temp)) {
		(void)unlinkat(t->dirfd, temp, 0); /* this removes the old file */
		unfinished_forget(&t->temp);
	} else if (exchanged) {
		rc = renameat2(t->dirfd, temp, t->dirfd, t->base, RENAME_EXCHANGE);
		why = rc == 0 ? EEXIST : errno;
		if (rc != 0) /* the temporary name is now the name of another program's file */
			unfinished_forget(&t->temp);
		rc = -1;
	}
	unfinished_release();
	errno = why;
	if (exchanged)
		return rc;
	if (errno == ENOENT)
		return file_rename_new(t->dirfd, temp, t->base);
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	errno = EEXIST; /* this file system cannot exchange names */
	return role_wrote(t->role, t->dirfd, t->base) ? renameat(t->dirfd, temp, t->dirfd, t->base)
						      : -1;
}

status target_commit(target *t, bool force, err *e)
{
	const char *temp = target_hidden(t, t->kind);
	if (t->named)
		return ST_OK;
	const bool proven = t->role != ROLE_ANY;
	const int rc = proven && t->replaces ? replace_proven(t, temp)
		       : proven || !force    ? file_rename_new(t->dirfd, temp, t->base)
					     : renameat(t->dirfd, temp, t->dirfd, t->base);
	if (rc != 0 && errno == EEXIST)
		return err_set(e, ST_REFUSED, "another program created the output %s",
			       quoted(t->path));
	if (rc != 0)
		return err_sys(e, errno, "cannot rename onto %s", quoted(t->path));
	unfinished_forget(&t->temp);
	target_list_lock(t);
	return ST_OK;
}

status target_look(const target *t, err *e)
{
	const int why = target_compare(t, AT_FDCWD, t->path);
	const char *q = quoted(t->path);
	if (why == EEXIST)
		return err_set(
			e, ST_IO,
			"%s is complete, but another file has its name: it was exchanged, or "
			"its directory was moved",
			q);
	if (why == EILSEQ)
		return err_set(e, ST_IO,
			       "%s was written and renamed, but the file of that name is not as it "
			       "was written",
			       q);
	if (why)
		return err_sys(e, why, "%s is complete, but cannot be found there again", q);
	return ST_OK;
}

status target_sync_name(const target *t, err *e)
{
	return fsync(t->dirfd) == 0 || errno == EINVAL
		       ? ST_OK
		       : err_sys(e, errno,
				 "%s is complete, but its name may not outlast a loss of power: "
				 "cannot sync its directory",
				 quoted(t->path));
}

void target_sweep_after(int rank, int size, target_of_rank *path, const void *arg, uint64_t kept_id)
{
	bool swept = true;
	for (int i = (rank + 1) % size; swept && i != rank; i = (i + 1) % size) {
		char *name = path(i, arg);
		swept = name && target_sweep(name, kept_id, NULL, NULL);
		free(name);
	}
}

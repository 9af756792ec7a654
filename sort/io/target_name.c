/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hidden names next to a target, and what its lock notes of the files that have them. The text of a
 * lock is described at the head of target_lock.c. */
#include "target.h"
#include "file.h"
#include "number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define PREFIX ".hetsort-"
static const char *const suffixes[] = { [TARGET_TEMP] = ".tmp",
					[TARGET_ADDS] = ".commit",
					[TARGET_REPLACES] = ".replace",
					[TARGET_REPLACES_ONE] = ".replace1",
					[TARGET_OLD] = ".old" };
#define NOTE "%d %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n"
enum { SHOWN_BYTES = 32, HOLDER_BYTES = 112, NOTE_BYTES = 80 };

uint64_t target_mark(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	return XXH3_64bits(base, strlen(base));
}

size_t target_shown_bytes(const char *name, target_kind kind)
{
	return strlen(name) - strlen(PREFIX) - 2 * 17 - strlen(suffixes[kind]);
}

/* A journal's name has as much of the target's name as the file system allows: --clean of a part
 * finds the manifest by it. In the others it only helps whoever lists the directory. */
static size_t shown_bytes(const target *t, target_kind kind)
{
	const size_t others = strlen(PREFIX) + 2 * 17 + strlen(suffixes[kind]);
	if (!target_is_journal(kind))
		return SHOWN_BYTES;
	const long most = fpathconf(t->dirfd, _PC_NAME_MAX);
	const size_t room = most > 0 && most < UNFINISHED_NAME_BYTES ? (size_t)most : NAME_MAX;
	return t->shown ? t->shown : room > others + SHOWN_BYTES ? room - others : SHOWN_BYTES;
}

void target_hidden_name(const target *t, target_kind kind, char name[UNFINISHED_NAME_BYTES])
{
	snprintf(name, UNFINISHED_NAME_BYTES, PREFIX "%016" PRIx64 "-%016" PRIx64 "-%.*s%s",
		 t->mark, t->id, (int)shown_bytes(t, kind), t->base, suffixes[kind]);
}

/* Read the number at *s, of 16 digits and a hyphen. */
static bool mark_at(const char **s, uint64_t *v)
{
	return number_hex(s, v) && *(*s)++ == '-';
}

bool target_parse_name(const char *name, uint64_t *mark, uint64_t *id, target_kind *kind)
{
	const char *at = name + strlen(PREFIX);
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !mark_at(&at, mark) || !mark_at(&at, id))
		return false;
	const size_t len = strlen(at);
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		const size_t n = strlen(suffixes[i]);
		if (len > n && strcmp(at + len - n, suffixes[i]) == 0) {
			*kind = (target_kind)i;
			return true;
		}
	}
	return false;
}

const char *target_parse_lock_name(const char *name, uint64_t *mark)
{
	const char *at = name + strlen(PREFIX);
	const size_t len = strlen(name), suffix = strlen(".lock");
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !mark_at(&at, mark) || len < suffix ||
	    strcmp(name + len - suffix, ".lock") != 0)
		return NULL;
	return at;
}

bool target_is_cut(const char *base)
{
	return strlen(base) >= SHOWN_BYTES + strlen(".lock");
}

char *target_hidden_path(const target *beside, const char *name, target_kind kind)
{
	const char *base = name + strlen(PREFIX) + 2 * 17;
	const char *slash = strrchr(beside->path, '/');
	const size_t dir = slash ? (size_t)(slash - beside->path) + 1 : 0;
	const size_t len = strlen(base) - strlen(suffixes[kind]);
	char *path = malloc(dir + len + 1);
	if (!path)
		return NULL;
	memcpy(path, beside->path, dir);
	memcpy(path + dir, base, len);
	path[dir + len] = '\0';
	return path;
}

DIR *target_list(const target *t)
{
	const int fd = openat(t->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !d)
		close(fd);
	return d;
}

bool target_has_journal(const target *t, uint64_t id)
{
	uint64_t mark, other;
	target_kind kind;
	DIR *d = target_list(t);
	bool has = !d;
	for (const struct dirent *f; d && !has && (f = readdir(d));)
		has = target_parse_name(f->d_name, &mark, &other, &kind) && other == id &&
		      target_is_journal(kind);
	if (d)
		closedir(d);
	return has;
}

void target_noted_name(const target *t, const hidden_file *f, char name[UNFINISHED_NAME_BYTES])
{
	target x = *t;
	x.id = f->id;
	target_hidden_name(&x, f->kind, name);
}

static int print_note(char *to, int kind, uint64_t id, const file_id *is)
{
	return snprintf(to, NOTE_BYTES, NOTE, kind, id, is->inode, (uint64_t)is->born_s,
			(uint64_t)is->born_ns);
}

/* The lines have fixed lengths, and their number only grows, so nothing old is left after them. */
status target_write_lock(const target *t, err *e)
{
	char host[HOLDER_BYTES / 2] = "";
	char *text = malloc(HOLDER_BYTES + (t->lefts + 2) * NOTE_BYTES);
	if (!text)
		return err_set(e, ST_RESOURCE, "no memory for the lock of %s", quoted(t->path));
	if (gethostname(host, sizeof host - 1) != 0)
		strcpy(host, "unknown");
	int n = snprintf(text, HOLDER_BYTES, TARGET_LOCK_MARK "process %ld on %s\n", (long)getpid(),
			 host);
	n += print_note(text + n, TARGET_DIR_NOTE, 0, &t->dir);
	for (size_t i = 0; i < t->lefts; i++)
		n += print_note(text + n, (int)t->left[i].kind, t->left[i].id, &t->left[i].is);
	if (t->own.id)
		n += print_note(text + n, (int)t->own.kind, t->own.id, &t->own.is);
	const bool done = file_write_at(t->lock_fd, text, (size_t)n, 0, t->path, NULL) == ST_OK;
	const int errnum = errno;
	free(text);
	return done ? ST_OK : err_sys(e, errnum, "cannot write the lock of %s", quoted(t->path));
}

status target_note(target *t, target_kind kind, const file_id *is, err *e)
{
	t->own = (hidden_file){ kind, t->id, *is };
	return t->lock_fd >= 0 ? target_write_lock(t, e) : ST_OK;
}

bool target_drop(const target *t)
{
	char name[UNFINISHED_NAME_BYTES];
	struct stat st;
	unsigned removed = 0;
	target_hidden_name(t, TARGET_TEMP, name);
	for (size_t i = 0; i < t->lefts; i++)
		if (t->left[i].id == t->id && t->left[i].kind == TARGET_TEMP)
			(void)file_remove(t->dirfd, name, &t->left[i].is, &removed);
	return fstatat(t->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0;
}

static bool notes_a_file(const target *t, const hidden_file *f)
{
	char name[UNFINISHED_NAME_BYTES];
	target_noted_name(t, f, name);
	return f->is.inode && file_is(t->dirfd, name, &f->is);
}

bool target_notes_files(const target *t)
{
	bool needed = notes_a_file(t, &t->own);
	for (size_t i = 0; i < t->lefts; i++)
		needed = needed || notes_a_file(t, &t->left[i]);
	return needed;
}

void target_name_lock(target *t)
{
	t->lock.dirfd = t->dirfd;
	t->lock.is_lock = true;
	snprintf(t->lock.name, sizeof t->lock.name, ".hetsort-%016" PRIx64 "-%.32s.lock", t->mark,
		 t->base);
}

void target_list_lock(target *t)
{
	if (t->lock_fd < 0 || *t->lock.name)
		return;
	target_name_lock(t);
	unfinished_note(&t->lock);
}

void target_release(target *t)
{
	if (t->shared) {
		unfinished_forget(&t->temp);
		unfinished_forget(&t->lock);
	}
	unfinished_remove(&t->temp);
	if (!t->base || t->lock_fd < 0)
		return;
	target_list_lock(t);
	if (target_notes_files(t))
		unfinished_forget(&t->lock);
	else /* before unlocking: no job may lock a file that is removed */
		unfinished_remove(&t->lock);
	close(t->lock_fd);
	t->lock_fd = -1;
}

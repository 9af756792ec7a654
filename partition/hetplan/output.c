/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output.c - the files that hetplan writes, all of them here. A file that exists is replaced only
 * if it begins as hetplan begins such a file, and never if this run reads it, under whatever name.
 * The new file gets its name when it is complete, so a failure leaves the old one.
 * May not touch: what is written. Costs a look at each file that an option names, and an fsync. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hetplan.h"

static const struct {
	const char *option, *mark;
} roles[] = {
	[HP_SVG] = { "--svg", HP_SVG_MARK },
	[HP_HTML] = { "--html", HP_HTML_MARK },
};

static const char *path_of(const struct hp_args *a, enum hp_role role)
{
	return role == HP_SVG ? a->svg : a->html;
}

/* Pipes and terminals hold nothing that could be lost; the call that opens a directory refuses. */
static bool keeps_nothing(const struct stat *st)
{
	return S_ISFIFO(st->st_mode) || S_ISCHR(st->st_mode) || S_ISDIR(st->st_mode);
}

static void note_file(struct hp_args *a, const char *used_by, const struct stat *st)
{
	if (S_ISREG(st->st_mode) && a->nfiles < HP_LEN(a->file))
		a->file[a->nfiles++] = (struct hp_file){ used_by, st->st_dev, st->st_ino };
}

/* The files that this run reads, and standard output, as they are before any of them is opened. */
static void note_files(struct hp_args *a)
{
	static const char *const streams[] = { "standard input", "standard output",
					       "standard error" };
	const char *speeds = json_string_value(json_object_get(a->set, "speeds"));
	struct stat st;

	if (a->input && stat(a->input, &st) == 0)
		note_file(a, strcmp(a->verb, "show") == 0 ? "the plan to show" : "--input", &st);
	if (speeds && stat(speeds, &st) == 0)
		note_file(a, "--speeds", &st);
	for (int fd = 0; fd <= 2; fd++)
		if (fstat(fd, &st) == 0)
			note_file(a, streams[fd], &st);
}

static bool has_mark(const char *path, const char *mark)
{
	char head[128];
	size_t size = strlen(mark);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool same =
		fd >= 0 && read(fd, head, size) == (ssize_t)size && memcmp(head, mark, size) == 0;

	if (fd >= 0)
		close(fd);
	return same;
}

/* Whether the file of the role may be written; if not, the reason is in why. */
static bool may_write(const struct hp_args *a, enum hp_role role, char why[HP_TEXT_BYTES])
{
	const char *path = path_of(a, role);
	struct stat st;

	if (stat(path, &st) != 0) {
		if (lstat(path, &st) != 0)
			return true; /* it does not exist, or the call that creates it says why */
		snprintf(why, HP_TEXT_BYTES,
			 "'%.128s' is a symbolic link to a file that does not exist: name that "
			 "file, or remove the link",
			 path);
		return false;
	}
	if (keeps_nothing(&st))
		return true;
	for (size_t i = 0; i < a->nfiles; i++)
		if (a->file[i].dev == st.st_dev && a->file[i].ino == st.st_ino) {
			snprintf(why, HP_TEXT_BYTES,
				 "'%.128s' is the same file as %s: choose another name", path,
				 a->file[i].used_by);
			return false;
		}
	if (has_mark(path, roles[role].mark))
		return true;
	snprintf(why, HP_TEXT_BYTES,
		 "'%.128s' exists and was not written by hetplan %s: choose another name, or "
		 "remove it",
		 path, roles[role].option);
	return false;
}

/* The name without links of a file, which need not exist; NULL and errno if its directory does not
 * exist. The caller frees it. */
static char *resolve(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = realpath(path, NULL), *copy, *dir;

	if (name || errno != ENOENT || !(copy = strdup(path)))
		return name;
	dir = realpath(dirname(copy), NULL);
	path = slash ? slash + 1 : path;
	if (dir && (name = malloc(strlen(dir) + strlen(path) + 2)))
		sprintf(name, "%s/%s", dir, path);
	free(dir);
	free(copy);
	return name;
}

static bool same_name(const char *a, const char *b)
{
	char *x = resolve(a), *y = resolve(b);
	bool same = x && y && strcmp(x, y) == 0;

	free(x);
	free(y);
	return same;
}

bool hp_outputs_check(struct hp_args *a)
{
	char why[HP_TEXT_BYTES];

	note_files(a);
	for (enum hp_role role = HP_SVG; role <= HP_HTML; role++)
		if (path_of(a, role) && !may_write(a, role, why)) {
			hp_say("%s", why);
			return false;
		}
	if (a->svg && a->html && same_name(a->svg, a->html)) {
		hp_say("--svg and --html name the same file, '%.128s': choose another name for one",
		       a->svg);
		return false;
	}
	return true;
}

/* A file next to the one that it replaces, with the same rights. */
static int create(struct hp_output *o)
{
	const mode_t mask = umask(077);
	struct stat st;
	size_t dir;
	int fd;

	umask(mask);
	if (!(o->name = resolve(o->path)))
		return -1;
	dir = (size_t)(strrchr(o->name, '/') + 1 - o->name);
	if (!(o->temp = malloc(dir + sizeof ".hetplan-XXXXXX")))
		return -1;
	memcpy(o->temp, o->name, dir);
	strcpy(o->temp + dir, ".hetplan-XXXXXX");
	if ((fd = mkstemp(o->temp)) < 0) {
		free(o->temp);
		o->temp = NULL;
	} else if (fchmod(fd, stat(o->name, &st) == 0 ? st.st_mode & 0777 : 0666 & ~mask) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Remove what is incomplete, and give back the names. */
static void drop(struct hp_output *o)
{
	if (o->temp)
		(void)unlink(o->temp);
	free(o->temp);
	free(o->name);
}

bool hp_output_open(struct hp_output *o, struct hp_job *job, const struct hp_args *a,
		    enum hp_role role)
{
	struct stat st;
	int fd;

	*o = (struct hp_output){ .job = job, .args = a, .role = role, .path = path_of(a, role) };
	fd = stat(o->path, &st) == 0 && keeps_nothing(&st)
		     ? open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
		     : create(o);
	o->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (o->f)
		return true;
	hp_tell(job, NULL, "cannot create '%.128s': %s", o->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	drop(o);
	return false;
}

bool hp_output_close(struct hp_output *o, bool ok)
{
	char why[HP_TEXT_BYTES] = "";

	ok = ok && fflush(o->f) == 0 && (!o->temp || fsync(fileno(o->f)) == 0);
	if (!ok)
		snprintf(why, sizeof why, "cannot write '%.128s': %s", o->path, strerror(errno));
	if (fclose(o->f) != 0 && ok) {
		snprintf(why, sizeof why, "cannot write '%.128s': %s", o->path, strerror(errno));
		ok = false;
	}
	if (ok && o->temp && (ok = may_write(o->args, o->role, why))) {
		if (rename(o->temp, o->name) == 0) {
			free(o->temp);
			o->temp = NULL;
		} else {
			snprintf(why, sizeof why, "cannot replace '%.128s': %s", o->path,
				 strerror(errno));
			ok = false;
		}
	}
	drop(o);
	return ok || hp_fail(o->job, NULL, "%s", why);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output_file.c - all files that hetplan writes. An existing file is replaced only if it begins
 * like a file of hetplan, and never if this job reads it, under any name. The new file gets its
 * name when it is complete, so after a failure the old file still exists. Each file is synced to
 * the disk once. */
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

static const char *role_path(const hp_args *a, hp_role role)
{
	return role == HP_SVG ? a->svg : a->html;
}

/* Return whether writing to the file destroys no contents. A directory is reported later, when it
 * is opened. */
static bool keeps_nothing(const struct stat *st)
{
	return S_ISFIFO(st->st_mode) || S_ISCHR(st->st_mode) || S_ISDIR(st->st_mode);
}

static void record_file(hp_args *a, const char *used_by, const struct stat *st)
{
	if (S_ISREG(st->st_mode) && a->nfiles < HP_LEN(a->file))
		a->file[a->nfiles++] = (hp_file){ used_by, st->st_dev, st->st_ino };
}

/* Return whether the file for that role may be written; if not, store the reason in why. */
static bool may_write(const hp_args *a, hp_role role, char why[HP_TEXT_BYTES])
{
	const char *const path = role_path(a, role), *const mark = roles[role].mark;
	struct stat st;
	if (stat(path, &st) != 0) {
		if (lstat(path, &st) != 0)
			return true; /* it does not exist, or creating it reports the error */
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
	char head[128];
	const size_t size = strlen(mark);
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const bool marked =
		fd >= 0 && read(fd, head, size) == (ssize_t)size && memcmp(head, mark, size) == 0;
	if (fd >= 0)
		close(fd);
	if (!marked)
		snprintf(why, HP_TEXT_BYTES,
			 "'%.128s' exists and was not written by hetplan %s: choose another name, "
			 "or remove it",
			 path, roles[role].option);
	return marked;
}

/* Return the absolute name of a file, without symbolic links; the file need not exist. The caller
 * frees it. Return NULL and set errno if the directory does not exist. */
static char *resolve_path(const char *path)
{
	const char *const slash = strrchr(path, '/');
	char *name = realpath(path, NULL), *copy;
	if (name || errno != ENOENT || !(copy = strdup(path)))
		return name;
	char *const dir = realpath(dirname(copy), NULL);
	path = slash ? slash + 1 : path;
	if (dir && (name = malloc(strlen(dir) + strlen(path) + 2)))
		sprintf(name, "%s/%s", dir, path);
	free(dir);
	free(copy);
	return name;
}

bool hp_outputs_check(hp_args *a)
{
	static const char *const streams[] = { "standard input", "standard output",
					       "standard error" };
	const char *const speeds = json_string_value(json_object_get(a->set, "speeds"));
	struct stat st;
	if (a->input && stat(a->input, &st) == 0)
		record_file(a, strcmp(a->verb, "show") == 0 ? "the plan to show" : "--input", &st);
	if (speeds && stat(speeds, &st) == 0)
		record_file(a, "--speeds", &st);
	for (int fd = 0; fd <= 2; fd++)
		if (fstat(fd, &st) == 0)
			record_file(a, streams[fd], &st);
	char why[HP_TEXT_BYTES];
	for (hp_role role = HP_SVG; role <= HP_HTML; role++)
		if (role_path(a, role) && !may_write(a, role, why)) {
			hp_say("%s", why);
			return false;
		}
	if (!a->svg || !a->html)
		return true;
	char *const svg = resolve_path(a->svg), *const html = resolve_path(a->html);
	const bool same = svg && html && strcmp(svg, html) == 0;
	free(svg);
	free(html);
	if (same)
		hp_say("--svg and --html name the same file, '%.128s': choose another name for one",
		       a->svg);
	return !same;
}

/* Create a temporary file in the directory of the final name, with the permissions of the file that
 * it will replace. Return its descriptor, or -1. */
static int create_temp(hp_output *o)
{
	static const char suffix[] = ".hetplan-XXXXXX";
	const mode_t mask = umask(077);
	umask(mask);
	if (!(o->name = resolve_path(o->path)))
		return -1;
	const size_t dir = (size_t)(strrchr(o->name, '/') + 1 - o->name);
	if (!(o->temp = malloc(dir + sizeof suffix)))
		return -1;
	memcpy(o->temp, o->name, dir);
	memcpy(o->temp + dir, suffix, sizeof suffix);
	int fd = mkstemp(o->temp);
	struct stat st;
	if (fd < 0) {
		free(o->temp);
		o->temp = NULL;
	} else if (fchmod(fd, stat(o->name, &st) == 0 ? st.st_mode & 0777 : 0666 & ~mask) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Remove an incomplete file, and free the names. */
static void drop_output(hp_output *o)
{
	if (o->temp)
		(void)unlink(o->temp);
	free(o->temp);
	free(o->name);
}

bool hp_output_open(hp_output *o, hp_job *job, const hp_args *a, hp_role role)
{
	struct stat st;
	*o = (hp_output){ .job = job, .args = a, .role = role, .path = role_path(a, role) };
	const int fd = stat(o->path, &st) == 0 && keeps_nothing(&st)
			       ? open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
			       : create_temp(o);
	o->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (o->f)
		return true;
	hp_set_reason(job, NULL, "cannot create '%.128s': %s", o->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	drop_output(o);
	return false;
}

bool hp_output_close(hp_output *o, bool ok)
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
	drop_output(o);
	return ok || hp_fail(o->job, NULL, "%s", why);
}

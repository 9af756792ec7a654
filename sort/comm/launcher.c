/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Find out which launcher has started this process, if any, and load the plug-in for its MPI. Reads
 * only the environment and the file of the plug-in. */
#include "comm.h"
#include "mpi_plugin.h"
#include "monitor.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPENMPI, MPICH, ANY };

static const struct launcher_variable {
	const char *name;
	int mpi; /* ANY: launchers of several MPIs set it */
} set_by_launchers[] = {
	{ "OMPI_COMM_WORLD_SIZE", OPENMPI },
	{ "MPI_LOCALRANKID", MPICH },
	{ "PMI_RANK", MPICH },
	{ "PMI_SIZE", MPICH },
	{ "PMIX_RANK", ANY },
	{ "LAMRANK", ANY },
};

static const struct launcher_variable *launcher(void)
{
	for (size_t i = 0; i < sizeof set_by_launchers / sizeof *set_by_launchers; i++)
		if (getenv(set_by_launchers[i].name))
			return &set_by_launchers[i];
	return NULL;
}

bool comm_mpi_launched(void)
{
	return launcher() != NULL;
}

#ifdef HETSORT_MPI_PLUGIN

/* The names of OPENMPI and MPICH, in names of files and in messages. */
static const struct mpi_name {
	const char *word, *name;
} mpis[] = { { "openmpi", "Open MPI" }, { "mpich", "MPICH" } };

/* Directories that may contain plug-ins, relative to the directory of the program: first in a
 * build, then in installations. */
static const char *const places[] = { "", "../lib/hetsort/", "../lib64/hetsort/",
				      "../lib/" HETSORT_MULTIARCH "/hetsort/" };

#	define PROGRAM    "/proc/self/exe"
#	define OPEN_FILES "/proc/self/fd/"

static const mpi_plugin *plugin;

/* An open file of a plug-in. */
typedef struct plugin_file {
	int mpi, fd, errnum; /* fd < 0: cannot be opened, because of errnum */
	char path[PATH_MAX];
} plugin_file;

/* Look for the plug-in for an MPI, and open its file. Return whether it exists. */
static bool find_plugin(plugin_file *f, int mpi)
{
	char dir[PATH_MAX]; /* of the program, with a slash; "" if it is unknown */
	const ssize_t length = readlink(PROGRAM, dir, PATH_MAX - 1);
	dir[length > 0 ? length : 0] = '\0';
	char *slash = strrchr(dir, '/');
	dir[slash ? slash + 1 - dir : 0] = '\0';
	f->mpi = mpi;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const int n = snprintf(f->path, PATH_MAX, "%s%slibhetsort-%s.so", dir, places[i],
				       mpis[mpi].word);
		if (!*dir || n <= 0 || n >= PATH_MAX)
			continue;
		f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		f->errnum = errno;
		if (f->fd >= 0 || (f->errnum != ENOENT && f->errnum != ENOTDIR))
			return true;
	}
	return false;
}

/* Refuse a file or directory that an account may change which may not change hetsort itself. The
 * account that owns the program is trusted, because its code is running. So is a group that may
 * write the program: a build with umask 002 grants this to the group of its user. */
static status plugin_trust(const plugin_file *f, int fd, const char *path, err *e)
{
	struct stat st, program = { .st_uid = 0 };
	(void)stat(PROGRAM, &program);
	if (fstat(fd, &st) != 0)
		return err_refuse(e, errno, "cannot look at %s", quoted(path));
	if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != program.st_uid)
		return err_set(e, ST_REFUSED,
			       "the plug-in for %s is not loaded, because account %u owns %s: use "
			       "chown to give it to root, to yourself or to the owner of hetsort",
			       mpis[f->mpi].name, (unsigned)st.st_uid, quoted(path));
	const mode_t group = st.st_gid == program.st_gid ? program.st_mode & S_IWGRP : 0;
	if (st.st_mode & (S_IWOTH | S_IWGRP) & ~group)
		return err_set(e, ST_REFUSED,
			       "the plug-in for %s is not loaded, because other accounts may write "
			       "to %s: use chmod go-w to forbid it, or install hetsort elsewhere",
			       mpis[f->mpi].name, quoted(path));
	return ST_OK;
}

/* Check the directory that contains `path`, open it, and set *base to the name in it. */
static status plugin_directory(const plugin_file *f, const char *path, int *fd, const char **base,
			       err *e)
{
	char dir[PATH_MAX];
	*base = strrchr(path, '/') + 1;
	snprintf(dir, sizeof dir, "%.*s", (int)(*base - path), path);
	*fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 ? err_refuse(e, errno, "cannot open the directory %s", quoted(dir))
		       : plugin_trust(f, *fd, dir, e);
}

/* Refuse a file that is not a plug-in of this build, without running its code. */
static status plugin_identify(const plugin_file *f, const struct stat *st, err *e)
{
	static const mpi_plugin_identity own = MPI_PLUGIN_IDENTITY;
	enum {
		MOST_BYTES = 256 << 20,
		AFTER_WHAT = sizeof own - sizeof own.what,
		CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32
	};
	const size_t bytes = (size_t)st->st_size;
	mpi_plugin_identity is = { .version = "" };
	bool whole = true;
	void *text = !S_ISREG(st->st_mode) || bytes < sizeof own || bytes > MOST_BYTES
			     ? MAP_FAILED
			     : mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, f->fd, 0);
	if (text != MAP_FAILED) {
		const void *at = memmem(text, bytes - AFTER_WHAT, own.what, sizeof own.what);
		if (at)
			memcpy(&is, at, sizeof is);
		/* dlopen crashes if the end of the file is missing: the table of sections
		 */
		const ElfW(Ehdr) *h = text;
		const size_t table = (size_t)h->e_shnum * h->e_shentsize;
		whole = memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != CLASS ||
			(table <= bytes && h->e_shoff <= bytes - table);
		(void)munmap(text, bytes);
	}
	if (memcmp(&is, &own, sizeof own) == 0 && whole)
		return ST_OK;
	is.version[sizeof is.version - 1] = '\0';
	return err_set(e, ST_REFUSED,
		       "%s is not the plug-in for %s of this hetsort, but %s%s: remove it, and "
		       "install the package hetsort-%s of version " HETSORT_VERSION,
		       quoted(f->path), mpis[f->mpi].name,
		       !whole       ? "a part of a file"
		       : is.what[0] ? "of another build, of version "
				    : "another file",
		       whole && is.what[0] ? quoted(is.version) : "", mpis[f->mpi].word);
}

/* Check a plug-in, and set *dir and *base to the directory of its file, without links, and to the
 * name in it. If only trusted accounts may write to this directory, the name keeps its meaning. */
static status plugin_check(const plugin_file *f, int *dir, char base[NAME_MAX + 1], err *e)
{
	char text[PATH_MAX] = "", at[32];
	const char *name;
	struct stat st, named;
	status rc = plugin_directory(f, f->path, dir, &name, e);
	if (rc != ST_OK)
		return rc;
	(void)close(*dir);
	*dir = -1;
	snprintf(at, sizeof at, OPEN_FILES "%d", f->fd);
	if (readlink(at, text, sizeof text - 1) <= 0 || *text != '/')
		return err_refuse(e, errno, "cannot find the directory of %s", quoted(f->path));
	rc = plugin_directory(f, text, dir, &name, e);
	if (rc == ST_OK)
		rc = plugin_trust(f, f->fd, f->path, e);
	if (rc != ST_OK)
		return rc;
	snprintf(base, NAME_MAX + 1, "%s", name);
	if (fstat(f->fd, &st) != 0 || fstatat(*dir, base, &named, AT_SYMLINK_NOFOLLOW) != 0 ||
	    st.st_dev != named.st_dev || st.st_ino != named.st_ino)
		return err_set(e, ST_REFUSED, "%s was replaced just now: start hetsort again",
			       quoted(f->path));
	return plugin_identify(f, &st, e);
}

/* Load a plug-in from the directory that was checked. This directory stays open, because libraries
 * that the plug-in needs may be found relative to it. Symbols are global, because libraries that
 * MPI loads need symbols of MPI. */
static status load_plugin(const plugin_file *f, err *e)
{
	static const mpi_plugin_host host = { comm_room_bytes, comm_give_room, monitor_wait_for };
	char base[NAME_MAX + 1], path[NAME_MAX + 32];
	int dir = -1;
	if (f->fd < 0)
		return err_refuse(e, f->errnum, "cannot open the plug-in for %s, %s",
				  mpis[f->mpi].name, quoted(f->path));
	const status rc = plugin_check(f, &dir, base, e);
	(void)close(f->fd);
	if (rc != ST_OK) {
		if (dir >= 0)
			(void)close(dir);
		return rc;
	}
	const int length = snprintf(path, sizeof path, OPEN_FILES "%d/%s", dir, base);
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	const mpi_plugin *found = library ? dlsym(library, MPI_PLUGIN_SYMBOL) : NULL;
	if (!found) {
		const char *why = dlerror();
		if (why &&
		    strncmp(why, path, (size_t)length) == 0) /* omit the name of a descriptor */
			why += length + strspn(why + length, ": ");
		return err_set(e, ST_REFUSED,
			       "cannot load the plug-in for %s, %s: %s; install the package "
			       "hetsort-%s again, or name the directory of the libraries of %s in "
			       "LD_LIBRARY_PATH",
			       mpis[f->mpi].name, quoted(f->path), why ? why : "it is empty",
			       mpis[f->mpi].word, mpis[f->mpi].name);
	}
	*found->host = &host;
	plugin = found;
	return ST_OK;
}

/* Load the plug-in for the launcher's MPI. PMI_RANK does not prove that this is MPICH: srun sets it
 * too, and starts ranks of any MPI. But only MPICH's launcher sets MPI_LOCALRANKID. */
static status run_by_plugin(size_t max_msg, rank_main *fn, void *arg, err *e)
{
	plugin_file f;
	const bool by_slurm = getenv("SLURM_STEP_ID") && !getenv("MPI_LOCALRANKID");
	const int set = launcher()->mpi, mpi = set == MPICH && by_slurm ? ANY : set;
	const int first = mpi == ANY ? OPENMPI : mpi;
	const bool found = find_plugin(&f, first), other = !found && find_plugin(&f, !first);
	if (access(PROGRAM, F_OK) != 0)
		return err_refuse(e, errno,
				  "cannot find the plug-in for %s, because " PROGRAM " is missing",
				  mpis[first].name);
	if (!found && (!other || mpi != ANY))
		return err_set(e, ST_REFUSED,
			       "%s says that %s has started this process, but the plug-in "
			       "libhetsort-%s.so is not installed: install the package "
			       "hetsort-%s%s%s, or use --launcher=none to sort without MPI",
			       launcher()->name, mpis[first].name, mpis[first].word,
			       mpis[first].word, other ? ", or use the mpirun of " : "",
			       other ? mpis[!first].name : "");
	const status rc = load_plugin(&f, e);
	return rc == ST_OK ? plugin->run(max_msg, fn, arg, e) : rc;
}

#endif

status comm_launched_run(size_t max_msg, rank_main *fn, void *arg, err *e)
{
#if defined HETSORT_MPI_PLUGIN
	return run_by_plugin(max_msg, fn, arg, e);
#elif defined HAVE_MPI
	return comm_mpi_run(max_msg, fn, arg, e);
#else
	(void)max_msg, (void)fn, (void)arg;
	return err_set(e, ST_REFUSED,
		       "an MPI launcher has started hetsort, which is built without MPI: use "
		       "--launcher=none, and --ranks for several ranks");
#endif
}

void comm_launched_end(int code)
{
#if defined HETSORT_MPI_PLUGIN
	if (plugin)
		plugin->end(code);
#elif defined HAVE_MPI
	comm_mpi_end(code);
#else
	(void)code;
#endif
}

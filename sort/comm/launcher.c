/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Find out which launcher has started this process, if any, and load the plug-in for its MPI. Reads
 * only the environment and the file of the plug-in. */
#include "comm.h"
#include "mpi_plugin.h"
#include "monitor.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const mpi_plugin *plugin;

/* Set path to the file of the plug-in for an MPI; return whether it exists. */
static bool find_plugin(int mpi, char path[PATH_MAX])
{
	char dir[PATH_MAX]; /* of the program, with a slash; "" if it is unknown */
	const ssize_t length = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	dir[length > 0 ? length : 0] = '\0';
	char *slash = strrchr(dir, '/');
	dir[slash ? slash + 1 - dir : 0] = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const int n = snprintf(path, PATH_MAX, "%s%slibhetsort-%s.so", dir, places[i],
				       mpis[mpi].word);
		if (*dir && n > 0 && n < PATH_MAX && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* Load a plug-in. Its symbols are global, because libraries that MPI loads need symbols of MPI. */
static status load_plugin(int mpi, const char *path, err *e)
{
	static const mpi_plugin_host host = { comm_room_bytes, comm_give_room, monitor_wait_for };
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		return err_set(e, ST_REFUSED, "cannot load the plug-in for %s, %s: %s",
			       mpis[mpi].name, quoted(path), dlerror());
	const mpi_plugin *found = dlsym(library, MPI_PLUGIN_SYMBOL);
	if (!found || strcmp(found->version, HETSORT_VERSION) != 0 ||
	    found->comm_bytes != sizeof(comm))
		return err_set(e, ST_REFUSED,
			       "the plug-in for %s, %s, does not belong to this hetsort: install "
			       "the package hetsort-%s of version %s",
			       mpis[mpi].name, quoted(path), mpis[mpi].word, HETSORT_VERSION);
	*found->host = &host;
	plugin = found;
	return ST_OK;
}

/* Load the plug-in for the launcher's MPI. PMI_RANK does not prove that this is MPICH: srun sets it
 * too, and starts ranks of any MPI. But only MPICH's launcher sets MPI_LOCALRANKID. */
static status run_by_plugin(size_t max_msg, rank_main *fn, void *arg, err *e)
{
	char path[PATH_MAX];
	const bool by_slurm = getenv("SLURM_STEP_ID") && !getenv("MPI_LOCALRANKID");
	const int set = launcher()->mpi, mpi = set == MPICH && by_slurm ? ANY : set;
	const int first = mpi == ANY ? OPENMPI : mpi;
	const bool found = find_plugin(first, path), other = !found && find_plugin(!first, path);
	if (!found && (!other || mpi != ANY))
		return err_set(e, ST_REFUSED,
			       "%s says that %s has started this process, but the plug-in "
			       "libhetsort-%s.so is not installed: install the package "
			       "hetsort-%s%s%s",
			       launcher()->name, mpis[first].name, mpis[first].word,
			       mpis[first].word, other ? ", or use the mpirun of " : "",
			       other ? mpis[!first].name : "");
	const status rc = load_plugin(other ? !first : first, path, e);
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
		       "--ranks instead");
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

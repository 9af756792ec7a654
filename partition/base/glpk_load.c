/* SPDX-License-Identifier: GPL-3.0-or-later */
/* glpk_load.c - find the library and its calls. May not touch: what they are used for. Costs some
 * microseconds, the first time in a process about a millisecond: the library stays loaded. */
#include <dlfcn.h>
#include <string.h>

#include "glpk_load.h"

#ifndef GLPK_SONAME
#	define GLPK_SONAME "libglpk.so.40" /* of GLPK 4.62 to 5.0 */
#endif

static hetpart_status missing(hetpart_err *err)
{
	const char *why = dlerror();

	return part_fail(err, HETPART_EMISSING,
			 "method lp needs GLPK, the others do not: cannot load '" GLPK_SONAME
			 "': %s",
			 why ? why : "no reason given");
}

/* call: a pointer to the function of that name. */
static bool find(const struct glpk *g, const char *name, void *call)
{
	void *at = dlsym(g->library, name);

	memcpy(call, &at, sizeof at);
	return at != NULL;
}

hetpart_status part_glpk_load(struct glpk *g, hetpart_err *err)
{
	g->library = dlopen(GLPK_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!g->library)
		return missing(err);
#define GLPK_FIND(f) &&find(g, "glp_" #f, &g->f)
	if (!(true GLPK_CALLS(GLPK_FIND)))
		return missing(err);
#undef GLPK_FIND
	return HETPART_OK;
}

void part_glpk_drop(struct glpk *g)
{
	if (g->library)
		dlclose(g->library);
	g->library = NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* load.c - find a library and its calls. May not touch: what they are used for. Costs half a
 * millisecond the first time in a process, later less than a microsecond. */
#include <dlfcn.h>
#include <string.h>

#include "load.h"

hetpart_status part_load(void **library, const char *const *files, const struct loaded_call *calls,
			 size_t n, const char *needs, hetpart_err *err)
{
	const char *why = NULL, *file = NULL;

	*library = NULL;
	for (; !*library && *files; files++) {
		*library = dlopen(file = *files, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
		why = *library ? NULL : dlerror();
	}
	for (size_t i = 0; *library && !why && i < n; i++) {
		void *at = dlsym(*library, calls[i].name);
		if (at)
			memcpy(calls[i].at, &at, sizeof at);
		else
			why = dlerror();
	}
	if (!why)
		return HETPART_OK;
	part_tell(err, HETPART_EMISSING, "%s: cannot load '%s': %s", needs, file, why);
	part_unload(library); /* what dlerror() says ends here */
	return HETPART_EMISSING;
}

void part_unload(void **library)
{
	if (*library)
		dlclose(*library);
	*library = NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* load.h - a library that is loaded at its first use: programs that never need it do not pay for
 * it. Its calls have the types of its header, against which they are compiled. Not installed. */
#ifndef LOAD_H
#define LOAD_H

#include "part.h"

/* A function of the library, and a pointer to the pointer that is to point to it. */
struct loaded_call {
	const char *name;
	void *at;
};

/* Load the first of files that exists, up to NULL, and find n calls in it. HETPART_EMISSING if that
 * fails; needs begins the message. Safe from any number of threads. Release with part_unload(),
 * after a failure too. */
hetpart_status part_load(void **library, const char *const *files, const struct loaded_call *calls,
			 size_t n, const char *needs, hetpart_err *err);

/* Give back what was loaded, if anything. It stays in the process, so that the next use is quick.
 */
void part_unload(void **library);

#endif

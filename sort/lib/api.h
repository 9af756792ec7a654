/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statuses, sentences and checks of arguments, which all public calls use. No MPI. */
#ifndef HETSORT_LIB_API_H
#define HETSORT_LIB_API_H

#include "kernel/key.h"
#include "base/status.h"

#include <hetsort.h>

/* api_fail - write the reason of a failure; return st. */
hetsort_status api_fail(hetsort_err *why, hetsort_status st, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* api_failed - turn the failure of a phase into the failure of a call; return HETSORT_OK for none.
 */
hetsort_status api_failed(hetsort_err *why, const err *e);

/* api_return - copy the reason of a failure to the caller; return st. */
hetsort_status api_return(hetsort_err *he, const hetsort_err *why, hetsort_status st);

/* api_opts_copy - read options that begin with struct_size, of a program compiled with any version
 * of the header. Members that an earlier version lacks keep their value in full. Members that a
 * later version adds must be zero. first, known: bytes of the options in the first release and in
 * this one. */
hetsort_status api_opts_copy(void *full, size_t first, size_t known, const void *opts,
			     hetsort_err *why);

/* api_opts - copy the options, or the defaults for NULL, and check them, except for the layout. */
hetsort_status api_opts(hetsort_opts *full, const hetsort_opts *opts, hetsort_err *why);

/* api_layout - make the layout that the options describe. */
hetsort_status api_layout(layout *l, const hetsort_opts *full, hetsort_err *why);

/* An argument: n elements of `bytes` bytes. */
typedef struct api_array {
	const void *at;
	uint64_t n;
	size_t bytes;
	const char *name;
} api_array;

/* api_arrays - check that the arrays can hold their elements, and that the last one, the output,
 * does not overlap the others. */
hetsort_status api_arrays(const api_array *a, size_t count, hetsort_err *why);

/* api_count - check that a rank can hold n elements of `bytes` bytes. */
hetsort_status api_count(size_t bytes, uint64_t n, const char *what, hetsort_err *why);

#endif

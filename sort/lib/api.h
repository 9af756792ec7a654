/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the public calls share: statuses, sentences and the checks of their arguments. No MPI. */
#ifndef HETSORT_LIB_API_H
#define HETSORT_LIB_API_H

#include "kernel/record.h"
#include "base/status.h"

#include <hetsort.h>

/* api_fail - write the reason of a failure; returns st. */
hetsort_status api_fail(hetsort_err *why, hetsort_status st, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* api_failed - a phase's failure and its sentence as those of a call; HETSORT_OK for none. */
hetsort_status api_failed(hetsort_err *why, const err *e);

/* api_return - hand out the reason of a failure; returns st. */
hetsort_status api_return(hetsort_err *he, const hetsort_err *why, hetsort_status st);

/* api_opts_copy - read options that begin with struct_size, of a program compiled with any version
 * of the header: what an earlier one lacks stays as it is in full, what a later one adds must be
 * zero. first: the bytes that the first release had; known: those of this one. */
hetsort_status api_opts_copy(void *full, size_t first, size_t known, const void *opts,
			     hetsort_err *why);

/* api_opts - the options, checked, with defaults for NULL; l receives the layout. */
hetsort_status api_opts(hetsort_opts *full, layout *l, const hetsort_opts *opts, hetsort_err *why);

/* api_arrays - can they hold n_in and n_out records, and are they two? */
hetsort_status api_arrays(const layout *l, const void *in, uint64_t n_in, const void *out,
			  uint64_t n_out, hetsort_err *why);

/* api_count - is it a number of records that a rank can hold? */
hetsort_status api_count(const layout *l, uint64_t n, const char *what, hetsort_err *why);

#endif

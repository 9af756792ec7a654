/* SPDX-License-Identifier: GPL-3.0-or-later */
/* failure.c - the words of a failure, and the arguments that each rank can refuse by itself.
 * May not touch: messages. Costs no communication. */
#include "hm.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hm_tell(hetpart_err *err, hetpart_status status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(err->text, sizeof err->text, fmt, ap) < 0)
		err->text[0] = 0;
	va_end(ap);
	err->status = status;
}

hetpart_status hm_mpi(int rc, const char *what, hetpart_err *err)
{
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int length = 0;

	if (rc == MPI_SUCCESS)
		return HETPART_OK;
	if (MPI_Error_string(rc, text, &length) != MPI_SUCCESS)
		text[0] = 0;
	return hm_fail(err, HETPART_EPEER, "%s failed: %s", what, text);
}

hetpart_status hm_check_root(const struct hm *h, int root, hetpart_err *err)
{
	if (root >= 0 && root < h->size)
		return HETPART_OK;
	return hm_fail(err, HETPART_EINVAL, "root is '%d': want a rank, 0 to %d", root,
		       h->size - 1);
}

hetpart_status hm_check_affine(const hetpart_mpi_affine *cost, const char *what, hetpart_err *err)
{
	if (isfinite(cost->startup_s) && cost->startup_s >= 0 && isfinite(cost->per_item_s) &&
	    cost->per_item_s >= 0)
		return HETPART_OK;
	return hm_fail(err, HETPART_EINVAL,
		       "%s is '%g + %g n' seconds: want finite numbers, 0 or more", what,
		       cost->startup_s, cost->per_item_s);
}

hetpart_status hm_check_positive(double x, const char *what, hetpart_err *err)
{
	if (isfinite(x) && x > 0)
		return HETPART_OK;
	return hm_fail(err, HETPART_EINVAL, "%s is '%g': must be a finite number above 0", what, x);
}

hetpart_status hm_opts_read(void *full, size_t first, size_t known, const void *opts,
			    hetpart_err *err)
{
	const unsigned char *raw = (const unsigned char *)opts;
	size_t size;

	if (!opts)
		return HETPART_OK;
	memcpy(&size, opts, sizeof size);
	if (size < first || size > 4096)
		return hm_fail(err, HETPART_EINVAL,
			       "struct_size of the options is '%zu': start from their INIT macro",
			       size);
	for (size_t i = known; i < size; i++)
		if (raw[i])
			return hm_fail(err, HETPART_EINVAL,
				       "the options ask for something this version lacks");
	memcpy(full, opts, size < known ? size : known);
	memcpy(full, &known, sizeof known); /* its own struct_size */
	return HETPART_OK;
}

hetpart_status hm_scatter_opts(hetpart_mpi_scatter_opts *full, const hetpart_mpi_scatter_opts *opts,
			       hetpart_err *err)
{
	const hetpart_mpi_scatter_opts defaults = HETPART_MPI_SCATTER_OPTS_INIT;
	hetpart_status st;

	*full = defaults;
	if (!opts)
		full->shares = HETPART_MPI_EQUAL;
	st = hm_opts_read(full, HM_END_OF(hetpart_mpi_scatter_opts, max_msg_bytes), sizeof *full,
			  opts, err);
	if (st == HETPART_OK)
		st = hm_check_affine(&full->compute, "compute", err);
	if (st == HETPART_OK)
		st = hm_check_affine(&full->link, "link", err);
	return st;
}

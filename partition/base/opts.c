/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opts.c - the option structs of callers, who may have compiled with an earlier header. Pure. */
#include <string.h>

#include "part.h"

static bool method_known(hetpart_method m)
{
	return m >= HETPART_METHOD_EXACT && m <= HETPART_METHOD_DP;
}

hetpart_status part_opts_copy(void *full, size_t first, size_t known, const void *opts,
			      hetpart_err *err)
{
	const unsigned char *raw = (const unsigned char *)opts;
	size_t size;

	if (!opts)
		return HETPART_OK;
	memcpy(&size, opts, sizeof size);
	if (size < first || size > 4096)
		return part_fail(err, HETPART_EINVAL,
				 "struct_size of the options is '%zu': start from their INIT macro",
				 size);
	for (size_t i = known; i < size; i++)
		if (raw[i])
			return part_fail(err, HETPART_EINVAL,
					 "the options ask for something this version lacks");
	memcpy(full, opts, size < known ? size : known);
	memcpy(full, &known, sizeof known); /* its own struct_size */
	return HETPART_OK;
}

hetpart_status part_check_time_limit(double time_limit_s, hetpart_err *err)
{
	if (time_limit_s >= 0)
		return HETPART_OK;
	return part_fail(err, HETPART_EINVAL, "the time limit is '%g': want seconds, 0 or more",
			 time_limit_s);
}

hetpart_status part_opts_read(hetpart_opts *full, const hetpart_opts *opts, hetpart_err *err)
{
	hetpart_opts defaults = HETPART_OPTS_INIT;

	*full = defaults;
	if (part_opts_copy(full, PART_END_OF(hetpart_opts, max_mem_bytes), sizeof *full, opts,
			   err) != HETPART_OK)
		return HETPART_EINVAL;
	if (!method_known(full->method))
		return part_fail(err, HETPART_EINVAL, "'%d' is not a method", (int)full->method);
	return part_check_time_limit(full->time_limit_s, err);
}

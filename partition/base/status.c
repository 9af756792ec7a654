/* SPDX-License-Identifier: GPL-3.0-or-later */
/* status.c - status texts, error sentences, checked allocation and the version.
 * May not touch: any planner. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "part.h"

const char *hetpart_version(void)
{
	return HETPART_VERSION;
}

const char *hetpart_status_text(hetpart_status status)
{
	switch (status) {
	case HETPART_OK:
		return "ok";
	case HETPART_EINVAL:
		return "invalid argument";
	case HETPART_ERANGE:
		return "out of range";
	case HETPART_ENOMEM:
		return "out of memory";
	case HETPART_EIO:
		return "input or output failed";
	case HETPART_EFORMAT:
		return "damaged or unknown format";
	case HETPART_ESTALE:
		return "made on another machine or out of date";
	case HETPART_ENOSOL:
		return "no solution by this method";
	case HETPART_EINTERNAL:
		return "internal fault";
	case HETPART_EPEER:
		return "another rank failed";
	case HETPART_ETIME:
		return "out of time";
	case HETPART_ECANCEL:
		return "canceled";
	case HETPART_EMISSING:
		return "not installed";
	}
	return "unknown status";
}

void part_tell(hetpart_err *err, hetpart_status status, const char *fmt, ...)
{
	if (err) {
		va_list ap;
		va_start(ap, fmt);
		if (vsnprintf(err->text, sizeof err->text, fmt, ap) < 0)
			err->text[0] = 0;
		va_end(ap);
		err->status = status;
	}
}

void *part_calloc(size_t n, size_t size)
{
	return calloc(n ? n : 1, size); /* calloc checks the product */
}

hetpart_status part_check_positive(double x, const char *what, hetpart_err *err)
{
	if (isfinite(x) && x > 0)
		return HETPART_OK;
	return part_fail(err, HETPART_EINVAL, "%s is '%g': want a finite number above 0", what, x);
}

hetpart_status part_check_not_negative(double x, const char *what, hetpart_err *err)
{
	if (isfinite(x) && x >= 0)
		return HETPART_OK;
	return part_fail(err, HETPART_EINVAL, "%s is '%g': want a finite number, 0 or more", what,
			 x);
}

uint64_t part_mul_add(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t r;

	if (__builtin_mul_overflow(a, b, &r) || __builtin_add_overflow(r, c, &r))
		return UINT64_MAX;
	return r;
}

hetpart_status part_check_bytes(uint64_t bytes, uint64_t limit, const char *advice,
				hetpart_err *err)
{
	if (!limit)
		limit = HETPART_MEM_DEFAULT_BYTES;
	if (bytes <= limit && bytes < SIZE_MAX)
		return HETPART_OK;
	return part_fail(err, HETPART_ENOMEM,
			 "the method needs '%" PRIu64 "' bytes of memory, %" PRIu64
			 " are allowed: raise max_mem_bytes or %s",
			 bytes, limit, advice);
}

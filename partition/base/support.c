/* SPDX-License-Identifier: GPL-3.0-or-later */
/* support.c - services for every call: the version, status texts, errors, checked sizes, limits of
 * time and memory. It also reads option structs of callers compiled with an earlier header, and
 * loads libraries at their first use. Must not contain: planning. The clock is read once for each
 * BUDGET_STRIDE steps. Loading a library takes half a millisecond, and less than a microsecond if
 * it is still in the process. */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "number.h"
#include "part.h"

/* ------------------------------------------------------------------ errors and checked sizes */

const char *hetpart_version(void)
{
	return HETPART_VERSION;
}

const char *hetpart_status_text(hetpart_status status)
{
	static const char *const texts[] = {
		[HETPART_OK] = "ok",
		[HETPART_EINVAL] = "invalid argument",
		[HETPART_ERANGE] = "out of range",
		[HETPART_ENOMEM] = "out of memory",
		[HETPART_EIO] = "input or output failed",
		[HETPART_EFORMAT] = "damaged or unknown format",
		[HETPART_ESTALE] = "made on another machine or out of date",
		[HETPART_ENOSOL] = "no solution by this method",
		[HETPART_EINTERNAL] = "internal fault",
		[HETPART_EPEER] = "another rank failed",
		[HETPART_ETIME] = "out of time",
		[HETPART_ECANCEL] = "canceled",
		[HETPART_EMISSING] = "not installed",
	};
	return (size_t)status < sizeof texts / sizeof texts[0] ? texts[status] : "unknown status";
}

void part_set_error(hetpart_err *err, hetpart_status status, const char *fmt, ...)
{
	if (!err)
		return;
	va_list ap;
	va_start(ap, fmt);
	if (vsnprintf(err->text, sizeof err->text, fmt, ap) < 0)
		err->text[0] = 0;
	va_end(ap);
	err->status = status;
}

void *part_calloc(size_t n, size_t size)
{
	return calloc(n ? n : 1, size); /* calloc() fails if the product overflows */
}

uint64_t part_mul_add(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t r;
	if (__builtin_mul_overflow(a, b, &r) || __builtin_add_overflow(r, c, &r))
		return UINT64_MAX;
	return r;
}

hetpart_status part_check_positive(double x, const char *what, hetpart_err *err)
{
	if (isfinite(x) && x > 0)
		return HETPART_OK;
	return part_invalid(err, "%s is '%g': must be a finite number above 0", what, x);
}

hetpart_status part_check_not_negative(double x, const char *what, hetpart_err *err)
{
	if (isfinite(x) && x >= 0)
		return HETPART_OK;
	return part_invalid(err, "%s is '%g': must be a finite number, 0 or more", what, x);
}

hetpart_status part_check_numbers(const double *v, size_t n, bool zero_allowed, const char *what,
				  hetpart_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (!(isfinite(v[i]) && (v[i] > 0 || (zero_allowed && v[i] == 0))))
			return part_invalid(err, "%s %zu is '%g': must be a finite number%s", what,
					    i, v[i], zero_allowed ? ", 0 or more" : " above 0");
	return HETPART_OK;
}

/* --------------------------------------------------------------------------------- options */

hetpart_status part_opts_copy(void *full, size_t first, size_t known, const void *opts,
			      hetpart_err *err)
{
	if (!opts)
		return HETPART_OK;
	const unsigned char *const raw = (const unsigned char *)opts;
	size_t size;
	memcpy(&size, opts, sizeof size);
	if (size < first || size > 4096)
		return part_invalid(
			err, "struct_size of the options is '%zu': start from their INIT macro",
			size);
	for (size_t i = known; i < size; i++)
		if (raw[i])
			return part_invalid(
				err, "the options set a member that this version of the library "
				     "does not have");
	memcpy(full, opts, size < known ? size : known);
	memcpy(full, &known, sizeof known); /* the struct_size of full */
	return HETPART_OK;
}

static hetpart_status check_time_limit(double time_limit_s, hetpart_err *err)
{
	if (time_limit_s >= 0)
		return HETPART_OK;
	return part_invalid(err, "the time limit is '%g': must be a number of seconds, 0 or more",
			    time_limit_s);
}

hetpart_status part_opts_read(hetpart_opts *full, const hetpart_opts *opts, hetpart_err *err)
{
	*full = (hetpart_opts)HETPART_OPTS_INIT;
	if (part_opts_copy(full, PART_END_OF(hetpart_opts, max_mem_bytes), sizeof *full, opts,
			   err) != HETPART_OK)
		return HETPART_EINVAL;
	if (full->method < HETPART_METHOD_EXACT || full->method > HETPART_METHOD_DP)
		return part_invalid(err, "'%d' is not a method", (int)full->method);
	return check_time_limit(full->time_limit_s, err);
}

/* ---------------------------------------------------------------------------------- limits */

static double budget_clock_s(void)
{
	struct timespec t = { 0 };
	clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail: this clock always exists */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

hetpart_status part_budget_open(part_budget *b, double time_limit_s, uint64_t max_mem_bytes,
				hetpart_stop_fn *stop, void *stop_ctx, hetpart_err *err)
{
	const hetpart_status rc = check_time_limit(time_limit_s, err);
	if (rc != HETPART_OK)
		return rc;
	if (time_limit_s == 0)
		time_limit_s = HETPART_TIME_DEFAULT_S;
	*b = (part_budget){ .end_s = budget_clock_s() + time_limit_s,
			    .max_mem = max_mem_bytes,
			    .stop = stop,
			    .stop_ctx = stop_ctx,
			    .steps = BUDGET_STRIDE }; /* so that the first step checks */
	if (max_mem_bytes > 0)
		return HETPART_OK;
	/* The default is half of the bytes available without swapping, if the system reports
	 * them. */
	char text[1024] = "";
	const int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	const ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
	const char *at = got > 0 ? strstr(text, "MemAvailable:") : NULL;
	uint64_t kib = 0;
	if (fd >= 0)
		close(fd);
	if (at) {
		at += strlen("MemAvailable:");
		at += strspn(at, " ");
	}
	b->max_mem = at && number_at(&at, UINT64_MAX / 1024, &kib) && kib > 0
			     ? kib * 1024 / 2
			     : HETPART_MEM_DEFAULT_BYTES;
	return HETPART_OK;
}

hetpart_status part_budget_within(part_budget *b, const hetpart_limits *limits, hetpart_err *err)
{
	hetpart_limits full = HETPART_LIMITS_INIT;
	const hetpart_status rc = part_opts_copy(&full, PART_END_OF(hetpart_limits, stop_ctx),
						 sizeof full, limits, err);
	if (rc != HETPART_OK)
		return rc;
	return part_budget_open(b, full.time_limit_s, 0, full.stop, full.stop_ctx, err);
}

bool part_budget_check(part_budget *b)
{
	b->steps = 0;
	if (b->why == HETPART_OK && b->stop && b->stop(b->stop_ctx) != 0)
		b->why = HETPART_ECANCEL;
	if (b->why == HETPART_OK && budget_clock_s() >= b->end_s)
		b->why = HETPART_ETIME;
	return b->why != HETPART_OK;
}

double part_budget_left_s(const part_budget *b)
{
	return max_double(0, b->end_s - budget_clock_s());
}

double part_budget_reserve(part_budget *b, double part)
{
	const double end = b->end_s, left = part_budget_left_s(b);
	if (left > 0 && left < INFINITY)
		b->end_s = end - part * left;
	return end;
}

hetpart_status part_budget_fail(const part_budget *b, hetpart_err *err)
{
	switch (b->why) {
	case HETPART_ETIME:
		return part_fail(err, b->why, "out of time before there was any plan");
	case HETPART_ECANCEL:
		return part_fail(err, b->why, "canceled before there was any plan");
	default:
		return part_fail(err, HETPART_ENOMEM,
				 "out of the memory allowed before there was any plan");
	}
}

/* ---------------------------------------------------------------------- optional libraries */

hetpart_status part_load(void **library, const char *const *files, const part_loaded_call *calls,
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
	part_set_error(err, HETPART_EMISSING, "%s: cannot load '%s': %s", needs, file, why);
	part_unload(library); /* only now: it frees the text of dlerror() */
	return HETPART_EMISSING;
}

void part_unload(void **library)
{
	if (*library)
		dlclose(*library);
	*library = NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public calls that need no ranks, and the checks of the arguments of all calls. Prints
 * nothing, keeps nothing between calls. */
#define HETSORT_NO_MPI /* this file is compiled without MPI */
#include "api.h"
#include "memory_sort.h"
#include "base/pool.h"
#include "kernel/bucket_sort.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

_Static_assert(HETSORT_RECORD_BYTES_MAX == MAX_RECORD_BYTES, "the public header states this limit");
_Static_assert((int)HETSORT_ERR_BYTES > (int)ERR_TEXT_BYTES, "room for a sentence and its rank");

/* The size of the options in the first release, 0.1.0. */
#define END_OF_FIRST_OPTS (offsetof(hetsort_opts, speeds) + sizeof((hetsort_opts *)NULL)->speeds)

const char *hetsort_version(void)
{
	return HETSORT_VERSION;
}

const char *hetsort_strerror(hetsort_status st)
{
	static const char *const text[] = { "ok",           "invalid argument",
					    "out of range", "out of memory",
					    "another rank", "internal error" };
	const size_t i = (size_t)st;
	return i < sizeof text / sizeof *text ? text[i] : "unknown status";
}

hetsort_status api_fail(hetsort_err *why, hetsort_status st, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (vsnprintf(why->text, sizeof why->text, fmt, ap) < 0)
		why->text[0] = '\0';
	va_end(ap);
	why->status = st;
	return st;
}

hetsort_status api_failed(hetsort_err *why, const err *e)
{
	const hetsort_status st = e->code == ST_REFUSED    ? HETSORT_EINVAL
				  : e->code == ST_RESOURCE ? HETSORT_ENOMEM
				  : e->code == ST_PEER     ? HETSORT_EPEER
							   : HETSORT_EINTERNAL;
	return e->code == ST_OK ? HETSORT_OK : api_fail(why, st, "%s", e->text);
}

hetsort_status api_return(hetsort_err *he, const hetsort_err *why, hetsort_status st)
{
	if (st != HETSORT_OK && he)
		*he = *why;
	return st;
}

hetsort_status api_opts_copy(void *full, size_t first, size_t known, const void *opts,
			     hetsort_err *why)
{
	const unsigned char *raw = (const unsigned char *)opts;
	size_t size;
	memcpy(&size, raw, sizeof size);
	if (size < first || size > 4096)
		return api_fail(why, HETSORT_EINVAL,
				"struct_size of the options is '%zu': start from HETSORT_OPTS_INIT",
				size);
	for (size_t i = known; i < size; i++)
		if (raw[i])
			return api_fail(why, HETSORT_EINVAL,
					"the options use members that this version does not have");
	memcpy(full, opts, size < known ? size : known);
	memcpy(full, &known, sizeof known); /* struct_size of this version */
	return HETSORT_OK;
}

hetsort_status api_opts(hetsort_opts *full, const hetsort_opts *opts, hetsort_err *why)
{
	const hetsort_opts defaults = HETSORT_OPTS_INIT;
	*full = defaults;
	const hetsort_status st =
		opts ? api_opts_copy(full, END_OF_FIRST_OPTS, sizeof *full, opts, why) : HETSORT_OK;
	if (st != HETSORT_OK)
		return st;
	if (full->threads > HETSORT_THREADS_MAX)
		return api_fail(why, HETSORT_EINVAL, "threads is '%" PRIu32 "': must be 0 to %d",
				full->threads, HETSORT_THREADS_MAX);
	if (full->exchange_threads > 2)
		return api_fail(why, HETSORT_EINVAL,
				"exchange_threads is '%" PRIu32 "': must be 0, 1 or 2",
				full->exchange_threads);
	if (full->threads == 0)
		full->threads = processors_count();
	return HETSORT_OK;
}

hetsort_status api_layout(layout *l, const hetsort_opts *full, hetsort_err *why)
{
	*l = (layout)LAYOUT_BYTES(full->record_bytes, full->key_off, full->key_bytes);
	if (l->record_bytes == 0 || l->record_bytes > MAX_RECORD_BYTES)
		return api_fail(why, HETSORT_EINVAL,
				"record_bytes is '%" PRIu32 "': must be 1 to %d", l->record_bytes,
				MAX_RECORD_BYTES);
	if (full->key) {
		err e = { ST_OK, "" };
		(void)layout_parse(l, full->record_bytes, full->key, &e);
		return api_failed(why, &e);
	}
	if (l->key_bytes == 0 || (uint64_t)l->key_off + l->key_bytes > l->record_bytes)
		return api_fail(why, HETSORT_EINVAL,
				"a key of '%" PRIu32 "' bytes at %" PRIu32
				" does not lie in a record of %" PRIu32,
				l->key_bytes, l->key_off, l->record_bytes);
	return HETSORT_OK;
}

hetsort_status api_count(size_t bytes, uint64_t n, const char *what, hetsort_err *why)
{
	if (n > POS_MASK || n > PTRDIFF_MAX / bytes)
		return api_fail(why, HETSORT_ERANGE,
				"%s has '%" PRIu64 "' elements, too many for a rank", what, n);
	return HETSORT_OK;
}

/* Check that the elements of an array are possible. */
static hetsort_status api_array_check(const api_array *a, hetsort_err *why)
{
	if (!a->at && a->n)
		return api_fail(why, HETSORT_EINVAL, "%s is NULL, with %" PRIu64 " elements",
				a->name, a->n);
	hetsort_status st = api_count(a->bytes, a->n, a->name, why);
	if (st == HETSORT_OK && a->n * a->bytes > UINTPTR_MAX - (uintptr_t)a->at)
		st = api_fail(why, HETSORT_ERANGE, "%s reaches beyond the address space", a->name);
	return st;
}

hetsort_status api_arrays(const api_array *a, size_t count, hetsort_err *why)
{
	const api_array *out = &a[count - 1];
	hetsort_status st = HETSORT_OK;
	for (size_t i = 0; st == HETSORT_OK && i < count; i++)
		st = api_array_check(&a[i], why);
	const uintptr_t o = (uintptr_t)out->at;
	for (size_t i = 0; st == HETSORT_OK && i + 1 < count; i++) {
		const uintptr_t in = (uintptr_t)a[i].at;
		if (a[i].n && out->n && in < o + out->n * out->bytes &&
		    o < in + a[i].n * a[i].bytes)
			st = api_fail(why, HETSORT_EINVAL, "the arrays '%s' and '%s' overlap",
				      a[i].name, out->name);
	}
	return st;
}

uint64_t hetsort_mem_bytes(uint64_t records_in, uint64_t records_out, int ranks,
			   const hetsort_opts *opts)
{
	hetsort_opts full;
	hetsort_err why;
	layout l;
	if (ranks < 1 || api_opts(&full, opts, &why) != HETSORT_OK ||
	    api_layout(&l, &full, &why) != HETSORT_OK ||
	    api_count(l.record_bytes, records_in, "in", &why) != HETSORT_OK ||
	    api_count(l.record_bytes, records_out, "out", &why) != HETSORT_OK)
		return UINT64_MAX;
	return memory_sort_most_bytes(&l, records_in, ranks, full.threads);
}

hetsort_status hetsort_sort_local(const void *in, uint64_t n, void *out, const hetsort_opts *opts,
				  hetsort_err *he)
{
	hetsort_opts full;
	hetsort_err why = { HETSORT_OK, "" };
	layout l;
	mem m = { 0 };
	struct err e = { ST_OK, "" };
	hetsort_status st = api_opts(&full, opts, &why);
	if (st == HETSORT_OK)
		st = api_layout(&l, &full, &why);
	const api_array a[] = { { in, n, full.record_bytes, "in" },
				{ out, n, full.record_bytes, "out" } };
	if (st == HETSORT_OK)
		st = api_arrays(a, 2, &why);
	if (st == HETSORT_OK && n) {
		const records r = { in, l, 0 };
		if (bucket_sort_records(&m, &r, (size_t)n, out, full.threads, &e) != ST_OK)
			st = api_failed(&why, &e);
	}
	return api_return(he, &why, st);
}

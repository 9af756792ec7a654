/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan.c - plans, the results of all planners: create, complete, read, hash and print them. Pack
 * them to bytes that are the same on every machine. Must not contain: how shares are found, files,
 * streams. Every call takes at most O(p) time for p processors. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"

hetpart_plan *part_plan_new(size_t nprocs, uint64_t items, const char *method)
{
	hetpart_plan *const pl = part_calloc(1, sizeof *pl);
	if (!pl)
		return NULL;
	pl->nprocs = nprocs;
	pl->items = items;
	pl->method = method;
	pl->real_makespan = NAN;
	pl->lower = NAN;
	if (!part_array(pl->share, nprocs) || !part_array(pl->real, nprocs) ||
	    !part_array(pl->time, nprocs)) {
		hetpart_plan_free(pl);
		return NULL;
	}
	for (size_t i = 0; i < nprocs; i++)
		pl->real[i] = NAN;
	return pl;
}

hetpart_status part_plan_close(hetpart_plan *pl, hetpart_err *err)
{
	uint64_t left = pl->items;
	pl->makespan = 0;
	for (size_t i = 0; i < pl->nprocs; i++) {
		if (!(pl->time[i] >= 0))
			return part_fail(err, HETPART_EINTERNAL, "processor %zu ends at '%g'", i,
					 pl->time[i]);
		if (pl->share[i] > left)
			return part_fail(err, HETPART_EINTERNAL, "the shares exceed the items");
		left -= pl->share[i];
		pl->makespan = max_double(pl->makespan, pl->time[i]);
	}
	if (left)
		return part_fail(err, HETPART_EINTERNAL, "the shares are %" PRIu64 " items too few",
				 left);
	if (pl->best)
		pl->lower = pl->makespan;
	return HETPART_OK;
}

PART_GETTER(size_t, hetpart_plan_nprocs, hetpart_plan, nprocs, 0)
PART_GETTER(uint64_t, hetpart_plan_items, hetpart_plan, items, 0)
PART_GETTER(const uint64_t *, hetpart_plan_shares, hetpart_plan, share, NULL)
PART_GETTER(const double *, hetpart_plan_real_shares, hetpart_plan, real, NULL)
PART_GETTER(const double *, hetpart_plan_times, hetpart_plan, time, NULL)
PART_GETTER(double, hetpart_plan_makespan, hetpart_plan, makespan, NAN)
PART_GETTER(double, hetpart_plan_real_makespan, hetpart_plan, real_makespan, NAN)
PART_GETTER(double, hetpart_plan_lower_bound, hetpart_plan, lower, NAN)
PART_GETTER(hetpart_status, hetpart_plan_stopped, hetpart_plan, stopped, HETPART_EINVAL)
PART_GETTER(const char *, hetpart_plan_method, hetpart_plan, method, "")

uint64_t hetpart_plan_share(const hetpart_plan *plan, size_t proc)
{
	return plan && proc < plan->nprocs ? plan->share[proc] : 0;
}

uint64_t hetpart_plan_first(const hetpart_plan *plan, size_t proc)
{
	uint64_t first = 0;
	for (size_t i = 0; plan && i < plan->nprocs && i < proc; i++)
		first += plan->share[i];
	return first;
}

void hetpart_plan_offsets(const hetpart_plan *plan, uint64_t *first)
{
	if (!plan || !first)
		return;
	uint64_t at = 0;
	for (size_t i = 0; i < plan->nprocs; i++) {
		first[i] = at;
		at += plan->share[i];
	}
	first[plan->nprocs] = at;
}

size_t hetpart_plan_owner(const hetpart_plan *plan, uint64_t item)
{
	size_t i = 0;
	for (; plan && i < plan->nprocs && item >= plan->share[i]; i++)
		item -= plan->share[i];
	return i;
}

double hetpart_plan_real_share(const hetpart_plan *plan, size_t proc)
{
	return plan && proc < plan->nprocs ? plan->real[proc] : NAN;
}

double hetpart_plan_time(const hetpart_plan *plan, size_t proc)
{
	return plan && proc < plan->nprocs ? plan->time[proc] : NAN;
}

hetpart_status part_plan_return(hetpart_plan **out, hetpart_plan *plan, hetpart_status rc)
{
	if (rc == HETPART_OK)
		*out = plan;
	else
		hetpart_plan_free(plan);
	return rc;
}

uint64_t part_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) + UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return h ^ (h >> 31);
}

uint64_t hetpart_plan_hash(const hetpart_plan *plan)
{
	if (!plan)
		return 0;
	uint64_t h = part_mix(0, plan->nprocs);
	for (size_t i = 0; i < plan->nprocs; i++)
		h = part_mix(h, plan->share[i]);
	return h;
}

void hetpart_plan_free(hetpart_plan *plan)
{
	if (!plan)
		return;
	free(plan->share);
	free(plan->real);
	free(plan->time);
	free(plan);
}

/* ------------------------------------------------------------------------------------- printing */

#define PRINT_PROCS 64 /* most processors printed */

typedef struct plan_text {
	char *buf;
	size_t size, len; /* len includes text that did not fit */
} plan_text;

PART_PRINTF(2, 3)
static void plan_append(plan_text *t, const char *fmt, ...)
{
	const size_t room = t->len < t->size ? t->size - t->len : 0;
	va_list ap;
	va_start(ap, fmt);
	const int n = vsnprintf(room ? t->buf + t->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
}

size_t hetpart_plan_print(const hetpart_plan *plan, char *buf, size_t size)
{
	plan_text t = { buf, buf ? size : 0, 0 };
	double busy = 0;
	size_t idle = 0;
	if (t.size)
		buf[0] = 0;
	if (!plan)
		return 0;
	for (size_t i = 0; i < plan->nprocs; i++) {
		busy += plan->makespan > 0 ? plan->time[i] / plan->makespan : 1;
		idle += plan->share[i] == 0;
	}
	plan_append(&t, "%" PRIu64 " item%s over %zu processor%s, method %s\n", plan->items,
		    plan->items == 1 ? "" : "s", plan->nprocs, plan->nprocs == 1 ? "" : "s",
		    plan->method);
	plan_append(&t, "makespan %.6g", plan->makespan);
	if (isfinite(plan->real_makespan))
		plan_append(&t, " (%.6g before rounding)", plan->real_makespan);
	plan_append(&t, ", processors busy %.2f %% of it", 100 * busy / (double)plan->nprocs);
	if (idle)
		plan_append(&t, ", %zu without items", idle);
	plan_append(&t, "\n");
	if (plan->stopped != HETPART_OK)
		plan_append(&t, "%s before the method ended: no plan ends before %.6g\n",
			    hetpart_status_text(plan->stopped), plan->lower);
	plan_append(&t, "%9s %20s %22s %14s %8s\n", "processor", "items", "before rounding", "time",
		    "share");
	const size_t lines = plan->nprocs < PRINT_PROCS ? plan->nprocs : PRINT_PROCS;
	for (size_t i = 0; i < lines; i++) {
		const double part =
			plan->items ? 100 * (double)plan->share[i] / (double)plan->items : 0;
		plan_append(&t, "%9zu %20" PRIu64, i, plan->share[i]);
		if (isnan(plan->real[i]))
			plan_append(&t, " %22s", "-");
		else
			plan_append(&t, " %22.3f", plan->real[i]);
		plan_append(&t, " %14.6g %6.2f %%\n", plan->time[i], part);
	}
	if (lines < plan->nprocs)
		plan_append(&t, "... and %zu more\n", plan->nprocs - lines);
	return t.len;
}

/* -------------------------------------------------------------------------------------- packing */

/* A packed plan is a sequence of little-endian words of 64 bits:
 *     "HETPLAN1", processors, items, makespan, makespan before rounding, lower bound, status that
 * stopped the method, method (48 bytes), shares, shares before rounding, times, checksum of all of
 * these. */
#define PACK_MAGIC      UINT64_C(0x314e414c50544548) /* "HETPLAN1" */
#define PACK_HEAD_WORDS (7 + PART_METHOD_BYTES / 8)
#define PACK_WORDS(n)   (PACK_HEAD_WORDS + 3 * (n) + 1)

typedef struct pack_words {
	unsigned char *at;
	uint64_t sum;
} pack_words;

static void pack_word(pack_words *w, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		*w->at++ = (unsigned char)(v >> 8 * i);
	w->sum = part_mix(w->sum, v);
}

static uint64_t unpack_word(pack_words *w)
{
	uint64_t v = 0;
	for (int i = 0; i < 8; i++)
		v |= (uint64_t)*w->at++ << 8 * i;
	w->sum = part_mix(w->sum, v);
	return v;
}

static void pack_double(pack_words *w, double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	pack_word(w, bits);
}

static double unpack_double(pack_words *w)
{
	const uint64_t bits = unpack_word(w);
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

size_t hetpart_plan_pack(const hetpart_plan *plan, void *buf, size_t size)
{
	const size_t bytes = plan ? 8 * PACK_WORDS(plan->nprocs) : 0;
	pack_words w = { buf, 0 };
	char method[PART_METHOD_BYTES] = "";
	if (!plan || size < bytes)
		return bytes;
	pack_word(&w, PACK_MAGIC);
	pack_word(&w, plan->nprocs);
	pack_word(&w, plan->items);
	pack_double(&w, plan->makespan);
	pack_double(&w, plan->real_makespan);
	pack_double(&w, plan->lower);
	pack_word(&w, (uint64_t)plan->stopped);
	memcpy(method, plan->method, min_u64(strlen(plan->method), sizeof method - 1));
	for (size_t i = 0; i < sizeof method; i += 8) {
		uint64_t v = 0;
		for (size_t j = 0; j < 8; j++)
			v |= (uint64_t)(unsigned char)method[i + j] << 8 * j;
		pack_word(&w, v);
	}
	for (size_t i = 0; i < plan->nprocs; i++)
		pack_word(&w, plan->share[i]);
	for (size_t i = 0; i < plan->nprocs; i++)
		pack_double(&w, plan->real[i]);
	for (size_t i = 0; i < plan->nprocs; i++)
		pack_double(&w, plan->time[i]);
	pack_word(&w, w.sum);
	return bytes;
}

/* Read the name of the method. Return false unless it is printable text that ends with a 0. */
static bool unpack_method(pack_words *w, hetpart_plan *pl)
{
	char *const text = pl->unpacked_method;
	size_t len = 0;
	for (size_t i = 0; i < PART_METHOD_BYTES; i += 8) {
		const uint64_t v = unpack_word(w);
		for (size_t j = 0; j < 8; j++)
			text[i + j] = (char)(v >> 8 * j & 0xff);
	}
	pl->method = text;
	while (len < PART_METHOD_BYTES && text[len] >= ' ' && text[len] <= '~')
		len++;
	return len < PART_METHOD_BYTES && text[len] == 0;
}

/* The unpacked plan must pass the checks of part_plan_close(), as the plan of a planner does. */
hetpart_status hetpart_plan_unpack(hetpart_plan **out, const void *bytes, size_t size,
				   hetpart_err *err)
{
	pack_words w = { (unsigned char *)bytes, 0 };
	if (out)
		*out = NULL;
	if (!out || !bytes)
		return part_is_null(err, out ? "bytes" : "out");
	if (size < 8 * PACK_WORDS(1) || size % 8 != 0 || unpack_word(&w) != PACK_MAGIC)
		return part_fail(err, HETPART_EFORMAT, "the bytes are not a packed plan");
	const uint64_t nprocs = unpack_word(&w), items = unpack_word(&w);
	const size_t words = size / 8 - PACK_HEAD_WORDS - 1;
	if (words % 3 != 0 || nprocs != words / 3 || items > HETPART_ITEMS_MAX)
		return part_fail(err, HETPART_EFORMAT, "the packed plan is damaged");
	hetpart_plan *const pl = part_plan_new((size_t)nprocs, items, "");
	if (!pl)
		return part_no_memory(err, nprocs, "processors");
	const double makespan = unpack_double(&w);
	pl->real_makespan = unpack_double(&w);
	pl->lower = unpack_double(&w);
	const uint64_t stopped = unpack_word(&w);
	pl->stopped = (hetpart_status)stopped;
	const bool named = unpack_method(&w, pl);
	for (size_t i = 0; i < pl->nprocs; i++)
		pl->share[i] = unpack_word(&w);
	for (size_t i = 0; i < pl->nprocs; i++)
		pl->real[i] = unpack_double(&w);
	for (size_t i = 0; i < pl->nprocs; i++)
		pl->time[i] = unpack_double(&w);
	const uint64_t sum = w.sum;
	const bool good = unpack_word(&w) == sum && named && stopped <= INT_MAX &&
			  part_plan_close(pl, NULL) == HETPART_OK && pl->makespan == makespan;
	return part_plan_return(
		out, pl,
		good ? HETPART_OK : part_fail(err, HETPART_EFORMAT, "the packed plan is damaged"));
}

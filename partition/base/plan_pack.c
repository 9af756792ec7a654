/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan_pack.c - a plan as bytes that are the same on every machine, and a plan from such bytes,
 * whatever they are: for files, messages, other processes. Little-endian words of 64 bits:
 *     "HETPLAN1", processors, items, makespan, before rounding, lower bound, what stopped
 *     it, method (48 bytes),
 *     shares, shares before rounding, times, checksum of all these.
 * May not touch: files, streams. Costs O(p). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"

#define MAGIC      UINT64_C(0x314e414c50544548) /* "HETPLAN1" */
#define HEAD_WORDS (7 + PART_METHOD_BYTES / 8)
#define WORDS(n)   (HEAD_WORDS + 3 * (n) + 1)

struct words {
	unsigned char *at;
	uint64_t sum;
};

static void put(struct words *w, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		*w->at++ = (unsigned char)(v >> 8 * i);
	w->sum = part_mix(w->sum, v);
}

static uint64_t get(struct words *w)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v |= (uint64_t)*w->at++ << 8 * i;
	w->sum = part_mix(w->sum, v);
	return v;
}

static void put_real(struct words *w, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	put(w, bits);
}

static double get_real(struct words *w)
{
	uint64_t bits = get(w);
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

static void put_method(struct words *w, const char *method)
{
	char text[PART_METHOD_BYTES] = "";

	memcpy(text, method, smaller(strlen(method), sizeof text - 1));
	for (size_t i = 0; i < sizeof text; i += 8) {
		uint64_t v = 0;
		for (size_t j = 0; j < 8; j++)
			v |= (uint64_t)(unsigned char)text[i + j] << 8 * j;
		put(w, v);
	}
}

/* False unless it is printable and ends. */
static bool get_method(struct words *w, hetpart_plan *pl)
{
	char *text = pl->unpacked_method;
	size_t len = 0;

	for (size_t i = 0; i < PART_METHOD_BYTES; i += 8) {
		uint64_t v = get(w);
		for (size_t j = 0; j < 8; j++)
			text[i + j] = (char)(v >> 8 * j & 0xff);
	}
	pl->method = text;
	while (len < PART_METHOD_BYTES && text[len] >= ' ' && text[len] <= '~')
		len++;
	return len < PART_METHOD_BYTES && text[len] == 0;
}

size_t hetpart_plan_pack(const hetpart_plan *plan, void *buf, size_t size)
{
	size_t bytes = plan ? 8 * WORDS(plan->nprocs) : 0;
	struct words w = { buf, 0 };

	if (!plan || size < bytes)
		return bytes;
	put(&w, MAGIC);
	put(&w, plan->nprocs);
	put(&w, plan->items);
	put_real(&w, plan->makespan);
	put_real(&w, plan->real_makespan);
	put_real(&w, plan->lower);
	put(&w, (uint64_t)plan->stopped);
	put_method(&w, plan->method);
	for (size_t i = 0; i < plan->nprocs; i++)
		put(&w, plan->share[i]);
	for (size_t i = 0; i < plan->nprocs; i++)
		put_real(&w, plan->real[i]);
	for (size_t i = 0; i < plan->nprocs; i++)
		put_real(&w, plan->time[i]);
	put(&w, w.sum);
	return bytes;
}

/* What makes a plan: checked as for one that a planner closes. */
static bool get_plan(struct words *w, hetpart_plan *pl)
{
	double makespan = get_real(w);
	bool text;
	uint64_t sum, stopped;

	pl->real_makespan = get_real(w);
	pl->lower = get_real(w);
	stopped = get(w);
	pl->stopped = (hetpart_status)stopped;
	text = get_method(w, pl);
	for (size_t i = 0; i < pl->nprocs; i++)
		pl->share[i] = get(w);
	for (size_t i = 0; i < pl->nprocs; i++)
		pl->real[i] = get_real(w);
	for (size_t i = 0; i < pl->nprocs; i++)
		pl->time[i] = get_real(w);
	sum = w->sum;
	return get(w) == sum && text && stopped <= INT_MAX &&
	       part_plan_close(pl, NULL) == HETPART_OK && pl->makespan == makespan;
}

hetpart_status hetpart_plan_unpack(hetpart_plan **out, const void *bytes, size_t size,
				   hetpart_err *err)
{
	struct words w = { (unsigned char *)bytes, 0 };
	hetpart_plan *pl;
	uint64_t nprocs, items;

	if (out)
		*out = NULL;
	if (!out || !bytes)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "bytes" : "out");
	if (size < 8 * WORDS(1) || size % 8 != 0 || get(&w) != MAGIC)
		return part_fail(err, HETPART_EFORMAT, "this is no packed plan");
	nprocs = get(&w);
	items = get(&w);
	if ((size / 8 - HEAD_WORDS - 1) % 3 != 0 || nprocs != (size / 8 - HEAD_WORDS - 1) / 3 ||
	    items > HETPART_ITEMS_MAX)
		return part_fail(err, HETPART_EFORMAT, "the packed plan is damaged");
	pl = part_plan_new((size_t)nprocs, items, "");
	if (!pl)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors",
				 (size_t)nprocs);
	if (!get_plan(&w, pl)) {
		hetpart_plan_free(pl);
		return part_fail(err, HETPART_EFORMAT, "the packed plan is damaged");
	}
	*out = pl;
	return HETPART_OK;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes as users write them, and the search for the limit that decides. Pages swapped out do not
 * count anywhere: a sort that swaps is slower than one that spills. */
#include "memory_limit.h"
#include "cgroup_memory.h"
#include "minmax.h"
#include "sysfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DECIMALS = 6, MILLION = 1000000, PERCENT_IN_ALL = 100 };

/* ------------------------------------------------------------------------------- sizes */

typedef struct unit {
	const char *name;
	uint64_t bytes;
} unit;

static const unit units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", UINT64_C(1) << 10 },
	{ "KiB", UINT64_C(1) << 10 },
	{ "kB", UINT64_C(1000) },
	{ "KB", UINT64_C(1000) },
	{ "M", UINT64_C(1) << 20 },
	{ "MiB", UINT64_C(1) << 20 },
	{ "MB", UINT64_C(1000000) },
	{ "G", UINT64_C(1) << 30 },
	{ "GiB", UINT64_C(1) << 30 },
	{ "GB", UINT64_C(1000000000) },
	{ "T", UINT64_C(1) << 40 },
	{ "TiB", UINT64_C(1) << 40 },
	{ "TB", UINT64_C(1000000000000) },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits, and after a point up to DECIMALS more as millionths; *p is then behind them. */
static bool decimal(const char **p, uint64_t *whole, uint32_t *millionths)
{
	const char *s = *p;
	*whole = 0;
	*millionths = 0;
	if (!is_digit(*s))
		return false;
	for (; is_digit(*s); s++)
		if (__builtin_mul_overflow(*whole, 10, whole) ||
		    __builtin_add_overflow(*whole, (uint64_t)(*s - '0'), whole))
			return false;
	if (*s == '.') {
		const char *first = ++s;
		for (uint32_t one = MILLION / 10; is_digit(*s); s++, one /= 10)
			*millionths += (uint32_t)(*s - '0') * one;
		if (s == first || s - first > DECIMALS)
			return false;
	}
	*p = s;
	return true;
}

static status refuse(const char *text, const char *why, err *e)
{
	char q[QUOTED_BYTES];
	return err_set(e, ST_REFUSED, "%s is no size of memory: %s", err_quoted(text, q), why);
}

static status set_percentage(const char *text, uint64_t whole, uint32_t millionths, memory_wish *w,
			     err *e)
{
	if (whole > PERCENT_IN_ALL || (whole == PERCENT_IN_ALL && millionths) ||
	    (whole == 0 && millionths == 0))
		return refuse(text, "a percentage is above 0 and at most 100", e);
	w->micropercent = (uint32_t)whole * MILLION + millionths;
	return ST_OK;
}

status memory_limit_parse(const char *text, memory_wish *w, err *e)
{
	const char *p = text;
	uint64_t whole;
	uint32_t millionths;
	*w = (memory_wish){ 0, 0 };
	if (!decimal(&p, &whole, &millionths))
		return refuse(text, "it begins with no number, or one of too many digits", e);
	if (strcmp(p, "%") == 0)
		return set_percentage(text, whole, millionths, w, e);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		const unit *u = &units[i];
		uint64_t bytes;
		if (strcmp(p, u->name) != 0)
			continue;
		if (u->bytes == 1 && memchr(text, '.', (size_t)(p - text)))
			return refuse(text, "bytes have no decimals", e);
		if (__builtin_mul_overflow(whole, u->bytes, &bytes) ||
		    __builtin_add_overflow(bytes, millionths * u->bytes / MILLION, &bytes))
			return refuse(text, "it is too large", e);
		w->bytes = bytes;
		return bytes ? ST_OK : refuse(text, "it must be above zero", e);
	}
	return refuse(text, "units are K, M, G, T, KiB to TiB, kB to TB, B and %", e);
}

/* "512 MiB", "1.5 GiB"; in buf. */
static const char *human(uint64_t bytes, char buf[32])
{
	static const char *const name[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned u = 0;
	double v = (double)bytes;
	for (; v >= 1024; u++)
		v /= 1024;
	snprintf(buf, 32, v == (double)(uint64_t)v ? "%.0f %s" : "%.1f %s", v, name[u]);
	return buf;
}

/* ------------------------------------------------------------------------------- search */

typedef struct search {
	const memory_limit_query *q;
	memory_limit *l;
	uint64_t capacity_bytes; /* of the node, in use or not */
} search;

static bool has_wish(const memory_limit_query *q)
{
	return q->wish.bytes || q->wish.micropercent;
}

/* What a limit leaves one of its ranks; the smallest is kept, with its sentence. */
static void offer(search *s, const cgroup_memory *r, unsigned ranks, bool whole)
{
	char limit[32], used[32], of[32], q[QUOTED_BYTES], less[48] = "", part[24] = "";
	const uint64_t left = r->limit_bytes > r->used_bytes ? r->limit_bytes - r->used_bytes : 0;
	const uint64_t ours = whole ? left : left / LIMIT_OF_PARTS * LIMIT_PARTS;
	if (ours / ranks >= s->l->rank_bytes)
		return;
	s->l->rank_bytes = ours / ranks;
	if (r->used_bytes)
		snprintf(less, sizeof less, " less %s in use", human(r->used_bytes, used));
	if (!whole)
		snprintf(part, sizeof part, ", %d/%d of it", LIMIT_PARTS, LIMIT_OF_PARTS);
	if (ranks > 1)
		snprintf(of, sizeof of, ", for %u ranks", ranks);
	snprintf(s->l->text, sizeof s->l->text, "%s%s%s: %s%s%s%s", r->kind, r->where ? " of " : "",
		 r->where ? err_quoted(r->where, q) : "", human(r->limit_bytes, limit), less, part,
		 ranks > 1 ? of : "");
}

/* A limit of all that runs on the node. */
static void of_node(void *search_, const cgroup_memory *r)
{
	search *s = search_;
	s->capacity_bytes = u64_min(s->capacity_bytes, r->limit_bytes);
	offer(s, r, s->q->node_ranks, has_wish(s->q));
}

/* A number of kB in a file of /proc, as bytes. */
static bool kilobytes(const search *s, const char *file, const char *key, uint64_t *bytes)
{
	uint64_t kb;
	return sysfile_number(s->q->root, file, key, &kb) &&
	       !__builtin_mul_overflow(kb, UINT64_C(1024), bytes);
}

static void of_machine(search *s)
{
	uint64_t total, available;
	if (!kilobytes(s, "/proc/meminfo", "MemTotal", &total))
		return;
	/* a kernel without the second number is older than 3.14 */
	if (!kilobytes(s, "/proc/meminfo", "MemAvailable", &available) || available > total)
		available = total;
	of_node(s, &(cgroup_memory){ "memory of the machine", NULL, total, total - available });
}

static void of_process(search *s, const char *name, const char *limit_key, const char *used_key)
{
	uint64_t limit, used = 0;
	if (!sysfile_number(s->q->root, "/proc/self/limits", limit_key, &limit))
		return;
	(void)kilobytes(s, "/proc/self/status", used_key, &used);
	offer(s, &(cgroup_memory){ name, NULL, limit, used }, s->q->process_ranks, has_wish(s->q));
}

static status of_user(search *s, err *e)
{
	const memory_wish *w = &s->q->wish;
	const uint64_t all = (uint64_t)PERCENT_IN_ALL * MILLION;
	uint64_t bytes = w->bytes;
	if (w->micropercent && s->capacity_bytes == UINT64_MAX)
		return err_set(e, ST_REFUSED,
			       "a percentage of memory is wanted, but the system does not tell how "
			       "much there is");
	if (w->micropercent) /* in two steps, as the product does not fit */
		bytes = s->capacity_bytes / all * w->micropercent +
			s->capacity_bytes % all * w->micropercent / all;
	if (has_wish(s->q))
		offer(s, &(cgroup_memory){ "--memory", NULL, bytes, 0 }, s->q->node_ranks, true);
	return ST_OK;
}

status memory_limit_find(const memory_limit_query *q, memory_limit *l, err *e)
{
	search s = { q, l, UINT64_MAX };
	*l = (memory_limit){ UINT64_MAX, "no limit of memory is known" };
	cgroup_memory_find(q->root, of_node, &s);
	of_machine(&s);
	of_process(&s, "address space (RLIMIT_AS)", "Max address space", "VmSize");
	of_process(&s, "data (RLIMIT_DATA)", "Max data size", "VmData");
	return of_user(&s, e);
}

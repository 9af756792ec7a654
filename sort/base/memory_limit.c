/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that users wish for, and the search for the limit that decides. Pages swapped out do
 * not count anywhere: a sort that swaps is slower than one that spills. */
#include "memory_limit.h"
#include "cgroup.h"
#include "minmax.h"
#include "size.h"
#include "sysfile.h"

#include <stdio.h>
#include <string.h>

enum { PERCENT_IN_ALL = 100 };

static const char WISH[] = "--memory";

/* ------------------------------------------------------------------------------- sizes */

static status refuse(const char *text, const char *why, err *e)
{
	return err_set(e, ST_REFUSED, "%s is neither a size nor a percentage of memory: %s",
		       quoted(text), why);
}

status memory_limit_parse(const char *text, memory_wish *w, err *e)
{
	const char *p = text;
	uint64_t whole;
	uint32_t millionths;
	*w = (memory_wish){ 0, 0 };
	if (size_number(&p, &whole, &millionths) && strcmp(p, "%") == 0) {
		if (whole > PERCENT_IN_ALL || (whole == PERCENT_IN_ALL && millionths) ||
		    (whole == 0 && millionths == 0))
			return refuse(text, "a percentage is above 0 and at most 100", e);
		w->micropercent = (uint32_t)whole * SIZE_MILLION + millionths;
		return ST_OK;
	}
	const char *why = size_parse(text, &w->bytes);
	if (!why && !w->bytes)
		why = "it must be above zero";
	return why ? refuse(text, why, e) : ST_OK;
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
	char limit[SIZE_TEXT_BYTES], used[SIZE_TEXT_BYTES], of[32], less[48] = "", part[24] = "";
	const uint64_t left = r->limit_bytes > r->used_bytes ? r->limit_bytes - r->used_bytes : 0;
	const uint64_t ours = whole ? left : left / LIMIT_OF_PARTS * LIMIT_PARTS;
	if (r->kind != WISH)
		s->l->most_bytes = u64_min(s->l->most_bytes, left / ranks);
	if (ours / ranks >= s->l->rank_bytes)
		return;
	s->l->rank_bytes = ours / ranks;
	if (r->used_bytes)
		snprintf(less, sizeof less, " less %s in use", size_text(r->used_bytes, used));
	if (!whole)
		snprintf(part, sizeof part, ", %d/%d of it", LIMIT_PARTS, LIMIT_OF_PARTS);
	if (ranks > 1)
		snprintf(of, sizeof of, ", for %u ranks", ranks);
	snprintf(s->l->text, sizeof s->l->text, "%s%s%s: %s%s%s%s", r->kind, r->where ? " of " : "",
		 r->where ? quoted(r->where) : "", size_text(r->limit_bytes, limit), less, part,
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
	const uint64_t all = (uint64_t)PERCENT_IN_ALL * SIZE_MILLION;
	uint64_t bytes = w->bytes;
	if (w->micropercent && s->capacity_bytes == UINT64_MAX)
		return err_set(e, ST_REFUSED,
			       "a percentage of memory is wanted, but the system does not tell how "
			       "much there is");
	if (w->micropercent) /* in two steps, as the product does not fit */
		bytes = s->capacity_bytes / all * w->micropercent +
			s->capacity_bytes % all * w->micropercent / all;
	if (has_wish(s->q))
		offer(s, &(cgroup_memory){ WISH, NULL, bytes, 0 }, s->q->node_ranks, true);
	return ST_OK;
}

status memory_limit_find(const memory_limit_query *q, memory_limit *l, err *e)
{
	search s = { q, l, UINT64_MAX };
	*l = (memory_limit){ UINT64_MAX, UINT64_MAX, "no limit of memory is known" };
	cgroup_memory_find(q->root, of_node, &s);
	of_machine(&s);
	of_process(&s, "address space (RLIMIT_AS)", "Max address space", "VmSize");
	of_process(&s, "data (RLIMIT_DATA)", "Max data size", "VmData");
	return of_user(&s, e);
}

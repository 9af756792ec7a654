/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A range is one word, so that a thread takes from it, and others halve it, by compare and swap. */
#include "ranges.h"

static uint64_t range_of(uint64_t first, uint64_t end)
{
	return first << 32 | end;
}

void ranges_share(const ranges *r, size_t tasks)
{
	for (unsigned i = 0; i < r->threads; i++)
		r->of[i] = range_of(tasks * i / r->threads, tasks * (i + 1) / r->threads);
}

/* Move the second half of the longest range to this thread; return false if all are empty. */
static bool take_from_others(const ranges *r, unsigned thread)
{
	for (;;) {
		uint64_t most = 0, was = 0;
		unsigned from = thread;
		for (unsigned i = 0; i < r->threads; i++) {
			const uint64_t x = r->of[i], n = (uint32_t)x - (x >> 32);
			if (n > most) {
				most = n;
				was = x;
				from = i;
			}
		}
		if (most == 0)
			return false;
		const uint64_t end = (uint32_t)was, mid = end - (most + 1) / 2;
		if (atomic_compare_exchange_strong(&r->of[from], &was, range_of(was >> 32, mid))) {
			r->of[thread] = range_of(mid, end);
			return true;
		}
	}
}

bool ranges_next(const ranges *r, unsigned thread, size_t *task)
{
	do {
		uint64_t x = r->of[thread];
		while (x >> 32 < (uint32_t)x)
			if (atomic_compare_exchange_weak(&r->of[thread], &x,
							 range_of((x >> 32) + 1, (uint32_t)x))) {
				*task = x >> 32;
				return true;
			}
	} while (take_from_others(r, thread));
	return false;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the best instruction set of this processor. Pure. */
#include "u64_sort.h"

static const u64_set PLAIN = { "plain", u64_sort_plain, NULL };

const u64_set *u64_set_at(unsigned i)
{
#if defined(U64_X86)
	if (__builtin_cpu_supports("avx512f") && i-- == 0)
		return &U64_AVX512;
	if (__builtin_cpu_supports("avx2") && i-- == 0)
		return &U64_AVX2;
#elif defined(U64_ARM)
	if (i-- == 0)
		return &U64_NEON;
#endif
	return i == 0 ? &PLAIN : NULL;
}

void u64_sort(uint64_t *a, uint64_t *tmp, size_t n)
{
	u64_set_at(0)->sort(a, tmp, n);
}

bool u64_sort_has_large(void)
{
	return u64_set_at(0)->split;
}

size_t u64_split(uint64_t *a, size_t n)
{
	return u64_set_at(0)->split(a, n);
}

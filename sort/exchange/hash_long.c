/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pure. */
#include "hash_long.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_long(const void *p, size_t bytes)
{
#if HASH_WIDE
	if (__builtin_cpu_supports("avx512f"))
		return hash_avx512(p, bytes);
	if (__builtin_cpu_supports("avx2"))
		return hash_avx2(p, bytes);
#endif
	return XXH3_64bits(p, bytes);
}

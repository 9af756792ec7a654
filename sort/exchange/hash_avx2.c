/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This whole file is compiled for AVX2, so that xxHash uses the vectors of AVX2. */
#include "block.h"

#if HASH_WIDE
#	pragma GCC target("avx2")
#	define XXH_INLINE_ALL
#	include <xxhash.h>

uint64_t hash_avx2(const void *p, size_t bytes)
{
	return XXH3_64bits(p, bytes);
}
#endif

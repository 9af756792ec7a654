/* SPDX-License-Identifier: GPL-3.0-or-later */
/* XXH3 of many bytes, by the widest vectors that this processor has: the same number by all of
 * them. The compiler's own choice, which every x86-64 processor must be able to run, takes two to
 * four times as long. */
#ifndef HETSORT_EXCHANGE_HASH_LONG_H
#define HETSORT_EXCHANGE_HASH_LONG_H

#include <stddef.h>
#include <stdint.h>

/* gcc compiles a file for other processors than the rest. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#	define HASH_WIDE 1
#else
#	define HASH_WIDE 0
#endif

uint64_t hash_long(const void *p, size_t bytes);

#if HASH_WIDE
/* hash_avx2, hash_avx512 - on processors that have them. */
uint64_t hash_avx2(const void *p, size_t bytes);
uint64_t hash_avx512(const void *p, size_t bytes);
#endif

#endif

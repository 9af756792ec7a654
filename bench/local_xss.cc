// SPDX-License-Identifier: GPL-3.0-or-later
// local_xss.cc - x86-simd-sort for local_partners.cc. The header of this library supports one
// instruction set per compilation, so the Makefile compiles this file for each of them, with its
// name as XSS.
#include <cstddef>
#include <cstdint>
#include <omp.h>
#include <x86simdsort-static-incl.h>

#define JOIN(a, b)  JOIN_(a, b)
#define JOIN_(a, b) a##b

extern "C" void JOIN(XSS, _sort)(uint64_t *keys, size_t n, unsigned threads)
{
	omp_set_num_threads((int)threads);
	x86simdsortStatic::qsort(keys, n);
}

extern "C" void JOIN(XSS, _sort_pairs)(uint64_t *keys, uint64_t *values, size_t n, unsigned threads)
{
	omp_set_num_threads((int)threads);
	x86simdsortStatic::keyvalue_qsort(keys, values, n);
}

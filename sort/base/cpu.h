/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vectors of an x86 processor. */
#ifndef HETSORT_BASE_CPU_H
#define HETSORT_BASE_CPU_H

#if defined(__has_include)
#	if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#		include <sys/platform/x86.h>
#	endif
#endif

/* glibc 2.34 knows the processor since the process began. __builtin_cpu_supports() asks it again
 * before main(), and an answer takes long on a virtual machine. */
#ifdef CPU_FEATURE_ACTIVE
#	define CPU_HAS_AVX2()   CPU_FEATURE_ACTIVE(AVX2)
#	define CPU_HAS_AVX512() CPU_FEATURE_ACTIVE(AVX512F)
#else
#	define CPU_HAS_AVX2()   __builtin_cpu_supports("avx2")
#	define CPU_HAS_AVX512() __builtin_cpu_supports("avx512f")
#endif

#endif

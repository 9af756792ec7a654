/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local.h - between the benchmark of sorting in memory (C) and its partners (C++). */
#ifndef LOCAL_H
#define LOCAL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { REC_BYTES = 100, KEY_BYTES = 10 };

/* One sort: n records of 100 bytes from in to out, by their first 10 bytes, on `threads` threads.
 * scratch has room for 32 bytes a record and has been written to, so that no partner pays for
 * fresh memory that it could have reused. */
typedef void local_sort(const unsigned char *in, size_t n, unsigned char *out, unsigned threads,
			void *scratch);

typedef struct partner {
	const char *name;
	local_sort *sort;
	int stable;   /* promises to keep equal keys in their order */
	int parallel; /* uses threads */
} partner;

/* The partners that could be built; ends with a null name. */
extern const partner PARTNERS[];

#ifdef __cplusplus
}
#endif

#endif

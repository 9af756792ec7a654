/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the key lies in a record. */
#ifndef HETSORT_BASE_LAYOUT_H
#define HETSORT_BASE_LAYOUT_H

#include <stdint.h>

enum { DEFAULT_RECORD_BYTES = 100, DEFAULT_KEY_BYTES = 10, MAX_RECORD_BYTES = 65536 };

typedef struct layout {
	uint32_t record_bytes;
	uint32_t key_off;
	uint32_t key_bytes;
} layout;

#endif

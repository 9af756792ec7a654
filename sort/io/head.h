/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the beginning of a file looks like. */
#ifndef HETSORT_IO_HEAD_H
#define HETSORT_IO_HEAD_H

#include <stddef.h>
#include <stdint.h>

enum { HEAD_BYTES = 4096 };

/* HEAD_LINES: text in lines that do not fit records of this size. */
typedef enum head_kind { HEAD_ANY, HEAD_LINES, HEAD_MANIFEST } head_kind;

/* head_judge - the first bytes of a file, at most HEAD_BYTES. */
head_kind head_judge(const char *text, size_t bytes, uint32_t record_bytes);

#endif

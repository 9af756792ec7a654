/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The name that stands for standard input or output on the command line and in messages. */
#ifndef HETSORT_BASE_STREAMS_H
#define HETSORT_BASE_STREAMS_H

#include <stdbool.h>
#include <string.h>

#define STREAM_NAME "-"

static inline bool stream_is_standard(const char *name)
{
	return strcmp(name, STREAM_NAME) == 0;
}

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One number for each rank, from a list or a file: relative speeds, or rates of links. */
#ifndef HETSORT_MODEL_SPEEDS_H
#define HETSORT_MODEL_SPEEDS_H

#include "base/status.h"

/* What is wanted. */
typedef struct speeds_want {
	const char *what;  /* for messages: "speed", "link" */
	size_t n;          /* ranks */
	const char *host;  /* the name of the host of the first, */
	size_t host_bytes; /* and so many bytes further on that of the next */
} speeds_want;

/* speeds_host - return the name of the host of rank i. */
static inline const char *speeds_host(const speeds_want *w, size_t i)
{
	return w->host + i * w->host_bytes;
}

/* speeds_parse - a number for each rank, > 0 and finite, from text of len bytes (which may hold
 * anything); # starts a comment that runs to the end of the line. Either exactly n numbers,
 * separated by commas or white space, or, if the first word is no number, lines HOST NUMBER: every
 * rank of that host gets the number, each host of a rank must be named once, and no other.
 * name stands for the text in messages, which give the line. */
status speeds_parse(const char *text, size_t len, const char *name, const speeds_want *w,
		    double *speed, err *e);

/* speeds_load - from arg: a file where there is one of that name, else a list of numbers, if it has
 * a comma or begins like a number. */
status speeds_load(const char *arg, const speeds_want *w, double *speed, err *e);

/* Names of many hosts in one, as batch systems write them: node[1-48], rack[1-2,7]n[01-24]. Numbers
 * with zeros before them are that wide.
 * speeds_range_is_sound - of len bytes: do the brackets hold numbers, or pairs of them in order?
 * speeds_range_has - is the host one of a range that is sound? Without brackets: the only one. */
bool speeds_range_is_sound(const char *range, size_t len);
bool speeds_range_has(const char *range, size_t len, const char *host);

#endif

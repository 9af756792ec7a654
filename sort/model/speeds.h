/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One number for each rank, from a list or a file: relative speeds, or rates of links. */
#ifndef HETSORT_MODEL_SPEEDS_H
#define HETSORT_MODEL_SPEEDS_H

#include "base/status.h"

typedef struct speeds_want {
	const char *what;  /* the column of a file, and for messages: "speed", "link" */
	size_t n;          /* ranks */
	const char *host;  /* the name of the first one's host */
	size_t host_bytes; /* from one name to the next */
} speeds_want;

/* speeds_host - return the name of the host of rank i. */
static inline const char *speeds_host(const speeds_want *w, size_t i)
{
	return w->host + i * w->host_bytes;
}

/* speeds_parse - read a number for each rank, > 0 and finite, from text of len bytes, which may
 * contain anything. # starts a comment that ends with the line. The text is exactly n numbers,
 * separated by commas or white space. If the first word is not a number, it is lines HOST NUMBER:
 * every rank of that host gets the number. Each host of a rank must be named once, and no other
 * host. name stands for the text in messages, which give the line. */
status speeds_parse(const char *text, size_t len, const char *name, const speeds_want *w,
		    double *speed, err *e);

/* speeds_load - read them from the file arg if it exists. Else arg is a list of numbers, if it has
 * a comma or begins like a number. */
status speeds_load(const char *arg, const speeds_want *w, double *speed, err *e);

/* A range is the names of many hosts in the form of batch systems: node[1-48], rack[1-2,7]n[01-24].
 * Numbers with leading zeros have a fixed width. A name without brackets is a range of one.
 * speeds_range_is_sound - do the brackets contain numbers, or pairs of them in order?
 * speeds_range_has - is the host in a range that is sound? */
bool speeds_range_is_sound(const char *range, size_t len);
bool speeds_range_has(const char *range, size_t len, const char *host);

#endif

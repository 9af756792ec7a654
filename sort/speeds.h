/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Relative speeds of the ranks, from a list or a file. */
#ifndef HETSORT_SPEEDS_H
#define HETSORT_SPEEDS_H

#include "status.h"

/* speeds_parse - exactly n numbers, > 0 and finite, from text of len bytes (which may hold
 * anything). They are separated by commas or white space; # starts a comment that runs to the end
 * of the line. name stands for the text in messages, which give the line. */
status speeds_parse(const char *text, size_t len, const char *name, double *speed, size_t n,
		    err *e);

/* speeds_load - from arg: a file where there is one of that name, else a list of numbers. */
status speeds_load(const char *arg, double *speed, size_t n, err *e);

#endif

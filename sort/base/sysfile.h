/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers and words in the text files by which Linux tells about itself (/proc, /sys). */
#ifndef HETSORT_BASE_SYSFILE_H
#define HETSORT_BASE_SYSFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* sysfile_open - path below root ("" for this machine), or NULL. */
FILE *sysfile_open(const char *root, const char *path);

/* sysfile_number - the whole number after key at the beginning of a line (blanks and a colon may
 * lie between), or with key "" at the beginning of the file. False, with *v unchanged, if there is
 * no such file or line, or anything but a number ("max", "unlimited") stands there. */
bool sysfile_number(const char *root, const char *path, const char *key, uint64_t *v);

/* sysfile_text - what follows after key, a blank or tab and a colon, in its first line there, cut
 * at `bytes`; "" if there is none, or it is no ASCII. */
void sysfile_text(const char *root, const char *path, const char *key, char *text, size_t bytes);

#endif

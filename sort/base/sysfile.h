/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers and words in the text files by which Linux describes itself (/proc, /sys). Paths lie
 * below root: "" for this machine. A file that has an unexpected form counts as missing. */
#ifndef HETSORT_BASE_SYSFILE_H
#define HETSORT_BASE_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sysfile_lines - call `visit` for each line, which it may change, until it returns true. */
void sysfile_lines(const char *root, const char *path, bool (*visit)(void *arg, char *line),
		   void *arg);

/* sysfile_number - read the whole number after `key` at the beginning of a line, with blanks or a
 * colon between them. If key is "", read the number at the beginning of the file. Return false,
 * with *v unchanged, if the file or line is missing or has no number ("max", "unlimited"). */
bool sysfile_number(const char *root, const char *path, const char *key, uint64_t *v);

/* sysfile_numbers - read several numbers in one pass, each as sysfile_number does. A number that is
 * not found keeps its value, and its `found` is false. */
typedef struct sysfile_entry {
	const char *key;
	uint64_t number;
	bool found;
} sysfile_entry;
void sysfile_numbers(const char *root, const char *path, sysfile_entry *entry, size_t entries);

/* sysfile_text - copy the text after `key` in the first line that begins with it. Cut it to fit
 * `bytes`, and at the first character that is not printable ASCII; "" without such a line. */
void sysfile_text(const char *root, const char *path, const char *key, char *text, size_t bytes);

#endif

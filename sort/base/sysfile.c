/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read text files of the kernel line by line. */
#include "sysfile.h"
#include "number.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A page, because /proc returns at most a page for each read. The C library would read 1 KiB. */
enum { BUFFER_BYTES = 4096 };

void sysfile_lines(const char *root, const char *path, bool (*visit)(void *arg, char *line),
		   void *arg)
{
	char whole[PATH_MAX], buffer[BUFFER_BYTES], *line = NULL;
	const int n = snprintf(whole, sizeof whole, "%s%s", root, path);
	FILE *f = n > 0 && (size_t)n < sizeof whole ? fopen(whole, "re") : NULL;
	size_t size = 0;
	bool done = false;
	if (f)
		setvbuf(f, buffer, _IOFBF, sizeof buffer);
	while (f && !done && getline(&line, &size, f) > 0)
		done = visit(arg, line);
	free(line);
	if (f)
		fclose(f);
}

/* Return the text after key and the gap that follows it; NULL if the line begins otherwise. */
static const char *sysfile_after_key(const char *line, const char *key)
{
	const size_t n = strlen(key), gap = strncmp(line, key, n) ? 0 : strspn(line + n, ": \t");
	return n == 0 ? line : gap ? line + n + gap : NULL;
}

typedef struct wanted_numbers {
	sysfile_entry *entry;
	size_t entries, found;
} wanted_numbers;

/* Look for the numbers that are not found yet. If the key is "", look only at the first line.
 * Return true when no other line is needed. */
static bool sysfile_find_numbers(void *wanted_, char *line)
{
	wanted_numbers *w = wanted_;
	for (size_t i = 0; i < w->entries; i++) {
		sysfile_entry *x = &w->entry[i];
		const char *p = x->found ? NULL : sysfile_after_key(line, x->key);
		uint64_t v;
		if (p && number_at(&p, UINT64_MAX, &v) && strchr(" \t\n", *p)) {
			x->number = v;
			x->found = true;
			w->found++;
		}
	}
	return w->found == w->entries || !*w->entry->key;
}

void sysfile_numbers(const char *root, const char *path, sysfile_entry *entry, size_t entries)
{
	wanted_numbers w = { entry, entries, 0 };
	sysfile_lines(root, path, sysfile_find_numbers, &w);
}

bool sysfile_number(const char *root, const char *path, const char *key, uint64_t *v)
{
	sysfile_entry x = { .key = key };
	sysfile_numbers(root, path, &x, 1);
	if (x.found)
		*v = x.number;
	return x.found;
}

typedef struct wanted_text {
	const char *key;
	char *text;
	size_t bytes; /* of text */
} wanted_text;

static bool sysfile_copy_text(void *wanted_, char *line)
{
	const wanted_text *w = wanted_;
	size_t n = 0;
	const char *p = sysfile_after_key(line, w->key);
	for (; p && n + 1 < w->bytes && *p >= ' ' && *p <= '~'; p++)
		w->text[n++] = *p;
	w->text[n] = '\0';
	return p != NULL;
}

void sysfile_text(const char *root, const char *path, const char *key, char *text, size_t bytes)
{
	wanted_text w = { key, text, bytes };
	text[0] = '\0';
	sysfile_lines(root, path, sysfile_copy_text, &w);
}

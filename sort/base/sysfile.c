/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading line by line. */
#include "sysfile.h"
#include "number.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sysfile_lines(const char *root, const char *path, bool (*visit)(void *arg, char *line),
		   void *arg)
{
	char whole[PATH_MAX], *line = NULL;
	const int n = snprintf(whole, sizeof whole, "%s%s", root, path);
	FILE *f = n > 0 && (size_t)n < sizeof whole ? fopen(whole, "re") : NULL;
	size_t size = 0;
	bool done = false;
	while (f && !done && getline(&line, &size, f) > 0)
		done = visit(arg, line);
	free(line);
	if (f)
		fclose(f);
	return done;
}

typedef struct wanted {
	const char *key;
	bool found;
	uint64_t number;
	char *text;
	size_t bytes; /* of text */
} wanted;

/* Return the text after key and a gap; NULL if the line does not begin with them. */
static const char *after_key(const char *line, const char *key)
{
	const size_t n = strlen(key), gap = strncmp(line, key, n) ? 0 : strspn(line + n, ": \t");
	return n == 0 ? line : gap ? line + n + gap : NULL;
}

static bool find_number(void *wanted_, char *line)
{
	wanted *w = wanted_;
	const char *p = after_key(line, w->key);
	w->found = p && number_at(&p, UINT64_MAX, &w->number) && strchr(" \t\n", *p);
	return w->found || !*w->key;
}

bool sysfile_number(const char *root, const char *path, const char *key, uint64_t *v)
{
	wanted w = { .key = key };
	(void)sysfile_lines(root, path, find_number, &w);
	if (w.found)
		*v = w.number;
	return w.found;
}

static bool copy_text(void *wanted_, char *line)
{
	const wanted *w = wanted_;
	size_t n = 0;
	const char *p = after_key(line, w->key);
	for (; p && n + 1 < w->bytes && *p >= ' ' && *p <= '~'; p++)
		w->text[n++] = *p;
	w->text[n] = '\0';
	return p != NULL;
}

void sysfile_text(const char *root, const char *path, const char *key, char *text, size_t bytes)
{
	wanted w = { .key = key, .text = text, .bytes = bytes };
	text[0] = '\0';
	(void)sysfile_lines(root, path, copy_text, &w);
}

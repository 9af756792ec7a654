/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading line by line; a file that does not look as it should is as good as none. */
#include "sysfile.h"
#include "number.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

FILE *sysfile_open(const char *root, const char *path)
{
	char whole[PATH_MAX];
	const int n = snprintf(whole, sizeof whole, "%s%s", root, path);
	return n > 0 && (size_t)n < sizeof whole ? fopen(whole, "re") : NULL;
}

static bool word_at(const char *p, uint64_t *v)
{
	uint64_t n;
	if (!number_at(&p, UINT64_MAX, &n) || (*p && !strchr(" \t\n", *p)))
		return false;
	*v = n;
	return true;
}

bool sysfile_number(const char *root, const char *path, const char *key, uint64_t *v)
{
	FILE *f = sysfile_open(root, path);
	const size_t len = strlen(key);
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	while (f && !found && getline(&line, &size, f) > 0) {
		if (len == 0) {
			found = word_at(line, v);
			break;
		}
		if (strncmp(line, key, len) != 0)
			continue;
		const size_t gap = strspn(line + len, ": \t");
		found = gap && word_at(line + len + gap, v);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

void sysfile_text(const char *root, const char *path, const char *key, char *text, size_t bytes)
{
	FILE *f = sysfile_open(root, path);
	const size_t len = strlen(key);
	char *line = NULL;
	size_t size = 0, n = 0;
	bool found = false;
	while (f && !found && getline(&line, &size, f) > 0)
		found = strncmp(line, key, len) == 0 && strchr(": \t", line[len]);
	const char *p = found ? line + len + strspn(line + len, ": \t") : "";
	for (; n + 1 < bytes && *p >= ' ' && *p <= '~'; p++)
		text[n++] = *p;
	text[n] = '\0';
	free(line);
	if (f)
		fclose(f);
}

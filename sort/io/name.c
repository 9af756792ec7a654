/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expansion of %r in file names. Pure but for the memory of the result; a pattern is read as data
 * and never reaches printf as a format. */
#include "name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_TEXT_BYTES = 24 };

/* At a percent sign: the length of the directive, 0 if it is none. *width is -1 for %%. */
static size_t directive(const char *s, int *width)
{
	if (s[1] == '%') {
		*width = -1;
		return 2;
	}
	const bool digit = s[1] >= '1' && s[1] <= '9';
	*width = digit ? s[1] - '0' : 0;
	return s[1 + digit] == 'r' ? 2u + digit : 0;
}

bool name_is_per_rank(const char *pattern)
{
	for (const char *s = strchr(pattern, '%'); s; s = strchr(s, '%')) {
		int width;
		const size_t n = directive(s, &width);
		if (n && width >= 0)
			return true;
		s += n ? n : 1;
	}
	return false;
}

static char *expand(const char *pattern, int rank, const char *text, err *e)
{
	char q[QUOTED_BYTES];
	const size_t longest = text ? strlen(text) : RANK_TEXT_BYTES;
	char *out = malloc(strlen(pattern) * (longest + 1) + 1), *o = out;
	if (!out) {
		err_set(e, ST_RESOURCE, "no memory for the name %s", err_quoted(pattern, q));
		return NULL;
	}
	for (const char *s = pattern; *s;) {
		int width;
		if (*s != '%') {
			*o++ = *s++;
			continue;
		}
		const size_t n = directive(s, &width);
		if (n == 0) {
			err_set(e, ST_REFUSED, "name %s: only r (the rank) or %% may follow %%",
				err_quoted(pattern, q));
			free(out);
			return NULL;
		}
		s += n;
		if (width < 0)
			*o++ = '%';
		else if (text)
			o = stpcpy(o, text);
		else
			o += snprintf(o, RANK_TEXT_BYTES, "%0*d", width, rank);
	}
	*o = '\0';
	return out;
}

char *name_expand(const char *pattern, int rank, err *e)
{
	return expand(pattern, rank, NULL, e);
}

char *name_expand_text(const char *pattern, const char *text, err *e)
{
	return expand(pattern, 0, text, e);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error sentences: formatting, classification of errno, and quoting of names that come from
 * outside and may hold anything. Touches no global but errno's text. */
#include "status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Standard input and output have no name: replace the '-' that names them on the command line. A
 * quote within a name is escaped, so none of this can be part of one. */
static void name_streams(char text[ERR_TEXT_BYTES])
{
	static const char *const names[][2] = { { "input '-'", "standard input" },
						{ "output '-'", "standard output" },
						{ "read '-'", "read standard input" },
						{ "write '-'", "write standard output" },
						{ "of '-'", "of standard input" } };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char rest[ERR_TEXT_BYTES], *at = strstr(text, names[i][0]);
		if (!at)
			continue;
		strcpy(rest, at + strlen(names[i][0]));
		snprintf(at, (size_t)(text + ERR_TEXT_BYTES - at), "%s%s", names[i][1], rest);
	}
}

/* The status of a failed system call, unless it lacks room of some kind: that is ST_RESOURCE. */
static status class_of(int errnum, status otherwise)
{
	switch (errnum) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EAGAIN:
		return ST_RESOURCE;
	default:
		return otherwise;
	}
}

status err_tell(err *e, status st, int errnum, const char *fmt, ...)
{
	st = class_of(errnum, st);
	if (!e)
		return st;
	if (e->code != ST_OK)
		return e->code;
	e->code = st;
	va_list ap;
	va_start(ap, fmt);
	const int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	if (errnum && n >= 0 && (size_t)n < sizeof e->text)
		snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", strerror(errnum));
	name_streams(e->text);
	return st;
}

/* One byte of a name as it may be shown: itself, or a C escape. Returns the bytes written. */
static size_t escape(unsigned char c, char out[5])
{
	if (c >= 0x20 && c != 0x7f && c != '\'' && c != '\\') {
		out[0] = (char)c;
		return 1;
	}
	return (size_t)snprintf(out, 5, "\\%03o", c);
}

const char *err_quoted(const char *path, char buf[QUOTED_BYTES])
{
	size_t len = strlen(path), at = 0;
	const size_t keep_end = 60; /* of a long path the start and the end tell most */
	buf[at++] = '\'';
	for (size_t i = 0; i < len; i++) {
		char one[5];
		size_t n = escape((unsigned char)path[i], one);
		if (at + n + 4 * keep_end + 8 > QUOTED_BYTES && len - i > keep_end) {
			memcpy(buf + at, "...", 3);
			at += 3;
			i = len - keep_end - 1;
			continue;
		}
		if (at + n + 2 > QUOTED_BYTES)
			break;
		memcpy(buf + at, one, n);
		at += n;
	}
	buf[at++] = '\'';
	buf[at] = '\0';
	return buf;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Format error messages, classify errno, and quote names from outside, which may contain
 * anything. */
#include "status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

status err_tell(err *e, status st, int errnum, const char *fmt, ...)
{
	static const char *const names[][2] = { { "input '-'", "standard input" },
						{ "output '-'", "standard output" },
						{ "read '-'", "read standard input" },
						{ "write '-'", "write standard output" },
						{ "of '-'", "of standard input" } };
	if (errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG || errnum == ENOMEM ||
	    errnum == EMFILE || errnum == ENFILE || errnum == EAGAIN)
		st = ST_RESOURCE; /* a resource is exhausted */
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
	/* Replace '-' by the name of the standard stream that it stands for. A quote in a file name
	 * is escaped, so the replaced texts cannot be part of a file name. */
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char rest[ERR_TEXT_BYTES], *at = strstr(e->text, names[i][0]);
		if (!at)
			continue;
		snprintf(rest, sizeof rest, "%s", at + strlen(names[i][0]));
		snprintf(at, (size_t)(e->text + ERR_TEXT_BYTES - at), "%s%s", names[i][1], rest);
	}
	return st;
}

const char *err_quoted(const char *path, char buf[QUOTED_BYTES])
{
	size_t len = strlen(path), at = 0;
	const size_t keep_end = 60; /* the middle of a long path is the least important */
	buf[at++] = '\'';
	for (size_t i = 0; i < len; i++) {
		char one[5]; /* the byte, or its C escape */
		const unsigned char c = (unsigned char)path[i];
		const bool plain = c >= 0x20 && c != 0x7f && c != '\'' && c != '\\';
		const size_t n = (size_t)snprintf(one, sizeof one, plain ? "%c" : "\\%03o", c);
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

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of valsort. Nothing to report to if standard error itself fails; main looks at it
 * once at the end. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "val_say.h"

/* The bytes below the space, DEL, and the control characters U+0080 to U+009F of UTF-8. */
static void put_safely(const char *name)
{
	const unsigned char *p = (const unsigned char *)name;

	for (; *p; p++) {
		bool wide = p[0] == 0xC2 && (p[1] & 0xE0) == 0x80;

		if (wide)
			fprintf(stderr, "\\x%02x", *p++);
		if (wide || *p < ' ' || *p == 0x7F)
			fprintf(stderr, "\\x%02x", *p);
		else
			putc(*p, stderr);
	}
}

void val_say_reason(const char *name, int err)
{
	put_safely(name);
	fprintf(stderr, ": %s\n", strerror(err));
}

void val_say_error(const char *what, const char *name, int err)
{
	fprintf(stderr, "valsort: %s '", what);
	put_safely(name);
	fprintf(stderr, err ? "': %s\n" : "'\n", strerror(err));
}

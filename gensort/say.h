/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What gensort and valsort say on standard error. Names are printed safely: control characters,
 * which could steer a terminal, appear as \xHH. Called by the main thread only. There is nobody to
 * report to if standard error itself fails; main looks at it once at the end. */
#ifndef SAY_H
#define SAY_H

#include <stdio.h>
#include <string.h>

/* say_name - write a name with its control characters escaped: C0 and DEL, and C1, which UTF-8
 * writes as C2 80 to C2 9F. */
static inline void say_name(const char *name)
{
	const unsigned char *p = (const unsigned char *)name;

	for (; *p; p++) {
		const int wide = p[0] == 0xC2 && (p[1] & 0xE0) == 0x80;

		if (wide)
			fprintf(stderr, "\\x%02x", *p++);
		if (wide || *p < ' ' || *p == 0x7F)
			fprintf(stderr, "\\x%02x", *p);
		else
			putc(*p, stderr);
	}
}

/* say_error - "PROGRAM: WHAT 'NAME': REASON"; err 0 leaves out the reason. */
static inline void say_error(const char *program, const char *what, const char *name, int err)
{
	fprintf(stderr, "%s: %s '", program, what);
	say_name(name);
	fprintf(stderr, err ? "': %s\n" : "'\n", strerror(err));
}

#endif

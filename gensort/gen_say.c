/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of gensort: program, what failed, its subject in quotes, the reason.
 * Nothing to report to if standard error itself fails; main looks at it once at the end. */
#include <string.h>
#include "gen_say.h"

/* C0 controls and DEL; and C1 controls, which UTF-8 writes as C2 80 to C2 9F. */
static int control_bytes(const unsigned char *s)
{
	if (s[0] < 0x20 || s[0] == 0x7F)
		return 1;
	return s[0] == 0xC2 && s[1] >= 0x80 && s[1] <= 0x9F ? 2 : 0;
}

void gen_put_name(FILE *f, const char *name)
{
	for (const unsigned char *s = (const unsigned char *)name; *s; s++) {
		int n = control_bytes(s);

		if (n == 0)
			fputc(*s, f);
		else
			fprintf(f, "\\x%02x", *s);
		if (n == 2)
			fprintf(f, "\\x%02x", *++s);
	}
}

void gen_error(const char *what, const char *name, int err)
{
	fprintf(stderr, "gensort: %s '", what);
	gen_put_name(stderr, name);
	if (err)
		fprintf(stderr, "': %s\n", strerror(err));
	else
		fputs("'\n", stderr);
}

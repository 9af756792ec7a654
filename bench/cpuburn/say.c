/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages on standard error. They hold words and names that come from outside, so control bytes,
 * which could play tricks with a terminal, are shown as escapes. */
#include "cpuburn.h"

#include <stdio.h>
#include <stdlib.h>

void say(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say_list(format, list);
	va_end(list);
}

void say_list(const char *format, va_list list)
{
	char *text = NULL;

	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	fputs("cpuburn: ", stderr);
	for (const unsigned char *s = (const unsigned char *)(text ? text : "no memory"); *s; s++)
		fprintf(stderr, *s < 0x20 || *s == 0x7f ? "\\x%02x" : "%c", *s);
	fputc('\n', stderr);
	free(text);
}

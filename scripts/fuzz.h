/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that fuzzers share: the entry point, a check that stops the run, the words of a command
 * line, and what a message may hold. Part of the tests, not of any program. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_WORDS = 200 };

/* LLVMFuzzerTestOneInput - libFuzzer's name for one run; fuzz-main.c calls it too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check(bool holds)
{
	if (!holds)
		abort();
}

/* A command line as main() gets it. */
typedef struct fuzz_line {
	char *text;
	char *argv[FUZZ_WORDS + 2]; /* "program", the words, NULL */
	int argc;
} fuzz_line;

/* fuzz_words - the words of data, each ended by a zero byte as in /proc/self/cmdline; what is
 * beyond FUZZ_WORDS is omitted. Each word is an allocation's end or followed by another's start,
 * so that a read too far is seen at the end of the last. */
static inline void fuzz_words(fuzz_line *l, const uint8_t *data, size_t size)
{
	static char program[] = "program";
	*l = (fuzz_line){ .text = malloc(size + 1), .argv = { program }, .argc = 1 };
	fuzz_check(l->text != NULL);
	if (size)
		memcpy(l->text, data, size);
	l->text[size] = '\0';
	for (size_t at = 0; at < size && l->argc <= FUZZ_WORDS; at += strlen(l->text + at) + 1)
		l->argv[l->argc++] = l->text + at;
}

/* fuzz_clean - no control characters (C0, DEL), by which a message could steer a terminal. */
static inline bool fuzz_clean(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

#endif

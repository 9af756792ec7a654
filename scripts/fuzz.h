/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that fuzzers share: the entry point, a check that ends the run, the words of a command line,
 * and the check of a message. For tests only. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_WORDS = 200 };

/* LLVMFuzzerTestOneInput - run the fuzzer on one input. libFuzzer and fuzz-main.c call this. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check(bool holds)
{
	if (!holds)
		abort();
}

/* A command line as main() receives it. */
typedef struct fuzz_line {
	char *text;
	char *argv[FUZZ_WORDS + 2]; /* "program", the words, NULL */
	int argc;
} fuzz_line;

/* fuzz_words - make a command line of the words in data, each ended by a zero byte as in
 * /proc/self/cmdline. Words after the first FUZZ_WORDS are omitted. The words end at the end of
 * their allocation, so that a sanitizer sees a read beyond the last one. */
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

/* fuzz_clean - return whether a message has no control characters (C0, DEL), which could control a
 * terminal. */
static inline bool fuzz_clean(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

#endif

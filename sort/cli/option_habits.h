/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What users of sort(1) type: options of its that hetsort has under another name, and those that it
 * has not, each with what to use instead. */
#ifndef HETSORT_CLI_OPTION_HABITS_H
#define HETSORT_CLI_OPTION_HABITS_H

#include <stddef.h>

typedef struct option_habit {
	const char *name; /* NULL: the letter alone */
	char letter;      /* '\0': none, or it is that of the option */
	const char *same; /* the option that does it; NULL: none */
	const char *instead;
} option_habit;

/* What may stand behind an option that takes no argument: --check=silent. */
typedef struct option_word {
	const char *option, *word;
	const char *same; /* the option that both together are */
} option_word;

/* Ends with NULL. */
extern const option_word option_words[];

enum { OPTION_HABITS_MAX = 32 };

extern const option_habit option_habits[];
extern const size_t option_habit_count;

/* option_habit_of - by a letter, or by the n bytes of a long name (letter '\0'); NULL: there is
 * none. */
const option_habit *option_habit_of(char letter, const char *name, size_t n);

#endif

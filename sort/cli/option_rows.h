/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of hetsort, one row each. The parser, --help, the sum that ranks compare and the
 * configuration in the report are made from these rows. */
#ifndef HETSORT_CLI_OPTION_ROWS_H
#define HETSORT_CLI_OPTION_ROWS_H

#include <stddef.h>

#include "base/settings.h"

/* What an option does with its argument. Those without one may be given twice, and OPT_KEY
 * and OPT_TMPDIR. */
typedef enum option_kind {
	OPT_SET,    /* takes none: the field becomes `value` */
	OPT_NUMBER, /* whole, from lo to hi */
	OPT_SIZE,   /* the same of bytes, with a unit */
	OPT_CHOICE, /* one of `choices`: the field becomes its index */
	OPT_TEXT,
	OPT_KEY,    /* one field more of the key */
	OPT_COUNT,  /* a field for a count */
	OPT_MEMORY, /* a size or a percentage */
	OPT_TMPDIR, /* one directory more */
} option_kind;

typedef enum option_section {
	OF_FILES,
	OF_RECORDS,
	OF_SHARES,
	OF_WORK,
	OF_INSTEAD,
	OPTION_SECTIONS
} option_section;

/* A member of settings. */
typedef struct option_field {
	size_t at, bytes;
} option_field;

typedef struct option_row {
	const char *name;
	char letter;     /* '\0': none */
	const char *arg; /* what --help calls the argument; NULL: there is none */
	option_kind kind;
	option_field field;
	int value;                  /* of OPT_SET */
	uint64_t lo, hi;            /* of OPT_NUMBER and OPT_SIZE */
	const char *const *choices; /* of OPT_CHOICE; ends with NULL */
	/* A word that may stand in place of such an argument, and what it sets. NULL: none. */
	struct {
		const char *text;
		option_field field;
		int value;
	} word;
	bool with_root;         /* goes with --source=root only */
	const char *may_differ; /* why ranks need not agree on it; NULL: they have to */
	/* Its place among the configuration in the report, from 1, and its name; 0: not there. */
	struct {
		int place;
		const char *name;
	} report;
	option_section section; /* of --help */
	const char *help;       /* {} becomes the choices or the range */
} option_row;

enum { OPTIONS_MAX = 64 };

extern const option_row option_rows[];
extern const size_t option_count;

/* option_set_of - a set of rows, one bit each. */
typedef uint64_t option_set;

/* option_place - the row of this name, which is there. */
size_t option_place(const char *name);

/* option_is_in - is the option of this name in the set? */
bool option_is_in(option_set s, const char *name);

/* option_load, option_store - a field of 1, 4 or 8 bytes; one of 0 bytes is not stored. */
int64_t option_load(const settings *o, option_field f);
void option_store(settings *o, option_field f, int64_t value);

/* What users of sort(1) type: options of its that hetsort has under another name, and those that it
 * has not, each with what to use instead. */

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

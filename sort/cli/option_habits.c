/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lint: table. Options of sort(1). Those of the same letter and meaning are rows of hetsort's. */
#include "option_habits.h"

#include <string.h>

#define NUMBERS "numbers have a type: --key OFFSET,TYPE with u8 to u64, i8 to i64, f32, f64"
#define TEXT    "keys are bytes and binary numbers: --key OFFSET,LENGTH[,TYPE][,desc]"

const option_habit option_habits[] = {
	{ "buffer-size", '\0', "memory", NULL },
	{ "parallel", '\0', "threads", NULL },
	{ "temporary-directory", '\0', "tmpdir", NULL },
	{ NULL, 'k', NULL, "fields have a place in bytes: --key OFFSET,LENGTH[,TYPE][,desc]" },
	{ "field-separator", 't', NULL, "fields have a place in bytes: --key OFFSET,LENGTH" },
	{ "zero-terminated", 'z', NULL, "records have a length and no end: --record-size" },
	{ "numeric-sort", 'n', NULL, NUMBERS },
	{ "general-numeric-sort", 'g', NULL, NUMBERS },
	{ "human-numeric-sort", '\0', NULL, NUMBERS },
	{ "ignore-leading-blanks", 'b', NULL, TEXT },
	{ "dictionary-order", 'd', NULL, TEXT },
	{ "ignore-case", '\0', NULL, TEXT },
	{ "ignore-nonprinting", 'i', NULL, TEXT },
	{ "month-sort", 'M', NULL, TEXT },
	{ "random-sort", 'R', NULL, TEXT },
	{ "version-sort", 'V', NULL, TEXT },
	{ "sort", '\0', NULL, TEXT },
	{ "batch-size", '\0', NULL, "all inputs are merged at once, within --memory" },
	{ "compress-program", '\0', NULL, "temporary files are not compressed: --tmpdir" },
	{ "debug", '\0', NULL, "--explain tells what would be done, --verbose what was" },
	{ "files0-from", '\0', NULL, "inputs are operands, or parts that a manifest names" },
};

const size_t option_habit_count = sizeof option_habits / sizeof *option_habits;

const option_word option_words[] = {
	{ "check", "silent", "check-silent" },
	{ "check", "quiet", "check-silent" },
	{ "check", "diagnose-first", "check" },
	{ NULL, NULL, NULL },
};

_Static_assert(sizeof option_habits / sizeof *option_habits <= OPTION_HABITS_MAX, "room for all");

const option_habit *option_habit_of(char letter, const char *name, size_t n)
{
	for (size_t i = 0; i < option_habit_count; i++) {
		const option_habit *h = &option_habits[i];
		if (letter ? h->letter == letter
			   : h->name && strlen(h->name) == n && strncmp(h->name, name, n) == 0)
			return h;
	}
	return NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: getopt_long over the rows of the options, and strict numbers. Prints nothing
 * and touches no file; the phase describe looks at files. */
#include "options.h"
#include "base/size.h"
#include "number.h"
#include "option_rows.h"
#include "options_validate.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_LONG = 256 }; /* what getopt returns for the first row's long name */

static status bad_argument(const option_row *r, const char *arg, const char *wanted, err *e)
{
	char q[QUOTED_BYTES];
	return err_set(e, ST_REFUSED, "invalid argument %s for --%s: %s", err_quoted(arg, q),
		       r->name, wanted);
}

static status set_value(settings *o, const option_row *r, const char *arg, err *e)
{
	(void)arg;
	(void)e;
	option_store(o, r->field, r->value);
	return ST_OK;
}

static status set_number(settings *o, const option_row *r, const char *arg, err *e)
{
	char wanted[80];
	uint64_t v;
	if (number_parse(arg, r->lo, r->hi, &v)) {
		option_store(o, r->field, (int64_t)v);
		return ST_OK;
	}
	snprintf(wanted, sizeof wanted, "a whole number from %llu to %llu is wanted",
		 (unsigned long long)r->lo, (unsigned long long)r->hi);
	return bad_argument(r, arg, wanted, e);
}

static status set_size(settings *o, const option_row *r, const char *arg, err *e)
{
	char wanted[80], lo[SIZE_TEXT_BYTES], hi[SIZE_TEXT_BYTES];
	uint64_t v;
	const char *why = size_parse(arg, &v);
	if (!why && v >= r->lo && v <= r->hi) {
		option_store(o, r->field, (int64_t)v);
		return ST_OK;
	}
	snprintf(wanted, sizeof wanted, "a size from %s to %s is wanted", size_text(r->lo, lo),
		 size_text(r->hi, hi));
	return bad_argument(r, arg, why ? why : wanted, e);
}

static status set_choice(settings *o, const option_row *r, const char *arg, err *e)
{
	char wanted[80];
	size_t at = 0;
	for (int i = 0; r->choices[i]; i++) {
		if (strcmp(arg, r->choices[i]) == 0) {
			option_store(o, r->field, i);
			return ST_OK;
		}
	}
	for (int i = 0; r->choices[i] && at < sizeof wanted; i++)
		at += (size_t)snprintf(wanted + at, sizeof wanted - at, "%s%s",
				       i ? ", " : "one of ", r->choices[i]);
	return bad_argument(r, arg, wanted, e);
}

static status set_text(settings *o, const option_row *r, const char *arg, err *e)
{
	(void)e;
	memcpy((char *)o + r->field.at, &arg, sizeof arg);
	return ST_OK;
}

static status add_key(settings *o, const option_row *r, const char *arg, err *e)
{
	const char *why = layout_add_field(&o->lay, arg);
	return why ? bad_argument(r, arg, why, e) : ST_OK;
}

static status set_count(settings *o, const option_row *r, const char *arg, err *e)
{
	layout one = { 0 };
	const key_field *f = one.field;
	if (layout_add_field(&one, arg) || f->type != KEY_TYPE_UNSIGNED || f->bytes < 4 || f->desc)
		return bad_argument(
			r, arg, "OFFSET,u32 or OFFSET,u64 is wanted, and le or be may follow", e);
	o->count = *f;
	return ST_OK;
}

static status set_memory(settings *o, const option_row *r, const char *arg, err *e)
{
	(void)r;
	return memory_limit_parse(arg, &o->memory, e);
}

static status add_tmpdir(settings *o, const option_row *r, const char *arg, err *e)
{
	if (o->tmpdirs == MAX_TMPDIRS)
		return err_set(e, ST_REFUSED, "more than %d --%s", MAX_TMPDIRS, r->name);
	o->tmpdir[o->tmpdirs++] = arg;
	return ST_OK;
}

static status (*const set[])(settings *, const option_row *, const char *, err *) = {
	[OPT_SET] = set_value,     [OPT_NUMBER] = set_number, [OPT_CHOICE] = set_choice,
	[OPT_TEXT] = set_text,     [OPT_KEY] = add_key,       [OPT_MEMORY] = set_memory,
	[OPT_TMPDIR] = add_tmpdir, [OPT_SIZE] = set_size,     [OPT_COUNT] = set_count,
};

static status set_option(settings *o, option_set *given, size_t row, const char *arg, err *e)
{
	const option_row *r = &option_rows[row];
	const bool before = *given >> row & 1;
	if (before && r->kind != OPT_SET && r->kind != OPT_TMPDIR && r->kind != OPT_KEY)
		return err_set(e, ST_REFUSED, "--%s is given twice", r->name);
	*given |= (option_set)1 << row;
	if (r->word.text && strcmp(arg, r->word.text) == 0) {
		option_store(o, r->word.field, r->word.value);
		return ST_OK;
	}
	return set[r->kind](o, r, arg, e);
}

/* May a word stand behind the option, which takes no argument? */
static bool has_words(const option_row *r)
{
	const option_word *w = option_words;
	while (w->option && strcmp(w->option, r->name) != 0)
		w++;
	return w->option != NULL;
}

/* The option that this one is with a word behind it. */
static status row_with_word(size_t *row, const char *word, err *e)
{
	const option_row *r = &option_rows[*row];
	char wanted[80] = "";
	size_t at = 0;
	for (const option_word *w = option_words; w->option; w++) {
		if (strcmp(w->option, r->name) != 0)
			continue;
		if (strcmp(w->word, word) == 0) {
			*row = option_place(w->same);
			return ST_OK;
		}
		if (at < sizeof wanted)
			at += (size_t)snprintf(wanted + at, sizeof wanted - at, "%s%s",
					       at ? ", " : "nothing, or one of ", w->word);
	}
	return bad_argument(r, word, wanted, e);
}

/* How many letters have to be added, dropped or replaced: Levenshtein's distance. */
static size_t distance(const char *a, size_t n, const char *b)
{
	size_t row[QUOTED_BYTES];
	const size_t m = strlen(b);
	for (size_t k = 0; k <= m; k++)
		row[k] = k;
	for (size_t i = 1; i <= n; i++) {
		size_t corner = row[0];
		row[0] = i;
		for (size_t k = 1; k <= m; k++) {
			const size_t replaced = corner + (a[i - 1] != b[k - 1]);
			const size_t shorter = row[k] < row[k - 1] ? row[k] : row[k - 1];
			corner = row[k];
			row[k] = replaced < shorter + 1 ? replaced : shorter + 1;
		}
	}
	return row[m];
}

/* The option that was probably meant: no more than two letters are wrong, and fewer than half. */
static const option_row *nearest(const char *name, size_t len)
{
	const option_row *best = NULL;
	size_t least = 3;
	for (size_t i = 0; i < option_count; i++) {
		const size_t d = distance(name, len, option_rows[i].name);
		if (d < least && 2 * d < len) {
			least = d;
			best = &option_rows[i];
		}
	}
	return best;
}

/* An option of sort(1) that is none of hetsort's. */
static status bad_habit(const option_habit *h, const char *quoted, err *e)
{
	return err_set(e, ST_REFUSED, "unknown option %s: %s", quoted, h->instead);
}

/* A long name, with its dashes, that getopt could not tell. */
static status bad_name(const char *word, err *e)
{
	const char *name = word + 2;
	const size_t len = strcspn(name, "=");
	const char *match[OPTIONS_MAX + OPTION_HABITS_MAX];
	const option_habit *habit = option_habit_of('\0', name, len);
	char q[QUOTED_BYTES], list[ERR_TEXT_BYTES] = "";
	size_t matches = 0, at = 0;
	for (size_t i = 0; i < option_count; i++)
		if (len > 0 && strncmp(option_rows[i].name, name, len) == 0)
			match[matches++] = option_rows[i].name;
	for (size_t i = 0; i < option_habit_count; i++)
		if (len > 0 && option_habits[i].same &&
		    strncmp(option_habits[i].name, name, len) == 0)
			match[matches++] = option_habits[i].name;
	for (size_t i = 0; i < matches && at < sizeof list; i++)
		at += (size_t)snprintf(list + at, sizeof list - at, "%s--%s",
				       i == 0            ? ""
				       : i + 1 < matches ? ", "
							 : " or ",
				       match[i]);
	if (matches > 0)
		return err_set(e, ST_REFUSED, "ambiguous option: %s", list);
	err_quoted(word, q);
	if (habit)
		return bad_habit(habit, q, e);
	const option_row *meant = nearest(name, len);
	return meant ? err_set(e, ST_REFUSED, "unknown option %s (did you mean --%s?)", q,
			       meant->name)
		     : err_set(e, ST_REFUSED, "unknown option %s", q);
}

static bool row_of(int value, size_t *row)
{
	for (*row = 0; *row < option_count; ++*row)
		if (value == FIRST_LONG + (int)*row ||
		    (value != 0 && value == option_rows[*row].letter))
			return true;
	return false;
}

/* The word that getopt could not take, or the letter, where it stands among others. */
static status bad_option(const char *word, bool lacks, err *e)
{
	const char letter[] = { '-', (char)optopt, '\0' };
	char q[QUOTED_BYTES];
	size_t row;
	if (optopt == 0)
		return bad_name(word, e);
	const bool known = row_of(optopt, &row);
	err_quoted(known && word[1] == '-' ? word : letter, q);
	const option_habit *habit = known ? NULL : option_habit_of((char)optopt, NULL, 0);
	if (habit)
		return bad_habit(habit, q, e);
	return known ? err_set(e, ST_REFUSED, "option %s takes %s argument", q, lacks ? "an" : "no")
		     : err_set(e, ST_REFUSED, "unknown option %s", q);
}

/* What getopt wants to know of the rows. */
static void getopt_tables(struct option *longs, char *letters)
{
	*letters++ = ':'; /* tells a missing argument apart */
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		longs[i] = (struct option){ r->name,
					    r->arg         ? required_argument
					    : has_words(r) ? optional_argument
							   : no_argument,
					    NULL, FIRST_LONG + (int)i };
		if (r->letter) {
			*letters++ = r->letter;
			if (r->arg)
				*letters++ = ':';
		}
	}
	longs += option_count;
	for (size_t i = 0; i < option_habit_count; i++)
		if (option_habits[i].same)
			*longs++ = (struct option){ option_habits[i].name, required_argument, NULL,
						    FIRST_LONG + (int)option_place(
									 option_habits[i].same) };
	*longs = (struct option){ NULL, 0, NULL, 0 };
	*letters = '\0';
}

/* Of all that ranks have to agree on. */
static uint64_t sum(const settings *o)
{
	XXH3_state_t h;
	XXH3_64bits_reset(&h);
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		const char *at = (const char *)o + r->field.at, *text;
		if (r->may_differ)
			continue;
		if (r->kind == OPT_TEXT) {
			memcpy(&text, at, sizeof text);
			text = text ? text : "";
			XXH3_64bits_update(&h, text, strlen(text) + 1);
		} else {
			XXH3_64bits_update(&h, at, r->field.bytes);
		}
		XXH3_64bits_update(&h, (const char *)o + r->word.field.at, r->word.field.bytes);
	}
	for (size_t i = 0; i < o->ninputs; i++)
		XXH3_64bits_update(&h, o->inputs[i], strlen(o->inputs[i]) + 1);
	return XXH3_64bits_digest(&h);
}

static const settings defaults = {
	.lay = LAYOUT_BYTES(DEFAULT_RECORD_BYTES, 0, DEFAULT_KEY_BYTES),
	.exchange_threads = 2,
	.adapt = { .gain = 0.1, .saved_s = 0.02 },
	.max_message = 256 << 20,
	.scatter = SCATTER_BALANCED,
	.fsync = true,
};

/* Help and version are shown at once, whatever follows; but -v tells more of the version. */
static void look_ahead(settings *o, const char *next)
{
	if (next && (strcmp(next, "-v") == 0 || strcmp(next, "--verbose") == 0))
		o->verbosity = 1;
}

status options_parse(settings *o, int argc, char **argv, err *e)
{
	struct option longs[OPTIONS_MAX + OPTION_HABITS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 2];
	option_set given = 0;
	size_t row;
	*o = defaults;
	getopt_tables(longs, letters);
	optind = 0; /* start over, whoever parsed before */
	opterr = 0;
	for (int opt; (opt = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
		if (!row_of(opt, &row))
			return bad_option(argv[optind - 1], opt == ':', e);
		status rc = ST_OK;
		if (optarg && !option_rows[row].arg)
			rc = row_with_word(&row, optarg, e);
		if (rc == ST_OK)
			rc = set_option(o, &given, row, optarg, e);
		if (rc == ST_OK && o->wish == WISH_VERSION)
			look_ahead(o, argv[optind]);
		if (rc != ST_OK || o->wish == WISH_HELP || o->wish == WISH_VERSION)
			return rc;
	}
	o->inputs = (const char *const *)argv + optind;
	o->ninputs = (size_t)(argc - optind);
	const status rc = options_validate(o, given, e);
	o->sum = sum(o);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* option.c - words of the command line as JSON: numbers, lists, costs, points.
 * May not touch: which option they belong to; ranges are checked with the request.
 * Costs one pass over the word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hetplan.h"
#include "number.h"

typedef json_t *reader(const char *word, char why[HP_TEXT_BYTES]);

/* The word is not what it should be, unless there was no memory to look at it. */
static json_t *refuse(char why[HP_TEXT_BYTES], const char *want, const char *word)
{
	if (errno != ENOMEM)
		snprintf(why, HP_TEXT_BYTES, "want %s, not '%.128s'", want, word);
	return NULL;
}

static json_t *whole(const char *word, char why[HP_TEXT_BYTES])
{
	uint64_t x;

	if (!hp_text_count(word, &x) || x > INT64_MAX)
		return refuse(why, "a whole number below 2^63", word);
	return json_integer((json_int_t)x);
}

static json_t *real(const char *word, char why[HP_TEXT_BYTES])
{
	double x;

	if (!hp_text_real(word, &x))
		return refuse(why, "a number", word);
	return json_real(x);
}

static json_t *text(const char *word, char why[HP_TEXT_BYTES])
{
	json_t *v = json_string(word);

	return v ? v : refuse(why, "text in UTF-8", word);
}

/* Cut word at the last c: what is behind it, or NULL if there is none. */
static char *cut(char *word, char c)
{
	char *at = strrchr(word, c);

	if (!at)
		return NULL;
	*at = '\0';
	return at + 1;
}

static json_t *point(const char *word, char why[HP_TEXT_BYTES])
{
	char *copy = strdup(word), *time = copy ? cut(copy, ':') : NULL;
	double x, y;
	json_t *v;

	if (time && hp_text_real(copy, &x) && hp_text_real(time, &y))
		v = json_pack("[f,f]", x, y);
	else
		v = refuse(why, "ITEMS:TIME", word);
	free(copy);
	return v;
}

/* A cost without its factor; word is cut to pieces. */
static json_t *plain_cost(char *word)
{
	double x, y;
	char *last = cut(word, ':');

	if (!last && hp_text_real(word, &x))
		return json_pack("{s:s,s:f,s:f}", "type", "affine", "startup", 0.0, "per_item", x);
	if (!last && (strcmp(word, "linear") == 0 || strcmp(word, "nlogn") == 0 ||
		      strcmp(word, "nlog2n1") == 0))
		return json_pack("{s:s}", "type", word);
	if (!last || !hp_text_real(last, &x))
		return NULL;
	if (strcmp(word, "power") == 0)
		return json_pack("{s:s,s:f}", "type", "power", "exponent", x);
	last = cut(word, ':');
	if (last && strcmp(word, "affine") == 0 && hp_text_real(last, &y))
		return json_pack("{s:s,s:f,s:f}", "type", "affine", "startup", y, "per_item", x);
	return NULL;
}

const char *hp_nearest(const char *word, const char *const *words)
{
	const char *best = NULL;
	size_t len = strlen(word), least = len < 5 ? 2 : 3, row[33];

	for (; *words && len > 1 && len < 32; words++) {
		row[0] = 0;
		for (size_t j = 1; j <= len; j++)
			row[j] = j;
		for (const char *c = *words; *c; c++) {
			size_t before = row[0]++; /* of the shorter words of both */
			for (size_t j = 1; j <= len; j++) {
				size_t change = before + (word[j - 1] != *c), other;
				before = row[j];
				other = 1 + (row[j - 1] < before ? row[j - 1] : before);
				row[j] = change < other ? change : other;
			}
		}
		if (row[len] < least && row[len] < strlen(*words)) {
			least = row[len];
			best = *words;
		}
	}
	return best;
}

static json_t *no_cost(const char *word, char why[HP_TEXT_BYTES])
{
	static const char *const costs[] = {
		"linear", "nlogn", "nlog2n1", "power", "affine", NULL
	};
	char name[33];
	const char *meant;

	snprintf(name, sizeof name, "%.*s", (int)strcspn(word, ":*"), word);
	meant = hp_nearest(name, costs);
	if (errno != ENOMEM)
		snprintf(why, HP_TEXT_BYTES,
			 "unknown cost '%.128s'%s%s%s; use the time of one item, linear, nlogn, "
			 "nlog2n1, "
			 "power:EXPONENT or affine:STARTUP:TIME, and *FACTOR after it",
			 word, meant && strcmp(meant, name) != 0 ? " (did you mean " : "",
			 meant && strcmp(meant, name) != 0 ? meant : "",
			 meant && strcmp(meant, name) != 0 ? "?)" : "");
	return NULL;
}

static json_t *cost(const char *word, char why[HP_TEXT_BYTES])
{
	char *copy = strdup(word), *factor = copy ? cut(copy, '*') : NULL;
	double scale = 1;
	json_t *v = NULL;

	if (copy && (!factor || hp_text_real(factor, &scale)))
		v = plain_cost(copy);
	free(copy);
	if (!v)
		return no_cost(word, why);
	if (factor && json_object_set_new(v, "scale", json_real(scale)) != 0) {
		json_decref(v);
		v = NULL;
	}
	return v;
}

/* A word NxWORD stands for WORD, N times: cut off that number. */
static uint64_t cut_times(char **word)
{
	const char *at = *word;
	uint64_t times;

	if (!number_at(&at, hp_limits.procs, &times) || times == 0 || *at != 'x')
		return 1; /* what reads the word refuses it */
	*word += at - *word + 1;
	return times;
}

static bool append(json_t *list, char *word, reader *read, char why[HP_TEXT_BYTES])
{
	uint64_t times = read == text ? 1 : cut_times(&word); /* a name may begin like this */
	json_t *entry = read(word, why);
	bool ok = entry != NULL;

	for (; ok && times; times--)
		ok = json_array_append(list, entry) == 0;
	json_decref(entry);
	return ok;
}

/* What read() makes of each word between commas. */
static json_t *list(const char *words, reader *read, char why[HP_TEXT_BYTES])
{
	char *copy = strdup(words), *at = copy;
	json_t *v = copy ? json_array() : NULL;

	while (v && at) {
		char *word = at, *comma = strchr(at, ',');
		if (comma)
			*comma = '\0';
		at = comma ? comma + 1 : NULL;
		if (!append(v, word, read, why)) {
			json_decref(v);
			v = NULL;
		}
	}
	free(copy);
	return v;
}

/* What is there under no name of a file, and looks more like numbers than like a name. */
static bool is_list(const char *word)
{
	return access(word, F_OK) != 0 && !strchr(word, '/') &&
	       (strchr("0123456789+-.", *word) || strchr(word, ','));
}

json_t *hp_option_value(enum hp_kind kind, const char *word, char why[HP_TEXT_BYTES])
{
	snprintf(why, HP_TEXT_BYTES, "out of memory");
	errno = 0;
	switch (kind) {
	case HP_KIND_WORD:
		return text(word, why);
	case HP_KIND_WHOLE:
		return whole(word, why);
	case HP_KIND_REAL:
		return real(word, why);
	case HP_KIND_WHOLES:
		return list(word, whole, why);
	case HP_KIND_REALS:
		return list(word, real, why);
	case HP_KIND_COST:
		return cost(word, why);
	case HP_KIND_COSTS:
		return list(word, cost, why);
	case HP_KIND_SPEEDS:
		return is_list(word) ? list(word, real, why) : text(word, why);
	case HP_KIND_POINTS:
		return list(word, point, why);
	case HP_KIND_NAMES:
		return list(word, text, why);
	}
	return NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* command_line.c - the command line: a verb, options that set members of the request, and options
 * of the output. Arguments of options become JSON; their ranges are checked with the request.
 * getopt's own messages are off, because they would print control characters of the arguments.
 * Parsing changes optind, so it can be done only once. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hetplan.h"
#include "nearest.h"
#include "number.h"

/* ------------------------------------------------------------------------ arguments of options */

/* Return the argument of an option, or an entry of a list, as a JSON value. If it is invalid,
 * return NULL and store the rule that it breaks in why. */
typedef json_t *word_reader(const char *word, char why[HP_TEXT_BYTES]);

/* Return NULL, and store in why what a word must be, unless memory is out. */
static json_t *bad_word(char why[HP_TEXT_BYTES], const char *must_be, const char *word)
{
	if (errno != ENOMEM)
		snprintf(why, HP_TEXT_BYTES, "must be %s, not '%.128s'", must_be, word);
	return NULL;
}

static json_t *whole_word(const char *word, char why[HP_TEXT_BYTES])
{
	uint64_t x;
	if (!hp_text_count(word, &x) || x > INT64_MAX)
		return bad_word(why, "a whole number below 2^63", word);
	return json_integer((json_int_t)x);
}

static json_t *real_word(const char *word, char why[HP_TEXT_BYTES])
{
	double x;
	if (!hp_text_real(word, &x))
		return bad_word(why, "a number", word);
	return json_real(x);
}

static json_t *text_word(const char *word, char why[HP_TEXT_BYTES])
{
	json_t *const v = json_string(word);
	return v ? v : bad_word(why, "text in UTF-8", word);
}

/* Cut word at the last c. Return the text after it, or NULL if word does not contain c. */
static char *cut_last(char *word, char c)
{
	char *const at = strrchr(word, c);
	if (!at)
		return NULL;
	*at = '\0';
	return at + 1;
}

static json_t *point_word(const char *word, char why[HP_TEXT_BYTES])
{
	char *const copy = strdup(word), *const time = copy ? cut_last(copy, ':') : NULL;
	double x, y;
	json_t *const v = time && hp_text_real(copy, &x) && hp_text_real(time, &y)
				  ? json_pack("[f,f]", x, y)
				  : bad_word(why, "ITEMS:TIME", word);
	free(copy);
	return v;
}

/* Return a cost without a factor as JSON, or NULL if it is invalid. This changes word. */
static json_t *plain_cost(char *word)
{
	char *last = cut_last(word, ':');
	double x, y;
	if (!last && hp_text_real(word, &x))
		return json_pack("{s:s,s:f,s:f}", "type", "affine", "startup", 0.0, "per_item", x);
	if (!last && (strcmp(word, "linear") == 0 || strcmp(word, "nlogn") == 0 ||
		      strcmp(word, "nlog2n1") == 0))
		return json_pack("{s:s}", "type", word);
	if (!last || !hp_text_real(last, &x))
		return NULL;
	if (strcmp(word, "power") == 0)
		return json_pack("{s:s,s:f}", "type", "power", "exponent", x);
	last = cut_last(word, ':');
	if (last && strcmp(word, "affine") == 0 && hp_text_real(last, &y))
		return json_pack("{s:s,s:f,s:f}", "type", "affine", "startup", y, "per_item", x);
	return NULL;
}

/* Return NULL, and store in why that word is not a cost. */
static json_t *bad_cost(const char *word, char why[HP_TEXT_BYTES])
{
	static const char *const costs[] = {
		"linear", "nlogn", "nlog2n1", "power", "affine", NULL
	};
	const size_t len = strcspn(word, ":*");
	const char *const meant = nearest_word(word, len, costs, sizeof *costs);
	const bool other = meant && !(strlen(meant) == len && strncmp(meant, word, len) == 0);
	if (errno != ENOMEM)
		snprintf(why, HP_TEXT_BYTES,
			 "unknown cost '%.128s'%s%s%s; use the time of one item, linear, nlogn, "
			 "nlog2n1, power:EXPONENT or affine:STARTUP:TIME, and *FACTOR after it",
			 word, other ? " (did you mean " : "", other ? meant : "",
			 other ? "?)" : "");
	return NULL;
}

static json_t *cost_word(const char *word, char why[HP_TEXT_BYTES])
{
	char *const copy = strdup(word), *const factor = copy ? cut_last(copy, '*') : NULL;
	double scale = 1;
	json_t *v = NULL;
	if (copy && (!factor || hp_text_real(factor, &scale)))
		v = plain_cost(copy);
	free(copy);
	if (!v)
		return bad_cost(word, why);
	if (factor && json_object_set_new(v, "scale", json_real(scale)) != 0) {
		json_decref(v);
		v = NULL;
	}
	return v;
}

/* Return an array of the words between commas. NxWORD means WORD N times. In lists of text, NxWORD
 * is a text of its own. */
static json_t *word_list(const char *words, word_reader *read, char why[HP_TEXT_BYTES])
{
	char *const copy = strdup(words), *at = copy;
	json_t *v = copy ? json_array() : NULL;
	while (v && at) {
		const char *word = at, *rest = at;
		char *const comma = strchr(at, ',');
		uint64_t times = 1;
		if (comma)
			*comma = '\0';
		at = comma ? comma + 1 : NULL;
		if (read != text_word && number_at(&rest, hp_program_limits.procs, &times) &&
		    times > 0 && *rest == 'x')
			word = rest + 1;
		else
			times = 1;
		json_t *const entry = read(word, why);
		bool ok = entry != NULL;
		for (; ok && times; times--)
			ok = json_array_append(v, entry) == 0;
		json_decref(entry);
		if (!ok) {
			json_decref(v);
			v = NULL;
		}
	}
	free(copy);
	return v;
}

/* Return a list of speeds as an array, or the name of a file of speeds as a string. */
static json_t *speeds_word(const char *word, char why[HP_TEXT_BYTES])
{
	return access(word, F_OK) != 0 && !strchr(word, '/') &&
			       (strchr("0123456789+-.", *word) || strchr(word, ','))
		       ? word_list(word, real_word, why)
		       : text_word(word, why);
}

/* Options that set members of the request. `verbs` contains the verbs that have the option, each
 * between blanks. */
static const struct {
	const char *name, *key, *verbs;
	word_reader *read;
	bool list; /* of words */
} fields[] = {
	{ "items", "items", " share scatter model ", whole_word, false },
	{ "speeds", "speeds", " share scatter model ", speeds_word, false },
	{ "weights", "weights", " share ", real_word, true },
	{ "cost", "cost", " share scatter ", cost_word, false },
	{ "costs", "costs", " share ", cost_word, true },
	{ "capacity", "capacity", " share ", whole_word, true },
	{ "minimum", "minimum", " share scatter ", whole_word, true },
	{ "quantum", "quantum", " share scatter ", whole_word, false },
	{ "compute", "compute", " scatter ", cost_word, true },
	{ "link", "link", " scatter ", cost_word, true },
	{ "chunk", "chunk", " scatter ", whole_word, false },
	{ "rule", "rule", " share scatter ", text_word, false },
	{ "ratings", "ratings", " emulate ", real_word, true },
	{ "processes", "processes", " emulate ", whole_word, false },
	{ "best-upto", "best_upto", " emulate ", whole_word, false },
	{ "observations", "observations", " model ", point_word, true },
	{ "w", "w", " chain ", real_word, true },
	{ "w-load", "w_load", " chain ", real_word, true },
	{ "z", "z", " chain ", real_word, true },
	{ "tau", "tau", " chain ", real_word, true },
	{ "latency", "latency", " chain ", real_word, true },
	{ "vcomm", "vcomm", " chain ", real_word, true },
	{ "vcomp", "vcomp", " chain ", real_word, true },
	{ "release", "release", " chain ", real_word, true },
	{ "weight", "weight", " chain ", real_word, true },
	{ "objective", "objective", " chain ", text_word, false },
	{ "installments", "installments", " chain ", whole_word, true },
	{ "max-installments", "max_installments", " chain ", whole_word, false },
	{ "time-limit", "time_limit_s", " share scatter chain emulate ", real_word, false },
	{ "max-mem", "max_mem_bytes", " share scatter chain ", whole_word, false },
	{ "method", "method", " share scatter chain ", text_word, false },
	{ "names", "names", " share scatter chain emulate model ", text_word, true },
};

json_t *hp_option_value(const char *key, const char *word, char why[HP_TEXT_BYTES])
{
	size_t i = 0;
	while (strcmp(fields[i].key, key) != 0)
		i++;
	snprintf(why, HP_TEXT_BYTES, "out of memory");
	errno = 0;
	return fields[i].list ? word_list(word, fields[i].read, why) : fields[i].read(word, why);
}

/* -------------------------------------------------------------------------- the command line */

enum {
	OPT_PROBLEM = 256, /* OPT_PROBLEM + i: fields[i] */
	OPT_OP = 512,
	OPT_JSON,
	OPT_CSV,
	OPT_NO_GANTT,
	OPT_WIDTH,
	OPT_STEPS,
	OPT_SVG,
	OPT_HTML,
	OPT_TITLE,
	OPT_VERSION
};

static const struct option outputs[] = {
	{ "input", required_argument, NULL, 'i' },
	{ "op", required_argument, NULL, OPT_OP },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "compare", no_argument, NULL, 'c' },
	{ "gantt", no_argument, NULL, 'g' },
	{ "no-gantt", no_argument, NULL, OPT_NO_GANTT },
	{ "width", required_argument, NULL, OPT_WIDTH },
	{ "max-steps", required_argument, NULL, OPT_STEPS },
	{ "svg", required_argument, NULL, OPT_SVG },
	{ "html", required_argument, NULL, OPT_HTML },
	{ "title", required_argument, NULL, OPT_TITLE },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
};

const char *hp_option_of(const char *key)
{
	static const struct {
		const char *key, *options;
	} row[] = {
		{ "items", "--items" },
		{ "speeds", "--speeds" },
		{ "cost", "--cost" },
		{ "processors", "--compute" },
		{ "compute", "--compute" },
		{ "link", "--link" },
		{ "ratings", "--ratings" },
		{ "processes", "--processes or --best-upto" },
		{ "observations", "--observations" },
		{ "w", "--w" },
		{ "z", "--z" },
		{ "vcomm", "--vcomm" },
		{ "vcomp", "--vcomp" },
	};
	for (size_t i = 0; i < HP_LEN(row); i++)
		if (strcmp(row[i].key, key) == 0)
			return row[i].options;
	return NULL;
}

static hp_verdict bad_usage(const char *option, const char *why)
{
	hp_say("'%s': %s", option, why);
	return HP_USAGE;
}

static hp_verdict set_member(size_t i, hp_args *a)
{
	char option[32], verb[32], why[HP_TEXT_BYTES];
	snprintf(option, sizeof option, "--%s", fields[i].name);
	snprintf(verb, sizeof verb, " %s ", a->verb);
	if (!strstr(fields[i].verbs, verb)) {
		hp_say("'%s': not an option of '%s'", option, a->verb);
		return HP_USAGE;
	}
	if (json_object_get(a->set, fields[i].key))
		return bad_usage(option, "given twice");
	json_t *const v = hp_option_value(fields[i].key, optarg, why);
	if (!v)
		return bad_usage(option, why);
	return json_object_set_new(a->set, fields[i].key, v) == 0
		       ? HP_VERB
		       : bad_usage(option, "out of memory");
}

static hp_verdict set_whole(const char *option, uint64_t min, uint64_t max, uint64_t *out)
{
	if (number_parse(optarg, min, max, out))
		return HP_VERB;
	char why[HP_TEXT_BYTES];
	snprintf(why, sizeof why, "must be a whole number in %llu..%llu, not '%.128s'",
		 (unsigned long long)min, (unsigned long long)max, optarg);
	return bad_usage(option, why);
}

static hp_verdict set_text(const char *option, const char **out)
{
	if (*out)
		return bad_usage(option, "given twice");
	if (optarg[0] == '\0')
		return bad_usage(option, "empty");
	*out = optarg;
	return HP_VERB;
}

static hp_verdict set_output(int c, hp_args *a)
{
	switch (c) {
	case 'i':
		return set_text("--input", &a->input);
	case OPT_OP:
		return set_text("--op", &a->op);
	case OPT_JSON:
	case OPT_CSV:
		if (a->format == (c == OPT_JSON ? HP_CSV : HP_JSON))
			return bad_usage(c == OPT_JSON ? "--json" : "--csv",
					 "use either --json or --csv, not both");
		a->format = c == OPT_JSON ? HP_JSON : HP_CSV;
		return HP_VERB;
	case 'c':
		a->compare = true;
		return HP_VERB;
	case 'g':
	case OPT_NO_GANTT:
		a->gantt = c == 'g' ? HP_CHART_YES : HP_CHART_NO;
		return HP_VERB;
	case OPT_WIDTH:
		return set_whole("--width", 48, 1000, &a->width);
	case OPT_STEPS:
		return set_whole("--max-steps", 0, UINT64_MAX, &a->max_steps);
	case OPT_SVG:
		return set_text("--svg", &a->svg);
	case OPT_HTML:
		return set_text("--html", &a->html);
	case OPT_TITLE:
		return set_text("--title", &a->title);
	case 'h':
		return HP_HELP;
	default:
		return HP_VERSION;
	}
}

/* Set a member of the request or an option of the output. c is the result of getopt_long(). */
static hp_verdict set_any_option(int c, hp_args *a)
{
	if (c == 'n' || c == 's' || c == 'm')
		c = OPT_PROBLEM + (c == 'n' ? 0 : c == 's' ? 1 : (int)HP_LEN(fields) - 2);
	return c >= OPT_PROBLEM && c < OPT_PROBLEM + (int)HP_LEN(fields)
		       ? set_member((size_t)(c - OPT_PROBLEM), a)
		       : set_output(c, a);
}

/* Print why a long option is invalid: it does not exist, is ambiguous, or takes no value. */
static hp_verdict bad_long_option(const char *word)
{
	const char *names[HP_LEN(fields) + HP_LEN(outputs) + 1] = { NULL };
	const size_t len = strcspn(word + 2, "=");
	size_t n = 0, used = 0;
	for (size_t i = 0; i < HP_LEN(fields); i++)
		names[n++] = fields[i].name;
	for (size_t i = 0; i < HP_LEN(outputs); i++)
		names[n++] = outputs[i].name;
	char why[HP_TEXT_BYTES] = "unknown option";
	const char *const meant = nearest_word(word + 2, len, names, sizeof *names);
	if (meant && strlen(meant) == len && strncmp(meant, word + 2, len) == 0)
		return bad_usage(word, "takes no value");
	if (meant)
		snprintf(why, sizeof why, "unknown option (did you mean --%s?)", meant);
	for (size_t i = 0; i < n && len > 0; i++)
		if (strncmp(names[i], word + 2, len) == 0)
			used += (size_t)snprintf(why + used, sizeof why - used, "%s --%s",
						 used ? "," : "ambiguous:", names[i]);
	return bad_usage(word, why);
}

/* Print why getopt_long() rejected word, which has a letter or a long option. */
static hp_verdict bad_getopt(const char *word, int c)
{
	const char letter[] = { '-', (char)optopt, '\0' };
	const bool is_long = word && word[0] == '-' && word[1] == '-';
	if (c != ':' && is_long)
		return bad_long_option(word);
	return bad_usage(is_long || optopt == 0 || optopt > 255 ? word : letter,
			 c == ':' ? "no value for this option" : "unknown option");
}

/* Refuse options that cannot be combined with each other or with the verb. */
static hp_verdict check_options(hp_args *a)
{
	const bool shows = strcmp(a->verb, "show") == 0;
	if (a->format != HP_TABLE && a->gantt == HP_CHART_YES)
		return bad_usage("--gantt", "cannot be combined with --json or --csv");
	if (a->compare && (a->svg || a->gantt == HP_CHART_YES))
		return bad_usage(a->svg ? "--svg" : "--gantt", "cannot be combined with --compare");
	if (a->compare && json_object_get(a->set, "method"))
		return bad_usage("--method", "cannot be combined with --compare");
	if (a->title && !a->svg && !a->html)
		return bad_usage("--title", "requires --svg or --html");
	if (shows && (a->op || a->compare))
		return bad_usage(a->op ? "--op" : "--compare", "not an option of 'show'");
	if (shows && !a->input)
		return bad_usage("FILE", "missing");
	return hp_outputs_check(a) ? HP_VERB : HP_REFUSED;
}

static hp_verdict parse_verb_options(int argc, char **argv, hp_args *a)
{
	struct option longs[HP_LEN(fields) + HP_LEN(outputs) + 1] = { { NULL, 0, NULL, 0 } };
	for (size_t i = 0; i < HP_LEN(fields); i++)
		longs[i] = (struct option){ fields[i].name, required_argument, NULL,
					    OPT_PROBLEM + (int)i };
	memcpy(longs + HP_LEN(fields), outputs, sizeof outputs);
	const bool shows = strcmp(a->verb, "show") == 0;
	opterr = 0;
	optind = 2;
	if (shows && argc > 2 && (argv[2][0] != '-' || argv[2][1] == '\0'))
		a->input = argv[optind++];
	int c, at = optind;
	while ((c = getopt_long(argc, argv, "+:hi:n:s:m:cg", longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return bad_getopt(argv[at], c);
		const hp_verdict v = set_any_option(c, a);
		if (v != HP_VERB)
			return v;
		at = optind;
	}
	if (shows && !a->input && optind < argc)
		a->input = argv[optind++];
	return optind < argc ? bad_usage(argv[optind], "extra operand") : check_options(a);
}

/* Return HP_HELP or HP_VERSION if the word is such an option, otherwise HP_USAGE. */
static hp_verdict asks_for(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return HP_HELP;
	return strcmp(word, "--version") == 0 ? HP_VERSION : HP_USAGE;
}

/* Parse "batch [--time-limit=S | --] [FILE]". */
static hp_verdict parse_batch(int argc, char **argv, hp_args *a)
{
	static const char limit[] = "--time-limit=";
	const char *const first = argc > 2 ? argv[2] : "-";
	int at = 2;
	if (asks_for(first) != HP_USAGE)
		return asks_for(first);
	if (strcmp(first, "--") == 0) {
		at = 3;
	} else if (strncmp(first, limit, strlen(limit)) == 0) {
		if (!hp_text_real(first + strlen(limit), &a->batch_s) || !(a->batch_s > 0))
			return bad_usage("--time-limit", "must be seconds, more than 0");
		at = 3;
	} else if (first[0] == '-' && first[1] != '\0')
		return bad_usage(first, "unknown option; batch has --time-limit");
	if (argc > at + 1)
		return bad_usage(argv[at + 1], "extra operand");
	a->input = argc > at ? argv[at] : NULL;
	return HP_BATCH;
}

#define VERBS "share, scatter, chain, emulate, model, show or batch"

hp_verdict hp_args_parse(int argc, char **argv, hp_args *a)
{
	static const char *const verbs[] = { "share", "scatter", "chain", "emulate",
					     "model", "show",    "batch", NULL };
	*a = (hp_args){ .max_steps = UINT64_C(10000000000), .set = json_object() };
	if (!a->set) {
		hp_say("out of memory");
		return HP_FAILED;
	}
	if (argc < 2) {
		hp_say("the verb is missing; use " VERBS);
		return HP_USAGE;
	}
	if (asks_for(argv[1]) != HP_USAGE)
		return asks_for(argv[1]);
	a->verb = argv[1];
	if (strcmp(argv[1], "batch") == 0)
		return parse_batch(argc, argv, a);
	for (size_t i = 0; verbs[i]; i++)
		if (strcmp(argv[1], verbs[i]) == 0)
			return parse_verb_options(argc, argv, a);
	const char *const meant = nearest_word(argv[1], strlen(argv[1]), verbs, sizeof *verbs);
	if (meant)
		hp_say("unknown verb '%s' (did you mean %s?)", argv[1], meant);
	else
		hp_say("unknown verb '%s'; use " VERBS, argv[1]);
	return HP_USAGE;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* args.c - the command line: a verb, options that are members of the request, options of
 * the output. getopt's own messages would print words raw, so they are off.
 * Touches optind and its kin: call once. */
#include <getopt.h>
#include <string.h>

#include "hetplan.h"
#include "number.h"

enum {
	OPT_PROBLEM = 256, /* and above: fields[] in their order */
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

/* Members of the request; verbs tells for which, a blank on each side. */
static const struct {
	const char *name, *key, *verbs;
	enum hp_kind kind;
} fields[] = {
	{ "items", "items", " share scatter model ", HP_KIND_WHOLE },
	{ "speeds", "speeds", " share scatter model ", HP_KIND_SPEEDS },
	{ "weights", "weights", " share ", HP_KIND_REALS },
	{ "cost", "cost", " share scatter ", HP_KIND_COST },
	{ "costs", "costs", " share ", HP_KIND_COSTS },
	{ "capacity", "capacity", " share ", HP_KIND_WHOLES },
	{ "minimum", "minimum", " share scatter ", HP_KIND_WHOLES },
	{ "quantum", "quantum", " share scatter ", HP_KIND_WHOLE },
	{ "compute", "compute", " scatter ", HP_KIND_COSTS },
	{ "link", "link", " scatter ", HP_KIND_COSTS },
	{ "chunk", "chunk", " scatter ", HP_KIND_WHOLE },
	{ "rule", "rule", " share scatter ", HP_KIND_WORD },
	{ "ratings", "ratings", " emulate ", HP_KIND_REALS },
	{ "processes", "processes", " emulate ", HP_KIND_WHOLE },
	{ "best-upto", "best_upto", " emulate ", HP_KIND_WHOLE },
	{ "observations", "observations", " model ", HP_KIND_POINTS },
	{ "w", "w", " chain ", HP_KIND_REALS },
	{ "z", "z", " chain ", HP_KIND_REALS },
	{ "tau", "tau", " chain ", HP_KIND_REALS },
	{ "latency", "latency", " chain ", HP_KIND_REALS },
	{ "vcomm", "vcomm", " chain ", HP_KIND_REALS },
	{ "vcomp", "vcomp", " chain ", HP_KIND_REALS },
	{ "installments", "installments", " chain ", HP_KIND_WHOLES },
	{ "max-installments", "max_installments", " chain ", HP_KIND_WHOLE },
	{ "time-limit", "time_limit_s", " share scatter chain emulate ", HP_KIND_REAL },
	{ "max-mem", "max_mem_bytes", " share scatter chain ", HP_KIND_WHOLE },
	{ "method", "method", " share scatter chain ", HP_KIND_WORD },
	{ "names", "names", " share scatter chain emulate model ", HP_KIND_NAMES },
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

static enum hp_verdict usage(const char *option, const char *why)
{
	hp_say("'%s': %s", option, why);
	return HP_USAGE;
}

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

static enum hp_verdict set_field(size_t i, const char *word, struct hp_args *a)
{
	char option[32], verb[32], why[HP_TEXT_BYTES];
	json_t *v;

	snprintf(option, sizeof option, "--%s", fields[i].name);
	snprintf(verb, sizeof verb, " %s ", a->verb);
	if (!strstr(fields[i].verbs, verb)) {
		hp_say("'%s': not an option of '%s'", option, a->verb);
		return HP_USAGE;
	}
	if (json_object_get(a->set, fields[i].key))
		return usage(option, "given twice");
	if (!(v = hp_option_value(fields[i].kind, word, why)))
		return usage(option, why);
	return json_object_set_new(a->set, fields[i].key, v) == 0 ? HP_RUN
								  : usage(option, "out of memory");
}

static enum hp_verdict set_whole(const char *option, uint64_t min, uint64_t max, uint64_t *out)
{
	char why[HP_TEXT_BYTES];

	if (number_parse(optarg, min, max, out))
		return HP_RUN;
	snprintf(why, sizeof why, "want a whole number in %llu..%llu, not '%.128s'",
		 (unsigned long long)min, (unsigned long long)max, optarg);
	return usage(option, why);
}

static enum hp_verdict set_text(const char *option, const char **out)
{
	if (*out)
		return usage(option, "given twice");
	if (optarg[0] == '\0')
		return usage(option, "empty");
	*out = optarg;
	return HP_RUN;
}

static enum hp_verdict set_format(const char *option, enum hp_format format, struct hp_args *a)
{
	if (a->format != HP_TABLE && a->format != format)
		return usage(option, "want '--json' or '--csv', not both");
	a->format = format;
	return HP_RUN;
}

static enum hp_verdict set_output(int c, struct hp_args *a)
{
	switch (c) {
	case 'i':
		return set_text("--input", &a->input);
	case OPT_OP:
		return set_text("--op", &a->op);
	case OPT_JSON:
		return set_format("--json", HP_JSON, a);
	case OPT_CSV:
		return set_format("--csv", HP_CSV, a);
	case 'c':
		a->compare = true;
		return HP_RUN;
	case 'g':
	case OPT_NO_GANTT:
		a->gantt = c == 'g' ? HP_CHART_YES : HP_CHART_NO;
		return HP_RUN;
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

static enum hp_verdict set_option(int c, struct hp_args *a)
{
	if (c == 'n' || c == 's' || c == 'm')
		c = OPT_PROBLEM + (c == 'n' ? 0 : c == 's' ? 1 : (int)HP_LEN(fields) - 2);
	if (c >= OPT_PROBLEM && c < OPT_PROBLEM + (int)HP_LEN(fields))
		return set_field((size_t)(c - OPT_PROBLEM), optarg, a);
	return set_output(c, a);
}

/* A long option that is none, or the beginning of several. */
static enum hp_verdict bad_name(const char *word)
{
	const char *names[HP_LEN(fields) + HP_LEN(outputs) + 1] = { NULL }, *meant;
	const size_t len = strcspn(word + 2, "=");
	char name[33], why[HP_TEXT_BYTES] = "unknown option";
	size_t n = 0, used = 0;

	for (size_t i = 0; i < HP_LEN(fields); i++)
		names[n++] = fields[i].name;
	for (size_t i = 0; i < HP_LEN(outputs); i++)
		names[n++] = outputs[i].name;
	snprintf(name, sizeof name, "%.*s", len < 32 ? (int)len : 32, word + 2);
	meant = hp_nearest(name, names);
	if (meant && strcmp(meant, name) == 0)
		return usage(word, "takes no value");
	if (meant)
		snprintf(why, sizeof why, "unknown option (did you mean --%s?)", meant);
	for (size_t i = 0; i < n && len > 0; i++)
		if (strncmp(names[i], word + 2, len) == 0)
			used += (size_t)snprintf(why + used, sizeof why - used, "%s --%s",
						 used ? "," : "ambiguous:", names[i]);
	return usage(word, why);
}

/* The word that getopt could not take: an unknown letter, or a long option as it was written. */
static enum hp_verdict bad_option(char **argv, int c, int index)
{
	char letter[] = { '-', (char)optopt, '\0' };
	bool is_long = argv[index] && argv[index][0] == '-' && argv[index][1] == '-';

	if (c != ':' && is_long)
		return bad_name(argv[index]);
	return usage(is_long || optopt == 0 || optopt > 255 ? argv[index] : letter,
		     c == ':' ? "no value for this option" : "unknown option");
}

/* What the verb makes impossible or superfluous. */
static enum hp_verdict settle(struct hp_args *a)
{
	if (a->format != HP_TABLE && a->gantt == HP_CHART_YES)
		return usage("--gantt", "cannot be combined with --json or --csv");
	if (a->compare && (a->svg || a->gantt == HP_CHART_YES))
		return usage(a->svg ? "--svg" : "--gantt", "cannot be combined with --compare");
	if (a->compare && json_object_get(a->set, "method"))
		return usage("--method", "cannot be combined with --compare");
	if (a->title && !a->svg && !a->html)
		return usage("--title", "requires --svg or --html");
	if (strcmp(a->verb, "show") == 0 && (a->op || a->compare))
		return usage(a->op ? "--op" : "--compare", "not an option of 'show'");
	if (strcmp(a->verb, "show") == 0 && !a->input)
		return usage("FILE", "missing");
	return hp_outputs_check(a) ? HP_RUN : HP_REFUSED;
}

static void all_options(struct option *longs)
{
	for (size_t i = 0; i < HP_LEN(fields); i++)
		longs[i] = (struct option){ fields[i].name, required_argument, NULL,
					    OPT_PROBLEM + (int)i };
	memcpy(longs + HP_LEN(fields), outputs, sizeof outputs);
}

static enum hp_verdict options(int argc, char **argv, struct hp_args *a)
{
	struct option longs[HP_LEN(fields) + HP_LEN(outputs) + 1] = { { NULL, 0, NULL, 0 } };
	enum hp_verdict v = HP_RUN;
	bool shows = strcmp(a->verb, "show") == 0;
	int c, at;

	all_options(longs);
	opterr = 0;
	optind = 2;
	if (shows && argc > 2 && (argv[2][0] != '-' || argv[2][1] == '\0'))
		a->input = argv[optind++];
	at = optind;
	while ((c = getopt_long(argc, argv, "+:hi:n:s:m:cg", longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return bad_option(argv, c, at);
		if ((v = set_option(c, a)) != HP_RUN)
			return v;
		at = optind;
	}
	if (shows && !a->input && optind < argc)
		a->input = argv[optind++];
	return optind < argc ? usage(argv[optind], "extra operand") : settle(a);
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static enum hp_verdict batch_words(int argc, char **argv, struct hp_args *a)
{
	static const char limit[] = "--time-limit=";
	int at = 2;

	if (argc > 2 && is_help(argv[2]))
		return HP_HELP;
	if (argc > 2 && strcmp(argv[2], "--version") == 0)
		return HP_VERSION;
	if (argc > 2 && strcmp(argv[2], "--") == 0)
		at = 3;
	else if (argc > 2 && strncmp(argv[2], limit, strlen(limit)) == 0) {
		if (!hp_text_real(argv[2] + strlen(limit), &a->batch_s) || !(a->batch_s > 0))
			return usage("--time-limit", "want seconds, more than 0");
		at = 3;
	} else if (argc > 2 && argv[2][0] == '-' && argv[2][1] != '\0')
		return usage(argv[2], "unknown option; batch has --time-limit");
	if (argc > at + 1)
		return usage(argv[at + 1], "extra operand");
	a->input = argc > at ? argv[at] : NULL;
	return HP_BATCH;
}

static enum hp_verdict bad_verb(const char *word)
{
	static const char *const verbs[] = { "share", "scatter", "chain", "emulate",
					     "model", "show",    "batch", NULL };
	const char *meant = word ? hp_nearest(word, verbs) : NULL;

	if (meant)
		hp_say("unknown verb '%s' (did you mean %s?)", word, meant);
	else if (word)
		hp_say("unknown verb '%s'; use share, scatter, chain, emulate, model, show or "
		       "batch",
		       word);
	else
		hp_say("the verb is missing; use share, scatter, chain, emulate, model, show or "
		       "batch");
	return HP_USAGE;
}

enum hp_verdict hp_args_parse(int argc, char **argv, struct hp_args *a)
{
	*a = (struct hp_args){ .max_steps = UINT64_C(10000000000), .set = json_object() };
	if (!a->set) {
		hp_say("out of memory");
		return HP_FAILED;
	}
	if (argc < 2)
		return bad_verb(NULL);
	if (is_help(argv[1]))
		return HP_HELP;
	if (strcmp(argv[1], "--version") == 0)
		return HP_VERSION;
	a->verb = argv[1];
	if (strcmp(argv[1], "batch") == 0)
		return batch_words(argc, argv, a);
	if (!hp_verb_known(argv[1]) && strcmp(argv[1], "show") != 0)
		return bad_verb(argv[1]);
	return options(argc, argv, a);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the command line: getopt_long over the rows of the options, strict numbers, and the rules
 * for options that contradict each other. Prints nothing and touches no file. */
#include "options.h"
#include "base/arith.h"
#include "base/bad_option.h"
#include "base/size.h"
#include "comm/comm.h"
#include "io/file.h"
#include "io/shape.h"
#include "number.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_LONG = 256 }; /* getopt returns it for the long name of the first row */

/* A set of rows, one bit each. */
typedef uint64_t option_set;

/* Options of sort(1) that hetsort has under another name, or does not have; then a hint is printed.
 * Options with the same letter and meaning are in option_rows. */
#define NUMBERS "numbers have a type: --key OFFSET,TYPE with u8 to u64, i8 to i64, f16 to f64"
#define TEXT    "keys are bytes and binary numbers: --key OFFSET,LENGTH[,TYPE][,desc]"

static const struct option_habit {
	const char *name;    /* NULL: only a letter */
	char letter;         /* '\0': none, or hetsort has an option with this letter */
	const char *same;    /* the option to use; NULL: none */
	const char *instead; /* the hint */
} habits[] = {
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
	{ "debug", '\0', NULL, "--explain prints the plan, --verbose what was done" },
};

enum { HABITS = sizeof habits / sizeof *habits };

/* Words that may follow an option without an argument, as in --check=silent, and the option that
 * both together mean. */
static const struct option_word {
	const char *option, *word, *same;
} words[] = {
	{ "check", "silent", "check-silent" },
	{ "check", "quiet", "check-silent" },
	{ "check", "diagnose-first", "check" },
};

enum { WORDS = sizeof words / sizeof *words };

/* ------------------------------------------------------------------------------------ fields */

/* Store a value in a field of 1, 4 or 8 bytes; ignore a field of another size. */
static void option_store(settings *o, option_field f, int64_t value)
{
	const uint8_t byte = (uint8_t)value;
	const int32_t word = (int32_t)value;
	char *at = (char *)o + f.at;
	if (f.bytes == sizeof byte)
		memcpy(at, &byte, sizeof byte);
	else if (f.bytes == sizeof word)
		memcpy(at, &word, sizeof word);
	else if (f.bytes == sizeof value)
		memcpy(at, &value, sizeof value);
}

/* Return the place of the row of this name, which exists. */
static size_t option_place(const char *name)
{
	size_t i = 0;
	while (i < option_count && strcmp(option_rows[i].name, name) != 0)
		i++;
	assert(i < option_count);
	return i;
}

static bool option_given(option_set s, const char *name)
{
	return s >> option_place(name) & 1;
}

/* --------------------------------------------------------------------------------- arguments */

enum { RULE_BYTES = 80 };

static status refuse_argument(const option_row *r, const char *arg, const char *rule, err *e)
{
	return err_set(e, ST_REFUSED, "invalid argument %s for --%s: %s", quoted(arg), r->name,
		       rule);
}

/* Store a number or a choice. Return NULL, or the rule that the argument breaks. */
static const char *option_take_value(settings *o, const option_row *r, const char *arg,
				     char rule[RULE_BYTES])
{
	char lo[SIZE_TEXT_BYTES], hi[SIZE_TEXT_BYTES];
	uint64_t v = 0;
	if (r->kind == OPT_CHOICE) {
		while (r->choices[v] && strcmp(arg, r->choices[v]) != 0)
			v++;
		*rule = '\0';
		for (int i = 0; !r->choices[v] && r->choices[i]; i++)
			text_append(rule, RULE_BYTES, "%s%s", i ? ", " : "must be one of ",
				    r->choices[i]);
		if (!r->choices[v])
			return rule;
	} else if (r->kind == OPT_SIZE) {
		const char *why = size_parse(arg, &v);
		if (why)
			return why;
		snprintf(rule, RULE_BYTES, "must be a size from %s to %s", size_text(r->lo, lo),
			 size_text(r->hi, hi));
		if (v < r->lo || v > r->hi)
			return rule;
	} else if (!number_parse(arg, r->lo, r->hi, &v)) {
		snprintf(rule, RULE_BYTES, "must be a whole number from %llu to %llu",
			 (unsigned long long)r->lo, (unsigned long long)r->hi);
		return rule;
	}
	option_store(o, r->field, (int64_t)v);
	return NULL;
}

/* Store a field of 4 or 8 bytes. Return NULL, or the rule that the argument breaks. */
static const char *option_take_field(settings *o, const option_row *r, const char *arg)
{
	layout one = { 0 };
	const key_field *f = one.field;
	if (layout_add_field(&one, arg) || f->type != KEY_TYPE_UNSIGNED || f->bytes < 4 || f->desc)
		return "must be OFFSET,u32 or OFFSET,u64, and le or be may follow";
	memcpy((char *)o + r->field.at, f, sizeof *f);
	return NULL;
}

/* Store the argument of an option, and add the option to the set of given ones. */
static status option_take(settings *o, option_set *given, const option_row *r, const char *arg,
			  err *e)
{
	const option_set bit = (option_set)1 << (r - option_rows);
	char rule[RULE_BYTES];
	const char *why = NULL;
	const bool repeatable = r->kind == OPT_SET || r->kind == OPT_TMPDIR || r->kind == OPT_KEY ||
				r->kind == OPT_FOLD;
	if ((*given & bit) && !repeatable)
		return err_set(e, ST_REFUSED, "--%s is given twice", r->name);
	*given |= bit;
	if (r->word.text && strcmp(arg, r->word.text) == 0) {
		option_store(o, r->word.field, r->word.value);
		return ST_OK;
	}
	switch (r->kind) {
	case OPT_SET:
		option_store(o, r->field, r->value);
		break;
	case OPT_TEXT:
		memcpy((char *)o + r->field.at, &arg, sizeof arg);
		break;
	case OPT_KEY:
		why = layout_add_field(&o->lay, arg);
		break;
	case OPT_FOLD:
		why = layout_add_fold(&o->lay, (fold_kind)r->value, arg);
		break;
	case OPT_FIELD:
		why = option_take_field(o, r, arg);
		break;
	case OPT_MEMORY:
		return memory_limit_parse(arg, &o->memory, e);
	case OPT_TMPDIR:
		if (o->tmpdirs == MAX_TMPDIRS)
			return err_set(e, ST_REFUSED, "more than %d --%s", MAX_TMPDIRS, r->name);
		o->tmpdir[o->tmpdirs++] = arg;
		break;
	default: /* a number or a choice */
		why = option_take_value(o, r, arg, rule);
	}
	return why ? refuse_argument(r, arg, why, e) : ST_OK;
}

/* ------------------------------------------------------------------------------------- names */

/* Return the row of a value of getopt, or NULL. */
static const option_row *option_row_of(int value)
{
	for (size_t i = 0; i < option_count; i++)
		if (value == FIRST_LONG + (int)i || (value != 0 && value == option_rows[i].letter))
			return &option_rows[i];
	return NULL;
}

/* Refuse the option in this word that getopt has rejected. lacks: its argument is missing. If
 * sort(1) has the option, print a hint. */
static status refuse_word(const char *word, bool lacks, const struct option *longs, err *e)
{
	const char letter[] = { '-', (char)optopt, '\0' };
	const bool short_one = optopt > 0 && optopt < FIRST_LONG;
	const char *name = optopt ? "" : word + 2;
	const size_t len = strcspn(name, "=");
	for (const struct option_habit *h = habits; !lacks && h < habits + HABITS; h++)
		if (h->instead && (short_one ? h->letter == letter[1]
					     : h->name && strlen(h->name) == len &&
						       strncmp(h->name, name, len) == 0))
			return err_set(e, ST_REFUSED, "unknown option %s: %s",
				       quoted(short_one ? letter : word), h->instead);
	return bad_option(word, lacks, longs, e);
}

/* Make getopt's tables from the rows. */
static void getopt_tables(struct option *longs, char *letters)
{
	*letters++ = ':'; /* getopt then returns ':' for a missing argument */
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		int takes = r->arg ? required_argument : no_argument;
		for (size_t w = 0; w < WORDS; w++)
			if (strcmp(words[w].option, r->name) == 0)
				takes = optional_argument;
		*longs++ = (struct option){ r->name, takes, NULL, FIRST_LONG + (int)i };
		if (r->letter) {
			*letters++ = r->letter;
			if (r->arg)
				*letters++ = ':';
		}
	}
	for (size_t i = 0; i < HABITS; i++)
		if (habits[i].same)
			*longs++ =
				(struct option){ habits[i].name, required_argument, NULL,
						 FIRST_LONG + (int)option_place(habits[i].same) };
	*longs = (struct option){ NULL, 0, NULL, 0 };
	*letters = '\0';
}

/* ------------------------------------------------------------------------------------- rules */

/* Refuse a command line that breaks a rule; e keeps the first refusal. */
#define REFUSE_IF(wrong, e, ...) (void)((wrong) ? err_set(e, ST_REFUSED, __VA_ARGS__) : ST_OK)

/* Options that an option excludes. */
static const struct option_exclusion {
	const char *option, *excluded[20];
} exclusions[] = {
	/* each rank merges its records of all inputs; nothing is sent or kept */
	{ "merge",
	  { "source", "scatter", "links", "disks", "workdir", "resume", "strategy", "adapt",
	    "emulate", "wisdom" } },
	/* records are not sorted: this is --strategy=distribute without its last step */
	{ "partition-only", { "unique", "top", "workdir", "merge", "order-out" } },
	/* only numbers are written */
	{ "order-out", { "output", "append", "number", "count", "sum", "min", "max" } },
	/* nothing is compared */
	{ "apply",
	  { "key", "reverse", "merge", "stable", "partition-only", "unique", "count", "sum", "min",
	    "max", "top", "append", "number", "order-out", "workdir", "resume" } },
};

/* Refuse options that exclude each other. Two options that set one field to different values do so,
 * because the first value would be lost. */
static void check_exclusions(const settings *o, option_set given, err *e)
{
	for (size_t i = 0; i < option_count; i++)
		for (size_t k = 0; k < i; k++) {
			const option_row *a = &option_rows[k], *b = &option_rows[i];
			REFUSE_IF((given >> i & given >> k & 1) && a->kind == OPT_SET &&
					  b->kind == OPT_SET && a->field.at == b->field.at,
				  e, "--%s and --%s exclude each other", a->name, b->name);
		}
	for (size_t i = 0; o->wish == WISH_SORT && i < sizeof exclusions / sizeof *exclusions; i++)
		for (const char *const *name = exclusions[i].excluded; *name; name++)
			REFUSE_IF(option_given(given, exclusions[i].option) &&
					  option_given(given, *name),
				  e, "--%s cannot be combined with --%s", *name,
				  exclusions[i].option);
}

/* Check the names of the operands. */
static void check_names(const settings *o, err *e)
{
	const bool from_root = o->wish == WISH_SORT && o->from_root;
	/* cleaning the files of only one rank would look as if all had been cleaned */
	const bool cleans = o->wish == WISH_CLEAN && !o->ranks;
	for (size_t i = 0; (from_root || cleans) && i < o->ninputs; i++)
		if (name_is_per_rank(o->inputs[i]))
			REFUSE_IF(true, e,
				  from_root ? "--source=root: the input is on rank 0, so its name "
					      "must not have %%r, like %s"
					    : "--clean requires --ranks, because of %%r in the "
					      "name %s",
				  quoted(o->inputs[i]));
}

/* Check where records come from and where runs are kept. */
static void check_source(const settings *o, option_set given, err *e)
{
	REFUSE_IF(!o->from_root && option_given(given, "scatter"), e,
		  "--scatter requires --source=root");
	REFUSE_IF(o->from_root && (o->stable || o->unique) && o->scatter == SCATTER_DYNAMIC, e,
		  "--%s cannot be combined with --scatter=dynamic, which does not keep the order "
		  "of the input",
		  o->order_out ? "order-out"
		  : o->stable  ? "stable"
			       : "unique");
	REFUSE_IF(o->order_out && o->unique && o->top, e,
		  "--order-out cannot be combined with --unique and --top together");
	REFUSE_IF(o->resume && !o->workdir, e, "--resume requires --workdir");
	if (!o->workdir)
		return;
	REFUSE_IF(!*o->workdir, e, "--workdir: the name of the directory is empty");
	REFUSE_IF(o->tmpdirs, e,
		  "--tmpdir cannot be combined with --workdir, which keeps the runs");
	REFUSE_IF(o->from_root || !settings_sorts_first(o), e,
		  "--workdir requires --source=all and --strategy=merge");
}

/* Set the strategy and the plan that follow from other options. With --emulate, the speeds decide
 * the number of ranks, so all shares are equal. */
static void set_strategy_and_plan(settings *o, option_set given, err *e)
{
	if (o->partition_only) {
		REFUSE_IF(option_given(given, "strategy") && o->strategy != BY_DISTRIBUTING, e,
			  "--partition-only requires --strategy=distribute");
		o->strategy = BY_DISTRIBUTING;
	}
	REFUSE_IF(o->merge && o->plan == PLAN_ONLINE, e,
		  "--plan=online cannot be combined with --merge");
	if (o->emulate) {
		REFUSE_IF(!o->speeds, e, "--emulate requires --speeds=LIST or --speeds=FILE");
		REFUSE_IF(option_given(given, "plan") && o->plan != PLAN_EQUAL, e,
			  "--emulate requires --plan=equal");
		o->plan = PLAN_EQUAL;
	}
}

/* Refuse a field that is not inside a record. */
static void check_field(const key_field *f, const char *option, const layout *l, err *e)
{
	REFUSE_IF(f->off + f->bytes > l->record_bytes, e,
		  "--%s: bytes %u to %u do not fit a record of %u byte%s", option, f->off,
		  f->off + f->bytes - 1, l->record_bytes, plural(l->record_bytes));
}

/* Find the difference between records in files and in memory. */
static void check_shape(settings *o, err *e)
{
	layout *l = &o->lay;
	shape *s = &o->shape;
	if (!o->append && !s->number.bytes)
		return;
	s->file_bytes = l->record_bytes;
	s->pieces = 1;
	s->piece[0].bytes = l->record_bytes;
	l->record_bytes += o->append;
	REFUSE_IF(l->record_bytes > MAX_RECORD_BYTES, e,
		  "--append: a record of %u bytes would be longer than 64K", l->record_bytes);
	check_field(&s->number, "number", l, e);
	const key_field *n = &s->number;
	for (const key_field *f = l->fold; f < l->fold + l->folds; f++)
		REFUSE_IF(n->off < f->off + f->bytes && f->off < n->off + n->bytes, e,
			  "--number and another option have bytes in common: %u to %u", n->off,
			  n->off + n->bytes - 1);
}

/* Complete the layout of records, and check the fields that are folded. */
static void check_layout(settings *o, err *e)
{
	layout *l = &o->lay;
	char folds[FOLD_TEXT_BYTES];
	check_shape(o, e);
	if (o->apply)
		(void)shape_to_places(o, e);
	if (l->key_bytes > l->record_bytes)
		l->key_bytes = l->record_bytes; /* the record is shorter than the default key */
	if (e->code != ST_OK || layout_settle(l, o->reverse, e) != ST_OK)
		return;
	if (o->order_out)
		(void)shape_to_numbers(o, e);
	if (l->folds == 0)
		return;
	(void)layout_fold_text(l, FOLD_NONE, folds);
	REFUSE_IF(l->folds && !o->unique, e, "%.*s requires --unique", (int)strcspn(folds, "="),
		  folds);
	(void)layout_check_folds(l, e);
}

static bool is_standard(const char *name)
{
	return name && stream_is_standard(name);
}

/* Refuse options without an effect on --check, so that nobody relies on them. */
static void check_checking(const settings *o, option_set given, err *e)
{
	static const char *const allowed[] = {
		"check",        "check-silent", "checksum",    "record-size", "skip-header",
		"skip-trailer", "records",      "key",         "reverse",     "stable",
		"threads",      "direct",       "verbose",     "quiet",       "unique",
		"ranks",        "report",       "max-message", "launcher",    "files0-from"
	};
	REFUSE_IF(o->with_sum && !settings_checks_order(o), e, "--checksum requires --check");
	if (!settings_checks_order(o))
		return;
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		given &= ~((option_set)1 << option_place(allowed[i]));
	for (size_t i = 0; i < option_count; i++)
		REFUSE_IF(given >> i & 1, e, "--%s cannot be combined with --check",
			  option_rows[i].name);
	REFUSE_IF(o->with_sum && o->wish == WISH_ORDER_SILENT, e,
		  "--checksum cannot be combined with --check-silent, which prints nothing");
	REFUSE_IF(o->with_sum && is_standard(o->report), e,
		  "--report=-: --checksum prints to standard output");
}

/* Use standard input and output if no files are named, like sort(1), unless they are a terminal.
 * Under a launcher they must be named: it passes standard input to at most one rank, which cannot
 * find out whether that is a terminal. */
static void take_standard_streams(settings *o, err *e)
{
	static const char *const standard[] = { STREAM_NAME };
	const bool sorts = o->wish == WISH_SORT;
	const bool launched = o->launcher != LAUNCHER_NONE && comm_mpi_launched();
	if (o->ninputs == 0 && !o->files0_from && !launched &&
	    (sorts || settings_checks_order(o))) {
		REFUSE_IF(isatty(STDIN_FILENO), e,
			  "no input file is named, and standard input is a terminal: name a file, "
			  "or use < FILE");
		o->inputs = standard;
		o->ninputs = 1;
	}
	if (o->order_out) {
		o->output = o->order_out;
		o->stable = true; /* the order of equal keys is the order of their numbers */
	}
	if (!o->output && sorts && !launched && !o->explain) {
		REFUSE_IF(isatty(STDOUT_FILENO), e,
			  "no output is named, and standard output is a terminal: use -o FILE or "
			  "> FILE");
		o->output = STREAM_NAME;
	}
	/* use standard output, even if it is a file */
	if (o->output && strcmp(o->output, "/dev/stdout") == 0)
		o->output = STREAM_NAME;
	if (o->report && strcmp(o->report, "/dev/stdout") == 0)
		o->report = STREAM_NAME;
}

/* Check the command line as a whole: refuse options that contradict each other, and set options
 * that were not given but follow from others. */
static status check_all(settings *o, option_set given, err *e)
{
	take_standard_streams(o, e);
	check_exclusions(o, given, e);
	check_checking(o, given, e);
	REFUSE_IF(o->explain && o->wish != WISH_SORT, e, "--explain cannot be combined with --%s",
		  o->wish == WISH_CLEAN ? "clean" : "check-manifest");
	REFUSE_IF(o->ninputs && o->files0_from, e,
		  "operand %s cannot be combined with --files0-from: put its name into the list",
		  quoted(o->inputs[0]));
	REFUSE_IF(o->ninputs == 0 && !o->files0_from, e, "no %s",
		  o->wish == WISH_CLEAN   ? "output is named"
		  : o->wish == WISH_CHECK ? "manifest is named"
					  : "input file is named; use - for standard input");
	o->layout_named = option_given(given, "record-size") || option_given(given, "key") ||
			  option_given(given, "reverse");
	if (o->wish == WISH_SORT) {
		REFUSE_IF(!o->output && !o->explain, e, "no output is named; use -o FILE");
		REFUSE_IF(is_standard(o->trace), e, "--trace=-: a trace must be a file");
		REFUSE_IF(is_standard(o->html), e, "--html=-: a page must be a file");
		REFUSE_IF(is_standard(o->report) && o->explain, e,
			  "--report=-: --explain prints to standard output");
		REFUSE_IF(is_standard(o->report) && is_standard(o->output), e,
			  "--report=-: the records go to standard output");
		set_strategy_and_plan(o, given, e);
		check_source(o, given, e);
	}
	check_names(o, e);
	if (o->wish == WISH_SORT || settings_checks_order(o))
		check_layout(o, e);
	return e->code;
}

/* ---------------------------------------------------------------------------------- the whole */

static const settings defaults = {
	.lay = LAYOUT_BYTES(DEFAULT_RECORD_BYTES, 0, DEFAULT_KEY_BYTES),
	.exchange_threads = 2,
	.adapt = { .gain = 0.1, .saved_s = 0.02 },
	.max_message = 256 << 20,
	.scatter = SCATTER_BALANCED,
	.plan = PLAN_NLOGN,
	.fsync = true,
};

status options_parse(settings *o, int argc, char **argv, err *e)
{
	struct option longs[OPTIONS_MAX + HABITS + 1];
	char letters[2 * OPTIONS_MAX + 2];
	option_set given = 0;
	*o = defaults;
	getopt_tables(longs, letters);
	optind = 0; /* let getopt start again */
	opterr = 0;
	for (int opt; (opt = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
		const option_row *r = option_row_of(opt);
		if (!r)
			return refuse_word(argv[optind - 1], opt == ':', longs, e);
		status rc = ST_OK;
		if (optarg && !r->arg) { /* find the option that option and word together mean */
			const char *name = r->name;
			char rule[RULE_BYTES] = "";
			const struct option_word *w = words;
			for (; w < words + WORDS; w++) {
				if (strcmp(w->option, name) != 0)
					continue;
				if (strcmp(w->word, optarg) == 0)
					break;
				text_append(rule, sizeof rule, "%s%s",
					    *rule ? ", " : "must be empty or one of ", w->word);
			}
			if (w < words + WORDS)
				r = &option_rows[option_place(w->same)];
			else
				rc = refuse_argument(r, optarg, rule, e);
		}
		if (rc == ST_OK)
			rc = option_take(o, &given, r, optarg ? optarg : "", e);
		/* help and version are printed at once, whatever follows; but -v after --version
		 * prints more */
		const char *next = argv[optind];
		if (rc == ST_OK && o->wish == WISH_VERSION && next &&
		    (strcmp(next, "-v") == 0 || strcmp(next, "--verbose") == 0))
			o->verbosity = 1;
		if (rc != ST_OK || o->wish == WISH_HELP || o->wish == WISH_VERSION)
			return rc;
	}
	o->inputs = (const char *const *)argv + optind;
	o->ninputs = (size_t)(argc - optind);
	const status rc = check_all(o, given, e);
	o->sum = options_sum(o);
	return rc;
}

status options_take_names(settings *o, const char *const *name, size_t names, err *e)
{
	o->inputs = name;
	o->ninputs = names;
	check_names(o, e);
	o->sum = options_sum(o);
	return e->code;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of gensort. The messages of getopt are off, because they would print control
 * characters in names. The parser uses the global state of getopt: call it once. */
#include "gen.h"
#include "number.h"

enum { GEN_OPT_VERSION = 256, GEN_OPT_FSYNC, GEN_OPT_NO_FSYNC };
enum { GEN_MOST_PLACES = 99 }; /* of an exponent */

static const struct option gen_options[] = {
	{ "ascii", no_argument, NULL, 'a' },
	{ "begin", required_argument, NULL, 'b' },
	{ "checksum", no_argument, NULL, 'c' },
	{ "skew", no_argument, NULL, 's' },
	{ "threads", required_argument, NULL, 't' },
	{ "fsync", no_argument, NULL, GEN_OPT_FSYNC },
	{ "no-fsync", no_argument, NULL, GEN_OPT_NO_FSYNC },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, GEN_OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* Print the error, unless text is NULL, and the usage. */
static gen_verdict gen_usage(const char *text, const char *subject)
{
	if (text)
		tool_error("gensort", text, subject, 0);
	fputs("usage: gensort [-a] [-s] [-bSTART] [-c] [-tTHREADS] NUM_RECS FILE_NAME\n"
	      "Try 'gensort --help' for more.\n",
	      stderr);
	return GEN_USAGE;
}

/* Read a whole number up to `most` into *v: digits, perhaps with decimals, and perhaps with an
 * exponent or a unit. Return false if the text is not such a number. */
static bool gen_count(const char *text, u128 most, u128 *v)
{
	static const char units[] = "kMGT"; /* powers of 1000 */
	uint64_t places = 0;                /* by which the decimal point moves to the right */
	if (!number_digits(&text, most, v))
		return false;
	const char *const decimals = text + (*text == '.');
	const size_t given = *text == '.' ? strspn(decimals, "0123456789") : 0;
	if (*text == '.' && given == 0)
		return false;
	text = decimals + given;
	const char *const unit = *text ? strchr(units, *text) : NULL;
	if (unit)
		places = 3 * (uint64_t)(++text, unit - units + 1);
	else if (*text == 'e' && (++text, !number_at(&text, GEN_MOST_PLACES, &places)))
		return false;
	for (size_t i = 0; i < places || i < given; i++) {
		const unsigned digit = i < given ? (unsigned)(decimals[i] - '0') : 0;
		if (i >= places ? digit > 0 : digit > most || *v > (most - digit) / 10)
			return false;
		if (i < places)
			*v = *v * 10 + digit;
	}
	return *text == '\0';
}

/* Refuse a text that gen_count() does not read. */
static gen_verdict gen_bad_count(const char *text, const char *subject, int bits)
{
	tool_error("gensort", text, subject, 0);
	fprintf(stderr,
		"gensort: give a whole number below 2^%d: 1000000, 1e6, 1.5e6 or 1M; k, M, G and T "
		"are powers of 1000\n",
		bits);
	return gen_usage(NULL, NULL);
}

static gen_verdict gen_set_option(int c, gen_args *a)
{
	uint64_t n;
	switch (c) {
	case 'a':
		a->kind.ascii = true;
		break;
	case 's':
		a->kind.skew = true;
		break;
	case 'c':
		a->checksum = true;
		break;
	case 'b':
		if (!gen_count(optarg, ~(u128)0, &a->start))
			return gen_bad_count("bad first record number", optarg, 128);
		break;
	case 't':
		if (!number_parse(optarg, 0, UINT64_MAX, &n))
			return gen_usage("bad number of threads", optarg);
		a->threads = n < TOOL_MAX_THREADS ? (unsigned)n : TOOL_MAX_THREADS;
		break;
	case GEN_OPT_FSYNC:
	case GEN_OPT_NO_FSYNC:
		a->fsync = c == GEN_OPT_FSYNC;
		break;
	case 'h':
		return GEN_HELP;
	default:
		return GEN_VERSION;
	}
	return GEN_RUN;
}

gen_verdict gen_args_parse(int argc, char **argv, gen_args *a)
{
	*a = (gen_args){ .fsync = true };
	opterr = 0;
	/* '+' ends the options at the first other word; ':' makes getopt report a missing value */
	for (int c, at = 1; (c = getopt_long(argc, argv, "+:ab:chst:", gen_options, NULL)) != -1;
	     at = optind) {
		if (c == '?' || c == ':') {
			tool_refuse_option("gensort", c, argv[at], gen_options);
			return gen_usage(NULL, NULL);
		}
		const gen_verdict v = gen_set_option(c, a);
		if (v != GEN_RUN)
			return v;
	}
	const int left = argc - optind;
	char **words = argv + optind;
	if (left < 2)
		return gen_usage("missing operand", left == 0 ? "NUM_RECS" : "FILE_NAME");
	if (left > 2)
		return gen_usage("extra operand", words[2]);
	u128 recs;
	if (!gen_count(words[0], UINT64_MAX, &recs))
		return gen_bad_count("bad number of records", words[0], 64);
	a->recs = (uint64_t)recs;
	if (words[1][0] == '\0')
		return gen_usage("bad file name", words[1]);
	a->file = words[1];
	return GEN_RUN;
}

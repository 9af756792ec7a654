/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of gensort. The messages of getopt are off, because they would print control
 * characters in names. The parser uses the global state of getopt: call it once. */
#include "gen.h"
#include "number.h"

enum { GEN_OPT_VERSION = 256, GEN_OPT_FSYNC, GEN_OPT_NO_FSYNC };

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

static gen_verdict gen_usage(const char *text, const char *subject)
{
	tool_error("gensort", text, subject, 0);
	fputs("usage: gensort [-a] [-s] [-bSTART] [-c] [-tTHREADS] NUM_RECS FILE_NAME\n"
	      "Try 'gensort --help' for more.\n",
	      stderr);
	return GEN_USAGE;
}

static gen_verdict gen_set_option(int c, gen_args *a)
{
	const char *at = optarg;
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
		if (!number_digits(&at, ~(u128)0, &a->start) || *at)
			return gen_usage("bad first record number", optarg);
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
		char letter[3];
		if (c == '?' || c == ':')
			return gen_usage(c == ':' ? "no value for option" : "bad option",
					 tool_bad_option(argv[at], letter));
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
	if (!number_parse(words[0], 0, UINT64_MAX, &a->recs))
		return gen_usage("bad number of records", words[0]);
	if (words[1][0] == '\0')
		return gen_usage("bad file name", words[1]);
	a->file = words[1];
	return GEN_RUN;
}

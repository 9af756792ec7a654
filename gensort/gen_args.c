/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of gensort. getopt's own messages would print names raw, so they are off.
 * Touches optind and its kin: call once. */
#include <getopt.h>
#include "gen.h"
#include "number.h"

enum { OPT_VERSION = 256, OPT_FSYNC, OPT_NO_FSYNC };

static const struct option longs[] = {
	{ "ascii", no_argument, NULL, 'a' },
	{ "begin", required_argument, NULL, 'b' },
	{ "checksum", no_argument, NULL, 'c' },
	{ "skew", no_argument, NULL, 's' },
	{ "threads", required_argument, NULL, 't' },
	{ "fsync", no_argument, NULL, OPT_FSYNC },
	{ "no-fsync", no_argument, NULL, OPT_NO_FSYNC },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static enum gen_verdict usage(const char *what, const char *subject)
{
	say_error("gensort", what, subject, 0);
	fputs("usage: gensort [-a] [-s] [-bSTART] [-c] [-tTHREADS] NUM_RECS FILE_NAME\n"
	      "Try 'gensort --help' for more.\n",
	      stderr);
	return GEN_USAGE;
}

/* The word that getopt could not take: an unknown letter, or a long option as it was written. */
static enum gen_verdict bad_option(char **argv, int c, int index)
{
	char letter[] = { '-', (char)optopt, '\0' };
	bool is_long = argv[index] && argv[index][0] == '-' && argv[index][1] == '-';

	return usage(c == ':' ? "no value for option" : "bad option",
		     is_long || !optopt ? argv[index] : letter);
}

static enum gen_verdict set_option(int c, struct gen_args *a)
{
	const char *at;
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
		at = optarg;
		if (!number_digits(&at, ~(u128)0, &a->start) || *at)
			return usage("bad first record number", optarg);
		break;
	case 't':
		if (!number_parse(optarg, 0, UINT64_MAX, &n))
			return usage("bad number of threads", optarg);
		a->threads = n < GEN_MAX_THREADS ? (unsigned)n : GEN_MAX_THREADS;
		break;
	case OPT_FSYNC:
	case OPT_NO_FSYNC:
		a->fsync = c == OPT_FSYNC;
		break;
	case 'h':
		return GEN_HELP;
	default:
		return GEN_VERSION;
	}
	return GEN_RUN;
}

static enum gen_verdict operands(int left, char **words, struct gen_args *a)
{
	if (left < 2)
		return usage("missing operand", left == 0 ? "NUM_RECS" : "FILE_NAME");
	if (left > 2)
		return usage("extra operand", words[2]);
	if (!number_parse(words[0], 0, UINT64_MAX, &a->recs))
		return usage("bad number of records", words[0]);
	if (words[1][0] == '\0')
		return usage("bad file name", words[1]);
	a->file = words[1];
	return GEN_RUN;
}

enum gen_verdict gen_args_parse(int argc, char **argv, struct gen_args *a)
{
	enum gen_verdict v;
	int c, at = 1;

	*a = (struct gen_args){ .fsync = true };
	opterr = 0;
	/* '+': the first word that is no option ends them; ':': tell a missing value apart */
	while ((c = getopt_long(argc, argv, "+:ab:chst:", longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return bad_option(argv, c, at);
		if ((v = set_option(c, a)) != GEN_RUN)
			return v;
		at = optind;
	}
	return operands(argc - optind, argv + optind, a);
}

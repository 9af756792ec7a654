/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of valsort. getopt's own messages would print names raw, so they are off.
 * Touches optind and its kin: call once. */
#include <getopt.h>
#include <stdio.h>
#include "val.h"
#include "number.h"

enum { LONG_VERSION = 256 };

static const struct option long_options[] = {
	{ "ignore-case", no_argument, NULL, 'i' },
	{ "output", required_argument, NULL, 'o' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "summaries", no_argument, NULL, 's' },
	{ "threads", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, LONG_VERSION },
	{ NULL, 0, NULL, 0 },
};

static enum val_verdict usage(const char *what, const char *subject)
{
	say_error("valsort", what, subject, 0);
	fputs("usage: valsort [-i] [-q] [-o SUMMARY_FILE] [-s] [-tTHREADS] FILE_NAME\n"
	      "Try 'valsort --help' for more.\n",
	      stderr);
	return VAL_USAGE;
}

static enum val_verdict apply(int option, const char *value, struct val_args *a)
{
	uint64_t n;

	switch (option) {
	case 'i':
		a->fold = true;
		return VAL_RUN;
	case 'q':
		a->quiet = true;
		return VAL_RUN;
	case 's':
		a->summaries = true;
		return VAL_RUN;
	case 'o':
		a->save = value; /* one that starts with '-' is rather a forgotten name */
		return *value && *value != '-' ? VAL_RUN : usage("bad summary file name", value);
	case 't':
		if (!number_parse(value, 0, UINT64_MAX, &n))
			return usage("bad number of threads", value);
		a->threads = n < VAL_MAX_THREADS ? (unsigned)n : VAL_MAX_THREADS;
		return VAL_RUN;
	default:
		return option == 'h' ? VAL_HELP : VAL_VERSION;
	}
}

/* The option as a user knows it: its letter, or the long word that was being read. */
static enum val_verdict refuse(int why, const char *word)
{
	char letter[3] = { '-', (char)optopt, '\0' };
	bool whole =
		optopt == 0 || optopt >= LONG_VERSION || (word && word[0] == '-' && word[1] == '-');

	return usage(why == ':' ? "no value for option" : "bad option", whole ? word : letter);
}

enum val_verdict val_args_parse(int argc, char **argv, struct val_args *a)
{
	enum val_verdict v = VAL_RUN;
	int option, reading = 1;

	*a = (struct val_args){ 0 };
	opterr = 0;
	while (v == VAL_RUN &&
	       (option = getopt_long(argc, argv, "+:hio:qst:", long_options, NULL)) != -1) {
		v = option == '?' || option == ':' ? refuse(option, argv[reading])
						   : apply(option, optarg, a);
		reading = optind;
	}
	if (v != VAL_RUN)
		return v;
	if (argc - optind < 1)
		return usage("missing operand", "FILE_NAME");
	if (argc - optind > 1)
		return usage("extra operand", argv[optind + 1]);
	a->file = argv[optind];
	return VAL_RUN;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of valsort. The messages of getopt are off, because they would print control
 * characters in names. The parser uses the global state of getopt: call it once. */
#include "val.h"
#include "number.h"

enum { VAL_OPT_VERSION = 256 };

static const struct option val_options[] = {
	{ "ignore-case", no_argument, NULL, 'i' },
	{ "output", required_argument, NULL, 'o' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "summaries", no_argument, NULL, 's' },
	{ "threads", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, VAL_OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static val_verdict val_usage(const char *text, const char *subject)
{
	if (text)
		tool_error("valsort", text, subject, 0);
	fputs("usage: valsort [-i] [-q] [-o SUMMARY_FILE] [-s] [-tTHREADS] FILE_NAME\n"
	      "Try 'valsort --help' for more.\n",
	      stderr);
	return VAL_USAGE;
}

static val_verdict val_set_option(int c, val_args *a)
{
	uint64_t n;
	switch (c) {
	case 'i':
		a->fold = true;
		break;
	case 'q':
		a->quiet = true;
		break;
	case 's':
		a->summaries = true;
		break;
	case 'o':
		a->save = optarg; /* a name that begins with '-' is probably the next option */
		return *optarg && *optarg != '-' ? VAL_RUN
						 : val_usage("bad summary file name", optarg);
	case 't':
		if (!number_parse(optarg, 0, UINT64_MAX, &n))
			return val_usage("bad number of threads", optarg);
		a->threads = n < TOOL_MAX_THREADS ? (unsigned)n : TOOL_MAX_THREADS;
		break;
	default:
		return c == 'h' ? VAL_HELP : VAL_VERSION;
	}
	return VAL_RUN;
}

val_verdict val_args_parse(int argc, char **argv, val_args *a)
{
	*a = (val_args){ 0 };
	opterr = 0;
	for (int c, at = 1; (c = getopt_long(argc, argv, "+:hio:qst:", val_options, NULL)) != -1;
	     at = optind) {
		if (c == '?' || c == ':') {
			tool_refuse_option("valsort", c, argv[at], val_options);
			return val_usage(NULL, NULL);
		}
		const val_verdict v = val_set_option(c, a);
		if (v != VAL_RUN)
			return v;
	}
	if (argc - optind < 1)
		return val_usage("missing operand", "FILE_NAME");
	if (argc - optind > 1)
		return val_usage("extra operand", argv[optind + 1]);
	a->file = argv[optind];
	return VAL_RUN;
}

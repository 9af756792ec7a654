/* SPDX-License-Identifier: GPL-3.0-or-later */
/* valsort checks whether a file of 100-byte records is sorted, and prints the number and checksum
 * of the records, which a sort must not change. This file has main(). Exit status: 0 if the records
 * are in order, 1 if not or after a failure. */
#include "crc.h"
#include "val.h"

#include <signal.h>

static const char help[] =
	"Usage: valsort [OPTION]... FILE_NAME\n"
	"Check whether the 100-byte records of FILE_NAME are in the order of their\n"
	"10-byte keys, and print their number, checksum and duplicate keys on standard\n"
	"error. FILE_NAME '-' is standard input.\n"
	"\n"
	"  -i, --ignore-case     treat the letters A to Z of keys as a to z\n"
	"  -q, --quiet           print only fatal errors\n"
	"  -o, --output=SUMMARY  write a summary of FILE_NAME to the file SUMMARY\n"
	"  -s, --summaries       FILE_NAME contains the summaries of consecutive parts\n"
	"  -t, --threads=N       threads; 0, the default: one per processor\n"
	"  -h, --help            print this and exit\n"
	"      --version         print the version and exit\n"
	"\n"
	"Exit status: 0 if all records are in order, 1 if they are not or on failure.\n"
	"See valsort(1).\n";

static const char version[] = "valsort " HETSORT_VERSION "\n"
			      "License GPLv3+: GNU GPL version 3 or later.\n";

/* Write v in base 10 or 16 to the end of text, which has 40 characters. Return the first digit. */
static const char *digits(u128 v, unsigned base, char *text)
{
	char *p = text + 39;
	*p = '\0';
	do
		*--p = "0123456789abcdef"[(unsigned)(v % base)];
	while ((v /= base) != 0);
	return p;
}

static void announce_unordered(u128 index, void *quiet)
{
	char text[40];
	if (!*(const bool *)quiet)
		fprintf(stderr, "First unordered record is record %s\n", digits(index, 10, text));
}

static void print_summary(const val_summary *s)
{
	char text[40];
	fprintf(stderr, "Records: %s\n", digits(s->recs, 10, text));
	fprintf(stderr, "Checksum: %s\n", digits(s->sum, 16, text));
	if (s->unordered != 0) {
		fprintf(stderr, "ERROR - there are %s unordered records\n",
			digits(s->unordered, 10, text));
		return;
	}
	fprintf(stderr, "Duplicate keys: %s\n", digits(s->dups, 10, text));
	fprintf(stderr, "SUCCESS - all records are in order\n");
}

/* Return whether the input was read whole and has records. If not, print the reason. */
static bool is_complete(const val_result *r, const val_args *a)
{
	switch (r->end) {
	case VAL_ERRNO:
		val_print_reason(a->file, r->err);
		return false;
	case VAL_CHANGED:
		tool_error("valsort", "size changed while reading", a->file, 0);
		return false;
	case VAL_IMPOSSIBLE:
		fputs("impossible partition summary found\n", stderr);
		return false;
	case VAL_PARTIAL:
		fputs(a->summaries ? "partial partition summary found at end\n"
				   : "partial record found at end\n",
		      stderr);
		return false;
	default:
		if (r->sum.recs != 0)
			return true;
		fputs("there must be at least one record to be validated\n", stderr);
		return false;
	}
}

/* Check the input and return the exit status. The summary file is emptied even if the input cannot
 * be opened, because an old summary must not remain. */
static int validate(val_args *a)
{
	val_in in;
	val_save save;
	int rc = EXIT_FAILURE;
	const int err =
		val_in_open(&in, a->file, a->summaries ? VAL_SUMMARY_BYTES : VAL_BLOCK_BYTES);
	if (err == 0 && !tool_messages_apart(in.fd)) {
		tool_error("valsort", "standard error is the same file as input", a->file, 0);
	} else if (a->save && !val_save_open(&save, a->save, err == 0 ? in.fd : -1)) {
		rc = EXIT_FAILURE;
	} else if (err != 0) {
		val_print_reason(a->file, err);
		if (a->save)
			val_save_finish(&save, NULL);
	} else {
		crc_init();
		const val_result r = (a->summaries ? val_run_summaries : val_run_records)(
			&in, a, announce_unordered, &a->quiet);
		const bool whole = is_complete(&r, a);
		if (whole && !a->quiet)
			print_summary(&r.sum);
		const bool saved = !a->save || val_save_finish(&save, whole ? &r.sum : NULL);
		if (whole && saved && r.sum.unordered == 0)
			rc = EXIT_SUCCESS;
	}
	if (err == 0)
		val_in_close(&in);
	/* without a printed result, the exit status must not be 0 */
	return fflush(stderr) != 0 || ferror(stderr) ? EXIT_FAILURE : rc;
}

int main(int argc, char **argv)
{
	val_args args;
	if (!tool_hold_streams())
		return EXIT_FAILURE;
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	signal(SIGXFSZ, SIG_IGN); /* a summary too large for the limit is an error to report */
	switch (val_args_parse(argc, argv, &args)) {
	case VAL_HELP:
		return tool_print("valsort", help);
	case VAL_VERSION:
		return tool_print("valsort", version);
	case VAL_USAGE:
		return EXIT_FAILURE;
	default:
		return validate(&args);
	}
}

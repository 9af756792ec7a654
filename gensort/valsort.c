/* SPDX-License-Identifier: GPL-3.0-or-later */
/* valsort: judges whether a file of 100-byte records is sorted, and prints what a sort must not
 * change. This file: from the command line to the verdict. 0: in order; 1: not, or failure. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "crc.h"
#include "val.h"

static const char help[] =
	"Usage: valsort [OPTION]... FILE_NAME\n"
	"Judge whether the 100-byte records of FILE_NAME are in the order of their\n"
	"10-byte keys, and print their number, checksum and duplicate keys on standard\n"
	"error. FILE_NAME '-' is standard input.\n"
	"\n"
	"  -i, --ignore-case     take the letters A to Z of keys as a to z\n"
	"  -q, --quiet           print nothing but fatal errors\n"
	"  -o, --output=SUMMARY  write a summary of FILE_NAME to the file SUMMARY\n"
	"  -s, --summaries       FILE_NAME holds the summaries of consecutive parts\n"
	"  -t, --threads=N       threads; 0, the default: one per processor\n"
	"  -h, --help            print this and exit\n"
	"      --version         print the version and exit\n"
	"\n"
	"Exit status: 0 if all records are in order, 1 if they are not or on failure.\n"
	"See valsort(1).\n";

static const char version[] =
	"valsort (hetsort) " HETSORT_VERSION "\n"
	"License GPLv3+: GNU GPL version 3 or later <https://gnu.org/licenses/gpl.html>.\n"
	"This is free software: you are free to change and redistribute it.\n"
	"There is NO WARRANTY, to the extent permitted by law.\n";

/* The digits of v in base 10 or 16; text has room for 40. Returns where they start. */
static const char *digits(u128 v, unsigned base, char *text)
{
	char *p = text + 39;

	*p = '\0';
	do
		*--p = "0123456789abcdef"[(unsigned)(v % base)];
	while ((v /= base) != 0);
	return p;
}

static void announce(u128 index, void *quiet)
{
	char text[40];

	if (!*(const bool *)quiet)
		fprintf(stderr, "First unordered record is record %s\n", digits(index, 10, text));
}

static void print_summary(const struct val_summary *s)
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

/* True if the whole input was read and held at least a record. */
static bool complete(const struct val_result *r, const struct val_args *a)
{
	switch (r->end) {
	case VAL_ERRNO:
		val_say_reason(a->file, r->err);
		return false;
	case VAL_CHANGED:
		say_error("valsort", "size changed while reading", a->file, 0);
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

static int judge(struct val_in *in, struct val_args *a, struct val_save *save)
{
	struct val_result r =
		(a->summaries ? val_run_summaries : val_run_records)(in, a, announce, &a->quiet);
	bool whole = complete(&r, a), saved = true;

	if (whole && !a->quiet)
		print_summary(&r.sum);
	if (a->save)
		saved = val_save_finish(save, whole ? &r.sum : NULL);
	return whole && saved && r.sum.unordered == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The summary file is emptied even if there is no input: an old verdict must not stay. */
static int run(struct val_args *a)
{
	struct val_in in;
	struct val_save save;
	int rc, err;

	err = val_in_open(&in, a->file, a->summaries ? VAL_SUMMARY_BYTES : VAL_BLOCK_BYTES);
	if (a->save && !val_save_open(&save, a->save, err == 0 ? in.fd : -1)) {
		rc = EXIT_FAILURE;
	} else if (err != 0) {
		val_say_reason(a->file, err);
		rc = EXIT_FAILURE;
		if (a->save)
			val_save_finish(&save, NULL);
	} else {
		crc_init();
		rc = judge(&in, a, &save);
	}
	if (err == 0)
		val_in_close(&in);
	/* a verdict that could not be printed must not look like a good one */
	return fflush(stderr) != 0 || ferror(stderr) ? EXIT_FAILURE : rc;
}

static int print(const char *text)
{
	if (fputs(text, stdout) != EOF && fclose(stdout) == 0)
		return EXIT_SUCCESS;
	say_error("valsort", "cannot write", "standard output", errno);
	return EXIT_FAILURE;
}

/* Or else a summary file could take the number of a closed standard error, and fill with text. */
static bool fill_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct val_args args;

	if (!fill_standard_streams())
		return EXIT_FAILURE;
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	signal(SIGXFSZ, SIG_IGN); /* a summary too large for the limit is an error to report */
	switch (val_args_parse(argc, argv, &args)) {
	case VAL_HELP:
		return print(help);
	case VAL_VERSION:
		return print(version);
	case VAL_USAGE:
		return EXIT_FAILURE;
	default:
		return run(&args);
	}
}

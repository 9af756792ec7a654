/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gensort makes the Sort Benchmark's records, byte for byte, with any number of threads. This file
 * has main(). Exit status: 0 if everything was written, 1 after a usage error or a failure. */
#include "crc.h"
#include "gen.h"

#include <inttypes.h>
#include <signal.h>

static const char help[] =
	"Usage: gensort [OPTION]... NUM_RECS FILE_NAME\n"
	"Write NUM_RECS records of 100 bytes, with keys of 10 bytes, to FILE_NAME,\n"
	"as the Sort Benchmark defines them. FILE_NAME '-' is standard output;\n"
	"'/dev/null' makes the records and writes nothing. Numbers of records may have\n"
	"an exponent or a unit: 1.5e6, 10k, 1M, 2G (powers of 1000).\n"
	"\n"
	"  -a, --ascii        records of printable characters, for text tools\n"
	"  -s, --skew         skewed keys: many share their first bytes\n"
	"  -b, --begin=N      number of the first record, below 2^128 (default 0)\n"
	"  -c, --checksum     print the sum of the records' CRC32 on standard error\n"
	"  -t, --threads=N    threads; 0, the default: one per processor\n"
	"      --no-fsync     do not wait until a file is on permanent storage\n"
	"  -h, --help         print this and exit\n"
	"      --version      print the version and exit\n"
	"\n"
	"Exit status: 0 if everything was written, 1 otherwise.\n"
	"The same records come from any number of threads. See gensort(1).\n";

static const char version[] = "gensort " HETSORT_VERSION "\n"
			      "License GPLv3+: GNU GPL version 3 or later.\n";

/* Catch signals that ask to stop, so that the job ends as after a failure. After cleaning up, the
 * process dies of the signal. */
static void catch_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
	const struct sigaction act = { .sa_handler = gen_stop, .sa_flags = SA_RESETHAND };
	struct sigaction old;
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
}

static int generate(const gen_args *a)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(a->recs, (uint64_t)RECORD_BYTES, &bytes))
		bytes = UINT64_MAX; /* too much for a file, but not for a stream */
	gen_out out;
	if (!gen_out_open(&out, a->file, bytes))
		return EXIT_FAILURE;
	if (out.regular)
		catch_signals(); /* a stream may block, and needs no cleaning up */
	const gen_result res = gen_run(a, &out);
	if (res.err != 0)
		tool_error("gensort", "cannot write", out.name, res.err);
	if (res.err != 0 || res.signal != 0 || !gen_out_finish(&out, a->fsync)) {
		gen_out_discard(&out);
		if (res.signal != 0)
			raise(res.signal);
		return EXIT_FAILURE;
	}
	if (!a->checksum)
		return EXIT_SUCCESS;
	const uint64_t hi = (uint64_t)(res.checksum >> 64), lo = (uint64_t)res.checksum;
	const int n = hi ? fprintf(stderr, "%" PRIx64 "%016" PRIx64 "\n", hi, lo)
			 : fprintf(stderr, "%" PRIx64 "\n", lo);
	return n < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	gen_args args;
	if (!tool_hold_streams())
		return EXIT_FAILURE;
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a message is one write, or shells mix them */
	signal(SIGXFSZ, SIG_IGN);              /* so that a file too large is an error to report */
	switch (gen_args_parse(argc, argv, &args)) {
	case GEN_HELP:
		return tool_print("gensort", help);
	case GEN_VERSION:
		return tool_print("gensort", version);
	case GEN_USAGE:
		return EXIT_FAILURE;
	default:
		break;
	}
	gen_ascii_init();
	crc_init();
	return generate(&args);
}

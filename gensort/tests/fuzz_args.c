/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzzer of the command lines of gensort and valsort: whatever the words, they are refused with
 * clean lines on standard error, or understood without a word, and within bounds. The input is
 * words ended by zero bytes. */
#include "../../scripts/fuzz.h"
#include "gen.h"
#include "number.h"
#include "val.h"

#include <getopt.h>
#include <stdio.h>
#include <stdio_ext.h>

enum { SPARE_BYTES = 64 };

/* Two lines, and each byte of the longest word as an escape. */
static char said[1 << 20];

/* What was said is taken out of the buffer of standard error before it leaves it. */
static void check_said(bool wanted)
{
	const size_t n = __fpending(stderr);
	char *text = said;
	fuzz_check(wanted == (n > 0) && n < sizeof said - SPARE_BYTES);
	while (n && !*text) /* some C libraries leave room in front */
		text++;
	fuzz_check(!n || text[n - 1] == '\n');
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		fuzz_check(fuzz_clean(line));
	__fpurge(stderr);
	memset(said, 0, n + SPARE_BYTES);
}

static void try_gensort(const fuzz_line *l)
{
	struct gen_args a;
	uint64_t again;
	optind = 0;
	const enum gen_verdict v = gen_args_parse(l->argc, (char **)l->argv, &a);
	check_said(v == GEN_USAGE);
	if (v != GEN_RUN)
		return;
	fuzz_check(a.threads <= GEN_MAX_THREADS && a.file && a.file[0]);
	fuzz_check(number_parse(l->argv[l->argc - 2], 0, UINT64_MAX, &again) && again == a.recs);
}

static void try_valsort(const fuzz_line *l)
{
	struct val_args a;
	optind = 0;
	const enum val_verdict v = val_args_parse(l->argc, (char **)l->argv, &a);
	check_said(v == VAL_USAGE);
	if (v == VAL_RUN)
		fuzz_check(a.threads <= VAL_MAX_THREADS && a.file &&
			   (!a.save || (a.save[0] && a.save[0] != '-')));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool buffered;
	fuzz_line l;
	if (size > sizeof said / 8)
		return 0;
	if (!buffered)
		fuzz_check(setvbuf(stderr, said, _IOFBF, sizeof said) == 0);
	buffered = true;
	fuzz_words(&l, data, size);
	try_gensort(&l);
	try_valsort(&l);
	free(l.text);
	return 0;
}

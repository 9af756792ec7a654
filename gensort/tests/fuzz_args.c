/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz the command lines of gensort and valsort. Any words must be refused with clean lines on
 * standard error, or accepted silently and within bounds. The input is words ended by zero bytes.
 */
#include "../../scripts/fuzz.h"
#include "gen.h"
#include "number.h"
#include "val.h"

#include <getopt.h>
#include <stdio.h>
#include <stdio_ext.h>

enum { SPARE_BYTES = 64 };

/* Room for two lines, in which each byte of the longest word is escaped. */
static char printed[1 << 20];

/* Check the messages in the buffer of standard error, and remove them before they are printed. */
static void check_printed(bool wanted)
{
	const size_t n = __fpending(stderr);
	char *text = printed;
	fuzz_check(wanted == (n > 0) && n < sizeof printed - SPARE_BYTES);
	while (n && !*text) /* some C libraries leave room in front */
		text++;
	fuzz_check(!n || text[n - 1] == '\n');
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		fuzz_check(fuzz_clean(line));
	__fpurge(stderr);
	memset(printed, 0, n + SPARE_BYTES);
}

static void try_gensort(const fuzz_line *l)
{
	gen_args a;
	uint64_t again;
	optind = 0;
	const gen_verdict v = gen_args_parse(l->argc, (char **)l->argv, &a);
	check_printed(v == GEN_USAGE);
	if (v != GEN_RUN)
		return;
	fuzz_check(a.threads <= TOOL_MAX_THREADS && a.file && a.file[0]);
	const char *count = l->argv[l->argc - 2];
	fuzz_check(number_parse(count, 0, UINT64_MAX, &again)
			   ? again == a.recs
			   : strpbrk(count, ".ekMGT") && !count[strspn(count, "0123456789.ekMGT")]);
}

static void try_valsort(const fuzz_line *l)
{
	val_args a;
	optind = 0;
	const val_verdict v = val_args_parse(l->argc, (char **)l->argv, &a);
	check_printed(v == VAL_USAGE);
	if (v == VAL_RUN)
		fuzz_check(a.threads <= TOOL_MAX_THREADS && a.file &&
			   (!a.save || (a.save[0] && a.save[0] != '-')));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool buffered;
	fuzz_line l;
	if (size > sizeof printed / 8)
		return 0;
	if (!buffered)
		fuzz_check(setvbuf(stderr, printed, _IOFBF, sizeof printed) == 0);
	buffered = true;
	fuzz_words(&l, data, size);
	try_gensort(&l);
	try_valsort(&l);
	free(l.text);
	return 0;
}

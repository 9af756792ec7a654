/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetplan: plans for heterogeneous machines, from the command line and for other programs.
 * This file: from the command line to the exit status. 0: planned; 1: failed; 2: usage. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "hetplan.h"

static const char help[] =
	"Usage: hetplan VERB [OPTION]...\n"
	"       hetplan show [OPTION]... FILE|-\n"
	"       hetplan batch [--time-limit=S] [FILE|-]\n"
	"Divide items among processors of unequal speed so that all finish together.\n"
	"\n"
	"Verbs:\n"
	"  share      shares by speed, without communication\n"
	"  scatter    shares sent one after the other by one root\n"
	"  chain      loads handed on along a chain of processors\n"
	"  emulate    equal processes on unequal nodes\n"
	"  model      shares by a cost that is learnt from observations\n"
	"  show       a plan that --json has written, checked against its costs\n"
	"  batch      one JSON request a line in, one JSON answer a line out\n"
	"\n"
	"The problem (lists have commas):\n"
	"  -i, --input=FILE          a request in JSON, '-' for standard input; options below\n"
	"                            take the place of its members\n"
	"      --op=NAME             the operation, where the verb has more than one\n"
	"  -n, --items=N             items to divide\n"
	"  -s, --speeds=LIST|FILE    share, model: speed of each processor; a file may have lines\n"
	"                            name,speed,latency,bandwidth, for scatter, too\n"
	"      --cost=COST           share, scatter with a file: time of n items at speed 1\n"
	"      --costs=COSTS         share: a cost for each processor instead of speeds\n"
	"      --weights=LIST        share: of items in a row, for contiguous parts\n"
	"      --capacity=LIST       share: most items each may take\n"
	"      --minimum=LIST        share, scatter: least items for each\n"
	"      --quantum=N           share, scatter: shares are multiples of it, but one\n"
	"      --compute=COSTS       scatter: time to compute, in service order, root last\n"
	"      --link=COSTS          scatter: time to receive; the root's may be left out\n"
	"      --chunk=N             scatter: farm out chunks of N items\n"
	"      --rule=NAME           scatter: size of chunks: fixed, guided, factoring\n"
	"      --ratings=LIST        emulate: speed of each node\n"
	"      --processes=M         emulate: processes to place\n"
	"      --best-upto=M         emulate: the best number of processes up to M\n"
	"      --observations=LIST   model: ITEMS:TIME,... at speed 1\n"
	"      --w=LIST --z=LIST     chain: time of one unit, on processors and over links\n"
	"      --tau=LIST            chain: when each processor can begin\n"
	"      --latency=LIST        chain: start of each message\n"
	"      --vcomm=LIST --vcomp=LIST   chain: units of data and of computation of each load\n"
	"      --installments=LIST   chain: number of installments of each load\n"
	"      --max-installments=N  chain: most of one load, for multiinst\n"
	"      --time-limit=S        all but model: seconds to plan, then the best so far\n"
	"                            (default 10); batch: for all requests (default any)\n"
	"      --max-mem=BYTES       share, scatter, chain: most memory to plan\n"
	"  -m, --method=NAME         how to plan; see --compare\n"
	"      --names=LIST          names of the processors, for tables and charts\n"
	"A COST is TIME (of one item), linear, nlogn, nlog2n1, power:EXPONENT or\n"
	"affine:STARTUP:TIME, with *FACTOR behind it if wanted.\n"
	"\n"
	"Output:\n"
	"      --json, --csv         instead of a table; --json with the request, for show\n"
	"  -c, --compare             all methods side by side\n"
	"      --max-steps=N         leave out methods that need more steps (default 10000000000)\n"
	"  -g, --gantt, --no-gantt   a chart in text, or none (default: on a terminal)\n"
	"      --width=N             columns of the chart (default: COLUMNS, or 80)\n"
	"      --svg=FILE            a chart as a picture as well\n"
	"      --html=FILE           plan, chart and, with --compare, methods as a page as well\n"
	"      --title=TEXT          the title of both\n"
	"  -h, --help, --version     print this, or the version, and exit\n"
	"\n"
	"Exit status: 0 planned, 1 failed, 2 usage. See hetplan(1) and hetplan-batch(5).\n";

static const char version[] =
	"hetplan (hetsort) " HETSORT_VERSION "\n"
	"License GPLv3+: GNU GPL version 3 or later <https://gnu.org/licenses/gpl.html>.\n"
	"This is free software: you are free to change and redistribute it.\n"
	"There is NO WARRANTY, to the extent permitted by law.\n";

/* Standard output is done: a full disk shows here at the latest. */
static int finish(int status)
{
	bool broken = ferror(stdout) != 0;

	if (fclose(stdout) == 0 && !broken)
		return status;
	if (status == EXIT_SUCCESS)
		hp_say("cannot write 'standard output': %s", strerror(errno));
	return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}

static int print(const char *text)
{
	return finish(fputs(text, stdout) == EOF ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int batch(const char *name, double time_s)
{
	bool standard = !name || strcmp(name, "-") == 0;
	FILE *in = standard ? stdin : fopen(name, "r");
	int status;

	if (!in) {
		hp_say("cannot open '%s': %s", name, strerror(errno));
		return EXIT_FAILURE;
	}
	status = hp_batch(in, standard ? "standard input" : name, stdout, &hp_limits, time_s);
	if (!standard && fclose(in) != 0 && status == EXIT_SUCCESS) {
		hp_say("cannot close '%s': %s", name, strerror(errno));
		status = EXIT_FAILURE;
	}
	return finish(status);
}

static int perform(enum hp_verdict verdict, const struct hp_args *a)
{
	switch (verdict) {
	case HP_HELP:
		return print(help);
	case HP_VERSION:
		return print(version);
	case HP_BATCH:
		return batch(a->input, a->batch_s);
	case HP_RUN:
		return finish(hp_verb(a));
	case HP_REFUSED:
		return 2;
	case HP_FAILED:
		return EXIT_FAILURE;
	default:
		fputs("Try 'hetplan --help' for more.\n", stderr);
		return 2;
	}
}

/* A standard stream that was closed would let the picture take its number, and the table would
 * land in it. Its place is taken by one on which every use fails. */
static bool hold_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct hp_args a;
	int status;

	if (!hold_standard_streams())
		return EXIT_FAILURE;
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a message is one write, or shells mix them */
	signal(SIGXFSZ, SIG_IGN);              /* so that a file too large is an error to report */
	status = perform(hp_args_parse(argc, argv, &a), &a);
	json_decref(a.set);
	return status;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* main.c - the program hetplan: plans for heterogeneous machines, on the command line and for other
 * programs. Exit status: 0 planned, 1 failed, 2 usage. */
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
	"  share      plan shares by speed, without communication\n"
	"  scatter    plan shares that one root sends one after the other\n"
	"  chain      plan loads that a chain of processors passes on\n"
	"  emulate    place equal processes on unequal nodes\n"
	"  model      plan shares by a cost that is learnt from observations\n"
	"  show       print a plan that --json wrote, verified against its costs\n"
	"  batch      answer one JSON request per line with one line of JSON\n"
	"\n"
	"The problem (lists are separated by commas):\n"
	"  -i, --input=FILE          read the request from a JSON file, '-' for standard input;\n"
	"                            the following options replace its members\n"
	"      --op=NAME             the operation, if the verb has more than one\n"
	"  -n, --items=N             items to divide\n"
	"  -s, --speeds=LIST|FILE    share, model: speed of each processor; lines of a file may\n"
	"                            be name,speed,latency,bandwidth, also for scatter\n"
	"      --cost=COST           share, scatter with a file: time of n items at speed 1\n"
	"      --costs=COSTS         share: a cost for each processor instead of speeds\n"
	"      --weights=LIST        share: weights of items in a row, for contiguous parts\n"
	"      --capacity=LIST       share: the most items of each processor\n"
	"      --minimum=LIST        share, scatter: the fewest items of each processor\n"
	"      --quantum=N           share, scatter: all shares but one are multiples of N\n"
	"      --compute=COSTS       scatter: time to compute, in service order, root last\n"
	"      --link=COSTS          scatter: time to receive; the root's may be omitted\n"
	"      --chunk=N             scatter: farm out chunks of N items\n"
	"      --rule=NAME           scatter: size of chunks: fixed, guided, factoring\n"
	"      --ratings=LIST        emulate: speed of each node\n"
	"      --processes=M         emulate: number of processes to place\n"
	"      --best-upto=M         emulate: find the best number of processes up to M\n"
	"      --observations=LIST   model: ITEMS:TIME,... at speed 1\n"
	"      --w=LIST --z=LIST     chain: time of one unit, on processors and over links\n"
	"      --w-load=LIST         chain: instead of --w, for each load and processor\n"
	"      --tau=LIST            chain: when each processor can begin\n"
	"      --release=LIST        chain: when the first processor has each load\n"
	"      --weight=LIST         chain: weight of each load in the flow\n"
	"      --objective=NAME      chain, lp: minimise the makespan or the flow\n"
	"      --latency=LIST        chain: startup time of each message\n"
	"      --vcomm=LIST --vcomp=LIST   chain: units of data and of computation of each load\n"
	"      --installments=LIST   chain: number of installments of each load\n"
	"      --max-installments=N  chain, multiinst: the most installments of one load\n"
	"      --time-limit=S        all but model: plan for S seconds at most, then use the best\n"
	"                            so far (default 10); batch: time of all requests\n"
	"      --max-mem=BYTES       share, scatter, chain: limit of the memory to plan\n"
	"  -m, --method=NAME         how to plan; see --compare\n"
	"      --names=LIST          names of the processors, for tables and charts\n"
	"A COST is TIME (of one item), linear, nlogn, nlog2n1, power:EXPONENT or\n"
	"affine:STARTUP:TIME, optionally followed by *FACTOR.\n"
	"\n"
	"Output:\n"
	"      --json, --csv         print JSON, with the request for show, or CSV\n"
	"  -c, --compare             print all methods next to each other\n"
	"      --max-steps=N         skip methods that need more steps (default 10000000000)\n"
	"  -g, --gantt, --no-gantt   draw a chart in text, or none (default: on a terminal)\n"
	"      --width=N             columns of the chart (default: COLUMNS, or 80)\n"
	"      --svg=FILE            also write a chart as a picture\n"
	"      --html=FILE           also write plan, chart and compared methods as a page\n"
	"      --title=TEXT          title of picture and page\n"
	"  -h, --help, --version     print this help or the version, and exit\n"
	"\n"
	"Exit status: 0 planned, 1 failed, 2 usage. See hetplan(1) and hetplan-batch(5).\n";

static const char version[] = "hetplan " HETSORT_VERSION "\n"
			      "License GPLv3+: GNU GPL version 3 or later.\n";

/* Close standard output, as a full disk may be reported only then. Return the exit status. */
static int finish_output(int status)
{
	const bool broken = ferror(stdout) != 0;
	if (fclose(stdout) == 0 && !broken)
		return status;
	if (status == EXIT_SUCCESS)
		hp_say("cannot write 'standard output': %s", strerror(errno));
	return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}

static int batch_file(const char *name, double time_s)
{
	const bool standard = !name || strcmp(name, "-") == 0;
	FILE *const in = standard ? stdin : fopen(name, "r");
	if (!in) {
		hp_say("cannot open '%s': %s", name, strerror(errno));
		return EXIT_FAILURE;
	}
	int status = hp_batch(in, standard ? "standard input" : name, stdout, &hp_program_limits,
			      time_s);
	if (!standard && fclose(in) != 0 && status == EXIT_SUCCESS) {
		hp_say("cannot close '%s': %s", name, strerror(errno));
		status = EXIT_FAILURE;
	}
	return finish_output(status);
}

int main(int argc, char **argv)
{
	/* If standard output is closed, the file of --svg could get its number, and the table would
	 * be written into it. So give a closed standard stream a descriptor on which every use
	 * fails. */
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			return EXIT_FAILURE;
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* one write() per message: they are not mixed */
	signal(SIGXFSZ, SIG_IGN);              /* report a file that is too large as an error */
	hp_args a;
	int status = 2;
	switch (hp_args_parse(argc, argv, &a)) {
	case HP_HELP:
		fputs(help, stdout);
		status = finish_output(EXIT_SUCCESS);
		break;
	case HP_VERSION:
		fputs(version, stdout);
		status = finish_output(EXIT_SUCCESS);
		break;
	case HP_BATCH:
		status = batch_file(a.input, a.batch_s);
		break;
	case HP_VERB:
		status = finish_output(hp_verb(&a));
		break;
	case HP_REFUSED:
		break;
	case HP_FAILED:
		status = EXIT_FAILURE;
		break;
	case HP_USAGE:
		fputs("Try 'hetplan --help' for more.\n", stderr);
	}
	json_decref(a.set);
	return status;
}

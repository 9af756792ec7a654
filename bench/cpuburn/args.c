/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of cpuburn: options, and the CPUs this process may use. Prints; never exits. */
#include "args.h"
#include "number.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"Usage: cpuburn --factor=F [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	"Slow the CPUs of this machine by a factor, for a command or a time.\n"
	"\n"
	"      --factor=F      others run at 1/F of their speed, 1 to 50\n"
	"      --cpus=LIST     these CPUs, such as 0,2-3 [all this process may use]\n"
	"      --seconds=S     end after S seconds, and COMMAND with it [600]\n"
	"      --period=US     length of a period in microseconds, 500 to 1000000\n"
	"                      [1000; with --cgroup 10000]\n"
	"      --fifo, --nice  burn with SCHED_FIFO, or at nice -20 [what is allowed]\n"
	"      --cgroup        burn nothing: a CPU quota for COMMAND\n"
	"      --no-calibration  start at once, measure no reference loop\n"
	"      --json=FILE     write what was reached as JSON; - is standard output\n"
	"  -q, --quiet         print errors and warnings only\n"
	"  -h, --help, --version\n"
	"\n"
	"Exit status: that of COMMAND; 0 after S seconds without one; 124 if COMMAND was\n"
	"ended after S seconds; 128+N after signal N; 1 failed; 2 refused.\n";

static bool refuse(struct args *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(struct args *a, const char *format, ...)
{
	va_list list;

	a->status = 2;
	va_start(list, format);
	say_list(format, list);
	va_end(list);
	return false;
}

static bool number(struct args *a, const char *name, const char *text, double least, double most,
		   double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	if (end != text && *end == '\0' && errno == 0 && *out >= least && *out <= most)
		return true;
	return refuse(a, "--%s wants a number from %g to %g, not '%s'", name, least, most, text);
}

static bool cpu_list(struct args *a, const char *text, struct cpus *set)
{
	*set = (struct cpus){ 0 };
	for (const char *p = text;; p++) {
		uint64_t first, last;

		if (!number_at(&p, CPUS_MAX - 1, &first))
			break;
		last = first;
		if (*p == '-' && (p++, !number_at(&p, CPUS_MAX - 1, &last) || last < first))
			break;
		for (; first <= last; first++)
			cpus_add(set, (int)first);
		if (*p == '\0')
			return true;
		if (*p != ',')
			break;
	}
	return refuse(a, "--cpus wants a list such as 0,2-3, not '%s'", text);
}

static bool choose_cpus(struct args *a, const char *list)
{
	struct cpus mine, set;

	if (sched_getaffinity(0, sizeof mine, mine.part) != 0)
		return refuse(a, "cannot find out which CPUs may be used: %s", strerror(errno));
	set = mine;
	if (list && !cpu_list(a, list, &set))
		return false;
	for (int i = 0; i < CPUS_MAX; i++) {
		if (!cpus_has(&set, i))
			continue;
		if (!cpus_has(&mine, i))
			return refuse(a, "CPU %d is not there, or not for this process", i);
		a->cpus[a->ncpus++] = i;
	}
	return true;
}

enum {
	OPT_FACTOR = 256,
	OPT_CPUS,
	OPT_SECONDS,
	OPT_PERIOD,
	OPT_FIFO,
	OPT_NICE,
	OPT_CGROUP,
	OPT_JSON,
	OPT_BLIND,
	OPT_VERSION
};

static const struct option options[] = { { "factor", 1, NULL, OPT_FACTOR },
					 { "cpus", 1, NULL, OPT_CPUS },
					 { "seconds", 1, NULL, OPT_SECONDS },
					 { "period", 1, NULL, OPT_PERIOD },
					 { "fifo", 0, NULL, OPT_FIFO },
					 { "nice", 0, NULL, OPT_NICE },
					 { "cgroup", 0, NULL, OPT_CGROUP },
					 { "json", 1, NULL, OPT_JSON },
					 { "no-calibration", 0, NULL, OPT_BLIND },
					 { "quiet", 0, NULL, 'q' },
					 { "help", 0, NULL, 'h' },
					 { "version", 0, NULL, OPT_VERSION },
					 { 0 } };

/* What ends the program well, if it can be told. */
static bool tell(struct args *a, const char *text)
{
	if (fputs(text, stdout) == EOF || fflush(stdout) != 0) {
		say("cannot write to standard output: %s", strerror(errno));
		a->status = 1;
	}
	return false;
}

/* The word that getopt could not take, or the letter, where it stands among others. */
static bool bad_option(struct args *a, bool lacks, const char *word)
{
	const char letter[] = { '-', (char)optopt, '\0' };

	if (lacks)
		return refuse(a, "option '%s' takes an argument", word);
	if (optopt >= OPT_FACTOR || optopt == 'h' || optopt == 'q')
		return refuse(a, "option '%s' takes no argument", word);
	return refuse(a, "unknown or ambiguous option '%s'", optopt ? letter : word);
}

static bool how_once(struct args *a, enum how how)
{
	if (a->how != HOW_ANY && a->how != how)
		return refuse(a, "--fifo, --nice and --cgroup exclude each other");
	a->how = how;
	return true;
}

/* word: where it was found, for a message */
static bool take(struct args *a, int opt, const char *word, const char **cpus)
{
	switch (opt) {
	case OPT_FACTOR:
		return number(a, "factor", optarg, 1, 50, &a->factor);
	case OPT_CPUS:
		*cpus = optarg;
		return true;
	case OPT_SECONDS:
		return number(a, "seconds", optarg, 0, 1e6, &a->seconds_s);
	case OPT_PERIOD:
		if (!number(a, "period", optarg, 500, 1e6, &a->period_s))
			return false;
		a->period_s *= 1e-6;
		return true;
	case OPT_FIFO:
		return how_once(a, HOW_FIFO);
	case OPT_NICE:
		return how_once(a, HOW_NICE);
	case OPT_CGROUP:
		return how_once(a, HOW_GROUP);
	case OPT_JSON:
		a->json = optarg;
		return true;
	case OPT_BLIND:
		a->calibrate = false;
		return true;
	case 'q':
		a->quiet = true;
		return true;
	case 'h':
		return tell(a, help);
	case OPT_VERSION:
		return tell(a, "cpuburn (hetsort) " HETSORT_VERSION "\n");
	default:
		return bad_option(a, opt == ':', word);
	}
}

bool args_read(struct args *a, int argc, char **argv)
{
	const char *cpus = NULL;
	int opt;

	*a = (struct args){ .seconds_s = 600, .calibrate = true };
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+:hq", options, NULL)) != -1)
		if (!take(a, opt, argv[optind - 1], &cpus))
			return false;
	if (optind < argc)
		a->command = argv + optind;
	if (a->factor == 0)
		return refuse(a, "--factor is missing");
	if (a->how == HOW_GROUP && !a->command)
		return refuse(a, "--cgroup slows a COMMAND, and there is none");
	/* The kernel hands a quota out in slices of its own clock: short periods come out wrong. */
	if (a->period_s == 0)
		a->period_s = a->how == HOW_GROUP ? 0.01 : 0.001;
	return choose_cpus(a, cpus);
}

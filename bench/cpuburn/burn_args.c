/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of cpuburn, the CPUs that this process may use, and messages. Nothing here ends
 * the program. */
#include "cpuburn.h"
#include "nearest.h"
#include "number.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"Usage: cpuburn --factor=F [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	"Slow the CPUs of this machine by a factor, for a command or a time.\n"
	"\n"
	"      --factor=F      other programs run at 1/F of their speed, 1 to 50\n"
	"      --cpus=LIST     these CPUs, such as 0,2-3 [all this process may use]\n"
	"      --seconds=S     end after S seconds, and COMMAND with it [600]\n"
	"      --period=US     length of a period in microseconds, 500 to 1000000\n"
	"                      [1000; with --cgroup 10000]\n"
	"      --fifo, --nice  burn with SCHED_FIFO, or at nice -20 [the first allowed]\n"
	"      --cgroup        burn nothing, but set a CPU quota for COMMAND\n"
	"      --no-calibration  start at once, without measuring the reference loop\n"
	"      --json=FILE     write the results as JSON; - is standard output\n"
	"  -q, --quiet         print only errors and warnings\n"
	"  -h, --help, --version\n"
	"\n"
	"Exit status: the status of COMMAND; 0 after S seconds without one; 124 if\n"
	"COMMAND was ended after S seconds; 128+N after signal N; 1 failed; 2 refused.\n";

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

static const struct option burn_options[] = { { "factor", 1, NULL, OPT_FACTOR },
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

void burn_say(const char *format, ...)
{
	va_list list;
	char *text = NULL;
	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	fputs("cpuburn: ", stderr);
	for (const unsigned char *s = (const unsigned char *)(text ? text : "no memory"); *s; s++)
		fprintf(stderr, *s < 0x20 || *s == 0x7f ? "\\x%02x" : "%c", *s);
	fputc('\n', stderr);
	free(text);
}

#define burn_refuse(a, ...) (burn_say(__VA_ARGS__), (a)->status = 2, false)

static bool burn_number(burn_args *a, const char *name, double least, double most, double *out)
{
	char *end;
	errno = 0;
	*out = strtod(optarg, &end);
	if (end != optarg && *end == '\0' && errno == 0 && *out >= least && *out <= most)
		return true;
	return burn_refuse(a, "--%s must be a number from %g to %g, not '%s'", name, least, most,
			   optarg);
}

static bool burn_cpu_list(burn_args *a, const char *text, cpu_mask *set)
{
	*set = (cpu_mask){ 0 };
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
	return burn_refuse(a, "--cpus must be a list such as 0,2-3, not '%s'", text);
}

/* Print a text, such as the help. Return false, because the program then ends; the status is 1 if
 * it cannot be printed. */
static bool burn_print(burn_args *a, const char *text)
{
	if (fputs(text, stdout) == EOF || fflush(stdout) != 0) {
		burn_say("cannot write to standard output: %s", strerror(errno));
		a->status = 1;
	}
	return false;
}

static bool burn_set_how(burn_args *a, burn_how how)
{
	if (a->how != HOW_ANY && a->how != how)
		return burn_refuse(a, "--fifo, --nice and --cgroup exclude each other");
	a->how = how;
	return true;
}

/* Refuse the option in this word, or with this letter, which getopt_long() has rejected. */
static bool burn_bad_option(burn_args *a, const char *word, const char *letter)
{
	if (optopt >= OPT_FACTOR || optopt == 'h' || optopt == 'q')
		return burn_refuse(a, "option '%s' takes no argument", word);
	if (optopt)
		return burn_refuse(a, "unknown or ambiguous option '%s'", letter);
	const char *meant =
		nearest_word(word + 2, strcspn(word + 2, "="), burn_options, sizeof *burn_options);
	return burn_refuse(a, "unknown or ambiguous option '%s'%s%s%s", word,
			   meant ? " (did you mean --" : "", meant ? meant : "", meant ? "?)" : "");
}

/* Set one option. word is the argument that getopt has read, for messages. */
static bool burn_set_option(burn_args *a, int opt, const char *word, const char **cpu_list)
{
	const char letter[] = { '-', (char)optopt, '\0' };
	switch (opt) {
	case OPT_FACTOR:
		return burn_number(a, "factor", 1, 50, &a->factor);
	case OPT_CPUS:
		*cpu_list = optarg;
		return true;
	case OPT_SECONDS:
		return burn_number(a, "seconds", 0, 1e6, &a->seconds_s);
	case OPT_PERIOD:
		if (!burn_number(a, "period", 500, 1e6, &a->period_s))
			return false;
		a->period_s *= 1e-6;
		return true;
	case OPT_FIFO:
		return burn_set_how(a, HOW_FIFO);
	case OPT_NICE:
		return burn_set_how(a, HOW_NICE);
	case OPT_CGROUP:
		return burn_set_how(a, HOW_GROUP);
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
		return burn_print(a, help);
	case OPT_VERSION:
		return burn_print(a, "cpuburn " HETSORT_VERSION "\n"
				     "License GPLv3+: GNU GPL version 3 or later.\n");
	case ':':
		return burn_refuse(a, "option '%s' takes an argument", word);
	default:
		return burn_bad_option(a, word, letter);
	}
}

bool burn_args_read(burn_args *a, int argc, char **argv)
{
	const char *list = NULL;
	cpu_mask mine, set;
	*a = (burn_args){ .seconds_s = 600, .calibrate = true };
	opterr = 0;
	for (int opt; (opt = getopt_long(argc, argv, "+:hq", burn_options, NULL)) != -1;)
		if (!burn_set_option(a, opt, argv[optind - 1], &list))
			return false;
	if (optind < argc)
		a->command = argv + optind;
	if (a->factor == 0)
		return burn_refuse(a, "--factor is missing");
	if (a->how == HOW_GROUP && !a->command)
		return burn_refuse(a, "--cgroup slows a COMMAND: give one after --");
	/* The kernel grants a quota in slices of some milliseconds: short periods are inexact. */
	if (a->period_s == 0)
		a->period_s = a->how == HOW_GROUP ? 0.01 : 0.001;
	if (sched_getaffinity(0, sizeof mine, mine.part) != 0)
		return burn_refuse(a, "cannot find the CPUs that may be used: %s", strerror(errno));
	set = mine;
	if (list && !burn_cpu_list(a, list, &set))
		return false;
	for (int i = 0; i < CPUS_MAX; i++) {
		if (!cpus_has(&set, i))
			continue;
		if (!cpus_has(&mine, i))
			return burn_refuse(
				a, "CPU %d does not exist, or this process may not use it", i);
		a->cpus[a->ncpus++] = i;
	}
	return true;
}

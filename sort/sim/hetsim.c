/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program hetsim: hetsort on a simulated cluster. It is hetsort, main() and all, linked with
 * the wrappers of this folder; this file comes before hetsort's main() and after it. */
#include "base/progress.h"
#include "base/size.h"
#include "comm_sim.h"
#include "engine.h"
#include "io/json.h"
#include "model/calibrate.h"
#include "run.h"
#include "scale.h"
#include "sim_report.h"
#include "wrap.h"

#include <getopt.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static const double CALIBRATE_S = 1;
enum { STREAMS = 16 }; /* of the merge that is measured */

/* Beside blocks that take a millisecond, as they do of many records, ten of it are short. */
static const double LEAST_WORK_S = 20e-6, MOST_LEAST_WORK_S = 200e-6;

static struct {
	platform p;
	const char *platform, *report;
	int json, calibrate, xml;
	bool ran, spare; /* spare: the report would replace another file */
	char **argv;     /* hetsort's */
	int argc;
	sim_outcome outcome;
} sim = { .report = STREAM_NAME, .outcome.scale = 1 };

static void help(void)
{
	puts("Usage: hetsim [OPTION]... PLATFORM HETSORT-ARGUMENT...\n"
	     "Sort records as hetsort does, on the simulated cluster that the file PLATFORM\n"
	     "describes, one rank on each host, and report the time that it takes there.\n\n"
	     "  -s, --scale=S      each record stands for S records [1]\n"
	     "  -r, --report=FILE  write the report there [standard output]\n"
	     "      --hosts        with a line for each host\n"
	     "      --json         write the report as a JSON object\n"
	     "      --calibrate    measure this machine's processor, print its rates as a line\n"
	     "                     of a platform, and end\n"
	     "      --xml          print PLATFORM as SimGrid reads it, and end\n"
	     "  -h, --help         print this\n"
	     "      --version      print the version\n"
	     "Exit status: that of hetsort.");
}

static status parse_scale(const char *arg, err *e)
{
	char q[QUOTED_BYTES];
	const char *rest = arg;
	uint64_t whole;
	uint32_t millionths;
	if (!size_number(&rest, &whole, &millionths) || *rest || whole == 0 || whole > 1000000000)
		return err_set(e, ST_REFUSED, "--scale is a number from 1 to 1000000000, not %s",
			       err_quoted(arg, q));
	sim.outcome.scale = (double)whole + 1e-6 * millionths;
	return ST_OK;
}

static _Noreturn void say_and_end(int opt)
{
	if (opt == 'h')
		help();
	else
		puts("hetsim " HETSORT_VERSION "\nLicense GPLv3+: GNU GPL version 3 or later.");
	exit(fflush(stdout) == 0 && !ferror(stdout) ? ST_OK : ST_IO);
}

/* Up to the platform's name; what follows is hetsort's. */
static status parse_options(int argc, char **argv, err *e)
{
	static const struct option longs[] = { { "scale", required_argument, NULL, 's' },
					       { "report", required_argument, NULL, 'r' },
					       { "hosts", no_argument, &sim.outcome.hosts, 1 },
					       { "json", no_argument, &sim.json, 1 },
					       { "calibrate", no_argument, &sim.calibrate, 1 },
					       { "xml", no_argument, &sim.xml, 1 },
					       { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, 'v' },
					       { NULL, 0, NULL, 0 } };
	status rc = ST_OK;
	for (int opt;
	     rc == ST_OK && (opt = getopt_long(argc, argv, "+s:r:h", longs, NULL)) != -1;) {
		if (opt == 's')
			rc = parse_scale(optarg, e);
		else if (opt == 'r')
			sim.report = optarg;
		else if (opt == '?')
			rc = err_set(e, ST_REFUSED, "see 'hetsim --help'");
		else if (opt)
			say_and_end(opt);
	}
	if (rc == ST_OK && !sim.calibrate && optind == argc)
		rc = err_set(e, ST_REFUSED, "no platform: see 'hetsim --help'");
	return rc;
}

static status calibrate(err *e)
{
	mem m = { 0 };
	calibration *c;
	double cpus;
	const layout l = LAYOUT_BYTES(DEFAULT_RECORD_BYTES, 0, DEFAULT_KEY_BYTES);
	const status rc = calibrate_open(&c, &m, &l, 1, STREAMS, UINT64_MAX, e);
	if (rc == ST_OK) {
		const rates r = calibrate_run(c, CALIBRATE_S, &cpus);
		printf("rates sort %.6fns merge %.6fns copy %.6fns\n", 1e9 * r.sort_s,
		       1e9 * r.merge_s, 1e9 * r.copy_s);
	}
	calibrate_free(c);
	return rc;
}

static status print_xml(err *e)
{
	const status rc = sim_report_xml(stdout, &sim.p, e);
	if (rc == ST_OK && (fflush(stdout) != 0 || ferror(stdout)))
		return err_set(e, ST_IO, "cannot write the platform");
	return rc;
}

/* hetsort's command line: what is behind the platform. Its name takes the platform's place. */
static void make_arguments(int argc, char **argv)
{
	static char name[] = "hetsort";
	sim.platform = argv[optind];
	argv[optind] = name;
	sim.argv = argv + optind;
	sim.argc = argc - optind;
	optind = 0; /* hetsort parses anew */
}

static status write_report(err *e)
{
	char *text = NULL;
	size_t bytes = 0;
	progress_join(NULL); /* ranks that count bytes may be gone */
	FILE *f = open_memstream(&text, &bytes);
	bool whole = f != NULL;
	if (f && sim.json)
		whole = sim_report_json(f, &sim.outcome) == ST_OK;
	else if (f)
		sim_report_write(f, &sim.outcome);
	if (f)
		whole = !ferror(f) && fclose(f) == 0 && whole;
	const status rc =
		!whole       ? err_set(e, ST_RESOURCE, "no memory for the report")
		: !sim.spare ? text_write_role(ROLE_SIM_REPORT, sim.report, text, bytes, false, e)
			     : ST_OK;
	free(text);
	return rc;
}

static int end(int code, const err *e)
{
	if (e->code == ST_OK)
		return code;
	fprintf(stderr, "hetsim: %s\n", e->text);
	return code ? code : (int)e->code;
}

/* A rank ends the program: what there is to report, is reported. */
static void report_end(int code)
{
	err e = { ST_OK, "" };
	sim.outcome.status = code;
	if (sim.ran)
		(void)write_report(&e);
	(void)end(code, &e);
}

/* Before hetsort's options are known: the cluster is there. */
static status open_all(int argc, char **argv, err *e)
{
	status rc = parse_options(argc, argv, e);
	if (rc != ST_OK || sim.calibrate)
		return rc;
	rc = platform_load(&sim.p, argv[optind], e);
	if (rc != ST_OK || sim.xml)
		return rc;
	rc = engine_open(&sim.p, fmin(LEAST_WORK_S * sim.outcome.scale, MOST_LEAST_WORK_S), e);
	make_arguments(argc, argv);
	scale_open(sim.outcome.scale);
	comm_sim_at_end(report_end);
	return rc;
}

WRAPPED(status, job_run, comm *c, const settings *o, job_result *res)
{
	sim.ran = true;
	sim.outcome.planned = o->explain;
	scale_records(o->lay.record_bytes);
	const status rc = __real_job_run(c, o, res);
	if (c->rank == 0) {
		sim_report_take(&sim.outcome, res);
		sim.spare = res->late_refused;
	}
	return rc;
}

/* The files of hetsim are files of the job. */
WRAPPED(status, options_parse, settings *o, int argc, char **argv, err *e)
{
	const status rc = __real_options_parse(o, argc, argv, e);
	o->sim_platform = sim.platform;
	o->sim_report = sim.report;
	return rc;
}

/* Each of thousands of ranks touches a little of its large arrays. */
static void take_small_pages(void)
{
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

WRAPPED(int, main, int argc, char **argv)
{
	err e = { ST_OK, "" };
	take_small_pages();
	int code = open_all(argc, argv, &e);
	if (code == ST_OK && sim.calibrate)
		code = calibrate(&e);
	else if (code == ST_OK && sim.xml)
		code = print_xml(&e);
	else if (code == ST_OK)
		code = sim.outcome.status = __real_main(sim.argc, sim.argv);
	if (sim.ran || code == ST_PEER) /* ranks may fail before they begin the job */
		(void)write_report(&e);
	platform_free(&sim.p);
	return end(code, &e);
}

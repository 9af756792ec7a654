/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program hetsim: hetsort on a simulated cluster. It is all of hetsort, linked with the
 * wrappers of this directory. The main() of this file calls hetsort's main(). The report has only
 * simulated times and counts, so that equal simulations have equal reports. */
#include "base/bad_option.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/size.h"
#include "sim.h"
#include "engine.h"
#include "io/file.h"
#include "io/json.h"
#include "model/calibrate.h"
#include "job.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct {
	platform p;
	const char *platform, *report;
	int hosts, json, calibrate, xml; /* the options that were given */
	double scale;
	bool ran, planned;
	bool spare; /* write no report, because it would replace another file */
	int status;
	bool known; /* the sort has succeeded, so the members below are set */
	uint64_t records;
	double phase_s[PHASES]; /* the longest time of any rank */
	double wait_s;          /* in collective calls, of the rank that waited longest */
	uint64_t mem_bytes;     /* of the rank that used most */
} sim = { .report = STREAM_NAME, .scale = 1 };

/* ------------------------------------------------------------------------------------- report */

/* Return the time at which the last thread has ended and the last disk has been written. */
static double makespan(void)
{
	double s = engine_now_s();
	for (int i = 0; i < sim.p.hosts; i++)
		if (isfinite(engine_host(i)->disk_free_s))
			s = fmax(s, engine_host(i)->disk_free_s);
	return s;
}

enum { USES = 4 };

/* Store in `use` the percentages of time in which processors, disk, link out and link in were
 * used. */
static void find_use(const host *h, double makespan_s, double use[USES])
{
	const double s = makespan_s > 0 ? makespan_s : INFINITY;
	use[0] = 100 * h->busy_s / (s * h->is.cores);
	use[1] = 100 * h->disk_s / s;
	use[2] = 100 * h->out_s / s;
	use[3] = 100 * h->in_s / s;
}

static void write_use(FILE *f, const char *name, const double use[USES])
{
	fprintf(f, "%-9s %12.1f %12.1f %13.1f %14.1f\n", name, use[0], use[1], use[2], use[3]);
}

static void write_hosts(FILE *f, double makespan_s)
{
	double mean[USES] = { 0 }, most[USES] = { 0 };
	fprintf(f, "%-9s %12s %12s %13s %14s\n", "in use, %", "processors", "disk", "link out",
		"link in");
	for (int i = 0; i < sim.p.hosts; i++) {
		char name[16];
		double use[USES];
		find_use(engine_host(i), makespan_s, use);
		for (int k = 0; k < USES; k++) {
			mean[k] += use[k] / sim.p.hosts;
			most[k] = fmax(most[k], use[k]);
		}
		snprintf(name, sizeof name, "h%d", i);
		if (sim.hosts)
			write_use(f, name, use);
	}
	write_use(f, "mean", mean);
	write_use(f, "most", most);
}

/* Write the report as text. For a refused job, it has only one sentence; for a failed job, it has
 * no tables. */
static void sim_write_text(FILE *f)
{
	const double makespan_s = makespan(), records = (double)sim.records * sim.scale;
	const double memory = (double)sim.mem_bytes * sim.scale; /* as if all memory held records */
	const sim_rates *r = &sim.p.rates;
	double least = INFINITY; /* memory of a host for each of its ranks */
	const scale_windows *w = scale_last_windows();
	fputs(ROLE_SIM_REPORT_MARK, f);
	if (sim.status == ST_REFUSED) {
		fprintf(f, "Refused: nothing was sorted (status %d).\n", sim.status);
		return;
	}
	if (sim.status != ST_OK)
		fprintf(f, "Failed after %.6f simulated seconds (status %d).\n", makespan_s,
			sim.status);
	else
		fprintf(f, "%s %.0f records on %d host%s in %.6f simulated seconds.\n",
			sim.planned ? "Planned a sort of" : "Sorted", records, sim.p.hosts,
			plural((uint64_t)sim.p.hosts), makespan_s);
	fprintf(f, "hosts %d, ranks %d, scale %g, records %" PRIu64 ", simulated %.0f\n",
		sim.p.hosts, sim.p.ranks, sim.scale, sim.records, records);
	fprintf(f, "rates sort %gns merge %gns copy %gns message %gns file %gns\n", 1e9 * r->sort_s,
		1e9 * r->merge_s, 1e9 * r->copy_s, 1e9 * r->message_s, 1e9 * r->file_s);
	fprintf(f, "makespan %.6f s, status %d, events %" PRIu64 "\n", makespan_s, sim.status,
		events_count());
	if (!sim.known)
		return;
	for (int i = 0; i < sim.p.hosts; i++)
		least = fmin(least, (double)sim.p.host[i].mem_bytes / sim.p.host[i].ranks);
	fprintf(f, "memory of a rank %" PRIu64 " bytes, scaled %.0f%s; longest wait %.6f s\n",
		sim.mem_bytes, memory,
		memory > least ? " (more than a host has: a real rank would use its disk)" : "",
		sim.wait_s);
	fprintf(f, "blocks of %.0f bytes, %u in a window%s\n", w->block_bytes, w->blocks,
		w->coarse ? " (a record represents more: a smaller --scale is more exact)" : "");
	fprintf(f, "%-9s %12s %12s %13s %14s %12s %15s\n", "phase", "seconds", "collectives",
		"seconds", "bytes", "messages", "bytes");
	for (int k = 0; k < PHASES; k++) {
		const comm_traffic *t = comm_sim_traffic((phase)k);
		fprintf(f, "%-9s %12.6f %12" PRIu64 " %13.6f %14.0f %12" PRIu64 " %15.0f\n",
			phase_name((phase)k), sim.phase_s[k], t->collectives, t->collective_s,
			t->collective_bytes, t->blocks, t->block_bytes);
	}
	write_hosts(f, makespan_s);
}

/* Write the report as JSON. Return false without memory, or if f cannot be written. */
static bool sim_write_json(FILE *f)
{
	static const char *const name[USES] = { "processors_percent", "disk_percent",
						"link_out_percent", "link_in_percent" };
	const double makespan_s = makespan();
	const scale_windows *w = scale_last_windows();
	json_t *doc = json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:I, s:f, s:f, s:I}", "format",
				"hetsim-report", "version", 1, "status", sim.status, "hosts",
				sim.p.hosts, "ranks", sim.p.ranks, "scale", sim.scale, "records",
				(json_int_t)sim.records, "simulated_records",
				(double)sim.records * sim.scale, "makespan_s", makespan_s, "events",
				(json_int_t)events_count());
	bool made = doc != NULL;
	if (made && sim.known) {
		json_t *phases = json_object();
		for (int k = 0; k < PHASES; k++) {
			const comm_traffic *t = comm_sim_traffic((phase)k);
			json_t *one = json_pack(
				"{s:f, s:I, s:f, s:f, s:I, s:f}", "seconds", sim.phase_s[k],
				"collectives", (json_int_t)t->collectives, "collective_seconds",
				t->collective_s, "collective_bytes", t->collective_bytes,
				"messages", (json_int_t)t->blocks, "message_bytes", t->block_bytes);
			json_object_set_new(phases, phase_name((phase)k), one);
		}
		json_t *known = json_pack("{s:I, s:f, s:f, s:I, s:o}", "rank_memory_bytes",
					  (json_int_t)sim.mem_bytes, "longest_wait_s", sim.wait_s,
					  "block_bytes", w->block_bytes, "window_blocks",
					  (json_int_t)w->blocks, "phases", phases);
		made = json_object_update(doc, known) == 0;
		json_decref(known);
	}
	if (made && sim.known && sim.hosts) {
		json_t *hosts = json_array();
		for (int i = 0; i < sim.p.hosts; i++) {
			double use[USES];
			find_use(engine_host(i), makespan_s, use);
			json_t *one = json_object();
			for (int k = 0; k < USES; k++)
				json_object_set_new(one, name[k], json_real(use[k]));
			json_array_append_new(hosts, one);
		}
		made = json_object_set_new(doc, "use", hosts) == 0;
	}
	made = made && json_dumpf(doc, f, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 &&
	       fputc('\n', f) != EOF;
	json_decref(doc);
	return made;
}

static status write_report(err *e)
{
	char *text = NULL;
	size_t bytes = 0;
	progress_join(NULL); /* ranks that count bytes may have ended */
	FILE *f = open_memstream(&text, &bytes);
	bool whole = f != NULL;
	if (f && sim.json)
		whole = sim_write_json(f);
	else if (f)
		sim_write_text(f);
	if (f)
		whole = !ferror(f) && fclose(f) == 0 && whole;
	const status rc =
		!whole       ? err_set(e, ST_RESOURCE, "no memory for the report")
		: !sim.spare ? text_write_role(ROLE_SIM_REPORT, sim.report, text, bytes, false, e)
			     : ST_OK;
	free(text);
	return rc;
}

/* --------------------------------------------------------------------------- platforms, as XML
 *
 * The messages of SimGrid have no headers, so the bandwidth of its links is reduced by the share of
 * the headers. Each host has its own link in each direction, with half of its latency. A switch is
 * a backbone that all messages share. SimGrid's disks and memory are not used. */

static double without_headers(double bytes_per_s)
{
	return bytes_per_s * NETWORK_PACKET_BYTES / network_bytes(NETWORK_PACKET_BYTES);
}

static status print_xml(err *e)
{
	if (sim.p.changes)
		return err_set(
			e, ST_REFUSED,
			"--xml does not support hosts that change: remove the lines with 'at'");
	printf("<?xml version='1.0'?>\n"
	       "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
	       "<platform version=\"4.1\">\n<zone id=\"cluster\" routing=\"Cluster\">\n");
	for (int i = 0; i < sim.p.hosts; i++) {
		const sim_host *h = &sim.p.host[i];
		printf("<host id=\"h%d\" speed=\"%.12gf\" core=\"%u\"", i, h->speed * 1e9,
		       h->cores);
		if (h->ranks > 1)
			printf("><prop id=\"ranks\" value=\"%u\"/></host>\n", h->ranks);
		else
			printf("/>\n");
		printf("<link id=\"l%d\" bandwidth=\"%.12gBps\" latency=\"%.12gs\" "
		       "sharing_policy=\"SPLITDUPLEX\"/>\n",
		       i, without_headers(h->net_bytes_per_s), h->latency_s / 2);
		printf("<host_link id=\"h%d\" up=\"l%d_UP\" down=\"l%d_DOWN\"/>\n", i, i, i);
	}
	if (isfinite(sim.p.switch_bytes_per_s))
		printf("<backbone id=\"switch\" bandwidth=\"%.12gBps\" latency=\"0s\"/>\n",
		       without_headers(sim.p.switch_bytes_per_s));
	printf("</zone>\n</platform>\n");
	if (fflush(stdout) != 0 || ferror(stdout))
		return err_set(e, ST_IO, "cannot write the platform");
	return ST_OK;
}

/* ------------------------------------------------------------------------------------ program */

static const char help[] =
	"Usage: hetsim [OPTION]... PLATFORM HETSORT-ARGUMENT...\n"
	"Sort records as hetsort does, on the simulated cluster that the file PLATFORM\n"
	"describes, and report the simulated time.\n\n"
	"  -s, --scale=S      let each record represent S records [1]\n"
	"  -r, --report=FILE  write the report to FILE [standard output]\n"
	"      --hosts        add a line for each host to the report\n"
	"      --json         write the report as a JSON object\n"
	"      --calibrate    measure this machine's processor, print its rates as a line\n"
	"                     of a platform, and exit\n"
	"      --xml          print PLATFORM in the format of SimGrid, and exit\n"
	"  -h, --help         print this\n"
	"      --version      print the version\n"
	"Exit status: the exit status of hetsort.";

/* Parse the options before the platform's name. Those after it are for hetsort. */
static status sim_parse_options(int argc, char **argv, err *e)
{
	static const struct option longs[] = { { "scale", required_argument, NULL, 's' },
					       { "report", required_argument, NULL, 'r' },
					       { "hosts", no_argument, &sim.hosts, 1 },
					       { "json", no_argument, &sim.json, 1 },
					       { "calibrate", no_argument, &sim.calibrate, 1 },
					       { "xml", no_argument, &sim.xml, 1 },
					       { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, 'v' },
					       { NULL, 0, NULL, 0 } };
	uint64_t whole;
	uint32_t millionths;
	status rc = ST_OK;
	opterr = 0;
	for (int opt;
	     rc == ST_OK && (opt = getopt_long(argc, argv, "+:s:r:h", longs, NULL)) != -1;) {
		if (opt == 's') {
			const char *rest = optarg;
			if (!size_number(&rest, &whole, &millionths) || *rest || whole == 0 ||
			    whole > 1000000000)
				rc = err_set(
					e, ST_REFUSED,
					"--scale must be a number from 1 to 1000000000, not %s",
					quoted(optarg));
			else
				sim.scale = (double)whole + 1e-6 * millionths;
		} else if (opt == 'r') {
			sim.report = optarg;
		} else if (opt == '?' || opt == ':') {
			rc = bad_option(argv[optind - 1], opt == ':', longs, e);
			text_append(e->text, sizeof e->text, "; see 'hetsim --help'");
		} else if (opt) {
			puts(opt == 'h' ? help
					: "hetsim " HETSORT_VERSION
					  "\nLicense GPLv3+: GNU GPL version 3 or later.");
			if (fflush(stdout) == 0 && !ferror(stdout))
				exit(ST_OK);
			rc = err_set(e, ST_IO, "cannot write to standard output");
		}
	}
	if (rc == ST_OK && !sim.calibrate && optind == argc)
		rc = err_set(e, ST_REFUSED, "PLATFORM is missing: see 'hetsim --help'");
	return rc;
}

static status sim_calibrate(err *e)
{
	enum { SECONDS = 1, STREAMS = 16 }; /* streams of the measured merge */
	const settings o = { .lay = LAYOUT_BYTES(DEFAULT_RECORD_BYTES, 0, DEFAULT_KEY_BYTES) };
	rank_env env = { .o = &o };
	calibration *c;
	const status rc = calibrate_open(&c, &env, 1, STREAMS, UINT64_MAX);
	*e = env.e;
	if (rc == ST_OK) {
		const rates r = calibrate_run(c, SECONDS).rate;
		printf("rates sort %.6fns merge %.6fns copy %.6fns file %.6fns\n", 1e9 * r.sort_s,
		       1e9 * r.merge_s, 1e9 * r.copy_s, 1e9 * r.file_s);
	}
	calibrate_free(c);
	return rc;
}

static int sim_exit_status(int code, const err *e)
{
	if (e->code == ST_OK)
		return code;
	fprintf(stderr, "hetsim: %s\n", e->text);
	return code ? code : (int)e->code;
}

/* Write a report before a rank ends the program. */
static void report_end(int code)
{
	err e = { ST_OK, "" };
	sim.status = code;
	if (sim.ran)
		(void)write_report(&e);
	(void)sim_exit_status(code, &e);
}

WRAPPED(status, job_execute, comm *c, const settings *o, job_result *res)
{
	sim.ran = true;
	sim.planned = o->explain;
	scale_records(o->lay.record_bytes);
	const status rc = __real_job_execute(c, o, res);
	if (c->rank != 0)
		return rc;
	sim.spare = res->late_refused;
	sim.records = res->records;
	sim.known = res->rank != NULL && res->status == ST_OK;
	for (int i = 0; res->rank && i < res->size; i++) {
		const rank_result *r = &res->rank[i];
		for (int k = 0; k < PHASES; k++)
			sim.phase_s[k] = fmax(sim.phase_s[k], r->phase_s[k]);
		sim.wait_s = fmax(sim.wait_s, r->wait_s);
		if (r->mem_peak_bytes > sim.mem_bytes)
			sim.mem_bytes = r->mem_peak_bytes;
	}
	scale_result(res);
	return rc;
}

WRAPPED(void, job_result_kept, job_result *res)
{
	__real_job_result_kept(res);
	if (!actor_self())
		res->total_s = engine_now_s();
	scale_result(res);
}

/* Add the files of hetsim to the files of the job, so that hetsort does not overwrite them. */
WRAPPED(status, options_parse, settings *o, int argc, char **argv, err *e)
{
	const status rc = __real_options_parse(o, argc, argv, e);
	o->sim_platform = sim.platform;
	o->sim_report = sim.report;
	return rc;
}

/* Parse the options of hetsim and open the platform. Set sim.platform if a sort is to follow. */
static status sim_prepare(int argc, char **argv, err *e)
{
	status rc = sim_parse_options(argc, argv, e);
	if (rc != ST_OK)
		return rc;
	if (sim.calibrate)
		return sim_calibrate(e);
	rc = platform_load(&sim.p, argv[optind], e);
	if (rc == ST_OK && sim.xml)
		return print_xml(e);
	if (rc == ST_OK)
		rc = scale_open(&sim.p, sim.scale, e);
	sim.platform = rc == ST_OK ? argv[optind] : NULL;
	return rc;
}

WRAPPED(int, main, int argc, char **argv)
{
	static char name[] = "hetsort"; /* replaces the platform */
	err e = { ST_OK, "" };
	/* no huge pages: each of thousands of ranks touches only a little of its large arrays */
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	comm_sim_at_end(report_end);
	int code = sim_prepare(argc, argv, &e);
	if (sim.platform) {
		argc -= optind;
		argv += optind;
		argv[0] = name;
		optind = 0; /* hetsort parses from its first argument */
		code = sim.status = __real_main(argc, argv);
	}
	if (sim.ran || code == ST_PEER) /* even if ranks failed before they began the job */
		(void)write_report(&e);
	platform_free(&sim.p);
	return sim_exit_status(code, &e);
}

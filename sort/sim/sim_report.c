/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report has simulated times and counts only, no real time and no process number, so that equal
 * simulations have equal reports. */
#include "sim_report.h"
#include "base/size.h"
#include "comm_sim.h"
#include "engine.h"
#include "io/file.h"
#include "network.h"
#include "scale.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

void sim_report_take(sim_outcome *o, const job_result *res)
{
	o->records = res->records;
	o->known = res->rank != NULL && res->status == ST_OK;
	for (int i = 0; res->rank && i < res->size; i++) {
		const rank_result *r = &res->rank[i];
		for (int k = 0; k < PHASES; k++)
			o->phase_s[k] = fmax(o->phase_s[k], r->phase_s[k]);
		o->wait_s = fmax(o->wait_s, r->wait_s);
		if (r->mem_peak_bytes > o->mem_bytes)
			o->mem_bytes = r->mem_peak_bytes;
	}
}

static void write_phases(FILE *f, const sim_outcome *o)
{
	fprintf(f, "%-9s %12s %12s %13s %14s %12s %15s\n", "phase", "seconds", "collectives",
		"seconds", "bytes", "messages", "bytes");
	for (int k = 0; k < PHASES; k++) {
		const comm_traffic *t = comm_sim_traffic((phase)k);
		fprintf(f, "%-9s %12.6f %12" PRIu64 " %13.6f %14.0f %12" PRIu64 " %15.0f\n",
			phase_name((phase)k), o->phase_s[k], t->collectives, t->collective_s,
			t->collective_bytes, t->blocks, t->block_bytes);
	}
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Of a host's processors, its disk and its link out and in, so many percent were in use. */
enum { USES = 4 };

typedef struct use {
	double of[USES];
} use;

static use use_of(const host *h, double makespan_s)
{
	return (use){ { percent(h->busy_s, makespan_s * h->is.cores),
			percent(h->disk_s, makespan_s), percent(h->out_s, makespan_s),
			percent(h->in_s, makespan_s) } };
}

static void write_use(FILE *f, const char *name, const use *u)
{
	fprintf(f, "%-9s %12.1f %12.1f %13.1f %14.1f\n", name, u->of[0], u->of[1], u->of[2],
		u->of[3]);
}

static void write_hosts(FILE *f, double makespan_s, bool each)
{
	const int hosts = engine_platform()->hosts;
	use mean = { { 0 } }, most = mean;
	fprintf(f, "%-9s %12s %12s %13s %14s\n", "in use, %", "processors", "disk", "link out",
		"link in");
	for (int i = 0; i < hosts; i++) {
		char name[16];
		const use u = use_of(engine_host(i), makespan_s);
		for (int k = 0; k < USES; k++) {
			mean.of[k] += u.of[k] / hosts;
			most.of[k] = fmax(most.of[k], u.of[k]);
		}
		snprintf(name, sizeof name, "h%d", i);
		if (each)
			write_use(f, name, &u);
	}
	write_use(f, "mean", &mean);
	write_use(f, "most", &most);
}

/* Scaled, as if all of it were records. */
static void write_memory(FILE *f, const platform *p, const sim_outcome *o)
{
	const double scaled = (double)o->mem_bytes * o->scale;
	double least = INFINITY;
	for (int i = 0; i < p->hosts; i++)
		least = fmin(least, (double)p->host[i].mem_bytes);
	fprintf(f, "memory of a rank %" PRIu64 " bytes, scaled %.0f%s; longest wait %.6f s\n",
		o->mem_bytes, scaled,
		scaled > least ? " (more than a host has: a real rank would use its disk)" : "",
		o->wait_s);
}

static void write_windows(FILE *f)
{
	const scale_windows *w = scale_last_windows();
	fprintf(f, "blocks of %.0f bytes, %u in a window%s\n", w->block_bytes, w->blocks,
		w->coarse ? " (a record stands for more: a smaller --scale is more exact)" : "");
}

/* When the last thread has ended, and the last disk written. */
static double makespan(void)
{
	double s = engine_now_s();
	for (int i = 0; i < engine_platform()->hosts; i++)
		if (isfinite(engine_host(i)->disk_free_s))
			s = fmax(s, engine_host(i)->disk_free_s);
	return s;
}

void sim_report_write(FILE *f, const sim_outcome *o)
{
	const platform *p = engine_platform();
	const double makespan_s = makespan(), records = (double)o->records * o->scale;
	const sim_rates *r = &p->rates;
	fputs(ROLE_SIM_REPORT_MARK, f);
	if (o->status == ST_REFUSED) {
		fprintf(f, "Refused: nothing was sorted (status %d).\n", o->status);
		return;
	}
	if (o->status != ST_OK)
		fprintf(f, "Failed after %.6f simulated seconds (status %d).\n", makespan_s,
			o->status);
	else
		fprintf(f, "%s %.0f records on %d host%s in %.6f simulated seconds.\n",
			o->planned ? "Planned a sort of" : "Sorted", records, p->hosts,
			plural((uint64_t)p->hosts), makespan_s);
	fprintf(f, "hosts %d, scale %g, records %" PRIu64 ", simulated %.0f\n", p->hosts, o->scale,
		o->records, records);
	fprintf(f, "rates sort %gns merge %gns copy %gns message %gns test %gns\n", 1e9 * r->sort_s,
		1e9 * r->merge_s, 1e9 * r->copy_s, 1e9 * r->message_s, 1e9 * r->test_s);
	fprintf(f, "makespan %.6f s, status %d, events %" PRIu64 "\n", makespan_s, o->status,
		events_count());
	if (!o->known)
		return;
	write_memory(f, p, o);
	write_windows(f);
	write_phases(f, o);
	write_hosts(f, makespan_s, o->hosts);
}

/* ------------------------------------------------------------------------------------ as JSON */

static json_t *phases_json(const sim_outcome *o)
{
	json_t *all = json_object();
	for (int k = 0; k < PHASES; k++) {
		const comm_traffic *t = comm_sim_traffic((phase)k);
		json_object_set_new(
			all, phase_name((phase)k),
			json_pack("{s:f, s:I, s:f, s:f, s:I, s:f}", "seconds", o->phase_s[k],
				  "collectives", (json_int_t)t->collectives, "collective_seconds",
				  t->collective_s, "collective_bytes", t->collective_bytes,
				  "messages", (json_int_t)t->blocks, "message_bytes",
				  t->block_bytes));
	}
	return all;
}

static json_t *hosts_json(double makespan_s)
{
	static const char *const name[USES] = { "processors_percent", "disk_percent",
						"link_out_percent", "link_in_percent" };
	json_t *all = json_array();
	for (int i = 0; i < engine_platform()->hosts; i++) {
		const use u = use_of(engine_host(i), makespan_s);
		json_t *one = json_object();
		for (int k = 0; k < USES; k++)
			json_object_set_new(one, name[k], json_real(u.of[k]));
		json_array_append_new(all, one);
	}
	return all;
}

status sim_report_json(FILE *f, const sim_outcome *o)
{
	const double makespan_s = makespan();
	const scale_windows *w = scale_last_windows();
	json_t *doc = json_pack("{s:s, s:i, s:i, s:i, s:f, s:I, s:f, s:f, s:I}", "format",
				"hetsim-report", "version", 1, "status", o->status, "hosts",
				engine_platform()->hosts, "scale", o->scale, "records",
				(json_int_t)o->records, "simulated_records",
				(double)o->records * o->scale, "makespan_s", makespan_s, "events",
				(json_int_t)events_count());
	json_t *known = o->known ? json_pack("{s:I, s:f, s:f, s:I, s:o}", "rank_memory_bytes",
					     (json_int_t)o->mem_bytes, "longest_wait_s", o->wait_s,
					     "block_bytes", w->block_bytes, "window_blocks",
					     (json_int_t)w->blocks, "phases", phases_json(o))
				 : json_object();
	bool made = doc && known && json_object_update(doc, known) == 0;
	if (made && o->known && o->hosts)
		made = json_object_set_new(doc, "use", hosts_json(makespan_s)) == 0;
	made = made && json_dumpf(doc, f, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 &&
	       fputc('\n', f) != EOF;
	json_decref(known);
	json_decref(doc);
	return made ? ST_OK : ST_RESOURCE;
}

/* --------------------------------------------------------------------------- platforms, as XML
 *
 * SimGrid's messages have no headers, so its links have what these leave of them. Each host has a
 * link of its own for each direction, which gives half of its latency; a switch is a backbone that
 * all messages share. SimGrid's disks and memory are not used. */

static double for_messages(double bytes_per_s)
{
	return bytes_per_s * NETWORK_PACKET_BYTES / network_bytes(NETWORK_PACKET_BYTES);
}

static void write_host(FILE *f, int i, const sim_host *h)
{
	fprintf(f, "<host id=\"h%d\" speed=\"%.12gf\" core=\"%u\"/>\n", i,
		h->speed * PLATFORM_XML_OPS, h->cores);
	fprintf(f,
		"<link id=\"l%d\" bandwidth=\"%.12gBps\" latency=\"%.12gs\" "
		"sharing_policy=\"SPLITDUPLEX\"/>\n",
		i, for_messages(h->net_bytes_per_s), h->latency_s / 2);
	fprintf(f, "<host_link id=\"h%d\" up=\"l%d_UP\" down=\"l%d_DOWN\"/>\n", i, i, i);
}

status sim_report_xml(FILE *f, const platform *p, err *e)
{
	if (p->changes)
		return err_set(e, ST_REFUSED, "SimGrid gets no hosts that change at a time");
	fprintf(f, "<?xml version='1.0'?>\n"
		   "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
		   "<platform version=\"4.1\">\n<zone id=\"cluster\" routing=\"Cluster\">\n");
	for (int i = 0; i < p->hosts; i++)
		write_host(f, i, &p->host[i]);
	if (isfinite(p->switch_bytes_per_s))
		fprintf(f, "<backbone id=\"switch\" bandwidth=\"%.12gBps\" latency=\"0s\"/>\n",
			for_messages(p->switch_bytes_per_s));
	fprintf(f, "</zone>\n</platform>\n");
	return ST_OK;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Only what is simulated, or counted: no real time, no process number. */
#include "sim_report.h"
#include "comm_sim.h"
#include "engine.h"
#include "scale.h"

#include <inttypes.h>
#include <math.h>

void sim_report_take(sim_outcome *o, const job_result *res)
{
	o->records = res->records;
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

/* Of a host's processors, disk and link, so many percent were in use. */
typedef struct use {
	double cpus, disk, out, in;
} use;

static use use_of(const host *h, double makespan_s)
{
	return (use){ percent(h->busy_s, makespan_s * h->is.cores), percent(h->disk_s, makespan_s),
		      percent(h->out_s, makespan_s), percent(h->in_s, makespan_s) };
}

static void write_use(FILE *f, const char *name, const use *u)
{
	fprintf(f, "%-9s %12.1f %12.1f %13.1f %14.1f\n", name, u->cpus, u->disk, u->out, u->in);
}

static void write_hosts(FILE *f, const platform *p, double makespan_s, bool each)
{
	use mean = { 0, 0, 0, 0 }, most = mean;
	fprintf(f, "%-9s %12s %12s %13s %14s\n", "in use, %", "processors", "disk", "link out",
		"link in");
	for (int i = 0; i < p->hosts; i++) {
		char name[16];
		const use u = use_of(engine_host(i), makespan_s);
		mean.cpus += u.cpus / p->hosts;
		mean.disk += u.disk / p->hosts;
		mean.out += u.out / p->hosts;
		mean.in += u.in / p->hosts;
		most = (use){ fmax(most.cpus, u.cpus), fmax(most.disk, u.disk),
			      fmax(most.out, u.out), fmax(most.in, u.in) };
		snprintf(name, sizeof name, "h%d", i);
		if (each)
			write_use(f, name, &u);
	}
	write_use(f, "mean", &mean);
	write_use(f, "most", &most);
}

/* Scaled, as if all of it were records. */
static void write_memory(FILE *f, const platform *p, double scale, const sim_outcome *o)
{
	const double scaled = (double)o->mem_bytes * scale;
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

/* The last thread has ended, and the last disk written. */
static double makespan(const platform *p)
{
	double s = engine_now_s();
	for (int i = 0; i < p->hosts; i++)
		if (isfinite(engine_host(i)->disk_free_s))
			s = fmax(s, engine_host(i)->disk_free_s);
	return s;
}

void sim_report_write(FILE *f, const platform *p, double scale, const sim_outcome *o, bool hosts)
{
	const double makespan_s = makespan(p);
	const sim_rates *r = &p->rates;
	fprintf(f, "hosts %d, scale %g, records %" PRIu64 ", simulated %.0f\n", p->hosts, scale,
		o->records, (double)o->records * scale);
	fprintf(f, "rates sort %gns merge %gns copy %gns message %gns test %gns\n", 1e9 * r->sort_s,
		1e9 * r->merge_s, 1e9 * r->copy_s, 1e9 * r->message_s, 1e9 * r->test_s);
	fprintf(f, "makespan %.6f s, status %d, events %" PRIu64 "\n", makespan_s, o->status,
		events_count());
	write_memory(f, p, scale, o);
	write_windows(f);
	write_phases(f, o);
	write_hosts(f, p, makespan_s, hosts);
}

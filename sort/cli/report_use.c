/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resources that a job has used, and which of them limited its speed. Ranks may share a process
 * and a host, which are counted once. */
#include "report.h"

#include <math.h>
#include <string.h>

/* A job that uses at least this part of its processors is bound by them. */
static const double BUSY = 0.8;

/* Memory is the bound if page faults take this part of the processor time. */
static const double FAULTS_PART = 0.5;

static bool same_process(const rank_result *a, const rank_result *b)
{
	return a->pid == b->pid && strcmp(a->host, b->host) == 0;
}

static double core_s(const rank_result *k)
{
	return k->used.user_s + k->used.system_s;
}

static double waited_s(const rank_result *k)
{
	double s = 0;
	for (int i = 0; i < k->spans; i++)
		s += k->span[i].wait_s;
	return s;
}

/* Return the part of the processors that the process of rank k used. */
static double busy_part(const job_result *r, const rank_result *k)
{
	double processors = 0;
	for (int i = 0; i < r->size; i++)
		processors += same_process(&r->rank[i], k) ? r->rank[i].cpus : 0;
	return processors * r->total_s > 0 ? core_s(k) / (processors * r->total_s) : 0;
}

/* Find the bound of the rank that waited least for others: they waited for this one. It worked,
 * waited for blocks of other hosts, or else for its files. */
static const char *bound_of(const job_result *r, const report_use *u)
{
	const rank_result *k = &r->rank[0];
	bool hosts = false;
	for (int i = 1; i < r->size; i++) {
		hosts |= strcmp(r->rank[i].host, r->rank[0].host) != 0;
		k = waited_s(&r->rank[i]) < waited_s(k) ? &r->rank[i] : k;
	}
	const double busy = busy_part(r, k);
	const double waited = r->total_s > 0 ? waited_s(k) / r->total_s : 0;
	if (busy < BUSY && hosts && waited >= 1 - busy - waited)
		return "network";
	if (busy < BUSY && k->used.disk_bytes > 0)
		return "disk";
	return u->fault_s >= FAULTS_PART * u->core_s ? "memory" : "processor";
}

report_use report_use_of(const job_result *r, const settings *o)
{
	const double gb = 1e-9 * (double)r->records * o->lay.record_bytes;
	report_use u = { .joules = -1, .bound = "" };
	int hosts = 0, metered = 0;
	double joules = 0;
	for (int i = 0; r->rank && i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		bool new_process = true, new_host = true;
		for (int n = 0; n < i && (new_process || new_host); n++) {
			new_process = new_process && !same_process(&r->rank[n], k);
			new_host = new_host && strcmp(r->rank[n].host, k->host) != 0;
		}
		u.processors += k->cpus;
		u.core_s += new_process ? core_s(k) : 0;
		u.faults += new_process ? k->used.minor_faults : 0;
		u.fault_s += new_process ? k->used.fault_s * (double)k->used.minor_faults : 0;
		hosts += new_host;
		metered += new_host && k->used.joules >= 0;
		joules += new_host && k->used.joules >= 0 ? k->used.joules : 0;
	}
	if (hosts > 0 && hosts == metered)
		u.joules = joules;
	if (gb > 0) {
		u.core_s_per_gb = u.core_s / gb;
		u.joules_per_gb = u.joules >= 0 ? u.joules / gb : -1;
	}
	if (u.processors * r->total_s > 0)
		u.busy = fmin(u.core_s / (u.processors * r->total_s), 1);
	if (r->rank)
		u.bound = bound_of(r, &u);
	return u;
}

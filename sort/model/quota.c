/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quotas of one control group after the other, and what they mean for ranks. */
#include "quota.h"
#include "base/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

/* In microseconds: version 2 has "QUOTA PERIOD" in one line, version 1 files for each; without a
 * quota they say "max" and -1. */
static double cpus_of(const cgroup_level *l)
{
	char said[24];
	const uint64_t us = l->v2 ? cgroup_value(l, "cpu.max", "", 0)
				  : cgroup_value(l, "cpu.cfs_quota_us", "", 0);
	snprintf(said, sizeof said, "%" PRIu64, us);
	const uint64_t period_us = l->v2 ? cgroup_value(l, "cpu.max", said, 0)
					 : cgroup_value(l, "cpu.cfs_period_us", "", 0);
	return period_us ? (double)us / (double)period_us : 0;
}

static bool tighten(void *found, const cgroup_level *l)
{
	quota *q = found;
	const double cpus = cpus_of(l);
	char dir[2 * PATH_MAX];
	struct stat s;
	if (!(cpus > 0) || (q->cpus > 0 && q->cpus <= cpus))
		return true;
	const int n = snprintf(dir, sizeof dir, "%s%s", l->root, l->dir);
	if (n > 0 && (size_t)n < sizeof dir && stat(dir, &s) == 0)
		*q = (quota){ cpus, s.st_ino, cgroup_value(l, "cpu.stat", "nr_throttled", 0) };
	return true;
}

quota quota_find(const char *root)
{
	quota q = { 0, 0, 0 };
	cgroup_walk(root, "cpu", tighten, &q);
	return q;
}

double quota_processors(const quota *q, double all, unsigned ranks)
{
	return (q->cpus > 0 && q->cpus < all ? q->cpus : all) / ranks;
}

double quota_slowdown(const allowance *a, size_t p, size_t i)
{
	double got = 0;
	bool waited = false;
	if (!(a[i].quota_cpus > 0))
		return 1;
	for (size_t k = 0; k < p; k++)
		if (a[k].quota_cpus > 0 && a[k].group == a[i].group) {
			got += a[k].got_cpus;
			waited |= a[k].waits > 0;
		}
	const double slowdown = got / a[i].quota_cpus;
	return (waited || slowdown > 1) && slowdown > 0 && isfinite(slowdown) ? slowdown : 1;
}

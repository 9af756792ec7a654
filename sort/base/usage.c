/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processor time and page faults of the process come from getrusage. Energy of the host comes from
 * counters of the kernel: RAPL of Intel and newer AMD processors (powercap), or the driver
 * amd_energy. Usually only root can read these. Otherwise the cost is two failed calls of open. */
#include "usage.h"
#include "clock.h"
#include "sysfile.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum {
	TRIAL_PAGES = 256, /* used to measure the time of a fault if there were MANY_FAULTS */
	PAGE_BYTES = 4096,
	MANY_FAULTS = 16384,
	DISK_BLOCK_BYTES = 512
};

/* The ends of the paths of a meter's files, for its name, its energy and its largest energy.
 * most_uj is NULL if the counter does not wrap around. */
typedef struct meter_files {
	const char *name, *uj, *most_uj;
} meter_files;

/* Add the meter whose files begin with `base`, if its name begins with `name`. Return whether its
 * name exists and is not empty. */
static bool usage_add_meter(energy_meters *m, const char *root, const char *base,
			    const meter_files *of, const char *name)
{
	char is[64], path[128];
	uint64_t uj, most = UINT64_MAX;
	(void)snprintf(path, sizeof path, "%s%s", base, of->name);
	sysfile_text(root, path, "", is, sizeof is);
	if (strncmp(is, name, strlen(name)) != 0 || m->meters == USAGE_METERS)
		return is[0];
	(void)snprintf(path, sizeof path, "%s%s", base, of->most_uj ? of->most_uj : "");
	if (of->most_uj)
		(void)sysfile_number(root, path, "", &most);
	(void)snprintf(path, sizeof path, "%s%s", base, of->uj);
	if (sysfile_number(root, path, "", &uj)) {
		m->uj[m->meters] = uj;
		m->most_uj[m->meters++] = most;
	}
	return true;
}

/* Read the RAPL meters of packages and of their memory, which the meter of a package does not
 * include. Skip a zone of the whole platform, because it includes packages. */
static void usage_read_rapl(energy_meters *m, const char *root)
{
	static const meter_files zone = { "/name", "/energy_uj", "/max_energy_range_uj" };
	char base[64];
	for (int i = 0; i < USAGE_METERS; i++) {
		(void)snprintf(base, sizeof base, "/sys/class/powercap/intel-rapl:%d", i);
		if (!usage_add_meter(m, root, base, &zone, "package"))
			return;
		for (int part = 0; part < USAGE_METERS; part++) {
			(void)snprintf(base, sizeof base, "/sys/class/powercap/intel-rapl:%d:%d", i,
				       part);
			if (!usage_add_meter(m, root, base, &zone, "dram"))
				break;
		}
	}
}

/* Read the meters of the sockets from the driver amd_energy. */
static void usage_read_amd(energy_meters *m, const char *root)
{
	static const meter_files sensor = { "_label", "_input", NULL };
	char path[64], is[64];
	for (int i = 0; i < USAGE_METERS; i++) {
		(void)snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/name", i);
		sysfile_text(root, path, "", is, sizeof is);
		if (!is[0])
			return;
		for (int k = 1; strcmp(is, "amd_energy") == 0 && k > 0; k++) {
			(void)snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/energy%d", i,
				       k);
			if (!usage_add_meter(m, root, path, &sensor, "Esocket"))
				break;
		}
	}
}

usage_moment usage_now(const char *root)
{
	struct rusage u;
	usage_moment m = { .user_s = 0 };
	if (getrusage(RUSAGE_SELF, &u) == 0) {
		m.user_s = (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec;
		m.system_s = (double)u.ru_stime.tv_sec + 1e-6 * (double)u.ru_stime.tv_usec;
		m.minor_faults = (uint64_t)u.ru_minflt;
		m.disk_bytes = (uint64_t)(u.ru_inblock + u.ru_oublock) * DISK_BLOCK_BYTES;
	}
	usage_read_rapl(&m.energy, root);
	if (m.energy.meters == 0)
		usage_read_amd(&m.energy, root);
	return m;
}

/* Measure the time of a page fault in fresh memory; return 0 without memory. */
static double usage_fault_s(void)
{
	const size_t bytes = (size_t)TRIAL_PAGES * PAGE_BYTES;
	volatile unsigned char *p =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 0;
	(void)madvise((void *)p, bytes, MADV_NOHUGEPAGE);
	const double t0 = now_s();
	for (size_t at = 0; at < bytes; at += PAGE_BYTES)
		p[at] = 1;
	const double s = now_s() - t0;
	munmap((void *)p, bytes);
	return s / TRIAL_PAGES;
}

usage usage_since(const usage_moment *begun, const char *root)
{
	const usage_moment now = usage_now(root);
	const energy_meters *old = &begun->energy, *m = &now.energy;
	usage u = { .user_s = now.user_s - begun->user_s,
		    .system_s = now.system_s - begun->system_s,
		    .minor_faults = now.minor_faults - begun->minor_faults,
		    .disk_bytes = now.disk_bytes - begun->disk_bytes };
	if (u.minor_faults >= MANY_FAULTS)
		u.fault_s = usage_fault_s();
	double uj = 0;
	for (uint32_t i = 0; i < m->meters; i++)
		uj += m->uj[i] >= old->uj[i]
			      ? (double)(m->uj[i] - old->uj[i])
			      : (double)(m->most_uj[i] - old->uj[i]) + (double)m->uj[i];
	u.joules = m->meters && m->meters == old->meters ? 1e-6 * uj : -1;
	return u;
}

double usage_runnable_s(void)
{
	char text[80];
	uint64_t waited_ns = 0;
	struct timespec t = { 0, 0 };
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	sysfile_text("", "/proc/thread-self/schedstat", "", text, sizeof text);
	(void)sscanf(text, "%*u %" SCNu64, &waited_ns);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec + 1e-9 * (double)waited_ns;
}

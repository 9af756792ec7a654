/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processor time and page faults of the process come from getrusage. Energy of the host comes from
 * counters of the kernel: RAPL of Intel and newer AMD processors (powercap), or the driver
 * amd_energy. Usually only root can read them. Without them, two calls of open fail. */
#include "usage.h"
#include "clock.h"
#include "sysfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
	TRIAL_PAGES = 256, /* to measure the time of a fault, after MANY_FAULTS faults */
	PAGE_BYTES = 4096,
	MANY_FAULTS = 16384,
	DISK_BLOCK_BYTES = 512
};

/* Add the meter of a file, if the text in name_file begins with `name`. Return whether name_file
 * exists and is not empty. */
static bool usage_add_meter(energy_meters *m, const char *root, const char *name_file,
			    const char *name, const char *file, const char *most_file)
{
	char is[64];
	uint64_t uj, most = UINT64_MAX; /* does not wrap around */
	sysfile_text(root, name_file, "", is, sizeof is);
	if (strncmp(is, name, strlen(name)) != 0 || m->meters == USAGE_METERS)
		return is[0];
	if (most_file)
		(void)sysfile_number(root, most_file, "", &most);
	if (sysfile_number(root, file, "", &uj)) {
		m->uj[m->meters] = uj;
		m->most_uj[m->meters++] = most;
	}
	return true;
}

/* Add the meter of a RAPL zone, like usage_add_meter. */
static bool usage_add_zone(energy_meters *m, const char *root, const char *zone, const char *name)
{
	char name_file[96], uj[96], most[96];
	(void)snprintf(name_file, sizeof name_file, "%s/name", zone);
	(void)snprintf(uj, sizeof uj, "%s/energy_uj", zone);
	(void)snprintf(most, sizeof most, "%s/max_energy_range_uj", zone);
	return usage_add_meter(m, root, name_file, name, uj, most);
}

/* Read the meters of RAPL: packages, and their memory, which is the only part of a package that the
 * meter of the package does not count. A zone of the whole platform includes packages, so skip it.
 */
static void usage_read_rapl(energy_meters *m, const char *root)
{
	char zone[64];
	for (int i = 0; i < USAGE_METERS; i++) {
		(void)snprintf(zone, sizeof zone, "/sys/class/powercap/intel-rapl:%d", i);
		if (!usage_add_zone(m, root, zone, "package"))
			return;
		for (int part = 0; part < USAGE_METERS; part++) {
			(void)snprintf(zone, sizeof zone, "/sys/class/powercap/intel-rapl:%d:%d", i,
				       part);
			if (!usage_add_zone(m, root, zone, "dram"))
				break;
		}
	}
}

/* Read the meters of the sockets from the driver amd_energy. */
static void usage_read_amd(energy_meters *m, const char *root)
{
	char dir[64], name[96], label[96], uj[96];
	for (int i = 0; i < USAGE_METERS; i++) {
		char is[64];
		(void)snprintf(dir, sizeof dir, "/sys/class/hwmon/hwmon%d", i);
		(void)snprintf(name, sizeof name, "%s/name", dir);
		sysfile_text(root, name, "", is, sizeof is);
		if (!is[0])
			return;
		for (int k = 1; strcmp(is, "amd_energy") == 0 && k > 0; k++) {
			(void)snprintf(label, sizeof label, "%s/energy%d_label", dir, k);
			(void)snprintf(uj, sizeof uj, "%s/energy%d_input", dir, k);
			if (!usage_add_meter(m, root, label, "Esocket", uj, NULL))
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

/* Return the energy between two readings; below 0 if it is not known. */
static double usage_joules(const energy_meters *begun, const energy_meters *now)
{
	double uj = 0;
	if (now->meters == 0 || now->meters != begun->meters)
		return -1;
	for (uint32_t i = 0; i < now->meters; i++)
		uj += now->uj[i] >= begun->uj[i]
			      ? (double)(now->uj[i] - begun->uj[i])
			      : (double)(now->most_uj[i] - begun->uj[i]) + (double)now->uj[i];
	return 1e-6 * uj;
}

usage usage_since(const usage_moment *begun, const char *root)
{
	const usage_moment now = usage_now(root);
	usage u = { .user_s = now.user_s - begun->user_s,
		    .system_s = now.system_s - begun->system_s,
		    .minor_faults = now.minor_faults - begun->minor_faults,
		    .disk_bytes = now.disk_bytes - begun->disk_bytes,
		    .joules = usage_joules(&begun->energy, &now.energy) };
	if (u.minor_faults >= MANY_FAULTS)
		u.fault_s = usage_fault_s();
	return u;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processor time and faults are the process's (getrusage). Energy is the host's, from the counters
 * of the kernel: RAPL of Intel and newer AMD processors (powercap), or the driver amd_energy. Both
 * can usually be read only by root. Without them, looking costs two failed calls of open. */
#include "usage.h"
#include "clock.h"
#include "sysfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* A fault is timed on these pages, if there were this many faults. */
enum { TRIAL_PAGES = 256, PAGE_BYTES = 4096, MANY_FAULTS = 16384, DISK_BLOCK_BYTES = 512 };

/* Add the meter of a file, if the text in name_file begins with `name`. Return whether name_file
 * exists and is not empty. */
static bool add_meter(energy_meters *m, const char *root, const char *name_file, const char *name,
		      const char *file, const char *most_file)
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

/* Add the meter of a RAPL zone, as add_meter. */
static bool add_zone(energy_meters *m, const char *root, const char *zone, const char *name)
{
	char name_file[96], uj[96], most[96];
	(void)snprintf(name_file, sizeof name_file, "%s/name", zone);
	(void)snprintf(uj, sizeof uj, "%s/energy_uj", zone);
	(void)snprintf(most, sizeof most, "%s/max_energy_range_uj", zone);
	return add_meter(m, root, name_file, name, uj, most);
}

/* Read the meters of RAPL: packages, and the memory in them, which is the only part of a package
 * that is not counted with it. A zone of the whole platform includes packages, so skip it. */
static void read_rapl(energy_meters *m, const char *root)
{
	char zone[64];
	for (int i = 0; i < USAGE_METERS; i++) {
		(void)snprintf(zone, sizeof zone, "/sys/class/powercap/intel-rapl:%d", i);
		if (!add_zone(m, root, zone, "package"))
			return;
		for (int part = 0; part < USAGE_METERS; part++) {
			(void)snprintf(zone, sizeof zone, "/sys/class/powercap/intel-rapl:%d:%d", i,
				       part);
			if (!add_zone(m, root, zone, "dram"))
				break;
		}
	}
}

static void read_amd(energy_meters *m, const char *root)
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
			if (!add_meter(m, root, label, "Esocket", uj, NULL))
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
	read_rapl(&m.energy, root);
	if (m.energy.meters == 0)
		read_amd(&m.energy, root);
	return m;
}

/* Return the time of a fault in fresh memory; 0 without memory. */
static double time_fault(void)
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

static double joules(const energy_meters *begun, const energy_meters *now)
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
		    .joules = joules(&begun->energy, &now.energy) };
	if (u.minor_faults >= MANY_FAULTS)
		u.fault_s = time_fault();
	return u;
}

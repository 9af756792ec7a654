/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Energy counters of made-up hosts, and the faults of this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/usage.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static char root[PATH_MAX];

/* Write a file below root, and make its directories. */
static void put(const char *path, const char *text)
{
	char whole[2 * PATH_MAX];
	snprintf(whole, sizeof whole, "%s%s", root, path);
	for (char *p = whole + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		assert_true(mkdir(whole, 0700) == 0 || errno == EEXIST);
		*p = '/';
	}
	FILE *f = fopen(whole, "w");
	assert_non_null(f);
	assert_true(fprintf(f, "%s\n", text) > 0);
	assert_int_equal(fclose(f), 0);
}

static void new_host(void)
{
	const char *tmp = getenv("TEST_TMP");
	snprintf(root, sizeof root, "%s/host.XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(root));
}

static void zone(const char *name, const char *is, uint64_t uj, uint64_t most_uj)
{
	char path[200], text[40];
	snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%s/name", name);
	put(path, is);
	snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%s/energy_uj", name);
	snprintf(text, sizeof text, "%" PRIu64, uj);
	put(path, text);
	snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%s/max_energy_range_uj", name);
	snprintf(text, sizeof text, "%" PRIu64, most_uj);
	put(path, text);
}

static void packages_and_their_memory_count(void **state)
{
	(void)state;
	new_host();
	for (int now = 0; now <= 1; now++) {
		static usage_moment begun;
		zone("0", "package-0", now ? 3000000 : 1000000, 100000000);
		zone("0:0", "core", now ? 9000000 : 0, 100000000); /* a part of the package */
		zone("0:1", "dram", now ? 500000 : 0, 100000000);
		zone("1", "package-1", now ? 1000000 : 99000000, 100000000); /* wraps around */
		zone("2", "psys", now ? 50000000 : 0, 100000000); /* includes the others */
		if (!now)
			begun = usage_now(root);
		else
			assert_float_equal(usage_since(&begun, root).joules, 2 + 0.5 + 2, 1e-9);
	}
}

static void sockets_of_amd_energy_count(void **state)
{
	(void)state;
	new_host();
	put("/sys/class/hwmon/hwmon0/name", "nvme");
	put("/sys/class/hwmon/hwmon1/name", "amd_energy");
	put("/sys/class/hwmon/hwmon1/energy1_label", "Ecore000");
	put("/sys/class/hwmon/hwmon1/energy1_input", "1000");
	put("/sys/class/hwmon/hwmon1/energy2_label", "Esocket0");
	put("/sys/class/hwmon/hwmon1/energy2_input", "7000000");
	const usage_moment begun = usage_now(root);
	put("/sys/class/hwmon/hwmon1/energy1_input", "9000");
	put("/sys/class/hwmon/hwmon1/energy2_input", "8500000");
	assert_float_equal(usage_since(&begun, root).joules, 1.5, 1e-9);
}

static void energy_that_cannot_be_read_is_not_known(void **state)
{
	(void)state;
	new_host();
	usage_moment begun = usage_now(root);
	assert_int_equal(begun.energy.meters, 0);
	assert_true(usage_since(&begun, root).joules < 0);
	put("/sys/class/powercap/intel-rapl:0/name", "package-0"); /* but no number */
	put("/sys/class/powercap/intel-rapl:0/energy_uj", "none");
	begun = usage_now(root);
	zone("0", "package-0", 5, 100); /* readable only at the end */
	assert_true(usage_since(&begun, root).joules < 0);
}

static void many_faults_are_counted_and_timed(void **state)
{
	enum { PAGE = 4096, PAGES = 20000 };
	(void)state;
	new_host();
	const usage_moment begun = usage_now(root);
	assert_float_equal(usage_since(&begun, root).fault_s, 0, 0); /* too few */
	unsigned char *p = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	(void)madvise(p, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		p[i * PAGE] = 1;
	const usage u = usage_since(&begun, root);
	munmap(p, (size_t)PAGES * PAGE);
	assert_true(u.minor_faults >= PAGES);
	assert_true(u.fault_s > 0 && u.fault_s < 1);
	assert_true(u.user_s + u.system_s > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages_and_their_memory_count),
		cmocka_unit_test(sockets_of_amd_energy_count),
		cmocka_unit_test(energy_that_cannot_be_read_is_not_known),
		cmocka_unit_test(many_faults_are_counted_and_timed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

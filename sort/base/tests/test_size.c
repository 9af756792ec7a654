/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes as people write them and as they are printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/size.h"

#include <stdio.h>
#include <string.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

static void sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "123B", 123 },
		{ "123b", 123 },
		{ "4096K", 4096 << 10 },
		{ "4k", 4096 },
		{ "1KiB", 1024 },
		{ "1kib", 1024 },
		{ "3kB", 3000 },
		{ "3KB", 3000 },
		{ "3kb", 3000 },
		{ "512M", 512 << 20 },
		{ "512m", 512 << 20 },
		{ "0.5MiB", 512 << 10 },
		{ "1.000001MB", 1000001 },
		{ "1.5mb", 1500000 },
		{ "2G", UINT64_C(2) << 30 },
		{ "2g", UINT64_C(2) << 30 },
		{ "1.5GiB", UINT64_C(3) << 29 },
		{ "2.50GB", UINT64_C(2500000000) },
		{ "1T", UINT64_C(1) << 40 },
		{ "1t", UINT64_C(1) << 40 },
		{ "16777215T", UINT64_C(16777215) << 40 },
		{ "1TB", UINT64_C(1000000000000) },
		{ "18446744073709551615", UINT64_MAX },
		{ "000000000000000000000000001K", 1024 },
		{ "0.999999T", UINT64_C(1099510528264) },
	};
	(void)state;
	for (size_t i = 0; i < LEN(good); i++) {
		uint64_t bytes = 1;
		const char *why = size_parse(good[i].text, &bytes);
		if (why || bytes != good[i].bytes)
			fail_msg("'%s': %s", good[i].text, why ? why : "another size");
	}
}

static void invalid_sizes(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "does not begin with a number" },
		{ "M", "does not begin with a number" },
		{ "-1M", "does not begin with a number" },
		{ "+1M", "does not begin with a number" },
		{ " 1M", "does not begin with a number" },
		{ ".5G", "does not begin with a number" },
		{ "1.G", "does not begin with a number" },
		{ "1.0000001G", "too many digits" },
		{ "18446744073709551616", "too many digits" },
		{ "99999999999999999999999999", "too many digits" },
		{ "0x10", "units are" },
		{ "1e9", "units are" },
		{ "1 G", "units are" },
		{ "1G ", "units are" },
		{ "1GG", "units are" },
		{ "1P", "units are" },
		{ "1,5G", "units are" },
		{ "1%", "units are" },
		{ "1.5", "bytes have no decimals" },
		{ "1.0B", "bytes have no decimals" },
		{ "16777216T", "too large" },
		{ "18014398509481984K", "too large" },
	};
	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		uint64_t bytes = 1;
		const char *why = size_parse(bad[i].text, &bytes);
		if (!why || !strstr(why, bad[i].why))
			fail_msg("'%s': %s", bad[i].text, why ? why : "it is accepted");
		assert_true(bytes == 0);
	}
}

static void texts(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} some[] = {
		{ 0, "0 B" },
		{ 1, "1 B" },
		{ 999, "999 B" },
		{ 1000, "1.00 kB" },
		{ 1024, "1 KiB" },
		{ 9994, "9.99 kB" },
		{ 9995, "10.0 kB" },
		{ 99949, "99.9 kB" },
		{ 99950, "100 kB" },
		{ 999499, "999 kB" },
		{ 999500, "1.00 MB" },
		{ 24412345, "24.4 MB" },
		{ UINT64_C(10000000000), "10.0 GB" },
		{ 512 << 20, "512 MiB" },
		{ UINT64_C(3) << 29, "1536 MiB" },
		{ UINT64_C(10001) << 20, "10.5 GB" },
		{ UINT64_C(16) << 30, "16 GiB" },
		{ UINT64_C(1) << 63, "8 EiB" },
		{ UINT64_MAX, "18.4 EB" },
	};
	char buf[SIZE_TEXT_BYTES];
	(void)state;
	for (size_t i = 0; i < LEN(some); i++)
		assert_string_equal(size_text(some[i].bytes, buf), some[i].text);
}

/* Check that a size that is printed as needed is large enough, and at most 1 % too large. */
static void needs(void **state)
{
	uint64_t seed = 1;
	char buf[SIZE_TEXT_BYTES], word[SIZE_TEXT_BYTES];
	(void)state;
	for (int i = 0; i < 10000; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		const uint64_t bytes = seed >> (22 + i % 42);
		uint64_t printed;
		size_text_up(bytes, buf);
		const size_t digits = strcspn(buf, " ");
		snprintf(word, sizeof word, "%.*s%s", (int)digits, buf, buf + digits + 1);
		assert_null(size_parse(word, &printed));
		assert_true(printed >= bytes && printed - bytes <= bytes / 90);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(invalid_sizes),
		cmocka_unit_test(texts),
		cmocka_unit_test(needs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

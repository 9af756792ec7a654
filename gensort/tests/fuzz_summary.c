/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz summary files. Any bytes must be refused, or joined to a plausible summary. That summary
 * counts the records of all parts and at least their unordered records, and can be encoded and
 * decoded. */
#include "../../scripts/fuzz.h"
#include "val.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned announced;
static u128 first;

static void announce(u128 index, void *arg)
{
	(void)arg;
	announced++;
	first = index;
}

/* Write the input to a file in memory, the same one in every call. Return its name. */
static const char *file_of(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char name[40];
	if (fd < 0) {
		fd = memfd_create("summaries", MFD_CLOEXEC);
		snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	}
	fuzz_check(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return name;
}

static val_result read_all(const char *name, const val_args *a)
{
	val_in in;
	fuzz_check(val_in_open(&in, name, VAL_SUMMARY_BYTES) == 0);
	announced = 0;
	const val_result r = val_run_summaries(&in, a, announce, NULL);
	val_in_close(&in);
	return r;
}

/* Compare the whole with its parts, as far as the file was read. */
static void check_sums(const val_summary *whole, const uint8_t *data, size_t parts)
{
	u128 recs = 0, unordered = 0;
	for (size_t i = 0; i < parts; i++) {
		val_summary s;
		val_decode(&s, data + i * VAL_SUMMARY_BYTES);
		recs += s.recs;
		unordered += s.unordered;
	}
	fuzz_check(whole->recs == recs && whole->unordered >= unordered);
	fuzz_check(val_plausible(whole));
	fuzz_check(announced == (whole->unordered != 0));
	fuzz_check(!announced || first == whole->first_unordered);
}

static void judge(const uint8_t *data, size_t size, bool fold)
{
	unsigned char bytes[VAL_SUMMARY_BYTES], again[VAL_SUMMARY_BYTES];
	val_summary back;
	const val_args a = { .fold = fold, .summaries = true };
	const val_result r = read_all(file_of(data, size), &a);
	fuzz_check(r.end == VAL_DONE || r.end == VAL_PARTIAL || r.end == VAL_IMPOSSIBLE);
	if (r.end == VAL_IMPOSSIBLE)
		return;
	fuzz_check((r.end == VAL_PARTIAL) == (size % VAL_SUMMARY_BYTES != 0));
	check_sums(&r.sum, data, size / VAL_SUMMARY_BYTES);
	val_encode(&r.sum, bytes);
	val_decode(&back, bytes);
	val_encode(&back, again);
	fuzz_check(memcmp(bytes, again, sizeof bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	judge(data, size, false);
	judge(data, size, true);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Help for tests of runs on disk: runs in which every byte follows from its place. */
#ifndef HETSORT_SPILL_TESTS_SPILL_HELP_H
#define HETSORT_SPILL_TESTS_SPILL_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "spill/spill.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

static const char *here; /* a directory of our own */

static inline uint64_t mix64(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t next_random(uint64_t *seed)
{
	return mix64(*seed += UINT64_C(0x9e3779b97f4a7c15));
}

/* Return the byte at `at` in the stream of a run's records. */
static inline unsigned char byte_of(size_t run, uint64_t at)
{
	return (unsigned char)((run * UINT64_C(0x632be59bd9b4e019) + at) *
				       UINT64_C(0x9e3779b97f4a7c15) >>
			       56);
}

static inline void fill(unsigned char *p, size_t run, uint64_t at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = byte_of(run, at + i);
}

static inline bool filled(const unsigned char *p, size_t run, uint64_t at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != byte_of(run, at + i))
			return false;
	return true;
}

/* Append n records of a run in steps of odd sizes. */
static inline status write_run(spill *s, size_t run, uint32_t rec, uint64_t n, uint64_t step,
			       err *e)
{
	unsigned char *p = malloc((size_t)(step * rec));
	status rc = p ? spill_run_begin(s, run, n, e) : ST_RESOURCE;
	for (uint64_t i = 0; rc == ST_OK && i < n;) {
		const uint64_t some = n - i < step ? n - i : step;
		fill(p, run, i * rec, (size_t)(some * rec));
		rc = spill_run_append(s, run, p, some, e);
		i += some;
	}
	if (rc == ST_OK)
		rc = spill_run_end(s, run, e);
	free(p);
	return rc;
}

/* Read records [first, first + n) into a buffer, and return where they are. */
static inline status read_into(spill *s, size_t run, uint64_t first, uint64_t n, void *buf,
			       size_t bytes, const unsigned char **recs, err *e)
{
	spill_view v = { .buf = buf, .buf_bytes = bytes, .run = run, .first = first, .n = n };
	const status rc = spill_read(s, &v, e);
	*recs = v.recs;
	return rc;
}

/* Read records [first, first + n) into a buffer of exactly the required size, and compare them. */
static inline status read_range(spill *s, size_t run, uint32_t rec, uint64_t first, uint64_t n,
				err *e)
{
	const size_t bytes = spill_read_bytes(s, n);
	const unsigned char *recs;
	void *buf = aligned_alloc(SPILL_ALIGN, bytes ? bytes : SPILL_ALIGN);
	if (!buf)
		return err_set(e, ST_RESOURCE, "no memory");
	status rc = read_into(s, run, first, n, buf, bytes, &recs, e);
	if (rc == ST_OK && !filled(recs, run, first * rec, (size_t)(n * rec)))
		rc = err_set(e, ST_INVALID, "records %" PRIu64 "+%" PRIu64 " of run %zu differ",
			     first, n, run);
	free(buf);
	return rc;
}

static inline spill_plan plan_of(const char *const *dir, uint32_t rec, size_t count, uint64_t recs)
{
	return (spill_plan){ .dir = dir,
			     .dirs = 1,
			     .record_bytes = rec,
			     .runs = count,
			     .recs = recs,
			     .buffers = 1,
			     .ranks_here = 1 };
}

static inline void good(status rc, const err *e)
{
	if (rc != ST_OK)
		fail_msg("status %d: %s", (int)rc, e->text);
}

/* Choose the directory of all tests: $TEST_TMP, or a new one that end_tests removes. */
static inline int begin_tests(void **state)
{
	static char dir[] = "/tmp/hetsort-spill.XXXXXX";
	(void)state;
	here = getenv("TEST_TMP");
	if (!here)
		here = mkdtemp(dir);
	return here ? 0 : -1;
}

static inline int end_tests(void **state)
{
	(void)state;
	return getenv("TEST_TMP") ? 0 : rmdir(here);
}

#endif

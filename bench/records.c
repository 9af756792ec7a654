/* SPDX-License-Identifier: GPL-3.0-or-later */
/* records.c - make and check records of any size, for measurements, because gensort and valsort
 * only support 100 bytes.
 *   records make RECORD_BYTES COUNT FILE    write random bytes, the same each time
 *   records judge RECORD_BYTES FILE         check the order by the first 10 bytes
 * Both print the number of records, a checksum that does not depend on their order, and how many
 * records are smaller than their predecessor. Shares no code with the sorter. Memory: some MB. */
#include <errno.h>
#include <stdbool.h>

#include "bench.h"
#include "number.h"

enum { KEY_BYTES = 10, MOST_BYTES = 1 << 16, BLOCK_BYTES = 1 << 22 };

typedef struct tally {
	uint64_t records, sum, unordered;
} tally;

/* Return a hash of a record, which depends on all bytes and their order. */
static uint64_t records_hash(const char *r, size_t size)
{
	uint64_t h = size;
	size_t i = 0;
	for (; i + 8 <= size; i += 8) {
		uint64_t word;
		memcpy(&word, r + i, sizeof word);
		h = mix(h * 31 + word);
	}
	for (; i < size; i++)
		h = mix(h * 31 + (unsigned char)r[i]);
	return h;
}

static void records_count(tally *t, const char *block, size_t n, size_t size, char *last)
{
	for (size_t i = 0; i < n; i++) {
		const char *r = block + i * size;
		t->sum += records_hash(r, size);
		t->unordered += t->records > 0 && memcmp(last, r, KEY_BYTES) > 0;
		t->records++;
		memcpy(last, r, KEY_BYTES);
	}
}

static bool records_make(FILE *f, uint64_t left, size_t size, char *block, tally *t)
{
	const size_t most = BLOCK_BYTES / size;
	uint64_t state = 0;
	char last[KEY_BYTES];
	while (left > 0) {
		const size_t n = left < most ? (size_t)left : most;
		for (size_t i = 0; i < n * size; i += 8) { /* the block has a spare word */
			const uint64_t word = mix(state += UINT64_C(0x9e3779b97f4a7c15));
			memcpy(block + i, &word, sizeof word);
		}
		if (fwrite(block, size, n, f) != n)
			return false;
		records_count(t, block, n, size, last);
		left -= n;
	}
	return true;
}

static bool records_judge(FILE *f, size_t size, char *block, tally *t)
{
	const size_t most = BLOCK_BYTES / size * size;
	char last[KEY_BYTES];
	size_t got;
	while ((got = fread(block, 1, most, f)) > 0) {
		records_count(t, block, got / size, size, last);
		if (got % size != 0) {
			errno = EINVAL; /* the last record is not whole */
			return false;
		}
	}
	return !ferror(f);
}

int main(int argc, char **argv)
{
	const bool making = argc == 5 && !strcmp(argv[1], "make");
	const bool judging = argc == 4 && !strcmp(argv[1], "judge");
	tally t = { 0 };
	uint64_t size = 0, records = 0;
	char *block;
	FILE *f;
	bool good;
	if ((!making && !judging) || !number_parse(argv[2], KEY_BYTES, MOST_BYTES, &size) ||
	    (making && !number_parse(argv[3], 0, UINT64_MAX / size, &records))) {
		fprintf(stderr, "usage: records make RECORD_BYTES COUNT FILE | "
				"records judge RECORD_BYTES FILE\n");
		return 2;
	}
	block = malloc(BLOCK_BYTES + 8);
	f = fopen(argv[argc - 1], making ? "wb" : "rb");
	good = f && block &&
	       (making ? records_make(f, records, size, block, &t)
		       : records_judge(f, size, block, &t));
	if (f)
		good &= fclose(f) == 0;
	free(block);
	if (good)
		good = printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", t.records, t.sum,
			      t.unordered) > 0 &&
		       fflush(stdout) == 0;
	if (good)
		return 0;
	fprintf(stderr, "records: cannot %s '%s': %s\n", argv[1], argv[argc - 1], strerror(errno));
	return 1;
}

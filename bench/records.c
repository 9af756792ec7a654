/* SPDX-License-Identifier: GPL-3.0-or-later */
/* records.c - make and check records of any size, for measurements, because gensort and valsort
 * only support 100 bytes.
 *   records make RECORD_BYTES COUNT FILE    write random bytes, the same each time
 *   records judge RECORD_BYTES FILE         check the order by the first 10 bytes
 *   records make f64 COUNT FILE             write random doubles, none of them NaN or infinite
 *   records judge f64 FILE                  check their order
 *   records text FILE TEXT                  write doubles as lines of 16 digits that sort like them
 *   records judge text TEXT                 check the order of the doubles in such lines
 * All print the number of records, a checksum that does not depend on their order, and how many
 * records are smaller than their predecessor. Shares no code with the sorter. Memory: some MB. */
#include <errno.h>
#include <stdbool.h>

#include "bench.h"
#include "number.h"

enum { KEY_BYTES = 10, MOST_BYTES = 1 << 16, BLOCK_BYTES = 1 << 22 };

enum { LINE_BYTES = 17 };

typedef struct tally {
	uint64_t records, sum, unordered;
} tally;

/* Which records a file has. */
typedef struct kind {
	size_t size; /* bytes of a record */
	bool f64;
} kind;

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

static bool is_before(const char *a, const char *b, bool f64)
{
	double x, y;
	if (!f64)
		return memcmp(a, b, KEY_BYTES) < 0;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y;
}

static void records_count(tally *t, const char *block, size_t n, kind k, char *last)
{
	for (size_t i = 0; i < n; i++) {
		const char *r = block + i * k.size;
		t->sum += records_hash(r, k.size);
		t->unordered += t->records > 0 && is_before(r, last, k.f64);
		t->records++;
		memcpy(last, r, k.f64 ? sizeof(double) : KEY_BYTES);
	}
}

static bool records_make(FILE *f, uint64_t left, kind k, char *block, tally *t)
{
	const size_t size = k.size, most = BLOCK_BYTES / size;
	uint64_t state = 0;
	char last[KEY_BYTES];
	while (left > 0) {
		const size_t n = left < most ? (size_t)left : most;
		for (size_t i = 0; i < n * size; i += 8) { /* the block has a spare word */
			uint64_t word = mix(state += UINT64_C(0x9e3779b97f4a7c15));
			if (k.f64 && (word >> 52 & 0x7ff) == 0x7ff)
				word ^= UINT64_C(1) << 62;
			memcpy(block + i, &word, sizeof word);
		}
		if (fwrite(block, size, n, f) != n)
			return false;
		records_count(t, block, n, k, last);
		left -= n;
	}
	return true;
}

/* Write each double of the block to a line, or read them from lines. The bits of a negative number
 * are inverted, otherwise only the sign is, so that lines sort like numbers. */
static void doubles_to_lines(const char *block, size_t n, char *line)
{
	for (size_t i = 0; i < n; i++, line += LINE_BYTES) {
		uint64_t word;
		memcpy(&word, block + i * sizeof word, sizeof word);
		word ^= word >> 63 ? UINT64_MAX : UINT64_C(1) << 63;
		for (int d = 0; d < LINE_BYTES - 1; d++)
			line[d] = "0123456789abcdef"[word >> (60 - 4 * d) & 15];
		line[LINE_BYTES - 1] = '\n';
	}
}

static bool lines_to_doubles(const char *line, size_t n, char *block)
{
	for (size_t i = 0; i < n; i++, line += LINE_BYTES) {
		uint64_t word = 0;
		for (int d = 0; d < LINE_BYTES - 1; d++) {
			const char c = line[d];
			if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
				return false;
			word = word << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		}
		word ^= word >> 63 ? UINT64_C(1) << 63 : UINT64_MAX;
		memcpy(block + i * sizeof word, &word, sizeof word);
		if (line[LINE_BYTES - 1] != '\n')
			return false;
	}
	return true;
}

/* Count the records of a file. text: they are in lines. to: write them as lines, unless NULL. */
static bool records_judge(FILE *f, kind k, bool text, FILE *to, char *block, char *lines, tally *t)
{
	const size_t size = text ? LINE_BYTES : k.size;
	char last[KEY_BYTES];
	size_t got;
	while ((got = fread(text ? lines : block, 1, BLOCK_BYTES / k.size * size, f)) > 0) {
		const size_t n = got / size;
		if (got % size != 0 || (text && !lines_to_doubles(lines, n, block))) {
			errno = EINVAL; /* the last record is not whole, or no number */
			return false;
		}
		records_count(t, block, n, k, last);
		if (to)
			doubles_to_lines(block, n, lines);
		if (to && fwrite(lines, LINE_BYTES, n, to) != n)
			return false;
	}
	return !ferror(f);
}

/* The command line. */
typedef struct order {
	bool make, text;          /* text: the file has lines */
	const char *path, *lines; /* lines: to write, or NULL */
	kind k;
	uint64_t records; /* to make */
} order;

static bool records_parse(int argc, char **argv, order *o)
{
	const char *verb = argc > 2 ? argv[1] : "";
	const bool judge = argc == 4 && !strcmp(verb, "judge");
	uint64_t size = sizeof(double);
	*o = (order){ .make = argc == 5 && !strcmp(verb, "make"), .path = argv[argc - 1] };
	if (argc == 4 && !strcmp(verb, "text")) {
		o->path = argv[2];
		o->lines = argv[3];
	}
	o->text = judge && !strcmp(argv[2], "text");
	o->k.f64 = o->lines || o->text || (argc > 2 && !strcmp(argv[2], "f64"));
	if ((!o->make && !judge && !o->lines) ||
	    (!o->k.f64 && !number_parse(argv[2], KEY_BYTES, MOST_BYTES, &size)))
		return false;
	o->k.size = size;
	return !o->make || number_parse(argv[3], 0, UINT64_MAX / size, &o->records);
}

static bool records_do(const order *o, char *block, char *lines, tally *t)
{
	FILE *f = fopen(o->path, o->make ? "wb" : "rb");
	FILE *to = f && o->lines ? fopen(o->lines, "wb") : NULL;
	bool good = f && (to || !o->lines) &&
		    (o->make ? records_make(f, o->records, o->k, block, t)
			     : records_judge(f, o->k, o->text, to, block, lines, t));
	if (f)
		good &= fclose(f) == 0;
	if (to)
		good &= fclose(to) == 0;
	return good;
}

int main(int argc, char **argv)
{
	tally t = { 0 };
	order o;
	if (!records_parse(argc, argv, &o)) {
		fprintf(stderr, "usage: records make RECORD_BYTES|f64 COUNT FILE | "
				"records judge RECORD_BYTES|f64|text FILE | "
				"records text FILE TEXT\n");
		return 2;
	}
	char *block = malloc(BLOCK_BYTES + 8);
	char *lines = malloc(BLOCK_BYTES / sizeof(double) * LINE_BYTES);
	bool good = block && lines && records_do(&o, block, lines, &t);
	free(block);
	free(lines);
	if (good)
		good = printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", t.records, t.sum,
			      t.unordered) > 0 &&
		       fflush(stdout) == 0;
	if (good)
		return 0;
	fprintf(stderr, "records: cannot %s '%s': %s\n", argv[1], o.path, strerror(errno));
	return 1;
}

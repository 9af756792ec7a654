/* SPDX-License-Identifier: GPL-3.0-or-later */
/* floor.c - measure how fast this machine's memory does the work that no sorter can avoid. This is
 * the least possible time of a phase. `floor KIND BYTES THREADS [RECORD_BYTES]` prints the seconds
 * of one pass of this kind:
 *   copy    copy all bytes from one array to another
 *   keys    read the key of each record, and write an entry of 16 bytes for it
 *   gather  read the records in random order, and write them one after the other
 * Uses no files. Memory: twice BYTES and 4 bytes per record. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "bench.h"
#include "number.h"

enum { MOST_THREADS = 256, KEY_BYTES = 10, ENTRY_BYTES = 16 };

typedef struct pass {
	char *to;
	const char *from;
	const uint32_t *order;
	size_t begin, end, record_bytes; /* records */
} pass;

typedef void floor_pass_fn(const pass *p);

static void floor_copy(const pass *p)
{
	const size_t at = p->begin * p->record_bytes;
	memcpy(p->to + at, p->from + at, (p->end - p->begin) * p->record_bytes);
}

static void floor_keys(const pass *p)
{
	for (size_t i = p->begin; i < p->end; i++) {
		char entry[ENTRY_BYTES] = { 0 };
		const uint32_t at = (uint32_t)i;
		memcpy(entry, p->from + i * p->record_bytes, KEY_BYTES);
		memcpy(entry + KEY_BYTES, &at, sizeof at);
		memcpy(p->to + i * ENTRY_BYTES, entry, ENTRY_BYTES);
	}
}

static void floor_gather(const pass *p)
{
	enum { AHEAD = 16 };
	const size_t size = p->record_bytes;
	for (size_t i = p->begin; i < p->end; i++) {
		const char *next = p->from + p->order[i + AHEAD < p->end ? i + AHEAD : i] * size;
		for (size_t b = 0; b < size && b < 256; b += 64)
			__builtin_prefetch(next + b);
		memcpy(p->to + i * size, p->from + p->order[i] * size, size);
	}
}

static const struct {
	const char *name;
	floor_pass_fn *run;
} kinds[] = { { "copy", floor_copy }, { "keys", floor_keys }, { "gather", floor_gather } };

typedef struct worker {
	pthread_t thread;
	floor_pass_fn *run;
	pass pass;
} worker;

static void *floor_worker(void *arg)
{
	const worker *w = arg;
	w->run(&w->pass);
	return NULL;
}

/* Run a pass in equal pieces on all threads. Return false if a thread could not be started. */
static bool floor_pass(floor_pass_fn *run, const pass *whole, size_t threads, double *seconds)
{
	static worker w[MOST_THREADS];
	const size_t n = whole->end;
	const double start = bench_now_s();
	size_t up = 1;
	for (size_t t = 0; t < threads; t++) {
		w[t].run = run;
		w[t].pass = *whole;
		w[t].pass.begin = n / threads * t;
		w[t].pass.end = t + 1 == threads ? n : n / threads * (t + 1);
	}
	while (up < threads && pthread_create(&w[up].thread, NULL, floor_worker, &w[up]) == 0)
		up++;
	floor_worker(&w[0]);
	for (size_t t = 1; t < up; t++)
		pthread_join(w[t].thread, NULL);
	*seconds = bench_now_s() - start;
	return up == threads;
}

static uint64_t floor_number(const char *text, uint64_t least, uint64_t most)
{
	uint64_t v;
	if (number_parse(text, least, most, &v))
		return v;
	fprintf(stderr, "floor: not a number from %" PRIu64 " to %" PRIu64 ": '%s'\n", least, most,
		text);
	exit(2);
}

/* Measure and print the second pass, because the system provides the pages during the first one. */
static void floor_measure(floor_pass_fn *run, size_t bytes, size_t threads, size_t record_bytes)
{
	const size_t n = bytes / record_bytes, entries = n * ENTRY_BYTES;
	char *from = malloc(bytes + 1), *to = malloc((bytes > entries ? bytes : entries) + 1);
	uint32_t *order = malloc((n + 1) * sizeof *order);
	const pass whole = { to, from, order, 0, n, record_bytes };
	double seconds;
	if (!from || !to || !order)
		bench_stop("no memory for two times %zu bytes", bytes);
	memset(from, 1, bytes + 1);
	uint64_t seed = 1;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n; i > 1; i--) {
		const size_t j = (size_t)(rnd_real(&seed) * (double)i);
		const uint32_t was = order[i - 1];
		order[i - 1] = order[j];
		order[j] = was;
	}
	if (!floor_pass(run, &whole, threads, &seconds) ||
	    !floor_pass(run, &whole, threads, &seconds))
		bench_stop("cannot start %zu threads", threads);
	printf("%.9f\n", seconds);
	free(from);
	free(to);
	free(order);
}

int main(int argc, char **argv)
{
	for (size_t k = 0; k < LEN(kinds); k++)
		if ((argc == 4 || argc == 5) && !strcmp(argv[1], kinds[k].name)) {
			const uint64_t threads = floor_number(argv[3], 1, MOST_THREADS);
			const uint64_t record =
				argc == 5 ? floor_number(argv[4], KEY_BYTES, 1 << 16) : 100;
			const uint64_t bytes = floor_number(argv[2], record, record * UINT32_MAX);
			floor_measure(kinds[k].run, bytes, threads, record);
			return fflush(stdout) != 0;
		}
	fprintf(stderr, "usage: floor copy|keys|gather BYTES THREADS [RECORD_BYTES]\n");
	return 2;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* library_bench.c - measure libhetsort's calls on records in memory. hetsort_sort() runs over the
 * ranks of this job with 0, 1 and 2 exchange threads. It is compared with one rank that sorts all
 * records with as many threads as the job has ranks. Each round runs all variants.
 *
 * Every result is validated: the order, also between ranks, and the checksum of all records. Prints
 * one JSON line with all samples for each variant, and a table on standard error. Next to the time
 * of the slowest rank, they show the processor time of all ranks, which other programs on the
 * machine hardly affect.
 *
 *     library_bench [RECORDS [REPEAT]]
 *
 * Default: 10000000 records of 100 bytes, 5 rounds after a warm-up. */
#include <hetsort.h>

#include "bench.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

enum { RECORD = 100, KEY = 10, MAX_REPEAT = 100, VARIANTS = 4 };

static int rank, size;

typedef struct variant {
	const char *name;
	bool single; /* rank 0 sorts all records */
	uint32_t exchange_threads;
	double s[MAX_REPEAT];   /* of the slowest rank */
	double cpu[MAX_REPEAT]; /* processor time of all ranks */
	double most_extra;      /* most bytes of a rank in addition to its arrays; < 0: unknown */
} variant;

/* The arrays of this rank. On rank 0 they have room for all records. */
typedef struct library_data {
	uint64_t n;     /* all records */
	uint64_t mine;  /* records of this rank */
	uint64_t first; /* number of the first record of this rank */
	unsigned char *in, *out;
	uint64_t sum; /* of all records */
} library_data;

static void library_stop(const char *what)
{
	fprintf(stderr, "library_bench: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static uint64_t library_hash(const unsigned char *rec)
{
	uint64_t h = 0, w;
	for (size_t at = 0; at + sizeof w <= RECORD; at += sizeof w) {
		memcpy(&w, rec + at, sizeof w);
		h = mix(h ^ w) + UINT64_C(0x9e3779b97f4a7c15);
	}
	memcpy(&w, rec + RECORD - sizeof w, sizeof w);
	return mix(h ^ w);
}

/* ------------------------------------------------------------------------------------- waiting */

/* Wait for all ranks without occupying a processor that is being measured. */
static void library_barrier(void)
{
	MPI_Request req;
	int done = 0;
	if (MPI_Ibarrier(MPI_COMM_WORLD, &req) != MPI_SUCCESS)
		library_stop("barrier");
	while (MPI_Test(&req, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
		nanosleep(&(struct timespec){ 0, 100000 }, NULL);
}

/* -------------------------------------------------------------------------------------- memory */

static double status_bytes(const char *field)
{
	char line[256];
	double kib = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, field, strlen(field)) == 0)
			kib = strtod(line + strlen(field) + 1, NULL);
	if (f)
		fclose(f);
	return kib < 0 ? -1 : kib * 1024;
}

/* ------------------------------------------------------------------------------------ one sort */

static uint64_t sort_once(const variant *v, const library_data *d)
{
	hetsort_opts o = HETSORT_OPTS_INIT;
	hetsort_err err;
	uint64_t n = 0;
	if (v->single) {
		o.threads = (uint32_t)size;
		if (rank == 0 && hetsort_sort_local(d->in, n = d->n, d->out, &o, &err))
			library_stop(err.text);
		return n;
	}
	o.exchange_threads = v->exchange_threads;
	const uint64_t room = d->n / (uint64_t)size + 1;
	if (hetsort_sort(d->in, d->mine, d->out, room, &n, &o, MPI_COMM_WORLD, &err))
		library_stop(err.text);
	return n;
}

static void library_validate(const library_data *d, uint64_t n)
{
	unsigned char ends[2][KEY] = { { 0 }, { 0 } },
		      (*all)[2][KEY] = calloc((size_t)size, sizeof ends);
	uint64_t mine[2] = { n, 0 }, *got = calloc(2 * (size_t)size, sizeof *got), count = 0,
		 sum = 0;
	if (!all || !got)
		library_stop("no memory");
	for (uint64_t i = 0; i < n; i++) {
		const unsigned char *rec = d->out + i * RECORD;
		if (i && memcmp(rec - RECORD, rec, KEY) > 0)
			library_stop("the output is not sorted");
		mine[1] += library_hash(rec);
	}
	if (n) {
		memcpy(ends[0], d->out, KEY);
		memcpy(ends[1], d->out + (n - 1) * RECORD, KEY);
	}
	MPI_Allgather(ends, sizeof ends, MPI_BYTE, all, sizeof ends, MPI_BYTE, MPI_COMM_WORLD);
	MPI_Allgather(mine, 2, MPI_UINT64_T, got, 2, MPI_UINT64_T, MPI_COMM_WORLD);
	const unsigned char *last = NULL;
	for (int i = 0; i < size; i++) {
		count += got[2 * i];
		sum += got[2 * i + 1];
		if (got[2 * i] && last && memcmp(last, all[i][0], KEY) > 0)
			library_stop("the ranks' outputs are not in order");
		if (got[2 * i])
			last = all[i][1];
	}
	if (count != d->n || sum != d->sum)
		library_stop("the output does not have the records of the input");
	free(all);
	free(got);
}

static double of_ranks(double mine, MPI_Op op)
{
	double all = 0;
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
	return all;
}

/* Sort once, and store the times as sample `at`. If `at` is below 0, this is a warm-up. */
static void library_measure(variant *v, const library_data *d, int at)
{
	memset(d->out, 0, (size_t)(d->n / (uint64_t)size + 1) * RECORD);
	library_barrier();
	/* Reset the peak of resident memory. */
	const int fd = open("/proc/self/clear_refs", O_WRONLY);
	const double before = fd >= 0 && write(fd, "5", 1) == 1 ? status_bytes("VmRSS") : -1;
	if (fd >= 0)
		close(fd);
	const double c0 = cpu_s(), t0 = bench_now_s();
	const uint64_t n = sort_once(v, d);
	const double took = bench_now_s() - t0, cpu = cpu_s() - c0;
	const double extra = before < 0 ? -1 : status_bytes("VmHWM") - before;
	library_barrier();
	library_validate(d, n);
	v->most_extra = fmax(v->most_extra, of_ranks(extra, MPI_MAX));
	const double slowest = of_ranks(took, MPI_MAX), sum = of_ranks(cpu, MPI_SUM);
	if (at >= 0) {
		v->s[at] = slowest;
		v->cpu[at] = sum;
	}
}

/* -------------------------------------------------------------------------------------- report */

/* Print the results of a variant. partner has the medians of time and processor time of the first
 * variant. */
static void library_report(variant *v, const library_data *d, int repeat, const double partner[2])
{
	const double data = (double)d->n * RECORD / (v->single ? 1 : size);
	printf("{\"bench\": \"library\", \"version\": \"%s\", \"variant\": \"%s\", \"ranks\": %d, "
	       "\"threads\": %d, \"exchange_threads\": %d, \"records\": %" PRIu64
	       ", \"record_bytes\": %d, \"compiler\": \"%s\", \"memory_factor\": ",
	       hetsort_version(), v->name, v->single ? 1 : size, v->single ? size : 1,
	       v->single ? 0 : (int)v->exchange_threads, d->n, RECORD, __VERSION__);
	if (v->most_extra < 0)
		printf("null");
	else
		printf("%.3f", 2 + v->most_extra / data);
	printf(", \"samples_s\": ");
	bench_print_list(stdout, v->s, repeat, 4);
	printf(", \"samples_cpu_s\": ");
	bench_print_list(stdout, v->cpu, repeat, 4);
	const double mid = bench_median(v->s, (size_t)repeat),
		     cpu = bench_median(v->cpu, (size_t)repeat);
	printf(", \"median_s\": %.4f, \"to_partner\": %.3f, \"cpu_to_partner\": %.3f}\n", mid,
	       mid / partner[0], cpu / partner[1]);
	fprintf(stderr, "%-28s %8.3f %8.3f %8.3f %7.2fx %8.3f %7.2fx", v->name, mid, v->s[0],
		v->s[repeat - 1], mid / partner[0], cpu, cpu / partner[1]);
	if (v->most_extra < 0)
		fprintf(stderr, " %8s\n", "-");
	else
		fprintf(stderr, " %7.2fx\n", 2 + v->most_extra / data);
}

static void library_prepare(library_data *d)
{
	const uint64_t share = d->n / (uint64_t)size, odd = d->n % (uint64_t)size,
		       r = (uint64_t)rank;
	d->mine = share + (r < odd);
	d->first = r * share + (r < odd ? r : odd);
	const uint64_t in = rank ? d->mine : d->n, out = rank ? share + 1 : d->n + 1;
	if (d->n > SIZE_MAX / RECORD / 2 || !(d->in = malloc((size_t)in * RECORD + 1)) ||
	    !(d->out = malloc((size_t)out * RECORD)))
		library_stop("no memory for the records");
	memset(d->out, 0xa5, (size_t)out * RECORD); /* touch all pages, which calloc() does not */
	for (uint64_t i = 0; i < in; i++)           /* each rank makes its own records */
		for (uint64_t at = 0, w = 0; at < RECORD; at += sizeof w) {
			w = mix(((d->first + i) * 13 + at / sizeof w) *
				UINT64_C(0x9e3779b97f4a7c15));
			memcpy(d->in + i * RECORD + at, &w,
			       RECORD - at < sizeof w ? RECORD - at : sizeof w);
		}
	d->sum = 0;
	for (uint64_t i = 0; rank == 0 && i < in; i++)
		d->sum += library_hash(d->in + i * RECORD);
	MPI_Bcast(&d->sum, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	variant v[VARIANTS] = {
		{ .name = "one rank, a thread for each", .single = true },
		{ .name = "ranks, 0 exchange threads", .exchange_threads = 0 },
		{ .name = "ranks, 1 exchange thread", .exchange_threads = 1 },
		{ .name = "ranks, 2 exchange threads", .exchange_threads = 2 },
	};
	library_data d = { .n = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000 };
	const int repeat = argc > 2 ? atoi(argv[2]) : 5;
	int level = 0;
	if (MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
		return 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (repeat < 1 || repeat > MAX_REPEAT)
		library_stop("REPEAT must be from 1 to 100");
	/* Let each rank use all processors, even if the launcher gives it only one, because the
	 * first variant has many threads. */
	cpu_set_t set[8]; /* 8 x 1024 bits: as many processors as any Linux kernel supports */
	memset(set, 0xff, sizeof set);
	(void)sched_setaffinity(0, sizeof set, set);
	library_prepare(&d);
	for (int i = 0; i < VARIANTS; i++)
		v[i].most_extra = -1;
	for (int round = -1; round < repeat; round++)
		for (int i = 0; i < VARIANTS; i++)
			library_measure(&v[i], &d, round);
	const variant first = v[0]; /* bench_median() sorts samples; the report needs their order */
	const double partner[2] = { bench_median(v[0].s, (size_t)repeat),
				    bench_median(v[0].cpu, (size_t)repeat) };
	v[0] = first;
	if (rank == 0)
		fprintf(stderr, "%-28s %8s %8s %8s %8s %8s %8s %8s\n", "variant", "median s", "min",
			"max", "to one", "cpu s", "to one", "memory");
	for (int i = 0; i < VARIANTS && rank == 0; i++)
		library_report(&v[i], &d, repeat, partner);
	free(d.in);
	free(d.out);
	return MPI_Finalize() != MPI_SUCCESS;
}

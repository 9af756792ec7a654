/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draw whole clusters from seeds: ranks, sizes, layouts, distributions, speeds, strategies,
 * windows, messages and memory, and delays, the order in which blocks arrive, and faults. Each seed
 * is a sort in a process of its own, after which the promises are checked. A seed replays its
 * cluster; only the order of threads is decided by the kernel. fault_sim COUNT [SEED]      seeds
 * SEED, SEED + 1, ... [of the time] */
#include "testing/failpoint.h"
#include "job.h"

#include <pthread.h>
#include "fault_help.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { MOST_RANKS = 9, MOST_BYTES = 1 << 20 };

typedef struct cluster {
	int ranks;
	size_t n, max_msg;
	settings o;
	test_sizes sizes;
	char speeds[128], faults[128];
	bool aborts; /* a fault ends the job without an agreement of the ranks */
} cluster;

static unsigned char in[MOST_BYTES], expected[MOST_BYTES], got[MOST_BYTES + 1];

static uint64_t below(uint64_t *s, uint64_t n)
{
	return splitmix(s) % n;
}

/* ----------------------------------------------------------------------------------- drawing */

static size_t draw_size(uint64_t *s, const cluster *k)
{
	const size_t p = (size_t)k->ranks, most = MOST_BYTES / k->o.lay.record_bytes;
	const size_t edge[] = { 0, 1, p - 1, p, p + 1, 2 * p - 1, 255, 256, 257 };
	const size_t n = below(s, 2) ? edge[below(s, LEN(edge))] : (size_t)below(s, 4000);
	return n < most ? n : most;
}

static void draw_speeds(uint64_t *s, cluster *k)
{
	size_t at = 0;
	for (int i = 0; i < k->ranks; i++)
		at += (size_t)snprintf(k->speeds + at, sizeof k->speeds - at, "%s%g", i ? "," : "",
				       0.25 * (double)(1 + below(s, 12)));
	k->o.speeds = k->speeds;
	k->o.plan = (plan_kind)(PLAN_LINEAR + below(s, 4));
}

static void draw_faults(uint64_t *s, cluster *k)
{
	static const char *const kinds[] = { "alloc:", "file:", "comm:", "thread:", "flip@sent:" };
	const uint64_t count = below(s, 4) % 3; /* half of the clusters have no fault */
	size_t at = 0;
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t kind = below(s, LEN(kinds));
		at += (size_t)snprintf(k->faults + at, sizeof k->faults - at,
				       "%s%s%" PRIu64 "@rank%d", i ? "," : "", kinds[kind],
				       1 + below(s, kind == 2 ? 120 : 40),
				       (int)below(s, (uint64_t)k->ranks));
		k->aborts |= kind == 2;
	}
}

static void draw(cluster *k, uint64_t *s)
{
	static const layout layouts[] = { LAYOUT_BYTES(100, 0, 10),  LAYOUT_BYTES(100, 0, 10),
					  LAYOUT_BYTES(100, 20, 10), LAYOUT_BYTES(16, 3, 5),
					  LAYOUT_BYTES(8, 0, 8),     LAYOUT_BYTES(40, 8, 32),
					  LAYOUT_BYTES(1, 0, 1),     LAYOUT_BYTES(1000, 12, 11) };
	static const size_t msgs[] = { 64, 1000, 4096, 256 << 20 };
	static const char *const inputs[] = { "in" };
	*k = (cluster){ .ranks = 1 + (int)below(s, MOST_RANKS) };
	k->max_msg = msgs[below(s, LEN(msgs))];
	k->o = (settings){ .inputs = inputs,
			   .ninputs = 1,
			   .output = "out",
			   .lay = layouts[below(s, LEN(layouts))],
			   .strategy = below(s, 3) ? BY_MERGING : BY_DISTRIBUTING,
			   .scatter = (scatter_kind)below(s, 3),
			   .exchange_threads = (unsigned)below(s, 3),
			   .threads = 1 + (unsigned)below(s, 3),
			   .max_message = k->max_msg,
			   .test_sizes = &k->sizes,
			   .stable = true };
	k->sizes.bucket_recs = 1 + (size_t)below(s, 500);
	k->sizes.sampled_bytes = below(s, 2);
	k->sizes.lanes = 1 + (size_t)below(s, 4);
	k->o.from_root = k->ranks > 1 && below(s, 4) == 0;
	k->n = draw_size(s, k);
	if (k->ranks == 1 && below(s, 2))
		k->sizes.run_recs = k->n / 6 + 1;
	k->o.tmpdir[0] = "spill";
	k->o.tmpdirs = 1;
	if (below(s, 2))
		draw_speeds(s, k);
	draw_faults(s, k);
}

static void make_records(const cluster *k, uint64_t *s)
{
	const size_t rec = k->o.lay.record_bytes;
	const uint64_t kind = below(s, 5), few = 1 + below(s, 5);
	for (size_t i = 0; i < k->n * rec; i++)
		in[i] = (unsigned char)splitmix(s);
	for (size_t i = 0; i < k->n && kind > 0; i++) {
		unsigned char *key = in + i * rec + k->o.lay.key_off;
		const uint64_t v = kind == 1   ? below(s, few)
				   : kind == 2 ? i
				   : kind == 3 ? k->n - i
					       : (below(s, 10) < 7 ? 7 : splitmix(s));
		for (uint32_t b = 0; b < k->o.lay.key_bytes; b++)
			key[b] = b < 8 ? (unsigned char)(v >> (8 * (7 - b))) : 0;
		if (k->o.lay.key_bytes < 8)
			key[k->o.lay.key_bytes - 1] = (unsigned char)v;
	}
}

static layout compared; /* by in_order: qsort has no context */

static int in_order(const void *a, const void *b)
{
	const unsigned char *x = in + *(const size_t *)a * compared.record_bytes;
	const unsigned char *y = in + *(const size_t *)b * compared.record_bytes;
	const int c = memcmp(x + compared.key_off, y + compared.key_off, compared.key_bytes);
	return c ? c : x < y ? -1 : x > y;
}

/* Make the expected output: sorted by key, with equal keys in the order of the input. */
static bool expect(const cluster *k)
{
	size_t *order = malloc((k->n + 1) * sizeof *order);
	for (size_t i = 0; order && i < k->n; i++)
		order[i] = i;
	if (!order)
		return false;
	compared = k->o.lay;
	qsort(order, k->n, sizeof *order, in_order);
	for (size_t i = 0; i < k->n; i++)
		memcpy(expected + i * compared.record_bytes, in + order[i] * compared.record_bytes,
		       compared.record_bytes);
	free(order);
	FILE *f = fopen("in", "wb");
	const size_t bytes = k->n * compared.record_bytes;
	const bool ok = f && fwrite(in, 1, bytes, f) == bytes;
	return (f ? fclose(f) == 0 : false) && ok;
}

/* ---------------------------------------------------------------------------------- the network */

static struct comm_ops inner, odd; /* the calls of comm_local, and the calls that replace them */
static uint64_t chance[MOST_RANKS];
static pthread_mutex_t dice = PTHREAD_MUTEX_INITIALIZER;

static uint64_t roll(const comm *c)
{
	pthread_mutex_lock(&dice);
	const uint64_t v = splitmix(&chance[c->rank]);
	pthread_mutex_unlock(&dice);
	return v;
}

static void dawdle(const comm *c)
{
	const uint64_t v = roll(c);
	const struct timespec t = { 0, (long)(v >> 8) % 300000 };
	if (v % 8 == 0)
		nanosleep(&t, NULL);
}

static status odd_collective(comm *c, const comm_call *k)
{
	if (k->kind == COMM_ALLGATHER || k->kind == COMM_ALLTOALL)
		dawdle(c);
	return inner.collective(c, k);
}

static status odd_start(comm *c, comm_req *req)
{
	dawdle(c);
	return inner.start(c, req);
}

static status rank_run(comm *c, void *arg)
{
	const cluster *k = arg;
	job_result res = { .status = ST_OK };
	c->ops = &odd;
	const status rc = job_execute(c, &k->o, &res);
	if (atomic_load(&c->broken))
		c->ops->end_job(c, rc);
	job_result_free(&res);
	return rc;
}

/* Note the calls of the first comm. */
static status learn_ops(comm *c, void *arg)
{
	(void)arg;
	inner = odd = *c->ops;
	odd.collective = odd_collective;
	odd.start = odd_start;
	return ST_OK;
}

static void run_child(cluster *k, uint64_t seed, atomic_uint *struck)
{
	err e = { ST_OK, "" };
	for (int i = 0; i < MOST_RANKS; i++)
		chance[i] = seed * MOST_RANKS + (uint64_t)i;
	fail_count_in(struck);
	if (comm_local_run(1, learn_ops, NULL, &e) != ST_OK || FAIL_PLAN(k->faults, &e) != ST_OK)
		_exit(ST_INTERNAL);
	exit((int)comm_local_run(k->ranks, rank_run, k, &e));
}

/* ------------------------------------------------------------------------------------ judging */

static const char *judge(const cluster *k, const ending *end, unsigned struck)
{
	char left[64] = "";
	const size_t bytes = k->n * k->o.lay.record_bytes;
	FILE *f = fopen("out", "rb");
	const bool there = f != NULL;
	const bool right =
		f && fread(got, 1, sizeof got, f) == bytes && memcmp(got, expected, bytes) == 0;
	if (f)
		fclose(f);
	unlink("out");
	take_litter(".", left);
	take_litter("spill", left);
	if (end->hung)
		return "it hangs";
	if (end->signal || end->code < 0 || end->code > ST_INTERNAL)
		return "it died";
	if (end->code == 0)
		return !right    ? "success, but the output is not right"
		       : left[0] ? "left over"
				 : NULL;
	if (!struck)
		return "it failed without a fault";
	if (there && !right)
		return "a wrong output stands under the final name";
	return !k->aborts && left[0] ? "left over" : NULL;
}

typedef struct tally {
	uint64_t runs, struck, failed;
} tally;

static void run_seed(uint64_t seed, atomic_uint *struck, tally *y)
{
	cluster k;
	uint64_t s = seed;
	draw(&k, &s);
	make_records(&k, &s);
	atomic_store(struck, 0);
	if (!expect(&k))
		abort();
	fflush(stdout);
	const pid_t pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0)
		run_child(&k, seed, struck);
	const ending end = await_child(pid);
	const char *why = judge(&k, &end, atomic_load(struck));
	y->runs++;
	y->struck += atomic_load(struck) > 0;
	y->failed += why != NULL;
	if (why)
		printf("# seed %" PRIu64
		       ": %s; exit %d, signal %d: %zu records of %u, key of %u at "
		       "%u, %d ranks, %s, %u and %u threads, messages of %zu, root %d, speeds %s, "
		       "faults %s\n",
		       seed, why, end.code, end.signal, k.n, k.o.lay.record_bytes,
		       k.o.lay.key_bytes, k.o.lay.key_off, k.ranks, strategy_names[k.o.strategy],
		       k.o.threads, k.o.exchange_threads, k.max_msg, k.o.from_root, k.speeds,
		       k.faults);
}

static void work(unsigned i, uint64_t count, uint64_t first, tally *y)
{
	char dir[24];
	atomic_uint *struck = mmap(NULL, sizeof *struck, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(dir, sizeof dir, "sim%u", i);
	if (struck == MAP_FAILED || mkdir(dir, 0700) != 0 || chdir(dir) != 0 ||
	    mkdir("spill", 0700) != 0)
		return;
	for (uint64_t n = i; n < count; n += WORKERS)
		run_seed(first + n, struck, y);
	printf("%s - worker %u: %" PRIu64 " clusters, faults struck %" PRIu64 "\n1..1\n",
	       y->failed || !y->runs ? "not ok" : "ok", i, y->runs, y->struck);
}

int main(int argc, char **argv)
{
	static char own[] = "/tmp/hetsort-sim.XXXXXX";
	const char *dir = getenv("TEST_TMP");
	const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
	tally *each = mmap(NULL, WORKERS * sizeof *each, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool ok = count > 0;
	if (each == MAP_FAILED || chdir(dir ? dir : mkdtemp(own)) != 0)
		return 2;
	const time_t start = time(NULL);
	printf("# seeds from %" PRIu64 "\n", first);
	fflush(stdout);
	for (unsigned i = 0; i < WORKERS && i < count; i++)
		if (fork() == 0) {
			work(i, count, first, &each[i]);
			exit(each[i].failed || !each[i].runs);
		}
	for (int st; wait(&st) > 0;)
		ok &= st == 0;
	tally sum = { 0 };
	for (unsigned i = 0; i < WORKERS; i++) {
		sum.runs += each[i].runs;
		sum.struck += each[i].struck;
		sum.failed += each[i].failed;
	}
	printf("# sum: %" PRIu64 " clusters, faults struck %" PRIu64 " of them: %" PRIu64
	       " promises broken; %.0f s\n",
	       sum.runs, sum.struck, sum.failed, difftime(time(NULL), start));
	return !ok || sum.runs < count;
}

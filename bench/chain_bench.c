/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain_bench.c - Table 2 of [S3] (hetpart.h): random chains of 10 processors and 50 loads.
 * Makespans include latencies. The summary shows them relative to the best makespan of all methods
 * on the same instance: average, standard deviation over the instances, and maximum, next to the
 * average and maximum of the paper. The time to plan is measured, too. Prints one JSON line for
 * each instance and method, then the summary.
 *
 * SINGLELOAD is not defined in [S3]. It is assumed to be the optimum of a single load (Bharadwaj,
 * Ghose, Mani, Robertazzi: Scheduling divisible loads in parallel and distributed systems, 1996):
 * one installment of which all processors that take part end together, as if the chain were idle.
 * The loads follow one another with these fractions. HEURISTIC B of the table is
 * omitted, because [S3] does not define it. */
#include <hetpart.h>

#include "bench.h"

#define PROCS 10
#define LOADS 50

static const double bytes_per_flop[] = { .01, .05, .1, .5, 1, 5, 10, 50, 100 };

static const struct {
	const char *name;
	hetpart_chain_method method;
	size_t installments; /* LP: for each load; MULTIINST: at most; 0: each load by itself */
	const char *paper;
} methods[] = {
	{ "SIMPLE", HETPART_CHAIN_SIMPLE, 1, "1150 / 8386" },
	{ "SINGLELOAD", HETPART_CHAIN_SINGLEINST, 0, "unknown" },
	{ "SINGLEINST", HETPART_CHAIN_SINGLEINST, 1, "1.063 / 1.523" },
	{ "MULTIINST 100", HETPART_CHAIN_MULTIINST, 100, "1.140 / 1.987" },
	{ "MULTIINST 300", HETPART_CHAIN_MULTIINST, 300, "1.140 / 1.987" },
	{ "LP 1", HETPART_CHAIN_LP, 1, "1.00047 / 1.00498" },
	{ "LP 2", HETPART_CHAIN_LP, 2, "1.00005 / 1.00196" },
	{ "LP 3", HETPART_CHAIN_LP, 3, "1.00002 / 1.00098" },
	{ "LP 6", HETPART_CHAIN_LP, 6, "1.00000 / 1.00001" },
};
#define METHODS LEN(methods)

typedef struct instance {
	double w[PROCS], z[PROCS], latency[PROCS], vcomm[LOADS], vcomp[LOADS];
} instance;

typedef struct figures {
	double mean, squares; /* of the differences from the mean */
	double most, seconds, longest;
	int n, failed, timed_out;
} figures;

typedef struct setup {
	int instances;
	double limit_s;
	size_t max_lp;
	unsigned seed;
} setup;

/* Draw an instance: powers in MFLOPS, links in Mb/s, volumes in FLOP and bytes, times in s. */
static instance chain_draw(uint64_t *s, bool same_power, bool wide, double ratio)
{
	instance in;
	for (int i = 0; i < PROCS; i++) {
		double power = same_power ? 100 : 10 + 90 * rnd_real(s);
		double band = 10 + 90 * rnd_real(s);
		in.w[i] = 1e-6 / power;
		in.z[i] = 8e-6 / band;
		in.latency[i] = 1e-3 * (1 - .9 * (band - 10) / 90);
	}
	for (int n = 0; n < LOADS; n++) {
		in.vcomp[n] = wide ? 6e9 + (4e12 - 6e9) * rnd_real(s) : 6e9 + 54e9 * rnd_real(s);
		in.vcomm[n] = in.vcomp[n] * ratio;
	}
	return in;
}

/* Divide each load as if it were the only one, and find the dates of all. */
static hetpart_status single_loads(hetpart_schedule **out, const hetpart_chain *all,
				   const hetpart_chain_opts *opts, hetpart_err *err)
{
	double fraction[LOADS * PROCS];
	for (size_t n = 0; n < LOADS; n++) {
		hetpart_chain one = *all;
		hetpart_schedule *sd;
		one.nloads = 1;
		one.vcomm += n;
		one.vcomp += n;
		const hetpart_status rc = hetpart_chain_create(&sd, &one, opts, err);
		if (rc != HETPART_OK)
			return rc;
		for (size_t i = 0; i < PROCS; i++)
			fraction[n * PROCS + i] = hetpart_schedule_fraction(sd, 0, 0, i);
		hetpart_schedule_free(sd);
	}
	return hetpart_chain_replay(out, all, fraction, LEN(fraction), err);
}

static hetpart_status chain_solve(const instance *in, size_t k, const setup *su, double *makespan,
				  double *planned, hetpart_err *err)
{
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	hetpart_chain ch = HETPART_CHAIN_INIT;
	size_t q[LOADS];
	hetpart_schedule *sd;
	hetpart_status rc;
	for (int n = 0; n < LOADS; n++)
		q[n] = methods[k].method == HETPART_CHAIN_LP ? methods[k].installments : 1;
	ch.nprocs = PROCS, ch.nloads = LOADS, ch.installments = q;
	ch.w = in->w, ch.z = in->z, ch.latency = in->latency;
	ch.vcomm = in->vcomm, ch.vcomp = in->vcomp;
	opts.method = methods[k].method;
	opts.max_installments = methods[k].installments;
	opts.limit_s = su->limit_s;
	rc = methods[k].installments ? hetpart_chain_create(&sd, &ch, &opts, err)
				     : single_loads(&sd, &ch, &opts, err);
	if (rc != HETPART_OK)
		return rc;
	*makespan = hetpart_schedule_makespan(sd);
	*planned = hetpart_schedule_planned_makespan(sd);
	hetpart_schedule_free(sd);
	return rc;
}

static void chain_instance(const setup *su, uint64_t seed, int combo, int number, figures *fig)
{
	bool same = combo / 18, wide = combo / 9 % 2;
	uint64_t s = seed;
	instance in = chain_draw(&s, same, wide, bytes_per_flop[combo % 9]);
	double span[METHODS], planned = NAN, best = INFINITY;
	for (size_t k = 0; k < METHODS; k++) {
		hetpart_err err;
		span[k] = NAN;
		if (methods[k].method == HETPART_CHAIN_LP && methods[k].installments > su->max_lp)
			continue;
		double t0 = bench_now_s(), c0 = cpu_s();
		hetpart_status rc = chain_solve(&in, k, su, &span[k], &planned, &err);
		double dt = bench_now_s() - t0, cpu = cpu_s() - c0;
		printf("{\"bench\":\"chain\",\"powers\":\"%s\",\"volumes\":\"%s\",\"bytes_per_"
		       "flop\":%g,\"instance\":%d,\"seed\":%" PRIu64
		       ",\"method\":\"%s\",\"seconds\":%.4g,\"cpu_s\":%.4g,",
		       same ? "100" : "10..100", wide ? "6e9..4e12" : "6e9..6e10",
		       bytes_per_flop[combo % 9], number, seed, methods[k].name, dt, cpu);
		if (rc == HETPART_OK)
			printf("\"makespan\":%.12g", span[k]);
		else
			printf("\"failed\":\"%s\"", err.text);
		if (rc == HETPART_OK && isfinite(planned))
			printf(",\"planned\":%.12g", planned);
		puts("}");
		fflush(stdout);
		fig[k].failed += rc != HETPART_OK && rc != HETPART_ETIME;
		fig[k].timed_out += rc == HETPART_ETIME;
		fig[k].seconds += dt;
		fig[k].longest = fmax(fig[k].longest, dt);
		if (rc == HETPART_OK)
			best = fmin(best, span[k]);
	}
	for (size_t k = 0; k < METHODS; k++)
		if (!isnan(span[k])) {
			const double ratio = span[k] / best, off = ratio - fig[k].mean;
			fig[k].n++;
			fig[k].mean += off / fig[k].n;
			fig[k].squares += off * (ratio - fig[k].mean);
			fig[k].most = fmax(fig[k].most, ratio);
		}
}

int main(int argc, char **argv)
{
	setup su = { .instances = (int)bench_option(argc, argv, "--instances", 3),
		     .limit_s = bench_option(argc, argv, "--limit", 60),
		     .max_lp = (size_t)bench_option(argc, argv, "--max-lp", 6),
		     .seed = (unsigned)bench_option(argc, argv, "--seed", 1) };
	int step = (int)bench_option(argc, argv, "--every", 1);
	figures fig[METHODS] = { 0 };
	if (argc % 2 == 0 || su.instances < 1 || step < 1) {
		fprintf(stderr, "usage: chain_bench [--instances N] [--limit SECONDS] [--max-lp Q] "
				"[--seed S] [--every K]\n");
		return 2;
	}
	printf("{\"bench\":\"chain\",\"library\":\"%s\",\"compiler\":\"%s\",\"limit_s\":%g}\n",
	       hetpart_version(), __VERSION__, su.limit_s);
	for (int combo = 0; combo < 36; combo += step)
		for (int r = 0; r < su.instances; r++)
			chain_instance(&su, su.seed * 1000000 + (uint64_t)(combo * 1000 + r), combo,
				       r, fig);
	for (size_t k = 0; k < METHODS; k++)
		if (fig[k].n)
			printf("{\"bench\":\"chain\",\"summary\":\"%s\",\"instances\":%d,"
			       "\"average\":%.6g,\"deviation\":%.3g,"
			       "\"maximum\":%.6g,\"paper\":\"%s\",\"seconds\":%.4g,\"longest_s\":%."
			       "4g,\"timed_out\":%d,\"failed\":%d}\n",
			       methods[k].name, fig[k].n, fig[k].mean,
			       sqrt(fig[k].squares / fmax(1, fig[k].n - 1)), fig[k].most,
			       methods[k].paper, fig[k].seconds, fig[k].longest, fig[k].timed_out,
			       fig[k].failed);
	return 0;
}

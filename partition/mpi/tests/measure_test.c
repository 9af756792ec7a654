/* SPDX-License-Identifier: GPL-3.0-or-later */
/* measure_test.c - a kernel that takes twice as long is measured as half as fast, and links have a
 * sane cost. Gathered costs give the same plan on every rank. Kernels are measured by a clock that
 * moves only for their naps, so other load on the machine does not matter. */
#include "check.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_bool made_up; /* is the time? */
static atomic_llong made_up_ns;

/* Replace the function of the C library, in this program and the libraries that it is linked with.
 * Each call takes some time, too. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	if (!atomic_load(&made_up))
		return (int)syscall(SYS_clock_gettime, id, t);
	const long long ns = atomic_fetch_add(&made_up_ns, 100);
	*t = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	return 0;
}

static void by_made_up_time(bool on)
{
	struct timespec now;

	if (on && syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0)
		atomic_store(&made_up_ns, now.tv_sec * 1000000000LL + now.tv_nsec);
	atomic_store(&made_up, on);
}

struct nap {
	long us; /* for each item */
	uint64_t calls, most, fails_at;
};

static hetpart_status sleeper(void *ctx, uint64_t items, hetpart_err *err)
{
	struct nap *n = ctx;

	atomic_fetch_add(&made_up_ns, n->us * 1000LL * (long long)items);
	n->calls++;
	if (items > n->most)
		n->most = items;
	if (n->calls == n->fails_at) {
		snprintf(err->text, sizeof err->text, "call %d fails", (int)n->calls);
		return HETPART_ENOSOL;
	}
	return HETPART_OK;
}

static bool sane(const hetpart_mpi_timing *t)
{
	bool good = t->npoints >= 1 && t->npoints <= HETPART_MPI_POINTS_MAX &&
		    isfinite(t->fit.startup_s) && isfinite(t->fit.per_item_s) &&
		    t->fit.startup_s >= 0 && t->fit.per_item_s >= 0;

	for (size_t i = 0; i < t->npoints; i++)
		good = good && t->points[i].time_s > 0 && isfinite(t->points[i].time_s) &&
		       t->points[i].items >= 1 &&
		       (i == 0 || t->points[i].items > t->points[i - 1].items);
	return good;
}

static bool near(double x, double wanted)
{
	return fabs(x - wanted) < 0.01 * wanted;
}

/* Return this rank's speed: odd ranks take twice as long. */
static double compute(hetpart_mpi_timing *t, double limit_s)
{
	double *speeds = calloc((size_t)size, sizeof *speeds);
	struct nap n = { .us = rank % 2 ? 4000 : 2000 };
	const double nap_s = 1e-6 * (double)n.us;
	hetpart_err err;

	if (!speeds)
		exit(1);
	IS(hetpart_mpi_measure_compute(t, sleeper, &n, 16, limit_s, MPI_COMM_WORLD, &err),
	   HETPART_OK, &err, "measure");
	CHECK(sane(t), "%zu points, %g + %g n", t->npoints, t->fit.startup_s, t->fit.per_item_s);
	CHECK(near(t->fit.per_item_s, nap_s), "%g s for an item", t->fit.per_item_s);
	CHECK(n.most <= 16 && n.calls >= 2, "%" PRIu64 " items at most", n.most);
	for (size_t i = 0; i < t->npoints; i++)
		CHECK(near(t->points[i].time_s, nap_s * t->points[i].items), "point %zu: %g s", i,
		      t->points[i].time_s);
	const double speed = 1 / t->fit.per_item_s;
	IS(hetpart_mpi_gather_speeds(speeds, speed, MPI_COMM_WORLD, &err), HETPART_OK, &err,
	   "gather");
	CHECK(speeds[rank] == speed, "%g", speeds[rank]);
	for (int i = 0; i < size; i++)
		CHECK(near(speeds[0] / speeds[i], i % 2 ? 2 : 1), "rank %d: %g, rank 0: %g", i,
		      speeds[i], speeds[0]);
	free(speeds);
	return speed;
}

/* Measure a kernel whose first item exceeds the time, and one with at most one item. */
static void short_measures(void)
{
	struct nap slow = { .us = 30000 }, single = { .us = 100 };
	hetpart_mpi_timing t;
	hetpart_err err;

	IS(hetpart_mpi_measure_compute(&t, sleeper, &slow, 1000, 0.01, MPI_COMM_WORLD, &err),
	   HETPART_OK, &err, "slow");
	CHECK(slow.calls == 1 && t.npoints == 1 && near(t.fit.per_item_s, 0.03) &&
		      t.fit.startup_s == 0,
	      "%" PRIu64 " calls, %g", slow.calls, t.fit.per_item_s);
	IS(hetpart_mpi_measure_compute(&t, sleeper, &single, 1, 0.01, MPI_COMM_WORLD, &err),
	   HETPART_OK, &err, "single");
	CHECK(single.most == 1 && t.npoints == 1 && near(t.fit.per_item_s, 1e-4), "%g",
	      t.fit.per_item_s);
}

static void failing_kernel(int who)
{
	struct nap n = { .us = 10, .fails_at = rank == who ? 2 : 0 };
	hetpart_mpi_timing t = { .npoints = 77 };
	hetpart_err err;

	IS(hetpart_mpi_measure_compute(&t, sleeper, &n, 100, 0.01, MPI_COMM_WORLD, &err),
	   rank == who ? HETPART_ENOSOL : HETPART_EPEER, &err, "failing kernel");
	CHECK(strstr(err.text, "call 2 fails") && t.npoints == 77, "%s", err.text);
}

static void links(hetpart_mpi_timing *t, int root, uint64_t item_bytes, uint64_t most)
{
	hetpart_err err;

	IS(hetpart_mpi_measure_link(t, item_bytes, most, 0.1, root, MPI_COMM_WORLD, &err),
	   HETPART_OK, &err, "link");
	if (rank == root) {
		CHECK(t->npoints == 0 && t->fit.startup_s == 0 && t->fit.per_item_s == 0, "root");
		return;
	}
	CHECK(sane(t), "%zu points, %g + %g n", t->npoints, t->fit.startup_s, t->fit.per_item_s);
	CHECK(t->points[0].items == 1 && t->points[t->npoints - 1].items <= (double)most,
	      "%g items", t->points[t->npoints - 1].items);
	CHECK(t->fit.startup_s + t->fit.per_item_s > 0, "free");
	CHECK(t->npoints >= 2 || most == 1, "one point cannot separate bandwidth from latency");
}

/* Plan a scatter by measured costs: the plan is the same everywhere, and every rank has a share. */
static void plan_with(const hetpart_mpi_timing *work, const hetpart_mpi_timing *link, int root)
{
	hetpart_mpi_scatter_opts o = HETPART_MPI_SCATTER_OPTS_INIT;
	hetpart_plan *plan = NULL;
	hetpart_err err;

	o.compute = work->fit;
	o.link = link->fit;
	IS(hetpart_mpi_scatter_plan(&plan, NULL, 100000, root, MPI_COMM_WORLD, &o, &err),
	   HETPART_OK, &err, "plan");
	IS(hetpart_mpi_plan_agree(plan, MPI_COMM_WORLD, &err), HETPART_OK, &err, "agree");
	CHECK(hetpart_plan_items(plan) == 100000, "items");
	for (int j = 0; j < size; j++)
		CHECK(hetpart_plan_share(plan, (size_t)j) > 0, "entry %d gets nothing", j);
	hetpart_plan_free(plan);
}

/* Make the same model, and the same plan, on every rank from the observations of all. */
static void models(double speed)
{
	hetpart_model *model = NULL;
	hetpart_plan *plan = NULL;
	hetpart_err err;
	hetpart_point seen[9];
	const size_t n = (size_t)rank % 3 * 3; /* some ranks have seen nothing */

	for (size_t i = 0; i < n; i++) {
		const double items = 100 * pow(3, (double)i) + rank;
		seen[i] = (hetpart_point){ items, items * log(items) / speed };
	}
	IS(hetpart_model_create(&model, &err), HETPART_OK, &err, "model");
	for (int batch = 1; batch <= 2; batch++) {
		double weight = 0;

		for (int r = 0; r < size; r++)
			weight += batch * (r % 3 * 3);
		IS(hetpart_mpi_model_add(model, seen, n, speed, MPI_COMM_WORLD, &err), HETPART_OK,
		   &err, "add");
		CHECK(fabs(hetpart_model_weight(model) - weight) < 1e-9, "%g, want %g",
		      hetpart_model_weight(model), weight);
		IS(hetpart_mpi_share_create(&plan, 123457, speed, model, NULL, MPI_COMM_WORLD,
					    &err),
		   HETPART_OK, &err, "share");
		IS(hetpart_mpi_plan_agree(plan, MPI_COMM_WORLD, &err), HETPART_OK, &err, "agree");
		CHECK(hetpart_plan_nprocs(plan) == (size_t)size &&
			      hetpart_plan_items(plan) == 123457,
		      "plan");
		hetpart_plan_free(plan);
	}
	hetpart_model_free(model);
}

/* Detect plans that differ, on every rank. */
static void differing(double speed)
{
	const hetpart_status wanted = size > 1 ? HETPART_EINVAL : HETPART_OK;
	const double mine = 1;
	hetpart_cost *linear = NULL;
	hetpart_plan *plan = NULL;
	hetpart_err err;

	IS(hetpart_cost_linear(&linear, 1, &err), HETPART_OK, &err, "cost");
	IS(hetpart_share_create(&plan, rank == size - 1 ? 10 : 11, &mine, 1, linear, NULL, &err),
	   HETPART_OK, &err, "share");
	IS(hetpart_mpi_plan_agree(plan, MPI_COMM_WORLD, &err), wanted, &err, "differ");
	hetpart_plan_free(plan);
	hetpart_cost_free(linear);
	IS(hetpart_mpi_share_create(&plan, rank == 0 ? 1000 : 1001, speed, NULL, NULL,
				    MPI_COMM_WORLD, &err),
	   wanted, &err, "items differ");
	CHECK((plan != NULL) == (size == 1), "a plan all the same");
	hetpart_plan_free(plan);
}

/* Broadcast a plan that only the root can make, from every root: all copies are equal. */
static void plan_of_one(void)
{
	for (int root = 0; root < size; root++) {
		hetpart_plan *made = NULL, *got = NULL;
		hetpart_cost *nlogn = NULL;
		hetpart_err err;
		double speeds[3] = { 1, 2, 3 + root };

		IS(hetpart_cost_nlogn(&nlogn, 1, &err), HETPART_OK, &err, "cost");
		if (rank == root)
			IS(hetpart_share_create(&made, 12345, speeds, 3, nlogn, NULL, &err),
			   HETPART_OK, &err, "plan");
		IS(hetpart_mpi_plan_bcast(&got, made, root, MPI_COMM_WORLD, &err), HETPART_OK, &err,
		   "broadcast");
		IS(hetpart_mpi_plan_agree(got, MPI_COMM_WORLD, &err), HETPART_OK, &err, "agree");
		CHECK(hetpart_plan_items(got) == 12345 && hetpart_plan_nprocs(got) == 3 &&
			      !strcmp(hetpart_plan_method(got), "exact, Lambert W"),
		      "%s", hetpart_plan_method(got));
		CHECK(!made || (hetpart_plan_hash(made) == hetpart_plan_hash(got) &&
				hetpart_plan_makespan(made) == hetpart_plan_makespan(got)),
		      "hash");
		hetpart_plan_free(got);
		IS(hetpart_mpi_plan_bcast(&got, NULL, root, MPI_COMM_WORLD, &err),
		   rank == root ? HETPART_EINVAL : HETPART_EPEER, &err, "no plan");
		CHECK(!got, "no plan on failure");
		hetpart_plan_free(made);
		hetpart_cost_free(nlogn);
	}
}

int main(int argc, char **argv)
{
	hetpart_mpi_timing work = { .npoints = 0 }, link = { .npoints = 0 };
	double speed;

	start(&argc, &argv);
	by_made_up_time(true);
	speed = compute(&work, 0.5);
	speed = compute(&work, 0); /* the default */
	short_measures();
	for (int who = 0; who < size; who++)
		failing_kernel(who);
	by_made_up_time(false);
	links(&link, size - 1, 100, 1000000);
	links(&link, 0, 1, 1);
	links(&link, size / 2, 8, 1 << 20);
	plan_with(&work, &link, size / 2);
	models(speed);
	differing(speed);
	plan_of_one();
	return finish();
}

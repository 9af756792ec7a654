/* SPDX-License-Identifier: GPL-3.0-or-later */
/* measure_test.c - a kernel that sleeps twice as long is measured as about half as fast, links have
 * a sane cost, and what is gathered gives the same plan on every rank. */
#include "check.h"

#include <math.h>
#include <time.h>

struct nap {
	long us; /* for each item */
	uint64_t calls, most, fails_at;
};

static hetpart_status sleeper(void *ctx, uint64_t items, hetpart_err *err)
{
	struct nap *n = ctx;
	const long us = n->us * (long)items;
	const struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	n->calls++;
	if (items > n->most)
		n->most = items;
	if (n->calls == n->fails_at) {
		snprintf(err->text, sizeof err->text, "call %d fails", (int)n->calls);
		return HETPART_ENOSOL;
	}
	return nanosleep(&t, NULL) == 0 ? HETPART_OK : HETPART_EINTERNAL;
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

/* Every rank's speed is what it ought to be beside rank 0's, and no point is far above the naps. */
static bool as_expected(const double *speeds, const hetpart_mpi_timing *t, double nap_s)
{
	int good = 1, all = 0;

	for (size_t i = 0; i < t->npoints; i++)
		good = good && t->points[i].time_s < 1.6 * nap_s * t->points[i].items;
	for (int i = 0; i < size; i++) {
		const double ratio = speeds[0] / speeds[i] / (i % 2 ? 2 : 1);

		good = good && ratio > 0.75 && ratio < 1.35;
	}
	if (MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS)
		exit(1);
	return all != 0;
}

/* Nobody sleeps shorter than asked. */
static bool no_shorter(const hetpart_mpi_timing *t, double nap_s)
{
	for (size_t i = 0; i < t->npoints; i++)
		if (t->points[i].time_s < 0.99 * nap_s * t->points[i].items)
			return false;
	return true;
}

/* Odd ranks take twice as long. Returns this rank's speed. A busy machine may wake a sleeper late:
 * one measurement in five has to be right. */
static double compute(hetpart_mpi_timing *t)
{
	double *speeds = calloc((size_t)size, sizeof *speeds), speed = 1;
	bool good = false;
	hetpart_err err;

	if (!speeds)
		exit(1);
	for (int tries = 0; tries < 5 && !good; tries++) {
		struct nap n = { .us = rank % 2 ? 4000 : 2000 };

		IS(hetpart_mpi_measure_compute(t, sleeper, &n, 16, tries ? 0.5 : 0, MPI_COMM_WORLD,
					       &err),
		   HETPART_OK, &err, "measure");
		CHECK(sane(t), "%zu points, %g + %g n", t->npoints, t->fit.startup_s,
		      t->fit.per_item_s);
		CHECK(t->fit.per_item_s > 0, "free items");
		CHECK(n.most <= 16 && n.calls >= 2, "%" PRIu64 " items at most", n.most);
		speed = 1 / t->fit.per_item_s;
		IS(hetpart_mpi_gather_speeds(speeds, speed, MPI_COMM_WORLD, &err), HETPART_OK, &err,
		   "gather");
		CHECK(speeds[rank] == speed, "%g", speeds[rank]);
		CHECK(no_shorter(t, 1e-6 * (double)n.us), "%g s for an item", t->points[0].time_s);
		good = as_expected(speeds, t, 1e-6 * (double)n.us);
	}
	CHECK(good, "speed %g, rank 0's is %g", speed, speeds[0]);
	free(speeds);
	return speed;
}

/* A kernel whose first item is over the time, and one with at most one item. */
static void short_measures(void)
{
	struct nap slow = { .us = 30000 }, single = { .us = 100 };
	hetpart_mpi_timing t;
	hetpart_err err;

	IS(hetpart_mpi_measure_compute(&t, sleeper, &slow, 1000, 0.01, MPI_COMM_WORLD, &err),
	   HETPART_OK, &err, "slow");
	CHECK(slow.calls == 1 && t.npoints == 1 && t.fit.per_item_s >= 0.03 && t.fit.startup_s == 0,
	      "%" PRIu64 " calls, %g", slow.calls, t.fit.per_item_s);
	IS(hetpart_mpi_measure_compute(&t, sleeper, &single, 1, 0.01, MPI_COMM_WORLD, &err),
	   HETPART_OK, &err, "single");
	CHECK(single.most == 1 && t.npoints == 1 && t.fit.per_item_s >= 1e-4, "%g",
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
	CHECK(t->npoints >= 2 || most == 1, "one point does not tell bandwidth from latency");
}

/* The measured costs plan a scatter, with the same plan everywhere and no rank left out. */
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

/* Observations of all ranks make the same model, and that the same plan, on every rank. */
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

/* Plans that differ are told apart, on every rank. */
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

int main(int argc, char **argv)
{
	hetpart_mpi_timing work = { .npoints = 0 }, link = { .npoints = 0 };
	double speed;

	start(&argc, &argv);
	speed = compute(&work);
	short_measures();
	for (int who = 0; who < size; who++)
		failing_kernel(who);
	links(&link, size - 1, 100, 1000000);
	links(&link, 0, 1, 1);
	links(&link, size / 2, 8, 1 << 20);
	plan_with(&work, &link, size / 2);
	models(speed);
	differing(speed);
	return finish();
}

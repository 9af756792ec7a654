/* SPDX-License-Identifier: GPL-3.0-or-later */
/* learn.c - learn how long a number of items takes, while batches are worked on by nodes of known
 * speed. Each batch is divided by the times of the previous batches.
 *     cc learn.c $(pkg-config --cflags --libs hetpart) && ./a.out && ./a.out
 * The results are kept in learn.wisdom, or in the file that the argument names, so the second job
 * begins with the results of the first. The time of a share is a formula here; your program would
 * measure it instead. */
#include <math.h>
#include <stdio.h>

#include <hetpart.h>

#define NODES   4
#define BATCHES 5
#define ITEMS   UINT64_C(100000)

static const double speeds[NODES] = { 1, 1, 2, 6 };

/* Return the time of a share, n to the 1.7. The planner does not know this formula. */
static double share_time_s(uint64_t items, double speed)
{
	return 1e-6 * pow((double)items, 1.7) / speed;
}

static hetpart_status batch(hetpart_model *model, int number, hetpart_err *err)
{
	hetpart_plan *plan;
	hetpart_point seen[NODES];
	double first = INFINITY, last = 0;
	hetpart_status rc = hetpart_model_plan(&plan, model, ITEMS, speeds, NODES, NULL, err);

	if (rc != HETPART_OK)
		return rc;
	for (size_t i = 0; i < NODES; i++) {
		uint64_t share = hetpart_plan_share(plan, i);
		double took_s = share_time_s(share, speeds[i]);
		seen[i].items = (double)share;
		seen[i].time_s = took_s;
		first = fmin(first, took_s);
		last = fmax(last, took_s);
	}
	printf("batch %d: nodes end after %.2f to %.2f s\n", number, first, last);
	hetpart_plan_free(plan);
	return hetpart_model_observe(model, seen, speeds, NODES, err);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "learn.wisdom", *host = "example node";
	hetpart_wisdom *wisdom = NULL;
	hetpart_model *model; /* owned by the wisdom */
	hetpart_err err;
	hetpart_status rc;

	/* Start without wisdom if there is no file, or if the file is of another machine. */
	rc = hetpart_wisdom_load(&wisdom, path, host, 0, &err);
	if (rc == HETPART_EIO || rc == HETPART_ESTALE) {
		printf("starting without wisdom: %s\n", err.text);
		rc = hetpart_wisdom_create(&wisdom, host, &err);
	}
	if (rc == HETPART_OK)
		rc = hetpart_wisdom_model(wisdom, "work", &model, &err);
	for (int i = 0; i < BATCHES && rc == HETPART_OK; i++)
		rc = batch(model, i, &err);
	if (rc == HETPART_OK)
		rc = hetpart_wisdom_save(wisdom, path, &err);
	hetpart_wisdom_free(wisdom);
	if (rc != HETPART_OK)
		fprintf(stderr, "learn: %s\n", err.text);
	return rc != HETPART_OK;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter.c - a root sends 817101 items to 15 processors, one after the other, and keeps a share.
 * The platform is Table 1 of Genaud, Giersch and Vivien, in the best order of service. Prints the
 * makespans of equal shares and of the best shares.
 *     cc scatter.c $(pkg-config --cflags --libs hetpart) */
#include <stdio.h>

#include <hetpart.h>

#define PROCS 16
#define ITEMS UINT64_C(817101)

/* The seconds per item of each processor, to compute it and to send it there. The root is last. */
static const double seconds[PROCS][2] = {
	{ .004629, 1.00e-5 }, { .009365, 1.12e-5 }, { .004885, 1.70e-5 }, { .016156, 2.10e-5 },
	{ .016156, 2.10e-5 }, { .009677, 3.53e-5 }, { .009677, 3.53e-5 }, { .009677, 3.53e-5 },
	{ .009677, 3.53e-5 }, { .009677, 3.53e-5 }, { .009677, 3.53e-5 }, { .009677, 3.53e-5 },
	{ .009677, 3.53e-5 }, { .003976, 8.15e-5 }, { .003976, 8.15e-5 }, { .009288, 0 },
};

static double equal_makespan(void)
{
	double sent = 0, last = 0;

	for (int i = 0; i < PROCS; i++) {
		double share = (double)ITEMS / PROCS;
		sent += share * seconds[i][1];
		if (sent + share * seconds[i][0] > last)
			last = sent + share * seconds[i][0];
	}
	return last;
}

static hetpart_status divide_items(hetpart_plan **plan, hetpart_err *err)
{
	hetpart_cost *costs[PROCS][2] = { { NULL } };
	hetpart_scatter_proc procs[PROCS];
	hetpart_status rc = HETPART_OK;

	for (int i = 0; i < PROCS && rc == HETPART_OK; i++) {
		rc = hetpart_cost_affine(&costs[i][0], 0, seconds[i][0], 1, err);
		if (rc == HETPART_OK)
			rc = hetpart_cost_affine(&costs[i][1], 0, seconds[i][1], 1, err);
		procs[i].compute = costs[i][0];
		procs[i].link = costs[i][1];
	}
	if (rc == HETPART_OK)
		rc = hetpart_scatter_create(plan, ITEMS, procs, PROCS, NULL, err);
	for (int i = 0; i < PROCS; i++) {
		hetpart_cost_free(costs[i][0]);
		hetpart_cost_free(costs[i][1]);
	}
	return rc;
}

int main(void)
{
	hetpart_plan *plan = NULL;
	hetpart_err err;

	if (divide_items(&plan, &err) != HETPART_OK) {
		fprintf(stderr, "scatter: %s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < PROCS; i++)
		printf("%zu %llu\n", i, (unsigned long long)hetpart_plan_share(plan, i));
	printf("equal shares %.1f s, best %.7f s\n", equal_makespan(), hetpart_plan_makespan(plan));
	hetpart_plan_free(plan);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* learn.c - the cost is not known: run, measure, plan again, and keep what was learnt in a file.
 * The machine is played by a function. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hetpart.h>

enum { NODES = 3, BATCHES = 5 };

static const char *file = "learn.wisdom", *host = "example / 3 nodes";

/* What the machine really does, unknown to the planner. */
static double run(uint64_t items, double speed)
{
	return 1e-6 * pow((double)items, 1.2) / speed;
}

static void check(hetpart_status rc, const hetpart_err *err)
{
	if (rc == HETPART_OK)
		return;
	fprintf(stderr, "learn: %s\n", err->text);
	exit(1);
}

/* Yesterday's wisdom if it is ours and sound, otherwise a fresh one. */
static hetpart_wisdom *open_wisdom(void)
{
	hetpart_wisdom *wisdom;
	hetpart_err err;

	if (hetpart_wisdom_load(&wisdom, file, host, 0, &err) == HETPART_OK)
		return wisdom;
	printf("starting anew\n");
	check(hetpart_wisdom_create(&wisdom, host, &err), &err);
	return wisdom;
}

int main(void)
{
	double speeds[NODES] = { 1, 2, 3 };
	hetpart_wisdom *wisdom = open_wisdom();
	hetpart_model *model;
	hetpart_err err;

	check(hetpart_wisdom_model(wisdom, "sort", &model, &err), &err);
	for (int batch = 1; batch <= BATCHES; batch++) {
		hetpart_plan *plan;
		hetpart_point seen[NODES];
		double first = INFINITY, last = 0;
		check(hetpart_model_plan(&plan, model, 1000000, speeds, NODES, NULL, &err), &err);
		for (size_t i = 0; i < NODES; i++) {
			uint64_t n = hetpart_plan_share(plan, i);
			double t = run(n, speeds[i]);
			first = fmin(first, t);
			last = fmax(last, t);
			seen[i] = (hetpart_point){ (double)n, t * speeds[i] };
		}
		printf("batch %d: nodes end within %.1f %% of each other\n", batch,
		       100 * (last / first - 1));
		check(hetpart_model_decay(model, 0.95, &err), &err);
		check(hetpart_model_add(model, seen, NODES, &err), &err);
		hetpart_plan_free(plan);
	}
	check(hetpart_wisdom_save(wisdom, file, &err), &err);
	hetpart_wisdom_free(wisdom);
	return unlink(file);
}

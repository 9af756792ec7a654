/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capacity.c - limit the items of a node with little memory. The second plan fails, because not all
 * items fit, and the message of the library is printed. */
#include <stdio.h>

#include <hetpart.h>

int main(void)
{
	double speeds[] = { 1, 2, 4 };
	uint64_t most[] = { 1000, 1000, 300 };
	hetpart_opts opts = HETPART_OPTS_INIT;
	hetpart_cost *linear = NULL;
	hetpart_plan *plan = NULL;
	hetpart_err err;

	opts.capacities = most;
	if (hetpart_cost_linear(&linear, 1, &err) != HETPART_OK)
		return 1;
	if (hetpart_share_create(&plan, 900, speeds, 3, linear, &opts, &err) == HETPART_OK)
		for (size_t i = 0; i < hetpart_plan_nprocs(plan); i++)
			printf("node %zu: %llu\n", i,
			       (unsigned long long)hetpart_plan_share(plan, i));
	hetpart_plan_free(plan);
	if (hetpart_share_create(&plan, 2500, speeds, 3, linear, &opts, &err) != HETPART_OK)
		printf("%s: %s\n", hetpart_status_text(err.status), err.text);
	hetpart_plan_free(plan);
	hetpart_cost_free(linear);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shares.c - four nodes sort a million records: how many should each take? */
#include <stdio.h>

#include <hetpart.h>

int main(void)
{
	double speeds[] = { 1, 1.5, 2, 4 }; /* any unit */
	hetpart_cost *sorting = NULL;
	hetpart_plan *plan = NULL;
	hetpart_err err;
	char text[2000];
	int rc = 1;

	if (hetpart_cost_nlogn(&sorting, 1e-8, &err) != HETPART_OK ||
	    hetpart_share_create(&plan, 1000000, speeds, 4, sorting, NULL, &err) != HETPART_OK) {
		fprintf(stderr, "shares: %s\n", err.text);
		goto out;
	}
	hetpart_plan_print(plan, text, sizeof text);
	fputs(text, stdout);
	rc = 0;
out:
	hetpart_plan_free(plan);
	hetpart_cost_free(sorting);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain.c - two loads on a chain of three processors. Each processor passes on the part that it
 * does not compute. Prints how much earlier all is done if each load is sent in more installments.
 *     cc chain.c $(pkg-config --cflags --libs hetpart) */
#include <stdio.h>

#include <hetpart.h>

static const double w[] = { 1, 1, 1 }, z[] = { .5, .5 };
static const double data[] = { 1, 1 }, work[] = { 1, 1 };

static hetpart_chain chain_with(const size_t *installments)
{
	hetpart_chain chain = HETPART_CHAIN_INIT;

	chain.nprocs = 3;
	chain.nloads = 2;
	chain.w = w;
	chain.z = z;
	chain.vcomm = data;
	chain.vcomp = work;
	chain.installments = installments;
	return chain;
}

static void dates(const hetpart_schedule *s)
{
	for (size_t load = 0; load < hetpart_schedule_nloads(s); load++)
		for (size_t p = 0; p < hetpart_schedule_nprocs(s); p++) {
			double start, end;
			if (hetpart_schedule_comp(s, load, 0, p, &start, &end))
				printf("  load %zu on processor %zu: %.4f to %.4f\n", load, p,
				       start, end);
		}
}

int main(void)
{
	hetpart_err err;

	for (size_t n = 1; n <= 4; n++) {
		size_t installments[] = { n, n };
		hetpart_chain chain = chain_with(installments);
		hetpart_schedule *s;

		if (hetpart_chain_create(&s, &chain, NULL, &err) != HETPART_OK) {
			fprintf(stderr, "chain: %s\n", err.text);
			return 1;
		}
		printf("%zu installment%s: makespan %.6f\n", n, n == 1 ? "" : "s",
		       hetpart_schedule_makespan(s));
		if (n == 1)
			dates(s);
		hetpart_schedule_free(s);
	}
	return 0;
}

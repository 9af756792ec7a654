/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sort records in one process by a key in their middle, on two threads and without MPI:
 *
 *   cc stock.c $(pkg-config --cflags --libs hetsort)
 *
 * If libhetsort was built with MPI, use mpicc instead of cc, or add -DHETSORT_NO_MPI.
 */
#include <hetsort.h>

#include <stdio.h>

typedef struct item {
	char name[8];
	char shelf[4];
} item;

int main(void)
{
	static const item stock[] = {
		{ "bolts", "c-02" },
		{ "nuts", "a-11" },
		{ "washers", "c-02" },
		{ "wire", "a-01" },
	};
	enum { ITEMS = sizeof stock / sizeof *stock };
	item sorted[ITEMS];
	hetsort_opts opts = HETSORT_OPTS_INIT;
	hetsort_err err;

	opts.record_bytes = sizeof(item);
	opts.key_off = sizeof stock->name;
	opts.key_bytes = sizeof stock->shelf;
	opts.threads = 2;
	if (hetsort_sort_local(stock, ITEMS, sorted, &opts, &err) != HETSORT_OK)
		return fprintf(stderr, "stock: %s\n", err.text), 1;
	for (int i = 0; i < ITEMS; i++) /* items of the same shelf keep their order */
		printf("%.4s %s\n", sorted[i].shelf, sorted[i].name);
	return 0;
}

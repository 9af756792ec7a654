/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries are taken from the records, sorted, and the records gathered in their order. */
#include "order.h"
#include "gather.h"
#include "radix.h"

status records_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
		    err *e)
{
	entry *order = mem_array(m, n, sizeof *order, "entries", e);
	entry *tmp = mem_array(m, n, sizeof *tmp, "entries", e);
	(void)threads;
	if (order && tmp) {
		for (size_t i = 0; i < n; i++)
			order[i] = entry_make(record_at(in, i), &in->lay, i);
		entries_sort(order, tmp, n, in);
		gather(in, order, n, 0, out);
	}
	const status rc = order && tmp ? ST_OK : ST_RESOURCE;
	mem_free(m, order, n, sizeof *order);
	mem_free(m, tmp, n, sizeof *tmp);
	return rc;
}

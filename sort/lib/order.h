/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of records. The records of all ranks are numbered from 0 on, in the order of the ranks
 * and of their arrays. Sorting these numbers moves only them and the keys. Applying them to records
 * moves each record once, to the rank that has its number. */
#ifndef HETSORT_LIB_ORDER_H
#define HETSORT_LIB_ORDER_H

#include "memory_sort.h"

/* order_sort - collective: set order to the numbers of the records, sorted by key, then by number.
 * A rank receives j->share[rank] of them. first: number of this rank's first record. j->out is not
 * used. Results are as for memory_sort. Memory: as for memory_sort with records of a key and 8
 * bytes, and for the input and output of this rank in such records. */
status order_sort(const memory_job *j, uint64_t first, uint64_t *order);

/* order_apply - collective: copy the records with these numbers to j->out, one after the other. Of
 * j->lay, only the size of records is used.
 * first  [size + 1] number of the first record of each rank, and at the end the number of all.
 * order  j->share[rank] numbers; some may be equal.
 * chunk  numbers of a rank in a round, >= 1; the same on all ranks: order_chunk().
 * A number that is too large fails with ST_REFUSED before a record moves. Results are as for
 * memory_sort. */
status order_apply(const memory_job *j, const uint64_t *first, const uint64_t *order, size_t chunk);

/* order_chunk - return how many numbers of a rank are applied in a round. Memory depends on it. */
size_t order_chunk(uint32_t record_bytes, int ranks);

/* order_apply_most_bytes - return the most bytes that order_apply allocates on a rank, without what
 * the comm allocates. */
uint64_t order_apply_most_bytes(uint32_t record_bytes, int ranks, size_t chunk);

#endif

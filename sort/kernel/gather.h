/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers records in the order of their entries.
 *
 * A sort compares only entries, so a wrong bit in an entry puts its record at a wrong place. The
 * order of the output does not always reveal it: not among equal keys, and not if --unique or --top
 * drops the record. So the code that uses an entry last, to send, write or drop its record,
 * compares the two. If all entries have the keys of their records, records with equal entries have
 * equal keys, and equal keys are in the order of the input. A wrong position changes the checksum
 * of the output. */
#ifndef HETSORT_KERNEL_GATHER_H
#define HETSORT_KERNEL_GATHER_H

#include "record.h"
#include "base/status.h"

/* gather - copy the records of order[0..n) to out, one after the other. Pure. Memory latency is the
 * bound, so records are prefetched: for that, `ahead` entries from order[n] on may be read. Returns
 * how many entries do not match the keys of their records. */
size_t gather(const records *r, const entry *order, size_t n, size_t ahead, unsigned char *out);

/* gather_misfits - report an error if misfits is above 0. */
status gather_misfits(size_t misfits, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records in the order of their entries.
 *
 * Entries are all that a sort compares, so a wrong bit in one puts its record at a wrong place, and
 * the order of the output does not always show it: among equal keys, and where --unique or --top
 * then drop the record. So whoever takes a record by its entry for the last time, to send, write or
 * drop it, compares the two. If all entries have the keys of their records, records with equal
 * entries have equal keys, and equal keys are in the order of the input; a wrong position shows in
 * the checksum of the output.
 */
#ifndef HETSORT_KERNEL_GATHER_H
#define HETSORT_KERNEL_GATHER_H

#include "record.h"
#include "base/status.h"

/* gather - copy the records of order[0..n) to out, one after the other. Pure; bound by memory
 * latency, so records are fetched ahead. ahead tells how many entries behind order[n] may be read
 * for that. Returns how many entries do not have the keys of their records. */
size_t gather(const records *r, const entry *order, size_t n, size_t ahead, unsigned char *out);

/* gather_misfits - report that many entries, if any. */
status gather_misfits(size_t misfits, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast a rank is: seconds for the pieces of work that a sort is made of, and for bytes. */
#ifndef HETSORT_MODEL_RATES_H
#define HETSORT_MODEL_RATES_H

#include "base/settings.h"

typedef struct rates {
	double sort_s;  /* a record and unit of ln n: its entry made and sorted */
	double merge_s; /* a byte: gathered, merged */
	double copy_s;  /* a byte: read or written, with its checksum */
	double link_s;  /* a byte sent, while another is received; 0: not known */
	double disk_s;  /* a byte moved by the disk; 0: not known */
} rates;

/* rates_nominal - of a rank of that speed, with its files in memory. */
rates rates_nominal(double speed);

/* rates_byte_s - seconds of a byte, at so many MB/s. */
double rates_byte_s(double mb_per_s);

/* rates_before_s, rates_after_s - seconds for n records before the exchange, and after it. */
double rates_before_s(const rates *r, const settings *o, uint64_t n);
double rates_after_s(const rates *r, const settings *o, uint64_t n);

/* rates_link_s - seconds of the link for n records, sent or received, of which those of 1 / p stay.
 * rates_disk_s - of the disk. 0 where they are not known. */
double rates_link_s(const rates *r, const settings *o, uint64_t n, size_t p);
double rates_disk_s(const rates *r, const settings *o, uint64_t n);

/* rates_send_s - seconds to gather and hand over what leaves a rank that has read n records, if all
 * of p ranks write alike. */
double rates_send_s(const rates *r, const settings *o, uint64_t n, size_t p);

#endif

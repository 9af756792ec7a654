/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checksum of records: the sum of the CRC32 (IEEE 802.3, as in zlib) of each record.
 * The sum does not depend on the order, so it survives sorting and adds up over parts. */
#ifndef CRC_H
#define CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* crc_init - choose the fastest way that this processor has and that agrees with the library; call
 * once, before any thread. */
void crc_init(void);

/* crc_sum - sum over recs (< 2^32) records by the way that was chosen. */
uint64_t crc_sum(const unsigned char *p, size_t recs);

/* The two ways, for tests: a call of the library per record, and carry-less multiplication.
 * crc_sum_clmul may be called only if crc_has_clmul() and after crc_init(). */
uint64_t crc_sum_library(const unsigned char *p, size_t recs);
uint64_t crc_sum_clmul(const unsigned char *p, size_t recs);
bool crc_has_clmul(void);

#endif

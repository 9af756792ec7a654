/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checksum of records: the sum of the CRC32 (IEEE 802.3, as in zlib) of each record.
 * The sum does not depend on the order of records, so sorting does not change it, and the sums of
 * parts can be added. */
#ifndef CRC_H
#define CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* crc_init - choose the fastest method that this processor supports and that agrees with the
 * library. Call it once, before any thread starts. */
void crc_init(void);

/* crc_sum - return the sum of the CRCs of recs (< 2^32) records, by the chosen method. */
uint64_t crc_sum(const unsigned char *p, size_t recs);

/* Three methods, for tests: a call of the library per record, carry-less multiplication in
 * 128-bit registers, and in 256-bit registers. Call the last two only after crc_init(), and only if
 * their crc_has function returns true. */
uint64_t crc_sum_library(const unsigned char *p, size_t recs);
uint64_t crc_sum_clmul(const unsigned char *p, size_t recs);
uint64_t crc_sum_clmul256(const unsigned char *p, size_t recs);
bool crc_has_clmul(void);
bool crc_has_clmul256(void);

#endif

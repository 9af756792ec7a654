/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checksum of records: the sum of the CRC32 (IEEE 802.3, as in zlib) of each record.
 * The sum does not depend on the order, so it survives sorting and adds up over parts. */
#ifndef GEN_CRC_H
#define GEN_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* gen_crc_init - choose the fastest way this processor has; call once, before any thread. */
void gen_crc_init(void);

/* gen_crc_sum - sum over recs (< 2^32) records by the way that was chosen. */
uint64_t gen_crc_sum(const unsigned char *p, size_t recs);

/* The two ways, for tests: a call of the library per record, and carry-less multiplication.
 * gen_crc_sum_clmul may be called only if gen_crc_has_clmul() and after gen_crc_init(). */
uint64_t gen_crc_sum_lib(const unsigned char *p, size_t recs);
uint64_t gen_crc_sum_clmul(const unsigned char *p, size_t recs);
bool gen_crc_has_clmul(void);

#endif

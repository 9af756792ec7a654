/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checksum as the validator computes it: the CRC32 (IEEE 802.3) of each record, summed.
 * Nothing here is shared with the generator, so that one cannot hide an error of the other. */
#ifndef VAL_CRC_H
#define VAL_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* val_crc_init - choose a way that fits this processor and has passed a trial; call once. */
void val_crc_init(void);

/* val_crc_sum - sum over n (< 2^32) records by the way that was chosen. */
uint64_t val_crc_sum(const unsigned char *p, size_t n);

/* The two ways, for tests: by the library, and by folding (only if val_crc_can_fold()). */
uint64_t val_crc_sum_library(const unsigned char *p, size_t n);
uint64_t val_crc_sum_folding(const unsigned char *p, size_t n);
bool val_crc_can_fold(void);

#endif

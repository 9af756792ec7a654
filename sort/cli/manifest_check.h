/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are the parts that a manifest names what it says? */
#ifndef HETSORT_CLI_MANIFEST_CHECK_H
#define HETSORT_CLI_MANIFEST_CHECK_H

#include "base/status.h"

#include <stdint.h>

/* What is stated, and on success found so. */
typedef struct manifest_checked {
	uint64_t parts, records, bytes;
} manifest_checked;

/* manifest_check - reads the manifest and all parts, which lie beside it. ST_INVALID: the job that
 * made them did not end, or is not over; a part is missing, or has not the records, checksum or
 * keys stated, or is not in order, in itself or with the one before; ST_REFUSED: no manifest of
 * ours; ST_IO, ST_RESOURCE. Memory: 4 MiB. */
status manifest_check(const char *path, manifest_checked *n, err *e);

#endif

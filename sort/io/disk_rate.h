/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast a disk is. */
#ifndef HETSORT_IO_DISK_RATE_H
#define HETSORT_IO_DISK_RATE_H

#include "base/mem.h"

/* disk_rate_s - seconds for a byte, by writing at most most_bytes to a file without a name in the
 * directory, past the page cache where that can be, for a tenth of a second and as long as a sync
 * takes. 0 where no file can be made or it cannot be told: that is no failure. Takes 2 MiB. */
double disk_rate_s(mem *m, const char *dir, uint64_t most_bytes);

#endif

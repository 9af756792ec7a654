/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of a file that was written before, looked at again. */
#ifndef HETSORT_SPILL_REREAD_H
#define HETSORT_SPILL_REREAD_H

#include "io/io_fd.h"
#include "kernel/inspect.h"
#include "base/mem.h"

/* reread - inspect n records of f from offset, a multiple of a record's bytes, on. ST_INVALID,
 * without a sentence: they are out of order; ST_IO, ST_RESOURCE. Memory: 4 MiB. */
status reread(const io_fd *f, const char *path, uint64_t offset, uint64_t n, const layout *l,
	      mem *m, inspected *seen, err *e);

#endif

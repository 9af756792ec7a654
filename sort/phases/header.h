/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --skip-header: what stands before the records of the first input stands before those of the first
 * output as well. Rank 0 holds it in memory, others have nothing to do here. */
#ifndef HETSORT_PHASES_HEADER_H
#define HETSORT_PHASES_HEADER_H

#include "values.h"

/* header_read - after streams were copied: the first input's header. A stream that is read as it
 * comes is opened, and stands behind its header then. */
status header_read(rank_env *env, files *f);

/* header_write - to the front of the output, which is open and to be written. */
status header_write(rank_env *env, const files *f);

/* header_check - does this rank's file, open as fd, begin with it? ST_IO if not. */
status header_check(rank_env *env, const files *f, int fd, err *e);

void header_free(rank_env *env, files *f);

#endif

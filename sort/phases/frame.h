/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What surrounds the records: the header of the first input (--skip-header) comes before those of
 * the first output, and the trailer of the last input (--skip-trailer, or what follows --records)
 * after those of the last one. The rank that writes a piece holds it in memory; others have nothing
 * to do here. */
#ifndef HETSORT_PHASES_FRAME_H
#define HETSORT_PHASES_FRAME_H

#include "values.h"

/* frame_read - collective, after streams were copied: read both pieces. A stream that is read as it
 * comes is opened, and stands after its header then. */
status frame_read(rank_env *env, files *f);

/* frame_write - one of them to the output, which is open: the header before any record, the trailer
 * when all are written and the file has its size. */
status frame_write(rank_env *env, const files *f, frame_place place);

/* frame_check - does this rank's file, open as fd, begin and end with them? ST_IO if not. */
status frame_check(rank_env *env, const files *f, int fd, err *e);

void frame_free(rank_env *env, files *f);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One job at a time makes a file. */
#ifndef HETSORT_IO_LOCK_H
#define HETSORT_IO_LOCK_H

#include "file.h"

/* target_lock - refuses (ST_REFUSED) if another job is making the same file, with its host and
 * process; else keeps others from it until target_discard or the end of the process, and removes
 * the temporary files, *removed of them, that jobs which were killed have left for it, but not
 * the one of t->id.
 * On a file system without locks nothing is locked or removed, and t->lock_fd stays -1. */
status target_lock(target *t, unsigned *removed, err *e);

/* lock_clean - remove what dead jobs have left for the output path. ST_REFUSED if a job is making
 * it, or if the file system cannot tell. */
status lock_clean(const char *path, unsigned *removed, err *e);

#endif

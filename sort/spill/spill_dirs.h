/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directories for runs on disk, used in turn. A directory without room for a run is not used
 * any more, unless it is the last one. */
#ifndef HETSORT_SPILL_SPILL_DIRS_H
#define HETSORT_SPILL_SPILL_DIRS_H

#include "base/mem.h"
#include "io/tempdir.h"

#include <stdatomic.h>

typedef struct spill_dirs {
	mem *m;
	const char *const *name; /* [count] the caller's */
	tempdir *dir;
	size_t count;
	atomic_bool *full; /* [count] not used any more */
} spill_dirs;

/* spill_dirs_check - check that files can be created. Each must be a directory that tempdir_open
 * accepts (ST_REFUSED), and at least one must have room for a file (ST_IO or ST_RESOURCE). */
status spill_dirs_check(const char *const *name, size_t count, err *e);

/* spill_dirs_open - open the directories; fails like tempdir_open. The names outlive d. Main thread
 * of the rank. Call spill_dirs_close, from the same thread, after a failure too. */
status spill_dirs_open(spill_dirs *d, mem *m, const char *const *name, size_t count, err *e);
void spill_dirs_close(spill_dirs *d);

/* spill_dirs_room - add up the free bytes of the directories. Fails like tempdir_open. */
status spill_dirs_room(const char *const *name, size_t count, uint64_t *bytes, err *e);

/* spill_dirs_fit - check that `bytes` bytes fit in runs of run_bytes. Directories without room for
 * one run are not used any more. ST_RESOURCE, with the bytes needed and free, if it does not fit.
 */
status spill_dirs_fit(spill_dirs *d, uint64_t bytes, uint64_t run_bytes, err *e);

/* spill_dirs_next - return the next directory from `at` on that is in use. spill_dirs_leave_out -
 * stop using `at`, which is full; false, without effect, if no other is left. Any number of
 * threads. */
size_t spill_dirs_next(const spill_dirs *d, size_t at);
bool spill_dirs_leave_out(spill_dirs *d, size_t at);

/* spill_dirs_create - create a file, like tempdir_create, in the first directory from *at on that
 * has room; sets *at to that directory. */
status spill_dirs_create(spill_dirs *d, size_t *at, const char *file, bool direct, io_fd *f,
			 err *e);

/* spill_dirs_failed - report a failed write; if a temporary directory is full, say what to do. */
status spill_dirs_failed(const err *why, bool temporary, err *e);

/* spill_dirs_left_out - list the directories that are not used any more, in quotes; "" for none.
 * Names that do not fit are counted. */
void spill_dirs_left_out(const spill_dirs *d, char *text, size_t bytes);

#endif

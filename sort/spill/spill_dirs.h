/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directories that runs on disk go to, in turn. One that has no room for a run is left out from
 * then on, as long as another is left. */
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
	atomic_bool *full; /* [count] left out */
} spill_dirs;

/* spill_dirs_check - can files be made in these? Each has to be a directory that tempdir_open takes
 * (ST_REFUSED), and one at least has to have room for a file (ST_IO or ST_RESOURCE). */
status spill_dirs_check(const char *const *name, size_t count, err *e);

/* spill_dirs_open - fails as tempdir_open does. The names outlive d. Main thread of the rank, as
 * spill_dirs_close, which is to be called on failure too. */
status spill_dirs_open(spill_dirs *d, mem *m, const char *const *name, size_t count, err *e);
void spill_dirs_close(spill_dirs *d);

/* spill_dirs_room - how many bytes these have free together. Fails as tempdir_open does. */
status spill_dirs_room(const char *const *name, size_t count, uint64_t *bytes, err *e);

/* spill_dirs_fit - is there room for so many bytes in runs of so many? ST_RESOURCE, with the bytes
 * needed and free, if not. What has no room for one run is left out. */
status spill_dirs_fit(spill_dirs *d, uint64_t bytes, uint64_t run_bytes, err *e);

/* spill_dirs_next - the first from `at` on, in turn, that is not left out. spill_dirs_leave_out -
 * `at` has no room: is there another? Only then it is left out. Any number of threads. */
size_t spill_dirs_next(const spill_dirs *d, size_t at);
bool spill_dirs_leave_out(spill_dirs *d, size_t at);

/* spill_dirs_create - a file, as tempdir_create does, in the first from *at on that has room;
 * *at is where. */
status spill_dirs_create(spill_dirs *d, size_t *at, const char *file, bool direct, io_fd *f,
			 err *e);

/* spill_dirs_failed - report that a write failed; where a temporary directory is full, say what to
 * do. */
status spill_dirs_failed(const err *why, bool temporary, err *e);

/* spill_dirs_left_out - the names of those that were left out, in quotes; "" for none. Those that
 * do not fit are counted. */
void spill_dirs_left_out(const spill_dirs *d, char *text, size_t bytes);

#endif

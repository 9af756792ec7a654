/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A directory for temporary files that nobody else can reach: they have no name, so the kernel
 * takes their space back however the program ends. */
#ifndef HETSORT_TEMPDIR_H
#define HETSORT_TEMPDIR_H

#include "status.h"

#include <stdint.h>

enum { DIRECT_ALIGN = 4096 }; /* of memory, offset and length, wherever direct I/O is taken */

typedef struct tempdir {
	int fd;         /* held open: what happens to the name later does not matter */
	char *label;    /* "DIR/(spill file)", for messages */
	uint64_t dev;   /* its file system */
	bool in_memory; /* a tmpfs: files there take memory, not disk */
	bool direct;    /* reads and writes can go past the page cache */
} tempdir;

/* tempdir_open - refuses (ST_REFUSED) what is missing, no directory, not writable, or writable by
 * everybody without the sticky bit. A relative path is resolved now. On failure t is empty. */
status tempdir_open(tempdir *t, const char *path, err *e);

/* tempdir_probe - make a file once: can this directory hold one (ST_IO, ST_RESOURCE), and does it
 * take direct I/O? Sets t->direct. */
status tempdir_probe(tempdir *t, err *e);

/* tempdir_create - a file without a name, for reading and writing, mode 0600; direct as wanted, if
 * the probe found that it can be. */
status tempdir_create(const tempdir *t, bool direct, int *fd, err *e);

/* tempdir_free_bytes - space for this user on the directory's file system. */
status tempdir_free_bytes(const tempdir *t, uint64_t *bytes, err *e);

/* tempdir_close - also for one that is empty (fd -1). */
void tempdir_close(tempdir *t);

#endif

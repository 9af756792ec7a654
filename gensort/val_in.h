/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input of valsort, read in large blocks of equal size. Regular files are read at offsets,
 * by any number of threads; all else (pipes, devices) in order, one thread at a time.
 * Never maps a file: one that is cut meanwhile would kill the reader. */
#ifndef VAL_IN_H
#define VAL_IN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct val_in {
	const char *name;
	int fd;
	bool regular;
	off_t base;         /* where a regular file starts for us */
	off_t size;         /* of a regular file when it was opened */
	size_t block_bytes; /* of each block but the last */
	uint64_t next;      /* number of the next block, guarded by the lock */
	bool ended;         /* a block was short, guarded by the lock */
	pthread_mutex_t lock;
};

/* val_in_open - open `name` ("-": standard input) for blocks of block_bytes; 0 or errno. */
int val_in_open(struct val_in *in, const char *name, size_t block_bytes);

/* val_in_take - read the next block: its number, and in *got its size, less than a whole block
 * only at the end. Returns false if the end is already known. A failed read sets *err. */
bool val_in_take(struct val_in *in, unsigned char *buf, uint64_t *number, size_t *got, int *err);

/* val_in_changed - a regular file no longer has the size it had, or not `bytes` were read. */
bool val_in_changed(const struct val_in *in, uint64_t bytes);

void val_in_close(struct val_in *in);

#endif

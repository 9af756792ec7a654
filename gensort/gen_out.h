/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the records go: a regular file (written at exact offsets, by any thread), a stream
 * (written in order), or nowhere (the name /dev/null). A regular file never has its full size
 * before it is complete, and a failed one is removed or emptied. */
#ifndef GEN_OUT_H
#define GEN_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gen_out {
	const char *name;
	int fd;       /* -1 for nowhere */
	bool regular; /* opened by name and regular: offsets, preallocation, removal */
	bool created; /* by us, so ours to remove */
	bool changed; /* what was there before, if it was regular */
	dev_t dev;    /* which file it was, so that no other is removed */
	ino_t ino;
};

/* gen_out_open - open or create `name` for `bytes` bytes (UINT64_MAX: that or more); reports its
 * failure and returns it. A file that cannot hold them, or for which there is no room, is refused
 * here. */
bool gen_out_open(struct gen_out *o, const char *name, uint64_t bytes);

/* gen_out_write - write all of n bytes; at offset `at` if the output is regular, else next.
 * Returns 0 or the errno of the failure. Safe from several threads if regular. */
int gen_out_write(const struct gen_out *o, const unsigned char *p, size_t n, uint64_t at);

/* gen_out_finish - make it durable if wanted, and close; reports its failure and returns it. */
bool gen_out_finish(struct gen_out *o, bool durable);

/* gen_out_discard - after a failure: leave nothing that looks complete, and say what is left. */
void gen_out_discard(struct gen_out *o);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that must not outlive the process: it knows at any time which it has made, so that it can
 * be ended at any time, whatever its threads do. */
#ifndef HETSORT_IO_UNFINISHED_H
#define HETSORT_IO_UNFINISHED_H

#include <stdbool.h>
#include <sys/types.h>

enum { UNFINISHED_NAME_BYTES = 80 };

/* Stays at its place in memory from create until forget or remove, and so does dirfd. */
typedef struct unfinished {
	int dirfd;
	char name[UNFINISHED_NAME_BYTES]; /* empty: there is none */
	struct unfinished *next;
} unfinished;

/* unfinished_create - openat with O_CREAT; u->dirfd and u->name say where. Returns the descriptor,
 * or -1 with errno and an empty name. */
int unfinished_create(unfinished *u, int flags, mode_t mode);

/* unfinished_note - the file u->dirfd and u->name say is there already, and is ours. */
void unfinished_note(unfinished *u);

/* unfinished_forget - it has got its final name. unfinished_remove - unlink it. Both do nothing
 * where there is none. */
void unfinished_forget(unfinished *u);
void unfinished_remove(unfinished *u);

/* unfinished_settle - final names are about to be given: from now on the process is not to be
 * ended before its time. Returns when that is certain. */
void unfinished_settle(void);

/* unfinished_freeze - who is going to end the process says so: from now on no other thread makes a
 * name, or settles. False if the process has settled. Waits half a second at most for a thread that
 * makes a name just now. */
bool unfinished_freeze(void);

/* unfinished_remove_all - unlink all names, after unfinished_freeze. */
void unfinished_remove_all(void);

#endif

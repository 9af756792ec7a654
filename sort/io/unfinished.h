/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of unfinished files, whose names must not outlive the process. With this list, a thread
 * can remove all of them and end the process at any time, whatever other threads do. */
#ifndef HETSORT_IO_UNFINISHED_H
#define HETSORT_IO_UNFINISHED_H

#include "file.h"

#include <stdbool.h>

enum { UNFINISHED_NAME_BYTES = 256 };

/* A name on the list. Must not be moved in memory between unfinished_note and unfinished_forget or
 * unfinished_remove; dirfd must stay open. */
typedef struct unfinished {
	int dirfd;
	char name[UNFINISHED_NAME_BYTES]; /* empty: no file */
	bool is_lock; /* useless after this process has ended, so always removed */
	file_id is;   /* its identity: another file of this name stays */
	struct unfinished *next;
} unfinished;

/* unfinished_hold, unfinished_release - keep signals from ending the process between the creation
 * of a file and its note. */
void unfinished_hold(void);
void unfinished_release(void);

/* unfinished_note - put an existing file, u->name in u->dirfd, on the list. */
void unfinished_note(unfinished *u);

/* unfinished_forget - take a file off the list: it has its final name. unfinished_remove - unlink
 * it too. Both do nothing if u has no file. */
void unfinished_forget(unfinished *u);
void unfinished_remove(unfinished *u);

/* Additional work if the process is ended early. Must not be moved in memory between
 * unfinished_at_end and unfinished_end_as_usual. */
typedef struct unfinished_end {
	bool (*keep)(void *arg);  /* first: return whether all temporary files stay; NULL: no */
	void (*sweep)(void *arg); /* last: remove files that other processes of the job have left */
	void *arg;
	struct unfinished_end *next;
} unfinished_end;

void unfinished_at_end(unfinished_end *x);
void unfinished_end_as_usual(unfinished_end *x);

/* unfinished_settle - call it before files get their final names: afterwards unfinished_freeze
 * fails, unless `late` is set. */
void unfinished_settle(void);

/* unfinished_freeze - prepare an early end of the process by this thread: from now on no other
 * thread creates a name or calls unfinished_settle. Return false if unfinished_settle was called
 * before; with `late`, return false only if nothing has to be removed. Wait at most half a second
 * for a thread that is creating a name. */
bool unfinished_freeze(bool late);

/* unfinished_remove_all - after unfinished_freeze: unlink all names, and do the additional work. */
void unfinished_remove_all(void);

/* unfinished_give_up - freeze and remove all, before a process that cannot continue is ended. */
void unfinished_give_up(void);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of files that must not outlive the process. They are on a list, so that the process can
 * remove them and end at any time, regardless of its threads. */
#ifndef HETSORT_IO_UNFINISHED_H
#define HETSORT_IO_UNFINISHED_H

#include "file.h"

#include <stdbool.h>

enum { UNFINISHED_NAME_BYTES = 256 };

/* A name on the list. Must not be moved in memory from unfinished_note until forget or remove;
 * dirfd stays open. */
typedef struct unfinished {
	int dirfd;
	char name[UNFINISHED_NAME_BYTES]; /* empty: no file */
	bool is_lock;                     /* has no use after this process has ended */
	file_id is;                       /* another file of this name stays */
	struct unfinished *next;
} unfinished;

/* unfinished_hold, unfinished_release - keep signals from ending the process between the creation
 * of a file and its note. */
void unfinished_hold(void);
void unfinished_release(void);

/* unfinished_note - put an existing file, u->name in u->dirfd, on the list. */
void unfinished_note(unfinished *u);

/* unfinished_forget - take a file off the list: it has its final name. unfinished_remove - unlink
 * it. Both do nothing without a file. */
void unfinished_forget(unfinished *u);
void unfinished_remove(unfinished *u);

/* Additional work if the process is ended early. Must not be moved in memory from unfinished_at_end
 * until unfinished_end_as_usual. */
typedef struct unfinished_end {
	bool (*keep)(void *arg);  /* first: return whether all temporary files stay; NULL: no */
	void (*sweep)(void *arg); /* last: remove files that other processes of the job have left */
	void *arg;
	struct unfinished_end *next;
} unfinished_end;

void unfinished_at_end(unfinished_end *x);
void unfinished_end_as_usual(unfinished_end *x);

/* unfinished_settle - call it before files get their final names: from now on unfinished_freeze
 * fails. */
void unfinished_settle(void);

/* unfinished_freeze - prepare the end of the process by this thread: from now on no other thread
 * creates a name, or settles. False if the process has settled, or, with `late`, if nothing is left
 * to do at its end. Waits at most half a second for a thread that is creating a name. */
bool unfinished_freeze(bool late);

/* unfinished_remove_all - after a freeze: unlink all names, and do the additional work. */
void unfinished_remove_all(void);

/* unfinished_give_up - freeze and remove all, before a process that cannot continue is ended. */
void unfinished_give_up(void);

#endif

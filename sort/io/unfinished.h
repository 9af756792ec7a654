/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of files that must not outlive the process. They are on a list, so that the process can
 * remove them and end at any time, whatever its threads do. */
#ifndef HETSORT_IO_UNFINISHED_H
#define HETSORT_IO_UNFINISHED_H

#include "file.h"

#include <stdbool.h>
#include <sys/types.h>

enum { UNFINISHED_NAME_BYTES = 256 };

/* Stays at its place in memory from note until forget or remove, and so does dirfd. */
typedef struct unfinished {
	int dirfd;
	char name[UNFINISHED_NAME_BYTES]; /* empty: there is none */
	bool is_lock;                     /* means nothing once this process has ended */
	file_id is;                       /* which file; another one of this name stays */
	struct unfinished *next;
} unfinished;

/* unfinished_hold, unfinished_release - around the making of a name and its note, so that no signal
 * ends the process between the two. */
void unfinished_hold(void);
void unfinished_release(void);

/* unfinished_note - put a file on the list that exists already; u->dirfd and u->name say which. */
void unfinished_note(unfinished *u);

/* unfinished_forget - it has got its final name. unfinished_remove - unlink it. Both do nothing
 * where there is none. */
void unfinished_forget(unfinished *u);
void unfinished_remove(unfinished *u);

/* What else is to be done where the process is ended. Stays at its place in memory from
 * unfinished_at_end until unfinished_end_as_usual. */
typedef struct unfinished_end {
	bool (*keep)(void *arg);  /* first: do all temporary files stay? NULL: no */
	void (*sweep)(void *arg); /* last: remove what other processes of the job have left */
	void *arg;
	struct unfinished_end *next;
} unfinished_end;

void unfinished_at_end(unfinished_end *x);
void unfinished_end_as_usual(unfinished_end *x);

/* unfinished_settle - files are about to get their final names: from now on unfinished_freeze
 * fails. */
void unfinished_settle(void);

/* unfinished_freeze - the calling thread is going to end the process: from now on no other thread
 * makes a name, or settles. False if the process has settled. Waits half a second at most for a
 * thread that is making a name. */
bool unfinished_freeze(void);

/* unfinished_freeze_late - the same of a process that may have settled. False: nothing is left to
 * do at its end. */
bool unfinished_freeze_late(void);

/* unfinished_remove_all - unlink all names, after either of them, and do what else is to be done.
 */
void unfinished_remove_all(void);

/* unfinished_give_up - the caller is going to end the process, which cannot go on: freeze and
 * remove all. */
void unfinished_give_up(void);

#endif

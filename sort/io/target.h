/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that is to be made: written under a temporary name in the same directory, then renamed, so
 * that nobody ever sees half of it under its final name. A lock keeps other jobs from making the
 * same file. */
#ifndef HETSORT_IO_TARGET_H
#define HETSORT_IO_TARGET_H

#include "base/status.h"
#include "file.h"
#include "unfinished.h"

#include <dirent.h>
#include <stdint.h>
#include <sys/types.h>

/* Files that stand beside a target under hidden names, which tell mark, id and kind. */
typedef enum target_kind {
	TARGET_TEMP,         /* being written, or complete */
	TARGET_ADDS,         /* a journal, see journal.h, of parts that replace nothing */
	TARGET_REPLACES,     /* of a set of parts that replaces a set, of which surplus parts go, */
	TARGET_REPLACES_ONE, /* and of one file, or of a set after which all others stay */
	TARGET_OLD           /* the manifest that it replaces */
} target_kind;

static inline bool target_is_journal(target_kind k)
{
	return k == TARGET_ADDS || k == TARGET_REPLACES || k == TARGET_REPLACES_ONE;
}

/* A file under a hidden name, as the lock of its target notes it: first the name, then the file.
 * Only what is noted there is ever removed as left by a job that has ended; a name proves nothing.
 */
typedef struct hidden_file {
	target_kind kind;
	uint64_t id;
	file_id is;
} hidden_file;

typedef struct target {
	int dirfd;        /* the target's directory */
	char *base;       /* its name in there */
	char *path;       /* as the user gave it, for messages */
	uint64_t mark;    /* a hash of base, in all its temporary names */
	uint64_t id;      /* of its temporary file */
	target_kind kind; /* of what has a hidden name until it gets the final one */
	size_t shown;     /* bytes of base in the name of a journal that was found; 0: all */
	int fd;           /* what was written, held so that it is told from others; -1: nothing */
	char *text;       /* all that was written, where it is to be compared; NULL: not */
	size_t text_bytes;
	bool named;     /* it has its final name already */
	file_role role; /* of the only files that target_commit replaces; ROLE_ANY: of all */
	bool replaces;  /* a file that target_check has found, with this mode and group */
	mode_t old_mode;
	gid_t old_gid;
	mode_t most; /* else: what group and others may be allowed, beside what the umask leaves */
	mode_t mode; /* that it will have; 0: as it has */
	unfinished temp;   /* its name until it is complete */
	unfinished lock;   /* see target_lock */
	int lock_fd;       /* -1: not locked */
	hidden_file own;   /* noted in the lock: what this job has made, */
	hidden_file *left; /* [lefts] what an earlier job has left and is kept, */
	size_t lefts;
	file_id dir;           /* and the directory, if hetsort has made it; inode 0: it has not */
	unsigned stays;        /* target_lock: files under hidden names that no lock has noted, */
	char stays_name[256];  /* and one of these names */
	const file_set *reads; /* NULL: no file has to be spared */
	bool shared; /* another rank makes it: its names go only where this process is ended */
	double patience_s; /* how long target_lock waits for another job to end */
} target;

/* target_open - find the directory of path, which is copied. Refuses a path that ends in a slash or
 * whose directory cannot be opened. */
status target_open(target *t, const char *path, err *e);

/* target_open_hidden - open the target, in the directory of `beside`, that this hidden name is of,
 * with its id and kind. False: it is none, or was cut in it. */
bool target_open_hidden(target *t, const target *beside, const char *name);

/* target_check - may it be made? Refuses a directory, a symbolic link, anything but a regular file,
 * and, without force, a file that exists; one that will be replaced is noted. */
status target_check(target *t, bool force, err *e);

/* target_check_role - as target_check with force, but refuse an existing file that hetsort did not
 * write for this role. With t->role set, target_commit checks it again. */
status target_check_role(target *t, file_role role, err *e);

/* target_create - create the temporary file named after id. Its mode is that of the file that it
 * replaces, and its group, where that is permitted; else 0666 less the umask and what t->most does
 * not allow. */
status target_create(target *t, uint64_t id, int *fd, err *e);

/* target_attach - open the temporary file that another rank has created for the same id. Where this
 * process is ended, it removes that file: a launcher may leave the other one no time for it. */
status target_attach(target *t, uint64_t id, int *fd, err *e);

/* target_keep - the temporary file outlives the program, unless it is committed; with_lock: and so
 * does the lock, because nothing else proves later that hetsort made the file. target_find - open
 * the one of this id for reading, or what has the final name, *fd -1: there is neither. target_drop
 * - remove the one that was kept. False: another file has its hidden name, and stays. */
void target_keep(target *t, bool with_lock);
void target_find(target *t, uint64_t id, int *fd);
bool target_drop(const target *t);

/* target_notes_files - does the lock note a file that stands? Without the lock nothing proves that
 * hetsort made it. */
bool target_notes_files(const target *t);

/* target_note - note in the lock, if this target is locked, which file has the hidden name of this
 * kind. */
status target_note(target *t, target_kind kind, const file_id *is, err *e);

/* target_hidden_name - by the target's mark and id. target_parse_name - what such a name tells;
 * false: it is none. target_shown_bytes - of the target's own name in one. target_list - what is in
 * the target's directory, NULL: that cannot be told. */
void target_hidden_name(const target *t, target_kind kind, char name[UNFINISHED_NAME_BYTES]);
bool target_parse_name(const char *name, uint64_t *mark, uint64_t *id, target_kind *kind);
size_t target_shown_bytes(const char *name, target_kind kind);
DIR *target_list(const target *t);

/* target_reads - is the file of this name, in the target's directory, or the file that a link leads
 * to, one that this job reads? */
bool target_reads(const target *t, const char *name);

/* target_mark - of the target at path. target_parse_lock_name - the mark in the name of a lock, and
 * in it the target's name, NULL: it is no lock's; target_is_cut - as far as it fits. */
uint64_t target_mark(const char *path);
const char *target_parse_lock_name(const char *name, uint64_t *mark);
bool target_is_cut(const char *base);

/* target_close - all is written to fd: sync it after the lock that notes it, so that --clean can
 * remove it after a loss of power, and close it; t->fd holds the file where `hold`. */
status target_close(target *t, int fd, bool hold, bool sync, err *e);

/* target_ready - refuses what would make target_commit fail or harm: the temporary file is not the
 * one that was written any more, or not as it was written (see target_look), or, without force, a
 * file has the final name. */
status target_ready(const target *t, bool force, err *e);

/* target_commit - rename onto the final name; without force it does not replace a file that has
 * appeared meanwhile, nor, with t->role, one that hetsort did not write for it. */
status target_commit(target *t, bool force, err *e);

/* target_look - a second look after target_commit: is the file at the path, found again, the one
 * that was written? Device and inode are not enough, as some file systems give all files the same:
 * its size and its first and last block are compared with the file that was written, or all of it
 * with t->text. */
status target_look(const target *t, err *e);

/* target_sync_name - make that name durable. On failure the file is there and complete, as the
 * message says; only a loss of power could remove the name. */
status target_sync_name(const target *t, err *e);

/* target_write_lock - write the text of the lock that this target holds. */
status target_write_lock(const target *t, err *e);

/* target_lock - refuses (ST_REFUSED) if another job is making the same file, with its host and
 * process; else no other job can make it until target_discard or the end of the process. Removes
 * the temporary files, *removed of them, that killed jobs have noted in their lock, except the one
 * of t->id, those in t->reads and those of a journal in the same
 * directory. Refuses if a file has the lock's name that is no lock, or is in t->reads.
 * On a file system without locks nothing is locked or removed, and t->lock_fd stays -1. */
status target_lock(target *t, unsigned *removed, err *e);

/* target_share_lock - another rank has locked it. This process removes the lock as well if it is
 * ended, unless the lock notes files. */
void target_share_lock(target *t, bool notes_files);

/* target_has_journal - does a journal of this job stand in the target's directory, or can that not
 * be told? */
bool target_has_journal(const target *t, uint64_t id);

/* target_sweep - if a process that has ended has left a lock for this file: remove it, and all else
 * that target_lock removes, except what is in reads (NULL: nothing). False: there is none, or its
 * process lives. *dir is set if the lock noted that hetsort made the directory; NULL: do not ask.
 */
bool target_sweep(const char *path, uint64_t kept_id, const file_set *reads, file_id *dir);

/* target_sweep_after - the same of the rank after this one, and on, up to one that has left
 * nothing: the files of a rank that was killed, or of some in a row, are for the one before them.
 * path: the name of a rank's file, allocated, NULL without memory. */
typedef char *target_of_rank(int rank, const void *arg);
void target_sweep_after(int rank, int size, target_of_rank *path, const void *arg,
			uint64_t kept_id);

/* target_release - remove the temporary file if there is one, and the lock, unless a file stays
 * that it notes. target_discard - and release all else. target_list_lock - where the process is
 * ended, it removes the lock again. */
void target_list_lock(target *t);
void target_release(target *t);
void target_discard(target *t);

#endif

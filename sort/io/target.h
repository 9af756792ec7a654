/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A target: a file that hetsort makes. It is written under a temporary name in its directory and
 * then renamed, so that its final name never leads to an incomplete file. A lock keeps other jobs
 * from making the same file. */
#ifndef HETSORT_IO_TARGET_H
#define HETSORT_IO_TARGET_H

#include "unfinished.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Kinds of files next to a target. Their hidden names consist of the target's mark, an id, the
 * target's name and the kind. */
typedef enum target_kind {
	TARGET_TEMP,     /* being written, or complete */
	TARGET_ADDS,     /* a journal (journal.h) of parts that replace nothing */
	TARGET_REPLACES, /* a journal of parts that replace a set; its surplus parts are removed */
	TARGET_REPLACES_ONE, /* a journal of one file, or of parts, that removes nothing */
	TARGET_OLD           /* the manifest that is replaced */
} target_kind;

static inline bool target_is_journal(target_kind k)
{
	return k == TARGET_ADDS || k == TARGET_REPLACES || k == TARGET_REPLACES_ONE;
}

/* A hidden name found by target_next_hidden. */
typedef struct hidden_name {
	DIR *dir;
	int errnum; /* why the directory cannot be listed; 0: it can */
	const char *name;
	uint64_t mark, id;
	target_kind kind;
	const char *base; /* the target's name, cut to `shown` bytes */
	size_t shown;
} hidden_name;

/* A file under a hidden name, as the lock of its target notes it: first only the name, and the
 * identity too when the file exists. Files of ended jobs are removed only if a lock has noted them;
 * a name proves nothing. */
typedef struct hidden_file {
	target_kind kind;
	uint64_t id;
	file_id is;
} hidden_file;

/* The result of looking for files that ended jobs have left next to a target. */
typedef struct cleaned {
	unsigned removed; /* files under hidden names */
	unsigned named;   /* parts that got their names (journal.h) */
	unsigned stays;   /* files that stay, because nothing proves that hetsort made them */
	char first[UNFINISHED_NAME_BYTES]; /* name of one that stays */
	err note;                          /* why an old part stays */
} cleaned;

/* cleaned_add - add the counts, the name and the note of *more to *sum. */
void cleaned_add(cleaned *sum, const cleaned *more);

typedef struct target {
	int dirfd;        /* the target's directory */
	char *base;       /* its name in dirfd */
	char *path;       /* as the user gave it, for messages */
	uint64_t mark;    /* a hash of base, in all its temporary names */
	uint64_t id;      /* of its temporary file */
	target_kind kind; /* of its hidden name, until it gets the final one */
	size_t shown;     /* bytes of base in the name of a journal that was found; 0: all */
	int fd;           /* the written file, kept open to recognize it; -1: none */
	char *text; /* the written text, if all of it will be compared with the file; else NULL */
	size_t text_bytes;
	bool named;     /* it has its final name already */
	file_role role; /* target_commit only replaces files of this role; ROLE_ANY: all */
	bool replaces;  /* target_check has found a file, with this mode and group */
	mode_t old_mode;
	gid_t old_gid;
	mode_t most;     /* mode bits that a new file may have; the umask restricts them further */
	mode_t mode;     /* set when the file is closed; 0: unchanged */
	unfinished temp; /* its temporary name */
	unfinished lock; /* see target_lock */
	int lock_fd;     /* -1: not locked */
	hidden_file own; /* noted in the lock: the file that this job makes */
	hidden_file *left; /* [lefts] noted in the lock: files of earlier jobs that are kept */
	size_t lefts;
	file_id dir; /* noted in the lock: the directory, if hetsort has made it; else inode 0 */
	bool no_journal;       /* target_lock has seen that the directory has none */
	cleaned past;          /* results of target_lock and of the functions of journal.h */
	const file_set *reads; /* files that are never removed; NULL: none */
	bool shared;           /* another rank makes the file; remove names only at an early end */
	double patience_s;     /* how long target_lock waits for another job to end */
} target;

/* target_open - find the directory of path, which is copied. Refuse a path that ends in a slash or
 * whose directory cannot be opened. */
status target_open(target *t, const char *path, err *e);

/* target_next_hidden - find the next hidden name in the target's directory; start from { 0 }.
 * Return false after the last name. Call it until then, because then the directory is closed. */
bool target_next_hidden(const target *t, hidden_name *h);

/* target_open_hidden - open the target of this hidden name in the directory of `near`. False: the
 * hidden name contains only a part of the target's name. */
bool target_open_hidden(target *t, const target *near, const hidden_name *h);

/* target_check - refuse a directory, a symbolic link, anything but a regular file, and, without
 * force, an existing file. Store mode and group of a file that will be replaced. Also call
 * target_check_dir. Changes nothing. */
status target_check(target *t, bool force, err *e);

/* target_check_dir - refuse a directory in which this user may not create and rename files. what:
 * the work that fails, for the message. target_check_replace - refuse an existing regular file that
 * this user may not remove from its directory, or that is a mount point. Both change nothing. */
status target_check_dir(const target *t, const char *what, err *e);
status target_check_replace(const target *t, err *e);

/* target_check_role - call target_check with force and target_check_replace, but refuse an existing
 * file that hetsort did not write for this role. If t->role is set, target_commit checks this
 * again. */
status target_check_role(target *t, file_role role, err *e);

/* target_create - create the temporary file named after id. It gets the mode and, if permitted, the
 * group of the file that it replaces. A new file gets mode 0666, restricted by the umask and
 * t->most. */
status target_create(target *t, uint64_t id, int *fd, err *e);

/* target_attach - open the temporary file that another rank has created for the same id. If this
 * process is ended early, it removes that file, because the other rank may be killed. */
status target_attach(target *t, uint64_t id, int *fd, err *e);

/* target_keep - let the temporary file outlive the program, unless it is committed; with_lock: keep
 * the lock too, because only the lock proves later that hetsort made the file. target_find - open
 * the temporary file of this id for reading, or the file with the final name; *fd is -1 if neither
 * exists. target_drop - remove the kept file. False: another file has its name, and stays. */
void target_keep(target *t, bool with_lock);
void target_find(target *t, uint64_t id, int *fd);
bool target_drop(const target *t);

/* target_notes_files - return whether the lock notes an existing file. Only the lock proves that
 * hetsort made it. */
bool target_notes_files(const target *t);

/* target_try - after target_lock: make a file next to the target, give it the mode of the target,
 * and rename it as target_commit will do, then remove it. ST_REFUSED if this file system cannot. Do
 * nothing on local file systems, which all can. */
status target_try(target *t, bool force, err *e);

/* target_note - note in the lock, if locked, which file has the hidden name of this kind. */
status target_note(target *t, target_kind kind, const file_id *is, err *e);

/* target_hidden_name - write the hidden name of this kind, with the target's mark and id, to
 * `name`, and return it. target_hidden - do the same in a buffer of the enclosing block.
 * target_list - list the target's directory; NULL: it cannot be listed. */
const char *target_hidden_name(const target *t, target_kind kind, char name[UNFINISHED_NAME_BYTES]);
#define target_hidden(t, kind) target_hidden_name(t, kind, (char[UNFINISHED_NAME_BYTES]){ 0 })
DIR *target_list(const target *t);

/* target_reads - return whether this job reads the file of this name in the target's directory, or
 * the file that a link of this name leads to. */
bool target_reads(const target *t, const char *name);

/* target_mark - return the mark of the target at path. target_parse_lock_name - set *mark from the
 * name of a lock, and return the target's name in it; NULL: not a lock's name. target_is_cut -
 * return whether a target's name in a hidden name may be incomplete. */
uint64_t target_mark(const char *path);
const char *target_parse_lock_name(const char *name, uint64_t *mark);
bool target_is_cut(const char *base);

/* target_close - close fd when the file is written. sync: write the lock to the disk, and then the
 * file, so that --clean can remove the file after a loss of power. hold: keep the file open as
 * t->fd. */
status target_close(target *t, int fd, bool hold, bool sync, err *e);

/* target_ready - check that target_commit can succeed and does no harm. Refuse if the temporary
 * file is not the written file or has changed (see target_look), or if a file has the final name,
 * without force. */
status target_ready(const target *t, bool force, err *e);

/* target_commit - rename onto the final name. Without force, never replace a file that has appeared
 * since target_check; with t->role, only replace a file that hetsort wrote for this role. */
status target_commit(target *t, bool force, err *e);

/* target_look - after target_commit: find the file at the path again, and check that it is the
 * written file. Some file systems give all files the same device and inode. So also compare the
 * size and the first and last block, or all of t->text. */
status target_look(const target *t, err *e);

/* target_sync_name - make the final name durable. After a failure the file is complete, as the
 * message says; only a loss of power could remove the name. */
status target_sync_name(const target *t, err *e);

/* target_write_lock - write the text of the lock. */
status target_write_lock(const target *t, err *e);

/* target_lock - keep other jobs from making the file until target_discard or the end of the
 * process. Remove the temporary files that killed jobs have noted in their lock. The file of t->id,
 * files in t->reads and files of a journal in the same directory stay. ST_REFUSED: a job is making
 * the file (the message names host and process), or a file with the lock's name is not a lock or is
 * in t->reads. If the file system has no locks, do nothing; t->lock_fd stays -1. */
status target_lock(target *t, err *e);

/* target_share_lock - note that another rank holds the lock: if this process is ended early, it
 * removes the lock, unless the lock notes files. */
void target_share_lock(target *t, bool notes_files);

/* target_has_journal - return whether the target's directory has a journal of this job. True if it
 * cannot be listed. */
bool target_has_journal(const target *t, uint64_t id);

/* target_sweep - if an ended process has left a lock for this file, remove it and everything that
 * target_lock removes, except files in `reads` (NULL: none). Return false if no lock exists or its
 * process still runs. *dir is set if the lock noted that hetsort made the directory; dir may be
 * NULL. */
bool target_sweep(const char *path, uint64_t kept_id, const file_set *reads, file_id *dir);

/* target_sweep_after - call target_sweep for the ranks after this one, in a circle, up to a rank
 * that has left nothing. So the rank before one or more killed ranks removes their files. path
 * returns the name of a rank's file, allocated, or NULL if memory is missing. */
typedef char *target_of_rank(int rank, const void *arg);
void target_sweep_after(int rank, int size, target_of_rank *path, const void *arg,
			uint64_t kept_id);

/* target_release - remove the temporary file, and the lock, unless it notes a file that stays.
 * target_discard - release everything. target_list_lock - put the lock on the list of unfinished
 * files, so that an early end of the process removes it. */
void target_list_lock(target *t);
void target_release(target *t);
void target_discard(target *t);

#endif

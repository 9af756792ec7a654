/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that is to be made: written under a temporary name in its directory, then renamed, so that
 * nobody sees half of it under its final name. A lock keeps other jobs from making the same file.
 */
#ifndef HETSORT_IO_TARGET_H
#define HETSORT_IO_TARGET_H

#include "base/status.h"
#include "file.h"
#include "unfinished.h"

#include <dirent.h>
#include <stdint.h>
#include <sys/types.h>

/* Files next to a target under hidden names, which consist of mark, id, target's name and kind. */
typedef enum target_kind {
	TARGET_TEMP,         /* being written, or complete */
	TARGET_ADDS,         /* a journal, see journal.h, of parts that replace nothing */
	TARGET_REPLACES,     /* of a set of parts that replaces a set, whose surplus parts go */
	TARGET_REPLACES_ONE, /* of one file, or of a set after which all others stay */
	TARGET_OLD           /* the manifest that is replaced */
} target_kind;

static inline bool target_is_journal(target_kind k)
{
	return k == TARGET_ADDS || k == TARGET_REPLACES || k == TARGET_REPLACES_ONE;
}

/* Such a name, as target_next_hidden finds it. */
typedef struct hidden_name {
	DIR *dir;
	int errnum; /* why the directory cannot be listed; 0: it can */
	const char *name;
	uint64_t mark, id;
	target_kind kind;
	const char *base; /* the target's name in it, */
	size_t shown;     /* of which it has so many bytes */
} hidden_name;

/* A file under a hidden name, as the lock of its target notes it: first the name, then the file.
 * Files of ended jobs are only removed if a lock has noted them; a name proves nothing. */
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
	target_kind kind; /* of its hidden name, until it gets the final one */
	size_t shown;     /* bytes of base in the name of a journal that was found; 0: all */
	int fd;           /* the written file, held to recognize it; -1: none */
	char *text;       /* what was written, if all of it is to be compared; else NULL */
	size_t text_bytes;
	bool named;     /* it has its final name already */
	file_role role; /* target_commit only replaces files of this role; ROLE_ANY: all */
	bool replaces;  /* target_check has found a file, with this mode and group */
	mode_t old_mode;
	gid_t old_gid;
	mode_t most; /* else: the most that group and others are allowed, apart from the umask */
	mode_t mode; /* that it will have; 0: as it has */
	unfinished temp;   /* its name until it is complete */
	unfinished lock;   /* see target_lock */
	int lock_fd;       /* -1: not locked */
	hidden_file own;   /* noted in the lock: the file that this job has made, */
	hidden_file *left; /* [lefts] files of earlier jobs that are kept, */
	size_t lefts;
	file_id dir;           /* and the directory, if hetsort has made it; else inode 0 */
	unsigned stays;        /* target_lock: files under hidden names that no lock has noted, */
	char stays_name[256];  /* and one of these names */
	const file_set *reads; /* files that stay in any case; NULL: none */
	bool shared;           /* another rank makes it: remove its names only at an early end */
	double patience_s;     /* how long target_lock waits for another job to end */
} target;

/* target_open - find the directory of path, which is copied. Refuse a path that ends in a slash or
 * whose directory cannot be opened. */
status target_open(target *t, const char *path, err *e);

/* target_next_hidden - the next hidden name in the target's directory; start from { 0 }. False
 * after the last one, which closes the directory, so ask until then. */
bool target_next_hidden(const target *t, hidden_name *h);

/* target_open_hidden - open the target of this hidden name in the directory of `beside`. False: the
 * hidden name has only a part of the target's. */
bool target_open_hidden(target *t, const target *beside, const hidden_name *h);

/* target_check - refuse a directory, a symbolic link, anything but a regular file, and, without
 * force, a file that exists; note one that will be replaced. */
status target_check(target *t, bool force, err *e);

/* target_check_role - as target_check with force, but refuse an existing file that hetsort did not
 * write for this role. With t->role set, target_commit checks it again. */
status target_check_role(target *t, file_role role, err *e);

/* target_create - create the temporary file named after id. It gets the mode and, where permitted,
 * the group of the file that it replaces; else mode 0666 less the umask and what t->most forbids.
 */
status target_create(target *t, uint64_t id, int *fd, err *e);

/* target_attach - open the temporary file that another rank has created for the same id. If this
 * process is ended early, it removes that file: the other one may have no time for it. */
status target_attach(target *t, uint64_t id, int *fd, err *e);

/* target_keep - let the temporary file outlive the program, unless it is committed; with_lock: the
 * lock, too, because nothing else proves later that hetsort made the file. target_find - open the
 * one of this id for reading, or the file with the final name; *fd -1: neither exists. target_drop
 * - remove the one that was kept. False: another file has its hidden name, and stays. */
void target_keep(target *t, bool with_lock);
void target_find(target *t, uint64_t id, int *fd);
bool target_drop(const target *t);

/* target_notes_files - does the lock note an existing file? Only the lock proves that hetsort made
 * it. */
bool target_notes_files(const target *t);

/* target_note - note in the lock, if there is one, which file has the hidden name of this kind. */
status target_note(target *t, target_kind kind, const file_id *is, err *e);

/* target_hidden_name - by the target's mark and id, in `name`, which is returned. target_hidden -
 * the same in a buffer of the enclosing block. target_list - what is in the target's directory,
 * NULL: that cannot be told. */
const char *target_hidden_name(const target *t, target_kind kind, char name[UNFINISHED_NAME_BYTES]);
#define target_hidden(t, kind) target_hidden_name(t, kind, (char[UNFINISHED_NAME_BYTES]){ 0 })
DIR *target_list(const target *t);

/* target_reads - does this job read the file of this name in the target's directory, or the file
 * that a link of this name leads to? */
bool target_reads(const target *t, const char *name);

/* target_mark - the mark of the target at path. target_parse_lock_name - the mark in the name of a
 * lock; returns the target's name in it, NULL: not a lock's name. target_is_cut - is that cut? */
uint64_t target_mark(const char *path);
const char *target_parse_lock_name(const char *name, uint64_t *mark);
bool target_is_cut(const char *base);

/* target_close - close fd after all is written; sync: write it to the disk after the lock that
 * notes it, so that --clean can remove it after a loss of power; hold: t->fd holds the file. */
status target_close(target *t, int fd, bool hold, bool sync, err *e);

/* target_ready - refuse what would make target_commit fail or harm: a temporary file that is not
 * the written one or has changed (see target_look), or, without force, a file with the final name.
 */
status target_ready(const target *t, bool force, err *e);

/* target_commit - rename onto the final name; without force never replace a file that has appeared
 * meanwhile, nor, with t->role, one that hetsort did not write for it. */
status target_commit(target *t, bool force, err *e);

/* target_look - after target_commit: find the path again and compare the file with the written one.
 * Some file systems give all files one device and inode, so its size and its first and last block,
 * or all of t->text, are compared, too. */
status target_look(const target *t, err *e);

/* target_sync_name - make that name durable. On failure the file is complete, as the message says;
 * only a loss of power could remove the name. */
status target_sync_name(const target *t, err *e);

/* target_write_lock - write the text of the lock. */
status target_write_lock(const target *t, err *e);

/* target_lock - keep other jobs from making the file until target_discard or the end of the
 * process. Remove the temporary files, *removed of them, that killed jobs have noted in their lock,
 * except the one of t->id, those in t->reads and those of a journal in the same directory.
 * ST_REFUSED: a job, named with host and process, is making the file, or a file with the lock's
 * name is no lock or in t->reads. Where the file system has no locks, do nothing; t->lock_fd stays
 * -1. */
status target_lock(target *t, unsigned *removed, err *e);

/* target_share_lock - another rank has locked it: if this process is ended early, it removes the
 * lock, unless the lock notes files. */
void target_share_lock(target *t, bool notes_files);

/* target_has_journal - does the target's directory have a journal of this job? True if it cannot be
 * listed. */
bool target_has_journal(const target *t, uint64_t id);

/* target_sweep - if an ended process has left a lock for this file: remove it, and all that
 * target_lock removes, except files in `reads` (NULL: none). False: there is no lock, or its
 * process lives. *dir is set if the lock noted that hetsort made the directory; NULL: do not ask.
 */
bool target_sweep(const char *path, uint64_t kept_id, const file_set *reads, file_id *dir);

/* target_sweep_after - sweep the file of the rank after this one, and so on, up to a rank that has
 * left nothing: the rank before a killed one, or before several in a row, removes their files.
 * path: the name of a rank's file, allocated, NULL without memory. */
typedef char *target_of_rank(int rank, const void *arg);
void target_sweep_after(int rank, int size, target_of_rank *path, const void *arg,
			uint64_t kept_id);

/* target_release - remove the temporary file, and the lock, unless it notes a file that stays.
 * target_discard - release all else, too. target_list_lock - let an early end of the process remove
 * the lock again. */
void target_list_lock(target *t);
void target_release(target *t);
void target_discard(target *t);

#endif

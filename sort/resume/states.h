/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The states that earlier jobs of any number of ranks have left. Ranks that find the same files in
 * their workdir are a group: all ranks in a shared directory, the ranks of a host on its own disk.
 * Each state is loaded by one rank of the group. No files are removed except those that states
 * note. */
#ifndef HETSORT_RESUME_STATES_H
#define HETSORT_RESUME_STATES_H

#include "comm/rank_env.h"
#include "io/target.h"
#include "spill/resume_state.h"

#include <dirent.h>

typedef struct groups {
	int32_t *of; /* [ranks] the first rank of its group, which leads it */
	int32_t own; /* the first rank of this rank's group, */
	int ranks;   /* the number of ranks in it, */
	int place;   /* and of those before this one */
} groups;

/* groups_find - collective. t: this rank's state in that directory; nothing of it is made yet. */
status groups_find(rank_env *env, target *t, groups *g);

void groups_free(mem *m, groups *g);

typedef struct states_query {
	const groups *g;
	const input *in;
	const resume_state *is; /* this sort, for comparison */
	const char *dir;
	DIR *list;       /* what is in it: of the first rank of a group */
	const target *t; /* this rank's state there, locked */
} states_query;

typedef struct states {
	resume_state *s; /* [count] those that this rank has loaded; missing runs are left out */
	size_t count, room;
	file_id dir; /* the directory, if a lock without a state noted that hetsort made it */
} states;

/* states_find - collective. Refuses states of another sort, of a job that still runs, and any
 * without --resume. */
status states_find(rank_env *env, const states_query *q, states *out);

/* states_of - the state of a rank, or NULL if this rank has not loaded it. */
resume_state *states_of(const states *s, int32_t rank);

void states_free(states *s);

/* states_free_numbers - the first of n numbers in a row, from `first` on, that no file of a run of
 * this rank has, whoever made it. */
uint64_t states_free_numbers(int dirfd, int32_t rank, uint64_t first, size_t n);

/* states_mark - set has[rank], of RESUME_MOST_RANKS, for each rank that has a state, its lock or
 * its temporary file in d. states_count_strangers - the number of names in d that a state or a run
 * may have, except of files that the job of t reads (NULL: count all); first: one of them, unless
 * there is none. */
void states_mark(DIR *d, bool *has);
unsigned states_count_strangers(DIR *d, const target *t, char *first, size_t bytes);

/* states_remove_run - remove the file of a run of this rank, if it is the one that was noted.
 * states_remove - all files that the state notes, then the state, if it is still the file that s
 * was loaded from or written to. False, with errno set: one of them cannot be removed. No file is
 * opened. */
bool states_remove_run(int dirfd, int32_t rank, const file_note *n, unsigned *removed);
bool states_remove(int dirfd, const resume_state *s, unsigned *removed);

/* states_remove_unused - the files that the states note, except those of the runs that are used,
 * which become sorted. states_uses - is the file of this run used? */
status states_remove_unused(int dirfd, const states *found, run_list *used, const char *dir,
			    unsigned *removed, err *e);
bool states_uses(const run_list *used, int32_t rank, uint64_t number);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The states that earlier jobs of any number of ranks have left, and the runs that each rank
 * continues with. Ranks that find the same files in their workdir are a group: all ranks if they
 * share it, or the ranks of a host on its own disk. Each state is loaded by one rank of the group.
 * Only files that states note are removed. */
#ifndef HETSORT_RESUME_STATES_H
#define HETSORT_RESUME_STATES_H

#include "comm/rank_env.h"
#include "io/target.h"
#include "spill/resume_state.h"

#include <dirent.h>

typedef struct groups {
	int32_t *of; /* [ranks] the first rank of its group, which leads it */
	int32_t own; /* the first rank of this rank's group */
	int ranks;   /* number of ranks in it */
	int place;   /* number of ranks of the group before this one */
} groups;

/* groups_find - collective: find the groups. t: this rank's state in the workdir, next to which a
 * test file may be made. */
status groups_find(rank_env *env, target *t, groups *g);

typedef struct states_query {
	const groups *g;
	const input *in;
	const resume_state *is; /* this sort, for comparison */
	const char *dir;
	DIR *list;       /* the open directory, on the first rank of a group */
	const target *t; /* this rank's state there, locked */
} states_query;

typedef struct states {
	resume_state *s; /* [count] states that this rank has loaded, less runs without a file */
	size_t count;
	file_id dir; /* of the workdir, if a lock without a state notes that hetsort made it */
} states;

/* states_find - collective: load all states. Refuse a state of another sort or of a running job,
 * and any state without --resume. */
status states_find(rank_env *env, const states_query *q, states *out);

/* states_of - return the state of a rank, or NULL if this rank has not loaded it. */
resume_state *states_of(const states *s, int32_t rank);

void states_free(states *s);

/* states_free_numbers - return the first of n consecutive numbers, at least `first`, for new runs
 * of this rank. No file has the name of a run with one of them. */
uint64_t states_free_numbers(int dirfd, int32_t rank, uint64_t first, size_t n);

/* states_mark - set has[rank], of RESUME_MOST_RANKS, for each rank that has a state, its lock or
 * its temporary file in d. states_count_strangers - return the number of files in d that are named
 * like a state or a run, except files that the job of t reads (NULL: count all). first: receives
 * one of the names, if any. */
void states_mark(DIR *d, bool *has);
unsigned states_count_strangers(DIR *d, const target *t, char *first, size_t bytes);

/* states_remove_run - remove the file of a run, if it is the noted one. states_remove - remove all
 * files that the state notes, then its own file, if it is still the file that s was loaded from or
 * written to. No file is opened. Return false, with errno set, if one of them cannot be removed. */
bool states_remove_run(int dirfd, const run_note *n, unsigned *removed);
bool states_remove(int dirfd, const resume_state *s, unsigned *removed);

/* states_remove_unused - remove the files of the noted runs that are not in `used`, which is sorted
 * for states_uses. states_uses - return whether this run is in `used`. */
status states_remove_unused(int dirfd, const states *found, run_list *used, const char *dir,
			    unsigned *removed, err *e);
bool states_uses(const run_list *used, const run_note *n);

/* ------------------------------------------------------------------------------- share_runs.c
 *
 * The states of all ranks, combined: the sort that they belong to, a complete output that they
 * note, and the runs that each rank continues with. A rank also reads the records between its
 * runs. */

typedef struct saved_output {
	uint64_t states;         /* number of states; 0: this sort is new */
	uint64_t job;            /* the number of the sort: the same in all states, or a new one */
	output_checkpoint all;   /* all parts together; id 0: no output is complete */
	int32_t ranks;           /* number of ranks that made it */
	output_checkpoint *part; /* [ranks] if this job has the same number of ranks, else NULL */
} saved_output;

/* saved_output_find - collective: find the sort and the complete output that the states note.
 * Refuse states of several sorts. An output with a missing part does not count. */
status saved_output_find(rank_env *env, const states *s, saved_output *out);

/* The runs of earlier jobs are dealt: each is assigned to a rank of this job, which may have
 * another number of ranks. Each rank gets one stretch, consecutive records of the input, so that
 * equal keys stay in the order of the input. If hosts have disks of their own, the stretches may be
 * in another order than the ranks. A run is not divided. */
typedef struct deal_query {
	uint64_t records; /* of the input */
	int ranks;
	const int32_t *group;  /* [ranks] the same number for ranks that find the same runs */
	const uint64_t *share; /* [ranks] planned records, in proportion to the speed of a rank */
} deal_query;

/* The result, in memory of the caller. */
typedef struct deal {
	int32_t *rank_at; /* [ranks] ranks in the order of their stretches */
	uint64_t *end;    /* [ranks] the end of each stretch, in this order */
} deal;

/* deal_runs - deal the *runs runs of `run`, which may be in any order and overlap. The runs that
 * are used move to the front, in the order of the input, and *runs receives their number. Each is
 * in the stretch of a rank of its group. The largest load of a rank, relative to its share, is as
 * small as possible. In the load, a record that is in no used run counts three times: it is read
 * from the input, written to a run, and read again. */
status deal_runs(const deal_query *q, mem *m, run_note *run, size_t *runs, deal *d, err *e);

typedef struct share_runs_query {
	const groups *g;
	const states *found;
	uint64_t records;
	const uint64_t *planned; /* [size] shares */
} share_runs_query;

typedef struct shared_runs {
	int32_t *rank_at; /* [size] ranks in the order of their stretches; NULL: in the order of
			     their numbers */
	int32_t place;    /* of this rank in rank_at */
	uint64_t first;   /* the first record of this rank */
	run_list own;     /* runs in its stretch, in order */
	run_list used;    /* the runs in use, of the states that this rank has loaded */
} shared_runs;

/* share_runs - collective: deal the runs of all states to the ranks. share: [size] receives the
 * number of records of each rank. */
status share_runs(rank_env *env, const share_runs_query *q, uint64_t *share, shared_runs *out);
void shared_runs_free(mem *m, shared_runs *s);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The states that earlier jobs have left, of any number of ranks: in a directory that several ranks
 * find, each state is loaded by one of them. */
#ifndef HETSORT_RESUME_STATES_H
#define HETSORT_RESUME_STATES_H

#include "groups.h"
#include "spill/resume_state.h"

#include <dirent.h>

typedef struct states_query {
	comm *c;
	mem *m;
	const groups *g;
	const input *in;
	const resume_state *is; /* this sort, for comparison */
	const char *dir;
	int dirfd;
	const file_set *reads; /* which may not be removed */
	bool resume;           /* else a state is refused */
	double patience_s;     /* with a job that is about to end */
} states_query;

typedef struct states {
	resume_state *s; /* [count] those that this rank has loaded; missing runs are left out */
	size_t count, room;
	int32_t most; /* ranks of a job that has left one of them */
	file_id dir;  /* the directory, if a lock without a state noted that hetsort made it */
} states;

/* states_find - collective. Refuses states of another sort, and of a job that still runs. */
status states_find(const states_query *q, states *out, err *e);

/* states_of - that of a rank, NULL: this rank has not loaded it. */
resume_state *states_of(const states *s, int32_t rank);

void states_free(states *s);

/* states_rank_of - is this the name of a rank's state, or of its lock or temporary file?
 * states_is_name - is it one that a state or a run may have? */
bool states_rank_of(const char *name, int64_t *rank);
bool states_is_name(const char *name);

/* states_free_numbers - the first of n numbers in a row, from `first` on, that no file of a run of
 * this rank has, whoever made it. */
uint64_t states_free_numbers(int dirfd, int32_t rank, uint64_t first, size_t n);

/* states_list - the ranks, *count of them, that have a state, its lock or its temporary file in d,
 * each once; to be freed on failure too. */
status states_list(DIR *d, int64_t **ranks, size_t *count, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sort on one rank: everything its phases hand on to each other. */
#ifndef HETSORT_PHASES_JOB_H
#define HETSORT_PHASES_JOB_H

#include "spill/budget.h"
#include "comm/comm.h"
#include "base/memory_limit.h"
#include "spill/read_runs.h"
#include "io/output.h"
#include "model/rates.h"
#include "exchange/outgoing.h"
#include "exchange/split.h"
#include "workdir.h"
#include "io/writer.h"

typedef enum phase {
	PH_DESCRIBE,
	PH_PLAN,
	PH_READ,
	PH_SORT,
	PH_SAMPLE,
	PH_SPLIT,
	PH_EXCHANGE,
	PH_MERGE,
	PH_WRITE,
	PH_SYNC,
	PH_COMMIT,
	PHASES
} phase;

/* phase_name - one word. */
const char *phase_name(phase p);

/* What became of --adapt; the same on all ranks. */
typedef enum adapt_state {
	ADAPT_OFF,
	ADAPT_KEPT,    /* the gain was too small */
	ADAPT_NO_ROOM, /* memory or disk of a rank would not hold more */
	ADAPT_CHANGED,
} adapt_state;

/* What rank 0 learns of each rank at the end; fixed size, gathered as bytes. */
typedef struct rank_result {
	int32_t rank;
	char host[HOST_BYTES];
	double phase_s[PHASES]; /* own work, without waiting at the phase's border */
	double wait_s;          /* at borders, for the slowest rank */
	double verify_s;        /* of the phases' time: checksums and order */
	double move_s;          /* of the phases' time: blocks moved, where no thread does it */
	double predicted_s;     /* by the plan, at these rates: nominal or measured */
	rates rate;
	double speed;
	double link_s; /* a byte from rank 0, where it deals out the input; else 0 */
	uint64_t planned_in, planned_out; /* records */
	uint64_t planned_out_before;      /* by the first plan; else only if adapt_state is set */
	double speed_seen;   /* while it read and sorted, in the scale of speed; 0: nobody looked */
	double adapt_gain;   /* predicted, of the time that was left */
	int32_t adapt_state; /* an adapt_state */
	uint64_t in, out;
	uint64_t read_bytes, written_bytes, sent_bytes, received_bytes;
	io_stats io[2];                      /* reads, writes */
	char io_text[IO_TEXT_BYTES];         /* why there is no io_uring, "" if there is */
	uint64_t mem_peak_bytes;             /* held by this rank's own arrays */
	uint64_t limit_bytes, planned_bytes; /* of memory; UINT64_MAX: no limit */
	uint64_t spill_bytes, spill_runs;    /* 0: all in memory */
	uint64_t kept_bytes, kept_runs;      /* of these, there from an earlier program */
	int32_t merge_kept;                  /* its output was complete as well */
	char limit_text[LIMIT_TEXT_BYTES];   /* where the limit comes from */
	uint64_t rss_peak_bytes;             /* of its process, which may hold several ranks */
	int32_t pid;
	unsigned leftovers; /* temporary files of dead jobs, removed */
	checksum sum_in, sum_out;
	int32_t status, phase; /* where it failed, if it did */
	char text[ERR_TEXT_BYTES];
} rank_result;

/* How the whole job ended, at rank 0. */
typedef struct job_result {
	status status;
	uint64_t records;
	double total_s, all_read_s; /* since the beginning; 0: not all had read and sorted */
	checksum sum;
	int size;
	const char *comm_kind;
	char note[ERR_TEXT_BYTES]; /* "", or what is worth telling beside the ranks' errors */
	rank_result *rank;         /* size entries, NULL if there was no memory; caller frees */
} job_result;

typedef struct history history;

/* How the input leaves rank 0, where it is there alone. */
typedef struct scatter_plan {
	size_t p;          /* 0: it does not */
	double *startup_s; /* [p] of a message from rank 0 to each */
	double *byte_s;    /* [p] */
	double *arrive_s;  /* [p] predicted: when a rank has its share */
	uint32_t *order;   /* [p] ranks as they are served, rank 0 last */
} scatter_plan;

typedef struct job {
	comm *c;
	const settings *o;
	mem m;
	err e;
	err note; /* rank 0: worth telling, though nothing failed */
	phase at;
	double begun_s, all_read_s; /* by the clock; since then, when all ranks had read */
	input in;
	output out;
	workdir work;
	io_backend *io;       /* by which way files are read and written */
	uint64_t records;     /* over all ranks */
	double *speed;        /* [size] */
	rates *rate;          /* [size] nominal or measured */
	uint64_t *share_in;   /* [size] records that each rank reads and sorts */
	uint64_t *share_out;  /* [size] records that it writes */
	uint64_t *target;     /* [size - 1] sums of share_out: what precedes each splitter */
	scatter_plan scatter; /* with --source=root */
	unsigned threads;     /* of this rank */
	unsigned ranks_here;  /* on this host */
	memory_limit limit;
	uint64_t windows_bytes; /* of the exchange */
	budget budget;
	char *tmpdir;                /* for runs, if none is named */
	loaded_runs data;            /* this rank's records and entries */
	records recs;                /* the records as a view */
	speed_history speed_history; /* of reading and sorting, with --adapt */
	runs r;                      /* what is to be merged or sent: the runs of data, or dealt */
	entry *by_destination;       /* by distributing: entries by destination, as one run */
	uint64_t by_destination_start[2];
	brackets brackets;
	uint64_t *cut;  /* [(size + 1) * runs] what each rank gets of each run */
	uint64_t *recv; /* [size] records from each rank */
	outgoing outgoing;
	io_fd to;         /* the output as written to */
	history *history; /* rank 0: what runs have shown, with --plan=online */
	writer w;
	inspected seen; /* what was written */
	unsigned char *seen_keys;
	bool output_found; /* the output of an earlier program: all that is left is names */
	checksum sum;      /* of the input of all ranks */
	unsigned char *part_summaries; /* [size] what they say of their parts, verified: see
					  part_summary.h */
	rank_result mine;
} job;

/* job_run - sort as told; collective. res is filled on rank 0 and ignored elsewhere. Prints
 * nothing. Returns the status that all ranks agreed on. */
status job_run(comm *c, const settings *o, job_result *res);

/* The phases, in order; each returns this rank's status, the border makes it everybody's. */
status phase_describe(job *j);
status phase_plan(job *j);
status phase_resume(job *j); /* runs of an earlier program decide what each rank reads */
status phase_budget(job *j);
status phase_save_state(job *j); /* what the runs to come belong to */
status phase_read(job *j);
status phase_load_output(job *j); /* an output that was complete, but for its name */
status phase_adapt(job *j);       /* output shares by the speeds of this very run */
status phase_sample(job *j);
status phase_split(job *j);
status phase_merge(job *j);       /* exchange, merge and write, all at once */
status phase_distribute(job *j);  /* exchange, then sort and write */
status phase_single_rank(job *j); /* the only rank: merge and write */
status phase_sync(job *j);
status phase_verify(job *j);
status phase_save_output(job *j); /* note that it is complete */
status phase_commit(job *j);
status phase_drop_checkpoints(job *j); /* the runs are done with */
status phase_update_wisdom(job *j);

/* alias_check - collective: a file that is read twice, made twice, or read and replaced, by one
 * rank or by two, is refused. Touches nothing. */
status alias_check(job *j);

/* workdir_open - find and lock the directory where runs are kept, and load what an earlier program
 * has left there for this rank, if it is of this very sort. */
status workdir_open(job *j);

/* job_tmpdirs - where runs go, *n directories. */
const char *const *job_tmpdirs(const job *j, size_t *n);

/* plan_check - are these shares, which rank 0 has told, those of all records? what: reading,
 * writing. */
status plan_check(job *j, const uint64_t *share, const char *what);

/* plan_targets - what precedes each splitter, from share_out. */
void plan_targets(job *j);

/* budget_holds - would this rank's memory hold so many records to be written? */
bool budget_holds(job *j, uint64_t out_recs);

/* budget_ended - all that this rank holds has come: what it takes now that its size is known. */
void budget_ended(job *j);

/* job_spreads - would what exceeds the memory be exchanged first? Not what each rank or only one
 * has: it is sorted where it is, and moved while it is merged. */
static inline bool job_spreads(const job *j)
{
	return j->c->size > 1 && j->o->strategy == BY_DISTRIBUTING && !j->in.per_rank &&
	       !j->o->from_root;
}

/* job_merges - is the last step a merge of runs? */
static inline bool job_merges(const job *j)
{
	return j->o->strategy == BY_MERGING || j->budget.spills;
}

/* own_share - what this rank is to read, or to write. */
static inline uint64_t own_share(const job *j, const uint64_t *share)
{
	return share[j->c->rank];
}

/* share_before - the sum of the shares of the ranks before this one. */
static inline uint64_t share_before(const job *j, const uint64_t *share)
{
	uint64_t sum = 0;
	for (int i = 0; i < j->c->rank; i++)
		sum += share[i];
	return sum;
}

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job as one rank sees it: a value for each thing that a phase makes for those after it, and the
 * phases, in the order of run.c, which shows their names. All phases are collective. Each returns
 * this rank's status; at the border of a phase it becomes everybody's. */
#ifndef HETSORT_PHASES_JOB_H
#define HETSORT_PHASES_JOB_H

#include "base/limit.h"
#include "exchange/exchange.h"
#include "exchange/stream_merge.h"
#include "exchange/splitter_search.h"
#include "exchange/two_level.h"
#include "io/input.h"
#include "io/output.h"
#include "kernel/inspect.h"
#include "model/rank_result.h"
#include "model/shares.h"
#include "model/wisdom.h"
#include "scatter/scatter.h"
#include "selection.h"
#include "spill/budget.h"
#include "spill/read_runs.h"
#include "workdir.h"

/* ------------------------------------------------------------------------------------- values */

typedef enum frame_place { FRAME_HEADER, FRAME_TRAILER, FRAME_PIECES } frame_place;

typedef struct frame_piece {
	unsigned char *bytes;
	size_t n;
} frame_piece;

/* What is read and written, and by which backend. */
typedef struct files {
	input in;
	output out;
	frame_piece frame[FRAME_PIECES]; /* what this rank writes around the records */
	uint64_t trailer_bytes;          /* of the whole output */
	io_backend *io;
	bool late_refused; /* see alias_check */
} files;

typedef struct cpu_share {
	unsigned threads;    /* of this rank */
	unsigned ranks_here; /* on this host, */
	unsigned sharing;    /* and of them those that may use the same processors, */
	unsigned before;     /* and of these the ones that precede this rank */
	double processors;   /* the rank's part of these */
	numa *numa;          /* NULL: not looked at */
} cpu_share;

/* Memory: the limit, and how to stay within it. */
typedef struct memory_plan {
	memory_limit limit;
	uint64_t windows_bytes; /* of the exchange; the same on all ranks */
	exchange_way exchange;
	uint64_t between_recs; /* that there is room for between two steps of an exchange */
	budget budget;
	size_t kept;           /* how many of the runs that earlier jobs have left are used */
	char *tmpdir;          /* for runs, if none is named */
	bool other_spills;     /* where rank 0 plans for all: one of them does, so all do */
	bool other_copies_not; /* and one of them has no memory for a second copy */
} memory_plan;

/* Where this rank's records are cut, and the runs that are cut: what each rank gets of each. */
typedef struct cuts {
	splitter_search search;
	sorted *s;      /* as read; by distributing later: one run, by destination */
	uint64_t *cut;  /* [(size + 1) * runs], or [(peers + 1)] of one run: */
	peer_flow flow; /* what comes and goes where not all are peers; most_peers of any rank */
	int most_peers;
	bool drops_rest; /* what the last rank would get none gets: */
	dropped dropped; /* the records of this rank that are dropped */
} cuts;

/* This rank's part of the output. */
typedef struct output_part {
	inspected seen;
	dropped dropped;
	unsigned char *keys; /* the first and the last one */
	bool found;          /* it is of an earlier program: all that is left is names */
} output_part;

/* A rank's report of its part of the complete output. The first and the last key follow it, or
 * zeros if there is no record. */
typedef struct part_summary {
	uint64_t in, out, dropped;
	checksum sum_in, sum_out, sum_dropped;
	checksum sum_stated;       /* of the input, as manifests state it, */
	uint64_t stated, unstated; /* files whose checksum is stated, and others */
} part_summary;

/* The reports of all ranks, which rank 0 has compared with the input. */
typedef struct verified {
	checksum sum;                  /* rank 0: of the input of all ranks */
	checksum sum_out;              /* and of the output, */
	uint64_t out;                  /* its records */
	unsigned char *own;            /* part summary */
	unsigned char *part_summaries; /* rank 0: [size] */
} verified;

/* Each value is made by one phase, and only read by those after it. */
typedef struct job {
	rank_env env;
	rank_result mine;
	phase at;
	double begun_s, all_read_s; /* by the clock; since then, when all ranks had read */
	files files;                /* by describe */
	cpu_share cpus;             /* by describe */
	workdir work;               /* by describe; resume decides who continues with what */
	wisdom *wisdom;             /* by plan on rank 0, with --plan=online */
	share_plan shares;          /* by describe and plan, and by all that plan again: */
	share_plan next;            /* of the phase under way; see job_replan */
	scatter_plan scatter;       /* by plan */
	memory_plan memory;         /* by budget; read notes what a stream has taken */
	read_runs data;             /* by read; regroup and distribute replace it */
	speed_history speeds;       /* by read, of reading and sorting, with --adapt */
	cuts cuts;                  /* by sample and split */
	output_part part;           /* by merge, distribute, single_rank */
	verified verified;          /* by verify */
} job;

/* -------------------------------------------------------------------------------------- steps */

typedef status job_step(job *j);

/* In the order of run.c, which says what each is for. */
job_step phase_describe, phase_plan, phase_resume, phase_find_output, phase_budget,
	phase_save_state, phase_read, phase_load_output, phase_adapt, phase_plan_top, phase_sample,
	phase_split, phase_split_inputs, phase_drop_rest, phase_split_keys, phase_regroup,
	phase_merge, phase_distribute, phase_single_rank, phase_close_gaps, phase_sync,
	phase_reread, phase_verify, phase_save_output, phase_commit, phase_drop_checkpoints,
	phase_update_wisdom;

/* job_each - take n steps until one fails. After each step all ranks agree on its status. */
static inline status job_each(job *j, job_step *const *step, size_t n)
{
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < n; i++)
		rc = comm_agree(j->env.c, step[i](j));
	return rc;
}

/* job_replan - collective: start a new plan of shares in j->next, like the one in j->shares. It
 * takes that one's place when the phase has ended well. A second call changes nothing.
 * job_replan_out - the same, with what each rank writes: `mine` records here. ST_PEER if these are
 * not all records; what: what made the shares, or NULL where some records are dropped. */
status job_replan(job *j);
status job_replan_out(job *j, uint64_t mine, const char *what);

/* ------------------------------------------------------------------------- parts of several phases
 */

/* output_order - of the records in a part. */
static inline inspect_order output_order(const settings *o)
{
	return o->partition_only ? INSPECT_ANY : o->unique ? INSPECT_STRICT : INSPECT_SORTED;
}

/* output_note_stays - a file of this hidden name next to the output is not removed: say so. */
void output_note_stays(job *j, const char *name);

/* output_part_open - prepare j->part for the records that are inspected. */
status output_part_open(job *j, err *e);

/* output_read_again - look at this rank's records of the output, whose file is open; direct: past
 * the page cache? ST_INVALID, without a sentence: they are out of order. */
status output_read_again(job *j, uint64_t recs, direct_io direct, err *e);

/* part_summary_at - the summary of a rank, among those of all; *first_key receives where its keys
 * begin. */
part_summary part_summary_at(const unsigned char *all, int rank, const layout *l,
			     const unsigned char **first_key);
void verified_free(mem *m, verified *v);

/* place_plan - where the threads of the rank run that has `before` others before it. */
numa_place place_plan(const job *j, unsigned before);

/* workdir_open - find and lock the directory where runs are kept, and load what earlier programs
 * have left there, if it is of this very sort. workdir_close - release all: until then this rank
 * looks after those that die before they have done it. workdir_patience_s - how long --resume waits
 * for the locks of a job that is about to end: ranks live on for a while after their launcher was
 * killed. workdir_first - the first record of this rank in the sequence of all. workdir_place -
 * the place of its records among all ranks: equal keys come in this order. */
job_step workdir_open;
void workdir_close(job *j);
double workdir_patience_s(const rank_env *env);
uint64_t workdir_first(const job *j, const uint64_t *share_in);
uint32_t workdir_place(const job *j);

/* copy_streams - what streams hold goes to files without a name, which all ranks of the process
 * read, and the input is counted again. Nothing to do where it is a single stream. */
job_step copy_streams;

/* What surrounds the records: the header of the first input (--skip-header) comes before those of
 * the first output, and the trailer of the last input (--skip-trailer, or what follows --records)
 * after those of the last one. The rank that writes a piece holds it in memory; others have nothing
 * to do here.
 * frame_read - collective, after streams were copied: read both pieces. A stream that is read as it
 * comes is opened, and stands after its header then. frame_write - one of them to the output, which
 * is open: the header before any record, the trailer when all are written and the file has its
 * size. frame_check - does this rank's file, open as fd, begin and end with them? ST_IO if not. */
job_step frame_read;
status frame_write(job *j, frame_place place);
status frame_check(job *j, int fd, err *e);

/* plan_note - note in the result what the rank of j->env is to do. */
void plan_note(job *j);

/* plan_time - predict how long this rank takes, and plan the stages. The budget is made. run_dir:
 * where runs go, if it spills. Looks whether the input is in memory; if speeds are measured and
 * there is much to write, it tries the disk. */
void plan_time(job *j, const char *run_dir);

/* plan_for_all - what each rank would say of its plan, where rank 0 plans for all of them
 * (comm_local_run_first): all[] are copies of its own result. rc: of rank 0; returns that of all.
 */
status plan_for_all(job *j, rank_result *all, status rc);

/* budget_default_tmpdir - where runs go if no directory is named: $TMPDIR, or the output's. NULL
 * without memory. budget_tmpdirs - where runs go, *n directories. budget_holds - would this rank's
 * memory hold so many records to be written? budget_ended - all that this rank holds has come: what
 * it takes now that its size is known. */
char *budget_default_tmpdir(const settings *o);
const char *const *budget_tmpdirs(const job *j, size_t *n);
bool budget_holds(const job *j, uint64_t out_recs);
void budget_ended(job *j);

/* budget_spreads - would what exceeds the memory be exchanged first? Not what each rank or only one
 * has: it is sorted where it is, and moved while it is merged. */
static inline bool budget_spreads(const job *j)
{
	return j->env.c->size > 1 && !settings_strategy(j->env.o)->sorts_first &&
	       !j->files.in.per_rank && !j->env.o->from_root;
}

/* budget_merges - is the last step a merge of runs? */
static inline bool budget_merges(const job *j)
{
	return settings_strategy(j->env.o)->sorts_first || j->memory.budget.spills;
}

/* read_note - what this rank reports of what it has read: `in` records. */
void read_note(job *j, uint64_t in);

/* cuts_count - return how many records of this rank each one is to have, or NULL; to be freed. */
uint64_t *cuts_count(job *j);

/* ----------------------------------------------------------------------------------- exchange */

/* exchange_setup_windows - what the windows of the exchange take, by the mean share of so many
 * records and the least limit of memory of any rank: the same on all ranks, as it sets the size of
 * blocks. */
uint64_t exchange_setup_windows(const rank_env *env, uint64_t total, uint64_t least_limit_bytes);

/* output_most - records that this rank may write: of --top what the ranks before have not,
 * or, as that shows later where keys are unique, all. */
uint64_t output_most(const job *j);

/* output_open - collective: create the output; *to is where this rank writes. To be
 * closed on failure too. */
status output_open(job *j, io_fd *to);
void output_close(const io_fd *to);

#endif

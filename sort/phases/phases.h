/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The job of one rank: the values that one phase makes for later phases, and the phases, in the
 * order of sort/job.c. All phases are collective. Each returns this rank's status; at the end of
 * the phase all ranks agree on one. */
#ifndef HETSORT_PHASES_PHASES_H
#define HETSORT_PHASES_PHASES_H

#include "base/limit.h"
#include "exchange/splitter_search.h"
#include "io/input.h"
#include "io/journal.h"
#include "io/output.h"
#include "io/target.h"
#include "kernel/inspect.h"
#include "model/job_time.h"
#include "model/rank_result.h"
#include "model/shares.h"
#include "model/wisdom.h"
#include "resume/states.h"
#include "scatter/scatter_input.h"
#include "selection.h"
#include "spill/sort_plan.h"
#include "spill/read_runs.h"
#include "spill/run_checkpoint.h"

/* The failure of a rank whose options differ, as in a farm, where each rank has a file of its own.
 */
#define OTHER_OPTIONS                                                                        \
	"started with other options than rank 0; if each rank is to sort files of its own, " \
	"use --launcher=none"

/* The bytes of the output before and after the records, see frame_read. */
typedef enum frame_place { FRAME_HEADER, FRAME_TRAILER, FRAME_PIECES } frame_place;

typedef struct frame_piece {
	unsigned char *bytes;
	size_t n;
} frame_piece;

typedef struct job_files {
	input in;
	output out;
	frame_piece frame[FRAME_PIECES]; /* the pieces around the records that this rank writes */
	uint64_t trailer_bytes;          /* of the whole output */
	bool late_refused;               /* see same_files_check */
} job_files;

/* The part of this host's processors that is for this rank. */
typedef struct cpu_share {
	unsigned threads;    /* of this rank */
	unsigned ranks_here; /* on this host */
	bool apart;          /* ranks are on several hosts */
	unsigned sharing;    /* ranks here that may use the same processors */
	unsigned before;     /* number of them with lower ranks */
	double processors;   /* for this rank, if they share equally */
	numa *numa;          /* NULL: not looked for */
} cpu_share;

/* The budget: the memory limit of this rank, and how to stay within it. */
typedef struct memory_plan {
	memory_limit limit;
	uint64_t windows_bytes; /* of the exchange; the same on all ranks */
	unsigned lanes;         /* of each rank; the same on all ranks (exchange/lanes.h) */
	uint32_t *lanes_used; /* [size] of each rank; the others are empty. NULL: all ranks have one
			       */
	const char *lanes_why; /* what limits the lanes of this rank */
	sort_plan sort;
	size_t kept; /* number of runs of earlier jobs that are used */
	/* files in memory (sort_plan.h), which take memory of this host, too */
	bool out_in_memory, in_place;
	uint64_t out_file_bytes; /* this rank's part of the outputs of this host */
	size_t memory_dirs;      /* for runs */
	char *tmpdir;            /* for runs, if the user names no directory */
	uint64_t wanted_bytes;   /* likewise: the --memory that the ranks need that were planned */
} memory_plan;

/* The runs of this rank, and where they are cut between the ranks. */
typedef struct cuts {
	splitter_search search;
	sorted *s;        /* as read */
	uint64_t *target; /* [size * lanes] records of all ranks up to the end of each lane */
	uint64_t *cut;    /* [(size * lanes + 1) * runs] */
	bool drops_rest;  /* the share of the last rank is dropped, so no rank receives it */
	dropped dropped;  /* records of this rank that are dropped */
} cuts;

/* This rank's part of the output. */
typedef struct output_part {
	inspected seen;
	dropped dropped;
	unsigned char *keys; /* the first and the last key */
	bool found;          /* an earlier job wrote it: only its final name is missing */
} output_part;

/* A rank's report of its part of the complete output. This struct is followed by the first and the
 * last key, or by zeros if there are no records. */
typedef struct part_summary {
	uint64_t in, out, dropped;
	checksum sum_in, sum_out, sum_dropped;
	checksum sum_stated;       /* of the input, as its manifests state it */
	uint64_t stated, unstated; /* files with a stated checksum, and files without */
	uint64_t again;            /* whether the input was read again, with this checksum */
	checksum sum_again;
} part_summary;

/* The reports of all ranks, which rank 0 compares with the input. */
typedef struct verified {
	checksum sum;                  /* rank 0: of the input */
	checksum sum_out;              /* rank 0: of the output */
	uint64_t out;                  /* rank 0: records of the output */
	unsigned char *own;            /* the part summary of this rank */
	unsigned char *part_summaries; /* rank 0: [size] */
} verified;

/* --workdir: a directory where sorted runs outlive the program, so that --resume continues with
 * them, with any number of ranks. Each rank has these files, in one directory for all or on a disk
 * of its own, and a lock (target.h) while a job uses them:
 *   hetsort-rank0.json   the state: the sort that its runs belong to, see resume_state.h
 *   hetsort-rank0.run7   runs, see run_checkpoint.h */
typedef struct workdir {
	bool on;       /* this sort has a workdir */
	bool resuming; /* it has states of an earlier job; the same on all ranks */
	target file;   /* the state */
	groups g;
	resume_state s;     /* the state of this rank */
	states earlier;     /* the states that this rank has loaded, and removes at the end */
	saved_output saved; /* the complete output that these states describe */
	shared_runs shared; /* the assignment of runs to ranks */
	unfinished_end end; /* what to do if the job ends early */
	DIR *list;          /* on the first rank of a group (states.h): the open directory */
	run_notes notes;    /* how to update the state */
	run_checkpoint_plan seal;
} workdir;

/* All values of a job. Each is made by one phase ("by plan": phase_plan), and read by later
 * ones. */
typedef struct job {
	rank_env env;
	rank_result mine;
	phase at;
	double begun_s, all_read_s; /* time of the start; from the start until all ranks had read */
	usage_moment begun;         /* the resources used until the start */
	job_files files;            /* by describe */
	cpu_share cpus;             /* by describe */
	workdir work;         /* by describe; resume decides which rank continues with which run */
	wisdom *wisdom;       /* by plan on rank 0, with --plan=online */
	share_plan shares;    /* by describe and plan; later phases may replace it */
	share_plan next;      /* the new plan of the current phase, see job_replan */
	scatter_plan scatter; /* by plan */
	memory_plan memory;   /* by budget; read adds the memory of a stream */
	read_runs data;       /* by read; distribute replaces it */
	speed_history speeds; /* by read, with --adapt */
	cuts cuts;            /* by sample and split */
	output_part part;     /* by merge, distribute, single_rank */
	verified verified;    /* by verify */
} job;

typedef status job_step(job *j);

/* In the order of sort/job.c, which describes each one. */
job_step phase_describe, phase_plan, phase_resume, phase_find_output, phase_budget,
	phase_save_state, phase_read, phase_adapt, phase_plan_top, phase_sample, phase_split,
	phase_split_inputs, phase_drop_rest, phase_split_keys, phase_merge, phase_distribute,
	phase_single_rank, phase_close_gaps, phase_sync, phase_reread, phase_verify,
	phase_save_output, phase_commit, phase_drop_checkpoints, phase_update_wisdom;

/* job_each - take n steps until one fails. After each step all ranks agree on its status. */
static inline status job_each(job *j, job_step *const *step, size_t n)
{
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < n; i++)
		rc = comm_agree(j->env.c, step[i](j));
	return rc;
}

/* job_replan - collective: copy the plan in j->shares to j->next, which replaces it if the phase
 * succeeds. A second call changes nothing. job_replan_out - do the same, and let each rank write
 * `mine` records; it has dropped `gone` others. ST_PEER if these are not all records. what: the
 * origin of the shares, for the message. */
status job_replan(job *j);
status job_replan_out(job *j, uint64_t mine, uint64_t gone, const char *what);

/* ---------------------------------------------------------------------- values for several phases
 */

/* job_result_collect - collective: collect the results of all ranks at rank 0. Without memory for
 * them, report a failure as rank 0 knows it, and no ranks after a success. job_result_own - report
 * only what this rank knows, because the ranks can no longer agree; return its status. */
void job_result_collect(job *j, status rc, job_result *res);
status job_result_own(job *j, status rc, job_result *res);

/* output_note_stays - note for the user that a file of this name next to the output is not
 * removed. */
void output_note_stays(job *j, const char *name);

/* output_read_again - inspect the first `recs` records of this rank's part in the open output file.
 * direct: when to bypass the page cache. ST_INVALID, without a message, if out of order. */
status output_read_again(job *j, uint64_t recs, direct_io direct, err *e);

/* output_move - move bytes of this rank's records from one offset of the output to another, towards
 * the front. */
status output_move(job *j, uint64_t from, uint64_t to, uint64_t bytes);

/* part_summary_at - return the summary of a rank from the summaries of all; *first_key receives the
 * address of its two keys. */
part_summary part_summary_at(const unsigned char *all, int rank, const layout *l,
			     const unsigned char **first_key);
void verified_free(mem *m, verified *v);

/* workdir_check - with --explain, check that the workdir can be used, or made. */
job_step workdir_check;

/* workdir_open - make the workdir if it is missing, lock this rank's state in it, and load the
 * states of earlier jobs if they belong to this sort. */
job_step workdir_open;

/* workdir_close - release everything. Until then this rank cleans up after ranks that die. */
void workdir_close(job *j);

/* workdir_patience_s - return how long --resume waits for the locks of a job that is about to end:
 * ranks outlive their killed launcher for a while. */
double workdir_patience_s(const rank_env *env);

/* workdir_first - return the number of this rank's first record in the input. */
uint64_t workdir_first(const job *j, const uint64_t *share_in);

/* workdir_place - return the position of this rank when ranks are ordered by their records in the
 * input. Equal keys are written in this order of ranks. */
uint32_t workdir_place(const job *j);

/* workdir_clean - remove the files that killed jobs have left in this directory, if their locks and
 * states name them. Remove the directory, too, if hetsort made it and it is empty. Refuse if a job
 * uses it, or if the file system has no locks. */
status workdir_clean(const char *path, cleaned *n, err *e);

/* inputs_find - collective: find the inputs as this rank sees them. Rank 0 decides whether there
 * are more parts than ranks, because the manifest may exist only on its host. */
status inputs_find(rank_env *env, const settings *o, input *in);

/* copy_streams - copy streams to files without a name, which all ranks of the process read, and
 * count the records of the input again. A single stream of a single rank is not copied. */
job_step copy_streams;

/* The pieces around the records. The header of the first input (--skip-header) precedes the records
 * of the first output. The trailer of the last input (--skip-trailer, or the bytes after --records)
 * follows the records of the last output. Only the rank that writes a piece holds it in memory. */

/* frame_read - collective, after streams were copied: read both pieces. If a stream is not copied,
 * open it and consume its header. */
job_step frame_read;

/* frame_write - write one piece to the open output. Write the header before any record, and the
 * trailer after all records, when the file has its final size. */
status frame_write(job *j, frame_place place);

/* frame_check - verify that this rank's file, open as fd, has both pieces. ST_IO if not. */
status frame_check(job *j, int fd, err *e);

/* plan_note - copy the planned work of this rank to its result, j->env.stats. */
void plan_note(job *j);

/* plan_place - choose NUMA nodes for the threads of a rank, if `before` lower ranks share its
 * processors. */
numa_place plan_place(const job *j, unsigned before);

/* plan_time - after the budget was made, predict the time of this rank and of its stages. run_dir:
 * the directory for runs, if the rank spills. Looks whether the input is in the page cache. With
 * --speeds=auto, measures the disk if there is much to write. */
void plan_time(job *j, const char *run_dir);

/* memory_plan_tmpdirs - return the *n directories for runs. */
const char *const *memory_plan_tmpdirs(const job *j, size_t *n);

/* input_may_be_mapped - return whether the input is used where it is, if it is in memory. */
static inline bool input_may_be_mapped(const job *j)
{
	const input *in = &j->files.in;
	return in->files == 1 && !in->file->written && j->env.o->direct != DIRECT_ALWAYS;
}

/* memory_plan_holds - return whether this rank has enough memory to write out_recs records. */
bool memory_plan_holds(const job *j, uint64_t out_recs);

/* memory_plan_ended - update the budget when all records have arrived, so that their number is
 * known. */
void memory_plan_ended(job *j);

/* memory_plan_merges - return whether the last step is a merge of runs. */
static inline bool memory_plan_merges(const job *j)
{
	return settings_sorts_first(j->env.o) || j->memory.sort.spills;
}

/* read_note - report that this rank has read `in` records. */
void read_note(job *j, uint64_t in);

/* cuts_count - return how many records of this rank each rank gets, to be freed, or NULL. */
uint64_t *cuts_count(job *j);

/* exchange_setup_windows - return the bytes of the windows of the exchange, from the mean share of
 * `total` records and the least memory limit of any rank. The size of blocks depends on them, so
 * they are the same on all ranks. */
uint64_t exchange_setup_windows(const rank_env *env, uint64_t total, uint64_t least_limit_bytes);

/* output_most - return how many records this rank may write: --top less the records of earlier
 * ranks. With --unique their number is not known yet, so each rank may write --top records. */
uint64_t output_most(const job *j);

/* output_part_open - prepare j->part for inspecting records. */
status output_part_open(job *j, err *e);

/* output_open - collective: create the output; *to receives where this rank writes. Close it after
 * a failure too. */
status output_open(job *j, io_fd *to);
void output_close(const io_fd *to);

/* ----------------------------------------------------------------------------- the speeds of ranks
 */

/* Parts of a rank's work: all of it, its last half, and its last quarter. */
enum { SIGHT_PARTS = 3 };

/* The work of a rank so far, in seconds of a rank of speed 1, and the seconds that its parts took;
 * 0 if unknown. The rank holds `held` records, and has to send most of them. */
typedef struct sighting {
	double work_s, took_s[SIGHT_PARTS];
	uint64_t held;
} sighting;

/* The input of adapt_plan. Arrays have an element per rank. */
typedef struct adapt_query {
	const settings *o; /* its strategy, record size and rule count */
	const sighting *seen;
	const double *planned;   /* planned speeds */
	const rates *rate;       /* only links and disks are used */
	const uint64_t *written; /* planned shares */
	size_t p;
} adapt_query;

/* The gain of new shares. */
typedef struct prospect {
	double gain;    /* the saved part of the remaining time, 0 to 1 */
	double saved_s; /* the saved seconds */
	bool worth;     /* both are at least what --adapt requires */
} prospect;

/* adapt_plan - compute how many records each rank should write, so that all end together, from the
 * speeds that they show now. A rank that turned slow also has to send the records that it holds, so
 * it writes even less. now receives the present speeds, share the new shares. If no rank shows a
 * speed, these are the planned ones. */
status adapt_plan(const adapt_query *q, mem *m, double *now, uint64_t *share, prospect *out,
		  err *e);

/* ------------------------------------------------- one file under two names, two under one name */

/* messages_check - call registry_check_messages for all files of a job, as far as this process can
 * see them before it knows the number of ranks (ranks: at least 1). Call it before anything is
 * printed. Costs one system call if standard error is not a file. */
status messages_check(const settings *o, int ranks, err *e);

/* side_files_check - check the side files (report, trace and page) at rank 0, before anything else.
 * Refuse a side file that cannot be written, or that is also another file of the job, as far as
 * this host can see. Refuse to replace a file that hetsort did not write for the same role. Costs
 * nothing without such files. */
status side_files_check(const settings *o, int ranks, err *e);

/* same_files_check - collective: refuse a file that is made twice, read twice as input, or read and
 * replaced, by one rank or by two. *late, at rank 0: one of the refused files is a side file, which
 * must not be written. */
status same_files_check(rank_env *env, bool *late);

/* same_input - collective, for files that all ranks read: refuse (ST_PEER) on ranks that see other
 * files than rank 0. sample: ranks are on several hosts, so compare contents, too. */
status same_input(rank_env *env, const input *in, bool sample);

/* same_as_stated - collective, after reading: refuse (ST_IO) a file whose records, as the ranks
 * have read them, do not have the checksum that its manifest states. Accept files that were not
 * read to the end. Reset the sums of what was read. */
status same_as_stated(rank_env *env, const input *in);

#endif

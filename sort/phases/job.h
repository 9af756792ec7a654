/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The job of one rank: the values that one phase makes for later phases, and the phases, in the
 * order of sort/job.c. All phases are collective. Each returns this rank's status; at the end of
 * the phase all ranks agree on one. */
#ifndef HETSORT_PHASES_JOB_H
#define HETSORT_PHASES_JOB_H

#include "base/limit.h"
#include "exchange/splitter_search.h"
#include "io/input.h"
#include "io/journal.h"
#include "io/output.h"
#include "io/target.h"
#include "kernel/inspect.h"
#include "model/job_time.h"
#include "model/rank_result.h"
#include "model/rank_speeds.h"
#include "model/shares.h"
#include "model/speed_history.h"
#include "model/wisdom.h"
#include "resume/states.h"
#include "scatter/scatter_input.h"
#include "selection.h"
#include "spill/sort_plan.h"
#include "spill/run_formation.h"
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

/* --apply: the order in which records are written. */
typedef struct job_apply {
	input order;      /* numbers of 8 bytes */
	settings own;     /* the options, as they follow from the order */
	uint64_t records; /* of the input */
	uint64_t *place;  /* see shape.place; with `gathers`, the order, unless it is mapped */
	bool gathers;     /* records are used where they are; then also: */
	reader *from;
	mapped map;
	sorted_given given;
	struct checking *check; /* of the order, also while records are written */
} job_apply;

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
	checksum sum_file;         /* of the records as they are in the output */
	checksum sum_stated;       /* of the input, as its manifests state it */
	uint64_t stated, unstated; /* files with a stated checksum, and files without */
	uint64_t again;            /* whether the input was read again, with this checksum */
	checksum sum_again;
} part_summary;

/* The reports of all ranks, which rank 0 compares with the input. */
typedef struct verified {
	checksum sum;                  /* rank 0: of the input */
	checksum sum_file;             /* rank 0: of the output */
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
	double read_cpu_s;          /* processor time of the process at that moment */
	usage_moment begun;         /* the resources used until the start */
	job_files files;            /* by describe */
	job_apply apply;            /* by describe and read_order */
	cpu_share cpus;             /* by describe */
	workdir work;          /* by describe; resume decides which rank continues with which run */
	wisdom *wisdom;        /* by plan on rank 0, with --plan=online */
	share_plan shares;     /* by describe and plan; later phases may replace it */
	rank_speeds speeds_of; /* by plan; until shares are adapted */
	bool links_measured;   /* by plan */
	bool out_on_disk;      /* by plan: even without --fsync, memory keeps only a part of it */
	share_plan next;       /* the new plan of the current phase, see job_replan */
	scatter_plan scatter;  /* by plan */
	memory_plan memory;    /* by budget; read adds the memory of a stream */
	sorted_share data;     /* by read; distribute replaces it */
	speed_history speeds;  /* by read, if shares may be adapted */
	cuts cuts;             /* by sample and split */
	output_part part;      /* by merge, distribute, single_rank */
	verified verified;     /* by verify */
} job;

/* job_waited_s - return the seconds that this rank has waited so far: for blocks of other ranks,
 * and in collectives. job_moment - return the present moment. */
static inline double job_waited_s(const job *j)
{
	return j->mine.phase_s[PH_EXCHANGE] + j->env.c->collective_s;
}

static inline moment job_moment(const job *j)
{
	moment m = moment_now();
	m.waited_s = job_waited_s(j);
	return m;
}

typedef status job_step(job *j);

/* In the order of sort/job.c, which describes each one. */
job_step phase_describe, phase_plan, phase_resume, phase_find_output, phase_budget,
	phase_save_state, phase_read_order, phase_read, phase_adapt, phase_plan_folded,
	phase_plan_top, phase_sample, phase_split, phase_split_inputs, phase_drop_rest,
	phase_split_keys, phase_merge, phase_distribute, phase_single_rank, phase_close_gaps,
	phase_sync, phase_reread, phase_verify, phase_save_output, phase_commit,
	phase_drop_checkpoints, phase_update_wisdom;

/* job_each - take n steps until one fails. After each step all ranks agree on its status. */
static inline status job_each(job *j, job_step *const *step, size_t n)
{
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < n; i++)
		rc = comm_agree(j->env.c, step[i](j));
	return rc;
}

/* job_adapts - return whether shares of writing may change after reading: on several hosts, unless
 * the job is short or the user wants equal shares. The same on all ranks. */
static inline bool job_adapts(const job *j)
{
	static const double SHORT_S = 4; /* shorter jobs would gain less than this costs */
	const settings *o = j->env.o;
	return o->adapt.when == ADAPT_ALWAYS ||
	       (o->adapt.when == ADAPT_AUTO && j->cpus.apart && o->plan != PLAN_EQUAL &&
		!o->merge && !o->top && j->mine.both_s[0] >= SHORT_S);
}

/* job_replan - collective: copy the plan in j->shares to j->next, which replaces it if the phase
 * succeeds. A second call changes nothing. job_replan_out - do the same, and let each rank write
 * `mine` records; it has dropped `gone` others. ST_PEER if these are not all records. what: the
 * origin of the shares, for the message. */
status job_replan(job *j);
status job_replan_out(job *j, uint64_t mine, uint64_t gone, const char *what);

#endif

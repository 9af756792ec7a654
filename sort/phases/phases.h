/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The phases of a job, in order: what each reads is const, what it makes is not. All are
 * collective. Each returns this rank's status; at the border of a phase it becomes everybody's. */
#ifndef HETSORT_PHASES_PHASES_H
#define HETSORT_PHASES_PHASES_H

#include "exchange_setup.h"
#include "values.h"
#include "model/wisdom.h"

/* phase_describe - agree on the settings, find the files, count the records. s: no shares yet but
 * of files that belong to ranks. */
status phase_describe(rank_env *env, files *f, cpu_share *cpus, workdir *w, share_plan *s,
		      scatter_plan *sp);

/* phase_plan - how much each rank reads, and how much it writes. w: with --plan=online, on rank 0.
 */
status phase_plan(rank_env *env, const files *f, const cpu_share *cpus, share_plan *s,
		  scatter_plan *sp, wisdom **w);

/* plan_note - what the rank of env reports of the plan. */
void plan_note(rank_env *env, const share_plan *s, const scatter_plan *sp);

/* plan_time - predict how long this rank takes, add it to what plan_note() has noted, and plan the
 * stages. The budget is made. run_dir: where runs go, if it spills. Looks whether the input is in
 * memory; if speeds are measured and there is much to write, it tries the disk. */
void plan_time(rank_env *env, const settled *k, const char *run_dir);

/* plan_for_all - what each rank would say of its plan, where rank 0 plans for all of them
 * (comm_local_run_first): all[] are copies of its own result. rc: of rank 0; returns that of all.
 */
status plan_for_all(rank_env *env, const settled *k, memory_plan *mp, rank_result *all, status rc);

/* phase_resume - runs of an earlier program decide what each rank reads: a new plan in `next`. */
status phase_resume(rank_env *env, const input *in, workdir *w, const share_plan *s,
		    share_plan *next);

/* phase_budget - in memory, or spilled to disk. k->mp is not looked at. */
status phase_budget(rank_env *env, const settled *k, memory_plan *mp);

/* phase_save_state - what the runs to come belong to, for a later program. */
status phase_save_state(rank_env *env, const settled *k, workdir *w);

/* phase_read - records to memory or to disk, in sorted runs if they are to be merged. Where the
 * shares show only now (standard input, --scatter=dynamic), a new plan in `next`; mp becomes what
 * memory is taken then. speeds: with --adapt. */
status phase_read(rank_env *env, const settled *k, read_runs *d, speed_history *speeds,
		  share_plan *next, memory_plan *mp);

/* read_note - what this rank reports of what it has read: `in` records. */
void read_note(rank_env *env, const read_runs *d, uint64_t in);

/* output_note_stays - a file of this hidden name next to the output is not removed: say so. */
void output_note_stays(rank_env *env, const output *out, const char *name);

/* phase_load_output - is the output of an earlier program there, but for its name? Then its shares
 * are those of `next`, and w->found is set. */
status phase_load_output(rank_env *env, files *f, const workdir *work, const share_plan *s,
			 share_plan *next, output_part *w);

/* phase_find_output - the same before anything is read, where no state is left: of what has the
 * final name and is the sorted input. */
status phase_find_output(rank_env *env, files *f, const workdir *work, const share_plan *s,
			 share_plan *next, output_part *w);

/* phase_adapt - output shares by the speeds of this very run: a new plan in `next`, if that gains
 * enough. */
status phase_adapt(rank_env *env, const settled *k, const read_runs *d, const speed_history *speeds,
		   share_plan *next);

/* phase_plan_top - with --top of less than half of the records, all of them in memory: all ranks
 * but the last share the first ones; those behind them are its share in a new plan, `next`.
 * phase_drop_rest - after the split: that share is dropped where it lies, and nobody's in `next`.
 */
status phase_plan_top(rank_env *env, const settled *k, const read_runs *d, cuts *c,
		      share_plan *next);
status phase_drop_rest(rank_env *env, const settled *k, cuts *c, share_plan *next);

/* phase_sample - estimate the splitters; merges: the runs are sorted, or will be before anything
 * leaves. phase_split - cut exactly at the planned shares. */
status phase_sample(rank_env *env, const share_plan *s, const read_runs *d, bool merges, cuts *k);
status phase_split(rank_env *env, const read_runs *d, cuts *k);

/* phase_split_inputs - with --merge over several ranks: which records of each input this rank
 * merges. With --unique each key goes to one rank alone: a new plan in `next`. */
status phase_split_inputs(rank_env *env, const settled *k, read_runs *d, share_plan *next);

/* phase_split_keys - with --unique: each key goes to one rank alone, so shares are as near to the
 * planned ones as the keys allow: a new plan in `next`. */
status phase_split_keys(rank_env *env, const settled *k, cuts *c, share_plan *next);

/* phase_regroup - where the exchange takes two steps: the first one. What this rank has then takes
 * the place of what it has read, and c has what its peers get of it. */
status phase_regroup(rank_env *env, const settled *k, read_runs *d, cuts *c);

/* phase_merge - exchange, merge and write, all at once. */
status phase_merge(exchange_setup *t);

/* phase_distribute - exchange, then sort and write; frees what was read once it is sent. */
status phase_distribute(exchange_setup *t, read_runs *d, cuts *k);

/* phase_single_rank - nothing is exchanged, as there is a single rank, or each reads what it writes
 * (--merge): merge and write. */
status phase_single_rank(rank_env *env, const settled *k, files *f, const read_runs *d,
			 output_part *w);

/* phase_close_gaps - where records were dropped: the parts of the output move together. The shares
 * of `next` are what was written. */
status phase_close_gaps(rank_env *env, files *f, const share_plan *s, share_plan *next,
			output_part *w);

/* phase_sync - the trailer, and all to the disk. */
status phase_sync(rank_env *env, files *f, const output_part *w);

/* output_read_again - look at this rank's records of the output, whose file is open; direct: past
 * the page cache? ST_INVALID, without a sentence: they are out of order. */
status output_read_again(rank_env *env, const files *f, uint64_t recs, direct_io direct,
			 inspected *seen, err *e);

/* phase_reread - with --verify=reread: what is verified is the output as it is read from the disk,
 * not as it was given to the kernel. */
status phase_reread(rank_env *env, files *f, output_part *w);

/* phase_verify - what went in is what manifests state of it, and came out, in order also across the
 * ranks' borders. */
status phase_verify(rank_env *env, const input *in, uint64_t total, const output_part *w,
		    verified *v);

void verified_free(mem *m, verified *v);

/* phase_save_output - note that the output is complete, for a later program. */
status phase_save_output(rank_env *env, files *f, workdir *work, const output_part *w);

/* phase_commit - final names; the manifest last of all. */
status phase_commit(rank_env *env, files *f, const verified *v);

/* phase_drop_checkpoints - the output is complete: its runs are done with. */
status phase_drop_checkpoints(rank_env *env, const workdir *w);

/* phase_update_wisdom - tell the next run how long this one took; w: at rank 0. */
status phase_update_wisdom(rank_env *env, bool worth, wisdom *w);

#endif

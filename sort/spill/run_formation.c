/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run formation. Each worker makes whole runs, so one worker reads while another sorts or writes. A
 * run is one sort on demand (kernel/demand.h). Keys go to buckets while the records arrive, and
 * each bucket is sorted when its records are written. If a stream turns out to be longer than
 * memory, the records in memory are sorted together and written as the first runs. These records
 * are freed before the workers get memory for runs.
 *
 * If records with equal keys are folded, and a run has few different keys, its folded records are
 * held in memory and become the first records of the worker's next run. So a run on disk may have
 * the keys of many runs. A worker takes a segment of neighbouring runs, so that records are folded
 * in the order of the input.
 *
 * Memory: per worker, a run of records and twice the records that it may hold, demand_most_bytes()
 * and a record; and an item for every stride-th record of the share. */
#include "run_formation.h"
#include "base/clock.h"
#include "kernel/gather.h"
#include "base/pool.h"
#include "base/progress.h"
#include "base/trace.h"
#include "spill.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

/* The records of a run: places [first, first + n) of an order. */
typedef struct ordered {
	demand *order;
	demand_room *room;
	records r;
	uint64_t first;
	size_t n;
	unsigned char *record; /* memory for one record */
	dropped begun;         /* by fold_begin: it has changed the records of the run */
	dropped dropped;       /* by folding */
	size_t next, end;      /* the rest of the worker's segment of runs */
	unsigned char *held;   /* folded records of the segment's last runs, */
	size_t holds;          /* at most b->held_recs */
	bool few;              /* few records are folded: hold no more */
	err e;                 /* the first failure of the worker */
} ordered;

typedef struct run_formation {
	sorted_share *d;
	const run_formation_plan *p;
	mem *m;
	const reader *from; /* files, or */
	record_take *take;  /* a stream, from `source` */
	void *source;
	sorted_share *held;   /* records of the stream that are in memory already; NULL: none */
	bucket_sample sample; /* of all files */
	unsigned workers;
	unsigned char *record, *raw;  /* [workers] of one record, and of raw_bytes for a run */
	size_t raw_bytes, held_bytes; /* held_bytes: of the records that a worker may hold */
	unsigned char *held_room;     /* [workers] of held_bytes */
	run_note *note;               /* [runs] if runs outlive the program, */
	bool *kept;                   /* [runs] and whether an earlier job left the run */
	atomic_size_t next;
	bool ended;
	pthread_mutex_t stream_lock; /* a worker holds it until it has read a whole run */
	double begun_s;              /* by the clock */
	pthread_mutex_t lock;        /* for e, the sums in d, and the speed history */
	err e;
} run_formation;

/* Store the item of every stride-th record of a run, of n records that are written after `before`
 * others. runs_settle() sets their places. */
static void run_sample(const run_formation *s, size_t run, uint64_t before,
		       const unsigned char *recs, size_t n)
{
	const sorted_disk *d = &s->d->disk;
	const layout *l = &s->p->load.lay;
	for (uint64_t i = u64_round_up(before, d->stride); i < before + n; i += d->stride) {
		item *it =
			(void *)(d->sample + (d->sample_at[run] + i / d->stride) * item_bytes(l));
		const records one = { recs + (i - before) * l->record_bytes, *l, s->p->load.rank };
		const entry en = entry_make(one.base, l, 0);
		item_of(it, &en, &one);
	}
}

/* Write the records of a run in order, folded if requested. Set *note to what was written. */
static status run_write_once(run_formation *s, size_t run, const ordered *o, run_note *note, err *e)
{
	const sorted_disk *d = &s->d->disk;
	const layout *l = &o->r.lay;
	const uint64_t end = o->first + o->n;
	status rc = spill_run_begin(d->spill, run, o->n, e);
	dropped gone = o->begun;
	uint64_t written = 0;
	demand_piece p;
	for (uint64_t place = o->first; rc == ST_OK && place < end; place += p.n) {
		const double taking = trace_begin();
		demand_take(o->order, o->room, place, end, &p);
		trace_end(TRACE_SORT, taking);
		for (size_t at = 0, k; rc == ST_OK && at < p.n; at += k) {
			k = p.n - at;
			unsigned char *recs = spill_run_room(d->spill, run, &k);
			if (k == 0) {
				k = 1;
				recs = o->record;
			}
			const double span = trace_begin();
			rc = gather_misfits(demand_gather(&p, at, k, recs), e);
			trace_end(TRACE_GATHER, span);
			size_t n = k;
			if (s->p->folds && s->held)
				fold_begin(l, recs, k, &gone);
			if (s->p->folds)
				n = fold_records(l, recs, k, &gone);
			run_sample(s, run, written, recs, n);
			written += n;
			if (rc == ST_OK)
				rc = spill_run_append(d->spill, run, recs, n, e);
		}
	}
	note->kept = written;
	note->dropped = gone.sum;
	return rc == ST_OK ? spill_run_end(d->spill, run, e) : rc;
}

static size_t samples_of(const run_formation *s, uint64_t recs)
{
	return (size_t)(recs / s->p->b->stride + (recs % s->p->b->stride != 0));
}

/* Make the checkpoint of a run whose note is complete. */
static run_checkpoint run_checkpoint_of(const run_formation *s, size_t run)
{
	const sorted_disk *d = &s->d->disk;
	const size_t isz = item_bytes(&s->p->load.lay);
	return (run_checkpoint){ .note = s->note[run],
				 .stride = s->p->b->stride,
				 .sample = d->sample + d->sample_at[run] * isz,
				 .sample_bytes = samples_of(s, s->note[run].kept) * isz };
}

/* Fold the records of a run, and hold them instead of writing them. Return false, without effect,
 * if they are too many; then the worker does not try again. */
static bool run_hold(const run_formation *s, size_t run, ordered *o)
{
	const layout *l = &o->r.lay;
	const size_t most = (size_t)s->p->b->held_recs, bytes = l->record_bytes;
	dropped gone = o->begun;
	size_t n = 0;
	demand_piece p;
	for (uint64_t place = 0; place < o->n && o->e.code == ST_OK && !o->few; place += p.n) {
		demand_take(o->order, o->room, place, o->n, &p);
		for (size_t at = 0, k; at < p.n && o->e.code == ST_OK && !o->few; at += k) {
			unsigned char *to = o->held + n * bytes;
			const size_t last = n > 0; /* its key may continue */
			k = size_min(p.n - at, most - n);
			o->few = k == 0;
			if (!k || gather_misfits(demand_gather(&p, at, k, to), &o->e) != ST_OK)
				break;
			n += fold_records(l, to - last * bytes, k + last, &gone) - last;
		}
	}
	if (o->few || o->e.code != ST_OK ||
	    spill_run_begin(s->d->disk.spill, run, 0, &o->e) != ST_OK)
		return false;
	o->holds = n;
	dropped_join(&o->dropped, &gone);
	return spill_run_end(s->d->disk.spill, run, &o->e) == ST_OK;
}

/* Write a run to the first directory with space; its records stay in memory until this succeeds. */
static void run_write(run_formation *s, size_t run, ordered *o, checksum sum)
{
	run_note here = { .recs = o->n }, *note = s->p->keep ? &s->note[run] : &here;
	while (o->e.code == ST_OK) {
		err why = { ST_OK, "" };
		const status rc = run_write_once(s, run, o, note, &why);
		if (rc == ST_OK)
			break;
		if (rc != ST_RESOURCE || !spill_run_again(s->d->disk.spill, run))
			(void)err_join(&o->e, &why);
	}
	if (o->e.code != ST_OK)
		return;
	dropped_join(&o->dropped, &(dropped){ note->recs - note->kept, note->dropped });
	note->sum = sum;
	if (s->p->keep) {
		const run_checkpoint saved = run_checkpoint_of(s, run);
		(void)run_checkpoint_save(s->d->disk.spill, run, s->p->keep, &saved, &o->e);
	}
}

static void ordered_to_buckets(void *ordered_, uint64_t first, size_t n)
{
	ordered *o = ordered_;
	if (o->e.code == ST_OK)
		(void)demand_add(o->order, 0, first, n, &o->e);
}

/* Return the worker's buffer for the records of a run. */
static unsigned char *worker_room(const run_formation *s, unsigned worker)
{
	unsigned char *raw = s->raw + worker * s->raw_bytes;
	return raw + (size_t)(-(uintptr_t)raw % IO_FD_ALIGN);
}

/* Read the records of a run from the files, unless next_run() has read them from the stream. Put
 * their keys into buckets, and write the run. */
static void run_make(run_formation *s, size_t run, unsigned worker, ordered *o)
{
	const load_plan *l = &s->p->load;
	const uint64_t first = s->d->disk.start[run];
	const size_t n = (size_t)(s->d->disk.start[run + 1] - first), held = o->holds;
	const double t0 = now_s(), busy_s = l->speed_history ? l->speed_history->clock_s() : 0;
	unsigned char *recs = worker_room(s, worker) + s->held_bytes +
			      (s->from ? reader_align(s->from, first) : 0);
	unsigned char *base = recs - held * l->lay.record_bytes;
	if (held)
		memcpy(base, o->held, held * l->lay.record_bytes);
	o->n = held + n;
	o->r = (records){ base, l->lay, l->rank };
	const demand_plan p = { .in = o->r,
				.n = o->n,
				.lanes = 1,
				.threads = 1,
				.sample = s->sample.recs,
				.samples = s->sample.n };
	status rc = demand_open(&o->order, s->m, &p, &o->e);
	loading got = { .arrived = ordered_to_buckets, .arrived_to = o, .pos = held };
	if (rc == ST_OK && held)
		rc = demand_add(o->order, 0, 0, held, &o->e);
	if (rc == ST_OK && s->from)
		rc = reader_load(s->from, first, n, recs, &got, &o->e);
	else if (rc == ST_OK)
		rc = demand_add(o->order, 0, 0, n, &o->e);
	o->begun = (dropped){ 0 };
	if (rc == ST_OK && s->p->folds)
		fold_begin(&l->lay, recs, n, &o->begun);
	if (rc == ST_OK && o->e.code == ST_OK && demand_end(o->order, &o->e) == ST_OK)
		(void)demand_room_open(&o->room, o->order, &o->e);
	const bool last = o->next == o->end;
	if (last || o->few || o->e.code != ST_OK || !s->held_bytes || !run_hold(s, run, o)) {
		run_write(s, run, o, got.sum);
		o->holds = 0;
	}
	demand_room_close(o->room);
	demand_close(o->order);
	o->room = NULL;
	o->order = NULL;
	const double used_s = l->speed_history ? l->speed_history->clock_s() - busy_s : 0;
	pthread_mutex_lock(&s->lock);
	s->d->sum = checksum_join(s->d->sum, got.sum);
	s->d->verify_s += got.verify_s;
	speed_history_add(l->speed_history, t0 - s->begun_s, now_s() - s->begun_s, (double)n,
			  used_s);
	pthread_mutex_unlock(&s->lock);
}

/* Add a run of n records. Return false if the plan does not allow it. */
static bool add_run(run_formation *s, size_t n)
{
	const run_formation_plan *p = s->p;
	sorted_share *d = s->d;
	sorted_disk *t = &d->disk;
	const size_t k = t->s.count;
	if (k == p->b->runs || n > p->load.n - t->start[k])
		return false;
	t->start[k + 1] = t->start[k] + n;
	t->sample_at[k + 1] = t->sample_at[k] + samples_of(s, n);
	t->s.count++;
	return true;
}

/* When all runs are complete: they may have fewer records than were planned. Close the gaps between
 * them in the sequence of places, and between their samples, and set the places of the samples. */
static void runs_settle(run_formation *s)
{
	sorted_disk *t = &s->d->disk;
	const size_t isz = item_bytes(&s->p->load.lay);
	uint64_t start = 0;
	size_t to = 0;
	for (size_t k = 0; k < t->s.count; k++) {
		const uint64_t n = spill_run_recs(t->spill, k);
		const size_t samples = samples_of(s, n);
		memmove(t->sample + to * isz, t->sample + t->sample_at[k] * isz, samples * isz);
		for (size_t i = 0; i < samples; i++) {
			item *it = (void *)(t->sample + (to + i) * isz);
			it->rank = s->p->load.rank;
			it->lo = (it->lo & ~POS_MASK) | (start + i * t->stride);
		}
		t->start[k] = start;
		t->sample_at[k] = to;
		start += n;
		to += samples;
	}
	t->start[t->s.count] = start;
	t->sample_at[t->s.count] = to;
	s->d->n = (size_t)start;
}

/* Choose the next of the planned runs: of the worker's segment, or of the next segment. Without
 * held records, a segment is a single run. */
static bool next_planned(run_formation *s, ordered *o, size_t *run)
{
	const size_t runs = s->d->disk.s.count;
	const size_t segments = s->held_bytes ? size_min(s->workers, runs) : runs;
	do {
		if (o->next == o->end) {
			const size_t k = atomic_fetch_add(&s->next, 1);
			if (k >= segments)
				return false;
			o->next = (size_t)part_begin(runs, k, segments);
			o->end = (size_t)part_begin(runs, k + 1, segments);
		}
		*run = o->next++;
	} while (s->kept && s->kept[*run]);
	return true;
}

/* Choose the next run to make, and read its records if they come from a stream. Return false if all
 * runs are made, or no more runs may begin. */
static bool next_run(run_formation *s, unsigned worker, ordered *o, size_t *run)
{
	err *e = &o->e;
	const uint64_t most = s->p->b->run_recs;
	size_t n = 0;
	pthread_mutex_lock(&s->lock);
	const bool go = s->e.code == ST_OK && !(s->p->stop && atomic_load(s->p->stop));
	pthread_mutex_unlock(&s->lock);
	if (!go)
		return false;
	if (s->from || s->held)
		return next_planned(s, o, run);
	pthread_mutex_lock(&s->stream_lock);
	*run = s->d->disk.s.count;
	if (!s->ended && s->take(s->source, worker_room(s, worker), (size_t)most, &n, e) == ST_OK &&
	    n > 0 && !add_run(s, n))
		err_set(e, ST_RESOURCE, "the input has more than %" PRIu64 " records: %s",
			s->d->disk.start[*run], s->p->full);
	s->ended = s->ended || e->code != ST_OK || n < most;
	pthread_mutex_unlock(&s->stream_lock);
	return e->code == ST_OK && n > 0;
}

/* Make runs until all are made or a worker has failed. */
static void worker_main(void *run_formation_, unsigned worker)
{
	run_formation *s = run_formation_;
	sorted_share *held = s->held;
	ordered o = { .record = s->record + worker * s->p->load.lay.record_bytes,
		      .held = s->held_bytes ? s->held_room + worker * s->held_bytes : NULL };
	if (held && demand_room_open(&o.room, held->memory.seq.order, &o.e) == ST_OK) {
		o.order = held->memory.seq.order;
		o.r = held->memory.seq.recs;
	}
	for (size_t run; o.e.code == ST_OK && next_run(s, worker, &o, &run);) {
		if (!held) {
			run_make(s, run, worker, &o);
			continue;
		}
		o.first = s->d->disk.start[run];
		o.n = (size_t)(s->d->disk.start[run + 1] - o.first);
		run_write(s, run, &o, (checksum){ 0 });
	}
	demand_room_close(o.room);
	pthread_mutex_lock(&s->lock);
	dropped_join(&s->d->dropped, &o.dropped);
	(void)err_join(&s->e, &o.e);
	pthread_mutex_unlock(&s->lock);
}

/* Let the workers make runs: of s->held, or, with buffers of their own, of the other records. */
static status workers_make_runs(run_formation *s, err *e)
{
	const size_t bytes = s->p->load.lay.record_bytes;
	const uint64_t held = s->from ? s->p->b->held_recs * bytes : 0;
	s->held_bytes = (size_t)u64_round_up(held, IO_FD_ALIGN); /* the run after it is aligned */
	s->raw_bytes = s->held_bytes + s->p->b->run_recs * bytes + 2 * IO_FD_ALIGN;
	if (!s->held && !(s->raw = mem_array(s->m, s->workers, s->raw_bytes, "runs", e)))
		return ST_RESOURCE;
	if (held && !(s->held_room = mem_array(s->m, s->workers, s->held_bytes, "records", e)))
		return ST_RESOURCE;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->stream_lock, NULL);
	pool_run(s->workers, worker_main, s);
	pthread_mutex_destroy(&s->stream_lock);
	pthread_mutex_destroy(&s->lock);
	return err_join(e, &s->e);
}

/* Before a record is written, note the files of new runs in the state. Then load the kept runs. */
static status pieces_open(run_formation *s, err *e)
{
	sorted_disk *d = &s->d->disk;
	const layout *l = &s->p->load.lay;
	const size_t count = d->s.count;
	for (size_t run = 0; run < count; run++) {
		const spill_layout at = spill_run_layout(d->spill, run, s->note[run].recs);
		if (!s->kept[run] && !file_id_of(at.fd, &s->note[run].file))
			return err_sys(e, errno, "cannot look at a run in %s", quoted(at.label));
	}
	status rc = run_notes_files(s->p->keep->notes, s->note, s->kept, count, e);
	for (size_t run = 0; rc == ST_OK && run < count; run++) {
		const run_note *note = &s->note[run];
		const uint64_t n = note->recs;
		if (!s->kept[run])
			continue;
		run_checkpoint saved = run_checkpoint_of(s, run);
		rc = run_checkpoint_load(d->spill, run, s->p->keep, s->m, &saved, e);
		s->d->sum = checksum_join(s->d->sum, note->sum);
		dropped_join(&s->d->dropped, &(dropped){ n - note->kept, note->dropped });
		d->kept++;
		d->kept_recs += n;
		progress_add(PROGRESS_KEPT, n * l->record_bytes);
	}
	return rc;
}

/* Add runs for n records. All runs except the last have the full length. */
static void add_runs(run_formation *s, uint64_t n)
{
	for (uint64_t k; n > 0; n -= k) {
		k = u64_min(n, s->p->b->run_recs);
		(void)add_run(s, (size_t)k);
	}
}

/* Add the kept runs and the new runs between them, with their notes and names. */
static status add_pieces(run_formation *s, err *e)
{
	mem *m = s->m;
	const run_checkpoint_plan *keep = s->p->keep;
	const sort_plan *b = s->p->b;
	sorted_share *d = s->d;
	uint64_t number = keep->number;
	kept_piece p = { 0 };
	s->note = mem_array(m, b->runs, sizeof *s->note, "runs", e);
	s->kept = mem_array(m, b->runs, sizeof *s->kept, "runs", e);
	d->disk.names = mem_array(m, b->runs, sizeof *d->disk.names, "names of runs", e);
	if (!s->note || !s->kept || !d->disk.names)
		return ST_RESOURCE;
	for (size_t i = 0; kept_runs_next(&keep->kept, b->run_recs, &p); i++) {
		if (!add_run(s, (size_t)p.recs))
			return err_set(e, ST_INTERNAL, "more runs than were planned");
		s->kept[i] = p.run != NULL;
		s->note[i] = p.run ? *p.run
				   : (run_note){ .first = keep->kept.first + p.first,
						 .recs = p.recs,
						 .number = number,
						 .stride = b->stride,
						 .rank = keep->notes->s->rank };
		number += !s->kept[i];
		resume_state_run_name(s->note[i].rank, s->note[i].number, d->disk.names[i].text);
		d->disk.names[i].there = s->kept[i];
	}
	return ST_OK;
}

/* Allocate memory for the most runs and samples that are possible, and create the files. */
static status open_runs(run_formation *s, err *e)
{
	const run_formation_plan *p = s->p;
	const layout *l = &p->load.lay;
	const sort_plan *b = p->b;
	sorted_share *d = s->d;
	sorted_disk *t = &d->disk;
	mem *m = s->m;
	*d = (sorted_share){ .s = &t->s, .disk.stride = b->stride };
	s->workers = sort_plan_sorters(b);
	s->record = mem_array(m, s->workers, l->record_bytes, "a record", e);
	t->start = mem_array(m, b->runs + 1, sizeof *t->start, "runs", e);
	t->sample_at = mem_array(m, b->runs + 1, sizeof *t->sample_at, "samples", e);
	t->sample = mem_array(m, (size_t)(p->load.n / b->stride) + b->runs, item_bytes(l),
			      "samples", e);
	if (!s->record || !t->start || !t->sample_at || !t->sample)
		return ST_RESOURCE;
	status rc = p->keep ? add_pieces(s, e) : ST_OK;
	const spill_plan sp = { .dir = p->dir,
				.dirs = p->dirs,
				.name = t->names,
				.record_bytes = l->record_bytes,
				.runs = b->runs,
				.memory_runs = b->memory_runs,
				.memory_recs = b->run_recs + b->held_recs,
				.recs = p->load.n,
				.buffers = s->workers,
				.write_bytes = b->write_bytes,
				.ranks_here = p->ranks_here,
				.growing = p->full != NULL,
				.buffered = p->load.direct == DIRECT_NEVER };
	if (rc == ST_OK)
		rc = spill_open(&t->spill, m, &sp, e);
	return rc == ST_OK ? sorted_disk_open(t, m, l, p->load.rank, e) : rc;
}

/* Free the memory for writing runs. */
static void end_writing(run_formation *s)
{
	mem_free(s->m, s->raw);
	mem_free(s->m, s->held_room);
	mem_free(s->m, s->record);
	mem_free(s->m, s->kept);
	mem_free(s->m, s->note);
	if (s->d->disk.spill)
		spill_end_writing(s->d->disk.spill);
}

status run_formation_input(const input *in, const run_formation_plan *p, mem *m, sorted_share *out,
			   err *e)
{
	const load_plan *l = &p->load;
	const reader_plan rp = { l->first, l->n, l->lay, l->direct };
	run_formation s = { .d = out, .p = p, .m = m };
	reader *r = NULL;
	status rc = open_runs(&s, e);
	if (rc == ST_OK && !p->keep)
		add_runs(&s, l->n);
	else if (rc == ST_OK)
		rc = pieces_open(&s, e);
	if (rc == ST_OK && out->disk.kept < p->b->runs) {
		rc = reader_open(&r, in, &rp, e);
		s.from = r;
		s.begun_s = now_s();
		if (rc == ST_OK)
			rc = memory_share_sample(m, l, r, p->b->run_recs, &s.sample, e);
		if (rc == ST_OK)
			rc = workers_make_runs(&s, e);
		if (rc == ST_OK)
			rc = reader_check(r, e);
		reader_close(r);
		mem_free(m, s.sample.recs);
	}
	if (rc == ST_OK)
		runs_settle(&s);
	end_writing(&s);
	return rc;
}

status run_formation_stream(record_take *take, void *from, const run_formation_plan *p, mem *m,
			    sorted_share *out, err *e)
{
	sorted_share held = *out;
	run_formation s = { .d = out, .p = p, .m = m, .take = take, .source = from };
	status rc = open_runs(&s, e);
	if (rc == ST_OK) {
		out->verify_s = held.verify_s;
		add_runs(&s, held.n);
	}
	if (rc == ST_OK && held.n > 0) { /* the stream was longer than memory */
		rc = memory_share_sort(&p->load, m, &held, e);
		s.held = &held;
		if (rc == ST_OK)
			rc = workers_make_runs(&s, e);
		s.held = NULL;
	}
	sorted_share_free(m, &held);
	if (rc == ST_OK)
		rc = workers_make_runs(&s, e);
	if (rc == ST_OK && out->disk.s.count == 0) { /* an empty stream has one empty run */
		(void)add_run(&s, 0);
		rc = spill_run_begin(out->disk.spill, 0, 0, e);
		if (rc == ST_OK)
			rc = spill_run_end(out->disk.spill, 0, e);
	}
	if (rc == ST_OK)
		runs_settle(&s);
	end_writing(&s);
	return rc;
}

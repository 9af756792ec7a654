/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens and closes the exchange, and merges or sorts the received records. Memory and disk space
 * are requested before the first record moves. After that, a rank that fails continues to receive,
 * so that its peers reach the end of the phase.
 *
 * phase_merge: exchange and merge are one step. The sorted streams of all ranks are merged while
 * they arrive, and written while they are merged. Memory: the windows of the exchange, no second
 * copy.
 *
 * phase_regroup: the exchange may take two steps. In the first step, the records for a group of
 * ranks go to one of its members, which merges them into one sorted run. The run replaces the
 * records that the rank has read. In the second step (phase_merge), the members of a group exchange
 * their runs. Memory: a second copy of a share, and windows.
 *
 * phase_distribute: ranks sort last. Records are sent in the order of the input to the rank that
 * writes them, which sorts them as if it had read them. It stores the records of each sender
 * together, in the order of ranks, so equal keys keep the order of the input. Memory: up to two
 * copies. */
#include "base/clock.h"
#include "base/arith.h"
#include "exchange/distribute_disk.h"
#include "exchange/stream_merge.h"
#include "phases.h"
#include "kernel/gather.h"
#include "testing/failpoint.h"

#include <assert.h>
#include <inttypes.h>

/* An exchange with peers, while it is open. */
typedef struct exchange_setup {
	job *j;
	bool stores;         /* keeps received records in memory, so opens no output */
	const uint64_t *cut; /* cuts of the runs of j->cuts between the peers */
	peer_flow flow;      /* recv is NULL until each peer has announced its records */
	uint64_t wanted;     /* records that this rank receives */
	int most_peers;      /* of any rank */
	/* set by setup_open */
	exchange *x;
	outgoing out;
	uint64_t *counts; /* memory of recv, if peers announce their records */
	io_fd to;         /* the open output */
	writer to_file;
	selection selection; /* of the received records */
} exchange_setup;

/* Describe the exchange with all ranks, or with the group of the second step. */
static exchange_setup setup_of(job *j, bool stores)
{
	const cuts *k = &j->cuts;
	const comm *c = j->env.c;
	exchange_setup t = { .j = j,
			     .stores = stores,
			     .cut = k->cut,
			     .flow = k->flow,
			     .wanted = own_share(&j->env, j->shares.out),
			     .most_peers = k->flow.rank ? k->most_peers : c->size,
			     .to = IO_FD_NONE };
	if (!k->flow.rank)
		t.flow.peers = peers_all(c);
	return t;
}

/* Open streams to the peers, and let all peers announce how many records they send, unless the
 * first step of the exchange has shown it. Then open the windows and the writer. */
static status setup_open(exchange_setup *t)
{
	job *j = t->j;
	rank_env *env = &j->env;
	comm *c = env->c;
	peer_flow *f = &t->flow;
	const int n = f->peers.count;
	uint64_t sum = 0, leaving = 0;
	bool ok = true;
	if (!f->recv)
		f->recv = t->counts =
			mem_array(&env->m, (size_t)n, sizeof *t->counts, "counts", &env->e);
	status rc = f->recv ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK && settings_drops(env->o) && !t->stores)
		rc = selection_open(&t->selection, env, output_most(j));
	if (rc == ST_OK) {
		t->out = (outgoing){ .m = &env->m,
				     .size = (size_t)n,
				     .ahead_bytes = j->memory.sort.ahead_bytes };
		rc = outgoing_open(&t->out, j->cuts.s, t->cut, &env->e);
	}
	f->send = t->out.send;
	rc = comm_agree(c, rc);
	if (rc == ST_OK && t->counts)
		rc = comm_alltoall(c, f->send, f->recv, sizeof *f->recv);
	if (rc != ST_OK)
		return rc;
	for (int i = 0; i < n; i++) {
		ok &= !__builtin_add_overflow(sum, f->recv[i], &sum);
		leaving += i == f->peers.own ? 0 : f->send[i];
	}
	/* By the splitters, this rank gets exactly t->wanted records. It has no memory for more,
	 * and would wait forever for missing records. */
	if (!ok || sum != t->wanted)
		rc = err_set(&env->e, ST_PEER,
			     "the ranks do not announce the %" PRIu64
			     " records that this rank must receive",
			     t->wanted);
	const exchange_plan p = { .c = c,
				  .m = &env->m,
				  .record_bytes = env->o->lay.record_bytes,
				  .fill = outgoing_fill,
				  .outgoing = &t->out,
				  .peers = f->peers,
				  .most_peers = t->most_peers,
				  .send = f->send,
				  .recv = f->recv,
				  .threads = env->o->exchange_threads,
				  .budget_bytes = (size_t)j->memory.windows_bytes,
				  .total = j->shares.records };
	rc = comm_agree(c, rc == ST_OK ? exchange_open(&t->x, &p, &env->e) : rc);
	if (rc == ST_OK && !t->stores) {
		rc = output_open(j, &t->to);
		const file_records to = { t->to, output_name(&j->files.out), j->files.out.offset,
					  t->wanted, env->o->fsync };
		if (rc == ST_OK)
			rc = writer_open(&t->to_file, &env->m, &env->o->lay, &to, &j->part.seen,
					 &env->e);
		rc = comm_agree(c, rc);
	}
	FAIL_PHASE(phase_name(PH_EXCHANGE));
	progress_sends(&c->progress, leaving * env->o->lay.record_bytes);
	return rc == ST_OK ? exchange_start(t->x) : rc;
}

/* Wait for the threads of the exchange, after all records have arrived. */
static status setup_drained(exchange_setup *t)
{
	rank_env *env = &t->j->env;
	exchange_times times = { 0, 0 };
	const status rc = exchange_finish(t->x, &times, &env->e);
	result_shift(env->stats, PH_EXCHANGE, times.wait_s);
	env->stats->move_s += times.move_s;
	return rc;
}

/* Write what is buffered, add up the bytes that moved, and free everything. */
static status setup_close(exchange_setup *t, status rc)
{
	job *j = t->j;
	rank_env *env = &j->env;
	rank_result *r = env->stats;
	const peer_flow *f = &t->flow;
	selection *s = &t->selection;
	const uint64_t bytes = env->o->lay.record_bytes;
	if (t->to_file.raw)
		selection_end(s, &t->to_file);
	j->part.dropped = s->dropped;
	dropped_join(&j->part.dropped, &j->cuts.dropped);
	selection_close(s, &env->m);
	if (rc == ST_OK && t->x)
		rc = outgoing_failure(&t->out, &env->e);
	const status flushed = t->to_file.raw ? writer_flush(&t->to_file, &env->e) : ST_OK;
	for (int i = 0; t->x && i < f->peers.count; i++) {
		if (i == f->peers.own)
			continue;
		result_sent(r, peers_rank(&f->peers, i), f->send[i] * bytes);
		r->received_bytes += f->recv[i] * bytes;
	}
	result_shift(r, PH_WRITE, t->to_file.wait_s);
	r->verify_s += t->to_file.verify_s;
	exchange_free(t->x);
	outgoing_close(&t->out);
	writer_free(&t->to_file);
	output_close(&t->to);
	mem_free(&env->m, t->counts);
	return rc == ST_OK ? flushed : rc;
}

/* Exchange and merge. rank_at: see stream_merge. */
static status merge_streams(exchange_setup *t, const int32_t *rank_at, const merge_sink *to)
{
	rank_env *env = &t->j->env;
	const peer_list *peers = &t->flow.peers;
	/* peers are in the order of their numbers, unless ranks continue with runs of an earlier
	 * job */
	stream_merge g = { .out = &t->out,
			   .own = peers->own,
			   .own_place = rank_at ? workdir_place(t->j) : (uint32_t)peers->own,
			   .k = (uint32_t)peers->count,
			   .rank_at = rank_at,
			   .lay = env->o->lay,
			   .to = *to };
	status rc = comm_agree(env->c, stream_merge_open(&g, &env->m, &env->e));
	if (rc == ST_OK)
		rc = setup_open(t);
	g.x = t->x;
	if (rc == ST_OK)
		rc = stream_merge_run(&g);
	if (rc == ST_OK)
		rc = setup_drained(t);
	rc = setup_close(t, rc);
	stream_merge_close(&g);
	return rc;
}

/* Merged records go to the file, or, if some are dropped, one at a time to the selection. */
static unsigned char *merged_room(void *setup, size_t *recs)
{
	exchange_setup *t = setup;
	if (!t->selection.next)
		return writer_room(&t->to_file, recs);
	*recs = 1;
	return t->selection.next;
}

static void merged_add(void *setup, size_t n)
{
	exchange_setup *t = setup;
	if (t->selection.next)
		selection_put(&t->selection, t->selection.next, &t->to_file);
	else
		writer_add(&t->to_file, n);
}

status phase_merge(job *j)
{
	exchange_setup t = setup_of(j, false);
	const merge_sink to = { merged_room, merged_add, &t };
	const status rc = merge_streams(&t, j->work.shared.rank_at, &to);
	return read_runs_check(&j->data, rc, &j->env.e);
}

typedef struct regrouping {
	job *j;
	two_level t;
	uint64_t *cut;  /* [(peers + 1) * count] cuts of this rank's runs */
	uint64_t *next; /* [peers + 1] cuts of the received run, for the second step */
	read_runs came; /* the received records in order, as one run */
} regrouping;

/* Return the memory for the next records. It is enough for all, because setup_open has compared
 * their number with the plan. */
static unsigned char *regrouped_room(void *regrouping_, size_t *recs)
{
	const read_runs *d = &((regrouping *)regrouping_)->came;
	*recs = d->room - d->n;
	assert(*recs > 0);
	return d->recs + d->n * d->memory.recs.lay.record_bytes;
}

/* Make the entries of n received records. */
static void regrouped_add(void *regrouping_, size_t n)
{
	read_runs *d = &((regrouping *)regrouping_)->came;
	for (const size_t end = d->n + n; d->n < end; d->n++)
		d->memory.e[d->n] =
			entry_make(record_at(&d->memory.recs, d->n), &d->memory.recs.lay, d->n);
}

/* Take the first step: allocate memory for the records to receive, find the part of each run that
 * each peer gets, and exchange. Then replace the records that were read by the received records,
 * and the cuts by the cuts between the members of the group. */
static status regroup(regrouping *x)
{
	job *j = x->j;
	rank_env *env = &j->env;
	mem *m = &env->m;
	read_runs *d = &x->came;
	cuts *c = &j->cuts;
	peer_flow *f = &x->t.step[1];
	const size_t n = (size_t)x->t.step[0].peers.count, count = c->s->count;
	d->room = (size_t)x->t.recs;
	d->raw = d->recs =
		mem_array(m, d->room, env->o->lay.record_bytes, "received records", &env->e);
	d->memory.recs = (records){ d->recs, env->o->lay, (uint32_t)env->c->rank };
	d->memory.e = mem_array(m, d->room, sizeof *d->memory.e, "entries", &env->e);
	x->cut = mem_array(m, (n + 1) * count, sizeof *x->cut, "cuts", &env->e);
	x->next = mem_array(m, (size_t)f->peers.count + 1, sizeof *x->next, "cuts", &env->e);
	const bool room = d->recs && d->memory.e && x->cut && x->next;
	status rc = comm_agree(env->c, room ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	for (int i = 0; i < f->peers.count; i++)
		x->next[i + 1] = x->next[i] + f->send[i];
	for (size_t i = 0; i <= n; i++)
		memcpy(x->cut + i * count, c->cut + x->t.first[i] * count, count * sizeof *x->cut);
	exchange_setup t = setup_of(j, true);
	const merge_sink to = { regrouped_room, regrouped_add, x };
	t.cut = x->cut;
	t.flow = x->t.step[0];
	t.wanted = x->t.recs;
	t.most_peers = x->t.most_peers;
	rc = merge_streams(&t, NULL, &to);
	if (rc == ST_OK && d->n != x->t.recs)
		rc = err_set(&env->e, ST_PEER,
			     "received another number of records than was announced");
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = read_runs_check(&j->data, rc, &env->e);
	if (rc != ST_OK)
		return rc;
	d->sum = j->data.sum;
	read_runs_free(m, &j->data);
	d = &j->data;
	*d = x->came;
	x->came = (read_runs){ 0 };
	(void)sorted_memory_make(&d->memory, d->n, NULL);
	d->s = &d->memory.s;
	mem_free(m, c->cut);
	c->cut = x->next;
	c->s = d->s;
	c->flow = *f;
	c->most_peers = x->t.most_peers;
	x->next = NULL;
	*f = (peer_flow){ 0 };
	return ST_OK;
}

status phase_regroup(job *j)
{
	rank_env *env = &j->env;
	regrouping x = { .j = j };
	if (j->memory.exchange != EXCHANGE_TWO_LEVEL)
		return ST_OK;
	uint64_t *send = cuts_count(j);
	const two_level_query q = { .send = send,
				    .out = j->shares.out,
				    .before = j->shares.before,
				    .room_recs = j->memory.between_recs,
				    .asked = env->o->exchange == EXCHANGE_BY_TWO_LEVELS };
	status rc = comm_agree(env->c, send ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = two_level_plan(&x.t, env->c, &env->m, &q, &env->e);
	mem_free(&env->m, send);
	if (rc == ST_OK && !x.t.pays)
		env->stats->exchange = EXCHANGE_FEW_MESSAGES;
	if (rc == ST_OK && x.t.pays)
		rc = regroup(&x);
	if (!atomic_load(&env->c->broken)) { /* else another rank may still read these */
		mem_free(&env->m, x.cut);
		mem_free(&env->m, x.next);
		read_runs_free(&env->m, &x.came);
		two_level_free(&x.t, &env->m);
	}
	return read_runs_check(&j->data, rc, &env->e);
}

/* Make entries of all records, ordered by the rank that writes them, in the memory of the sort that
 * has found the cuts. */
static status by_destination(job *j)
{
	rank_env *env = &j->env;
	read_runs *d = &j->data;
	cuts *k = &j->cuts;
	const size_t p = (size_t)env->c->size;
	/* the splitters are the records of this rank at its cuts */
	splitters g = { .lay = k->s->lay, .start = k->cut };
	g.raw = mem_array(&env->m, p - 1, item_bytes(&g.lay), "splitters", &env->e);
	for (size_t i = 1; g.raw && i < p && k->cut[i] < sorted_total(k->s); i++)
		k->s->ops->item(k->s, k->cut[i], splitters_item(&g, g.count++));
	g.at = mem_array(&env->m, p, sizeof *g.at, "counts", &env->e);
	sorted_memory_close(&d->memory);
	d->memory.e = mem_array(&env->m, d->n, sizeof *d->memory.e, "entries", &env->e);
	(void)sorted_memory_make(&d->memory, d->n, NULL);
	k->s = &d->memory.s;
	status rc = g.raw && g.at && d->memory.e ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		FAIL_FLIP(FAIL_ENTRIES, g.raw, g.count * item_bytes(&g.lay));
		rc = gather_misfits(splitters_place(&g, &d->memory.recs, 0, d->n, d->memory.e),
				    &env->e);
		FAIL_FLIP(FAIL_ENTRIES, d->memory.e, d->n * sizeof(entry));
	}
	mem_free(&env->m, g.raw);
	mem_free(&env->m, g.at);
	return rc;
}

/* Receive blocks from all ranks in turn. Store each block at its place, or write it at once if
 * records are only partitioned. */
static status receive_all(exchange_setup *t, read_runs *to, uint64_t *at)
{
	const comm *c = t->j->env.c;
	const size_t bytes = t->j->env.o->lay.record_bytes;
	status rc = ST_OK;
	bool any = true;
	for (int s = 0; s < c->size; s++) {
		at[s] = to->n;
		to->n += t->flow.recv[s];
	}
	while (rc == ST_OK && any) {
		any = false;
		for (int i = 0; rc == ST_OK && i < c->size; i++) {
			const int s = (c->rank + i) % c->size;
			const unsigned char *rec;
			size_t n = 0;
			rc = exchange_next(t->x, s, &rec, &n);
			if (rc != ST_OK || n == 0)
				continue;
			any = true;
			if (to->recs)
				memcpy(to->recs + at[s] * bytes, rec, n * bytes);
			for (size_t done = 0, k; !to->recs && done < n; done += k) {
				size_t room;
				unsigned char *out = writer_room(&t->to_file, &room);
				k = size_min(n - done, room);
				memcpy(out, rec + done * bytes, k * bytes);
				writer_add(&t->to_file, k);
			}
			at[s] += n;
			progress_add(PROGRESS_RECEIVED, n * bytes);
		}
	}
	return rc == ST_OK ? setup_drained(t) : rc;
}

/* Exchange records, then sort them. If a rank has spilled, all ranks merge instead, because a merge
 * needs sorted records from every rank. */
status phase_distribute(job *j)
{
	rank_env *env = &j->env;
	rank_progress *g = &env->c->progress;
	const bool stores = !env->o->partition_only;
	const read_runs_plan p = { .lay = env->o->lay,
				   .rank = (uint32_t)env->c->rank,
				   .threads = j->cpus.threads,
				   .sizes = test_sizes_of(env->o) };
	read_runs received = { 0 };
	uint64_t merges;
	status rc = comm_reduce(env->c, memory_plan_merges(j), u64_max, &merges);
	if (rc != ST_OK || merges)
		return rc == ST_OK ? phase_merge(j) : rc;
	exchange_setup t = setup_of(j, stores);
	uint64_t *at = mem_array(&env->m, (size_t)env->c->size, sizeof *at, "counts", &env->e);
	rc = at ? by_destination(j) : ST_RESOURCE;
	if (rc == ST_OK && stores)
		rc = read_runs_room(&p, &env->m, (size_t)own_share(env, j->shares.out), 0,
				    &received, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = setup_open(&t);
	if (rc == ST_OK)
		rc = receive_all(&t, &received, at);
	rc = setup_close(&t, rc);
	rc = read_runs_check(&j->data, rc, &env->e);
	mem_free(&env->m, at);
	rc = comm_agree(env->c, rc);
	if (rc != ST_OK || !stores) {
		read_runs_free(&env->m, &received);
		return rc;
	}
	/* the records that were read have been sent: free their memory for the sort */
	read_runs_free(&env->m, &j->data);
	j->data = received;
	progress_end(g, moment_now());
	progress_begin(g, STAGE_SORT, 0, moment_now());
	rc = comm_agree(env->c, read_runs_sort(&p, &env->m, &j->data, &env->e));
	progress_end(g, moment_now());
	progress_begin(g, STAGE_WRITE, j->data.n * env->o->lay.record_bytes, moment_now());
	if (rc == ST_OK)
		rc = phase_single_rank(j);
	read_runs_free(&env->m, &j->data);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and closing the flow of records, and the phases that merge what comes. Everything that
 * can be refused for want of memory or disk is asked for before the first record moves; from then
 * on a rank that fails keeps on receiving, so that its peers come to the next border as well.
 *
 * Exchange and merge are one: the sorted streams of all ranks are merged while they arrive, and
 * written while they are merged. Memory: the windows of the exchange, no second copy of the data.
 *
 * The exchange may take two steps. In the first, what belongs to a group of ranks goes to its
 * members, which merge it. What a rank has then takes the place of what it has read, as one sorted
 * run, and the exchange that follows is among the members of its group. Memory: a second copy of a
 * share, windows. */
#include "base/clock.h"
#include "base/minmax.h"
#include "exchange/stream_merge.h"
#include "job.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>
#include <unistd.h>

/* ---------------------------------------------------------------------------------- the output */

static uint64_t in_both(uint64_t a, uint64_t b)
{
	return a & b;
}

status exchange_setup_output(job *j, io_fd *to)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const share_plan *s = &j->shares;
	output *out = &j->files.out;
	output_part *w = &j->part;
	const input *in = &j->files.in;
	const uint64_t bytes = o->lay.record_bytes;
	uint64_t id = 0, rights = 0777, all_rights;
	*to = (io_fd)IO_FD_NONE;
	w->keys = mem_array(&env->m, 2, o->lay.key_bytes, "keys", &env->e);
	status rc = comm_agree(env->c, w->keys ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	w->seen = (inspected){ .first_key = w->keys,
			       .last_key = w->keys + o->lay.key_bytes,
			       .order = output_order(o) };
	/* a number that no other job next to the same output has, and rights that all inputs of all
	 * ranks allow; streams, such as standard input, allow all */
	if (env->c->rank == 0 && getrandom(&id, sizeof id, 0) != sizeof id)
		id = (uint64_t)(now_s() * 1e9);
	rc = comm_bcast(env->c, &id, sizeof id, 0);
	for (size_t i = 0; i < in->files; i++)
		rights &= in->file[i].is_stream ? 0777 : in->file[i].st.st_mode;
	if (rc == ST_OK) {
		rc = comm_reduce(env->c, rights, in_both, &all_rights);
		out->file.most = (mode_t)(all_rights & rights); /* whatever was said */
	}
	if (rc == ST_OK)
		rc = output_create(out, env->c, id, share_before(env, s->out) * bytes,
				   own_share(env, s->out) * bytes, s->records * bytes, &env->e);
	if (rc == ST_OK)
		rc = frame_write(j, FRAME_HEADER);
	to->fd = out->fd;
	/* written early, the page cache is faster than going past it, as long as its pages find
	 * room */
	const bool direct =
		o->direct == DIRECT_ALWAYS || (o->direct == DIRECT_AUTO && j->memory.budget.spills);
	if (rc == ST_OK && !out->is_stdout && direct)
		to->direct = io_fd_open_direct(to->fd, O_WRONLY);
	if (rc == ST_OK)
		io_fd_use(to, j->files.io);
	return rc;
}

void exchange_setup_output_close(const io_fd *to)
{
	if (to->direct >= 0)
		close(to->direct);
}

uint64_t exchange_setup_most(const job *j)
{
	const settings *o = j->env.o;
	const uint64_t before = o->unique ? 0 : share_before(&j->env, j->shares.out);
	return !o->top ? UINT64_MAX : o->top > before ? o->top - before : 0;
}

/* -------------------------------------------------------------------------- what both steps need
 */

exchange_setup exchange_setup_of(job *j, bool stores)
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

/* Streams to the peers, and room for what each announces, if that is not known from the first step;
 * then windows, and the writer. */
status exchange_setup_open(exchange_setup *t)
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
		rc = selection_open(&t->selection, env, exchange_setup_most(j));
	if (rc == ST_OK)
		rc = outgoing_open(&t->out, &env->m, j->cuts.s, t->cut, (size_t)n,
				   j->memory.budget.ahead_bytes, &env->e);
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
	/* What is announced is what the splitters leave to this rank: there is room for no more,
	 * and what does not come would be waited for. */
	if (!ok || sum != t->wanted)
		rc = err_set(&env->e, ST_PEER,
			     "the ranks announce other than the %" PRIu64
			     " records that this rank is to receive",
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
		rc = exchange_setup_output(j, &t->to);
		const sink to = { t->to, output_name(&j->files.out), j->files.out.offset, t->wanted,
				  env->o->fsync };
		if (rc == ST_OK)
			rc = writer_open(&t->to_file, &env->m, &env->o->lay, &to, &j->part.seen,
					 &env->e);
		rc = comm_agree(c, rc);
	}
	FAIL_PHASE(phase_name(PH_EXCHANGE));
	progress_sends(&c->progress, leaving * env->o->lay.record_bytes);
	return rc == ST_OK ? exchange_start(t->x) : rc;
}

status exchange_setup_drained(exchange_setup *t)
{
	rank_result *r = t->j->env.stats;
	exchange_times times = { 0, 0 };
	const status rc = exchange_finish(t->x, &times, &t->j->env.e);
	result_shift(r, PH_EXCHANGE, times.wait_s);
	r->move_s += times.move_s;
	return rc;
}

status exchange_setup_close(exchange_setup *t, status rc)
{
	job *j = t->j;
	rank_env *env = &j->env;
	rank_result *r = env->stats;
	const peer_flow *f = &t->flow;
	selection *s = &t->selection;
	const uint64_t bytes = env->o->lay.record_bytes;
	if (t->to_file.raw)
		selection_end(s, &t->to_file);
	j->part.dropped = (dropped){ s->dropped.records + j->cuts.dropped.records,
				     checksum_join(s->dropped.sum, j->cuts.dropped.sum) };
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
	outgoing_close(&t->out, &env->m);
	writer_free(&t->to_file);
	exchange_setup_output_close(&t->to);
	mem_free(&env->m, t->counts);
	return rc == ST_OK ? flushed : rc;
}

/* Exchange and merge. put: what becomes of the records, in order. rank_at: as of stream_merge. */
static status merge_streams(exchange_setup *t, const int32_t *rank_at,
			    void (*put)(void *to, const head *h, size_t n), void *to)
{
	rank_env *env = &t->j->env;
	const peer_list *peers = &t->flow.peers;
	/* places are as peers are numbered, but where runs of earlier jobs lie on hosts in another
	 * order */
	stream_merge g = { .out = &t->out,
			   .own = peers->own,
			   .own_place = rank_at ? workdir_place(t->j) : (uint32_t)peers->own,
			   .k = (uint32_t)peers->count,
			   .rank_at = rank_at,
			   .lay = env->o->lay,
			   .put = put,
			   .to = to };
	status rc = comm_agree(env->c, stream_merge_open(&g, &env->m, &env->e));
	if (rc == ST_OK)
		rc = exchange_setup_open(t);
	g.x = t->x;
	if (rc == ST_OK)
		rc = stream_merge_run(&g);
	if (rc == ST_OK)
		rc = exchange_setup_drained(t);
	rc = exchange_setup_close(t, rc);
	stream_merge_close(&g);
	return rc;
}

/* --------------------------------------------------------------------- the step that writes */

static void write_records(void *setup, const head *h, size_t n)
{
	exchange_setup *t = setup;
	const uint32_t bytes = t->j->env.o->lay.record_bytes;
	if (settings_drops(t->j->env.o)) {
		for (size_t i = 0; i < n; i++)
			selection_put(&t->selection, h[i].rec, &t->to_file);
		return;
	}
	while (n > 0) {
		size_t room;
		unsigned char *to = writer_room(&t->to_file, &room);
		const size_t k = size_min(n, room);
		for (size_t i = 0; i < k; i++)
			record_copy(to + i * bytes, h[i].rec, bytes);
		writer_add(&t->to_file, k);
		h += k;
		n -= k;
	}
}

status phase_merge(job *j)
{
	exchange_setup t = exchange_setup_of(j, false);
	const status rc = merge_streams(&t, j->work.shared.rank_at, write_records, &t);
	return read_runs_check(&j->data, rc, &j->env.e);
}

/* --------------------------------------------------------------------------- the step before it */

typedef struct regrouping {
	job *j;
	two_level t;
	uint64_t *cut; /* [(peers + 1) * count] */
	/* what comes, in order */
	unsigned char *recs;
	entry *e;
	uint64_t *start; /* of the only run */
	uint64_t n, room;
} regrouping;

static void take_records(void *regrouping_, const head *h, size_t n)
{
	regrouping *x = regrouping_;
	const layout *l = &x->j->env.o->lay;
	for (size_t i = 0; i < n && x->n < x->room; i++, x->n++) {
		unsigned char *to = x->recs + x->n * l->record_bytes;
		record_copy(to, h[i].rec, l->record_bytes);
		x->e[x->n] = entry_make(to, l, x->n);
	}
}

/* Room for what comes, and what each peer gets of each run. */
static status make_room(regrouping *x)
{
	rank_env *env = &x->j->env;
	mem *m = &env->m;
	const cuts *c = &x->j->cuts;
	const size_t n = (size_t)x->t.step[0].peers.count, count = c->s->count;
	x->room = x->t.recs;
	x->recs = mem_array(m, x->room, env->o->lay.record_bytes, "received records", &env->e);
	x->e = mem_array(m, x->room, sizeof *x->e, "entries", &env->e);
	x->start = mem_array(m, 2, sizeof *x->start, "runs", &env->e);
	x->cut = mem_array(m, (n + 1) * count, sizeof *x->cut, "cuts", &env->e);
	for (size_t i = 0; x->cut && i <= n; i++)
		for (size_t k = 0; k < count; k++)
			x->cut[i * count + k] = c->cut[x->t.first[i] * count + k];
	return x->recs && x->e && x->start && x->cut ? ST_OK : ST_RESOURCE;
}

static status move_records(regrouping *x)
{
	exchange_setup t = { .j = x->j,
			     .stores = true,
			     .cut = x->cut,
			     .flow = x->t.step[0],
			     .wanted = x->t.recs,
			     .most_peers = x->t.most_peers,
			     .to = IO_FD_NONE };
	const status rc = merge_streams(&t, NULL, take_records, x);
	if (rc == ST_OK && x->n != x->t.recs)
		return err_set(&x->j->env.e, ST_PEER, "other records came than were announced");
	return rc;
}

/* What came takes the place of what was read, and what the members of the group get of it, the
 * place of the cuts. */
static status replace(regrouping *x)
{
	rank_env *env = &x->j->env;
	mem *m = &env->m;
	read_runs *d = &x->j->data;
	cuts *c = &x->j->cuts;
	peer_flow *f = &x->t.step[1];
	const size_t n = (size_t)f->peers.count;
	uint64_t *cut = mem_array(m, n + 1, sizeof *cut, "cuts", &env->e);
	if (!cut)
		return ST_RESOURCE;
	for (size_t i = 0; i < n; i++)
		cut[i + 1] = cut[i] + f->send[i];
	const checksum sum = d->sum;
	if (read_runs_check(d, ST_OK, &env->e) != ST_OK) {
		mem_free(m, cut);
		return env->e.code;
	}
	read_runs_free(m, d);
	x->start[1] = x->n;
	*d = (read_runs){ .raw = x->recs,
			  .recs = x->recs,
			  .memory = { .recs = { x->recs, env->o->lay, (uint32_t)env->c->rank },
				      .e = x->e },
			  .n = (size_t)x->n,
			  .room = (size_t)x->room,
			  .start = x->start,
			  .sum = sum };
	x->recs = NULL;
	x->e = NULL;
	x->start = NULL;
	(void)sorted_memory_make(&d->memory, d->start, NULL);
	d->s = &d->memory.s;
	mem_free(m, c->cut);
	c->cut = cut;
	c->s = d->s;
	c->flow = *f;
	c->most_peers = x->t.most_peers;
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
	if (rc == ST_OK && !x.t.pays) {
		env->stats->exchange = EXCHANGE_FEW_MESSAGES;
	} else if (rc == ST_OK) {
		rc = comm_agree(env->c, make_room(&x));
		if (rc == ST_OK)
			rc = comm_agree(env->c, move_records(&x));
		if (rc == ST_OK)
			rc = replace(&x);
	}
	if (!atomic_load(&env->c->broken)) { /* else somebody may still be sending of these */
		mem_free(&env->m, x.cut);
		mem_free(&env->m, x.recs);
		mem_free(&env->m, x.e);
		mem_free(&env->m, x.start);
		two_level_free(&x.t, &env->m);
	}
	return read_runs_check(&j->data, rc, &env->e);
}

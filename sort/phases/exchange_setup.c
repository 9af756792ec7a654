/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and closing the flow of records. Everything that can be refused for want of memory or
 * disk is asked for before the first record moves; from then on a rank that fails keeps on
 * receiving, so that its peers come to the next border as well. */
#include "exchange_setup.h"
#include "frame.h"
#include "base/clock.h"
#include "base/minmax.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	LEAST_PEER_BYTES = 1 << 20, /* for each peer; of little data, what holds all of it */
	WINDOWS_PART = 16,
	LIMIT_PART = 8
};

uint64_t exchange_setup_windows(const rank_env *env, uint64_t total, uint64_t least_limit_bytes)
{
	const uint64_t mean = total * env->o->lay.record_bytes / (uint64_t)env->c->size;
	const uint64_t part = mean / WINDOWS_PART, most = least_limit_bytes / LIMIT_PART;
	const uint64_t peers = (uint64_t)(env->c->size - 1) * LEAST_PEER_BYTES;
	const uint64_t least = u64_min(u64_min(peers, EXCHANGE_LEAST_BYTES), 2 * mean);
	return u64_min(u64_min(u64_max(least, part), EXCHANGE_MOST_BYTES), most);
}

/* A number that no other job beside the same output has. */
static status job_id(rank_env *env, uint64_t *id)
{
	*id = 0;
	if (env->c->rank == 0 && getrandom(id, sizeof *id, 0) != sizeof *id)
		*id = (uint64_t)(now_s() * 1e9);
	return comm_bcast(env->c, id, sizeof *id, 0);
}

static uint64_t in_both(uint64_t a, uint64_t b)
{
	return a & b;
}

/* What all inputs of all ranks allow; streams, such as standard input, allow all. */
static status rights_of_inputs(rank_env *env, const input *in, mode_t *rights)
{
	uint64_t mine = 0777, all;
	for (size_t i = 0; i < in->files; i++)
		mine &= in->file[i].is_stream ? 0777 : in->file[i].st.st_mode;
	const status rc = comm_reduce(env->c, mine, in_both, &all);
	*rights = (mode_t)(all & mine); /* whatever was said */
	return rc;
}

/* Written early, the page cache is faster than going past it, as long as its pages find room. */
static bool writes_direct(const rank_env *env, const memory_plan *mp)
{
	return env->o->direct == DIRECT_ALWAYS ||
	       (env->o->direct == DIRECT_AUTO && mp->budget.spills);
}

status exchange_setup_output(rank_env *env, const settled *k, files *f, output_part *w, io_fd *to)
{
	const share_plan *s = k->s;
	const layout *l = &env->o->lay;
	const uint64_t mine = own_share(env, s->out) * l->record_bytes;
	uint64_t id;
	*to = (io_fd)IO_FD_NONE;
	w->keys = mem_array(&env->m, 2, l->key_bytes, "keys", &env->e);
	status rc = comm_agree(env->c, w->keys ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	w->seen = (inspected){ .first_key = w->keys,
			       .last_key = w->keys + l->key_bytes,
			       .order = output_order(env->o) };
	rc = job_id(env, &id);
	if (rc == ST_OK)
		rc = rights_of_inputs(env, &f->in, &f->out.file.most);
	if (rc == ST_OK)
		rc = output_create(&f->out, env->c, id, share_before(env, s->out) * l->record_bytes,
				   mine, s->records * l->record_bytes, &env->e);
	if (rc == ST_OK)
		rc = frame_write(env, f, FRAME_HEADER);
	to->fd = f->out.fd;
	if (rc == ST_OK && !f->out.is_stdout && writes_direct(env, k->mp))
		to->direct = io_fd_open_direct(to->fd, O_WRONLY);
	if (rc == ST_OK)
		io_fd_use(to, f->io);
	return rc;
}

void exchange_setup_output_close(const io_fd *to)
{
	if (to->direct >= 0)
		close(to->direct);
}

static status open_writer(exchange_setup *t)
{
	rank_env *env = t->env;
	const output *out = &t->f->out;
	const status rc = exchange_setup_output(env, t->k, t->f, t->w, &t->to);
	const sink to = { t->to, output_name(out), out->offset, own_share(env, t->k->s->out),
			  env->o->fsync };
	return rc == ST_OK
		       ? writer_open(&t->to_file, &env->m, &env->o->lay, &to, &t->w->seen, &env->e)
		       : rc;
}

/* What is announced is what the splitters leave to this rank: there is room for no more, and what
 * does not come would be waited for. */
static status check_arrivals(const exchange_setup *t)
{
	const uint64_t wanted = own_share(t->env, t->k->s->out);
	uint64_t sum = 0;
	bool ok = true;
	for (int i = 0; i < t->peers.count; i++)
		ok &= !__builtin_add_overflow(sum, t->recv[i], &sum);
	if (!ok || sum != wanted)
		return err_set(&t->env->e, ST_PEER,
			       "the ranks announce other than the %" PRIu64
			       " records that this rank is to receive",
			       wanted);
	return ST_OK;
}

uint64_t exchange_setup_most(const rank_env *env, const share_plan *s)
{
	const settings *o = env->o;
	const uint64_t before = o->unique ? 0 : share_before(env, s->out);
	return !o->top ? UINT64_MAX : o->top > before ? o->top - before : 0;
}

static status open_outgoing(exchange_setup *t)
{
	rank_env *env = t->env;
	const peer_flow *f = &t->cuts->flow;
	t->peers = f->rank ? f->peers : peers_all(env->c);
	const size_t p = (size_t)t->peers.count;
	t->recv = mem_array(&env->m, p, sizeof *t->recv, "counts", &env->e);
	if (t->recv && f->rank)
		memcpy(t->recv, f->recv, p * sizeof *t->recv);
	const status rc = settings_drops(env->o) ? selection_open(&t->selection, env,
								  exchange_setup_most(env, t->k->s))
						 : ST_OK;
	return t->recv && rc == ST_OK ? outgoing_open(&t->out, &env->m, t->cuts->s, t->cuts->cut, p,
						      t->k->mp->budget.ahead_bytes, &env->e)
				      : ST_RESOURCE;
}

/* Bytes for other ranks. */
static uint64_t leaving(const exchange_setup *t)
{
	uint64_t sum = 0;
	for (int i = 0; i < t->peers.count; i++)
		sum += i == t->peers.own ? 0 : t->out.send[i];
	return sum * t->env->o->lay.record_bytes;
}

status exchange_setup_open(exchange_setup *t)
{
	rank_env *env = t->env;
	status rc = comm_agree(env->c, open_outgoing(t));
	if (rc == ST_OK && !t->cuts->flow.rank)
		rc = comm_alltoall(env->c, t->out.send, t->recv, sizeof *t->recv);
	if (rc != ST_OK)
		return rc;
	const exchange_plan p = { .c = env->c,
				  .m = &env->m,
				  .record_bytes = env->o->lay.record_bytes,
				  .fill = outgoing_fill,
				  .outgoing = &t->out,
				  .peers = t->peers,
				  .most_peers =
					  t->cuts->flow.rank ? t->cuts->most_peers : env->c->size,
				  .send = t->out.send,
				  .recv = t->recv,
				  .threads = env->o->exchange_threads,
				  .budget_bytes = (size_t)t->k->mp->windows_bytes,
				  .total = t->k->s->records };
	rc = check_arrivals(t);
	rc = comm_agree(env->c, rc == ST_OK ? exchange_open(&t->x, &p, &env->e) : rc);
	if (rc == ST_OK && !t->stores)
		rc = comm_agree(env->c, open_writer(t));
	FAIL_PHASE(phase_name(PH_EXCHANGE));
	progress_sends(&env->c->progress, leaving(t));
	if (rc == ST_OK)
		rc = exchange_start(t->x);
	return rc;
}

static void note_traffic(const exchange_setup *t)
{
	const rank_env *env = t->env;
	const uint64_t bytes = env->o->lay.record_bytes;
	for (int i = 0; i < t->peers.count; i++) {
		if (i == t->peers.own)
			continue;
		result_sent(env->stats, peers_rank(&t->peers, i), t->out.send[i] * bytes);
		env->stats->received_bytes += t->recv[i] * bytes;
	}
}

status exchange_setup_drained(exchange_setup *t)
{
	rank_result *r = t->env->stats;
	exchange_times times = { 0, 0 };
	const status rc = exchange_finish(t->x, &times, &t->env->e);
	result_shift(r, PH_EXCHANGE, times.wait_s);
	r->move_s += times.move_s;
	return rc;
}

void exchange_setup_written(rank_env *env, const output_part *w)
{
	env->stats->out = w->seen.records;
	env->stats->written_bytes = w->seen.records * env->o->lay.record_bytes;
	env->stats->sum_out = w->seen.sum;
	env->stats->dropped = w->dropped.records;
	env->stats->sum_dropped = w->dropped.sum;
}

status exchange_setup_close(exchange_setup *t, status rc)
{
	rank_env *env = t->env;
	if (t->to_file.raw)
		selection_end(&t->selection, &t->to_file);
	t->w->dropped = (dropped){
		t->selection.dropped.records + t->cuts->dropped.records,
		checksum_join(t->selection.dropped.sum, t->cuts->dropped.sum),
	};
	selection_close(&t->selection, &env->m);
	if (rc == ST_OK && t->x)
		rc = outgoing_failure(&t->out, &env->e);
	const status flushed = t->to_file.raw ? writer_flush(&t->to_file, &env->e) : ST_OK;
	exchange_setup_written(env, t->w);
	if (t->x)
		note_traffic(t);
	result_shift(env->stats, PH_WRITE, t->to_file.wait_s);
	env->stats->verify_s += t->to_file.verify_s;
	exchange_free(t->x);
	outgoing_close(&t->out, &env->m);
	writer_free(&t->to_file);
	exchange_setup_output_close(&t->to);
	mem_free(&env->m, t->recv);
	return rc == ST_OK ? flushed : rc;
}

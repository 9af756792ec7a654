/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring links, see rank_speeds.h. In each round, ranks of different hosts exchange messages.
 *
 * A pair of ranks reaches only the rate of the slower of its two links, so the rate of a rank is
 * the best rate of all its rounds. A round in which a processor was busy for most of the time shows
 * the processor, not the link. If such a round was the best, the link is faster than its processor,
 * and its rate is not known. In the first four rounds, a rank sends to each of the next four
 * hosts in turn, because a single partner may be slow. In later rounds, each rank that has met no
 * faster rank meets one of the fastest.
 *
 * Rank 0 chooses the pairs. It ends measuring if no link can delay the job, or if another round
 * would take too large a part of the job's predicted time. A job with slow links takes longer, so
 * it may have more rounds. Unless the user asks to measure, a small job has few messages in its
 * first round. Measuring takes 1.25 MiB of memory. Each round broadcasts 8 bytes per rank. */
#include "rank_speeds.h"
#include "base/clock.h"
#include "base/usage.h"
#include "base/arith.h"

#include <math.h>
#include <string.h>

enum {
	MESSAGE_BYTES = 256 << 10,
	LEAST_MESSAGES = 8,
	MOST_MESSAGES = 64,
	RINGS = 4, /* the first rounds, with the next hosts */
	ROUNDS = 9 /* all rounds */
};

/* Measuring may take this part of the job's predicted time, or more if the user asks for it, but at
 * most MOST_S seconds. */
static const double PART = 0.005, ASKED_PART = 0.02, MOST_S = 0.2;

/* Seconds of messages that are enough to measure a link in a round. */
static const double ENOUGH_S = 0.01;

/* A link does not affect the shares if it moves its records within this part of the time of the
 * other work. Half, because a short measurement may show only half of a link's time. */
static const double HIDDEN = 0.5;

/* In a round that measures a link, the threads of both ranks have or want a processor for at most
 * this part of the time. */
static const double BUSY = 0.5;

/* Links whose rates differ by less than this factor are treated as equal. */
static const double ALIKE = 1.15;

/* The ranks that a rank sends to and receives from; -1: none. */
typedef struct partners {
	int32_t to, from;
} partners;

/* A round, as planned by rank 0. */
typedef struct measuring {
	uint64_t continues, pairs;
	double enough_s; /* the time that a round should take */
	/* limits of a round, of which the larger one counts: */
	double most_s;        /* a part of the time of the job */
	double most_messages; /* a part of the messages that a rank sends */
} measuring;

/* --------------------------------------------------------------------------- one measurement */

typedef struct link_stream {
	comm_req req[LINK_SLOTS];
	int peer; /* -1: none */
	bool sending;
	unsigned begun, done, messages;
	unsigned char *buf; /* one message to send, or LINK_SLOTS messages to receive */
	double ended_s;
} link_stream;

/* Begin messages while slots are free, and test the oldest one. Set *moved if it is complete. */
static status link_stream_advance(comm *c, link_stream *s, bool *moved)
{
	bool done = false;
	status rc = ST_OK;
	for (; rc == ST_OK && s->begun < s->messages && s->begun - s->done < LINK_SLOTS;
	     s->begun++) {
		const size_t slot = s->begun % LINK_SLOTS;
		const int tag = TAG_LINK_RATES + (int)slot;
		comm_req *r = &s->req[slot];
		rc = s->sending ? comm_send(c, s->buf, MESSAGE_BYTES, s->peer, tag, r)
				: comm_recv(c, s->buf + slot * MESSAGE_BYTES, MESSAGE_BYTES,
					    s->peer, tag, r);
	}
	if (rc == ST_OK && s->done < s->begun)
		rc = comm_test(c, &s->req[s->done % LINK_SLOTS], &done);
	if (rc != ST_OK || !done)
		return rc;
	*moved = true;
	s->ended_s = ++s->done == s->messages ? now_s() : 0;
	return ST_OK;
}

/* The result of a round at one rank. */
typedef struct sight {
	double rate; /* of receiving, in bytes per second; 0 without a sender */
	double busy; /* the part of the time for which this thread had or wanted a processor */
} sight;

/* Exchange messages with the partners. The first turn is one message, which shows how many messages
 * take m->enough_s on the slowest rank. Only the second turn, with these messages, counts: buffers
 * and token buckets take a single message at once. Receivers measure, because a sender ends before
 * all bytes have arrived. */
static status meet_partners(rank_env *env, partners with, const measuring *m, unsigned char *buf,
			    sight *seen)
{
	status rc = ST_OK;
	uint64_t longest_ns = 0;
	unsigned n = 1;
	*seen = (sight){ 0, 0 };
	for (int turn = 0; rc == ST_OK && turn < 2; turn++) {
		link_stream s[] = { { .peer = with.to, .sending = true, .buf = buf },
				    { .peer = with.from, .buf = buf + MESSAGE_BYTES } };
		for (size_t i = 0; i < 2; i++)
			s[i].messages = s[i].peer >= 0 ? n : 0;
		const double t0 = now_s(), runnable_s = usage_runnable_s();
		bool left = true;
		comm_wait_begin(env->c);
		for (unsigned tries = 0; rc == ST_OK && left;) {
			bool moved = false;
			left = false;
			for (size_t i = 0; i < 2 && rc == ST_OK; i++) {
				rc = link_stream_advance(env->c, &s[i], &moved);
				left |= s[i].done < s[i].messages;
			}
			tries = moved ? 0 : tries + 1;
			if (left && !moved && rc == ST_OK)
				nap(tries);
		}
		seen->busy = (usage_runnable_s() - runnable_s) / fmax(now_s() - t0, 1e-9);
		rc = comm_agree(env->c, comm_wait_end(env->c, rc));
		const double in_s = s[1].messages ? fmax(s[1].ended_s - t0, 1e-9) : 0;
		seen->rate = in_s > 0 ? (double)n * MESSAGE_BYTES / in_s : 0;
		if (rc == ST_OK)
			rc = comm_reduce(env->c, (uint64_t)(1e9 * in_s), u64_max, &longest_ns);
		const double message_s = 1e-9 * fmax((double)longest_ns, 1);
		const double wanted = fmax(ceil(m->enough_s / message_s), LEAST_MESSAGES);
		const double most = fmax(m->most_s / message_s, m->most_messages);
		n = (unsigned)fmax(fmin(fmin(wanted, most), MOST_MESSAGES), 1);
	}
	return rc;
}

/* ------------------------------------------------------------------------------ pairs of ranks */

/* All arrays are in the memory of `with`, the only array at ranks other than 0. */
typedef struct meetings {
	const rank_speeds *g;
	const share_plan *s; /* the number of records, and rates without links */
	partners *with;      /* [ranks] */
	sight *seen;         /* [p] in the last round */
	double *best;        /* [p] the most bytes per second in all rounds; 0: has met no rank */
	double *pure;        /* [p] the most of the rounds in which processors were idle */
	double *met;         /* [p] the best rate of all ranks that the rank has met */
	size_t *order;       /* [p] ranks by seconds per byte */
	size_t most;         /* the most ranks on a host */
} meetings;

static bool same_host(const rank_speeds *g, size_t a, size_t b)
{
	return g->placement[a].host_id == g->placement[b].host_id;
}

/* Let each rank send to a rank that is `hosts` hosts later in the order. If hosts have different
 * numbers of ranks, the distance is approximate. Return the number of pairs. */
static size_t pair_by_rings(meetings *t, size_t hosts)
{
	const size_t p = t->g->p;
	size_t pairs = 0;
	for (size_t i = 0; i < p; i++) {
		const size_t from = t->g->order[i], to = t->g->order[(i + hosts * t->most) % p];
		if (same_host(t->g, from, to))
			continue;
		t->with[from].to = (int32_t)to;
		t->with[to].from = (int32_t)from;
		pairs++;
	}
	return pairs;
}

/* Pair each rank whose partners may all have been slower than itself with one of the fastest ranks,
 * until all of these have a partner. Return the number of pairs. */
static size_t pair_with_best(meetings *t)
{
	const size_t p = t->g->p;
	size_t pairs = 0, next = 0;
	double top = 0;
	for (size_t i = 0; i < p; i++)
		top = fmax(top, t->best[i]);
	for (size_t i = 0; i < p; i++) {
		if (!(t->best[i] * ALIKE < top && t->met[i] <= t->best[i] * ALIKE))
			continue;
		while (next < p && (t->best[next] * ALIKE < top || same_host(t->g, i, next)))
			next++;
		if (next == p)
			break;
		t->with[i] = (partners){ (int32_t)next, (int32_t)next };
		t->with[next++] = (partners){ (int32_t)i, (int32_t)i };
		pairs++;
	}
	return pairs;
}

/* -------------------------------------------------------------------------------- the result */

/* Set the seconds per byte of each rank. Ranks of a host share its link, so all get the mean of the
 * host, or 0 if the link of one is faster than its processor. The seconds are reduced for the
 * records that stay on the host and do not use the link. */
static void to_hosts(const meetings *t, double *link_s)
{
	const rank_speeds *g = t->g;
	const size_t p = g->p;
	for (size_t i = 0, n; i < p; i += n) {
		double sum = 0, met = 0;
		bool shown = true;
		n = rank_speeds_on_host(g, i);
		for (size_t k = i; k < i + n; k++) {
			const size_t r = g->order[k];
			sum += t->best[r];
			met += t->best[r] > 0;
			shown = shown && t->pure[r] * ALIKE >= t->best[r];
		}
		for (size_t k = i; k < i + n; k++)
			link_s[g->order[k]] = shown && met > 0
						      ? job_time_byte_s(1e-6 * sum / met) *
								(double)(p - n) / (double)(p - 1)
						      : 0;
	}
}

/* Measure with the partners that rank 0 has chosen, and keep the best rates. */
static status measure_round(rank_env *env, meetings *t, const measuring *m, unsigned char *buf)
{
	sight mine;
	const size_t bytes = (size_t)env->c->size * sizeof *t->with;
	status rc = comm_bcast(env->c, t->with, bytes, 0);
	const partners with = t->with[env->c->rank];
	if (rc == ST_OK && (with.to < -1 || with.to >= env->c->size || with.from < -1 ||
			    with.from >= env->c->size))
		rc = err_set(&env->e, ST_PEER,
			     "rank 0 named a rank that does not exist to measure a link with");
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = meet_partners(env, with, m, buf, &mine);
	if (rc == ST_OK)
		rc = comm_gather(env->c, &mine, t->seen, sizeof mine, 0);
	const size_t p = rc == ST_OK ? t->g->p : 0;
	for (size_t i = 0; i < p; i++) {
		const int32_t to = t->with[i].to, from = t->with[i].from;
		const sight *own = &t->seen[i];
		const double in = own->rate, out = to >= 0 ? t->seen[to].rate : 0;
		t->best[i] = fmax(t->best[i], fmax(in, out));
		if (from >= 0 && fmax(own->busy, t->seen[from].busy) <= BUSY)
			t->pure[i] = fmax(t->pure[i], in);
		if (to >= 0 && fmax(own->busy, t->seen[to].busy) <= BUSY)
			t->pure[i] = fmax(t->pure[i], out);
	}
	for (size_t i = 0; i < p; i++) {
		if (t->with[i].to >= 0)
			t->met[i] = fmax(t->met[i], t->best[t->with[i].to]);
		if (t->with[i].from >= 0)
			t->met[i] = fmax(t->met[i], t->best[t->with[i].from]);
	}
	return rc;
}

/* Plan round i, after spent_s seconds of measuring. Measuring ends if no link can take longer than
 * the work during which records are sent and received. */
static measuring next_round(const rank_env *env, meetings *t, int i, double spent_s, double *link_s)
{
	const size_t p = t->g->p;
	const uint64_t n = t->s->records / p;
	const job_load l = { .in = n, .out = n, .ranks = p, .far = 1 };
	double job_s = 0;
	bool delays = false; /* a link may delay the job */
	if (i > 0)
		to_hosts(t, link_s);
	for (size_t k = 0; k < p; k++) {
		rates r = t->s->rate[k];
		r.link_s = 0;
		const job_time work = job_time_of(&r, env->o, &l);
		r.link_s = link_s[k];
		job_s = fmax(job_s, job_time_equal_s(&r, env->o, n, p));
		delays = delays || job_time_link_s(&r, env->o, &l) >
					   HIDDEN * (work.total_s - work.stage[STAGE_READ].all_s);
	}
	const double part = env->o->measure_links ? ASKED_PART : PART;
	const double most_s = fmin(part * job_s, MOST_S);
	const rates slow = { .link_s = job_time_byte_s(1e-6 * MESSAGE_BYTES) }; /* 1 message/s */
	const double messages = job_time_link_s(&slow, env->o, &l);
	measuring m = { .continues = i == 0 || (delays && spent_s * (i + 1) <= most_s * i),
			.enough_s = fmin(most_s / ROUNDS, ENOUGH_S),
			.most_s = most_s,
			.most_messages = env->o->measure_links ? LEAST_MESSAGES : part * messages };
	for (size_t k = 0; k < p; k++)
		t->with[k] = (partners){ -1, -1 };
	m.pairs = i < RINGS ? pair_by_rings(t, (size_t)i + 1) : pair_with_best(t);
	m.continues = m.continues && (i < RINGS || m.pairs);
	return m;
}

status link_rates_measure(rank_env *env, const rank_speeds *g, const share_plan *s, double *link_s)
{
	const size_t p = g->p, ranks = (size_t)env->c->size;
	meetings t = { .g = g, .s = s };
	const size_t each =
		sizeof *t.seen + sizeof *t.best + sizeof *t.pure + sizeof *t.met + sizeof *t.order;
	t.with = mem_array(&env->m, 1, ranks * sizeof *t.with + p * each, "links", &env->e);
	unsigned char *buf =
		mem_array(&env->m, 1 + LINK_SLOTS, MESSAGE_BYTES, "measuring links", &env->e);
	status rc = comm_agree(env->c, t.with && buf ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		const double begun_s = now_s();
		t.seen = (void *)(t.with + ranks);
		t.best = (void *)(t.seen + p);
		t.pure = t.best + p;
		t.met = t.pure + p;
		t.order = (void *)(t.met + p);
		for (size_t i = 0, n; i < p; i += n) {
			n = rank_speeds_on_host(g, i);
			t.most = size_max(t.most, n);
		}
		memset(buf, 1, (size_t)(1 + LINK_SLOTS) * MESSAGE_BYTES);
		for (int i = 0; rc == ST_OK && i < ROUNDS; i++) {
			measuring m = { 0 };
			if (p)
				m = next_round(env, &t, i, now_s() - begun_s, link_s);
			rc = comm_bcast(env->c, &m, sizeof m, 0);
			if (!m.continues)
				break;
			if (rc == ST_OK && m.pairs)
				rc = measure_round(env, &t, &m, buf);
		}
		rc = comm_agree(env->c, rc);
	}
	if (rc == ST_OK && p) {
		to_hosts(&t, link_s);
		rank_speeds_alike(link_s, t.order, p, ALIKE);
	}
	mem_free(&env->m, buf);
	mem_free(&env->m, t.with);
	return rc;
}

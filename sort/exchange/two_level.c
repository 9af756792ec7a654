/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who sends what to whom in both steps. The records of a group are taken in the order of (source,
 * rank that is to have them, place), in which each source's for each rank, a cell, lie together;
 * its members divide that order as their shares lie in it, and cells stay whole. So a member gets
 * as much as it is to write, and half a cell at each end, whatever the keys are. What a rank has to
 * know for this it is told in four calls of all to all, of 8 or 16 bytes for each rank. Memory: 64
 * bytes a rank meanwhile. */
#include "two_level.h"
#include "base/lower_bound.h"
#include "base/minmax.h"

#include <inttypes.h>
#include <math.h>

/* Seconds to pass a message, both sides together, with what it takes to look out for it: where all
 * ranks are threads of a process, many more than processors, that is mostly waking them; else it is
 * a guess, and a byte takes a link of 10 Gbit/s as well. And how many calls of all ranks it takes
 * to plan, in each of which a rank waits for the last. */
static const double INSIDE_MESSAGE_S = 20e-6, MESSAGE_S = 10e-6, LINK_BYTE_S = 0.8e-9, CALLS = 8;

int two_level_groups(int ranks)
{
	return (int)lround(sqrt((double)ranks));
}

int two_level_first(int ranks, int k)
{
	return (int)((int64_t)ranks * k / two_level_groups(ranks));
}

int two_level_most_peers(int ranks)
{
	return (int)u64_min((uint64_t)ranks, 4 * (uint64_t)two_level_groups(ranks) + 4);
}

double two_level_saves_s(const two_level_load *l)
{
	const double direct = l->ranks - 1, groups = two_level_groups(l->ranks);
	const double two = groups + 1 + l->ranks / groups + CALLS * log2((double)l->ranks);
	const double message_s = l->inside ? INSIDE_MESSAGE_S : MESSAGE_S;
	const double byte_s = l->byte_s + (l->inside ? 0 : LINK_BYTE_S);
	return (direct - two) * message_s - l->recs_bytes * byte_s;
}

/* Where the records of this rank for one other lie in the order of the group. */
typedef struct cell {
	uint64_t start, count;
} cell;

typedef struct step_counts {
	uint64_t now, next; /* records in the first step, in the second */
} step_counts;

typedef struct planning {
	comm *c;
	mem *m;
	const two_level_query *q;
	err *e;
	uint64_t *word, *heard;   /* [size] */
	cell *cell, *cells;       /* [size] of this rank, of the sources of its records */
	step_counts *said, *told; /* [size] in the room of cell and cells */
	int *group;               /* [size] of each rank */
} planning;

_Static_assert(sizeof(cell) == sizeof(step_counts), "they share their room");

static status room_for(planning *g)
{
	const size_t p = (size_t)g->c->size;
	g->word = mem_array(g->m, p, sizeof *g->word, "counts", g->e);
	g->heard = mem_array(g->m, p, sizeof *g->heard, "counts", g->e);
	g->cell = mem_array(g->m, p, sizeof *g->cell, "counts", g->e);
	g->cells = mem_array(g->m, p, sizeof *g->cells, "counts", g->e);
	g->group = mem_array(g->m, p, sizeof *g->group, "groups", g->e);
	if (!g->word || !g->heard || !g->cell || !g->cells || !g->group)
		return ST_RESOURCE;
	for (int k = 0, n = two_level_groups(g->c->size); k < n; k++)
		for (int i = two_level_first(g->c->size, k); i < two_level_first(g->c->size, k + 1);
		     i++)
			g->group[i] = k;
	return ST_OK;
}

static void give_back(planning *g)
{
	mem_free(g->m, g->word);
	mem_free(g->m, g->heard);
	mem_free(g->m, g->cell);
	mem_free(g->m, g->cells);
	mem_free(g->m, g->group);
}

static int first_of(const planning *g, int rank)
{
	return two_level_first(g->c->size, g->group[rank]);
}

static uint64_t before(const planning *g, int rank)
{
	return rank ? g->q->before[rank - 1] : 0;
}

static status disagree(const planning *g)
{
	return err_set(g->e, ST_PEER, "the ranks announce other records than they are to send");
}

/* The first rank of each group is told what each source has for it, and tells each how much of that
 * is of the sources before it: word[first of a group]. */
static status find_places(planning *g)
{
	comm *c = g->c;
	const int first = first_of(g, c->rank), k = g->group[c->rank];
	uint64_t sum = 0;
	bool sound = true;
	for (int i = 0; i < c->size; i++)
		g->word[first_of(g, i)] += g->q->send[i];
	status rc = comm_alltoall(c, g->word, g->heard, sizeof *g->word);
	for (int i = 0; rc == ST_OK && c->rank == first && i < c->size; i++) {
		const uint64_t n = g->heard[i];
		g->heard[i] = sum;
		sound &= !__builtin_add_overflow(sum, n, &sum);
	}
	if (rc == ST_OK && c->rank == first)
		sound &= sum == before(g, two_level_first(c->size, k + 1)) - before(g, first);
	rc = comm_agree(c, rc == ST_OK && !sound ? disagree(g) : rc);
	return rc == ST_OK ? comm_alltoall(c, g->heard, g->word, sizeof *g->word) : rc;
}

/* The member of a rank's group that gets a cell in the first step. */
static int member_for(const planning *g, int rank, const cell *x)
{
	const uint64_t middle = x->start + x->count / 2;
	const int first = first_of(g, rank);
	const int end = two_level_first(g->c->size, g->group[rank] + 1);
	lower_bound b = { .lo = (size_t)first, .hi = (size_t)end - 1 };
	while (lower_bound_open(&b))
		lower_bound_step(&b, g->q->before[b.mid] <= middle);
	return (int)b.lo;
}

/* Each rank is told where what it is to have lies. */
static status tell_cells(planning *g)
{
	const comm *c = g->c;
	uint64_t at = 0, sum = 0;
	bool sound = true;
	for (int i = 0; i < c->size; i++) {
		if (i == first_of(g, i))
			at = before(g, i) + g->word[i];
		g->cell[i] = (cell){ at, g->q->send[i] };
		at += g->q->send[i];
	}
	status rc = comm_alltoall(g->c, g->cell, g->cells, sizeof *g->cell);
	for (int i = 0; rc == ST_OK && i < c->size; i++)
		sound &= !__builtin_add_overflow(sum, g->cells[i].count, &sum);
	sound &= sum == g->q->out[c->rank];
	return comm_agree(g->c, rc == ST_OK && !sound ? disagree(g) : rc);
}

/* Peers are those to whom or from whom something comes, and this rank. */
static status make_flow(const planning *g, const uint64_t *send, const uint64_t *recv, peer_flow *f)
{
	const comm *c = g->c;
	size_t n = 0;
	for (int i = 0; i < c->size; i++)
		n += send[i] || recv[i] || i == c->rank;
	f->rank = mem_array(g->m, n, sizeof *f->rank, "peers", g->e);
	f->send = mem_array(g->m, n, sizeof *f->send, "counts", g->e);
	f->recv = mem_array(g->m, n, sizeof *f->recv, "counts", g->e);
	if (!f->rank || !f->send || !f->recv)
		return ST_RESOURCE;
	f->peers = (peer_list){ f->rank, 0, 0 };
	for (int i = 0; i < c->size; i++) {
		if (!send[i] && !recv[i] && i != c->rank)
			continue;
		if (i == c->rank)
			f->peers.own = f->peers.count;
		f->rank[f->peers.count] = i;
		f->send[f->peers.count] = send[i];
		f->recv[f->peers.count++] = recv[i];
	}
	return ST_OK;
}

/* first[i]: from which rank on is what peer i gets? */
static status divide_ranks(const planning *g, const int *member, two_level *t)
{
	const peer_list *p = &t->step[0].peers;
	t->first = mem_array(g->m, (size_t)p->count + 1, sizeof *t->first, "peers", g->e);
	if (!t->first)
		return ST_RESOURCE;
	int at = 0;
	for (int i = 0; i < g->c->size; i++)
		while (member[i] >= 0 && peers_rank(p, at) < member[i])
			t->first[++at] = (size_t)i;
	while (at < p->count)
		t->first[++at] = (size_t)g->c->size;
	return ST_OK;
}

static bool are_of_group(const planning *g)
{
	bool sound = true;
	uint64_t now = 0, next = 0;
	for (int i = 0; i < g->c->size; i++) {
		sound &= !__builtin_add_overflow(now, g->told[i].now, &now);
		sound &= !__builtin_add_overflow(next, g->told[i].next, &next);
		sound &= g->told[i].next == 0 || g->group[i] == g->group[g->c->rank];
	}
	return sound && now == next;
}

/* Of this rank: who gets what it has for each rank, and how much in all; and of whom it wants how
 * much of what it is to have. */
static void share_cells(planning *g, int *member)
{
	const comm *c = g->c;
	for (int i = 0; i < c->size; i++) {
		g->word[i] = g->heard[i] = 0;
		member[i] = -1;
	}
	for (int i = 0; i < c->size; i++) {
		if (g->cell[i].count) {
			member[i] = member_for(g, i, &g->cell[i]);
			g->word[member[i]] += g->cell[i].count;
		}
		if (g->cells[i].count)
			g->heard[member_for(g, c->rank, &g->cells[i])] += g->cells[i].count;
	}
}

/* What has been told, as lists of peers. */
static status make_steps(planning *g, const int *member, two_level *t)
{
	uint64_t *out = g->word, *in = g->heard;
	for (int i = 0; i < g->c->size; i++) {
		out[i] = g->said[i].now;
		t->recs += in[i] = g->told[i].now;
	}
	status rc = make_flow(g, out, in, &t->step[0]);
	if (rc == ST_OK)
		rc = divide_ranks(g, member, t);
	for (int i = 0; i < g->c->size; i++) {
		out[i] = g->told[i].next;
		in[i] = g->said[i].next;
	}
	return rc == ST_OK ? make_flow(g, out, in, &t->step[1]) : rc;
}

/* Each rank tells the others what it sends them first, and what it wants of them then. */
static status tell_steps(planning *g, two_level *t)
{
	comm *c = g->c;
	int *member = mem_array(g->m, (size_t)c->size, sizeof *member, "peers", g->e);
	status rc = comm_agree(c, member ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		share_cells(g, member);
		g->said = (void *)g->cell; /* cells are done with */
		g->told = (void *)g->cells;
		for (int i = 0; i < c->size; i++)
			g->said[i] = (step_counts){ g->word[i], g->heard[i] };
		rc = comm_alltoall(c, g->said, g->told, sizeof *g->said);
		if (rc == ST_OK)
			rc = are_of_group(g) ? make_steps(g, member, t) : disagree(g);
		rc = comm_agree(c, rc);
	}
	mem_free(g->m, member);
	return rc;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b;
}

/* Are there as many messages to save as the model takes there to be? Of keys that are nearly in
 * order each rank sends to few. */
static status ask_whether_many(planning *g, bool *many)
{
	uint64_t mine = 0, all = 0;
	for (int i = 0; i < g->c->size; i++)
		mine += g->q->send[i] > 0;
	const status rc = comm_reduce(g->c, mine, add, &all);
	const uint64_t p = (uint64_t)g->c->size;
	*many = g->q->asked || all > p * (uint64_t)two_level_most_peers(g->c->size);
	return rc;
}

/* The most peers that any rank has, if there is room on all of them. */
static status agree_on_room(planning *g, two_level *t)
{
	const int n = t->step[0].peers.count, k = t->step[1].peers.count;
	const bool fits = t->recs <= g->q->room_recs;
	uint64_t all = 0;
	const status rc =
		comm_reduce(g->c, fits ? (uint64_t)(n > k ? n : k) : UINT64_MAX, u64_max, &all);
	t->pays = all <= (uint64_t)g->c->size;
	t->most_peers = t->pays ? (int)all : 0;
	return rc;
}

status two_level_plan(two_level *t, comm *c, mem *m, const two_level_query *q, err *e)
{
	planning g = { .c = c, .m = m, .q = q, .e = e };
	bool many = false;
	*t = (two_level){ 0 };
	status rc = ask_whether_many(&g, &many);
	if (rc != ST_OK || !many)
		return rc;
	rc = comm_agree(c, room_for(&g));
	if (rc == ST_OK)
		rc = find_places(&g);
	if (rc == ST_OK)
		rc = tell_cells(&g);
	if (rc == ST_OK)
		rc = tell_steps(&g, t);
	if (rc == ST_OK)
		rc = agree_on_room(&g, t);
	give_back(&g);
	return rc;
}

void peer_flow_free(peer_flow *f, mem *m)
{
	mem_free(m, f->rank);
	mem_free(m, f->send);
	mem_free(m, f->recv);
	*f = (peer_flow){ 0 };
}

void two_level_free(two_level *t, mem *m)
{
	for (int k = 0; k < 2; k++)
		peer_flow_free(&t->step[k], m);
	mem_free(m, t->first);
	*t = (two_level){ 0 };
}

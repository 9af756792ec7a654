/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two-level exchange
 *
 * With p ranks an exchange has p - 1 peers per rank. If the ranks have few records for each other,
 * messages take more time than records. A two-level exchange therefore divides consecutive ranks
 * into about sqrt(p) groups, and sends records twice. In the first step the records for a group go
 * to its members, and each member merges the records that it receives. In the second step the
 * members of a group exchange these records. In each step a rank has about 2 sqrt(p) peers.
 *
 * The division of a group's records. A cell consists of the records of one source for one
 * destination. The records for a group are ordered by (source, destination, place). The members of
 * the group divide this sequence by the shares that they will write, but between cells. So for any
 * keys a member gets its share, plus or minus half a cell at each end. Each member gets consecutive
 * sources, in the order of the members, so equal keys keep their order.
 *
 * In which order. Planning takes four all-to-all collectives. In plan_places() each source sends
 * its number of records for a group to the first rank of the group. That rank adds the numbers up,
 * and returns the place of the source's first record. In plan_cells() each source sends each
 * destination the place and the size of its cell. Both numbers determine which member gets the cell
 * in the first step (member_for()). In plan_steps() all ranks exchange the counts of both steps.
 *
 * Which invariants hold. The totals after each collective are compared with the shares that the
 * ranks have agreed on. A rank sends in the second step the records that it has received in the
 * first. In the second step, no record leaves its group.
 *
 * Consequences of a failure. A rank with wrong totals, or without memory for planning, reports this
 * in the next comm_agree, and planning fails on all ranks. If two steps do not pay, or a rank has
 * too little memory for the records between the steps, all ranks use one step (`pays`).
 *
 * Costs: 8 or 16 bytes for each rank in each collective, and 56 bytes of memory per rank. */
#include "two_level.h"
#include "base/arith.h"

#include <math.h>

/* Seconds to pass a message, on both sides together, including the tests for it. */
static const double INSIDE_MESSAGE_S = 20e-6, /* between threads: mostly to wake them */
	MESSAGE_S = 10e-6,                    /* between processes: a guess */
	LINK_BYTE_S = 0.8e-9,                 /* for each byte on a link of 10 Gbit/s */
	CALLS = 8; /* collectives for the plan, each with a wait for the slowest rank */

static int groups_of(int ranks)
{
	return (int)lround(sqrt((double)ranks));
}

static int group_first(int ranks, int k)
{
	return (int)((int64_t)ranks * k / groups_of(ranks));
}

int two_level_most_peers(int ranks)
{
	return (int)u64_min((uint64_t)ranks, 4 * (uint64_t)groups_of(ranks) + 4);
}

double two_level_saves_s(const two_level_load *l)
{
	const double direct = l->ranks - 1, groups = groups_of(l->ranks);
	const double two = groups + 1 + l->ranks / groups + CALLS * log2((double)l->ranks);
	const double message_s = l->inside ? INSIDE_MESSAGE_S : MESSAGE_S;
	const double byte_s = l->byte_s + (l->inside ? 0 : LINK_BYTE_S);
	return (direct - two) * message_s - l->recs_bytes * byte_s;
}

/* The records of a source for a destination: their place in the order of the group, and number. */
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
	/* all arrays are in the memory of cell: */
	cell *cell, *cells;        /* [size] cells from this rank, and cells for this rank */
	step_counts *sends, *gets; /* [size] sent and received, in the memory of cell and cells */
	uint64_t *word, *heard;    /* [size] a number for each rank, and from each rank */
	int *group;                /* [size] the group of each rank */
	int *member;               /* [size] gets the records for a rank in step 0; -1: none */
} planning;

_Static_assert(sizeof(cell) == sizeof(step_counts), "they share their memory");

static int first_of(const planning *g, int rank)
{
	return group_first(g->c->size, g->group[rank]);
}

static uint64_t recs_before(const planning *g, int rank)
{
	return rank ? g->q->before[rank - 1] : 0;
}

static status disagree(const planning *g)
{
	return err_set(g->e, ST_PEER,
		       "the records that the ranks report do not add up to the shares");
}

/* Set word[first rank of a group] to the records that ranks before this one have for the group. */
static status plan_places(planning *g)
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
		sound &= sum == recs_before(g, group_first(c->size, k + 1)) - recs_before(g, first);
	rc = comm_agree(c, rc == ST_OK && !sound ? disagree(g) : rc);
	return rc == ST_OK ? comm_alltoall(c, g->heard, g->word, sizeof *g->word) : rc;
}

/* Return the member of the destination's group that gets a cell in the first step. */
static int member_for(const planning *g, int rank, const cell *x)
{
	const uint64_t middle = x->start + x->count / 2;
	const int first = first_of(g, rank);
	const int end = group_first(g->c->size, g->group[rank] + 1);
	lower_bound b = { .lo = (size_t)first, .hi = (size_t)end - 1 };
	while (lower_bound_open(&b))
		lower_bound_step(&b, g->q->before[b.mid] <= middle);
	return (int)b.lo;
}

/* Send each rank the cell with this rank's records for it. */
static status plan_cells(planning *g)
{
	const comm *c = g->c;
	uint64_t at = 0, sum = 0;
	bool sound = true;
	for (int i = 0; i < c->size; i++) {
		if (i == first_of(g, i))
			at = recs_before(g, i) + g->word[i];
		g->cell[i] = (cell){ at, g->q->send[i] };
		at += g->q->send[i];
	}
	status rc = comm_alltoall(g->c, g->cell, g->cells, sizeof *g->cell);
	for (int i = 0; rc == ST_OK && i < c->size; i++)
		sound &= !__builtin_add_overflow(sum, g->cells[i].count, &sum);
	sound &= sum == g->q->out[c->rank];
	return comm_agree(g->c, rc == ST_OK && !sound ? disagree(g) : rc);
}

/* Make the list of peers of a step: this rank and all ranks that it sends to or receives from. */
static status make_flow(const planning *g, bool second, peer_flow *f)
{
	const comm *c = g->c;
	uint64_t *send = g->word, *recv = g->heard;
	size_t n = 0;
	for (int i = 0; i < c->size; i++) {
		send[i] = second ? g->gets[i].next : g->sends[i].now;
		recv[i] = second ? g->sends[i].next : g->gets[i].now;
		n += send[i] || recv[i] || i == c->rank;
	}
	f->send = mem_array(g->m, n, 2 * sizeof *f->send + sizeof *f->rank, "peers", g->e);
	if (!f->send)
		return ST_RESOURCE;
	f->recv = f->send + n;
	f->rank = (void *)(f->recv + n);
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

/* Make the lists of peers, and t->first. */
static status make_flows(const planning *g, two_level *t)
{
	const peer_list *p = &t->step[0].peers;
	if (make_flow(g, false, &t->step[0]) != ST_OK || make_flow(g, true, &t->step[1]) != ST_OK ||
	    !(t->first = mem_array(g->m, (size_t)p->count + 1, sizeof *t->first, "peers", g->e)))
		return ST_RESOURCE;
	int at = 0;
	for (int i = 0; i < g->c->size; i++)
		while (g->member[i] >= 0 && peers_rank(p, at) < g->member[i])
			t->first[++at] = (size_t)i;
	while (at < p->count)
		t->first[++at] = (size_t)g->c->size;
	return ST_OK;
}

/* Exchange the counts of both steps with each rank, and make the lists of peers. */
static status plan_steps(planning *g, two_level *t)
{
	comm *c = g->c;
	bool sound = true;
	uint64_t now = 0, next = 0;
	for (int i = 0; i < c->size; i++) {
		g->word[i] = g->heard[i] = 0;
		g->member[i] = -1;
	}
	for (int i = 0; i < c->size; i++) {
		if (g->cell[i].count) {
			g->member[i] = member_for(g, i, &g->cell[i]);
			g->word[g->member[i]] += g->cell[i].count;
		}
		if (g->cells[i].count)
			g->heard[member_for(g, c->rank, &g->cells[i])] += g->cells[i].count;
	}
	for (int i = 0; i < c->size; i++) /* the cells are not needed any more */
		g->sends[i] = (step_counts){ g->word[i], g->heard[i] };
	status rc = comm_alltoall(c, g->sends, g->gets, sizeof *g->sends);
	for (int i = 0; rc == ST_OK && i < c->size; i++) {
		sound &= !__builtin_add_overflow(now, g->gets[i].now, &now);
		sound &= !__builtin_add_overflow(next, g->gets[i].next, &next);
		sound &= g->gets[i].next == 0 || g->group[i] == g->group[c->rank];
	}
	t->recs = now;
	if (rc == ST_OK)
		rc = sound && now == next ? make_flows(g, t) : disagree(g);
	return comm_agree(c, rc);
}

static uint64_t sum_counts(uint64_t a, uint64_t b)
{
	return a + b;
}

status two_level_plan(two_level *t, comm *c, mem *m, const two_level_query *q, err *e)
{
	planning g = { .c = c, .m = m, .q = q, .e = e };
	uint64_t mine = 0, all = 0;
	*t = (two_level){ 0 };
	for (int i = 0; i < c->size; i++)
		mine += q->send[i] > 0;
	status rc = comm_reduce(c, mine, sum_counts, &all);
	/* unlike in the model, ranks send to few others if keys are nearly in order */
	const uint64_t few = (uint64_t)c->size * (uint64_t)two_level_most_peers(c->size);
	if (rc != ST_OK || (!q->asked && all <= few))
		return rc;
	const size_t p = (size_t)c->size;
	g.cell = mem_array(m, p, 2 * (sizeof *g.cell + sizeof *g.word + sizeof *g.group), "counts",
			   e);
	rc = comm_agree(c, g.cell ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		g.cells = g.cell + p;
		g.sends = (void *)g.cell;
		g.gets = (void *)g.cells;
		g.word = (void *)(g.cells + p);
		g.heard = g.word + p;
		g.group = (void *)(g.heard + p);
		g.member = g.group + p;
		for (int k = 0; k < groups_of(c->size); k++)
			for (int i = group_first(c->size, k); i < group_first(c->size, k + 1); i++)
				g.group[i] = k;
		rc = plan_places(&g);
	}
	if (rc == ST_OK)
		rc = plan_cells(&g);
	if (rc == ST_OK)
		rc = plan_steps(&g, t);
	if (rc == ST_OK) { /* the most peers of any rank, if all ranks have enough memory */
		const int n = t->step[0].peers.count, k = t->step[1].peers.count;
		mine = t->recs <= q->room_recs ? (uint64_t)(n > k ? n : k) : UINT64_MAX;
		rc = comm_reduce(c, mine, u64_max, &all);
		t->pays = all <= (uint64_t)c->size;
		t->most_peers = t->pays ? (int)all : 0;
	}
	mem_free(m, g.cell);
	return rc;
}

void peer_flow_free(peer_flow *f, mem *m)
{
	mem_free(m, f->send);
	*f = (peer_flow){ 0 };
}

void two_level_free(two_level *t, mem *m)
{
	peer_flow_free(&t->step[0], m);
	peer_flow_free(&t->step[1], m);
	mem_free(m, t->first);
	*t = (two_level){ 0 };
}

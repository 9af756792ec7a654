/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans output shares again between reading and sampling. The new shares follow from what each
 * rank has seen while it read: how long its processors were busy, and how fast its disk was if it
 * was the limit. Links are measured again. So a node that became slow writes less. At this moment
 * a new plan is cheap: no record has left its rank, and splitters are computed from the shares
 * later. Rank 0 plans. The shares change on all ranks or on none: only if the predicted gain is
 * large enough, and every rank has room in memory and on disk. Costs one gather, broadcasts of a
 * few bytes per rank, and agreements. */
#include "adapt.h"
#include "base/arith.h"
#include "memory_plan.h"
#include "work_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A rank with less than this part of the mean work does not show its speed. */
static const double LEAST_PART = 0.1;

/* If no rank worked for longer than the first time, the work shows nothing: a quota of CPU time has
 * periods. A part of the work shows more than all of it if it took the second time. */
static const double LEAST_ALL_S = 0.5, LEAST_S = 1;

/* Rates that differ from the planned ones by less than this factor are taken to be as planned.
 * Reading is a small part of the work, and slow memory of the input may delay it, too. */
static const double ALIKE = 1.3;

/* The disk was the limit if processors were busy for less than this part of the time. */
static const double DISK_BUSY = 0.7;

/* Return whether a rank did enough work to show its speed. */
static bool adapt_shows_speed(const sighting *s, double mean_s)
{
	return s->expected_s > 0 && s->expected_s >= LEAST_PART * mean_s && s->busy_s[0] > 0;
}

/* Find how much longer the work of each rank takes than planned. Ranks do similar work in equal
 * parts, not in equal times. So use the same part for all: the shortest last part that took each
 * rank long enough, or else all of the work. The plan may be wrong about this kind of work on all
 * ranks, so the ranks are compared with the median. */
static void adapt_slower(const sighting *s, size_t p, double *slower, double *seen)
{
	double mean = 0, most_s = 0;
	size_t part = SIGHT_PARTS - 1, n = 0;
	for (size_t i = 0; i < p; i++)
		mean += s[i].expected_s / (double)p, most_s = fmax(most_s, s[i].busy_s[0]);
	for (size_t i = 0; i < p; i++) /* later parts take less time */
		while (part > 0 && adapt_shows_speed(&s[i], mean) && s[i].busy_s[part] < LEAST_S)
			part--;
	for (size_t i = 0; i < p; i++) {
		const double expected_s = ldexp(s[i].expected_s, -(int)part);
		const bool shows = most_s >= LEAST_ALL_S && adapt_shows_speed(&s[i], mean);
		slower[i] = shows ? s[i].busy_s[part] / expected_s : 0;
		if (slower[i] > 0 && isfinite(slower[i]))
			seen[n++] = slower[i];
		else
			slower[i] = 0;
	}
	qsort(seen, n, sizeof *seen, double_order);
	for (size_t i = 0; i < p; i++) {
		slower[i] = slower[i] > 0 ? slower[i] / seen[(n - 1) / 2] : 1;
		if (fabs(log(slower[i])) < log(ALIKE))
			slower[i] = 1;
	}
}

status adapt_plan(const bound_ranks *b, const sighting *seen, const uint64_t *written, rates *now,
		  double *slower, uint64_t *share, prospect *out, err *e)
{
	const size_t p = b->p;
	bound_ranks present = *b;
	uint64_t *in = calloc(p, sizeof *in + sizeof(double));
	*out = (prospect){ 0, 0, false };
	if (!in)
		return err_set(e, ST_RESOURCE, "no memory for a plan of %zu ranks", p);
	adapt_slower(seen, p, slower, (double *)(void *)(in + p));
	for (size_t i = 0; i < p; i++) {
		const double planned_s = b->rate[i].input_s, disk_s = seen[i].input_s;
		const double link_s = now[i].link_s;
		in[i] = seen[i].held;
		share[i] = written[i];
		now[i] = b->rate[i];
		now[i].link_s = link_s;
		rates_scale(&now[i], slower[i]);
		now[i].cpus = b->rate[i].cpus;
		if (planned_s > 0 && disk_s > 0 && isfinite(disk_s) &&
		    fabs(log(disk_s / planned_s)) > log(ALIKE) && seen[i].same_disk)
			now[i].disk_s *= disk_s / planned_s;
	}
	present.rate = now;
	const double before_s = shares_left_s(&present, in, written);
	const status rc = shares_bound(&present, in, share, e);
	if (rc == ST_OK) {
		out->saved_s = before_s - shares_left_s(&present, in, share);
		out->gain = out->saved_s > 0 ? out->saved_s / before_s : 0;
		out->worth = out->gain >= b->o->adapt.gain && out->saved_s >= b->o->adapt.saved_s;
	}
	free(in);
	return rc;
}

/* Return whether the first file of the input is on the disk of the output. */
static bool same_disk(const job *j)
{
	const input *in = &j->files.in;
	char dir[PATH_MAX];
	struct stat st;
	return in->files && !in->file->is_stream && stat(output_dir(j->env.o, dir), &st) == 0 &&
	       st.st_dev == in->file->st.st_dev;
}

/* Return what this rank has seen. If rank 0 scatters the input, other ranks wait for it while they
 * read, so only their sorting counts, and a slow rank has requested less. Rank 0 serves them, which
 * shows no speed. */
static sighting adapt_sighting(const job *j)
{
	const rank_env *env = &j->env;
	const rank_result *r = env->stats;
	const uint64_t n = sorted_share_read(&j->data);
	const double bytes = (double)n * env->o->lay.record_bytes;
	const bool scatters = env_scatters(env);
	rates expected = r->rate;
	sighting s = { .held = n, .same_disk = same_disk(j) };
	expected.disk_s = expected.input_s = 0;
	if (scatters) /* only the sort is timed */
		expected.copy_s = expected.file_s = 0;
	s.expected_s = plan_read_s(j, &expected, n);
	if (scatters && env->c->rank == 0)
		s.expected_s = 0;
	const double threads = scatters ? 1 : j->cpus.threads;
	for (int k = 0; k < SIGHT_PARTS; k++)
		s.busy_s[k] = speed_history_last_s(&j->speeds, ldexp(1, -k)) / threads;
	const double read_s = r->phase_s[PH_READ];
	if (!scatters && r->rate.input_s > 0 && bytes > 0 && s.busy_s[0] < DISK_BUSY * read_s)
		s.input_s = read_s / bytes;
	return s;
}

/* Note the rank that contradicts its measured speed most. */
static void note_contradiction(job *j, const double *slower)
{
	rank_env *env = &j->env;
	size_t worst = 0;
	for (size_t i = 1; i < (size_t)env->c->size; i++)
		if (fabs(log(slower[i])) > fabs(log(slower[worst])))
			worst = i;
	if (j->shares.measured && !env->note.code && fabs(log(slower[worst])) > log(ALIKE))
		err_set(&env->note, ST_REFUSED,
			"rank %zu worked at %.2g times its measured speed while it read", worst,
			1 / slower[worst]);
}

/* Arrays of one call, in one allocation. `slower` is on all ranks, the others on rank 0. */
typedef struct adapting {
	double *slower; /* [size] */
	double *link_s; /* [p] */
	sighting *seen; /* [p] */
	rates *now;     /* [p] */
} adapting;

/* At rank 0: plan with the sightings of all ranks. */
static status adapt_at_root(job *j, const adapting *a, bool links, prospect *is)
{
	rank_env *env = &j->env;
	const rank_speeds *g = &j->speeds_of;
	bound_ranks b = plan_bound_ranks(j);
	b.in_fixed = true;
	for (size_t i = 0; i < g->p; i++)
		a->now[i].link_s = links ? a->link_s[i] : b.rate[i].link_s;
	const status rc =
		adapt_plan(&b, a->seen, j->shares.out, a->now, a->slower, j->next.out, is, &env->e);
	if (rc == ST_OK)
		note_contradiction(j, a->slower);
	return rc;
}

/* Let rank 0 plan, then vote: if one rank has no room, all keep their shares. */
static status adapt_together(job *j, const adapting *a)
{
	rank_env *env = &j->env;
	comm *c = env->c;
	rank_result *r = env->stats;
	const share_plan *s = &j->shares;
	share_plan *next = &j->next;
	const size_t p = (size_t)c->size;
	const bool links = j->links_measured;
	struct {
		double gain;
		uint64_t worth;
	} found = { 0, 0 };
	const sighting mine = adapt_sighting(j);
	status rc = comm_gather(c, &mine, a->seen, sizeof mine, 0);
	if (rc == ST_OK && links)
		rc = link_rates_measure(env, &j->speeds_of, s, a->link_s);
	if (rc == ST_OK && c->rank == 0) {
		prospect is;
		rc = adapt_at_root(j, a, links, &is);
		found.gain = is.gain;
		found.worth = is.worth;
	}
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_bcast(c, a->slower, p * sizeof *a->slower, 0);
	if (rc == ST_OK)
		rc = comm_bcast(c, next->out, p * sizeof *next->out, 0);
	if (rc == ST_OK)
		rc = comm_bcast(c, &found, sizeof found, 0);
	if (rc == ST_OK)
		rc = comm_agree(c, share_plan_check(env, s->records, next->out,
						    j->files.in.is_stream, "writing"));
	if (rc != ST_OK)
		return rc;
	const uint64_t own = own_share(env, next->out);
	r->planned_out_before = r->planned_out;
	r->speed_seen = s->speed[c->rank] / a->slower[c->rank];
	r->adapt_gain = found.gain;
	r->adapt_state = found.worth ? ADAPT_CHANGED : ADAPT_KEPT;
	/* ranks of one host may share its disk: require room for the same amount of each */
	uint64_t bytes;
	const bool room =
		own <= own_share(env, s->out) ||
		(!__builtin_mul_overflow(
			 own, (uint64_t)env->o->lay.record_bytes * j->cpus.ranks_here, &bytes) &&
		 output_has_room(&j->files.out, bytes) && memory_plan_holds(j, own));
	if (found.worth && comm_agree(c, room ? ST_OK : ST_REFUSED) != ST_OK)
		r->adapt_state = ADAPT_NO_ROOM;
	if (r->adapt_state == ADAPT_CHANGED)
		r->planned_out = own;
	else
		memcpy(next->out, s->out, p * sizeof *s->out);
	share_plan_sum_out(env, next);
	return atomic_load(&c->broken) ? ST_PEER : ST_OK;
}

status phase_adapt(job *j)
{
	rank_env *env = &j->env;
	const size_t size = (size_t)env->c->size, p = j->speeds_of.p;
	adapting a = { .slower = mem_array(
			       &env->m, 1,
			       size * sizeof(double) +
				       p * (sizeof(double) + sizeof(sighting) + sizeof(rates)),
			       "speeds", &env->e) };
	status rc = comm_agree(env->c, a.slower ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		a.link_s = a.slower + size;
		a.seen = (void *)(a.link_s + p);
		a.now = (void *)(a.seen + p);
		memset(a.slower, 0, (size + p) * sizeof(double));
		rc = job_replan(j);
	}
	if (rc == ST_OK)
		rc = adapt_together(j, &a);
	mem_free(&env->m, a.slower);
	return rc;
}

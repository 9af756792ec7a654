/* SPDX-License-Identifier: GPL-3.0-or-later */
/* relax.c - real shares of affine costs with startups, exactly: units by time are straight
 * lines between corners, but neither convex nor concave, as a processor may take nothing and save
 * its startup. With v of the time left behind its startup, processor i takes (v - r)/b and leaves r
 * to those after it: the most units are v/b + max K(r), K(r) = F(r) - r/b, over a window of r whose
 * ends move right with v.
 *
 * What is computed must not be below the truth by more than is known, as plans are ruled out by it.
 * Errors of times, within `late`, are those of plans that may end so much later, as all of a plan
 * can be put off. Errors of units are within `lost`. The window is wider than the true one by more
 * than the rounding of its end, as a little time is many units where b is small. Lines between
 * corners that are not there any more lie above them.
 *
 * Curves are computed only over the times that a plan of all units by the end can meet, because
 * most corners are elsewhere. Without startups the processors from i on take rate_i units per unit
 * of time: rate_i = max(rate_(i+1), (a rate_(i+1) + 1)/(a + b)). So rate_i u bounds the units of a
 * time u. A plan in which processor i takes x units loses rate_i u - x - rate_(i+1) (u - startup -
 * b x) >= 0 of this bound, and the losses of all processors together are at most rate_0 end - n. If
 * rate_(i+1) b < 1, a processor that takes less than u/(a + b), the most it can, leaves at most
 * b/(1 - rate_(i+1) b) more time for each unit lost. May not touch: whole numbers. Costs O(corners)
 * for each processor. */
#include "relax.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATE_STEP (16 * DBL_EPSILON) /* of all time: the rounding of one processor's times */

struct corner {
	double t, units;
};

/* Units by time from the first corner on, to the last; before there is no plan. */
struct curve {
	struct corner *at;
	size_t n, room;
};

struct span {
	double from, to;
};

struct relaxation {
	struct scatter *sc;
	double end, late, lost;
	struct span *left;   /* p + 1: the times that a plan can leave to each and those after */
	struct curve *later; /* p + 1: of the processors from each on; the last of none */
	struct curve taking, risen; /* scratch */
	size_t *queue;              /* scratch: as many as corners */
	double *event;              /* scratch: twice as many */
	size_t room;                /* of both */
};

static bool push(struct curve *c, double t, double units)
{
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct corner *at = realloc(c->at, room * sizeof *at);
		if (!at)
			return false;
		c->at = at;
		c->room = room;
	}
	c->at[c->n++] = (struct corner){ t, units };
	return true;
}

/* A corner more; one before it that lies on the line, but for rounding, goes, and the line rises to
 * where it was. */
static bool bend(struct curve *c, double t, double units)
{
	if (c->n > 0 && t <= c->at[c->n - 1].t) {
		c->at[c->n - 1].units = max_double(c->at[c->n - 1].units, units);
		return true;
	}
	if (c->n > 1) {
		struct corner *p = &c->at[c->n - 2], *q = &c->at[c->n - 1];
		double on = p->units + (units - p->units) * ((q->t - p->t) / (t - p->t));
		if (fabs(on - q->units) <= 1e-13 * units) {
			double gap = max_double(0, q->units - on);
			p->units += gap;
			units += gap;
			c->n--;
		}
	}
	return push(c, t, units);
}

/* The last corner at or before t, from k on. */
static size_t corner_at(const struct curve *c, double t, size_t k)
{
	while (k + 1 < c->n && c->at[k + 1].t <= t)
		k++;
	return k;
}

static double between(const struct curve *c, double t, size_t k)
{
	const struct corner *p = &c->at[k], *q = p + 1;
	if (k + 1 >= c->n || t <= p->t)
		return p->units;
	if (t >= q->t)
		return q->units;
	return p->units + (q->units - p->units) * ((t - p->t) / (q->t - p->t));
}

static double units_by(const struct curve *c, double t)
{
	size_t lo = 0, hi = c->n;

	if (c->n == 0 || t < c->at[0].t)
		return -INFINITY;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (c->at[mid].t <= t)
			lo = mid;
		else
			hi = mid;
	}
	return between(c, t, lo);
}

/* The upper envelope of straight lines from y0[] at t0 to y1[] at t1, from where the curve ends. */
static bool envelope(struct curve *out, double t0, double t1, const double *y0, const double *y1,
		     size_t lines)
{
	double t[5] = { t0, t1 };
	size_t n = 2;

	for (size_t i = 0; i < lines; i++)
		for (size_t j = 0; j < i; j++) {
			double d0 = y0[i] - y0[j], d1 = y1[i] - y1[j];
			if (d0 * d1 < 0)
				t[n++] = t0 + (t1 - t0) * (d0 / (d0 - d1));
		}
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && t[j] < t[j - 1]; j--) {
			double swap = t[j];
			t[j] = t[j - 1];
			t[j - 1] = swap;
		}
	for (size_t k = 0; k < n; k++) {
		double most = -INFINITY, at = t1 > t0 ? (t[k] - t0) / (t1 - t0) : 0;
		for (size_t i = 0; i < lines; i++)
			if (isfinite(y0[i]))
				most = max_double(most,
						  at < 1 ? y0[i] + (y1[i] - y0[i]) * at : y1[i]);
		if (!bend(out, t[k], most))
			return false;
	}
	return true;
}

/* The larger of two curves, over the span. */
static bool larger_of(const struct curve *x, const struct curve *y, struct span over,
		      struct curve *out)
{
	size_t i = 0, j = 0;
	double t = INFINITY, next;

	out->n = 0;
	if (x->n > 0)
		t = x->at[0].t;
	if (y->n > 0)
		t = min_double(t, y->at[0].t);
	for (t = max_double(t, over.from); t < over.to; t = next) {
		next = INFINITY;
		while (i < x->n && x->at[i].t <= t)
			i++;
		while (j < y->n && y->at[j].t <= t)
			j++;
		if (i < x->n)
			next = x->at[i].t;
		if (j < y->n)
			next = min_double(next, y->at[j].t);
		if (next == INFINITY)
			return true;
		next = min_double(next, over.to);
		double y0[2] = { i ? between(x, t, i - 1) : -INFINITY,
				 j ? between(y, t, j - 1) : -INFINITY };
		double y1[2] = { i ? between(x, next, i - 1) : -INFINITY,
				 j ? between(y, next, j - 1) : -INFINITY };
		if (!envelope(out, t, next, y0, y1, 2))
			return false;
	}
	return true;
}

/* What a processor makes of a curve: a startup that shifts it, b for each unit on the port, and the
 * least that it must leave: lean v + least, which is low by up to twice the margin. */
struct step {
	double startup, b, lean, least, from, to, margin; /* from, to: v */
};

/* More than the rounding of lean v + least. */
static void widen(struct step *s, double end)
{
	s->margin = 8 * DBL_EPSILON * (s->lean * end + fabs(s->least));
	s->least -= 2 * s->margin;
}

/* What one step from a curve may lose, the choice among its corners included. */
static void note_rounding(struct relaxation *rx, size_t corners, const struct curve *out)
{
	double most = out->n ? out->at[out->n - 1].units : 0;

	rx->late += LATE_STEP * rx->end;
	rx->lost += 8 * DBL_EPSILON * (double)(corners + 8) * most;
}

static bool scratch(struct relaxation *rx, size_t n)
{
	size_t room = 2 * n + 2;
	size_t *queue;
	double *event;

	if (room <= rx->room)
		return true;
	if ((queue = realloc(rx->queue, room * sizeof *queue)))
		rx->queue = queue;
	if ((event = realloc(rx->event, 2 * room * sizeof *event)))
		rx->event = event;
	rx->room = queue && event ? room : 0;
	return rx->room > 0;
}

static int by_value(const void *va, const void *vb)
{
	double a = *(const double *)va, b = *(const double *)vb;

	return (a > b) - (a < b);
}

/* The v at which an end of the window passes a corner. */
static size_t list_events(struct relaxation *rx, const struct curve *in, const struct step *s)
{
	size_t n = 0;

	rx->event[n++] = s->from;
	rx->event[n++] = s->to;
	for (size_t k = 0; k < in->n; k++) {
		double left = (in->at[k].t - s->least) / s->lean;
		if (in->at[k].t > s->from && in->at[k].t < s->to)
			rx->event[n++] = in->at[k].t;
		if (s->lean > 0 && left > s->from && left < s->to)
			rx->event[n++] = left;
	}
	qsort(rx->event, n, sizeof *rx->event, by_value);
	return n;
}

/* K(x) <= K(y), by differences, as r/b may be much larger than the units. */
static bool no_better(const struct corner *x, const struct corner *y, double per)
{
	return y->units - x->units >= (y->t - x->t) * per;
}

/* out(v + startup) = v/b + max of in(r) - r/b over the window, for b > 0. */
static bool slide(struct relaxation *rx, const struct curve *in, const struct step *s,
		  struct curve *out)
{
	size_t n, head = 0, tail = 0, add = 0, l = 0, r = 0;
	const double per = 1 / s->b, first = in->at[0].t;

	if (!scratch(rx, in->n))
		return false;
	n = list_events(rx, in, s);
	for (size_t e = 0; e + 1 < n; e++) {
		double v0 = rx->event[e], v1 = rx->event[e + 1];
		double l0 = max_double(first, s->lean * v0 + s->least),
		       l1 = max_double(first, s->lean * v1 + s->least);
		double y0[3], y1[3];
		size_t lines = 2;
		if (!(v1 > v0))
			continue;
		for (; add < in->n && in->at[add].t <= v0; add++) {
			while (tail > head &&
			       no_better(&in->at[rx->queue[tail - 1]], &in->at[add], per))
				tail--;
			rx->queue[tail++] = add;
		}
		while (head < tail && in->at[rx->queue[head]].t < l1 - s->margin)
			head++; /* it left at v0, or before */
		l = corner_at(in, (l0 + l1) / 2,
			      l); /* the ends may miss a corner by their rounding */
		r = corner_at(in, (v0 + v1) / 2, r);
		y0[0] = between(in, l0, l) + (v0 - l0) * per;
		y1[0] = between(in, l1, l) + (v1 - l1) * per;
		y0[1] = between(in, v0, r);
		y1[1] = between(in, v1, r);
		if (head < tail) {
			const struct corner *q = &in->at[rx->queue[head]];
			y0[lines] = q->units + (v0 - q->t) * per;
			y1[lines++] = q->units + (v1 - q->t) * per;
		}
		if (!envelope(out, v0 + s->startup, v1 + s->startup, y0, y1, lines))
			return false;
	}
	return true;
}

/* The same where a unit takes the port no time: it takes all that it can by itself, v - least of
 * it in time a. */
static bool beside(const struct curve *in, const struct step *s, double offset, double rate,
		   struct curve *out)
{
	size_t k = corner_at(in, s->from, 0);

	for (double v = s->from;; v = in->at[++k].t) {
		if (v > s->to)
			v = s->to;
		if (!bend(out, v + s->startup, between(in, v, k) + offset + rate * v))
			return false;
		if (v >= s->to || k + 1 >= in->n)
			return true;
	}
}

/* Processor i before those of a curve, with its startup; each unit begins to count at the start. */
static bool put_before(struct relaxation *rx, size_t i, const struct curve *in, struct curve *out)
{
	const struct sc_cost *l = &rx->sc->link[i], *c = &rx->sc->comp[i];
	double a = c->per_item, b = l->per_item, mu = c->startup;
	struct step s = {
		l->startup, b, a / (a + b), b * mu / (a + b), 0, rx->left[i].to - l->startup, 0
	};

	out->n = 0;
	widen(&s, rx->end);
	if (in->n == 0)
		return true;
	s.from = max_double(max_double(mu, in->at[0].t), rx->left[i].from - l->startup);
	if (s.from > s.to)
		return true;
	if (b > 0)
		return slide(rx, in, &s, out);
	return beside(in, &s, -mu / a, 1 / a, out);
}

/* F_i from F_(i+1): with its startup, or, where it has no minimum, without it. */
static bool one_more(struct relaxation *rx, size_t i)
{
	const struct curve *in = &rx->later[i + 1];
	struct curve none = { NULL, 0, 0 };

	if (!put_before(rx, i, in, &rx->taking) ||
	    !larger_of(rx->sc->comp[i].least ? &none : in, &rx->taking, rx->left[i], &rx->later[i]))
		return false;
	note_rounding(rx, in->n, &rx->later[i]);
	return true;
}

/* Whether what a processor does by the end, and what it leaves, are far from the largest double. */
static bool in_range(double a, double b, double end)
{
	return a + b > 0 && (b == 0 || end / b < 1e200) &&
	       (a == 0 || end / a * max_double(1, b) < 1e200);
}

double part_sc_relax_tolerance(const struct scatter *sc)
{
	return 4 * LATE_STEP * (double)(sc->p + 16);
}

/* The times that a plan of all units by the end can leave to the processors from each on. */
static bool set_left(struct relaxation *rx)
{
	const struct scatter *sc = rx->sc;
	const double tol = 4 * part_sc_relax_tolerance(sc), margin = tol * rx->end;
	double *rate = part_calloc(sc->p + 1, sizeof *rate);
	double lost, full = rx->end, per_lost = 0; /* time left at most: full + per_lost * lost */
	struct span left = { 0, rx->end };

	if (!rate)
		return false;
	for (size_t i = sc->p; i-- > 0;) {
		double a = sc->comp[i].per_item, b = sc->link[i].per_item;
		rate[i] = max_double(rate[i + 1], (a * rate[i + 1] + 1) / (a + b));
	}
	lost = max_double(0, rate[0] * rx->end - (double)sc->n) + tol * rate[0] * rx->end;
	left.from = rx->end - lost / rate[0];
	for (size_t i = 0; i < sc->p; i++) {
		double a = sc->comp[i].per_item, b = sc->link[i].per_item, l = sc->link[i].startup;
		double gain = 1 - rate[i + 1] * b, most;
		rx->left[i] = (struct span){ max_double(0, left.from - margin),
					     min_double(rx->end, left.to + margin) };
		most = max_double(0, left.from - l - sc->comp[i].startup) / (a + b);
		if (gain < 0)
			most = min_double(most, lost / -gain);
		left.from -= l + b * most;
		if (gain > 0) {
			full *= a / (a + b);
			per_lost = max_double(per_lost * (a / (a + b)), b / gain);
		}
		left.to = min_double(left.to, full + per_lost * lost);
	}
	rx->left[sc->p] = (struct span){ 0, rx->end };
	free(rate);
	return true;
}

struct relaxation *part_sc_relax(struct scatter *sc, double end)
{
	struct relaxation *rx = part_calloc(1, sizeof *rx);
	bool ok = sc->affine;

	for (size_t i = 0; ok && i < sc->p; i++)
		ok = in_range(sc->comp[i].per_item, sc->link[i].per_item, end);
	if (!ok || !rx) {
		free(rx);
		return NULL;
	}
	rx->sc = sc;
	rx->end = end;
	rx->later = part_calloc(sc->p + 1, sizeof *rx->later);
	rx->left = part_calloc(sc->p + 1, sizeof *rx->left);
	ok = rx->later && rx->left && set_left(rx) && push(&rx->later[sc->p], 0, 0) &&
	     push(&rx->later[sc->p], end, 0);
	for (size_t i = sc->p; ok && i-- > 0;)
		ok = one_more(rx, i) && !part_spend(&sc->budget, 16 * rx->later[i].n);
	if (ok)
		return rx;
	part_sc_relax_free(rx);
	return NULL;
}

void part_sc_relax_free(struct relaxation *rx)
{
	if (!rx)
		return;
	for (size_t i = 0; rx->later && i <= rx->sc->p; i++)
		free(rx->later[i].at);
	free(rx->later);
	free(rx->left);
	free(rx->taking.at);
	free(rx->risen.at);
	free(rx->queue);
	free(rx->event);
	free(rx);
}

/* What processor i leaves to those after it when u is left before it; u if it takes nothing. */
static double best_rest(const struct relaxation *rx, size_t i, double u)
{
	const struct sc_cost *l = &rx->sc->link[i], *c = &rx->sc->comp[i];
	const struct curve *in = &rx->later[i + 1];
	double a = c->per_item, b = l->per_item, v = u - l->startup, least, best, rest;

	if (v < c->startup || units_by(in, v) == -INFINITY)
		return u;
	least = max_double(in->at[0].t, (a * v + b * c->startup) / (a + b));
	if (b == 0)
		return v;
	rest = least;
	best = units_by(in, least) - least / b;
	for (size_t k = 0; k < in->n && in->at[k].t <= v; k++)
		if (in->at[k].t > least && in->at[k].units - in->at[k].t / b > best) {
			best = in->at[k].units - in->at[k].t / b;
			rest = in->at[k].t;
		}
	if (rx->sc->comp[i].least == 0 && units_by(in, u) >= best + v / b)
		return u;
	return rest;
}

bool part_sc_relax_plan(struct relaxation *rx, double *time, double *real)
{
	const struct scatter *sc = rx->sc;
	const struct curve *all = &rx->later[0];
	double left = (double)sc->n, need = left - rx->lost, u;
	size_t k = 0;

	while (k < all->n && all->at[k].units < need)
		k++;
	if (k == all->n)
		return false;
	u = all->at[k].t;
	if (k > 0 && all->at[k].units > all->at[k - 1].units)
		u -= (all->at[k].t - all->at[k - 1].t) *
		     ((all->at[k].units - need) / (all->at[k].units - all->at[k - 1].units));
	*time = u - rx->late;
	for (size_t i = 0; i < sc->p; i++) {
		const struct sc_cost *l = &sc->link[i], *c = &sc->comp[i];
		double r = best_rest(rx, i, u), v = u - l->startup;
		real[i] = 0;
		if (r < u || sc->comp[i].least)
			real[i] = l->per_item > 0 ? (v - r) / l->per_item
						  : (v - c->startup) / c->per_item;
		real[i] = min_double(left, max_double(0, real[i]));
		left -= real[i];
		u = r;
	}
	real[sc->p - 1] += left;
	return true;
}

/* What a curve has reached at some time is not lost later. */
static bool rise(const struct curve *in, double end, struct curve *out)
{
	double most = -INFINITY;

	out->n = 0;
	for (size_t k = 0; k < in->n; k++) {
		const struct corner *q = &in->at[k], *p = q - 1;
		if (q->units < most)
			continue;
		if (k > 0 && p->units < most &&
		    !bend(out, p->t + (q->t - p->t) * ((most - p->units) / (q->units - p->units)),
			  most))
			return false;
		most = q->units;
		if (!bend(out, q->t, most))
			return false;
	}
	return in->n == 0 || bend(out, end, most);
}

/* Units that the processors up to i can take when they use the port for no more than t and end by
 * upper, from those of the ones before it. */
static bool one_later(struct relaxation *rx, size_t i, double upper, struct curve *sent)
{
	const struct sc_cost *l = &rx->sc->link[i], *c = &rx->sc->comp[i];
	double a = c->per_item, b = l->per_item, to = upper - l->startup - c->startup;
	struct step s = { l->startup, b, a > 0 ? 1 + b / a : 0, a > 0 ? -b * to / a : 0, 0, to, 0 };
	struct curve none = { NULL, 0, 0 };
	const struct span over = { max_double(0, upper - rx->left[i + 1].to),
				   upper - rx->left[i + 1].from };
	size_t corners = sent->n;

	rx->taking.n = rx->risen.n = 0;
	widen(&s, upper);
	s.from = sent->n ? max_double(sent->at[0].t, over.from - l->startup) : INFINITY;
	s.to = min_double(to, over.to - l->startup);
	if (s.from <= s.to && !(b > 0 ? slide(rx, sent, &s, &rx->taking)
				      : beside(sent, &s, to / a, -1 / a, &rx->taking)))
		return false;
	if (!rise(&rx->taking, over.to, &rx->risen) ||
	    !larger_of(c->least ? &none : sent, &rx->risen, over, &rx->taking) ||
	    !rise(&rx->taking, over.to, sent))
		return false;
	note_rounding(rx, corners, sent);
	return true;
}

/* The amounts before a processor, where those before it and it and those after it take n together.
 */
static bool meet(struct relaxation *rx, const struct curve *sent, const struct curve *later_on,
		 double upper, struct interval *out)
{
	double n = (double)rx->sc->n, need = n - rx->lost, lo = INFINITY, hi = -INFINITY;
	size_t count = 0;

	if (sent->n == 0 || later_on->n == 0 || !scratch(rx, sent->n + later_on->n))
		return false;
	for (size_t k = 0; k < sent->n; k++)
		rx->event[count++] = sent->at[k].t;
	for (size_t k = 0; k < later_on->n; k++)
		rx->event[count++] = upper - later_on->at[k].t;
	qsort(rx->event, count, sizeof *rx->event, by_value);
	for (size_t e = 0; e + 1 < count; e++) {
		double t0 = rx->event[e], t1 = rx->event[e + 1], first = later_on->at[0].t;
		double last = upper - first;
		if (t1 < sent->at[0].t || t0 > last || t0 < 0)
			continue;
		double s0 = units_by(sent, max_double(t0, sent->at[0].t)), s1 = units_by(sent, t1);
		double f0 = units_by(later_on, max_double(first, upper - t0));
		double f1 = units_by(later_on, max_double(first, upper - t1));
		double d0 = s0 + f0 - need, d1 = s1 + f1 - need;
		if (d0 < 0 && d1 < 0)
			continue;
		if (d0 < 0)
			f0 += (f1 - f0) * (d0 / (d0 - d1));
		else if (d1 < 0)
			s1 = s0 + (s1 - s0) * (d0 / (d0 - d1));
		lo = min_double(lo, need - s1);
		hi = max_double(hi, f0);
	}
	hi += rx->lost;
	if (!(lo <= hi))
		return false;
	lo = max_double(0, floor(lo));
	hi = min_double(n, ceil(hi));
	*out = (struct interval){ (uint64_t)lo, min_u64((uint64_t)hi, rx->sc->n) };
	return true;
}

bool part_sc_relax_amounts(struct relaxation *rx, double upper, struct interval *amounts)
{
	struct curve sent = { NULL, 0, 0 };
	bool ok = push(&sent, 0, 0) && push(&sent, upper, 0);

	amounts[0] = (struct interval){ rx->sc->n, rx->sc->n };
	for (size_t i = 0; ok && i + 1 < rx->sc->p; i++)
		ok = one_later(rx, i, upper, &sent) && !part_spend(&rx->sc->budget, 16 * sent.n) &&
		     meet(rx, &sent, &rx->later[i + 1], upper, &amounts[i + 1]);
	free(sent.at);
	return ok;
}

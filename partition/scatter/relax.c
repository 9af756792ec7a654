/* SPDX-License-Identifier: GPL-3.0-or-later */
/* relax.c - exact real shares for affine costs with startups. The curve F_i(t) is the most units
 * that processor i and those after it can do in time t. It consists of straight lines between
 * corners. It is neither convex nor concave, because a processor may take nothing and save its
 * startup. Let a and b be the times of one unit for computation and link. If processor i has the
 * time v after its link's startup and leaves the time r to those after it, it takes (v - r)/b
 * units. So the most units are v/b + max of K(r) = F_(i+1)(r) - r/b, over a window of r. Both ends
 * of the window move right as v grows.
 *
 * Plans are excluded because of these curves, so their rounding errors must be bounded. Errors of
 * times are at most `late`: they are treated like a delay of the whole plan by `late`. Errors of
 * units are at most `lost`. The window is widened by more than the rounding of its end. Otherwise
 * units would be lost, because a short time is worth many units if b is small. When a corner is
 * dropped, the line that replaces it lies above it.
 *
 * Curves are computed only for the times that occur in plans of all units by the end, because most
 * corners are at other times. Without startups the processors from i on do rate_i units per unit of
 * time: rate_i = max(rate_(i+1), (a rate_(i+1) + 1)/(a + b)). So in time u they do at most rate_i u
 * units. If processor i takes x units, its loss is the difference to this bound: rate_i u - x -
 * rate_(i+1) (u - startup - b x) >= 0. The losses of all processors sum to at most rate_0 end - n.
 * If processor i takes fewer units than u/(a + b), the most that it can, it leaves more time. If
 * rate_(i+1) b < 1, this is at most b/(1 - rate_(i+1) b) for each unit of loss. Must not contain:
 * whole numbers. Takes O(corners) time for each processor. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scatter.h"

/* The rounding error of the times of one processor, as a fraction of the end. */
#define LATE_STEP (16 * DBL_EPSILON)

/* --------------------------------------------------------------------------------- the curves */

typedef struct corner {
	double t, units;
} corner;

/* Units as a function of time, from the first corner to the last. Before the first corner no plan
 * exists. */
typedef struct curve {
	corner *at;
	size_t n, room;
} curve;

typedef struct time_span {
	double from, to;
} time_span;

static bool curve_push(curve *c, double t, double units)
{
	if (c->n == c->room) {
		const size_t room = c->room ? 2 * c->room : 64;
		corner *const at = realloc(c->at, room * sizeof *at);
		if (!at)
			return false;
		c->at = at;
		c->room = room;
	}
	c->at[c->n++] = (corner){ t, units };
	return true;
}

/* Append a corner. If the last corner lies on the line from its predecessor to the new corner,
 * except for rounding, drop it. Raise the line so that the dropped corner is not above it. */
static bool curve_bend(curve *c, double t, double units)
{
	if (c->n > 0 && t <= c->at[c->n - 1].t) {
		c->at[c->n - 1].units = max_double(c->at[c->n - 1].units, units);
		return true;
	}
	if (c->n > 1) {
		corner *const p = &c->at[c->n - 2], *const q = &c->at[c->n - 1];
		const double on = p->units + (units - p->units) * ((q->t - p->t) / (t - p->t));
		if (fabs(on - q->units) <= 1e-13 * units) {
			const double gap = max_double(0, q->units - on);
			p->units += gap;
			units += gap;
			c->n--;
		}
	}
	return curve_push(c, t, units);
}

/* Return the index of the last corner at or before t; k is a corner from which to search
 * forwards. */
static size_t corner_at(const curve *c, double t, size_t k)
{
	while (k + 1 < c->n && c->at[k + 1].t <= t)
		k++;
	return k;
}

/* Return the units at time t, interpolated between corners k and k + 1. */
static double units_between(const curve *c, double t, size_t k)
{
	const corner *const p = &c->at[k], *const q = p + 1;
	if (k + 1 >= c->n || t <= p->t)
		return p->units;
	if (t >= q->t)
		return q->units;
	return p->units + (q->units - p->units) * ((t - p->t) / (q->t - p->t));
}

/* Return the units at time t, or -INFINITY before the first corner. */
static double units_by(const curve *c, double t)
{
	size_t lo = 0, hi = c->n;
	if (c->n == 0 || t < c->at[0].t)
		return -INFINITY;
	while (hi - lo > 1) {
		const size_t mid = lo + (hi - lo) / 2;
		if (c->at[mid].t <= t)
			lo = mid;
		else
			hi = mid;
	}
	return units_between(c, t, lo);
}

/* Append the maximum of straight lines; line i goes from y0[i] at t0 to y1[i] at t1. */
static bool append_envelope(curve *out, double t0, double t1, const double *y0, const double *y1,
			    size_t lines)
{
	double t[5] = { t0, t1 };
	size_t n = 2;
	for (size_t i = 0; i < lines; i++)
		for (size_t j = 0; j < i; j++) {
			const double d0 = y0[i] - y0[j], d1 = y1[i] - y1[j];
			if (d0 * d1 < 0)
				t[n++] = t0 + (t1 - t0) * (d0 / (d0 - d1));
		}
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && t[j] < t[j - 1]; j--) {
			const double swap = t[j];
			t[j] = t[j - 1];
			t[j - 1] = swap;
		}
	for (size_t k = 0; k < n; k++) {
		const double at = t1 > t0 ? (t[k] - t0) / (t1 - t0) : 0;
		double most = -INFINITY;
		for (size_t i = 0; i < lines; i++)
			if (isfinite(y0[i]))
				most = max_double(most,
						  at < 1 ? y0[i] + (y1[i] - y0[i]) * at : y1[i]);
		if (!curve_bend(out, t[k], most))
			return false;
	}
	return true;
}

/* Set out to the maximum of two curves over the time span. */
static bool max_curve(const curve *x, const curve *y, time_span over, curve *out)
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
		const double y0[2] = { i ? units_between(x, t, i - 1) : -INFINITY,
				       j ? units_between(y, t, j - 1) : -INFINITY };
		const double y1[2] = { i ? units_between(x, next, i - 1) : -INFINITY,
				       j ? units_between(y, next, j - 1) : -INFINITY };
		if (!append_envelope(out, t, next, y0, y1, 2))
			return false;
	}
	return true;
}

/* Set out to the running maximum of in, up to time end: units reached at some time are not lost
 * later. */
static bool rising_curve(const curve *in, double end, curve *out)
{
	double most = -INFINITY;
	out->n = 0;
	for (size_t k = 0; k < in->n; k++) {
		const corner *const q = &in->at[k], *const p = q - 1;
		if (q->units < most)
			continue;
		if (k > 0 && p->units < most) {
			const double part = (most - p->units) / (q->units - p->units);
			if (!curve_bend(out, p->t + (q->t - p->t) * part, most))
				return false;
		}
		most = q->units;
		if (!curve_bend(out, q->t, most))
			return false;
	}
	return in->n == 0 || curve_bend(out, end, most);
}

/* --------------------------------------------------------------- one processor more on a curve */

struct sc_relaxation {
	sc_problem *sc;
	double end, late, lost;
	time_span *left;     /* p + 1: times that a plan can leave to the processors from i on */
	curve *later;        /* p + 1: F_i; the last is of no processors */
	curve taking, risen; /* scratch */
	size_t *queue;       /* scratch: an entry for each corner */
	double *event;       /* scratch: two entries for each corner */
	size_t room;         /* entries of queue allocated */
};

/* How a processor changes a curve: its startup shifts the curve, and each unit takes b on the port.
 * The processor must leave at least the time lean v + least, because its computation must end, too.
 * This is up to two margins too low. */
typedef struct relax_step {
	double startup, b, lean, least, from, to, margin; /* from, to: range of v */
} relax_step;

/* Widen the window by more than the rounding of lean v + least. */
static void widen_window(relax_step *s, double end)
{
	s->margin = 8 * DBL_EPSILON * (s->lean * end + fabs(s->least));
	s->least -= 2 * s->margin;
}

/* Add to `late` and `lost` the rounding errors of one step from a curve with that number of
 * corners. */
static void record_rounding(sc_relaxation *rx, size_t corners, const curve *out)
{
	const double most = out->n ? out->at[out->n - 1].units : 0;
	rx->late += LATE_STEP * rx->end;
	rx->lost += 8 * DBL_EPSILON * (double)(corners + 8) * most;
}

static bool make_scratch(sc_relaxation *rx, size_t n)
{
	const size_t room = 2 * n + 2;
	if (room <= rx->room)
		return true;
	size_t *const queue = realloc(rx->queue, room * sizeof *queue);
	if (queue)
		rx->queue = queue;
	double *const event = realloc(rx->event, 2 * room * sizeof *event);
	if (event)
		rx->event = event;
	rx->room = queue && event ? room : 0;
	return rx->room > 0;
}

static int compare_doubles(const void *va, const void *vb)
{
	const double a = *(const double *)va, b = *(const double *)vb;
	return (a > b) - (a < b);
}

/* List in rx->event, sorted, the v at which an end of the window passes a corner. Return their
 * number. */
static size_t list_events(sc_relaxation *rx, const curve *in, const relax_step *s)
{
	size_t n = 0;
	rx->event[n++] = s->from;
	rx->event[n++] = s->to;
	for (size_t k = 0; k < in->n; k++) {
		const double left = (in->at[k].t - s->least) / s->lean;
		if (in->at[k].t > s->from && in->at[k].t < s->to)
			rx->event[n++] = in->at[k].t;
		if (s->lean > 0 && left > s->from && left < s->to)
			rx->event[n++] = left;
	}
	qsort(rx->event, n, sizeof *rx->event, compare_doubles);
	return n;
}

/* Set out(v + startup) = v/b + max of in(r) - r/b over the window of r, for b > 0. */
static bool step_on_port(sc_relaxation *rx, const curve *in, const relax_step *s, curve *out)
{
	const double per = 1 / s->b, first = in->at[0].t;
	size_t head = 0, tail = 0, add = 0, l = 0, r = 0;
	if (!make_scratch(rx, in->n))
		return false;
	const size_t n = list_events(rx, in, s);
	for (size_t e = 0; e + 1 < n; e++) {
		const double v0 = rx->event[e], v1 = rx->event[e + 1];
		const double l0 = max_double(first, s->lean * v0 + s->least);
		const double l1 = max_double(first, s->lean * v1 + s->least);
		size_t lines = 2;
		if (!(v1 > v0))
			continue;
		for (; add < in->n && in->at[add].t <= v0; add++) {
			const corner *const y = &in->at[add];
			while (tail > head) {
				const corner *const x = &in->at[rx->queue[tail - 1]];
				/* Compare K by differences, as r/b may be much larger than units.
				 * The queue has only corners of this curve, which are all set.
				 * NOLINTNEXTLINE(*-core.UndefinedBinaryOperatorResult) */
				if (!(y->units - x->units >= (y->t - x->t) * per))
					break;
				tail--;
			}
			rx->queue[tail++] = add;
		}
		while (head < tail && in->at[rx->queue[head]].t < l1 - s->margin)
			head++; /* not in the window after v0 */
		/* Use the midpoints, because rounding may put an end on the wrong side of a corner.
		 */
		l = corner_at(in, (l0 + l1) / 2, l);
		r = corner_at(in, (v0 + v1) / 2, r);
		double y0[3] = { units_between(in, l0, l) + (v0 - l0) * per,
				 units_between(in, v0, r) };
		double y1[3] = { units_between(in, l1, l) + (v1 - l1) * per,
				 units_between(in, v1, r) };
		if (head < tail) {
			const corner *const q = &in->at[rx->queue[head]];
			y0[lines] = q->units + (v0 - q->t) * per;
			y1[lines++] = q->units + (v1 - q->t) * per;
		}
		if (!append_envelope(out, v0 + s->startup, v1 + s->startup, y0, y1, lines))
			return false;
	}
	return true;
}

/* Set out if a unit takes no time on the port. Then the processor takes all the units that it can
 * compute, offset + rate v, and leaves all of v. */
static bool step_off_port(const curve *in, const relax_step *s, double offset, double rate,
			  curve *out)
{
	size_t k = corner_at(in, s->from, 0);
	for (double v = s->from;; v = in->at[++k].t) {
		v = min_double(v, s->to);
		if (!curve_bend(out, v + s->startup, units_between(in, v, k) + offset + rate * v))
			return false;
		if (v >= s->to || k + 1 >= in->n)
			return true;
	}
}

/* ----------------------------------------------------------- the curves, last processor first */

/* Compute F_i from F_(i+1): processor i takes units and pays its startup or, if it has no minimum,
 * takes nothing. */
static bool add_before(sc_relaxation *rx, size_t i)
{
	const sc_cost *const link = &rx->sc->link[i], *const comp = &rx->sc->comp[i];
	const double a = comp->per_item, b = link->per_item, mu = comp->startup;
	const curve none = { NULL, 0, 0 }, *const in = &rx->later[i + 1];
	relax_step s = { link->startup,
			 b,
			 a / (a + b),
			 b * mu / (a + b),
			 0,
			 rx->left[i].to - link->startup,
			 0 };
	rx->taking.n = 0;
	widen_window(&s, rx->end);
	if (in->n > 0) {
		s.from = max_double(max_double(mu, in->at[0].t), rx->left[i].from - link->startup);
		if (s.from <= s.to && !(b > 0 ? step_on_port(rx, in, &s, &rx->taking)
					      : step_off_port(in, &s, -mu / a, 1 / a, &rx->taking)))
			return false;
	}
	if (!max_curve(comp->least ? &none : in, &rx->taking, rx->left[i], &rx->later[i]))
		return false;
	record_rounding(rx, in->n, &rx->later[i]);
	return true;
}

double part_sc_relax_tolerance(const sc_problem *sc)
{
	return 4 * LATE_STEP * (double)(sc->p + 16);
}

/* Set rx->left[i] to the times that a plan of all units by the end can leave to the processors from
 * i on. */
static bool set_left(sc_relaxation *rx)
{
	const sc_problem *const sc = rx->sc;
	const double tol = 4 * part_sc_relax_tolerance(sc), margin = tol * rx->end;
	double *const rate = part_calloc(sc->p + 1, sizeof *rate);
	double full = rx->end, per_lost = 0; /* at most full + per_lost * lost is left */
	time_span left = { 0, rx->end };
	if (!rate)
		return false;
	for (size_t i = sc->p; i-- > 0;) {
		const double a = sc->comp[i].per_item, b = sc->link[i].per_item;
		rate[i] = max_double(rate[i + 1], (a * rate[i + 1] + 1) / (a + b));
	}
	const double lost =
		max_double(0, rate[0] * rx->end - (double)sc->n) + tol * rate[0] * rx->end;
	left.from = rx->end - lost / rate[0];
	for (size_t i = 0; i < sc->p; i++) {
		const double a = sc->comp[i].per_item, b = sc->link[i].per_item;
		const double startup = sc->link[i].startup, gain = 1 - rate[i + 1] * b;
		rx->left[i] = (time_span){ max_double(0, left.from - margin),
					   min_double(rx->end, left.to + margin) };
		double most = max_double(0, left.from - startup - sc->comp[i].startup) / (a + b);
		if (gain < 0)
			most = min_double(most, lost / -gain);
		left.from -= startup + b * most;
		if (gain > 0) {
			full *= a / (a + b);
			per_lost = max_double(per_lost * (a / (a + b)), b / gain);
		}
		left.to = min_double(left.to, full + per_lost * lost);
	}
	rx->left[sc->p] = (time_span){ 0, rx->end };
	free(rate);
	return true;
}

sc_relaxation *part_sc_relax(sc_problem *sc, double end)
{
	if (!sc->affine)
		return NULL;
	for (size_t i = 0; i < sc->p; i++) {
		/* The most units of i by the end must be far below the largest double. */
		const double a = sc->comp[i].per_item, b = sc->link[i].per_item;
		if (!(a + b > 0 && (b == 0 || end / b < 1e200) &&
		      (a == 0 || end / a * max_double(1, b) < 1e200)))
			return NULL;
	}
	sc_relaxation *const rx = part_calloc(1, sizeof *rx);
	if (!rx)
		return NULL;
	rx->sc = sc;
	rx->end = end;
	rx->later = part_calloc(sc->p + 1, sizeof *rx->later);
	rx->left = part_calloc(sc->p + 1, sizeof *rx->left);
	bool ok = rx->later && rx->left && set_left(rx) && curve_push(&rx->later[sc->p], 0, 0) &&
		  curve_push(&rx->later[sc->p], end, 0);
	for (size_t i = sc->p; ok && i-- > 0;)
		ok = add_before(rx, i) && !part_spend(&sc->budget, 16 * rx->later[i].n);
	if (ok)
		return rx;
	part_sc_relax_free(rx);
	return NULL;
}

void part_sc_relax_free(sc_relaxation *rx)
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

/* Return the time that processor i leaves to those after it in the best plan, if it has the time u.
 * If i takes nothing, this is u. */
static double best_left(const sc_relaxation *rx, size_t i, double u)
{
	const sc_cost *const l = &rx->sc->link[i], *const c = &rx->sc->comp[i];
	const curve *const in = &rx->later[i + 1];
	const double a = c->per_item, b = l->per_item, v = u - l->startup;
	if (v < c->startup || units_by(in, v) == -INFINITY)
		return u;
	const double least = max_double(in->at[0].t, (a * v + b * c->startup) / (a + b));
	if (b == 0)
		return v;
	double left = least, best = units_by(in, least) - least / b;
	for (size_t k = 0; k < in->n && in->at[k].t <= v; k++)
		if (in->at[k].t > least && in->at[k].units - in->at[k].t / b > best) {
			best = in->at[k].units - in->at[k].t / b;
			left = in->at[k].t;
		}
	if (c->least == 0 && units_by(in, u) >= best + v / b)
		return u;
	return left;
}

bool part_sc_relax_plan(sc_relaxation *rx, double *time, double *real)
{
	const sc_problem *const sc = rx->sc;
	const curve *const all = &rx->later[0];
	double left = (double)sc->n;
	const double need = left - rx->lost;
	size_t k = 0;
	while (k < all->n && all->at[k].units < need)
		k++;
	if (k == all->n)
		return false;
	double u = all->at[k].t;
	if (k > 0 && all->at[k].units > all->at[k - 1].units)
		u -= (all->at[k].t - all->at[k - 1].t) *
		     ((all->at[k].units - need) / (all->at[k].units - all->at[k - 1].units));
	*time = u - rx->late;
	for (size_t i = 0; i < sc->p; i++) {
		const sc_cost *const l = &sc->link[i], *const c = &sc->comp[i];
		const double r = best_left(rx, i, u), v = u - l->startup;
		real[i] = 0;
		if (r < u || c->least)
			real[i] = l->per_item > 0 ? (v - r) / l->per_item
						  : (v - c->startup) / c->per_item;
		real[i] = min_double(left, max_double(0, real[i]));
		left -= real[i];
		u = r;
	}
	real[sc->p - 1] += left;
	return true;
}

/* ----------------------------------------------------------------------------------- the amounts
 */

/* Update the curve `sent` from the processors before i to those up to i. It is the most units that
 * they can take if they use the port for at most t and end by upper. */
static bool add_after(sc_relaxation *rx, size_t i, double upper, curve *sent)
{
	const sc_cost *const l = &rx->sc->link[i], *const c = &rx->sc->comp[i];
	const double a = c->per_item, b = l->per_item, to = upper - l->startup - c->startup;
	const time_span over = { max_double(0, upper - rx->left[i + 1].to),
				 upper - rx->left[i + 1].from };
	const curve none = { NULL, 0, 0 };
	const size_t corners = sent->n;
	relax_step s = { l->startup, b, a > 0 ? 1 + b / a : 0, a > 0 ? -b * to / a : 0, 0, to, 0 };
	rx->taking.n = rx->risen.n = 0;
	widen_window(&s, upper);
	s.from = sent->n ? max_double(sent->at[0].t, over.from - l->startup) : INFINITY;
	s.to = min_double(to, over.to - l->startup);
	if (s.from <= s.to && !(b > 0 ? step_on_port(rx, sent, &s, &rx->taking)
				      : step_off_port(sent, &s, to / a, -1 / a, &rx->taking)))
		return false;
	if (!rising_curve(&rx->taking, over.to, &rx->risen) ||
	    !max_curve(c->least ? &none : sent, &rx->risen, over, &rx->taking) ||
	    !rising_curve(&rx->taking, over.to, sent))
		return false;
	record_rounding(rx, corners, sent);
	return true;
}

/* Find the range of amounts before a processor. The processors before it do `sent` units, it and
 * those after it do `later`; together they must do n units by upper. */
static bool relax_meeting(sc_relaxation *rx, const curve *sent, const curve *later, double upper,
			  sc_interval *out)
{
	const double n = (double)rx->sc->n, need = n - rx->lost;
	double lo = INFINITY, hi = -INFINITY;
	size_t count = 0;
	if (sent->n == 0 || later->n == 0 || !make_scratch(rx, sent->n + later->n))
		return false;
	const double first = later->at[0].t, last = upper - first;
	for (size_t k = 0; k < sent->n; k++)
		rx->event[count++] = sent->at[k].t;
	for (size_t k = 0; k < later->n; k++)
		rx->event[count++] = upper - later->at[k].t;
	qsort(rx->event, count, sizeof *rx->event, compare_doubles);
	for (size_t e = 0; e + 1 < count; e++) {
		const double t0 = rx->event[e], t1 = rx->event[e + 1];
		if (t1 < sent->at[0].t || t0 > last || t0 < 0)
			continue;
		const double s0 = units_by(sent, max_double(t0, sent->at[0].t));
		const double f1 = units_by(later, max_double(first, upper - t1));
		double s1 = units_by(sent, t1);
		double f0 = units_by(later, max_double(first, upper - t0));
		const double d0 = s0 + f0 - need, d1 = s1 + f1 - need;
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
	*out = (sc_interval){ (uint64_t)lo, min_u64((uint64_t)hi, rx->sc->n) };
	return true;
}

bool part_sc_relax_amounts(sc_relaxation *rx, double upper, sc_interval *amounts)
{
	curve sent = { NULL, 0, 0 };
	bool ok = curve_push(&sent, 0, 0) && curve_push(&sent, upper, 0);
	amounts[0] = (sc_interval){ rx->sc->n, rx->sc->n };
	for (size_t i = 0; ok && i + 1 < rx->sc->p; i++)
		ok = add_after(rx, i, upper, &sent) && !part_spend(&rx->sc->budget, 16 * sent.n) &&
		     relax_meeting(rx, &sent, &rx->later[i + 1], upper, &amounts[i + 1]);
	free(sent.at);
	return ok;
}

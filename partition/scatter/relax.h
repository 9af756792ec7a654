/* SPDX-License-Identifier: GPL-3.0-or-later */
/* relax.h - affine costs and real shares, startups paid by those alone that take items: how many
 * units the processors from each on can do by each time. What whole shares can do is no more, and
 * little less; the rounding of these curves is known and added, so that no amount of a better plan
 * is left out. Not installed. */
#ifndef SCATTER_RELAX_H
#define SCATTER_RELAX_H

#include "grid.h"

struct relaxation;

/* By how much, relative, the curves must go on behind the time that is asked of them. */
double part_sc_relax_tolerance(const struct scatter *sc);

/* The curves up to time end, scaled. NULL if out of memory or of the budget, if costs are not
 * affine, or if a processor takes any number of items in next to no time. */
struct relaxation *part_sc_relax(struct scatter *sc, double end);
void part_sc_relax_free(struct relaxation *rx);

/* The time by which all units are done, a lower bound, and the real shares; false if they are not
 * by the end of the curves. */
bool part_sc_relax_plan(struct relaxation *rx, double *time, double *real);

/* The amounts before each processor that can be part of a plan of whole shares that ends by
 * upper less the tolerance: all of them, and few more. False as above. */
bool part_sc_relax_amounts(struct relaxation *rx, double upper, struct interval *amounts);

#endif

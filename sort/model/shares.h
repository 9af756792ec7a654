/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares by the planner library, in the sorter's terms. */
#ifndef HETSORT_MODEL_SHARES_H
#define HETSORT_MODEL_SHARES_H

#include "base/settings.h"

#include <hetpart.h>

/* shares_status - what a failure of the planner library means here; fills e unless st is OK. */
status shares_status(hetpart_status st, const hetpart_err *he, err *e);

/* shares_by_speed - divide n records among p ranks.
 * kind     by which method; PLAN_EQUAL looks at no speed.
 * sorting  the share is sorted: it costs n ln n, where the method knows of that; else n.
 * speed    p entries, finite, > 0.
 * share    receives p entries whose sum is n.
 * A formula that has no solution for so few records gives way to the exact shares. */
status shares_by_speed(plan_kind kind, bool sorting, uint64_t n, const double *speed, size_t p,
		       uint64_t *share, err *e);

/* shares_divide - the exact shares of p ranks: by n ln n, or in proportion. */
status shares_divide(uint64_t n, const double *speed, size_t p, bool by_nlogn, uint64_t *share,
		     err *e);

/* shares_by_costs - the exact shares with which p ranks end together, each by a cost of its own.
 * fn   seconds of n records on a rank: never less for more of them.
 * ctx  p objects of ctx_bytes; fn is handed that of its rank.
 * shares_by_costs_within - the same where rank i may have no more than most[i], which together are
 * enough; most NULL: all it likes. */
status shares_by_costs(uint64_t n, hetpart_cost_fn *fn, void *ctx, size_t ctx_bytes, size_t p,
		       uint64_t *share, err *e);
status shares_by_costs_within(uint64_t n, hetpart_cost_fn *fn, void *ctx, size_t ctx_bytes,
			      size_t p, const uint64_t *most, uint64_t *share, err *e);

#endif

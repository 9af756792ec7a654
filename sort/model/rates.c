/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost model of a sort, in seconds. Pure. */
#include "rates.h"

#include <math.h>

/* Measured on a 2.5 GHz core with files in memory; ratios between ranks do not depend on them. */
static const rates nominal = { 4e-9, 0.45e-9, 0.35e-9, 0, 0 };

rates rates_nominal(double speed)
{
	return (rates){ .sort_s = nominal.sort_s / speed,
			.merge_s = nominal.merge_s / speed,
			.copy_s = nominal.copy_s / speed };
}

double rates_byte_s(double mb_per_s)
{
	return 1e-6 / mb_per_s;
}

static double n_ln_n(double n)
{
	return n > 1 ? n * log(n) : 0;
}

double rates_before_s(const rates *r, const settings *o, uint64_t n)
{
	const double read_s = r->copy_s * o->lay.record_bytes * (double)n;
	return read_s + (settings_strategy(o)->sorts_first ? r->sort_s * n_ln_n((double)n) : 0);
}

double rates_after_s(const rates *r, const settings *o, uint64_t n)
{
	const double move_s = (r->merge_s + r->copy_s) * o->lay.record_bytes * (double)n;
	return move_s + (settings_strategy(o)->sorts_first ? 0 : r->sort_s * n_ln_n((double)n));
}

double rates_send_s(const rates *r, const settings *o, uint64_t n, size_t p)
{
	const double leaves = o->lay.record_bytes * (double)n * (1 - 1 / (double)p);
	return (r->merge_s / 2 + r->copy_s) * leaves; /* of a merge, about half is gathering */
}

double rates_link_s(const rates *r, const settings *o, uint64_t n, size_t p)
{
	return r->link_s * o->lay.record_bytes * (double)n * (1 - 1 / (double)p);
}

double rates_disk_s(const rates *r, const settings *o, uint64_t n)
{
	return r->disk_s * o->lay.record_bytes * (double)n;
}

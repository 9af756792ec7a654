/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedule.c - the schedule object: made, grown, dated, read.
 * May not touch: how fractions are found. Costs O(installments m). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"

static bool grow(double **v, size_t old, size_t want)
{
	double *more = want > SIZE_MAX / sizeof **v ? NULL : realloc(*v, (want + 1) * sizeof **v);

	if (!more)
		return false;
	*v = more;
	for (size_t i = old; i < want; i++)
		more[i] = 0;
	return true;
}

hetpart_status part_sd_new(hetpart_schedule **out, const struct chain *ch, const char *method,
			   hetpart_err *err)
{
	hetpart_schedule *sd = part_calloc(1, sizeof *sd);

	*out = sd;
	if (sd) {
		sd->m = ch->m;
		sd->nloads = ch->nloads;
		sd->method = method;
		sd->planned = sd->lower = NAN;
		sd->first = part_calloc(ch->nloads + 1, sizeof *sd->first);
	}
	if (sd && sd->first)
		return HETPART_OK;
	hetpart_schedule_free(sd);
	*out = NULL;
	return part_fail(err, HETPART_ENOMEM, "no memory for %zu loads", ch->nloads);
}

hetpart_status part_sd_grow(hetpart_schedule *sd, const struct chain *ch, size_t count,
			    hetpart_err *err)
{
	size_t total = sd->total + count, m = ch->m, room = 2 * sd->room;

	if (total > CHAIN_DATES_MAX / m)
		return part_fail(err, HETPART_ERANGE, "more than %d fractions are not possible",
				 CHAIN_DATES_MAX);
	sd->total = total;
	if (total <= sd->room)
		return HETPART_OK;
	if (room < total)
		room = total;
	if (!grow(&sd->fraction, sd->room * m, room * m) ||
	    !grow(&sd->comp_start, sd->room * m, room * m) ||
	    !grow(&sd->comp_end, sd->room * m, room * m) ||
	    !grow(&sd->comm_start, sd->room * (m - 1), room * (m - 1)) ||
	    !grow(&sd->comm_end, sd->room * (m - 1), room * (m - 1)))
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu installments", room);
	sd->room = room;
	return HETPART_OK;
}

/* Times of the plan's unit to those of the caller. */
static bool unscale(double *v, size_t n, int shift)
{
	bool ok = true;

	for (size_t i = 0; i < n; i++) {
		v[i] = ldexp(v[i], shift);
		ok = ok && isfinite(v[i]);
	}
	return ok;
}

hetpart_status part_sd_date(hetpart_schedule *sd, const struct chain *ch, bool latency,
			    hetpart_err *err)
{
	struct chain_state st;
	hetpart_status rc = part_ch_state(&st, ch, err);
	bool ok = true;

	for (size_t n = 0; rc == HETPART_OK && n < ch->nloads; n++)
		for (size_t t = sd->first[n]; t < sd->first[n + 1]; t++)
			part_ch_step(ch, &st, n, sd->fraction + t * ch->m, latency, sd, t);
	sd->makespan = 0;
	for (size_t i = 0; rc == HETPART_OK && i < ch->m; i++)
		sd->makespan = max_double(sd->makespan, st.proc[i]);
	part_ch_state_free(&st);
	if (rc != HETPART_OK)
		return rc;
	ok = unscale(&sd->makespan, 1, ch->shift) &&
	     unscale(sd->comm_start, sd->total * (ch->m - 1), ch->shift) &&
	     unscale(sd->comm_end, sd->total * (ch->m - 1), ch->shift) &&
	     unscale(sd->comp_start, sd->total * ch->m, ch->shift) &&
	     unscale(sd->comp_end, sd->total * ch->m, ch->shift);
	return ok ? HETPART_OK : part_fail(err, HETPART_ERANGE, "a date is beyond range");
}

double hetpart_schedule_makespan(const hetpart_schedule *sd)
{
	return sd ? sd->makespan : NAN;
}

double hetpart_schedule_planned_makespan(const hetpart_schedule *sd)
{
	return sd ? sd->planned : NAN;
}

double hetpart_schedule_lower_bound(const hetpart_schedule *sd)
{
	return sd ? sd->lower : NAN;
}

hetpart_status hetpart_schedule_stopped(const hetpart_schedule *sd)
{
	return sd ? sd->stopped : HETPART_EINVAL;
}

const char *hetpart_schedule_method(const hetpart_schedule *sd)
{
	return sd ? sd->method : "";
}

size_t hetpart_schedule_nprocs(const hetpart_schedule *sd)
{
	return sd ? sd->m : 0;
}

size_t hetpart_schedule_nloads(const hetpart_schedule *sd)
{
	return sd ? sd->nloads : 0;
}

size_t hetpart_schedule_installments(const hetpart_schedule *sd, size_t load)
{
	return sd && load < sd->nloads ? sd->first[load + 1] - sd->first[load] : 0;
}

double hetpart_schedule_fraction(const hetpart_schedule *sd, size_t load, size_t installment,
				 size_t proc)
{
	if (installment >= hetpart_schedule_installments(sd, load) || proc >= sd->m)
		return NAN;
	return sd->fraction[(sd->first[load] + installment) * sd->m + proc];
}

const double *hetpart_schedule_fractions(const hetpart_schedule *sd, size_t *count)
{
	if (sd && count)
		*count = sd->total * sd->m;
	return sd ? sd->fraction : NULL;
}

static void store(double *start, double *end, const double *s, const double *e, size_t at)
{
	if (start)
		*start = s[at];
	if (end)
		*end = e[at];
}

bool hetpart_schedule_comm(const hetpart_schedule *sd, size_t load, size_t installment, size_t link,
			   double *start, double *end)
{
	if (installment >= hetpart_schedule_installments(sd, load) || link + 1 >= sd->m)
		return false;
	store(start, end, sd->comm_start, sd->comm_end,
	      (sd->first[load] + installment) * (sd->m - 1) + link);
	return true;
}

bool hetpart_schedule_comp(const hetpart_schedule *sd, size_t load, size_t installment, size_t proc,
			   double *start, double *end)
{
	if (installment >= hetpart_schedule_installments(sd, load) || proc >= sd->m)
		return false;
	store(start, end, sd->comp_start, sd->comp_end,
	      (sd->first[load] + installment) * sd->m + proc);
	return true;
}

void hetpart_schedule_free(hetpart_schedule *sd)
{
	if (!sd)
		return;
	free(sd->first);
	free(sd->fraction);
	free(sd->comm_start);
	free(sd->comm_end);
	free(sd->comp_start);
	free(sd->comp_end);
	free(sd);
}

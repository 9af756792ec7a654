/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What matters most comes first: a narrow terminal cuts the end off. */
#include "progress_text.h"
#include "base/size.h"
#include "model/rank_result.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_S = 99 * 3600 };

static bool is_slower(const rank_seen *a, const rank_seen *b)
{
	return a->waiting == b->waiting ? a->at.left_s > b->at.left_s : !a->waiting;
}

static void take_left(progress_sum *s, int rank, const rank_seen *seen)
{
	s->worked_s += seen->at.worked_s;
	s->work_s += seen->at.work_s;
	s->unknown += seen->at.left_s < 0;
	s->left_s = seen->at.left_s > s->left_s ? seen->at.left_s : s->left_s;
	if (s->heard > 1 && !is_slower(seen, &s->slowest))
		return;
	s->slowest = *seen;
	s->slowest_rank = rank;
}

void progress_take(void *sum, int rank, const rank_seen *seen)
{
	progress_sum *s = sum;
	s->ranks++;
	if (!seen->host[0])
		return;
	s->heard++;
	if (rank == 0)
		s->first = *seen;
	take_left(s, rank, seen);
	if (seen->at.stage != s->first.at.stage)
		return; /* heard before the job came to where it is */
	s->open += seen->at.open;
	s->done += seen->at.done;
	s->all += seen->at.all;
}

typedef struct writing {
	char *text;
	size_t at;
} writing;

__attribute__((format(printf, 2, 3))) static void say(writing *w, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	const int n = vsnprintf(w->text + w->at, PROGRESS_TEXT_BYTES - w->at, format, ap);
	va_end(ap);
	w->at += n > 0 ? (size_t)n : 0;
	w->at = w->at < PROGRESS_TEXT_BYTES ? w->at : PROGRESS_TEXT_BYTES - 1;
}

/* "3.2 of 10.0 GB": in one unit. */
static void say_bytes(writing *w, uint64_t done, uint64_t all)
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	char some[SIZE_TEXT_BYTES];
	double of = (double)all, part = (double)done;
	unsigned u = 0;
	if (all == 0) {
		say(w, " %s", size_text(done, some));
		return;
	}
	for (; of >= 999.5; u++, part /= 1000)
		of /= 1000;
	const int digits = u == 0 || of >= 99.95 ? 0 : of >= 9.995 ? 1 : 2;
	say(w, " %.*f of %.*f %s %d%%", digits, part, digits, of, unit[u],
	    (int)(100.0 * (double)done / (double)all));
}

static void say_time(writing *w, double seconds, const char *what)
{
	const unsigned s = seconds < 0 ? 0 : seconds < MOST_S ? (unsigned)seconds : MOST_S;
	if (s < 3600)
		say(w, ", %u:%02u%s", s / 60, s % 60, what);
	else
		say(w, ", %u:%02u:%02u%s", s / 3600, s / 60 % 60, s % 60, what);
}

const char *progress_text(const progress_sum *s, double bytes_per_s, double elapsed_s,
			  char text[PROGRESS_TEXT_BYTES])
{
	writing w = { text, 0 };
	char rate[SIZE_TEXT_BYTES];
	const bool planned = s->heard > 0 && s->unknown == 0 && s->work_s > 0;
	const bool comes = s->open && s->first.at.stage == STAGE_RECEIVE;
	say(&w, "%s", phase_name(comes ? PH_EXCHANGE : (phase)s->first.phase));
	if (s->open)
		say_bytes(&w, s->done, s->all);
	if (planned)
		say(&w, ", job %d%%", (int)(100 * s->worked_s / s->work_s));
	if (s->open && bytes_per_s >= 0)
		say(&w, ", %s/s", size_text((uint64_t)bytes_per_s, rate));
	say_time(&w, elapsed_s, "");
	if (planned)
		say_time(&w, s->left_s + 0.5, " left");
	if (s->heard < s->ranks)
		say(&w, ", %d of %d ranks heard", s->heard, s->ranks);
	if (planned && s->heard > 1)
		say(&w, ", slowest %d %s", s->slowest_rank, s->slowest.host);
	return text;
}

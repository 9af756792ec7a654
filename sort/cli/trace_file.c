/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file has one event per line. Rows of other ranks are checked first. Memory on rank 0: 48
 * bytes per row and twice the text. There are at most 50,000 rows, or 24 per rank if that is more,
 * and 16 MB of text. */
#include "report.h"
#include "base/clock.h"
#include "io/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ROWS = 50000,
	LEAST_ROWS = 24,
	MOST_BYTES = 16000000,
	EVENT_BYTES = 400, /* the events of a row */
};

unsigned trace_rows_of_rank(int ranks)
{
	const unsigned each = ROWS / (unsigned)ranks;
	return each > LEAST_ROWS ? each : LEAST_ROWS;
}

static bool make_room(traces *all, int ranks)
{
	*all = (traces){ .size = ranks, .each = trace_rows_of_rank(ranks) };
	all->row = calloc((size_t)ranks * all->each, sizeof *all->row);
	return all->row != NULL;
}

status traces_gather(comm *c, traces *all, err *e)
{
	const unsigned each = trace_rows_of_rank(c->size);
	trace_row *mine = calloc(each, sizeof *mine);
	*all = (traces){ 0 };
	const bool room = mine && (c->rank != 0 || make_room(all, c->size));
	if (mine)
		trace_rows(trace_mine(), mine, each, now_s());
	status rc =
		comm_agree(c, room ? ST_OK : err_set(e, ST_RESOURCE, "no memory for the trace"));
	if (rc == ST_OK)
		rc = comm_gather(c, mine, all->row, each * sizeof *mine, 0);
	free(mine);
	if (rc != ST_OK) {
		free(all->row);
		all->row = NULL;
	}
	return rc;
}

/* Take the rows of the ranks in this process. */
static void take_own(traces *all)
{
	const int ranks = trace_ranks();
	if (ranks == 0 || !make_room(all, ranks))
		return;
	for (int i = 0; i < ranks; i++) {
		trace *t = trace_hold(i);
		if (t)
			trace_rows(t, all->row + (size_t)i * all->each, all->each, now_s());
		trace_release();
	}
}

/* ------------------------------------------------------------------------------------- events */

typedef struct out {
	FILE *f;
	uint64_t bytes;
} out;

/* Write an event, unless the file would become too large: then the last rows are omitted. */
__attribute__((format(printf, 2, 3))) static void event(out *o, const char *format, ...)
{
	char text[EVENT_BYTES];
	va_list ap;
	va_start(ap, format);
	const int n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof text || o->bytes + (uint64_t)n > MOST_BYTES)
		return;
	fprintf(o->f, ",\n%s", text);
	o->bytes += (uint64_t)n + 2;
}

/* Copy a name as it may stand in a JSON string. */
static void plain(const char *from, size_t most, char *to)
{
	size_t n = 0;
	for (; n + 1 < most && from[n]; n++)
		to[n] = from[n] > ' ' && from[n] <= '~' && from[n] != '"' && from[n] != '\\'
				? from[n]
				: '_';
	to[n] = '\0';
}

static void put_span(out *o, int rank, const trace_row *w, const char *name)
{
	char args[100] = "";
	if (w->spans > 1)
		snprintf(args, sizeof args,
			 ",\"args\":{\"spans\":%" PRIu32 ",\"busy_us\":%" PRIu64 "}", w->spans,
			 w->busy_us);
	event(o,
	      "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%" PRIu64 ",\"dur\":%" PRIu64
	      ",\"name\":\"%s\"%s}",
	      rank, w->thread, w->at_us, w->length_us, name, args);
}

static void put_row(out *o, int rank, const trace_row *w)
{
	static const char *const counter[TRACE_COUNTERS] = { "bytes read", "bytes written",
							     "bytes sent", "memory held" };
	char name[TRACE_NAME_BYTES];
	if (w->type == TRACE_THREAD) {
		plain(w->name, sizeof name, name);
		event(o,
		      "{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_name\",\"args\":{"
		      "\"name\":\"%s\"}}",
		      rank, w->thread, name);
	} else if (w->type == TRACE_PHASE && w->kind < PHASES) {
		put_span(o, rank, w, phase_name((phase)w->kind));
	} else if (w->type == TRACE_SPAN && trace_kind_name(w->kind)) {
		put_span(o, rank, w, trace_kind_name(w->kind));
	} else if (w->type == TRACE_COUNTS) {
		for (int i = 0; i < TRACE_COUNTERS; i++)
			event(o,
			      "{\"ph\":\"C\",\"pid\":%d,\"ts\":%" PRIu64
			      ",\"name\":\"%s\",\"args\":{\"bytes\":%" PRIu64 "}}",
			      rank, w->at_us, counter[i], w->counter[i]);
	}
}

static const char *host_of(const job_result *r, int rank, char host[HOST_BYTES])
{
	for (int i = 0; r->rank && i < r->size; i++)
		if (r->rank[i].rank == rank) {
			plain(r->rank[i].host, HOST_BYTES, host);
			return host;
		}
	if (r->rank || gethostname(host, HOST_BYTES - 1) != 0)
		return "unknown";
	host[HOST_BYTES - 1] = '\0';
	return host;
}

static void put_all(const traces *all, const job_result *r, out *o)
{
	char host[HOST_BYTES];
	fprintf(o->f, "{\"otherData\":{\"program\":\"hetsort\"},\"displayTimeUnit\":\"ms\","
		      "\"traceEvents\":[\n"
		      "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_"
		      "index\":0}}");
	for (int i = 0; i < all->size; i++) {
		event(o,
		      "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":"
		      "\"rank %d (%s)\"}}",
		      i, i, host_of(r, i, host));
		for (unsigned k = 0; k < all->each; k++)
			put_row(o, i, &all->row[(size_t)i * all->each + k]);
	}
	fprintf(o->f, "\n]}\n");
}

/* --------------------------------------------------------------------------------------- file */

status trace_write(traces *all, const job_result *r, const char *path, bool sync, err *e)
{
	char *text = NULL;
	size_t bytes = 0;
	if (!all->row)
		take_own(all);
	out o = { .f = all->row ? open_memstream(&text, &bytes) : NULL };
	if (o.f)
		put_all(all, r, &o);
	bool whole = o.f && !ferror(o.f);
	if (o.f)
		whole = fclose(o.f) == 0 && whole;
	const status rc = whole ? text_write_role(ROLE_TRACE, path, text, bytes, sync, e)
				: err_set(e, ST_RESOURCE, "no memory for %s", quoted(path));
	free(text);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the file of --trace, one event per line. Rows of other ranks are checked first. Memory on
 * rank 0: 48 bytes per row and twice the text. There are at most 50,000 rows, or 24 per rank if
 * that is more, and 16 MB of text. */
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
	EVENT_BYTES = 400, /* most bytes of an event */
};

unsigned trace_rows_of_rank(int ranks)
{
	const unsigned each = ROWS / (unsigned)ranks;
	return each > LEAST_ROWS ? each : LEAST_ROWS;
}

static bool traces_alloc(traces *all, int ranks)
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
	const bool room = mine && (c->rank != 0 || traces_alloc(all, c->size));
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

/* ------------------------------------------------------------------------------------- events */

typedef struct trace_text {
	FILE *f;
	uint64_t bytes;
} trace_text;

/* Write an event, unless the file would become too large: then the last rows are omitted. */
__attribute__((format(printf, 2, 3))) static void trace_event(trace_text *o, const char *format,
							      ...)
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

/* Copy a name without the characters that JSON must escape. */
static void trace_plain(const char *from, size_t most, char *to)
{
	size_t n = 0;
	for (; n + 1 < most && from[n]; n++) {
		const bool is_plain = from[n] > ' ' && from[n] <= '~' && !strchr("\"\\", from[n]);
		to[n] = (char)(is_plain ? from[n] : '_');
	}
	to[n] = '\0';
}

/* Write a span, with the number of spans that it stands for. */
static void trace_put_span(trace_text *o, int rank, const trace_row *w, const char *name)
{
	char args[100] = "";
	if (w->spans > 1)
		snprintf(args, sizeof args,
			 ",\"args\":{\"spans\":%" PRIu32 ",\"busy_us\":%" PRIu64 "}", w->spans,
			 w->busy_us);
	trace_event(o,
		    "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%" PRIu64 ",\"dur\":%" PRIu64
		    ",\"name\":\"%s\"%s}",
		    rank, w->thread, w->at_us, w->length_us, name, args);
}

static void trace_put_row(trace_text *o, int rank, const trace_row *w)
{
	static const char *const counter[TRACE_COUNTERS] = { "bytes read", "bytes written",
							     "bytes sent", "memory held" };
	char name[TRACE_NAME_BYTES];
	if (w->type == TRACE_THREAD) {
		trace_plain(w->name, sizeof name, name);
		trace_event(
			o,
			"{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_name\",\"args\":{"
			"\"name\":\"%s\"}}",
			rank, w->thread, name);
	} else if (w->type == TRACE_PHASE && w->kind < PHASES) {
		trace_put_span(o, rank, w, phase_name((phase)w->kind));
	} else if (w->type == TRACE_SPAN && trace_kind_name(w->kind)) {
		trace_put_span(o, rank, w, trace_kind_name(w->kind));
	} else if (w->type == TRACE_COUNTS) {
		for (int i = 0; i < TRACE_COUNTERS; i++)
			trace_event(o,
				    "{\"ph\":\"C\",\"pid\":%d,\"ts\":%" PRIu64
				    ",\"name\":\"%s\",\"args\":{\"bytes\":%" PRIu64 "}}",
				    rank, w->at_us, counter[i], w->counter[i]);
	}
}

status trace_write(traces *all, const job_result *r, const char *path, bool sync, err *e)
{
	char *text = NULL;
	size_t bytes = 0;
	const int ranks = trace_ranks(); /* of this process */
	if (!all->row && ranks > 0 && traces_alloc(all, ranks))
		for (int i = 0; i < ranks; i++)
			trace_rows_of(i, all->row + (size_t)i * all->each, all->each, now_s());
	trace_text o = { .f = all->row ? open_memstream(&text, &bytes) : NULL };
	if (!o.f)
		return err_set(e, ST_RESOURCE, "no memory for %s", quoted(path));
	fputs("{\"otherData\":{\"program\":\"hetsort\"},\"displayTimeUnit\":\"ms\","
	      "\"traceEvents\":[\n"
	      "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":0}"
	      "}",
	      o.f);
	for (int i = 0; i < all->size; i++) {
		char host[HOST_BYTES] = "unknown";
		for (int k = 0; k < r->size; k++)
			if (r->rank[k].rank == i)
				trace_plain(r->rank[k].host, HOST_BYTES, host);
		if (r->size == 0) /* the ranks cannot be asked, but they are on this host */
			host_name(host);
		trace_event(&o,
			    "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":"
			    "\"rank %d (%s)\"}}",
			    i, i, host);
		for (unsigned k = 0; k < all->each; k++)
			trace_put_row(&o, i, &all->row[(size_t)i * all->each + k]);
	}
	fputs("\n]}\n", o.f);
	bool whole = !ferror(o.f);
	whole = fclose(o.f) == 0 && whole;
	const status rc = whole ? text_write_role(ROLE_TRACE, path, text, bytes, sync, e)
				: err_set(e, ST_RESOURCE, "no memory for %s", quoted(path));
	free(text);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* page.c - a plan as a page for a browser: a template, made a string of C by the Makefile, with the
 * answer, its bars and the comparison in it as data, which no name can make markup.
 * May not touch: how any of it came about. Costs a list for each bar. */
#include "display.h"

extern const char plan_page_head[], plan_page_tail[];

/* In JSON, '<' stands in strings only. */
static int put_data(const char *text, size_t bytes, void *file)
{
	FILE *f = file;

	for (size_t i = 0; i < bytes; i++)
		if (text[i] == '<' ? fputs("\\u003c", f) == EOF : putc(text[i], f) == EOF)
			return -1;
	return 0;
}

static bool add_bars(json_t *data, const struct hp_bars *bars)
{
	json_t *names = json_array(), *list = json_array();
	bool ok = json_object_set_new(data, "names", names) == 0;

	ok = json_object_set_new(data, "bars", list) == 0 && ok &&
	     json_object_set_new(data, "overlap", json_boolean(bars->overlap)) == 0;
	for (size_t i = 0; ok && i < bars->nrows; i++)
		ok = json_array_append_new(names, json_string(bars->names[i])) == 0;
	for (size_t i = 0; ok && i < bars->nbars; i++) {
		const struct hp_bar *b = &bars->bar[i];
		ok = json_array_append_new(list, json_pack("[i,i,f,f]", (int)b->row, (int)b->kind,
							   b->start, b->end)) == 0;
	}
	return ok;
}

bool hp_page(FILE *f, const struct hp_job *job, const struct hp_bars *bars,
	     const json_t *comparison, const char *title)
{
	json_t *data = json_pack("{s:s, s:O, s:O, s:O?}", "title", title, "answer", job->out,
				 "request", job->in, "comparison", comparison);
	bool ok = data && (!bars || add_bars(data, bars)) && fputs(HP_HTML_MARK, f) != EOF &&
		  fputs(plan_page_head, f) != EOF &&
		  json_dump_callback(data, put_data, f, JSON_COMPACT) == 0 &&
		  putc('\n', f) != EOF && fputs(plan_page_tail, f) != EOF;

	json_decref(data);
	return ok;
}

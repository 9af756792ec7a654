/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_plan.c - any bytes as a file of a plan, within limits that keep every plan small. A plan
 * that is accepted must make tables and charts. Written again, it must be accepted as the same. */
#include <stdlib.h>
#include <string.h>

#include "../../../scripts/fuzz.h"
#include "fuzz_limits.h"

/* Read a plan within limits of its text. The limits of the plan are small. */
static bool read_plan(hp_job *job, const char *text, size_t bytes, const hp_limits *of_text)
{
	bool ok;

	fuzz_check(hp_job_init(job, of_text, NULL));
	ok = hp_parse(job, text, bytes, 1);
	job->limits = &small;
	ok = ok && hp_verify(job);
	fuzz_check(ok || job->text[0] != '\0');
	return ok;
}

/* Write the job as a file, which the caller frees. */
static char *written(const hp_job *job, size_t *bytes)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, bytes);
	json_t *plan = hp_with_request(job);

	fuzz_check(f && plan && hp_write_json(f, plan) && fclose(f) == 0);
	json_decref(plan);
	return text;
}

static void show(hp_job *job)
{
	hp_bars bars;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fuzz_check(f && hp_print_table(f, job) && hp_print_csv(f, job));
	if (hp_make_bars(job, &bars))
		fuzz_check(hp_gantt(f, &bars, 60) && hp_svg(f, &bars, "<&>"));
	fuzz_check(fclose(f) == 0);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hp_limits more = small;
	hp_job job, again;
	char *text;
	size_t bytes;

	if (read_plan(&job, (const char *)data, size, &small)) {
		show(&job);
		text = written(&job, &bytes);
		more.line_bytes = bytes; /* what it adds may be more than was read */
		more.values = 8 * small.values;
		fuzz_check(read_plan(&again, text, bytes, &more) && json_equal(again.out, job.out));
		hp_job_free(&again);
		free(text);
	}
	hp_job_free(&job);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_request.c - any bytes as a line of a batch, within limits that keep every plan small. The
 * answer must be written as JSON that reads back as the same value, and shares must sum to items. A
 * request that succeeds must make tables and charts. */
#include "../../../scripts/fuzz.h"
#include "fuzz_limits.h"

static void check_sum(const json_t *answer, const json_t *request)
{
	const json_t *shares = json_object_get(answer, "shares");
	json_int_t sum = 0;

	if (!shares)
		return;
	for (size_t i = 0; i < json_array_size(shares); i++)
		sum += json_integer_value(json_array_get(shares, i));
	fuzz_check(sum == json_integer_value(json_object_get(request, "items")));
}

/* Check that the written answer reads back as the answer. */
static void check_written(const json_t *answer)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	json_t *again;

	fuzz_check(f && hp_write_json(f, answer) && fclose(f) == 0);
	fuzz_check(memchr(text, '\n', bytes) == text + bytes - 1);
	again = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
	fuzz_check(again && json_equal(again, answer));
	json_decref(again);
	free(text);
}

/* Make tables and charts of a request that succeeded. */
static void show(const char *line, size_t bytes)
{
	hp_job job;
	hp_bars bars;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fuzz_check(f && hp_job_init(&job, &small, NULL) && hp_parse(&job, line, bytes, 1) &&
		   hp_perform(&job));
	check_sum(job.out, job.in);
	fuzz_check(hp_print_table(f, &job) && hp_print_csv(f, &job));
	if (hp_make_bars(&job, &bars))
		fuzz_check(hp_gantt(f, &bars, 60) && hp_svg(f, &bars, "<&>"));
	else
		fuzz_check(job.text[0] != '\0');
	fuzz_check(fclose(f) == 0);
	free(text);
	hp_job_free(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *line = (const char *)data;
	bool ok;
	json_t *answer = hp_answer(line, size, 1, &small, &ok);

	fuzz_check(answer != NULL);
	fuzz_check(ok == !json_object_get(answer, "message"));
	check_written(answer);
	json_decref(answer);
	if (ok)
		show(line, size);
	return 0;
}

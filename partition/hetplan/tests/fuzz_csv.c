/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_csv.c - any bytes as a file of speeds: refused with the line, or columns of equal length
 * whose numbers are in their ranges. */
#include <stdlib.h>
#include <string.h>

#include "../../../scripts/fuzz.h"
#include "hetplan/hetplan.h"

static void check_column(const json_t *table, const char *key, double least)
{
	const json_t *list = json_object_get(table, key);

	for (size_t i = 0; i < json_array_size(list); i++)
		fuzz_check(json_number_value(json_array_get(list, i)) >= least);
	fuzz_check(!list ||
		   json_array_size(list) == json_array_size(json_object_get(table, "speeds")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	hp_job job;
	json_t *table;

	if (!text)
		return 0;
	memcpy(text, data, size);
	fuzz_check(hp_job_init(&job, &hp_program_limits, NULL));
	table = hp_speeds_table(&job, text, size);
	fuzz_check(!table == (job.text[0] != '\0'));
	fuzz_check(!table || json_array_size(json_object_get(table, "speeds")) > 0);
	check_column(table, "speeds", 5e-324);
	check_column(table, "bandwidth", 5e-324);
	check_column(table, "latency", 0);
	fuzz_check(!json_object_get(table, "names") ||
		   json_array_size(json_object_get(table, "names")) ==
			   json_array_size(json_object_get(table, "speeds")));
	json_decref(table);
	hp_job_free(&job);
	free(text);
	return 0;
}

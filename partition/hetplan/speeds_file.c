/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speeds_file.c - --speeds that name a file, as members of the request.
 * May not touch: the text of the file. Costs one JSON value for each number. */
#include <stdlib.h>
#include <string.h>

#include "hetplan.h"

static json_t *affine(double startup, double per_item)
{
	return json_pack("{s:s,s:f,s:f}", "type", "affine", "startup", startup, "per_item",
			 per_item);
}

/* A processor of a scatter by its line of a file of speeds: the cost at its speed, and its link.
 * The root, the last, keeps its share. */
static bool add_row(json_t *procs, const json_t *table, const json_t *cost, size_t i)
{
	const json_t *speeds = json_object_get(table, "speeds"),
		     *scale = json_object_get(cost, "scale");
	const json_t *latency = json_object_get(table, "latency");
	double speed = hp_at_index(speeds, i), startup = latency ? hp_at_index(latency, i) : 0;
	double per_item = 1 / hp_at_index(json_object_get(table, "bandwidth"), i);
	json_t *p = json_object(), *compute = json_copy((json_t *)cost);
	bool root = i + 1 == json_array_size(speeds);

	return json_array_append_new(procs, p) == 0 &&
	       json_object_set_new(p, "compute", compute) == 0 &&
	       json_object_set_new(compute, "scale",
				   json_real((scale ? json_number_value(scale) : 1) / speed)) ==
		       0 &&
	       (root || json_object_set_new(p, "link", affine(startup, per_item)) == 0);
}

/* --cost and the columns of a file of speeds become processors. */
static bool make_procs(struct hp_job *job, json_t *set, const json_t *table)
{
	const json_t *cost = json_object_get(set, "cost");
	json_t *procs = json_array();
	bool ok = json_object_set_new(set, "processors", procs) == 0;

	if (!cost)
		return hp_fail(job, NULL, "'--speeds' of a scatter: want '--cost' as well");
	if (!json_object_get(table, "bandwidth"))
		return hp_fail(job, NULL,
			       "'--speeds' of a scatter: want a file with a column 'bandwidth'");
	for (size_t i = 0; ok && i < json_array_size(json_object_get(table, "speeds")); i++)
		ok = add_row(procs, table, cost, i);
	return ok && json_object_del(set, "cost") == 0 && json_object_del(set, "speeds") == 0
		       ? true
		       : hp_fail(job, NULL, "out of memory");
}

/* What a file of speeds says; --names take the place of its names. */
static bool spread_table(struct hp_job *job, json_t *set, const char *verb, json_t *table)
{
	json_t *names = json_object_get(table, "names"), *speeds = json_object_get(table, "speeds");

	if (names && !json_object_get(set, "names") && json_object_set(set, "names", names) != 0)
		return hp_fail(job, NULL, "out of memory");
	if (strcmp(verb, "scatter") == 0)
		return make_procs(job, set, table);
	return json_object_set(set, "speeds", speeds) == 0 || hp_fail(job, NULL, "out of memory");
}

bool hp_read_speeds(struct hp_job *job, const struct hp_args *a)
{
	const json_t *v = json_object_get(a->set, "speeds");
	char *path = v && json_is_string(v) ? strdup(json_string_value(v)) : NULL, *text = NULL;
	char why[HP_TEXT_BYTES];
	json_t *table = NULL;
	size_t bytes;
	bool ok;

	if (v && !json_is_string(v) && strcmp(a->verb, "scatter") == 0)
		return hp_fail(job, NULL,
			       "'--speeds' of a scatter: want a file with a column 'bandwidth'");
	if (!v || !json_is_string(v))
		return true;
	if (!path)
		return hp_fail(job, NULL, "out of memory");
	if (!hp_read_file(job, path, &text, &bytes)) {
		snprintf(why, sizeof why, "%s", job->text);
		ok = hp_fail(job, NULL, "'%.128s': %s", path, why);
	} else if (bytes > job->limits->line_bytes) {
		ok = hp_fail(job, NULL, "'%.128s': longer than %zu bytes", path,
			     job->limits->line_bytes);
	} else if (!(table = hp_speeds_table(text, bytes, why))) {
		ok = hp_fail(job, NULL, "'%.128s': %s", path, why);
	} else {
		ok = spread_table(job, a->set, a->verb, table);
	}
	json_decref(table);
	free(text);
	free(path);
	return ok;
}

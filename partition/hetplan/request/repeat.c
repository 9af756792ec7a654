/* SPDX-License-Identifier: GPL-3.0-or-later */
/* repeat.c - lists in which {"repeat": N, "value": X} stands for X, N times: written out before
 * anything else reads the request.
 * May not touch: what the values mean. Costs a pass over the request, and what it stands for. */
#include "request.h"

static bool has_repeat(const json_t *v)
{
	for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++)
		if (json_object_get(json_array_get(v, i), "repeat"))
			return true;
	return false;
}

static bool append(struct hp_job *job, json_t *to, json_t *v, uint64_t times)
{
	for (; times; times--)
		if (json_array_append(to, v) != 0)
			return hp_fail(job, NULL, "out of memory");
	return true;
}

static bool append_entry(struct hp_job *job, json_t *to, json_t *entry, const struct hp_at *at)
{
	static const char *const known[] = { "repeat", "value", NULL };
	const struct hp_at times_at = { at, "repeat", 0 };
	const json_t *times = json_object_get(entry, "repeat");
	json_t *value = json_object_get(entry, "value");
	uint64_t n;

	if (!times)
		return append(job, to, entry, 1);
	if (!hp_keys(job, entry, at, known) || !hp_need(job, entry, at, "value") ||
	    !hp_whole(job, times, &times_at, 1, job->limits->procs, &n))
		return false;
	if (json_array_size(to) + n > job->limits->values)
		return hp_fail(job, at, "more than %zu values", job->limits->values);
	return append(job, to, value, n);
}

static bool write_out(struct hp_job *job, const char *key, const json_t *list)
{
	const struct hp_at up = { NULL, key, 0 };
	json_t *all = json_array();
	bool ok = all || hp_fail(job, NULL, "out of memory");

	for (size_t i = 0; ok && i < json_array_size(list); i++) {
		const struct hp_at at = { &up, NULL, i };
		ok = append_entry(job, all, json_array_get(list, i), &at);
	}
	if (!ok) {
		json_decref(all);
		return false;
	}
	return json_object_set_new(job->in, key, all) == 0 || hp_fail(job, NULL, "out of memory");
}

bool hp_repeat(struct hp_job *job)
{
	const char *key;
	json_t *v;

	json_object_foreach(job->in, key,
			    v) if (has_repeat(v) && !write_out(job, key, v)) return false;
	return true;
}

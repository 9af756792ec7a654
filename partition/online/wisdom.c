/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wisdom.c - what is known of one machine between runs: named models and named numbers.
 * May not touch: files and their format. Costs a linear search over the names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wisdom.h"

bool part_wisdom_name_ok(const char *name, size_t len)
{
	const char *allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";

	if (len == 0 || len >= WISDOM_NAME_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!name[i] || !strchr(allowed, name[i]))
			return false;
	return true;
}

bool part_wisdom_host_ok(const char *host, size_t len)
{
	if (len == 0 || len >= WISDOM_HOST_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		if (host[i] < 0x20 || host[i] > 0x7e)
			return false;
	return host[0] != ' ' && host[len - 1] != ' ';
}

hetpart_model *part_wisdom_find(const hetpart_wisdom *w, const char *name)
{
	for (size_t i = 0; i < w->nmodels; i++)
		if (strcmp(w->models[i].name, name) == 0)
			return w->models[i].model;
	return NULL;
}

struct wisdom_number *part_wisdom_number(const hetpart_wisdom *w, const char *name)
{
	for (size_t i = 0; i < w->nnumbers; i++)
		if (strcmp(w->numbers[i].name, name) == 0)
			return &w->numbers[i];
	return NULL;
}

hetpart_status hetpart_wisdom_create(hetpart_wisdom **out, const char *host, hetpart_err *err)
{
	if (out)
		*out = NULL;
	if (!out || !host)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "host" : "out");
	if (!part_wisdom_host_ok(host, strnlen(host, WISDOM_HOST_BYTES)))
		return part_fail(err, HETPART_EINVAL,
				 "the host is no line of 1 to %d printable ASCII characters",
				 WISDOM_HOST_BYTES - 1);
	*out = part_calloc(1, sizeof **out);
	if (!*out)
		return part_fail(err, HETPART_ENOMEM, "no memory for wisdom");
	memcpy((*out)->host, host, strlen(host) + 1);
	return HETPART_OK;
}

void hetpart_wisdom_free(hetpart_wisdom *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nmodels; i++)
		hetpart_model_free(w->models[i].model);
	free(w->models);
	free(w->numbers);
	free(w);
}

const char *hetpart_wisdom_host(const hetpart_wisdom *w)
{
	return w ? w->host : "";
}

uint64_t hetpart_wisdom_time(const hetpart_wisdom *w)
{
	return w ? w->time_s : 0;
}

hetpart_status hetpart_wisdom_set_time(hetpart_wisdom *w, uint64_t time_s, hetpart_err *err)
{
	if (!w)
		return part_fail(err, HETPART_EINVAL, "'wisdom' is NULL");
	if (time_s >= UINT64_C(10000000000000000000))
		return part_fail(err, HETPART_EINVAL, "the time is not below 1e19");
	w->time_s = time_s;
	return HETPART_OK;
}

static hetpart_status check_name(const hetpart_wisdom *w, const char *name, hetpart_err *err)
{
	if (!w || !name)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", w ? "name" : "wisdom");
	if (!part_wisdom_name_ok(name, strnlen(name, WISDOM_NAME_BYTES)))
		return part_fail(err, HETPART_EINVAL,
				 "'%.80s' is no name: want 1 to %d letters, digits, '.', '_', ':' "
				 "or '-'",
				 name, WISDOM_NAME_BYTES - 1);
	return HETPART_OK;
}

/* Room for one entry more, all before it kept; NULL when there is none. */
static void *grow(void *entries, size_t n, size_t size)
{
	return n < WISDOM_ENTRIES ? realloc(entries, (n + 1) * size) : NULL;
}

hetpart_status hetpart_wisdom_model(hetpart_wisdom *w, const char *name, hetpart_model **out,
				    hetpart_err *err)
{
	struct wisdom_model *more;
	hetpart_status rc;

	if (!out)
		return part_fail(err, HETPART_EINVAL, "'out' is NULL");
	*out = NULL;
	rc = check_name(w, name, err);
	if (rc != HETPART_OK)
		return rc;
	*out = part_wisdom_find(w, name);
	if (*out)
		return HETPART_OK;
	more = grow(w->models, w->nmodels, sizeof *more);
	if (!more)
		return part_fail(err, HETPART_ENOMEM, "no room for model '%s'", name);
	w->models = more;
	rc = hetpart_model_create(&more[w->nmodels].model, err);
	if (rc != HETPART_OK)
		return rc;
	memcpy(more[w->nmodels].name, name, strlen(name) + 1);
	*out = more[w->nmodels++].model;
	return HETPART_OK;
}

hetpart_status hetpart_wisdom_set(hetpart_wisdom *w, const char *name, double value,
				  hetpart_err *err)
{
	struct wisdom_number *at;
	hetpart_status rc = check_name(w, name, err);

	if (rc != HETPART_OK)
		return rc;
	if (!isfinite(value))
		return part_fail(err, HETPART_EINVAL,
				 "value of '%s' is '%g': must be a finite number", name, value);
	at = part_wisdom_number(w, name);
	if (!at) {
		at = grow(w->numbers, w->nnumbers, sizeof *at);
		if (!at)
			return part_fail(err, HETPART_ENOMEM, "no room for number '%s'", name);
		w->numbers = at;
		at += w->nnumbers++;
		memcpy(at->name, name, strlen(name) + 1);
	}
	at->value = value;
	return HETPART_OK;
}

bool hetpart_wisdom_get(const hetpart_wisdom *w, const char *name, double *value)
{
	const struct wisdom_number *at = w && name ? part_wisdom_number(w, name) : NULL;

	if (at && value)
		*value = at->value;
	return at != NULL;
}

const char *hetpart_wisdom_model_name(const hetpart_wisdom *w, size_t index)
{
	return w && index < w->nmodels ? w->models[index].name : NULL;
}

const char *hetpart_wisdom_number_name(const hetpart_wisdom *w, size_t index)
{
	return w && index < w->nnumbers ? w->numbers[index].name : NULL;
}

hetpart_status hetpart_wisdom_merge(hetpart_wisdom *into, const hetpart_wisdom *from,
				    hetpart_err *err)
{
	hetpart_status rc = HETPART_OK;
	bool newer;

	if (!into || !from)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", into ? "from" : "into");
	if (into == from)
		return part_fail(err, HETPART_EINVAL, "wisdom cannot be merged into itself");
	if (strcmp(into->host, from->host) != 0)
		return part_fail(err, HETPART_ESTALE, "wisdom of '%s' is not for '%s'", from->host,
				 into->host);
	newer = from->time_s >= into->time_s;
	for (size_t i = 0; i < from->nmodels && rc == HETPART_OK; i++) {
		hetpart_model *m;
		rc = hetpart_wisdom_model(into, from->models[i].name, &m, err);
		if (rc == HETPART_OK)
			rc = hetpart_model_merge(m, from->models[i].model, err);
	}
	for (size_t i = 0; i < from->nnumbers && rc == HETPART_OK; i++)
		if (newer || !part_wisdom_number(into, from->numbers[i].name))
			rc = hetpart_wisdom_set(into, from->numbers[i].name, from->numbers[i].value,
						err);
	if (rc == HETPART_OK && newer)
		into->time_s = from->time_s;
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* write_json.c - JSON to a stream on one line, with numbers as short as they can be and exact.
 * May not touch: what the numbers mean. Costs a pass over the value. */
#include <inttypes.h>
#include <stdlib.h>

#include "display.h"

static bool put_value(FILE *f, const json_t *v);

static bool put_text(FILE *f, const char *s)
{
	json_t *v = json_string(s);
	char *quoted = v ? json_dumps(v, JSON_ENCODE_ANY) : NULL;
	bool ok = quoted && fputs(quoted, f) != EOF;

	free(quoted);
	json_decref(v);
	return ok;
}

static bool put_array(FILE *f, const json_t *v)
{
	size_t n = json_array_size(v);

	if (putc('[', f) == EOF)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((i && putc(',', f) == EOF) || !put_value(f, json_array_get(v, i)))
			return false;
	return putc(']', f) != EOF;
}

static bool put_object(FILE *f, const json_t *v)
{
	json_t *o = (json_t *)v; /* the iterator wants it so, and changes nothing */
	const char *between = "";

	if (putc('{', f) == EOF)
		return false;
	for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
		if (fputs(between, f) == EOF || !put_text(f, json_object_iter_key(it)) ||
		    putc(':', f) == EOF || !put_value(f, json_object_iter_value(it)))
			return false;
		between = ",";
	}
	return putc('}', f) != EOF;
}

static bool put_value(FILE *f, const json_t *v)
{
	char buf[HP_NUMBER_BYTES];

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return put_object(f, v);
	case JSON_ARRAY:
		return put_array(f, v);
	case JSON_STRING:
		return put_text(f, json_string_value(v));
	case JSON_INTEGER:
		return fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(v)) > 0;
	case JSON_REAL:
		return fputs(hp_number(buf, json_real_value(v)), f) != EOF;
	case JSON_TRUE:
		return fputs("true", f) != EOF;
	case JSON_FALSE:
		return fputs("false", f) != EOF;
	default:
		return fputs("null", f) != EOF;
	}
}

bool hp_write_json(FILE *f, const json_t *v)
{
	return put_value(f, v) && putc('\n', f) != EOF;
}

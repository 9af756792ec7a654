/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_option.c - any text as the word of an option: the first byte chooses the kind. An
 * accepted text is JSON of that kind, a refused one has a reason; messages and names are clean. */
#include "../../../scripts/fuzz.h"
#include "hetplan/hetplan.h"

static void check_clean(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n;) {
		size_t len = hp_utf8(s + i, n - i);
		if (len == 0)
			abort();
		i += len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = { "method",  "items", "time_limit_s", "capacity",
					    "weights", "cost",  "costs",        "observations",
					    "speeds",  "names" };
	char why[HP_TEXT_BYTES] = "", cleaned[64], *word = malloc(size + 1);
	json_t *v;

	if (!word || size == 0) {
		free(word);
		return 0;
	}
	memcpy(word, data + 1, size - 1);
	word[size - 1] = '\0';
	v = hp_option_value(keys[data[0] % HP_LEN(keys)], word, why);
	if (!v && !why[0])
		abort();
	if (json_is_array(v) && json_array_size(v) == 0)
		abort();
	check_clean(hp_clean(cleaned, sizeof cleaned, word, size - 1));
	json_decref(v);
	free(word);
	return 0;
}

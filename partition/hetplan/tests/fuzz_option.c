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
	char why[HP_TEXT_BYTES] = "", cleaned[64], *word = malloc(size + 1);
	hp_kind kind;
	json_t *v;

	if (!word || size == 0) {
		free(word);
		return 0;
	}
	memcpy(word, data + 1, size - 1);
	word[size - 1] = '\0';
	kind = (hp_kind)(data[0] % (HP_KIND_NAMES + 1));
	v = hp_option_value(kind, word, why);
	if (!v && !why[0])
		abort();
	if (v && kind >= HP_KIND_COSTS && json_array_size(v) == 0 &&
	    !(kind == HP_KIND_SPEEDS && json_is_string(v))) /* the name of a file */
		abort();
	check_clean(hp_clean(cleaned, sizeof cleaned, word, size - 1));
	json_decref(v);
	free(word);
	return 0;
}

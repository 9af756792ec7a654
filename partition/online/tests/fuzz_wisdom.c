/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_wisdom.c - any bytes as a wisdom file, as they are and with a checksum that matches, so
 * that the lines before it are reached. Accepted wisdom must print, parse again to the same text,
 * and plan. */
#include "../../../scripts/fuzz.h"
#include <stdio.h>

#include <hetpart.h>

static void plan(hetpart_wisdom *w)
{
	double speeds[] = { 1, 2, 3.5 };
	const char *name;

	for (size_t i = 0; (name = hetpart_wisdom_model_name(w, i)); i++) {
		hetpart_model *m;
		hetpart_plan *pl = NULL;
		if (hetpart_wisdom_model(w, name, &m, NULL) != HETPART_OK)
			abort();
		if (hetpart_model_plan(&pl, m, 1000003, speeds, 3, NULL, NULL) == HETPART_OK &&
		    hetpart_plan_share(pl, 0) + hetpart_plan_share(pl, 1) +
				    hetpart_plan_share(pl, 2) !=
			    1000003)
			abort();
		hetpart_plan_free(pl);
	}
}

static void try(const char *text, size_t len)
{
	hetpart_wisdom *w, *again;
	char *printed, *twice;
	size_t n;

	if (hetpart_wisdom_parse(&w, text, len, NULL, 0, NULL) != HETPART_OK)
		return;
	n = hetpart_wisdom_print(w, NULL, 0);
	printed = malloc(n + 1);
	twice = malloc(n + 1);
	if (!printed || !twice || hetpart_wisdom_print(w, printed, n + 1) != n ||
	    hetpart_wisdom_parse(&again, printed, n, hetpart_wisdom_host(w), 0, NULL) !=
		    HETPART_OK ||
	    hetpart_wisdom_print(again, twice, n + 1) != n || memcmp(printed, twice, n) != 0)
		abort();
	plan(w);
	hetpart_wisdom_free(w);
	hetpart_wisdom_free(again);
	free(printed);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	size_t n = size;
	char *text = malloc(size + 40);

	if (!text)
		return 0;
	memcpy(text, data, size);
	try(text, size);
	while (n && text[n - 1] == '\n') /* without the last line, if that is a checksum */
		n--;
	while (n && text[n - 1] != '\n')
		n--;
	if (size - n < 9 || memcmp(text + n, "checksum ", 9) != 0)
		n = size;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	n += (size_t)snprintf(text + n, 40, "checksum %016llx\n", (unsigned long long)h);
	try(text, n);
	free(text);
	return 0;
}

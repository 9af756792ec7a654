/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Says what is wrong with an option, because getopt_long() would print control characters. */
#include "base/bad_option.h"
#include "base/size.h"
#include "nearest.h"

#include <string.h>

status bad_option(const char *word, bool lacks, const struct option *longs, err *e)
{
	const char letter[] = { '-', (char)optopt, '\0' };
	const char *name = optopt ? "" : word + 2, *last = NULL;
	const size_t len = strcspn(name, "=");
	bool known = lacks;
	char list[ERR_TEXT_BYTES] = "", q[QUOTED_BYTES];
	for (const struct option *o = longs; o->name; o++) {
		known |= optopt && o->val == optopt;
		if (len == 0 || strncmp(o->name, name, len) != 0)
			continue;
		if (last)
			text_append(list, sizeof list, "%s--%s", *list ? ", " : "", last);
		last = o->name;
	}
	if (known)
		return err_set(e, ST_REFUSED, "option %s takes %s argument",
			       quoted(word[1] == '-' ? word : letter), lacks ? "an" : "no");
	if (last)
		return err_set(e, ST_REFUSED, "ambiguous option: %s%s--%s", list,
			       *list ? " or " : "", last);
	err_quoted(optopt ? letter : word, q);
	const char *meant = nearest_word(name, len, longs, sizeof *longs);
	return meant ? err_set(e, ST_REFUSED, "unknown option %s (did you mean --%s?)", q, meant)
		     : err_set(e, ST_REFUSED, "unknown option %s", q);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of the choices of a sort, in the order of their enums. */
#include "settings.h"
#include "size.h"

#include <inttypes.h>
#include <string.h>

const char *const plan_names[] = { "equal",      "linear", "nlogn", "taylor",
				   "asymptotic", "online", NULL };
const char *const strategy_names[] = { "merge", "distribute", NULL };
const char *const source_names[] = { "all", "root", NULL }; /* settings.from_root */
const char *const scatter_names[] = { "equal", "speed", "balanced", "dynamic", NULL };
const char *const verify_names[] = { "buffers", "reread", NULL };
const char *const bind_names[] = { "auto", "none", NULL };
const char *const launcher_names[] = { "auto", "mpi", "none", NULL };
const char *const direct_names[] = { "auto", "always", "never", NULL };

static void field_text(char text[SELECTION_TEXT_BYTES], const char *option, const key_field *f)
{
	text_append(text, SELECTION_TEXT_BYTES, " --%s=%" PRIu32 ",u%" PRIu32 "%s", option, f->off,
		    8 * f->bytes, f->little ? "le" : "be");
}

const char *settings_selection_text(const settings *o, char text[SELECTION_TEXT_BYTES])
{
	enum { ROOM = SELECTION_TEXT_BYTES };
	char folds[FOLD_TEXT_BYTES];
	text[0] = '\0';
	if (o->header_bytes)
		text_append(text, ROOM, " --skip-header=%" PRIu64, o->header_bytes);
	if (o->trailer_bytes)
		text_append(text, ROOM, " --skip-trailer=%" PRIu64, o->trailer_bytes);
	if (o->records)
		text_append(text, ROOM, " --records=%" PRIu64, o->records);
	if (o->unique)
		text_append(text, ROOM, " --unique");
	if (o->lay.folds)
		text_append(text, ROOM, " %s", layout_fold_text(&o->lay, FOLD_NONE, folds));
	if (o->order_out)
		text_append(text, ROOM, " --order-out");
	if (o->append)
		text_append(text, ROOM, " --append=%" PRIu32, o->append);
	if (o->shape.number.bytes && !o->order_out)
		field_text(text, "number", &o->shape.number);
	if (o->top)
		text_append(text, ROOM, " --top=%" PRIu64, o->top);
	if (*text)
		memmove(text, text + 1, strlen(text)); /* without the first space */
	return text;
}

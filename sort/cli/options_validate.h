/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The second half of options_parse: what only the whole command line can tell. */
#ifndef HETSORT_CLI_OPTIONS_VALIDATE_H
#define HETSORT_CLI_OPTIONS_VALIDATE_H

#include "options.h"

/* Which options were given: where that says more than their values. */
typedef struct seen {
	bool plan, key, scattering;
} seen;

/* options_validate - ST_REFUSED, with the reason, where options contradict each other. */
status options_validate(settings *o, const seen *s, err *e);

#endif

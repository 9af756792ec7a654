/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The second half of options_parse: what only the whole command line can tell. */
#ifndef HETSORT_CLI_OPTIONS_VALIDATE_H
#define HETSORT_CLI_OPTIONS_VALIDATE_H

#include "option_rows.h"

/* options_validate - ST_REFUSED, with the reason, where options contradict each other; else sets
 * what follows from others where it was not given. */
status options_validate(settings *o, option_set given, err *e);

#endif

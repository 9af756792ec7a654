/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line as settings. */
#ifndef HETSORT_CLI_OPTIONS_H
#define HETSORT_CLI_OPTIONS_H

#include "base/settings.h"

#include <stdio.h>

/* options_parse - argv as main() got it; strings are not copied, argv may be permuted. ST_REFUSED
 * with the reason in e. */
status options_parse(settings *o, int argc, char **argv, err *e);

/* options_help - usage, options and exit status, in lines of at most 80 columns. */
void options_help(FILE *f);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line as settings. */
#ifndef HETSORT_CLI_OPTIONS_H
#define HETSORT_CLI_OPTIONS_H

#include "base/settings.h"

/* options_parse - argv as main() got it; strings are not copied, argv may be permuted. */
status options_parse(settings *o, int argc, char **argv, err *e);

/* options_usage, options_help - static text. */
const char *options_usage(void);
const char *options_help(void);

#endif

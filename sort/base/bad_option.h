/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The message about an option that getopt_long() does not accept. */
#ifndef HETSORT_BASE_BAD_OPTION_H
#define HETSORT_BASE_BAD_OPTION_H

#include "base/status.h"

#include <getopt.h>
#include <stdbool.h>

/* bad_option - refuse the option in this word. getopt_long() has returned '?', or ':' (lacks: its
 * argument is missing); opterr is 0, and the short options begin with ':'. If a long name is
 * ambiguous, list the options that it abbreviates; if it is unknown, suggest the one that was
 * probably meant. */
status bad_option(const char *word, bool lacks, const struct option *longs, err *e);

#endif

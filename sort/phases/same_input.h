/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do the names of the input lead all ranks to the same files? */
#ifndef HETSORT_PHASES_SAME_INPUT_H
#define HETSORT_PHASES_SAME_INPUT_H

#include "comm/rank_env.h"
#include "io/input.h"

/* same_input - collective, for files that all ranks read: refuses (ST_PEER) on ranks that see other
 * files than rank 0. sample: not all ranks are on one host, so contents are compared as well. */
status same_input(rank_env *env, const input *in, bool sample);

#endif

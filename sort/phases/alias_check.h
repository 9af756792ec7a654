/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One file under two names. */
#ifndef HETSORT_PHASES_ALIAS_CHECK_H
#define HETSORT_PHASES_ALIAS_CHECK_H

#include "values.h"

/* alias_check - collective: a file that is read twice, made twice, or read and replaced, by one
 * rank or by two, is refused. Touches nothing. */
status alias_check(rank_env *env, const files *f);

#endif

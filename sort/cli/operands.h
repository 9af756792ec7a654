/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done with the operands in place of a sort. Prints to standard error. */
#ifndef HETSORT_CLI_OPERANDS_H
#define HETSORT_CLI_OPERANDS_H

#include "base/settings.h"

/* operands_clean - removes what killed jobs left beside outputs, or in workdirs; a name with %r is
 * that of each of o->ranks. */
status operands_clean(const settings *o);

/* operands_check - are the parts of these manifests as stated? */
status operands_check(const settings *o);

#endif

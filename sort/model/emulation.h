/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Process emulation: how many virtual ranks each node runs. */
#ifndef HETSORT_MODEL_EMULATION_H
#define HETSORT_MODEL_EMULATION_H

#include "comm/comm.h"
#include "base/settings.h"

typedef struct emulation {
	int *count;        /* of each rank of the comm, at least 1 */
	int size;          /* of all of them */
	double efficiency; /* the part of the whole speed that equal ranks reach */
} emulation;

/* emulation_plan - collective, once options are read: numbers of ranks by --speeds and --emulate,
 * the same everywhere. Free m with emulation_free, also on failure. Only ranks that find a fault of
 * their own, or rank 0 one of the plan, get a sentence. */
status emulation_plan(emulation *m, comm *c, const settings *o, err *e);

void emulation_free(emulation *m);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What gensort says on standard error. Names are printed safely: control characters, which could
 * steer a terminal, appear as \xHH. Called by the main thread only. */
#ifndef GEN_SAY_H
#define GEN_SAY_H

#include <stdio.h>

/* gen_put_name - write a name with its control characters escaped. */
void gen_put_name(FILE *f, const char *name);

/* gen_error - "gensort: WHAT 'NAME': REASON"; err 0 leaves out the reason. */
void gen_error(const char *what, const char *name, int err);

#endif

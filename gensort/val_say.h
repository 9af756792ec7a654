/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What valsort says on standard error, with names made safe: control characters, which could
 * steer a terminal, appear as \xHH. The benchmark's own texts are kept to the letter. */
#ifndef VAL_SAY_H
#define VAL_SAY_H

/* val_say_reason - "NAME: REASON", as the benchmark's validator does for its input. */
void val_say_reason(const char *name, int err);

/* val_say_error - "valsort: WHAT 'NAME': REASON"; err 0 leaves out the reason. */
void val_say_error(const char *what, const char *name, int err);

#endif

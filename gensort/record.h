/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The size of a record and of its key: all that generator and validator have in common. */
#ifndef RECORD_H
#define RECORD_H

enum { RECORD_BYTES = 100, KEY_BYTES = 10 };

#endif

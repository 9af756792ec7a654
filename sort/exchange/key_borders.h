/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts between keys: exact splitters lie anywhere among equal keys, and move up to where the key
 * ends. */
#ifndef HETSORT_EXCHANGE_KEY_BORDERS_H
#define HETSORT_EXCHANGE_KEY_BORDERS_H

#include "comm/comm.h"
#include "base/mem.h"
#include "spill/sorted.h"

/* key_borders_move - collective: moves cuts, as split_sorted leaves them, so that no key is on
 * both sides of one. */
status key_borders_move(comm *c, mem *m, sorted *s, uint64_t *cut, err *er);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The handshake: before anything else the ranks find out whether they fit together. */
#ifndef HETSORT_PHASES_HANDSHAKE_H
#define HETSORT_PHASES_HANDSHAKE_H

#include "values.h"

/* handshake - collective. ST_PEER, at the rank that is unlike rank 0 with what differs in env->e,
 * if not all are of the same version, protocol, byte order, sizes of types, record layout and
 * options. */
status handshake(rank_env *env);

#endif

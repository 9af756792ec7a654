/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams become files, where several ranks or other files are read as well. */
#ifndef HETSORT_PHASES_STREAM_COPY_H
#define HETSORT_PHASES_STREAM_COPY_H

#include "comm/rank_env.h"
#include "io/input.h"

/* copy_streams - collective: what streams hold goes to files without a name, which all ranks of the
 * process read, and in is counted anew. Nothing to do where in->is_stream. */
status copy_streams(rank_env *env, input *in);

#endif

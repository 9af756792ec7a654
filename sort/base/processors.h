/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moved to pool.h. */
#include "pool.h"

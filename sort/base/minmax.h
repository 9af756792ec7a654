/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moved to arith.h. */
#include "arith.h"

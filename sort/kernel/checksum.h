/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moved to inspect.h. */
#include "inspect.h"

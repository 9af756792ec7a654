/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moved to check.h. */
#include "check.h"

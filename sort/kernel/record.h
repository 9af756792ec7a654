/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moved to key.h. */
#include "key.h"

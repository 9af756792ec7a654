/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moved to gather.h. */
#include "gather.h"

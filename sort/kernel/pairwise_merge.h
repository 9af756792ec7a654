/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moved to merge.h. */
#include "merge.h"

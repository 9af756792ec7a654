/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A manifest is known by its first member. */
#include "head.h"
#include "manifest.h"

head_kind head_judge(const char *text, size_t bytes)
{
	return manifest_begins(text, bytes) ? HEAD_MANIFEST : HEAD_ANY;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nearest.h - finds the word that was probably meant, for the messages of all programs. */
#ifndef NEAREST_H
#define NEAREST_H

#include <stddef.h>
#include <string.h>

enum { NEAREST_BYTES = 64 }; /* longer words are not compared */

/* nearest_word - return the word that the n letters of `name` were probably meant to be, or NULL.
 * At most two letters may have to be added, dropped or replaced (Levenshtein's distance), and fewer
 * than half of the letters of the longer word. table: entries of entry_bytes, such as getopt's
 * struct option, that begin with a pointer to a word; the last one is NULL. */
static inline const char *nearest_word(const char *name, size_t n, const void *table,
				       size_t entry_bytes)
{
	const char *best = NULL, *word;
	size_t least = 3, row[NEAREST_BYTES];
	for (const char *at = (const char *)table; n < NEAREST_BYTES; at += entry_bytes) {
		memcpy(&word, at, sizeof word);
		if (!word)
			break;
		const size_t m = strlen(word);
		for (size_t k = 0; k <= n; k++)
			row[k] = k;
		for (size_t i = 0; i < m; i++) {
			size_t corner = row[0]++; /* edits without the last letter of both */
			for (size_t k = 1; k <= n; k++) {
				const size_t replaced = corner + (name[k - 1] != word[i]);
				corner = row[k];
				const size_t other =
					1 + (row[k - 1] < corner ? row[k - 1] : corner);
				row[k] = replaced < other ? replaced : other;
			}
		}
		if (row[n] < least && 2 * row[n] < (m > n ? m : n)) {
			least = row[n];
			best = word;
		}
	}
	return best;
}

#endif

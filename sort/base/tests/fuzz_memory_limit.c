/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzzer of the limits of memory and processors: any text as --memory, and any bytes as files of
 * /proc and /sys. The input is a machine as in fixtures/memory_limit: a line "want NODE PROCESS
 * MEMORY", then files, each after a line "== PATH". sysfile.c is compiled here with a replacement
 * of fopen that reads files from memory, so an input takes microseconds. */
#include "../../../scripts/fuzz.h"
#include "base/limit.h"

#include <math.h>
#include <stdio.h>

static FILE *fopen_tree(const char *path, const char *mode);
#define fopen fopen_tree
#include "base/sysfile.c"
#undef fopen

static char *tree; /* the input as text, zero bytes and all */
static size_t tree_bytes;

/* Return where the line after the line at p starts. */
static size_t line_end(size_t p)
{
	const char *nl = p < tree_bytes ? memchr(tree + p, '\n', tree_bytes - p) : NULL;
	return nl ? (size_t)(nl - tree) + 1 : tree_bytes;
}

static bool is_head(size_t p)
{
	return tree_bytes - p >= 3 && memcmp(tree + p, "== ", 3) == 0;
}

/* Return whether the line at p, which is a head, names this path. */
static bool names(size_t p, const char *path)
{
	const size_t n = strlen(path), end = line_end(p);
	return end - p >= 3 + n && memcmp(tree + p + 3, path, n) == 0 &&
	       (end - p == 3 + n || tree[p + 3 + n] == '\n');
}

static FILE *fopen_tree(const char *path, const char *mode)
{
	for (size_t p = 0; p < tree_bytes; p = line_end(p)) {
		if (!is_head(p) || !names(p, path))
			continue;
		const size_t from = line_end(p);
		size_t to = from;
		while (to < tree_bytes && !is_head(to))
			to = line_end(to);
		return to > from ? fmemopen(tree + from, to - from, "r") : fopen("/dev/null", mode);
	}
	return NULL;
}

static void check_parse(const char *text, memory_wish *w)
{
	err e = { ST_OK, "" };
	const status rc = memory_limit_parse(text, w, &e);
	fuzz_check(rc == e.code);
	if (rc == ST_OK)
		fuzz_check(!w->bytes != !w->micropercent && w->micropercent <= 100000000);
	else
		fuzz_check(rc == ST_REFUSED && e.text[0] && fuzz_clean(e.text));
}

/* Return the memory of this machine that a rank may use. */
static uint64_t room(const memory_limit_query *q)
{
	memory_limit l;
	err e = { ST_OK, "" };
	const status rc = memory_limit_find(q, &l, &e);
	fuzz_check(rc == e.code && (rc == ST_OK || rc == ST_REFUSED));
	if (rc != ST_OK) {
		fuzz_check(q->wish.micropercent && e.text[0] && fuzz_clean(e.text));
		return 0;
	}
	fuzz_check(memchr(l.text, '\0', sizeof l.text) && l.text[0] && fuzz_clean(l.text));
	fuzz_check(!q->wish.bytes || l.rank_bytes <= q->wish.bytes / q->node_ranks);
	return l.rank_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char memory[40] = "-";
	unsigned node = 1, process = 1;
	memory_limit_query q = { .root = "" };
	tree = malloc(size + 1);
	tree_bytes = size;
	fuzz_check(tree != NULL);
	if (size)
		memcpy(tree, data, size);
	tree[size] = '\0';
	(void)sscanf(tree, "want %9u %9u %39s", &node, &process, memory);
	if (strcmp(memory, "-") != 0)
		check_parse(memory, &q.wish);
	q.node_ranks = node % 10000 + 1;
	q.process_ranks = process % 10000 + 1;
	const uint64_t some = room(&q);
	fuzz_check(room(&q) == some);
	q.node_ranks++;
	q.process_ranks++;
	fuzz_check(room(&q) <= some);
	fuzz_check(isfinite(quota_find("").cpus) && quota_find("").cpus >= 0);
	free(tree);
	return 0;
}

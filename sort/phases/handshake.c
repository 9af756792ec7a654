/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first message, rank 0's to all, to which each compares its own. Its size and the places in it
 * are the same in all versions, or two of them could not tell that they differ. What it holds
 * decides whether the bytes of later messages mean the same to all. */
#include "handshake.h"
#include "exchange/block.h"
#include "exchange/splitter_search.h"

#include <inttypes.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Raise it when ranks come to say other things to each other, or in another order, or to compute
 * in another way what each computes for itself and all have to have alike. */
enum { PROTOCOL = 4 };

enum { HANDSHAKE_BYTES = 256, TEXT_BYTES = 32 };

typedef struct greeting {
	char version[TEXT_BYTES];
	char protocol[TEXT_BYTES];
	char order[TEXT_BYTES];
	char sizes[TEXT_BYTES];
	char layout[2 * TEXT_BYTES];
	char options[TEXT_BYTES]; /* their sum */
	char reserved[HANDSHAKE_BYTES - 7 * TEXT_BYTES];
} greeting;

_Static_assert(sizeof(greeting) == HANDSHAKE_BYTES, "the same size in all versions");

/* What shapes messages: a changed struct or enum shows here, also where PROTOCOL was forgotten. */
static const uint64_t shapes[] = {
	/* structs that travel as they are */
	sizeof(item),
	offsetof(item, rank),
	offsetof(item, tail),
	sizeof(range),
	sizeof(rates),
	sizeof(checksum),
	sizeof(block_header),
	offsetof(block_header, block),
	offsetof(block_header, sum),
	sizeof(part_summary),
	offsetof(part_summary, sum_in),
	sizeof(rank_result),
	offsetof(rank_result, phase_s),
	offsetof(rank_result, rate),
	offsetof(rank_result, planned_in),
	offsetof(rank_result, adapt_state),
	offsetof(rank_result, exchange),
	offsetof(rank_result, read_bytes),
	offsetof(rank_result, io),
	offsetof(rank_result, limit_bytes),
	offsetof(rank_result, limit_text),
	offsetof(rank_result, left_out),
	offsetof(rank_result, sum_in),
	offsetof(rank_result, status),
	offsetof(rank_result, text),
	sizeof(io_stats),
	/* values of enums in them */
	PHASES,
	ADAPT_CHANGED,
	EXCHANGE_WAYS,
	PLAN_ONLINE,
	SCATTER_DYNAMIC,
	STRATEGIES,
	IO_THREADS,
	ST_INTERNAL,
	ST_SIGNAL,
	/* sizes of what has no struct */
	HOST_BYTES,
	COMM_TAGS,
	ERR_TEXT_BYTES,
	LIMIT_TEXT_BYTES,
	LEFT_OUT_TEXT_BYTES,
	IO_TEXT_BYTES,
	MAX_RECORD_BYTES,
};

/* Text, so that it reads the same whatever the byte order, and can be shown. */
static const struct field {
	const char *name; /* what is "another ..." */
	const char *fault;
	size_t at, bytes;
} fields[] = {
	{ "version", "version", offsetof(greeting, version), TEXT_BYTES },
	{ "protocol", "protocol", offsetof(greeting, protocol), TEXT_BYTES },
	{ "byte order", "order", offsetof(greeting, order), TEXT_BYTES },
	{ "set of type sizes", "sizes", offsetof(greeting, sizes), TEXT_BYTES },
	{ "record layout", "layout", offsetof(greeting, layout), 2 * TEXT_BYTES },
};

static void fill_in(greeting *g, const settings *o)
{
	const uint16_t one = 0x0102;
	const unsigned char *first = (const void *)&one;
	char key[KEY_TEXT_BYTES];
	*g = (greeting){ HETSORT_VERSION, "", "", "", "", "", "" };
	snprintf(g->protocol, sizeof g->protocol, "%d.%016" PRIx64, PROTOCOL,
		 (uint64_t)XXH3_64bits(shapes, sizeof shapes));
	snprintf(g->order, sizeof g->order, "%s", *first == 2 ? "little-endian" : "big-endian");
	snprintf(g->sizes, sizeof g->sizes, "%zu,%zu,%zu,%zu,%zu", sizeof(void *), sizeof(size_t),
		 sizeof(item), sizeof(rank_result), sizeof(checksum));
	/* what does not fit is part of the options' sum */
	snprintf(g->layout, sizeof g->layout, "%" PRIu32 " bytes, key %.40s", o->lay.record_bytes,
		 layout_key_text(&o->lay, key));
	snprintf(g->options, sizeof g->options, "%016" PRIx64, o->sum);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (FAIL_DIFFER(fields[i].fault))
			((char *)g)[fields[i].at] ^= 1;
}

/* What is no hetsort may send texts without an end. */
static void end_texts(greeting *g)
{
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		((char *)g)[fields[i].at + fields[i].bytes - 1] = '\0';
}

static status compare(const greeting *mine, const greeting *first, err *e)
{
	char q[QUOTED_BYTES], q0[QUOTED_BYTES];
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const char *a = (const char *)mine + fields[i].at;
		const char *b = (const char *)first + fields[i].at;
		if (memcmp(a, b, fields[i].bytes) != 0)
			return err_set(e, ST_PEER, "it has another %s than rank 0: %s, there %s",
				       fields[i].name, err_quoted(a, q), err_quoted(b, q0));
	}
	if (memcmp(mine->options, first->options, sizeof mine->options) != 0)
		return err_set(e, ST_PEER, "started with other options than rank 0");
	return ST_OK;
}

status handshake(rank_env *env)
{
	greeting mine;
	fill_in(&mine, env->o);
	greeting first = mine;
	status rc = comm_bcast(env->c, &first, sizeof first, 0);
	end_texts(&mine);
	end_texts(&first);
	if (rc == ST_OK)
		rc = compare(&mine, &first, &env->e);
	return comm_agree(env->c, rc); /* all leave, also those that are like rank 0 */
}

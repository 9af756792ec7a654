/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange and merge of sorted records. A rank divides its part of the output into lanes: ranges of
 * consecutive records. Each lane has threads of its own, which send, receive, merge and write its
 * records, so a rank with many processors uses all of them. */
#ifndef HETSORT_EXCHANGE_LANES_H
#define HETSORT_EXCHANGE_LANES_H

#include "stream_merge.h"

/* lanes_windows_bytes - return the bytes of the windows of all lanes of a rank, from the mean bytes
 * of a rank and the least memory limit of any rank. The size of blocks depends on them, so they are
 * the same on all ranks. */
uint64_t lanes_windows_bytes(uint64_t mean, int ranks, uint64_t least_limit_bytes);

/* lanes_wanted - return how many lanes a rank with this number of threads uses for out_bytes of
 * output. The windows of the exchange have windows_bytes, the job has `ranks` ranks. on_disk: the
 * records are in runs on disk. why: receives what limits the number, a static text. */
unsigned lanes_wanted(unsigned threads, uint64_t out_bytes, uint64_t windows_bytes, int ranks,
		      bool on_disk, const char **why);

/* lanes_spread - let ranks with few lanes use more of them if the lanes of a sender would otherwise
 * have very different work.
 * used   [ranks] the lanes that each rank wants, at most `lanes`; receives those that it uses.
 * share  [ranks] the records that each rank writes. */
void lanes_spread(uint32_t *used, const uint64_t *share, size_t ranks, size_t lanes);

/* lanes_targets - set target[rank * lanes + i] to the records before the end of lane i of each
 * rank, for share[rank] records of which `used[rank]` lanes get equal parts; the others are empty.
 * With one lane, `used` may be NULL. */
void lanes_targets(const uint64_t *share, const uint32_t *used, size_t ranks, size_t lanes,
		   uint64_t *target);

typedef struct lanes_plan {
	comm *c;
	mem *m;
	sorted *of;
	const uint64_t *cut;    /* [(size * lanes + 1) * runs], see splitter_search_end */
	size_t lanes;           /* of each rank; the same on all ranks */
	uint64_t ahead_bytes;   /* memory per stream to read ahead from disk */
	uint64_t windows_bytes; /* of all lanes together; the same on all ranks */
	uint64_t wanted;        /* records that this rank receives */
	uint64_t total;         /* records of all ranks */
	const int32_t *rank_at; /* [size] the order of equal keys; NULL: by rank */
	uint32_t own_place;     /* of this rank in this order */
	bool folds;             /* fold records with equal keys before they are sent */
	bool threads;           /* the exchange may start threads */
} lanes_plan;

/* A lane. */
typedef struct merge_lane {
	merge_sink to;  /* set by the caller before lanes_run: where its records go */
	uint64_t first; /* records of this rank before the lane */
	uint64_t recs;  /* of the lane */
	uint64_t *recv; /* [size] records from each rank */
	outgoing out;
	exchange *x;
	stream_merge merge;
	struct lane_set *of;
	exchange_times times;
	status rc;
	err e;
} merge_lane;

typedef struct lane_set {
	lanes_plan p;
	merge_lane *lane; /* [p.lanes] */
	uint64_t *count;  /* memory of recv, and of the messages about it */
	exchange **x;     /* [p.lanes] */
	atomic_int readers;
} lane_set;

/* lanes_open - collective: open the streams of all lanes, let all ranks announce how many records
 * they send, and open the windows. Close the lanes after a failure, too. */
status lanes_open(lane_set *l, const lanes_plan *p, err *e);

/* lanes_run - collective: exchange and merge. *times: averages of the lanes. */
status lanes_run(lane_set *l, exchange_times *times, err *e);

/* lanes_sent, lanes_received - after lanes_run, return the records to and from a rank, in all
 * lanes. lanes_dropped - return those that were folded into others before they were sent. */
uint64_t lanes_sent(const lane_set *l, int rank);
uint64_t lanes_received(const lane_set *l, int rank);
dropped lanes_dropped(const lane_set *l);

/* lanes_close - free everything. After lanes_run, first let all ranks agree: until then another
 * rank may report a block that this rank has sent or freed. */
void lanes_close(lane_set *l);

/* lanes_most_bytes - return the most memory that lanes_open allocates for `recs` records. Add what
 * outgoing_most_bytes says. */
uint64_t lanes_most_bytes(uint64_t recs, size_t record_bytes, uint64_t windows_bytes, int ranks,
			  bool inside, size_t lanes);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of a sort, and the names of their choices. */
#ifndef HETSORT_BASE_SETTINGS_H
#define HETSORT_BASE_SETTINGS_H

#include "layout.h"
#include "limit.h"
#include "status.h"

#include <stdatomic.h>

typedef enum plan_kind {
	PLAN_EQUAL,
	PLAN_LINEAR,
	PLAN_NLOGN,
	PLAN_TAYLOR,
	PLAN_ASYMPTOTIC,
	PLAN_ONLINE
} plan_kind;
typedef enum scatter_kind {
	SCATTER_EQUAL,
	SCATTER_SPEED,
	SCATTER_BALANCED,
	SCATTER_DYNAMIC
} scatter_kind;
typedef enum strategy { BY_MERGING, BY_DISTRIBUTING, STRATEGIES } strategy; /* steps: job.c */

typedef enum direct_io { DIRECT_AUTO, DIRECT_ALWAYS, DIRECT_NEVER } direct_io;
typedef enum verify_kind { VERIFY_BUFFERS, VERIFY_REREAD } verify_kind;
typedef enum bind_kind { BIND_AUTO, BIND_NONE } bind_kind;
typedef enum launcher_kind { LAUNCHER_AUTO, LAUNCHER_MPI, LAUNCHER_NONE } launcher_kind;
typedef enum wish {
	WISH_SORT,
	WISH_CLEAN,
	WISH_CHECK, /* of manifests */
	WISH_ORDER, /* check that files are sorted */
	WISH_ORDER_SILENT,
	WISH_HELP,
	WISH_VERSION
} wish;

enum { MAX_TMPDIRS = 64, EMULATE_BEST = -1 };

/* The least gain for which output shares are planned again during a job. Not constants, so that
 * tests can require less. */
typedef struct adapt_rule {
	enum { ADAPT_AUTO, ADAPT_ALWAYS, ADAPT_NEVER } when;
	double gain;    /* as a fraction of the predicted time left, 0 to 1 */
	double saved_s; /* and in seconds */
} adapt_rule;

/* The largest header or trailer of a file, because it is held in memory. */
enum { FRAME_MOST_BYTES = 256 << 20 };

/* The bytes of a file before and after its records. */
typedef struct framing {
	uint64_t header_bytes, trailer_bytes;
	uint64_t records; /* number of records, after which the trailer begins; 0: all */
} framing;

/* How a record in an input file becomes a record in memory, and that one a record in the output
 * (io/shape.h). A record in memory begins with pieces of the record in the file. Zeros follow, and
 * the number of the record in the input is stored in a field. */
typedef struct shape {
	uint32_t file_bytes; /* of a record in a file; 0: it is the same in memory */
	uint32_t pieces;
	struct {
		uint32_t off, bytes;
	} piece[KEY_FIELDS_MAX];
	uint32_t out_off, out_bytes; /* what is written; 0 bytes: the whole record in memory */
	key_field number;            /* 0 bytes: not stored */
	uint64_t before;             /* records of the inputs of lower ranks */
	/* instead of the numbers from place_first on, store place[0 .. places); NULL: the numbers
	 */
	const uint64_t *place;
	uint64_t place_first, places;
} shape;

/* Sizes that only tests set, to small values, so that a few records reach code that otherwise needs
 * many gigabytes. 0: the usual size. */
typedef struct test_sizes {
	size_t bucket_recs;   /* records of a bucket in memory */
	size_t sampled_bytes; /* shorter inputs are neither sampled nor mapped */
	size_t run_recs;      /* records of a run on disk; any sort spills then */
	size_t lanes;         /* of each rank */
} test_sizes;

typedef struct settings {
	wish wish;
	const char *const *inputs; /* point into argv, or into the list of files0_from */
	size_t ninputs;
	const char *files0_from; /* a list of the inputs' names; NULL: operands */
	const char *output;      /* NULL only with explain */
	const char *order_out;   /* the output, which receives only numbers; NULL: not requested */
	const char *apply;       /* a file with the numbers of the records to write; NULL: none */
	const char *manifest;    /* NULL: named after the output */
	const char *report;      /* NULL: none */
	const char *trace;       /* NULL: none */
	const char *html;        /* the report as a page; NULL: none */
	const char *sim_platform, *sim_report; /* of hetsim; NULL: none */
	const char *speeds; /* a list of numbers or a file's name; NULL: measured on several hosts,
			       equal on one */
	const char *wisdom; /* a directory or a file for --plan=online; NULL: the usual place */
	bool calibrate;     /* measure the speeds in any case, and the disk for predictions */
	const char *links;  /* rates in the form of speeds; NULL: not known, or measured */
	bool measure_links; /* even if the speeds are not measured */
	const char *disks;  /* rates in the form of speeds; NULL: not known */
	bool from_root;     /* only rank 0 has the input */
	scatter_kind scatter;
	plan_kind plan;
	strategy strategy;
	adapt_rule adapt;
	layout lay;
	bool layout_named; /* options give the layout; otherwise --check takes it from a manifest */
	uint64_t header_bytes;  /* before the records of each input, and of the first output */
	uint64_t trailer_bytes; /* after the records of each input, and of the last output */
	uint64_t records;       /* number in each input, before its trailer; 0: all */
	unsigned exchange_threads;
	int ranks;        /* number of ranks as threads, if no launcher is used; 0: one */
	int emulate;      /* number of equal virtual ranks in the job; 0: none; or EMULATE_BEST */
	unsigned threads; /* of each rank; 0: its part of the node's processors */
	bind_kind bind;
	launcher_kind launcher;
	direct_io direct;
	verify_kind verify; /* how the output is compared with the input */
	memory_wish memory;
	const char *tmpdir[MAX_TMPDIRS]; /* in argv */
	size_t tmpdirs;                  /* 0: $TMPDIR or the output's directory */
	const char *workdir;             /* directory for runs that are kept; NULL: none */
	bool resume;                     /* continue with the runs in workdir */
	size_t max_message;              /* bytes */
	const test_sizes *test_sizes;    /* only in tests; NULL: the usual sizes */
	unsigned timeout_s;              /* limit of the time without progress; 0: none */
	int progress_s; /* between progress lines; 0: only on a terminal; below 0: never */
	bool stable, reverse, force, fsync, explain;
	bool merge;              /* each input is already sorted */
	bool with_sum;           /* print count and checksum of the records checked */
	bool partition_only;     /* send records to their ranks, but do not sort them there */
	bool unique;             /* write only the first of records with equal keys */
	uint64_t top;            /* the most records to write; 0: all */
	uint32_t append;         /* zeros after each record, part of lay.record_bytes */
	shape shape;             /* with append and number; --number is part of it */
	int verbosity;           /* -1 quiet, 0, 1 verbose */
	int64_t started_s;       /* by the wall clock */
	const char *commit;      /* Git commit of this program; NULL: not known */
	uint64_t sum;            /* hash of the options that must be the same on all ranks */
	const atomic_bool *stop; /* if set, stop before the next phase; NULL: never */
} settings;

/* test_sizes_of - return the sizes of a sort: all 0 except in tests. */
static inline const test_sizes *test_sizes_of(const settings *o)
{
	static const test_sizes usual;
	return o->test_sizes ? o->test_sizes : &usual;
}

/* Words on the command line for the values of these settings, in the order of the values. Each list
 * ends with NULL. */
extern const char *const plan_names[];
extern const char *const strategy_names[];
extern const char *const source_names[];
extern const char *const scatter_names[];
extern const char *const direct_names[];
extern const char *const verify_names[];
extern const char *const bind_names[];
extern const char *const launcher_names[];

enum { SELECTION_TEXT_BYTES = 256 + FOLD_TEXT_BYTES };

/* settings_selection_text - write the options that select records of the input and of the output,
 * as on the command line; "" if all records are selected. */
const char *settings_selection_text(const settings *o, char text[SELECTION_TEXT_BYTES]);

/* settings_drops - return whether records may be dropped from the output. */
static inline bool settings_drops(const settings *o)
{
	return o->unique || o->top;
}

/* settings_unordered - return whether the records in the output have no order of their own. */
static inline bool settings_unordered(const settings *o)
{
	return o->order_out || o->apply;
}

/* settings_gathers - return whether --apply copies records from where they are; then the records in
 * the output have no key. */
static inline bool settings_gathers(const settings *o)
{
	return o->apply && o->merge;
}

/* settings_out_bytes - return the size of a record in the output. */
static inline uint32_t settings_out_bytes(const settings *o)
{
	return o->shape.out_bytes ? o->shape.out_bytes : o->lay.record_bytes;
}

/* settings_checks_order - return whether the job checks that files are sorted, and sorts nothing.
 */
static inline bool settings_checks_order(const settings *o)
{
	return o->wish == WISH_ORDER || o->wish == WISH_ORDER_SILENT;
}

/* settings_reports - return whether the job reports its limits, resources and processors. */
static inline bool settings_reports(const settings *o)
{
	return o->report || o->html || o->explain || o->verbosity > 0;
}

/* settings_sorts_first - return whether ranks sort before the exchange, not after it. */
static inline bool settings_sorts_first(const settings *o)
{
	return o->strategy == BY_MERGING;
}

#endif

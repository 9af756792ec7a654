/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public calls over ranks. Each rank checks its arguments, all agree on the result, and then
 * the work in memory begins. The caller's communicator is only inspected and duplicated. */
#include "api.h"
#include "comm/comm_mpi.h"
#include "memory_sort.h"
#include "model/shares.h"
#include "order.h"

#include <inttypes.h>
#include <math.h>

enum kind { SHARE, SORT, COUNTS, ARGSORT, APPLY };

/* The arguments of one rank. */
typedef struct call_args {
	enum kind kind;
	const void *in;
	uint64_t n_in;
	void *out;       /* for ARGSORT, numbers */
	uint64_t room;   /* elements that out can hold; for COUNTS and APPLY, records to receive */
	uint64_t *n_out; /* NULL for COUNTS and APPLY */
	const hetsort_opts *opts;
	/* only for APPLY */
	const uint64_t *order; /* [room] */
	uint32_t record_bytes;
} call_args;

typedef struct call {
	const call_args *q;
	comm *c;
	mem m;
	err e;           /* the failure of a phase on this rank */
	hetsort_err why; /* the failure of the call */
	hetsort_opts o;
	layout lay;
	double *speed;   /* [size] as on rank 0 */
	uint64_t *share; /* [size] records that each rank receives */
	struct counts {
		uint64_t in, out;
	} * count; /* [size] records brought, and for COUNTS and APPLY to be received */
	uint64_t
		*first; /* [size + 1] number of the first record of each rank, and of all records */
} call;

/* Return whether each rank chooses the number of records that it receives. */
static bool call_has_counts(const call *k)
{
	return k->q->kind == COUNTS || k->q->kind == APPLY;
}

/* Return whether MPI has been initialized and not finalized. */
static bool mpi_is_running(void)
{
	int up = 0, down = 0;
	return MPI_Initialized(&up) == MPI_SUCCESS && MPI_Finalized(&down) == MPI_SUCCESS && up &&
	       !down;
}

/* Report that the ranks can no longer communicate. */
static hetsort_status mpi_failed(call *k)
{
	return api_fail(&k->why, HETSORT_EPEER, "MPI failed between the ranks");
}

/* Continue on all ranks or on none: the first rank that failed sends its reason to the others. */
static hetsort_status call_agree(call *k, hetsort_status mine)
{
	comm *c = k->c;
	const int32_t own = mine;
	char words[HETSORT_ERR_BYTES] = "";
	if (comm_allgather(c, &own, c->codes, sizeof own) != ST_OK)
		return mine != HETSORT_OK ? mine : mpi_failed(k);
	int who = 0;
	while (who < c->size && c->codes[who] == HETSORT_OK)
		who++;
	if (who == c->size)
		return HETSORT_OK;
	if (who == c->rank)
		memcpy(words, k->why.text, sizeof words);
	if (comm_bcast(c, words, sizeof words, who) != ST_OK)
		return mine != HETSORT_OK ? mine : mpi_failed(k);
	if (mine != HETSORT_OK)
		return mine;
	words[ERR_TEXT_BYTES] = '\0';
	return api_fail(&k->why, HETSORT_EPEER, "rank %d: %s", who, words);
}

/* The arguments that must be the same on all ranks. */
typedef struct asked {
	uint32_t size[3]; /* of the layout */
	uint32_t speeds, kind;
	char key[KEY_TEXT_BYTES];
} asked;

/* Refuse a kind of call, a layout or speeds that differ from rank 0. */
static hetsort_status same_everywhere(call *k)
{
	static const char *const name[] = { "record_bytes", "key_off", "key_bytes" };
	const size_t bytes = (size_t)k->c->size * sizeof *k->speed;
	const bool wanted = k->o.speeds != NULL;
	asked mine = { .size = { k->lay.record_bytes, k->lay.key_off, k->lay.key_bytes },
		       .speeds = wanted,
		       .kind = k->q->kind };
	(void)layout_key_text(&k->lay, mine.key);
	asked theirs = mine;
	if (comm_bcast(k->c, &theirs, sizeof theirs, 0) != ST_OK)
		return mpi_failed(k);
	hetsort_status st = HETSORT_OK;
	if (theirs.kind != mine.kind)
		st = api_fail(&k->why, HETSORT_EINVAL,
			      "this rank calls another function than rank 0");
	for (int i = 0; st == HETSORT_OK && i < 3; i++)
		if (theirs.size[i] != mine.size[i])
			st = api_fail(&k->why, HETSORT_EINVAL,
				      "%s is '%" PRIu32 "', but '%" PRIu32 "' on rank 0", name[i],
				      mine.size[i], theirs.size[i]);
	if (st == HETSORT_OK && strcmp(theirs.key, mine.key) != 0)
		st = api_fail(&k->why, HETSORT_EINVAL, "key is '%.200s', but differs on rank 0",
			      mine.key);
	if (st == HETSORT_OK && theirs.speeds != mine.speeds)
		st = api_fail(&k->why, HETSORT_EINVAL, "speeds are %s, but not on rank 0",
			      mine.speeds ? "given" : "NULL");
	st = call_agree(k, st);
	for (int i = 0; i < k->c->size; i++)
		k->speed[i] = wanted ? k->o.speeds[i] : 1;
	if (st != HETSORT_OK || !wanted)
		return st;
	if (comm_bcast(k->c, k->speed, bytes, 0) != ST_OK)
		return mpi_failed(k);
	if (memcmp(k->speed, k->o.speeds, bytes) != 0)
		st = api_fail(&k->why, HETSORT_EINVAL, "speeds differ from the speeds on rank 0");
	return call_agree(k, st);
}

/* Add up the records that ranks bring and receive; if a sum is invalid, all ranks refuse it. If the
 * caller states no counts, compute the shares on rank 0, and send them to the other ranks. */
static hetsort_status call_divide(call *k)
{
	const bool given = call_has_counts(k);
	const struct counts mine = { k->q->n_in, given ? k->q->room : 0 };
	const size_t p = (size_t)k->c->size;
	uint64_t wished = 0;
	bool over = false;
	if (comm_allgather(k->c, &mine, k->count, sizeof mine) != ST_OK)
		return mpi_failed(k);
	for (size_t i = 0; i < p; i++) {
		over |= __builtin_add_overflow(k->first[i], k->count[i].in, &k->first[i + 1]);
		over |= __builtin_add_overflow(wished, k->count[i].out, &wished);
		k->share[i] = k->count[i].out;
	}
	if (over || k->first[p] > INT64_MAX / k->lay.record_bytes)
		return api_fail(&k->why, HETSORT_ERANGE,
				"all ranks together have too many records");
	if (k->q->kind == COUNTS && wished != k->first[p])
		return api_fail(&k->why, HETSORT_EINVAL,
				"the sum of n_out over all ranks is '%" PRIu64
				"' records, the sum of n_in is %" PRIu64,
				wished, k->first[p]);
	if (given)
		return HETSORT_OK;
	if (k->c->rank == 0)
		(void)shares_by_speed(PLAN_LINEAR, k->first[p], k->speed, p, k->share, &k->e);
	const hetsort_status st = call_agree(k, api_failed(&k->why, &k->e));
	return st == HETSORT_OK && comm_bcast(k->c, k->share, p * sizeof *k->share, 0) != ST_OK
		       ? mpi_failed(k)
		       : st;
}

static hetsort_status call_work(call *k)
{
	const call_args *q = k->q;
	const int rank = k->c->rank;
	const memory_job j = { .c = k->c,
			       .m = &k->m,
			       .e = &k->e,
			       .lay = k->lay,
			       .in = q->in,
			       .n_in = q->n_in,
			       .out = q->out,
			       .share = k->share,
			       .records = k->first[k->c->size],
			       .threads = k->o.threads,
			       .exchange_threads = k->o.exchange_threads };
	const status rc = q->kind == ARGSORT ? order_sort(&j, k->first[rank], q->out)
			  : q->kind == APPLY
				  ? order_apply(&j, k->first, q->order,
						order_chunk(k->lay.record_bytes, k->c->size))
				  : memory_sort(&j);
	if (atomic_load(&k->c->broken))
		return mpi_failed(k);
	const hetsort_status st = call_agree(k, api_failed(&k->why, &k->e));
	if (st == HETSORT_OK && rc != ST_OK)
		return api_fail(&k->why, HETSORT_EINTERNAL, "the call failed without a reason");
	return st;
}

/* Do the work of a call that all ranks have begun. st: this rank's status so far. */
static hetsort_status call_with_ranks(call *k, hetsort_status st)
{
	const size_t p = (size_t)k->c->size;
	const double *speed = k->o.speeds;
	for (int i = 0; st == HETSORT_OK && speed && i < k->c->size; i++)
		if (!isfinite(speed[i]) || speed[i] <= 0)
			st = api_fail(&k->why, HETSORT_EINVAL,
				      "speeds[%d] is '%g': must be a finite number above 0", i,
				      speed[i]);
	st = call_agree(k, st);
	if (st == HETSORT_OK) {
		k->speed = mem_array(&k->m, p, sizeof *k->speed, "speeds", &k->e);
		k->share = mem_array(&k->m, p, sizeof *k->share, "shares", &k->e);
		k->count = mem_array(&k->m, p, sizeof *k->count, "counts", &k->e);
		k->first = mem_array(&k->m, p + 1, sizeof *k->first, "counts", &k->e);
		st = call_agree(k, api_failed(&k->why, &k->e));
	}
	if (st == HETSORT_OK)
		st = same_everywhere(k);
	if (st == HETSORT_OK)
		st = call_divide(k);
	if (st == HETSORT_OK) {
		const uint64_t share = k->share[k->c->rank];
		if (k->q->n_out)
			*k->q->n_out = share;
		if ((k->q->kind == SORT || k->q->kind == ARGSORT) && share > k->q->room)
			st = api_fail(&k->why, HETSORT_ERANGE,
				      "the share is '%" PRIu64
				      "' records, %s has room for %" PRIu64,
				      share, k->q->kind == SORT ? "out" : "order", k->q->room);
		else
			st = api_count(k->lay.record_bytes, share, "the share", &k->why);
		st = call_agree(k, st);
	}
	if (st == HETSORT_OK && k->q->kind != SHARE)
		st = call_work(k);
	mem_free(&k->m, k->speed);
	mem_free(&k->m, k->share);
	mem_free(&k->m, k->count);
	mem_free(&k->m, k->first);
	return st;
}

/* Check the arguments that this rank can check by itself. */
static hetsort_status call_check(call *k)
{
	const call_args *q = k->q;
	const bool sorts = q->kind == ARGSORT, applies = q->kind == APPLY;
	hetsort_status st = api_opts(&k->o, q->opts, &k->why);
	if (call_has_counts(k))
		k->o.speeds = NULL;
	if (applies) { /* the record is its key, because the key is not used */
		k->o.record_bytes = k->o.key_bytes = q->record_bytes;
		k->o.key_off = 0;
		k->o.key = NULL;
	}
	if (st == HETSORT_OK)
		st = api_layout(&k->lay, &k->o, &k->why);
	if (st != HETSORT_OK)
		return st;
	if (!call_has_counts(k) && !q->n_out)
		return api_fail(&k->why, HETSORT_EINVAL, "n_out is NULL");
	if (q->kind == SHARE)
		return api_count(k->lay.record_bytes, q->n_in, "in", &k->why);
	const api_array a[] = { { q->in, q->n_in, k->lay.record_bytes, "in" },
				{ q->order, applies ? q->room : 0, sizeof *q->order, "order" },
				{ q->out, q->room, sorts ? sizeof *q->order : k->lay.record_bytes,
				  sorts ? "order" : "out" } };
	return api_arrays(a, 3, &k->why);
}

/* Execute a call from beginning to end. */
static hetsort_status call_execute(const call_args *q, MPI_Comm parent, hetsort_err *he)
{
	call k = { .q = q };
	if (q->n_out)
		*q->n_out = 0;
	/* the ranks cannot agree on the result without a communicator */
	int inter = 0;
	const char *no = !mpi_is_running()         ? "MPI is not running"
			 : parent == MPI_COMM_NULL ? "the communicator is MPI_COMM_NULL"
			 : MPI_Comm_test_inter(parent, &inter) != MPI_SUCCESS || inter
				 ? "the communicator is an intercommunicator"
				 : NULL;
	if (no)
		return api_return(he, &k.why, api_fail(&k.why, HETSORT_EINVAL, "%s", no));
	const hetsort_status mine = call_check(&k);
	if (comm_mpi_open(&k.c, parent, NULL, COMM_MAX_MSG, &k.e) != ST_OK)
		return api_return(he, &k.why, api_failed(&k.why, &k.e));
	const hetsort_status st = call_with_ranks(&k, mine);
	comm_mpi_close(k.c);
	if (q->n_out && st != HETSORT_OK && st != HETSORT_ERANGE)
		*q->n_out = 0;
	return api_return(he, &k.why, st);
}

hetsort_status hetsort_share(uint64_t n_in, uint64_t *n_out, const hetsort_opts *opts,
			     MPI_Comm parent, hetsort_err *he)
{
	const call_args q = { .kind = SHARE, .n_in = n_in, .n_out = n_out, .opts = opts };
	return call_execute(&q, parent, he);
}

hetsort_status hetsort_sort(const void *in, uint64_t n_in, void *out, uint64_t room,
			    uint64_t *n_out, const hetsort_opts *opts, MPI_Comm parent,
			    hetsort_err *he)
{
	const call_args q = { .kind = SORT,
			      .in = in,
			      .n_in = n_in,
			      .out = out,
			      .room = room,
			      .n_out = n_out,
			      .opts = opts };
	return call_execute(&q, parent, he);
}

hetsort_status hetsort_sort_counts(const void *in, uint64_t n_in, void *out, uint64_t n_out,
				   const hetsort_opts *opts, MPI_Comm parent, hetsort_err *he)
{
	const call_args q = {
		.kind = COUNTS, .in = in, .n_in = n_in, .out = out, .room = n_out, .opts = opts
	};
	return call_execute(&q, parent, he);
}

hetsort_status hetsort_argsort(const void *in, uint64_t n_in, uint64_t *order, uint64_t room,
			       uint64_t *n_out, const hetsort_opts *opts, MPI_Comm parent,
			       hetsort_err *he)
{
	const call_args q = { .kind = ARGSORT,
			      .in = in,
			      .n_in = n_in,
			      .out = order,
			      .room = room,
			      .n_out = n_out,
			      .opts = opts };
	return call_execute(&q, parent, he);
}

hetsort_status hetsort_apply(const uint64_t *order, uint64_t n_order, const void *in, uint64_t n_in,
			     void *out, uint32_t record_bytes, const hetsort_opts *opts,
			     MPI_Comm parent, hetsort_err *he)
{
	const call_args q = { .kind = APPLY,
			      .in = in,
			      .n_in = n_in,
			      .out = out,
			      .room = n_order,
			      .opts = opts,
			      .order = order,
			      .record_bytes = record_bytes };
	return call_execute(&q, parent, he);
}

/* Convert a communicator, but only while MPI runs: otherwise the conversion would end the program.
 */
static MPI_Comm of_fortran(MPI_Fint parent)
{
	return mpi_is_running() ? MPI_Comm_f2c(parent) : MPI_COMM_NULL;
}

hetsort_status hetsort_share_f(uint64_t n_in, uint64_t *n_out, const hetsort_opts *opts,
			       MPI_Fint parent, hetsort_err *he)
{
	return hetsort_share(n_in, n_out, opts, of_fortran(parent), he);
}

hetsort_status hetsort_sort_f(const void *in, uint64_t n_in, void *out, uint64_t room,
			      uint64_t *n_out, const hetsort_opts *opts, MPI_Fint parent,
			      hetsort_err *he)
{
	return hetsort_sort(in, n_in, out, room, n_out, opts, of_fortran(parent), he);
}

hetsort_status hetsort_sort_counts_f(const void *in, uint64_t n_in, void *out, uint64_t n_out,
				     const hetsort_opts *opts, MPI_Fint parent, hetsort_err *he)
{
	return hetsort_sort_counts(in, n_in, out, n_out, opts, of_fortran(parent), he);
}

hetsort_status hetsort_argsort_f(const void *in, uint64_t n_in, uint64_t *order, uint64_t room,
				 uint64_t *n_out, const hetsort_opts *opts, MPI_Fint parent,
				 hetsort_err *he)
{
	return hetsort_argsort(in, n_in, order, room, n_out, opts, of_fortran(parent), he);
}

hetsort_status hetsort_apply_f(const uint64_t *order, uint64_t n_order, const void *in,
			       uint64_t n_in, void *out, uint32_t record_bytes,
			       const hetsort_opts *opts, MPI_Fint parent, hetsort_err *he)
{
	return hetsort_apply(order, n_order, in, n_in, out, record_bytes, opts, of_fortran(parent),
			     he);
}

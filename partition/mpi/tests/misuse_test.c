/* SPDX-License-Identifier: GPL-3.0-or-later */
/* misuse_test.c - bad arguments on only one rank. That rank returns the reason, all others name the
 * rank, none hangs, and the next call works. The caller's communicator stays as it was. */
#include "check.h"

#include <limits.h>
#include <math.h>

#include "../hm.h"

static int bad; /* the rank that misuses */

static bool here(void)
{
	return rank == bad;
}

static hetpart_status nothing(void *ctx, const hetpart_mpi_chunk *chunk, const void **result,
			      size_t *result_bytes, hetpart_err *err)
{
	(void)ctx, (void)chunk, (void)result, (void)result_bytes, (void)err;
	return HETPART_OK;
}

static hetpart_status no_kernel(void *ctx, uint64_t items, hetpart_err *err)
{
	(void)ctx, (void)items, (void)err;
	return HETPART_OK;
}

/* ---------------------------------------------------------------------------------- scatter */

/* The mistakes of the bad rank. Any rank can make the ones before ROOT_ONLY. */
enum misuse {
	NO_RECEIVED,
	NO_RECVBUF,
	NULL_TYPE,
	OPEN_TYPE,
	OTHER_SIZE,
	ROOT_NEGATIVE,
	ROOT_TOO_LARGE,
	OTHER_ROOT,
	OLD_STRUCT,
	UNKNOWN_BIT,
	BAD_COST,
	ROOT_ONLY,
	NO_SENDBUF,
	NULL_SENDTYPE,
	OPEN_SENDTYPE,
	TOO_MANY,
	NO_SHARES,
	BAD_METHOD,
	NO_SPEED,
	BAD_ORDER,
	OTHER_PLAN,
	OTHER_RANKS,
	MISUSES
};

struct larger {
	hetpart_mpi_scatter_opts opts;
	char more[8];
};

struct call {
	struct larger o;
	const void *out;
	uint64_t count, *received;
	MPI_Datatype send, recv;
	void *in;
	int root;
	size_t *order;
	hetpart_plan *plan;
};

static void spoil_any(struct call *c, enum misuse what, MPI_Datatype open)
{
	if (what == NO_RECEIVED)
		c->received = NULL;
	if (what == NO_RECVBUF)
		c->in = NULL;
	if (what == NULL_TYPE || what == OPEN_TYPE)
		c->recv = what == NULL_TYPE ? MPI_DATATYPE_NULL : open;
	if (what == OTHER_SIZE)
		c->recv = MPI_INT;
	if (what == ROOT_NEGATIVE || what == ROOT_TOO_LARGE)
		c->root = what == ROOT_NEGATIVE ? -1 : size;
	if (what == OTHER_ROOT)
		c->root = (c->root + 1) % size;
	if (what == OLD_STRUCT)
		c->o.opts.struct_size--;
	if (what == UNKNOWN_BIT) {
		c->o.opts.struct_size = sizeof c->o;
		c->o.more[3] = 1;
	}
	if (what == BAD_COST)
		c->o.opts.link.per_item_s = NAN;
}

/* Make a plan for one more rank, without the other ranks. */
static hetpart_plan *wide_plan(uint64_t items)
{
	double *speed = calloc((size_t)size + 1, sizeof *speed);
	hetpart_cost *linear = NULL;
	hetpart_plan *plan = NULL;
	hetpart_err err = { HETPART_OK, "" };

	for (int i = 0; speed && i <= size; i++)
		speed[i] = 1;
	CHECK(speed && hetpart_cost_linear(&linear, 1, &err) == HETPART_OK &&
		      hetpart_share_create(&plan, items, speed, (size_t)size + 1, linear, NULL,
					   &err) == HETPART_OK,
	      "%s", err.text);
	hetpart_cost_free(linear);
	free(speed);
	return plan;
}

static void spoil_root(struct call *c, enum misuse what, MPI_Datatype open)
{
	if (what == NO_SENDBUF)
		c->out = NULL;
	if (what == NULL_SENDTYPE || what == OPEN_SENDTYPE)
		c->send = what == NULL_SENDTYPE ? MPI_DATATYPE_NULL : open;
	if (what == TOO_MANY)
		c->count = HETPART_ITEMS_MAX + 1;
	if (what == NO_SHARES)
		c->o.opts.shares = (hetpart_mpi_shares)3;
	if (what == BAD_METHOD)
		c->o.opts.method = (hetpart_scatter_method)77;
	if (what == NO_SPEED)
		c->o.opts.compute.per_item_s = 0;
	if (what == BAD_ORDER || what == OTHER_PLAN)
		c->o.opts.plan = c->plan;
	if (what == BAD_ORDER) {
		c->order[0] = (size_t)size;
		c->o.opts.order = c->order;
	}
	if (what == OTHER_PLAN)
		c->count--;
	if (what == OTHER_RANKS) {
		hetpart_plan_free(c->plan);
		c->o.opts.plan = c->plan = wide_plan(c->count);
	}
}

static hetpart_status scatter(const struct call *c, MPI_Comm comm, hetpart_err *err)
{
	return hetpart_mpi_scatter(c->out, c->count, c->send, c->in, 100, c->received, c->recv,
				   c->root, comm, &c->o.opts, err);
}

static hetpart_plan *plan_of(uint64_t items)
{
	hetpart_mpi_scatter_opts o = HETPART_MPI_SCATTER_OPTS_INIT;
	hetpart_plan *plan = NULL;
	hetpart_err err;

	o.shares = HETPART_MPI_EQUAL;
	IS(hetpart_mpi_scatter_plan(&plan, NULL, items, 0, MPI_COMM_WORLD, &o, &err), HETPART_OK,
	   &err, "plan");
	return plan;
}

/* Check the result: the bad rank gets `wrong`, and its message reaches all. */
static void left_together(hetpart_status st, hetpart_status wanted, const hetpart_err *err,
			  int what)
{
	char words[HETPART_ERR_BYTES] = "", prefix[32];

	CHECK(st == wanted && st == err->status, "misuse %d of rank %d: got '%s': %s", what, bad,
	      hetpart_status_text(st), err->text);
	if (here())
		strcpy(words, err->text);
	if (MPI_Bcast(words, HETPART_ERR_BYTES, MPI_CHAR, bad, MPI_COMM_WORLD) != MPI_SUCCESS)
		exit(1);
	snprintf(prefix, sizeof prefix, "rank %d: ", bad);
	CHECK(here() || (strncmp(err->text, prefix, strlen(prefix)) == 0 &&
			 strncmp(err->text + strlen(prefix), words, 100) == 0),
	      "misuse %d: '%s', not '%s'", what, err->text, words);
}

static void misuse_scatter(enum misuse what)
{
	const bool at_root = what > ROOT_ONLY;
	char out[100] = { 0 }, in[100];
	uint64_t received = 5;
	struct call c = { .o = { .opts = HETPART_MPI_SCATTER_OPTS_INIT } };
	hetpart_err err = { HETPART_OK, "" };
	MPI_Datatype open;
	hetpart_status st, wanted = what == TOO_MANY ? HETPART_ERANGE : HETPART_EINVAL;

	c = (struct call){ c.o,  out, 100, &received, MPI_BYTE, MPI_BYTE, in, at_root ? bad : 0,
			   NULL, NULL };
	c.order = calloc((size_t)size, sizeof *c.order);
	c.plan = plan_of(100);
	c.o.opts.compute.per_item_s = 1;
	CHECK(MPI_Type_contiguous(1, MPI_BYTE, &open) == MPI_SUCCESS && c.order, "type");
	if (here() && what < ROOT_ONLY)
		spoil_any(&c, what, open);
	if (here() && at_root)
		spoil_root(&c, what, open);
	st = scatter(&c, MPI_COMM_WORLD, &err);
	if (what == OTHER_ROOT) /* nobody knows who is wrong */
		CHECK(st == HETPART_EINVAL && strstr(err.text, "different roots"), "%s", err.text);
	else
		left_together(st, here() ? wanted : HETPART_EPEER, &err, (int)what);
	CHECK(received == (here() && what == NO_RECEIVED ? 5 : 0), "%d", (int)received);
	CHECK(MPI_Type_free(&open) == MPI_SUCCESS, "free");
	hetpart_plan_free(c.plan);
	free(c.order);
}

/* ------------------------------------------------------------------------------ other calls */

static void misuse_others(void)
{
	hetpart_mpi_farm_opts f = HETPART_MPI_FARM_OPTS_INIT;
	hetpart_mpi_timing t;
	hetpart_plan *plan = NULL;
	hetpart_err err = { HETPART_OK, "" };
	hetpart_model *model = NULL;
	double *speeds = calloc((size_t)size, sizeof *speeds);
	const hetpart_status wanted = here() ? HETPART_EINVAL : HETPART_EPEER;
	const hetpart_point odd = { 10, here() ? -1 : 1 };
	uint64_t got;
	int what = 100;

	IS(hetpart_model_create(&model, &err), HETPART_OK, &err, "model");
#define LEFT(call) left_together(call, wanted, &err, what++)
	LEFT(hetpart_mpi_scatter_plan(here() ? NULL : &plan, NULL, 5, 0, MPI_COMM_WORLD, NULL,
				      &err));
	LEFT(hetpart_mpi_scatter_alloc("", 0, MPI_BYTE, here() ? NULL : (void **)&plan, &got,
				       MPI_BYTE, 0, MPI_COMM_WORLD, NULL, &err));
	LEFT(hetpart_mpi_scatterv("", NULL, NULL, MPI_BYTE, NULL, 0, &got, MPI_BYTE, bad,
				  MPI_COMM_WORLD, NULL, &err));
	LEFT(hetpart_mpi_farm(5, here() ? NULL : nothing, NULL, (bad + 1) % size, MPI_COMM_WORLD,
			      NULL, NULL, &err));
	f.rule = here() ? (hetpart_chunk_rule)3 : HETPART_CHUNK_FIXED;
	LEFT(hetpart_mpi_farm(5, nothing, NULL, bad, MPI_COMM_WORLD, &f, NULL, &err));
	f.rule = HETPART_CHUNK_FIXED;
	f.item_bytes = 1; /* without data */
	LEFT(hetpart_mpi_farm(5, nothing, NULL, bad, MPI_COMM_WORLD, &f, NULL, &err));
	LEFT(hetpart_mpi_measure_compute(&t, here() ? NULL : no_kernel, NULL, 5, 0.01,
					 MPI_COMM_WORLD, &err));
	LEFT(hetpart_mpi_measure_compute(&t, no_kernel, NULL, here() ? 0 : 1, 0.01, MPI_COMM_WORLD,
					 &err));
	LEFT(hetpart_mpi_measure_compute(&t, no_kernel, NULL, 1, here() ? -1 : 0.01, MPI_COMM_WORLD,
					 &err));
	LEFT(hetpart_mpi_measure_link(here() ? NULL : &t, 1, 1, 0.01, 0, MPI_COMM_WORLD, &err));
	LEFT(hetpart_mpi_measure_link(&t, 0, 1, 0.01, bad, MPI_COMM_WORLD, &err));
	LEFT(hetpart_mpi_measure_link(&t, 1, 0, 0.01, bad, MPI_COMM_WORLD, &err));
	LEFT(hetpart_mpi_gather_speeds(here() ? NULL : speeds, 1, MPI_COMM_WORLD, &err));
	LEFT(hetpart_mpi_gather_speeds(speeds, here() ? INFINITY : 1, MPI_COMM_WORLD, &err));
	LEFT(hetpart_mpi_model_add(here() ? NULL : model, &odd, 0, 1, MPI_COMM_WORLD, &err));
	LEFT(hetpart_mpi_model_add(model, &odd, 1, 1, MPI_COMM_WORLD, &err));
	LEFT(hetpart_mpi_share_create(here() ? NULL : &plan, 5, 1, NULL, NULL, MPI_COMM_WORLD,
				      &err));
	LEFT(hetpart_mpi_share_create(&plan, 5, here() ? 0 : 1, NULL, NULL, MPI_COMM_WORLD, &err));
	CHECK(plan == NULL && hetpart_model_weight(model) == 0, "something came out");
	plan = plan_of(7);
	LEFT(hetpart_mpi_plan_agree(here() ? NULL : plan, MPI_COMM_WORLD, &err));
	hetpart_plan_free(plan);
	hetpart_model_free(model);
	free(speeds);
}

/* Check sizes and combinations that are refused, and callbacks that give no reason. */

static hetpart_status silent(void *ctx, uint64_t items, hetpart_err *err)
{
	(void)ctx, (void)items, (void)err;
	return here() ? HETPART_EIO : HETPART_OK;
}

static hetpart_status silent_work(void *ctx, const hetpart_mpi_chunk *chunk, const void **result,
				  size_t *result_bytes, hetpart_err *err)
{
	(void)ctx, (void)chunk, (void)result, (void)result_bytes, (void)err;
	return here() ? HETPART_EIO : HETPART_OK;
}

/* Make types of one byte: one that lies before its address, and one of which two are too long. */
static void odd_types(MPI_Datatype *below, MPI_Datatype *longest)
{
	const MPI_Aint before = -1;

	CHECK(MPI_Type_create_hindexed_block(1, 1, &before, MPI_BYTE, below) == MPI_SUCCESS &&
		      MPI_Type_commit(below) == MPI_SUCCESS &&
		      MPI_Type_create_resized(MPI_BYTE, 0, PTRDIFF_MAX, longest) == MPI_SUCCESS &&
		      MPI_Type_commit(longest) == MPI_SUCCESS,
	      "types");
}

/* Check the message of the bad rank. */
static void said(const char *words, const hetpart_err *err)
{
	CHECK(strstr(err->text, words) != NULL, "'%s', not '... %s ...'", err->text, words);
}

static void misuse_scatters(const char *out, char *in, uint64_t *counts, uint64_t *displs)
{
	hetpart_mpi_scatter_opts o = HETPART_MPI_SCATTER_OPTS_INIT;
	hetpart_plan *plan = plan_of(100), *none = NULL;
	hetpart_status wanted = here() ? HETPART_EINVAL : HETPART_EPEER;
	MPI_Datatype below, longest;
	hetpart_err err = { HETPART_OK, "" };
	uint64_t got;
	void *share = NULL;
	int what = 200;

	odd_types(&below, &longest);
	o.shares = HETPART_MPI_EQUAL;
	LEFT(hetpart_mpi_scatter(out, 100, MPI_BYTE, here() ? MPI_IN_PLACE : in, 100, &got,
				 MPI_BYTE, (bad + 1) % size, MPI_COMM_WORLD, &o, &err));
	said("MPI_IN_PLACE is only for the root", &err);
	LEFT(hetpart_mpi_scatter_alloc(out, 100, MPI_BYTE, &share, &got, here() ? below : MPI_BYTE,
				       bad, MPI_COMM_WORLD, &o, &err));
	said("'recvtype' reaches below its address", &err);
	o.plan = plan;
	LEFT(hetpart_mpi_scatter_plan(&none, NULL, 5, 0, MPI_COMM_WORLD, here() ? &o : NULL, &err));
	said("the options already have a plan or an order", &err);
	LEFT(hetpart_mpi_scatterv(out, counts, displs, MPI_BYTE, in, 100, &got, MPI_BYTE, bad,
				  MPI_COMM_WORLD, here() ? &o : NULL, &err));
	said("both counts and a plan are given", &err);
	o.plan = NULL;
	o.shares = here() ? (hetpart_mpi_shares)3 : HETPART_MPI_EQUAL;
	IS(hetpart_mpi_scatter_plan(&none, NULL, 5, bad, MPI_COMM_WORLD, &o, &err), HETPART_EINVAL,
	   &err, "a root that names no way to share");
	said("'3' is not a way to share", &err);
	o.shares = HETPART_MPI_EQUAL;
	wanted = here() ? HETPART_ERANGE : HETPART_EPEER;
	LEFT(hetpart_mpi_scatter(out, 100, MPI_BYTE, in, here() ? SIZE_MAX : 100, &got, MPI_BYTE, 0,
				 MPI_COMM_WORLD, &o, &err));
	said("capacity is beyond the address space", &err);
	LEFT(hetpart_mpi_scatter_alloc(out, 100, MPI_BYTE, &share, &got,
				       here() ? longest : MPI_BYTE, bad, MPI_COMM_WORLD, &o, &err));
	said("items is beyond the address space", &err);
	displs[size - 1] = PTRDIFF_MAX;
	LEFT(hetpart_mpi_scatterv(out, counts, displs, MPI_BYTE, in, 100, &got, MPI_BYTE, bad,
				  MPI_COMM_WORLD, NULL, &err));
	said("are beyond the address space", &err);
	CHECK(!share && !none, "something came out");
	CHECK(MPI_Type_free(&below) == MPI_SUCCESS && MPI_Type_free(&longest) == MPI_SUCCESS,
	      "free");
	hetpart_plan_free(plan);
}

static void misuse_sizes(hetpart_model *model)
{
	hetpart_mpi_farm_opts f = HETPART_MPI_FARM_OPTS_INIT;
	const hetpart_status wanted = here() ? HETPART_ERANGE : HETPART_EPEER;
	const hetpart_point one = { 1, 1 };
	hetpart_err err = { HETPART_OK, "" };
	int what = 300;

	LEFT(hetpart_mpi_farm(HETPART_ITEMS_MAX + 1, nothing, NULL, bad, MPI_COMM_WORLD, NULL, NULL,
			      &err));
	f.item_bytes = SIZE_MAX / 2;
	f.data = &one;
	LEFT(hetpart_mpi_farm(5, nothing, NULL, bad, MPI_COMM_WORLD, &f, NULL, &err));
	said("the items are beyond the address space", &err);
	LEFT(hetpart_mpi_model_add(model, &one, here() ? INT_MAX : 1, 1, MPI_COMM_WORLD, &err));
	said("observations are too many", &err);
	CHECK(hetpart_model_weight(model) == 0, "something was added");
}

static void without_a_word(void)
{
	const hetpart_status wanted = here() ? HETPART_EIO : HETPART_EPEER;
	hetpart_err err = { HETPART_OK, "" };
	hetpart_mpi_timing t;
	int what = 400;

	LEFT(hetpart_mpi_measure_compute(&t, silent, NULL, 5, 0.01, MPI_COMM_WORLD, &err));
	said("the kernel failed on ", &err);
	if (size > 2)
		return; /* who gets a chunk is chance */
	LEFT(hetpart_mpi_farm(100, silent_work, NULL, 1 - bad, MPI_COMM_WORLD, NULL, NULL, &err));
	said("work failed on ", &err);
}

static void misuse_wide(void)
{
	uint64_t *counts = calloc(2 * (size_t)size, sizeof *counts);
	char out[100] = { 0 }, in[100];
	hetpart_model *model = NULL;
	hetpart_err err = { HETPART_OK, "" };

	IS(hetpart_model_create(&model, &err), HETPART_OK, &err, "model");
	CHECK(counts != NULL, "memory");
	counts[size - 1] = 1;
	misuse_scatters(out, in, counts, counts + size);
	misuse_sizes(model);
	without_a_word();
	hetpart_model_free(model);
	free(counts);
}

/* Refuse communicators over which no ranks can agree. */
static void no_communicator(void)
{
	MPI_Comm half, inter;
	double speed;
	hetpart_err err;
	const int low = rank < (size + 1) / 2;

	IS(hetpart_mpi_gather_speeds(&speed, 1, MPI_COMM_NULL, &err), HETPART_EINVAL, &err,
	   "MPI_COMM_NULL");
	IS(hetpart_mpi_farm(0, nothing, NULL, 0, MPI_COMM_NULL, NULL, NULL, NULL), HETPART_EINVAL,
	   &err, "no err wanted");
	if (size == 1)
		return;
	CHECK(MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half) == MPI_SUCCESS &&
		      MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? (size + 1) / 2 : 0, 1,
					   &inter) == MPI_SUCCESS,
	      "intercommunicator");
	IS(hetpart_mpi_gather_speeds(&speed, 1, inter, &err), HETPART_EINVAL, &err, "inter");
	CHECK(strstr(err.text, "intercommunicator") != NULL, "%s", err.text);
	CHECK(MPI_Comm_free(&inter) == MPI_SUCCESS && MPI_Comm_free(&half) == MPI_SUCCESS, "free");
}

/* ---------------------------------------------------------------- the caller's communicator */

static int copied, deleted, handled;

static int copy_attr(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
	(void)comm, (void)key, (void)extra;
	copied++;
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int delete_attr(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm, (void)key, (void)value, (void)extra;
	deleted++;
	return MPI_SUCCESS;
}

static void handle(MPI_Comm *comm, int *code, ...)
{
	(void)comm, (void)code;
	handled++;
}

/* Keep a message of the caller under way, which no call may receive. */
static void some_calls(MPI_Comm comm)
{
	const int next = (rank + 1) % size, last = (rank + size - 1) % size;
	char out[100], in[100], note = (char)rank, got_note = 0;
	uint64_t got = 0;
	struct call c = { .o = { .opts = HETPART_MPI_SCATTER_OPTS_INIT } };
	MPI_Request req;
	hetpart_err err;

	memset(out, 1, sizeof out);
	c = (struct call){ c.o, out, 100, &got, MPI_BYTE, MPI_BYTE, in, 0, NULL, NULL };
	c.o.opts.compute.per_item_s = 1;
	CHECK(MPI_Isend(&note, 1, MPI_CHAR, next, 1, comm, &req) == MPI_SUCCESS, "isend");
	IS(scatter(&c, comm, &err), HETPART_OK, &err, "scatter");
	IS(hetpart_mpi_farm(10, nothing, NULL, 0, comm, NULL, NULL, &err), HETPART_OK, &err,
	   "farm");
	c.received = here() ? NULL : &got;
	IS(scatter(&c, comm, &err), here() ? HETPART_EINVAL : HETPART_EPEER, &err, "misuse");
	CHECK(MPI_Recv(&got_note, 1, MPI_CHAR, last, 1, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
		      MPI_Wait(&req, MPI_STATUS_IGNORE) == MPI_SUCCESS && got_note == (char)last,
	      "the caller's message");
}

static void unchanged(void)
{
	MPI_Errhandler mine, now;
	MPI_Comm comm;
	void *value = NULL;
	int key, flag = 0, here_ = 7;

	CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS &&
		      MPI_Comm_create_errhandler(handle, &mine) == MPI_SUCCESS &&
		      MPI_Comm_set_errhandler(comm, mine) == MPI_SUCCESS &&
		      MPI_Comm_create_keyval(copy_attr, delete_attr, &key, NULL) == MPI_SUCCESS &&
		      MPI_Comm_set_attr(comm, key, &here_) == MPI_SUCCESS,
	      "set up");
	some_calls(comm);
	CHECK(copied == deleted && copied > 0, "%d copied, %d deleted", copied, deleted);
	CHECK(handled == 0, "the handler was called");
	CHECK(MPI_Comm_get_errhandler(comm, &now) == MPI_SUCCESS && now == mine, "handler");
	CHECK(MPI_Comm_get_attr(comm, key, &value, &flag) == MPI_SUCCESS && flag &&
		      value == &here_ && here_ == 7,
	      "attribute");
	CHECK(MPI_Send(NULL, 0, MPI_CHAR, size + 5, 0, comm) == MPI_SUCCESS || handled == 1,
	      "the handler is not the caller's");
	CHECK(MPI_Errhandler_free(&now) == MPI_SUCCESS && MPI_Errhandler_free(&mine) == MPI_SUCCESS,
	      "free handler");
	CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && MPI_Comm_free_keyval(&key) == MPI_SUCCESS,
	      "free");
	CHECK(handled == 1, "the handler was called %d times", handled);
}

/* Options of a program compiled with an older header, which ended before the last member. */
static void older_options(void)
{
	struct {
		size_t struct_size;
		uint64_t first, added;
	} given = { 16, 5, 6 }, full = { sizeof full, 1, 7 };
	hm h = { .err = { .status = HETPART_OK } };

	IS(hm_opts_read(&h, &full, 16, sizeof full, &given), HETPART_OK, &h.err, "older");
	CHECK(full.first == 5 && full.added == 7, "%d", (int)full.added);
	given.struct_size = 15;
	IS(hm_opts_read(&h, &full, 16, sizeof full, &given), HETPART_EINVAL, &h.err, "too short");
}

int main(int argc, char **argv)
{
	double speed;
	hetpart_err err;

	if (hetpart_mpi_gather_speeds(&speed, 1, MPI_COMM_WORLD, &err) != HETPART_EINVAL ||
	    !strstr(err.text, "MPI is not running"))
		return 1;
	start(&argc, &argv);
	for (bad = 0; bad < size; bad++) {
		for (int what = 0; what < MISUSES; what++)
			if (what != ROOT_ONLY && !(what == OTHER_ROOT && size == 1))
				misuse_scatter((enum misuse)what);
		if (size > 1) {
			misuse_others();
			misuse_wide();
		}
		unchanged();
		copied = deleted = handled = 0;
	}
	no_communicator();
	older_options();
	if (finish() != 0)
		return 1;
	return hetpart_mpi_gather_speeds(&speed, 1, MPI_COMM_WORLD, &err) != HETPART_EINVAL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* misuse_test.c - bad arguments on only one rank: that rank reports the argument, all others report
 * whose it is, nobody hangs, and the next call works. The caller's communicator stays as it was. */
#include "check.h"

#include <hetsort.h>

#include <math.h>

enum { N = 10 };

static int bad; /* the rank that misuses */

/* A mistake of the bad rank; `said` is part of its message. */
static const struct misuse {
	const char *name, *said;
	hetsort_status status;
} misuses[] = {
	{ "no n_out", "n_out is NULL", HETSORT_EINVAL },
	{ "no in", "in is NULL", HETSORT_EINVAL },
	{ "no out", "out is NULL", HETSORT_EINVAL },
	{ "the same array", "overlap", HETSORT_EINVAL },
	{ "one byte in common", "overlap", HETSORT_EINVAL },
	{ "old options", "struct_size", HETSORT_EINVAL },
	{ "options of no size", "struct_size", HETSORT_EINVAL },
	{ "options of a later version", "this version does not have", HETSORT_EINVAL },
	{ "no record", "record_bytes is '0'", HETSORT_EINVAL },
	{ "a large record", "record_bytes is '65537'", HETSORT_EINVAL },
	{ "no key", "a key of '0' bytes", HETSORT_EINVAL },
	{ "a key beyond the record", "a key of '10' bytes at 91", HETSORT_EINVAL },
	{ "a key far beyond", "at 4294967295", HETSORT_EINVAL },
	{ "too many threads", "threads is '4294967295': must be 0 to 1024", HETSORT_EINVAL },
	{ "three threads", "exchange_threads is '3'", HETSORT_EINVAL },
	{ "a speed that is not a number", "is 'nan'", HETSORT_EINVAL },
	{ "a speed without bounds", "is 'inf'", HETSORT_EINVAL },
	{ "a speed of 0", "is '0'", HETSORT_EINVAL },
	{ "a negative speed", "is '-1'", HETSORT_EINVAL },
	{ "too many records", "too many for a rank", HETSORT_ERANGE },
	{ "beyond the address space", "address space", HETSORT_ERANGE },
	{ "no room", "has room for 9", HETSORT_ERANGE },
	/* mistakes that rank 0 cannot make */
	{ "another layout", "key_bytes is '9', but '10' on rank 0", HETSORT_EINVAL },
	{ "another key", "key is '0,10,desc', but differs on rank 0", HETSORT_EINVAL },
	{ "a key of unknown type", "invalid key '0,u128'", HETSORT_EINVAL },
	{ "no speeds", "speeds are NULL", HETSORT_EINVAL },
	{ "other speeds", "differ from the speeds on rank 0", HETSORT_EINVAL },
	{ "another call", "calls another function", HETSORT_EINVAL },
};

enum { NOT_RANK_0 = 22, MISUSES = sizeof misuses / sizeof *misuses };

struct larger {
	hetsort_opts opts;
	char more[8];
};

struct call {
	struct larger o;
	const void *in;
	void *out;
	uint64_t n_in, room, *n_out;
	double *speeds;
};

static char arrays[2 * N * 100];

static void spoil_arrays(struct call *c, const char *what)
{
	if (!strcmp(what, "no n_out"))
		c->n_out = NULL;
	if (!strcmp(what, "no in"))
		c->in = NULL;
	if (!strcmp(what, "no out"))
		c->out = NULL;
	if (!strcmp(what, "the same array"))
		c->out = arrays;
	if (!strcmp(what, "one byte in common"))
		c->out = arrays + N * 100 - 1;
	if (!strcmp(what, "too many records"))
		c->n_in = UINT64_C(1) << 60;
	if (!strcmp(what, "beyond the address space")) {
		c->n_in = UINT64_C(1) << 40;
		c->in = (const void *)(UINTPTR_MAX - 1000); /* never read */
	}
	if (!strcmp(what, "no room"))
		c->room = N - 1;
}

static void spoil_options(struct call *c, const char *what)
{
	hetsort_opts *o = &c->o.opts;
	if (!strcmp(what, "old options"))
		o->struct_size = offsetof(hetsort_opts, speeds); /* smaller than in any release */
	if (!strcmp(what, "options of no size"))
		o->struct_size = 0;
	if (!strcmp(what, "options of a later version")) {
		o->struct_size = sizeof c->o;
		c->o.more[3] = 1;
	}
	if (!strcmp(what, "no record"))
		o->record_bytes = 0;
	if (!strcmp(what, "a large record"))
		o->record_bytes = HETSORT_RECORD_BYTES_MAX + 1;
	if (!strcmp(what, "no key"))
		o->key_bytes = 0;
	if (!strcmp(what, "a key beyond the record"))
		o->key_off = 91;
	if (!strcmp(what, "a key far beyond"))
		o->key_off = UINT32_MAX;
	if (!strcmp(what, "too many threads"))
		o->threads = UINT32_MAX;
	if (!strcmp(what, "three threads"))
		o->exchange_threads = 3;
	if (!strcmp(what, "another layout"))
		o->key_bytes = 9;
	if (!strcmp(what, "another key"))
		o->key = "0,10,desc";
	if (!strcmp(what, "a key of unknown type"))
		o->key = "0,u128";
}

static void spoil_speeds(struct call *c, const char *what)
{
	if (!strcmp(what, "a speed that is not a number"))
		c->speeds[size - 1] = NAN;
	if (!strcmp(what, "a speed without bounds"))
		c->speeds[size - 1] = INFINITY;
	if (!strcmp(what, "a speed of 0"))
		c->speeds[0] = 0;
	if (!strcmp(what, "a negative speed"))
		c->speeds[0] = -1;
	if (!strcmp(what, "no speeds"))
		c->o.opts.speeds = NULL;
	if (!strcmp(what, "other speeds"))
		c->speeds[size / 2] = 2;
}

static hetsort_status make_call(const struct call *c, bool other, MPI_Comm comm, hetsort_err *err)
{
	if (other)
		return hetsort_sort_counts(c->in, c->n_in, c->out, c->room, &c->o.opts, comm, err);
	return hetsort_sort(c->in, c->n_in, c->out, c->room, c->n_out, &c->o.opts, comm, err);
}

static struct call good_call(uint64_t *n_out, double *speeds)
{
	struct call c = { .o = { .opts = HETSORT_OPTS_INIT },
			  .in = arrays,
			  .out = arrays + N * 100,
			  .n_in = N,
			  .room = N,
			  .n_out = n_out,
			  .speeds = speeds };
	for (int i = 0; i < size; i++)
		speeds[i] = 1;
	c.o.opts.speeds = speeds;
	return c;
}

/* The message of the bad rank reaches all ranks. */
static void left_together(hetsort_status st, const hetsort_err *err, const struct misuse *m)
{
	char words[HETSORT_ERR_BYTES] = "", prefix[32];
	const bool here = rank == bad;
	CHECK(st == (here ? m->status : HETSORT_EPEER) && st == err->status,
	      "%s on rank %d: got '%s': %s", m->name, bad, hetsort_strerror(st), err->text);
	CHECK(strstr(err->text, m->said), "%s: '%s'", m->name, err->text);
	if (here)
		strcpy(words, err->text);
	if (MPI_Bcast(words, HETSORT_ERR_BYTES, MPI_CHAR, bad, MPI_COMM_WORLD) != MPI_SUCCESS)
		exit(1);
	snprintf(prefix, sizeof prefix, "rank %d: ", bad);
	CHECK(here || (strncmp(err->text, prefix, strlen(prefix)) == 0 &&
		       strcmp(err->text + strlen(prefix), words) == 0),
	      "%s: '%s', not '%s'", m->name, err->text, words);
}

static void misuse_sort(const struct misuse *m, double *speeds)
{
	uint64_t n_out = 5;
	struct call c = good_call(&n_out, speeds);
	hetsort_err err = { HETSORT_OK, "" };
	const bool here = rank == bad;
	if (here) {
		spoil_arrays(&c, m->name);
		spoil_options(&c, m->name);
		spoil_speeds(&c, m->name);
	}
	left_together(make_call(&c, here && !strcmp(m->name, "another call"), MPI_COMM_WORLD, &err),
		      &err, m);
	const uint64_t wanted = !here                              ? 0
				: !strcmp(m->name, "no n_out")     ? 5
				: !strcmp(m->name, "another call") ? 5
				: !strcmp(m->name, "no room")      ? N
								   : 0;
	CHECK(n_out == wanted, "%s: n_out %d", m->name, (int)n_out);
	c = good_call(&n_out, speeds);
	CHECK(make_call(&c, false, MPI_COMM_WORLD, &err) == HETSORT_OK && n_out == N, "%s",
	      err.text);
}

/* Mistakes that several ranks make together. */
static void wrong_sum(void)
{
	hetsort_err err = { HETSORT_OK, "" };
	const uint64_t wish = rank == bad ? N - 1 : N;
	const hetsort_status st =
		hetsort_sort_counts(arrays, N, arrays + N * 100, wish, NULL, MPI_COMM_WORLD, &err);
	CHECK(st == HETSORT_EINVAL && strstr(err.text, "sum of n_out over all ranks"), "%s: %s",
	      hetsort_strerror(st), err.text);
	uint64_t n_out = 5;
	const uint64_t many = UINT64_C(92233720368547758); /* of 100 bytes: one rank's most */
	if (size > 1) {
		const hetsort_status sum = hetsort_share(many, &n_out, NULL, MPI_COMM_WORLD, &err);
		CHECK(sum == HETSORT_ERANGE && n_out == 0, "%s: %s", hetsort_strerror(sum),
		      err.text);
	}
}

static void misuse_others(void)
{
	static const struct misuse no_out = { "no n_out", "n_out is NULL", HETSORT_EINVAL },
				   same = { "same array", "overlap", HETSORT_EINVAL };
	uint64_t n_out = 5;
	const bool here = rank == bad;
	hetsort_err err = { HETSORT_OK, "" };
	left_together(hetsort_share(N, here ? NULL : &n_out, NULL, MPI_COMM_WORLD, &err), &err,
		      &no_out);
	left_together(hetsort_sort_counts(arrays, N, here ? arrays : arrays + N * 100, N, NULL,
					  MPI_COMM_WORLD, &err),
		      &err, &same);
	wrong_sum();
}

/* Mistakes in the calls with numbers of records; for misuses from `applying` on in hetsort_apply().
 */
static void misuse_order(void)
{
	static const struct misuse of[] = {
		{ "no n_out", "n_out is NULL", HETSORT_EINVAL },
		{ "no room", "order has room for 9", HETSORT_ERANGE },
		{ "in as order", "'in' and 'order' overlap", HETSORT_EINVAL },
		{ "no order", "order is NULL, with 10 elements", HETSORT_EINVAL },
		{ "a number", "order[7] is '18446744073709551615'", HETSORT_EINVAL },
		{ "no record", "record_bytes is '0'", HETSORT_EINVAL },
		{ "out as order", "'order' and 'out' overlap", HETSORT_EINVAL },
		{ "no out", "out is NULL", HETSORT_EINVAL },
		/* mistakes that rank 0 cannot make */
		{ "a shorter record", "record_bytes is '99', but '100' on rank 0", HETSORT_EINVAL },
		{ "another call", "calls another function", HETSORT_EINVAL },
	};
	enum { APPLYING = 3, NOT_RANK_0_ORDER = 8, COUNT = sizeof of / sizeof *of };
	static _Alignas(uint64_t) char in[N * 100], out[N * 100];
	for (int i = 0; i < (bad ? COUNT : NOT_RANK_0_ORDER); i++) {
		const bool here = rank == bad, sorts = (i < APPLYING) != (here && i == COUNT - 1);
#define MISTAKE(text) (here && !strcmp(of[i].name, text))
		hetsort_err err = { HETSORT_OK, "" };
		uint64_t order[N] = { 0 }, n_out = 5;
		order[7] = MISTAKE("a number") ? UINT64_MAX : 1;
		memset(out, 0x3c, sizeof out);
		const hetsort_status st =
			sorts ? hetsort_argsort(in, N, MISTAKE("in as order") ? (void *)in : order,
						MISTAKE("no room") ? N - 1 : N,
						MISTAKE("no n_out") ? NULL : &n_out, NULL,
						MPI_COMM_WORLD, &err)
			      : hetsort_apply(MISTAKE("no order") ? NULL : order, N, in, N,
					      MISTAKE("no out")         ? NULL
					      : MISTAKE("out as order") ? (void *)order
									: out,
					      MISTAKE("no record")          ? 0
					      : MISTAKE("a shorter record") ? 99
									    : 100,
					      NULL, MPI_COMM_WORLD, &err);
		left_together(st, &err, &of[i]);
		CHECK(out[0] == 0x3c && !memcmp(out, out + 1, sizeof out - 1), "%s", of[i].name);
		CHECK(!sorts || n_out == (MISTAKE("no room")    ? N
					  : MISTAKE("no n_out") ? 5
								: 0),
		      "%s: n_out %d", of[i].name, (int)n_out);
#undef MISTAKE
	}
}

/* One process: there is no other rank. */
static void misuse_local(void)
{
	struct larger o = { .opts = HETSORT_OPTS_INIT };
	hetsort_err err = { HETSORT_OK, "" };
	char *out = arrays + N * 100;
#define REFUSED(call, wanted, part)                                                         \
	CHECK((call) == (wanted) && err.status == (wanted) && strstr(err.text, part), "%s", \
	      err.text)
	REFUSED(hetsort_sort_local(NULL, 1, out, NULL, &err), HETSORT_EINVAL, "in is NULL");
	REFUSED(hetsort_sort_local(arrays, 1, NULL, NULL, &err), HETSORT_EINVAL, "out is NULL");
	REFUSED(hetsort_sort_local(arrays, N + 1, out, NULL, &err), HETSORT_EINVAL, "overlap");
	REFUSED(hetsort_sort_local(arrays, UINT64_MAX, out, NULL, &err), HETSORT_ERANGE,
		"too many");
	o.opts.key_off = 95;
	REFUSED(hetsort_sort_local(arrays, 1, out, &o.opts, &err), HETSORT_EINVAL, "a key of");
	CHECK(hetsort_mem_bytes(1, 1, 2, &o.opts) == UINT64_MAX, "estimate of a bad layout");
	o = (struct larger){ .opts = HETSORT_OPTS_INIT };
	o.opts.threads = HETSORT_THREADS_MAX + 1;
	CHECK(hetsort_mem_bytes(1, 1, 2, &o.opts) == UINT64_MAX, "estimate of too many threads");
	o = (struct larger){ .opts = HETSORT_OPTS_INIT };
	o.opts.struct_size = sizeof o; /* of a later version, without new options */
	CHECK(hetsort_sort_local(arrays, N, out, &o.opts, &err) == HETSORT_OK, "%s", err.text);
	CHECK(hetsort_sort_local(NULL, 0, NULL, NULL, NULL) == HETSORT_OK, "nothing to do");
	CHECK(hetsort_mem_bytes(1, 1, 0, NULL) == UINT64_MAX, "no rank");
	CHECK(hetsort_mem_bytes(UINT64_MAX, 1, 2, NULL) == UINT64_MAX, "too many records");
	CHECK(hetsort_mem_bytes(10000000, 10000000, 2, NULL) < 1000000000 / 5, "estimate");
	CHECK(hetsort_mem_bytes(1000000, 0, 2, NULL) > 8000000, "a number for each record");
}

/* Mistakes in the communicator, without ranks to agree with. */
static void no_communicator(void)
{
	MPI_Comm half, inter;
	uint64_t n = 0;
	hetsort_err err = { HETSORT_OK, "" };
	const int low = rank < (size + 1) / 2;
	CHECK(hetsort_share(1, &n, NULL, MPI_COMM_NULL, &err) == HETSORT_EINVAL, "null");
	CHECK(hetsort_share(1, &n, NULL, MPI_COMM_NULL, NULL) == HETSORT_EINVAL, "no err wanted");
	CHECK(hetsort_share_f(1, &n, NULL, MPI_Comm_c2f(MPI_COMM_NULL), &err) == HETSORT_EINVAL,
	      "null, as Fortran has it");
	if (size == 1)
		return;
	CHECK(MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half) == MPI_SUCCESS &&
		      MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? (size + 1) / 2 : 0, 1,
					   &inter) == MPI_SUCCESS,
	      "intercommunicator");
	CHECK(hetsort_share(1, &n, NULL, inter, &err) == HETSORT_EINVAL &&
		      strstr(err.text, "intercommunicator"),
	      "%s", err.text);
	CHECK(MPI_Comm_free(&inter) == MPI_SUCCESS && MPI_Comm_free(&half) == MPI_SUCCESS, "free");
}

/* --------------------------------------------------------------------- the caller's communicator
 */

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

/* A message of the caller is on its way during all calls, and no call receives it. */
static void some_calls(MPI_Comm comm, double *speeds)
{
	const int next = (rank + 1) % size, last = (rank + size - 1) % size;
	char note = (char)rank, got_note = 0;
	uint64_t n_out = 0;
	MPI_Request req;
	hetsort_err err;
	struct call c = good_call(&n_out, speeds);
	CHECK(MPI_Isend(&note, 1, MPI_CHAR, next, 1, comm, &req) == MPI_SUCCESS, "isend");
	CHECK(make_call(&c, false, comm, &err) == HETSORT_OK, "%s", err.text);
	c.out = rank == bad ? NULL : c.out;
	CHECK(make_call(&c, false, comm, &err) != HETSORT_OK, "misuse");
	CHECK(MPI_Recv(&got_note, 1, MPI_CHAR, last, 1, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
		      MPI_Wait(&req, MPI_STATUS_IGNORE) == MPI_SUCCESS && got_note == (char)last,
	      "the caller's message");
}

static void unchanged(double *speeds)
{
	MPI_Errhandler mine, now;
	MPI_Comm comm;
	void *value = NULL;
	int key, flag = 0, here = 7;
	copied = deleted = handled = 0;
	CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS &&
		      MPI_Comm_create_errhandler(handle, &mine) == MPI_SUCCESS &&
		      MPI_Comm_set_errhandler(comm, mine) == MPI_SUCCESS &&
		      MPI_Comm_create_keyval(copy_attr, delete_attr, &key, NULL) == MPI_SUCCESS &&
		      MPI_Comm_set_attr(comm, key, &here) == MPI_SUCCESS,
	      "set up");
	some_calls(comm, speeds);
	CHECK(copied == deleted && copied > 0, "%d copied, %d deleted", copied, deleted);
	CHECK(handled == 0, "the handler was called");
	CHECK(MPI_Comm_get_errhandler(comm, &now) == MPI_SUCCESS && now == mine, "handler");
	CHECK(MPI_Comm_get_attr(comm, key, &value, &flag) == MPI_SUCCESS && flag &&
		      value == &here && here == 7,
	      "attribute");
	CHECK(MPI_Errhandler_free(&now) == MPI_SUCCESS && MPI_Errhandler_free(&mine) == MPI_SUCCESS,
	      "free handler");
	CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && MPI_Comm_free_keyval(&key) == MPI_SUCCESS,
	      "free");
}

int main(int argc, char **argv)
{
	uint64_t n = 0;
	hetsort_err err;
	if (hetsort_share(1, &n, NULL, MPI_COMM_WORLD, &err) != HETSORT_EINVAL ||
	    !strstr(err.text, "MPI is not running") ||
	    hetsort_share_f(1, &n, NULL, 0, &err) != HETSORT_EINVAL ||
	    !strstr(err.text, "MPI is not running"))
		return 1;
	start(&argc, &argv);
	double *speeds = calloc((size_t)size, sizeof *speeds);
	if (!speeds)
		return 1;
	for (bad = 0; bad < size; bad++) {
		for (int m = 0; m < (bad ? MISUSES : NOT_RANK_0); m++)
			misuse_sort(&misuses[m], speeds);
		misuse_others();
		misuse_order();
		unchanged(speeds);
	}
	misuse_local();
	no_communicator();
	free(speeds);
	if (finish() != 0)
		return 1;
	return hetsort_share(1, &n, NULL, MPI_COMM_WORLD, &err) != HETSORT_EINVAL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter_test.c - every item of a scatter arrives exactly once, in order, at the rank that the
 * plan names. This holds for all ways to share, types, message lengths and roots; other memory
 * stays as it was. */
#include "check.h"

static uint64_t longest; /* bytes of the longest message since it was last set to 0 */

/* Intercept every message of the library. */
int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
	      MPI_Request *req)
{
	int bytes = 0;

	if (PMPI_Type_size(type, &bytes) == MPI_SUCCESS &&
	    (uint64_t)bytes * (uint64_t)count > longest)
		longest = (uint64_t)bytes * (uint64_t)count;
	return PMPI_Isend(buf, count, type, to, tag, comm, req);
}

/* A type of bytes items in memory: blocks of 8 bytes 16 apart, or all in one. */
struct layout {
	MPI_Datatype type;
	size_t bytes, extent;
	bool gaps;
};

struct kind {
	const char *name;
	struct layout send, recv;
};

static struct kind kinds[5];

static struct layout plain(size_t bytes)
{
	struct layout l = { MPI_DATATYPE_NULL, bytes, bytes, false };

	CHECK(MPI_Type_contiguous((int)bytes, MPI_BYTE, &l.type) == MPI_SUCCESS &&
		      MPI_Type_commit(&l.type) == MPI_SUCCESS,
	      "type");
	return l;
}

static struct layout with_gaps(void)
{
	struct layout l = { MPI_DATATYPE_NULL, 24, 48, true };
	MPI_Datatype vector;

	CHECK(MPI_Type_vector(3, 8, 16, MPI_BYTE, &vector) == MPI_SUCCESS &&
		      MPI_Type_create_resized(vector, 0, 48, &l.type) == MPI_SUCCESS &&
		      MPI_Type_commit(&l.type) == MPI_SUCCESS &&
		      MPI_Type_free(&vector) == MPI_SUCCESS,
	      "vector type");
	return l;
}

static void make_kinds(void)
{
	kinds[0] = (struct kind){ "1 byte", plain(1), plain(1) };
	kinds[1] = (struct kind){ "8 bytes", plain(8), plain(8) };
	kinds[2] = (struct kind){ "100 bytes", plain(100), plain(100) };
	kinds[3] = (struct kind){ "vector to plain", with_gaps(), plain(24) };
	kinds[4] = (struct kind){ "plain to vector", plain(24), with_gaps() };
}

static void free_kinds(void)
{
	for (int i = 0; i < 5; i++)
		CHECK(MPI_Type_free(&kinds[i].send.type) == MPI_SUCCESS &&
			      MPI_Type_free(&kinds[i].recv.type) == MPI_SUCCESS,
		      "free");
}

static unsigned char *byte_of(unsigned char *buf, const struct layout *l, uint64_t item, size_t b)
{
	return buf + item * l->extent + (l->gaps ? b / 8 * 16 + b % 8 : b);
}

static unsigned char value(uint64_t item, size_t b)
{
	return (unsigned char)((item * 0x9E3779B97F4A7C15u + b * 0xC2B2AE3D27D4EB4Fu) >> 56);
}

#define UNTOUCHED 0xAA
#define GUARD     64

static unsigned char *new_buffer(const struct layout *l, uint64_t items)
{
	const size_t bytes = (size_t)items * l->extent + GUARD;
	unsigned char *buf = malloc(bytes);

	if (!buf)
		exit(1);
	memset(buf, UNTOUCHED, bytes);
	return buf;
}

static unsigned char *new_items(const struct layout *l, uint64_t items)
{
	unsigned char *buf = new_buffer(l, items);

	for (uint64_t i = 0; i < items; i++)
		for (size_t b = 0; b < l->bytes; b++)
			*byte_of(buf, l, i, b) = value(i, b);
	return buf;
}

/* Check that the buffer has count items from number first on, and that nothing else was written. */
static bool arrived(unsigned char *buf, const struct layout *l, uint64_t first, uint64_t count)
{
	const size_t end = (size_t)count * l->extent + GUARD;
	size_t untouched = 0;

	for (uint64_t i = 0; i < count; i++)
		for (size_t b = 0; b < l->bytes; b++)
			if (*byte_of(buf, l, i, b) != value(first + i, b))
				return false;
	for (size_t i = 0; i < GUARD; i++)
		untouched += buf[count * l->extent + i] == UNTOUCHED;
	for (uint64_t i = 0; l->gaps && i < count; i++)
		for (size_t b = 0; b < 8; b++)
			if (buf[i * l->extent + 8 + b] != UNTOUCHED)
				return false;
	return untouched == GUARD && end > 0;
}

/* Find where this rank's items begin, by the counts of all ranks. */
static uint64_t first_of_mine(uint64_t count, uint64_t *sum)
{
	uint64_t *all = calloc((size_t)size, sizeof *all), first = 0;

	if (!all || MPI_Allgather(&count, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD))
		exit(1);
	*sum = 0;
	for (int i = 0; i < size; i++) {
		first += i < rank ? all[i] : 0;
		*sum += all[i];
	}
	free(all);
	return first;
}

static hetpart_mpi_scatter_opts options(hetpart_mpi_shares shares, size_t cap)
{
	hetpart_mpi_scatter_opts o = HETPART_MPI_SCATTER_OPTS_INIT;

	o.compute = (hetpart_mpi_affine){ 0, 1e-3 * (1 + rank % 3) };
	o.link = (hetpart_mpi_affine){ 1e-4, 1e-5 * (1 + (size - rank) % 4) };
	o.shares = shares;
	o.max_msg_bytes = cap;
	return o;
}

static uint64_t planned(const hetpart_plan *plan, const size_t *order)
{
	for (int j = 0; j < size; j++)
		if (order[j] == (size_t)rank)
			return hetpart_plan_share(plan, (size_t)j);
	return UINT64_MAX;
}

/* Scatter with shares by the library, and again with its plan made beforehand. */
static void one(const struct kind *k, uint64_t items, hetpart_mpi_shares shares, size_t cap,
		int root)
{
	hetpart_mpi_scatter_opts o = options(shares, cap);
	size_t *order = calloc((size_t)size, sizeof *order);
	unsigned char *out = rank == root ? new_items(&k->send, items) : NULL;
	unsigned char *in = new_buffer(&k->recv, items);
	hetpart_plan *plan = NULL;
	const size_t most = cap ? cap : (size_t)4 << 20;
	const uint64_t allowed = most > k->send.bytes ? most : k->send.bytes;
	uint64_t got = 1, sum = 0, first;
	hetpart_err err;

	IS(hetpart_mpi_scatter_plan(&plan, order, items, root, MPI_COMM_WORLD, &o, &err),
	   HETPART_OK, &err, "plan");
	IS(hetpart_mpi_plan_agree(plan, MPI_COMM_WORLD, &err), HETPART_OK, &err, "agree");
	for (int with_plan = 0; with_plan < 2; with_plan++) {
		longest = 0;
		memset(in, UNTOUCHED, (size_t)items * k->recv.extent + GUARD);
		o.plan = with_plan ? plan : NULL;
		o.order = with_plan ? order : NULL;
		IS(hetpart_mpi_scatter(out, items, k->send.type, in, items, &got, k->recv.type,
				       root, MPI_COMM_WORLD, &o, &err),
		   HETPART_OK, &err, "%s, %" PRIu64 " items", k->name, items);
		CHECK(longest <= allowed, "a message of %" PRIu64 " bytes, cap %zu", longest, cap);
		CHECK(rank != root || items == 0 || longest >= k->send.bytes, "no message");
		first = first_of_mine(got, &sum);
		CHECK(sum == items && got == planned(plan, order),
		      "%s: %" PRIu64 " of %" PRIu64 ", planned %" PRIu64, k->name, got, items,
		      planned(plan, order));
		CHECK(arrived(in, &k->recv, first, got), "%s, %" PRIu64 " items, cap %zu, root %d",
		      k->name, items, cap, root);
	}
	hetpart_plan_free(plan);
	free(order);
	free(out);
	free(in);
}

static void sweep(void)
{
	const uint64_t counts[] = {
		0, 1, (uint64_t)size - 1, (uint64_t)size, (uint64_t)size + 1, 1000, 100003
	};
	const size_t caps[] = { 7, 4096, 0 };
	unsigned n = 0;

	for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
			for (size_t cap = 0; cap < sizeof caps / sizeof *caps; cap++)
				for (int s = HETPART_MPI_BALANCED; s <= HETPART_MPI_SPEED; s++) {
					/* 7 bytes: one item a message */
					if (counts[c] > 1000 && (s != 0 || (cap == 0 && k > 0)))
						continue;
					one(&kinds[k], counts[c], (hetpart_mpi_shares)s, caps[cap],
					    (int)(n++ % (unsigned)size));
				}
}

/* -------------------------------------------------------------------------- the other calls */

/* Scatter blocks in reverse order with a gap of one item between them, served backwards. */
static void explicit_counts(int root, bool in_place)
{
	const struct kind *k = &kinds[3];
	const size_t n = (size_t)size;
	uint64_t *counts = calloc(n, sizeof *counts), *displs = calloc(n, sizeof *displs), got = 0;
	size_t *order = calloc(n, sizeof *order);
	hetpart_mpi_scatter_opts o = HETPART_MPI_SCATTER_OPTS_INIT;
	unsigned char *out = new_items(&k->send, 4 * n * n);
	unsigned char *in = new_buffer(&k->recv, 2 * n);
	hetpart_err err;
	uint64_t at = 0;

	for (size_t i = n; i-- > 0;) {
		counts[i] = 2 * i; /* none for rank 0 */
		displs[i] = at;
		at += counts[i] + 1;
		order[i] = n - 1 - i;
	}
	o.order = order;
	o.max_msg_bytes = 100;
	IS(hetpart_mpi_scatterv(rank == root ? out : NULL, rank == root ? counts : NULL,
				rank == root ? displs : NULL, k->send.type,
				in_place && rank == root ? MPI_IN_PLACE : (void *)in, 2 * n, &got,
				k->recv.type, root, MPI_COMM_WORLD, &o, &err),
	   HETPART_OK, &err, "scatterv");
	CHECK(got == counts[rank], "%" PRIu64, got);
	if (in_place && rank == root)
		CHECK(arrived(in, &k->recv, 0, 0), "in place: written");
	else
		CHECK(arrived(in, &k->recv, displs[rank], got), "scatterv, root %d", root);
	free(counts);
	free(displs);
	free(order);
	free(out);
	free(in);
}

static void allocated(int root, uint64_t items)
{
	uint64_t *out = calloc((size_t)items + 1, sizeof *out), got = 7, sum, first, wrong = 0;
	void *in = &got;
	hetpart_err err;

	for (uint64_t i = 0; i < items; i++)
		out[i] = i * i;
	IS(hetpart_mpi_scatter_alloc(rank == root ? out : NULL, items, MPI_UINT64_T, &in, &got,
				     MPI_UINT64_T, root, MPI_COMM_WORLD, NULL, &err),
	   HETPART_OK, &err, "alloc");
	first = first_of_mine(got, &sum);
	CHECK(sum == items && (in != NULL) == (got > 0), "%" PRIu64, got);
	CHECK(got == items / (uint64_t)size || got == items / (uint64_t)size + 1, "%" PRIu64, got);
	for (uint64_t i = 0; i < got; i++)
		wrong += ((uint64_t *)in)[i] != (first + i) * (first + i);
	CHECK(wrong == 0, "%" PRIu64 " wrong", wrong);
	free(in);
	free(out);
}

/* Refuse a share that does not fit: its rank returns the reason, and no rank gets items. */
static void too_small(int small)
{
	unsigned char out[100] = { 0 }, in[100];
	uint64_t got = 1;
	hetpart_err err;
	const uint64_t room = rank == small ? 100 / (uint64_t)size - 1 : 100;

	memset(in, UNTOUCHED, sizeof in);
	IS(hetpart_mpi_scatter(out, 100, MPI_BYTE, in, room, &got, MPI_BYTE, 0, MPI_COMM_WORLD,
			       NULL, &err),
	   rank == small ? HETPART_ERANGE : HETPART_EPEER, &err, "too small");
	CHECK(strstr(err.text, "exceeds recvbuf's") != NULL, "%s", err.text);
	CHECK(got == 0 && in[0] == UNTOUCHED, "%" PRIu64, got);
}

/* Gather the items of a scatter: they return in order, for every kind, length and root, and other
 * memory stays as it was. */
static void there_and_back(const struct kind *k, uint64_t items, int root, bool in_place)
{
	struct layout home = k->send, away = k->recv;
	unsigned char *all = new_buffer(&home, items), *back = new_buffer(&home, items), *mine;
	uint64_t got = 0, total = 77, first = 0;
	hetpart_err err;
	void *share = NULL;

	for (uint64_t i = 0; i < items; i++)
		for (size_t b = 0; b < home.bytes; b++)
			*byte_of(all, &home, i, b) = value(i, b);
	IS(hetpart_mpi_scatter_alloc(all, items, home.type, &share, &got, away.type, root,
				     MPI_COMM_WORLD, NULL, &err),
	   HETPART_OK, &err, "scatter");
	mine = share;
	CHECK(MPI_Exscan(&got, &first, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS,
	      "scan");
	first = rank == 0 ? 0 : first;
	in_place = in_place && rank == root;
	for (uint64_t i = 0; in_place && i < got; i++)
		for (size_t b = 0; b < home.bytes; b++)
			*byte_of(back, &home, first + i, b) = value(first + i, b);
	IS(hetpart_mpi_gather(in_place ? MPI_IN_PLACE : mine, got,
			      in_place ? MPI_DATATYPE_NULL : away.type, rank == root ? back : NULL,
			      rank == root ? items : 0, &total, home.type, root, MPI_COMM_WORLD,
			      &err),
	   HETPART_OK, &err, "gather of %s", k->name);
	CHECK(total == (rank == root ? items : 0), "%llu items", (unsigned long long)total);
	if (rank == root)
		for (uint64_t i = 0; i < items; i++)
			for (size_t b = 0; b < home.bytes; b++)
				if (*byte_of(back, &home, i, b) != value(i, b)) {
					CHECK(false, "item %llu", (unsigned long long)i);
					i = items - 1;
					break;
				}
	CHECK(!items || back[items * home.extent] == UNTOUCHED, "beyond the buffer");
	free(share);
	free(all);
	free(back);
}

static void gathers(void)
{
	const uint64_t lengths[] = { 0, 1, (uint64_t)size, 1000 };
	hetpart_err err;
	uint64_t got;
	char item = 1, room[4];

	for (int k = 0; k < 5; k++)
		for (int n = 0; n < 4; n++)
			there_and_back(&kinds[k], lengths[n], (k + n) % size, n % 2);
	IS(hetpart_mpi_gather(&item, rank == 0 ? HETPART_ITEMS_MAX + 1 : 0, MPI_CHAR, room, 4, &got,
			      MPI_CHAR, 0, MPI_COMM_WORLD, &err),
	   rank == 0 ? HETPART_ERANGE : HETPART_EPEER, &err, "too many items");
	if (size == 1)
		return;
	IS(hetpart_mpi_gather(&item, 1, MPI_CHAR, room, 1, &got, MPI_CHAR, 0, MPI_COMM_WORLD, &err),
	   rank == 0 ? HETPART_ERANGE : HETPART_EPEER, &err, "no room");
	IS(hetpart_mpi_gather(&item, 1, rank == 1 ? MPI_INT : MPI_CHAR, room, 4, &got, MPI_CHAR, 0,
			      MPI_COMM_WORLD, &err),
	   rank == 0 ? HETPART_EINVAL : HETPART_EPEER, &err, "another size");
	IS(hetpart_mpi_gather(rank == 1 ? NULL : &item, 1, MPI_CHAR, room, 4, &got, MPI_CHAR, 0,
			      MPI_COMM_WORLD, &err),
	   rank == 1 ? HETPART_EINVAL : HETPART_EPEER, &err, "no items");
}

int main(int argc, char **argv)
{
	start(&argc, &argv);
	make_kinds();
	sweep();
	for (int root = 0; root < size; root++) {
		explicit_counts(root, false);
		explicit_counts(root, true);
		allocated(root, 0);
		allocated(root, 1);
		allocated(root, 1003);
		too_small(root);
	}
	gathers();
	free_kinds();
	return finish();
}

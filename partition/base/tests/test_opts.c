/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_opts.c - structs that begin with struct_size, from programs compiled with other versions of
 * the header. Members that an older one lacks have their defaults, members that a later one adds
 * must be zero. */
#include "tests/tests.h"

#include "base/part.h"

/* The public structs as the first release, 0.1.0, had them. Do not change: programs have them. */
struct opts_0_1 {
	size_t struct_size;
	hetpart_method method;
	const uint64_t *capacities;
	uint64_t quantum, max_mem_bytes;
};

struct scatter_opts_0_1 {
	size_t struct_size;
	hetpart_scatter_method method;
	uint64_t max_mem_bytes;
};

struct chain_0_1 {
	size_t struct_size, nprocs, nloads;
	const double *w, *z, *tau, *latency, *vcomm, *vcomp;
	const size_t *installments;
};

struct chain_opts_0_1 {
	size_t struct_size;
	hetpart_chain_method method;
	size_t max_installments;
	double limit_s;
	uint64_t max_mem_bytes;
};

#define SAME_PLACE(now, then, member)                                   \
	_Static_assert(offsetof(now, member) == offsetof(then, member), \
		       "'" #member "' has moved: programs compiled with 0.1.0 break")
SAME_PLACE(hetpart_opts, struct opts_0_1, method);
SAME_PLACE(hetpart_opts, struct opts_0_1, capacities);
SAME_PLACE(hetpart_opts, struct opts_0_1, quantum);
SAME_PLACE(hetpart_opts, struct opts_0_1, max_mem_bytes);
SAME_PLACE(hetpart_scatter_opts, struct scatter_opts_0_1, method);
SAME_PLACE(hetpart_scatter_opts, struct scatter_opts_0_1, max_mem_bytes);
SAME_PLACE(hetpart_chain, struct chain_0_1, nloads);
SAME_PLACE(hetpart_chain, struct chain_0_1, w);
SAME_PLACE(hetpart_chain, struct chain_0_1, tau);
SAME_PLACE(hetpart_chain, struct chain_0_1, vcomp);
SAME_PLACE(hetpart_chain, struct chain_0_1, installments);
SAME_PLACE(hetpart_chain_opts, struct chain_opts_0_1, method);
SAME_PLACE(hetpart_chain_opts, struct chain_opts_0_1, max_installments);
SAME_PLACE(hetpart_chain_opts, struct chain_opts_0_1, limit_s);
SAME_PLACE(hetpart_chain_opts, struct chain_opts_0_1, max_mem_bytes);

/* A struct of 0.1.0 in memory that is followed by something else. */
#define OLD(type, ...)                                    \
	struct {                                          \
		type opts;                                \
		unsigned char beyond[64];                 \
	} old = { { sizeof(type), __VA_ARGS__ }, { 0 } }; \
	memset(old.beyond, 0xff, sizeof old.beyond)

static void share_of_0_1(void **state)
{
	const double k[] = { 1, 2, 5 };
	hetpart_cost *linear;
	hetpart_plan *pl;
	OLD(struct opts_0_1, HETPART_METHOD_THRESHOLD, NULL, 0, 0);

	(void)state;
	OK(hetpart_cost_linear(&linear, 1, &err));
	OK(hetpart_share_create(&pl, 800, k, 3, linear, (const hetpart_opts *)&old.opts, &err));
	assert_int_equal(hetpart_plan_share(pl, 2), 500);
	assert_string_equal(hetpart_plan_method(pl), "threshold");
	hetpart_plan_free(pl);
	hetpart_cost_free(linear);
}

static void scatter_of_0_1(void **state)
{
	hetpart_scatter_proc procs[2] = { { NULL, NULL }, { NULL, NULL } };
	hetpart_cost *linear;
	hetpart_plan *pl;
	OLD(struct scatter_opts_0_1, HETPART_SCATTER_DP, 0);

	(void)state;
	OK(hetpart_cost_linear(&linear, 1, &err));
	procs[0].compute = procs[1].compute = procs[0].link = linear;
	OK(hetpart_scatter_create(&pl, 10, procs, 2, (const hetpart_scatter_opts *)&old.opts,
				  &err));
	NEAR(hetpart_plan_makespan(pl), 10, 1e-12);
	assert_true(hetpart_scatter_mem_bytes(10, 2, (const hetpart_scatter_opts *)&old.opts) <
		    UINT64_MAX);
	hetpart_plan_free(pl);
	hetpart_cost_free(linear);
}

static void chain_of_0_1(void **state)
{
	const double w[] = { 1, 3 }, z[] = { 0 }, v[] = { 1 };
	struct chain_opts_0_1 opts = { sizeof opts, HETPART_CHAIN_SIMPLE, 0, 0, 0 };
	hetpart_schedule *sd;
	OLD(struct chain_0_1, 2, 1, w, z, NULL, NULL, v, v, NULL);

	(void)state;
	OK(hetpart_chain_create(&sd, (const hetpart_chain *)&old.opts,
				(const hetpart_chain_opts *)&opts, &err));
	NEAR(hetpart_schedule_fraction(sd, 0, 0, 0), .75, 1e-12);
	hetpart_schedule_free(sd);
}

/* A possible next version: one member more, whose default is not zero. */
struct grown {
	struct opts_0_1 old;
	uint64_t added;
};

#define GROWN ((struct grown){ { sizeof(struct grown), HETPART_METHOD_EXACT, NULL, 0, 0 }, 77 })
#define COPY(full, given) \
	part_opts_copy(full, sizeof(struct opts_0_1), sizeof(struct grown), given, &err)

static void what_is_missing_has_its_default(void **state)
{
	struct grown full = GROWN;
	struct opts_0_1 old = { sizeof old, HETPART_METHOD_DP, NULL, 3, 4 };

	(void)state;
	OK(COPY(&full, &old));
	assert_int_equal(full.added, 77);
	assert_int_equal(full.old.method, HETPART_METHOD_DP);
	assert_int_equal(full.old.quantum, 3);
	assert_int_equal(full.old.max_mem_bytes, 4);
	assert_int_equal(full.old.struct_size, sizeof full);
	OK(COPY(&full, NULL));
	assert_int_equal(full.added, 77);
}

static void of_no_version(void **state)
{
	struct grown full = GROWN;
	struct {
		struct grown known;
		uint64_t later;
	} given = { GROWN, 0 };

	(void)state;
	given.known.old.struct_size = sizeof(struct opts_0_1) - 1;
	assert_int_equal(COPY(&full, &given), HETPART_EINVAL);
	given.known.old.struct_size = 4097;
	assert_int_equal(COPY(&full, &given), HETPART_EINVAL);
	given.known.old.struct_size = sizeof given;
	OK(COPY(&full, &given));
	given.later = 1;
	assert_int_equal(COPY(&full, &given), HETPART_EINVAL);
	assert_non_null(strstr(err.text, "this version of the library"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(share_of_0_1),  cmocka_unit_test(scatter_of_0_1),
		cmocka_unit_test(chain_of_0_1),  cmocka_unit_test(what_is_missing_has_its_default),
		cmocka_unit_test(of_no_version),
	};
	return cmocka_run_group_tests_name("opts", tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_lp.c - linear programmes that cannot be solved: each ends with its reason, and GLPK neither
 * prints nor ends the process. */
#include "tests/tests.h"

#include <glpk.h>

#include "base/lp.h"

/* Solve a programme of one column and two rows, x = 1 and coef x >= least, under the guard. */
struct small {
	part_lp lp;
	double coef, least;
	size_t rows; /* requested from GLPK */
};

static hetpart_status run(void *ctx, hetpart_err *e)
{
	struct small *s = ctx;
	hetpart_status rc = part_lp_open(&s->lp, s->rows, 1, 2, e);

	if (rc != HETPART_OK)
		return rc;
	part_lp_put(&s->lp, 0, 0, 1);
	part_lp_put(&s->lp, 1, 0, s->coef);
	part_lp_equal(&s->lp, 0, 1);
	part_lp_least(&s->lp, 1, s->least);
	part_budget any = { .end_s = INFINITY };
	return part_lp_solve(&s->lp, &any, e);
}

static hetpart_status solve(struct small s)
{
	hetpart_status rc = part_lp_guard(&s.lp, run, &s, &err);

	part_lp_close(&s.lp);
	return rc;
}

static void reasons(void **state)
{
	(void)state;
	OK(solve((struct small){ .coef = 2, .least = 2, .rows = 2 }));
	assert_int_equal(solve((struct small){ .coef = 2, .least = 3, .rows = 2 }), HETPART_ENOSOL);
	assert_non_null(strstr(err.text, "has no solution"));
	assert_int_equal(solve((struct small){ .coef = NAN, .least = 1, .rows = 2 }),
			 HETPART_ERANGE);
	assert_non_null(strstr(err.text, "a coefficient of the linear programme is beyond range"));
	assert_int_equal(solve((struct small){ .coef = 1, .least = 1, .rows = 200000000 }),
			 HETPART_ENOMEM);
	assert_non_null(strstr(err.text, "of 200000000 rows and 1 columns is too large"));
}

/* Solve with a column that may fall without end. */
static hetpart_status fall(void *ctx, hetpart_err *e)
{
	struct small *s = ctx;
	hetpart_status rc = part_lp_open(&s->lp, 1, 1, 1, e);

	if (rc != HETPART_OK)
		return rc;
	part_lp_bounds(&s->lp, 0, -INFINITY, INFINITY);
	part_lp_objective(&s->lp, 0, 1);
	part_budget any = { .end_s = INFINITY };
	return part_lp_solve(&s->lp, &any, e);
}

static void no_end(void **state)
{
	struct small s = { .rows = 1 };

	(void)state;
	assert_int_equal(part_lp_guard(&s.lp, fall, &s, &err), HETPART_EINTERNAL);
	assert_non_null(strstr(err.text, "the simplex method failed (0, status "));
	part_lp_close(&s.lp);
}

/* Set GLPK's own bound of memory, as a caller may: 1 MB is not enough. */
static void no_memory(void **state)
{
	(void)state;
	glp_init_env();
	glp_mem_limit(1);
	assert_int_equal(solve((struct small){ .coef = 1, .least = 1, .rows = 100000 }),
			 HETPART_ENOMEM);
	assert_non_null(strstr(err.text, "the solver has no memory left"));
	OK(solve((struct small){ .coef = 1, .least = 1, .rows = 100000 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons),
		cmocka_unit_test(no_end),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests_name("linear programmes", tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_oom.c - every call with each of its allocations failing in turn: HETPART_ENOMEM, no result,
 * no leak. */
#include "../../scripts/shim.h"

#ifndef SHIM_CANNOT

#	include "tests.h"

#	include <unistd.h>

/* ------------------------------------------------------------------------------------- calls */

static hetpart_cost *nlogn, *table, *linear, *half;
static hetpart_wisdom *wise;
static char text[4096], path[4096];
static unsigned char packed[512];
static size_t text_len, packed_bytes;
static const double k[] = { 1, 2, 3 };
static double many[2000];

static hetpart_status keep(hetpart_status rc, hetpart_plan **pl)
{
	assert_true((rc == HETPART_OK) == (*pl != NULL));
	if (hetpart_plan_stopped(*pl) == HETPART_ENOMEM) /* the best plan without that memory */
		rc = err.status = HETPART_ENOMEM;
	hetpart_plan_free(*pl);
	return rc;
}

static hetpart_status share(hetpart_method method, const hetpart_cost *cost)
{
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_plan *pl;

	o.method = method;
	return keep(hetpart_share_create(&pl, 20, k, 3, cost, &o, &err), &pl);
}

static hetpart_status exact(void)
{
	return share(HETPART_METHOD_EXACT, nlogn);
}

static hetpart_status large(void)
{
	hetpart_plan *pl;
	return keep(hetpart_share_create(&pl, 1000000, many, LEN(many), nlogn, NULL, &err), &pl);
}

static hetpart_status threshold(void)
{
	return share(HETPART_METHOD_THRESHOLD, nlogn);
}

static hetpart_status bitset(void)
{
	return share(HETPART_METHOD_BITSET, table);
}

static hetpart_status dp(void)
{
	return share(HETPART_METHOD_DP, table);
}

static hetpart_status quantised(void)
{
	const hetpart_cost *three[] = { table, table, table };
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_plan *pl;

	o.quantum = 3;
	return keep(hetpart_share_unrelated_create(&pl, 20, three, 3, &o, &err), &pl);
}

static hetpart_status rounded(void)
{
	double real[] = { 3.3, 6.7, 10 };
	hetpart_plan *pl;
	return keep(hetpart_share_round(&pl, 20, real, k, 3, nlogn, &err), &pl);
}

static hetpart_status unpack(void)
{
	hetpart_plan *pl;
	return keep(hetpart_plan_unpack(&pl, packed, packed_bytes, &err), &pl);
}

static hetpart_status costs(void)
{
	hetpart_point pt[] = { { 1, 1 }, { 2, 3 } };
	hetpart_cost *c;
	hetpart_status rc = hetpart_cost_piecewise(&c, pt, 2, 1, &err);

	assert_true((rc == HETPART_OK) == (c != NULL));
	hetpart_cost_free(c);
	return rc;
}

static hetpart_status tables(void)
{
	hetpart_cost *c;
	hetpart_status rc = hetpart_cost_table(&c, k, 3, 1, &err);

	assert_true((rc == HETPART_OK) == (c != NULL));
	hetpart_cost_free(c);
	return rc;
}

static hetpart_status model(void)
{
	hetpart_point seen[] = { { 10, 10 }, { 20, 30 } };
	hetpart_plan *pl = NULL;
	hetpart_model *m;
	hetpart_status rc = hetpart_model_create(&m, &err);

	if (rc != HETPART_OK)
		return rc;
	OK(hetpart_model_add(m, seen, 2, &err));
	rc = hetpart_model_plan(&pl, m, 100, k, 3, NULL, &err);
	hetpart_model_free(m);
	return keep(rc, &pl);
}

static hetpart_status parse(void)
{
	hetpart_wisdom *w;
	hetpart_status rc = hetpart_wisdom_parse(&w, text, text_len, "here", 0, &err);

	assert_true((rc == HETPART_OK) == (w != NULL));
	hetpart_wisdom_free(w);
	return rc;
}

static hetpart_status save(void)
{
	return hetpart_wisdom_save(wise, path, &err);
}

static hetpart_status load(void)
{
	hetpart_wisdom *w;
	hetpart_status rc = hetpart_wisdom_load(&w, path, "here", 0, &err);

	assert_true((rc == HETPART_OK) == (w != NULL));
	hetpart_wisdom_free(w);
	return rc;
}

static hetpart_status merge(void)
{
	hetpart_wisdom *w;
	hetpart_status rc = hetpart_wisdom_create(&w, "here", &err);

	if (rc == HETPART_OK)
		rc = hetpart_wisdom_merge(w, wise, &err);
	hetpart_wisdom_free(w);
	return rc;
}

static hetpart_status emulate(void)
{
	hetpart_plan *pl;
	return keep(hetpart_emulate_best(&pl, k, 3, 20, &err), &pl);
}

static hetpart_status farm(void)
{
	hetpart_worker w[] = { { nlogn, NULL }, { nlogn, nlogn } };
	hetpart_plan *pl;
	return keep(hetpart_farm_create(&pl, 100, w, 2, HETPART_CHUNK_GUIDED, 1, &err), &pl);
}

static hetpart_status scatter(hetpart_scatter_method method)
{
	hetpart_scatter_proc p[] = { { half, linear }, { linear, half }, { linear, NULL } };
	hetpart_scatter_opts o = HETPART_SCATTER_OPTS_INIT;
	hetpart_plan *pl;

	o.method = method;
	return keep(hetpart_scatter_create(&pl, 100, p, 3, &o, &err), &pl);
}

static hetpart_status scatter_table(void)
{
	return scatter(HETPART_SCATTER_WINDOW);
}

static hetpart_status scatter_grids(void)
{
	return scatter(HETPART_SCATTER_MULTIRES);
}

static hetpart_status scatter_closed(void)
{
	return scatter(HETPART_SCATTER_CLOSED);
}

static hetpart_status scatter_lp(void)
{
	return scatter(HETPART_SCATTER_LP);
}

static hetpart_status scatter_passes(void)
{
	return scatter(HETPART_SCATTER_TWO_PASS);
}

static hetpart_status scatter_greedy(void)
{
	return scatter(HETPART_SCATTER_GREEDY);
}

static hetpart_status scatter_round(void)
{
	double real[] = { 3.3, 6.7, 10 };
	uint64_t n[3];
	return hetpart_scatter_round(n, 20, real, 3, &err);
}

static hetpart_status scatter_root(void)
{
	const hetpart_cost *compute[] = { half, linear }, *link[] = { half, half, half, half };
	hetpart_plan *pl;
	size_t root;
	return keep(hetpart_scatter_root(&pl, &root, NULL, NULL, 20, compute, link, NULL, 2, NULL,
					 &err),
		    &pl);
}

static hetpart_status chain(hetpart_chain_method method)
{
	double w[] = { 1, 1 }, z[] = { 1 }, latency[] = { .1 }, v[] = { 1, 2 };
	hetpart_chain_opts o = HETPART_CHAIN_OPTS_INIT;
	hetpart_chain ch = HETPART_CHAIN_INIT;
	hetpart_schedule *sd;
	hetpart_status rc;

	ch.nprocs = ch.nloads = 2, ch.w = w, ch.z = z, ch.latency = latency;
	ch.vcomm = ch.vcomp = v;
	o.method = method;
	rc = hetpart_chain_create(&sd, &ch, &o, &err);
	assert_true((rc == HETPART_OK) == (sd != NULL));
	hetpart_schedule_free(sd);
	return rc;
}

static hetpart_status chain_lp(void)
{
	return chain(HETPART_CHAIN_LP);
}

static hetpart_status chain_multi(void)
{
	return chain(HETPART_CHAIN_MULTIINST);
}

/* ------------------------------------------------------------------------------------- test */

static int setup(void **state)
{
	double t[21];
	hetpart_model *m;
	hetpart_plan *pl;
	const char *dir = getenv("TEST_TMP");
	hetpart_point seen[] = { { 10, 10 }, { 20, 30 } };

	(void)state;
	for (size_t i = 0; i < LEN(t); i++)
		t[i] = (double)(i * 7 % 5);
	for (size_t i = 0; i < LEN(many); i++)
		many[i] = 1 + (double)(i % 17);
	OK(hetpart_cost_nlogn(&nlogn, 1, &err));
	OK(hetpart_cost_linear(&linear, 1, &err));
	OK(hetpart_cost_linear(&half, 0.5, &err));
	OK(hetpart_cost_table(&table, t, LEN(t), 1, &err));
	OK(hetpart_wisdom_create(&wise, "here", &err));
	OK(hetpart_wisdom_set(wise, "x", 1, &err));
	OK(hetpart_wisdom_model(wise, "m", &m, &err));
	OK(hetpart_model_add(m, seen, 2, &err));
	OK(hetpart_share_create(&pl, 20, k, 3, nlogn, NULL, &err));
	packed_bytes = hetpart_plan_pack(pl, packed, sizeof packed);
	hetpart_plan_free(pl);
	text_len = hetpart_wisdom_print(wise, text, sizeof text);
	snprintf(path, sizeof path, "%s/oom-wisdom", dir ? dir : ".");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hetpart_cost_free(nlogn);
	hetpart_cost_free(linear);
	hetpart_cost_free(half);
	hetpart_cost_free(table);
	hetpart_wisdom_free(wise);
	unlink(path);
	return 0;
}

static void each_in_turn(void **state)
{
	struct {
		const char *name;
		hetpart_status (*call)(void);
	} row[] = { { "exact", exact },
		    { "large", large },
		    { "threshold", threshold },
		    { "bitset", bitset },
		    { "dp", dp },
		    { "quantised", quantised },
		    { "rounded", rounded },
		    { "unpack", unpack },
		    { "costs", costs },
		    { "tables", tables },
		    { "model", model },
		    { "parse", parse },
		    { "save", save },
		    { "load", load },
		    { "merge", merge },
		    { "emulate", emulate },
		    { "farm", farm },
		    { "scatter window", scatter_table },
		    { "scatter multires", scatter_grids },
		    { "scatter closed", scatter_closed },
		    { "scatter lp", scatter_lp },
		    { "scatter two-pass", scatter_passes },
		    { "scatter greedy", scatter_greedy },
		    { "scatter round", scatter_round },
		    { "scatter root", scatter_root },
		    { "chain lp", chain_lp },
		    { "chain multiinst", chain_multi } };

	(void)state;
	for (size_t i = 0; i < LEN(row); i++) {
		hetpart_status rc = HETPART_ENOMEM;
		long fail_at = 0, before = shim.live;
		for (; fail_at < 2000 && rc != HETPART_OK; fail_at++) {
			err.status = HETPART_OK;
			shim.until = fail_at;
			rc = row[i].call();
			shim.until = -1;
			if (rc != HETPART_OK && (rc != HETPART_ENOMEM || err.status != rc))
				fail_msg("%s: allocation %ld: %s", row[i].name, fail_at,
					 hetpart_status_text(rc));
			if (shim.live != before)
				fail_msg("%s: allocation %ld: %ld not given back", row[i].name,
					 fail_at, shim.live - before);
		}
		if (rc != HETPART_OK || fail_at < 2)
			fail_msg("%s: %ld allocations failed, then %s", row[i].name, fail_at,
				 hetpart_status_text(rc));
	}
}

/* Check the arrays of a plan of a million processors: three of the plan, one or two more. Each is
 * filled, read, and displaces another from the cache. */
static void few_bytes_for_each(void **state)
{
	enum { P = 100000 };
	double *mixed = calloc(P, sizeof *mixed);
	hetpart_plan *pl;

	(void)state;
	assert_non_null(mixed);
	for (size_t i = 0; i < P; i++)
		mixed[i] = 1 + (double)(i * 7919 % 3001) / 1000;
	shim.asked = 0;
	OK(hetpart_share_create(&pl, 1000 * P, mixed, P, nlogn, NULL, &err));
	if (shim.asked > 44 * P)
		fail_msg("%zu bytes for %d processors", shim.asked, P);
	hetpart_plan_free(pl);
	free(mixed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_in_turn),
					    cmocka_unit_test(few_bytes_for_each) };
	SHIM_OURS;
	return cmocka_run_group_tests_name("oom", tests, setup, teardown);
}
#endif

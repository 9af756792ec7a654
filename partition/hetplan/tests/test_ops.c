/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_ops.c - every operation of a batch, from the request line to the answer, against the
 * values of the sources; limits; text and numbers. */
#include "tests/tests.h"
#include "hetplan/hetplan.h"
#include "number.h"

static json_t *answer;

/* Return the answer to a request that has ' instead of "; it stays valid until the next. */
static json_t *ask_within(const char *request, const hp_limits *limits)
{
	char *line = strdup(request);
	bool ok;

	assert_non_null(line);
	for (char *s = line; (s = strchr(s, '\''));)
		*s = '"';
	json_decref(answer);
	answer = hp_answer(line, strlen(line), 1, limits, &ok);
	assert_non_null(answer);
	assert_string_equal(json_string_value(json_object_get(answer, "status")),
			    ok ? "ok" : "error");
	free(line);
	return answer;
}

static json_t *ask(const char *request)
{
	json_t *a = ask_within(request, &hp_program_limits);

	if (json_object_get(a, "message"))
		fail_msg("%s: %s", request, json_string_value(json_object_get(a, "message")));
	return a;
}

static double number(const char *key)
{
	const json_t *v = json_object_get(answer, key);

	if (!json_is_number(v))
		fail_msg("no number '%s' in the answer", key);
	return json_number_value(v);
}

static void list_is(const char *key, const char *want)
{
	char *text = json_dumps(json_object_get(answer, key), JSON_COMPACT | JSON_ENCODE_ANY);

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
}

static void text_is(const char *key, const char *want)
{
	assert_string_equal(json_string_value(json_object_get(answer, key)), want);
}

#define NLOGN  "'cost':{'type':'nlogn'}"
#define LINEAR "'cost':{'type':'linear'}"

static void share(void **state)
{
	(void)state;
	ask("{'op':'share','items':4,'speeds':[1,2]," NLOGN ",'id':[7,null]}");
	list_is("id", "[7,null]");
	list_is("shares", "[2,2]");
	NEAR(number("makespan"), 2 * log(2), 1e-15);
	ask("{'op':'share','items':1000000,'speeds':[1,2,4,8]," NLOGN "}");
	double best = number("makespan");
	NEAR(number("real_makespan"), best, 1e-5);
	ask("{'op':'share','items':1000000,'speeds':[1,2,4,8]," NLOGN ",'method':'proportional'}");
	NEAR(100 * (number("makespan") / best - 1), 4.26, 2e-3);
	ask("{'op':'share','items':1000000,'speeds':[1,2,4,8]," NLOGN ",'method':'taylor'}");
	NEAR(100 * (number("makespan") / best - 1), 0.21, 3e-2);
	ask("{'op':'share','items':1000000,'speeds':[1,2,4,8]," NLOGN ",'method':'asymptotic'}");
	NEAR(100 * (number("makespan") / best - 1), 0.070, 2e-2);
	ask("{'op':'share','items':10,'speeds':[1,1]," LINEAR ",'capacity':[3,null]}");
	list_is("shares", "[3,7]");
}

static void exact_integers(void **state)
{
	(void)state;
	ask("{'op':'share','items':9223372036854775807,'speeds':[1]," LINEAR
	    ",'id':9007199254740993}");
	list_is("shares", "[9223372036854775807]");
	list_is("id", "9007199254740993");
	ask("{'op':'share','items':9223372036854775807,'speeds':[1e-300,1e-300]," LINEAR "}");
	list_is("shares", "[4611686018427387904,4611686018427387903]");
}

/* Compare the answer with the plan of the library. */
static void as_the_library(void **state)
{
	double speeds[] = { 1, 2.5, 4 };
	hetpart_cost *f;
	hetpart_plan *plan;

	(void)state;
	ask("{'op':'share','items':123457,'speeds':[1,2.5,4],'cost':{'type':'nlog2n1'}}");
	OK(hetpart_cost_nlog2n1(&f, 1, &err));
	OK(hetpart_share_create(&plan, 123457, speeds, LEN(speeds), f, NULL, &err));
	for (size_t i = 0; i < LEN(speeds); i++) {
		const json_t *x = json_array_get(json_object_get(answer, "shares"), i);
		assert_int_equal(json_integer_value(x), hetpart_plan_share(plan, i));
		assert_true(hp_at_index(json_object_get(answer, "times"), i) ==
			    hetpart_plan_time(plan, i));
	}
	assert_true(number("makespan") == hetpart_plan_makespan(plan));
	hetpart_plan_free(plan);
	hetpart_cost_free(f);
}

static void share_unrelated(void **state)
{
	static const char *const methods[] = { "auto", "threshold", "bitset", "dp" };
	char line[512];

	(void)state;
	for (size_t i = 0; i < LEN(methods); i++) {
		snprintf(line, sizeof line,
			 "{'op':'share-unrelated','items':100,'method':'%s','costs':["
			 "{'type':'linear'},{'type':'affine','startup':10,'per_item':0.5},"
			 "{'type':'piecewise','points':[[10,5],[20,40]]}]}",
			 methods[i]);
		ask(line);
		NEAR(number("makespan"), 34, 1e-15); /* 34 + 48 + 18 items */
	}
	ask("{'op':'share-unrelated','items':4,'costs':[{'type':'table','values':[0,9,null,1]},"
	    "{'type':'linear','scale':2}]}");
	list_is("shares", "[3,1]");
	ask("{'op':'share-unrelated','items':10,'method':'dp','quantum':4,'costs':["
	    "{'type':'linear'},{'type':'linear'}]}");
	NEAR(number("makespan"), 6, 0);
}

static void round_shares(void **state)
{
	(void)state;
	ask("{'op':'round','items':4,'shares':[1.5,2.5],'speeds':[1,2]," NLOGN "}");
	NEAR(number("makespan"), 1.3862943611198906, 1e-15);
	ask("{'op':'round','items':10,'shares':[3.3,3.3,3.4],'rule':'scatter'}");
	list_is("shares", "[3,3,4]");
	text_is("method", "scatter");
}

static void emulate(void **state)
{
	static const struct {
		int m;
		const char *percent;
	} row[] = { { 11, "82.6" }, { 10, "93.0" }, { 13, "96.7" } };
	char line[256], got[16];

	(void)state;
	for (size_t i = 0; i < LEN(row); i++) {
		snprintf(line, sizeof line,
			 "{'op':'emulate','ratings':[0.46,0.65,1.61,1.61],'processes':%d}",
			 row[i].m);
		ask(line);
		snprintf(got, sizeof got, "%.1f", 100 * number("efficiency"));
		assert_string_equal(got, row[i].percent);
		if (row[i].m == 11)
			list_is("counts", "[1,2,4,4]");
	}
	ask("{'op':'emulate','ratings':[0.46,0.65,1.61,1.61],'best_upto':13}");
	list_is("processes", "13");
	ask("{'op':'emulate','ratings':[0.46,0.65,1.61,1.61],'best_upto':12}");
	list_is("processes", "10");
}

#define SLOW "{'compute':{'type':'linear','scale':2},'link':{'type':'linear'}}"
#define FAST "{'compute':{'type':'linear'}}"

static void farm(void **state)
{
	(void)state;
	ask("{'op':'farm','items':6,'chunk':1,'processors':[" SLOW "," FAST "]}");
	list_is("shares", "[2,4]");
	NEAR(number("makespan"), 6, 0);
	ask("{'op':'farm','items':8,'rule':'guided','processors':[" SLOW "," FAST "]}");
	text_is("method", "self-scheduling, guided");
	ask("{'op':'farm','items':8,'rule':'factoring','chunk':2,'processors':[" SLOW "," FAST
	    "]}");
	NEAR(number("makespan"), 6, 0);
}

static void order_and_root(void **state)
{
	(void)state;
	ask("{'op':'scatter-order','items':100,'processors':["
	    "{'compute':{'type':'linear'},'link':{'type':'linear','scale':3}},"
	    "{'compute':{'type':'linear'},'link':{'type':'linear','scale':0.5}},"
	    "{'compute':{'type':'linear'}}]}");
	list_is("order", "[1,0,2]");
	ask("{'op':'scatter-root','items':100,'compute':[{'type':'linear'},{'type':'linear'}],"
	    "'link':[[null,{'type':'linear'}],[{'type':'linear','scale':0.01},null]]}");
	list_is("root", "1");
	list_is("order", "[0,1]");
	NEAR(json_number_value(json_array_get(json_object_get(answer, "total_by_root"), 1)),
	     number("makespan"), 0);
	ask("{'op':'scatter-root','items':100,'compute':[{'type':'linear'},{'type':'linear'}],"
	    "'link':[[null,{'type':'linear'}],[{'type':'linear','scale':0.01},null]],"
	    "'from_store':[null,{'type':'linear'}]}");
	list_is("root", "0");
}

/* Plan lambda = w, z = 1, two processors, two unit loads [S3]. */
static double chain_of(double lambda, const char *more)
{
	char line[512];

	snprintf(line, sizeof line,
		 "{'op':'chain','w':[%.17g,%.17g],'z':[1],'vcomm':[1,1],'vcomp':[1,1]%s}", lambda,
		 lambda, more);
	ask(line);
	return number("makespan");
}

static void chain(void **state)
{
	double l = 2;

	(void)state;
	NEAR(chain_of(0.75, ",'installments':[2,2]"), 781.0 / 653 * 0.75, 1e-9);
	NEAR(chain_of(0.75, ",'method':'multiinst'"), 0.9, 1e-12);
	NEAR(chain_of(l, ",'installments':[1,1]"),
	     2 * l * (l * l + l + 1) / (2 * l * l + 2 * l + 1), 1e-9);
	NEAR(chain_of(l, ",'method':'singleinst'"), l * (4 * l + 3) / (2 * (2 * l + 1)), 1e-12);
	assert_int_equal(json_array_size(json_object_get(answer, "fractions")), 2);
	NEAR(chain_of(l, ",'method':'simple'"), 2.5, 1e-12);
	list_is("fractions", "[[[0.5,0.5]],[[0.5,0.5]]]");
	ask_within("{'op':'chain','w':[0.6,0.6],'z':[1],'vcomm':[1,1],'vcomp':[1,1],"
		   "'method':'multiinst'}",
		   &hp_program_limits);
	assert_non_null(
		strstr(json_string_value(json_object_get(answer, "message")), "shrink too fast"));
}

static void chain_replay(void **state)
{
	(void)state;
	ask("{'op':'chain-replay','w':[0.75,0.75],'z':[1],'vcomm':[1],'vcomp':[1],"
	    "'fractions':[[[0.5,0.25],[0.25,0]]],'latency':[0.125]}");
	list_is("comm_start", "[[[0.0],[0.375]]]");
	list_is("comm_end", "[[[0.375],[0.375]]]");
	list_is("comp_start", "[[[0.0,0.375],[0.375,0.5625]]]");
	list_is("comp_end", "[[[0.375,0.5625],[0.5625,0.5625]]]");
	NEAR(number("makespan"), 0.5625, 0);
}

static void chain_of_unlike_loads(void **state)
{
	(void)state;
	ask("{'op':'chain-replay','w_load':[1,2,2,1],'z':[0.5],'vcomm':[1,1],'vcomp':[1,1],"
	    "'release':[0,1],'weight':[1,3],'fractions':[[[0.5,0.5]],[[0.25,0.75]]]}");
	list_is("comm_start", "[[[0.0]],[[1.0]]]");
	list_is("comp_start", "[[[0.0,0.25]],[[1.0,1.375]]]");
	list_is("load_ends", "[1.25,2.125]");
	NEAR(number("flow"), 1.25 + 3 * 1.125, 0);
	ask("{'op':'chain','w_load':[1,2,2,1],'z':[0.5],'vcomm':[1,1],'vcomp':[1,1],"
	    "'release':[0,1],'weight':[1,3],'objective':'flow'}");
	NEAR(number("planned_flow"), 5. / 7 + 3 * 6. / 7, 1e-6);
	NEAR(number("flow"), number("planned_flow"), 1e-6);
}

static void model(void **state)
{
	(void)state;
	ask("{'op':'model','observations':[],'speeds':[1,3],'items':100}");
	list_is("points", "[]");
	list_is("shares", "[25,75]");
	ask("{'op':'model','observations':[[10,20],[100,200],[1000,2000]],'speeds':[1,3],"
	    "'items':100}");
	list_is("shares", "[25,75]");
	NEAR(number("makespan"), 50, 1e-2);
}

/* Check that a limit is enforced, with a message that names it. */
static void refused_by(const hp_limits *limits, const char *request, const char *why)
{
	const char *message;

	ask_within(request, limits);
	message = json_string_value(json_object_get(answer, "message"));
	if (!message || !strstr(message, why))
		fail_msg("'%s' answers '%s', not '%s'", request, message ? message : "ok", why);
}

static void limits_hold(void **state)
{
	static const hp_limits few = { .line_bytes = 200,
				       .values = 30,
				       .depth = 4,
				       .procs = 3,
				       .loads = 2,
				       .items = 100,
				       .best_upto = 10,
				       .installments = 2 };

	(void)state;
	refused_by(&few, "{'op':'share','items':101,'speeds':[1]," LINEAR "}", "0..100");
	refused_by(&few, "{'op':'share','items':9,'speeds':[1,1,1,1]," LINEAR "}",
		   "4 entries, more than 3");
	refused_by(&few, "[[[[[", "line 1: nested more than 4 deep");
	refused_by(&few, "{'a':[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}",
		   "line 1: more than 30 values");
	refused_by(&few,
		   "{'op':'a name that is longer than a line may be, so that it ends after the "
		   "two hundred bytes that the limits of this test allow, whatever it says to whom "
		   "it may concern, now or at any time after, here or there'}",
		   "line 1: longer than 200 bytes");
	refused_by(&few, "{'op':'emulate','ratings':[1],'best_upto':11}", "1..10");
	refused_by(&few, "{'op':'chain','w':[1],'z':[],'vcomm':[1],'vcomp':[1],'installments':[3]}",
		   "'installments[0]': '3' is not in 0..2");
}

/* Many installments make an answer longer than any request may be. */
static void answers_are_bounded(void **state)
{
	static const hp_limits few = {
		.line_bytes = 500, .values = 40, .depth = 4, .procs = 3, .loads = 2
	};

	(void)state;
	refused_by(&few,
		   "{'op':'chain','w':[0.6404,0.6404],'z':[1],'vcomm':[1,1],'vcomp':[1,1],"
		   "'method':'multiinst'}",
		   "fractions, more than 40: set max_installments");
}

static void clean_text(void **state)
{
	static const struct {
		const char *raw, *clean;
	} row[] = { { "plain", "plain" },
		    { "a\tb\033[1m\177", "a\\x09b\\x1b[1m\\x7f" },
		    { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		    { "\xc2\x85", "\\xc2\\x85" },
		    { "\xff\xc3", "\\xff\\xc3" },
		    { "\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80" },
		    { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" } };
	char buf[64];

	(void)state;
	for (size_t i = 0; i < LEN(row); i++)
		assert_string_equal(hp_clean(buf, sizeof buf, row[i].raw, strlen(row[i].raw)),
				    row[i].clean);
	assert_string_equal(hp_clean(buf, 6, "abcd\xc3\xa9", 6), "abcd");
	assert_string_equal(hp_clean(buf, 7, "abcd\xc3\xa9", 6), "abcd\xc3\xa9");
	assert_int_equal(hp_columns("a\xc3\xa9z"), 3);
}

static void numbers(void **state)
{
	static const struct {
		double x;
		const char *text;
	} row[] = { { 0.1, "0.1" },
		    { 1, "1.0" },
		    { 1e300, "1e+300" },
		    { 1.0 / 3, "0.3333333333333333" },
		    { 403.9730150, "403.973015" },
		    { INFINITY, "null" },
		    { NAN, "null" } };
	uint64_t seed = 5;
	char buf[HP_NUMBER_BYTES];

	(void)state;
	for (size_t i = 0; i < LEN(row); i++)
		assert_string_equal(hp_number(buf, row[i].x), row[i].text);
	for (int i = 0; i < rounds(20000); i++) {
		uint64_t bits = rnd(&seed);
		double x;
		memcpy(&x, &bits, sizeof x);
		if (isfinite(x))
			assert_true(strtod(hp_number(buf, x), NULL) == x);
	}
}

static void words(void **state)
{
	static const char *const bad[] = { "",    " 1",    "1 ", "0x10", "nan",
					   "inf", "1e999", "1,", "--1" };
	double x;
	uint64_t n;

	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		assert_false(hp_text_real(bad[i], &x));
		assert_false(number_parse(bad[i], 0, UINT64_MAX, &n));
	}
	assert_true(hp_text_real("-1.5e-3", &x) && x == -1.5e-3);
	assert_true(number_parse("18446744073709551615", 0, UINT64_MAX, &n) && n == UINT64_MAX);
	assert_false(number_parse("18446744073709551616", 0, UINT64_MAX, &n));
	assert_false(number_parse("+1", 0, UINT64_MAX, &n) ||
		     number_parse("-1", 0, UINT64_MAX, &n) ||
		     number_parse("1e6", 0, UINT64_MAX, &n));
}

/* Counts as people write them are exact, or refused. */
static void counts(void **state)
{
	static const struct {
		const char *word;
		uint64_t count;
	} good[] = { { "0", 0 },
		     { "1e6", 1000000 },
		     { "1E+6", 1000000 },
		     { "2.5e6", 2500000 },
		     { "1M", 1000000 },
		     { "1.5k", 1500 },
		     { "3.0", 3 },
		     { "9G", UINT64_C(9000000000) },
		     { "18446744073709551615", UINT64_MAX },
		     { "1.8446744073709551615e19", UINT64_MAX },
		     { "18E", UINT64_C(18000000000000000000) } };
	static const char *const bad[] = {
		"",   "e6", ".",  "1e",  "1e-3",          "1.5", "1.0005k", "1MM",   "1m",
		"1K", "+1", "-1", "1 k", "1e99999999999", "19E", "1e20",    "1..5k", "0x10"
	};
	uint64_t n;

	(void)state;
	for (size_t i = 0; i < LEN(good); i++)
		if (!hp_text_count(good[i].word, &n) || n != good[i].count)
			fail_msg("'%s'", good[i].word);
	for (size_t i = 0; i < LEN(bad); i++)
		if (hp_text_count(bad[i], &n))
			fail_msg("'%s' is read as %" PRIu64, bad[i], n);
}

static void ticks(void **state)
{
	(void)state;
	NEAR(hp_tick(404, 10), 50, 1e-15);
	NEAR(hp_tick(100, 10), 10, 1e-15);
	NEAR(hp_tick(0.9, 5), 0.2, 1e-15);
	assert_true(hp_tick(0, 10) > 0 && hp_tick(5e-324, 10) > 0 && hp_tick(1.7e308, 10) > 1e307);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(share),
		cmocka_unit_test(as_the_library),
		cmocka_unit_test(exact_integers),
		cmocka_unit_test(share_unrelated),
		cmocka_unit_test(round_shares),
		cmocka_unit_test(emulate),
		cmocka_unit_test(farm),
		cmocka_unit_test(order_and_root),
		cmocka_unit_test(chain),
		cmocka_unit_test(chain_replay),
		cmocka_unit_test(chain_of_unlike_loads),
		cmocka_unit_test(model),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(answers_are_bounded),
		cmocka_unit_test(clean_text),
		cmocka_unit_test(numbers),
		cmocka_unit_test(words),
		cmocka_unit_test(counts),
		cmocka_unit_test(ticks),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	json_decref(answer);
	return failed;
}

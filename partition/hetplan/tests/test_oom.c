/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_oom.c - every operation with each of its allocations failing in turn, also in the parser.
 * There is no answer or an error, nothing leaks, and the next request is answered. */
#include "../../../scripts/shim.h"

#ifndef SHIM_CANNOT

#	include "tests/tests.h"
#	include "hetplan/hetplan.h"

#	include <fcntl.h>
#	include <unistd.h>

#	define LINEAR "{\"type\":\"linear\"}"
#	define PROCS                                                                              \
		"[{\"compute\":" LINEAR ",\"link\":" LINEAR "},{\"compute\":{\"type\":\"affine\"," \
		"\"startup\":1,\"per_item\":2,\"scale\":3},\"link\":" LINEAR                       \
		"},{\"compute\":" LINEAR "}]"
#	define CHAIN "\"w\":[1,2],\"z\":[1],\"vcomm\":[1,2],\"vcomp\":[1,1],\"installments\":[2,1]"

static const char *const requests[] = {
	"{\"op\":\"share\",\"id\":[1,{}],\"items\":20,\"speeds\":[1,2],\"capacity\":[null,9],"
	"\"names\":[\"a\",\"b\"],\"cost\":{\"type\":\"piecewise\",\"points\":[[1,2],[3,5]]}}",
	"{\"op\":\"share\",\"items\":20,\"speeds\":[1,2],\"cost\":{\"type\":\"nlogn\"}}",
	"{\"op\":\"share-unrelated\",\"items\":2,\"costs\":[" LINEAR
	",{\"type\":\"table\",\"values\":[0,1,null]}]}",
	"{\"op\":\"round\",\"items\":4,\"shares\":[1.5,2.5],\"rule\":\"scatter\"}",
	"{\"op\":\"round\",\"items\":4,\"shares\":[1.5,2.5],\"speeds\":[1,2],\"cost\":" LINEAR "}",
	"{\"op\":\"emulate\",\"ratings\":[1,2.5],\"best_upto\":4}",
	"{\"op\":\"model\",\"observations\":[[1,2],[30,70]],\"speeds\":[1,2],\"items\":9}",
	"{\"op\":\"scatter\",\"items\":9,\"processors\":" PROCS "}",
	"{\"op\":\"scatter-order\",\"items\":9,\"processors\":" PROCS "}",
	"{\"op\":\"scatter-root\",\"items\":9,\"compute\":[" LINEAR "," LINEAR
	"],\"link\":[[null," LINEAR "],[" LINEAR ",null]],\"from_store\":[null," LINEAR "]}",
	"{\"op\":\"scatter\",\"items\":9,\"method\":\"lp\",\"processors\":" PROCS "}",
	"{\"op\":\"chain\",\"method\":\"lp\"," CHAIN "}",
	"{\"op\":\"farm\",\"items\":9,\"chunk\":2,\"processors\":" PROCS "}",
	"{\"op\":\"chain\",\"method\":\"singleinst\"," CHAIN "}",
	"{\"op\":\"chain-replay\"," CHAIN ",\"fractions\":[[[0.5,0.5],[0,0]],[[1,0]]]}",
	"{\"op\":\"nothing\"}",
	"{\"op\":",
};

/* Return whether the request was answered as well as with enough memory. */
static bool answered(const char *line, bool good)
{
	bool ok;
	json_t *a = hp_answer(line, strlen(line), 1, &hp_program_limits, &ok);
	bool same = a && ok == good &&
		    (ok || !strstr(json_string_value(json_object_get(a, "message")), "memory"));

	assert_true(!a || ok == !json_object_get(a, "message"));
	json_decref(a);
	return same;
}

static void each_allocation(const char *line)
{
	bool good;
	json_t *a = hp_answer(line, strlen(line), 1, &hp_program_limits, &good);
	long before, n = 0;

	assert_non_null(a);
	json_decref(a);
	before = shim.live;
	for (bool done = false; !done; n++) {
		shim.until = n;
		done = answered(line, good) &&
		       shim.until >= 0; /* the failing allocation was not reached */
		shim.until = -1;
		if (shim.live != before)
			fail_msg("%s: allocation %ld failed, %ld pieces leaked", line, n,
				 shim.live - before);
	}
	assert_true(n > 2);
	assert_true(answered(line, good));
}

static void all_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(requests); i++)
		each_allocation(requests[i]);
	OK(HETPART_OK);
}

/* Make tables, charts and, if there are several methods, their comparison. */
static bool show(const char *line)
{
	bool compare = !strstr(line, "farm");
	hp_job job;
	hp_bars bars;
	char path[] = "/dev/null";
	FILE *f = fopen(path, "w");
	bool ok = f && hp_job_init(&job, &hp_program_limits, NULL);

	if (!ok) {
		if (f) {
			hp_job_free(&job);
			fclose(f);
		}
		return false;
	}
	ok = hp_parse(&job, line, strlen(line), 1) && hp_perform(&job) && hp_print_table(f, &job) &&
	     hp_print_csv(f, &job) && hp_make_bars(&job, &bars) && hp_gantt(f, &bars, 60) &&
	     hp_svg(f, &bars, "title") && hp_write_json(f, job.out) &&
	     (!compare || (hp_compare(&job, 1000) && hp_print_comparison(f, job.out, true)));
	hp_job_free(&job);
	return fclose(f) == 0 && ok;
}

static void all_outputs(void **state)
{
	static const char *const lines[] = {
		"{\"op\":\"share\",\"items\":20,\"speeds\":[1,2],\"cost\":" LINEAR "}",
		"{\"op\":\"scatter\",\"items\":9,\"processors\":" PROCS "}",
		"{\"op\":\"farm\",\"items\":9,\"chunk\":2,\"processors\":" PROCS "}",
		"{\"op\":\"chain\",\"method\":\"singleinst\"," CHAIN "}",
	};

	(void)state;
	for (size_t i = 0; i < LEN(lines); i++) {
		long before, n = 0;
		assert_true(show(lines[i]));
		before = shim.live;
		for (bool done = false; !done && n < 100000; n++) {
			shim.until = n;
			done = show(lines[i]) && shim.until >= 0;
			shim.until = -1;
			if (shim.live != before)
				fail_msg("%s: allocation %ld failed, %ld pieces leaked", lines[i],
					 n, shim.live - before);
		}
		assert_true(n > 20 && n < 100000);
	}
}

/* The command lines of the program. */
static const char *const commands[] = {
	"share -n 20 -s 1,2 --cost power:1.5*2 --capacity 15,15 --names a,b --gantt",
	"share -n 20 -s 1,2 --cost nlogn --compare --csv",
	"share -n 20 --costs linear,affine:1:2 --json",
	"share --input request --csv",
	"scatter -n 9 --compute linear,1 --link linear --svg picture",
	"scatter -n 9 --compute linear,1 --link linear --compare --max-steps 50",
	"model --observations 1:2,30:70 -s 1,2 -n 9",
	"batch request",
};

enum { WORDS = 16384 };

/* Write one line that is longer than the first buffer of a verb. */
static void write_request(void)
{
	FILE *f = fopen("request", "w");

	assert_non_null(f);
	fprintf(f, "{\"op\":\"share\",\"items\":20,\"speeds\":[1,2],\"cost\":" LINEAR "}%70000s\n",
		"");
	assert_int_equal(fclose(f), 0);
}

static int perform(const char *command)
{
	char text[200], *argv[20];
	int argc = 1, status = EXIT_FAILURE;
	hp_args a;

	strcpy(text, command);
	for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	hp_verdict v = hp_args_parse(argc, argv, &a);
	if (v == HP_VERB)
		status = hp_verb(&a);
	FILE *in = v == HP_BATCH ? fopen(a.input, "r") : NULL;
	if (in) {
		status = hp_batch(in, a.input, stdout, &hp_program_limits, 0);
		fclose(in);
	} else if (v == HP_BATCH) {
		hp_say("out of memory"); /* main()'s words */
	}
	json_decref(a.set);
	return status;
}

/* Perform a command, and return what it prints, which goes through a file. */
static int perform_aside(const char *command, int file, char words[WORDS])
{
	const int out = dup(1), complaints = dup(2);

	assert_true(out >= 0 && complaints >= 0 && ftruncate(file, 0) == 0);
	assert_true(dup2(file, 1) == 1 && dup2(file, 2) == 2);
	int status = perform(command);
	fflush(stdout);
	assert_true(dup2(out, 1) == 1 && dup2(complaints, 2) == 2);
	close(out);
	close(complaints);
	ssize_t n = pread(file, words, WORDS - 1, 0);
	words[n > 0 ? n : 0] = '\0';
	return status;
}

static void all_commands(void **state)
{
	const int file = open("words", O_RDWR | O_CREAT | O_APPEND, 0600);
	char words[WORDS];

	(void)state;
	assert_true(file >= 0);
	write_request();
	for (size_t i = 0; i < LEN(commands); i++) {
		long before, n = 0, failed = 0;
		if (perform_aside(commands[i], file, words) != EXIT_SUCCESS)
			fail_msg("%s: %s", commands[i], words);
		before = shim.live;
		for (bool done = false; !done && n < 100000; n++) {
			shim.until = n;
			int status = perform_aside(commands[i], file, words);
			done = shim.until >= 0;
			shim.until = -1;
			failed += status != EXIT_SUCCESS;
			if (done ? status != EXIT_SUCCESS
				 : status != EXIT_SUCCESS && !strstr(words, "memory"))
				fail_msg("%s: allocation %ld failed, it says: %s", commands[i], n,
					 words);
			if (shim.live != before)
				fail_msg("%s: allocation %ld failed, %ld pieces leaked",
					 commands[i], n, shim.live - before);
		}
		assert_true(failed > 10 && n < 100000);
	}
	close(file);
}

int main(void)
{
	const char *dir = getenv("TEST_TMP");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_requests),
		cmocka_unit_test(all_outputs),
		cmocka_unit_test(all_commands),
	};

	SHIM_ALL;
	if (chdir(dir ? dir : ".") != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

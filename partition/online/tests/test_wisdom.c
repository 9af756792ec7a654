/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_wisdom.c - wisdom from job to job. Saved wisdom comes back, damage is refused with its line,
 * wisdom of another machine is never used, and the file is replaced in one step. */
#include "tests/tests.h"

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *host = "node7 / 2 cores";

static hetpart_wisdom *sample(void)
{
	hetpart_point seen[] = { { 1000, 1.0 / 3 }, { 1010, 0.34 }, { 0x1p63, 1e300 }, { 1, 0 } };
	hetpart_wisdom *w;
	hetpart_model *m;

	OK(hetpart_wisdom_create(&w, host, &err));
	OK(hetpart_wisdom_set_time(w, 1700000000, &err));
	OK(hetpart_wisdom_set(w, "speed:0", 1.1, &err));
	OK(hetpart_wisdom_set(w, "speed:1", -1e-300, &err));
	OK(hetpart_wisdom_model(w, "sort", &m, &err));
	OK(hetpart_model_add(m, seen, LEN(seen), &err));
	OK(hetpart_wisdom_model(w, "merge", &m, &err));
	return w;
}

static char *text_of(const hetpart_wisdom *w)
{
	size_t len = hetpart_wisdom_print(w, NULL, 0);
	char *text = malloc(len + 1);

	assert_int_equal(hetpart_wisdom_print(w, text, len + 1), len);
	assert_int_equal(strlen(text), len);
	return text;
}

static void same(const hetpart_wisdom *a, const hetpart_wisdom *b)
{
	char *x = text_of(a), *y = text_of(b);

	assert_string_equal(x, y);
	free(x);
	free(y);
}

/* Check that all that was learnt can be written and read. Costs range from the smallest to the
 * largest double in one cell, items are at its borders, weights come from decay and merges. */
static void whatever_was_learnt_comes_back(void **state)
{
	const double costs[] = { 0, 5e-324, 1e-300, 1, 1e300, 1.7976931348623157e308 };
	uint64_t seed = 31;

	(void)state;
	for (int round = 0; round < rounds(300); round++) {
		hetpart_wisdom *w = sample(), *back;
		hetpart_model *m;
		OK(hetpart_wisdom_model(w, "any", &m, &err));
		for (int i = 0; i < 40; i++) {
			double items = pow(1.1, (double)rnd_below(&seed, 3680) / 8);
			for (uint64_t ulps = rnd_below(&seed, 3); ulps > 0; ulps--)
				items = nextafter(items, i % 2 ? INFINITY : 1);
			hetpart_point seen[2];
			for (int j = 0; j < 2; j++)
				seen[j] = (hetpart_point){ fmin(items, 0x1p63),
							   costs[rnd_below(&seed, LEN(costs))] };
			OK(hetpart_model_add(m, seen, 2, &err));
			if (rnd_below(&seed, 8) == 0)
				OK(hetpart_model_decay(m, rnd_below(&seed, 2) ? 1e-8 : 0.9, &err));
			if (rnd_below(&seed, 8) == 0)
				OK(hetpart_model_merge(m, m, &err));
		}
		char *text = text_of(w);
		OK(hetpart_wisdom_parse(&back, text, strlen(text), host, 0, &err));
		same(w, back);
		hetpart_wisdom_free(back);
		hetpart_wisdom_free(w);
		free(text);
	}
}

static void comes_back(void **state)
{
	hetpart_wisdom *w = sample(), *back;
	hetpart_model *m;
	double v;
	char *text = text_of(w);

	(void)state;
	OK(hetpart_wisdom_parse(&back, text, strlen(text), host, 0, &err));
	same(w, back);
	assert_string_equal(hetpart_wisdom_host(back), host);
	assert_int_equal(hetpart_wisdom_time(back), 1700000000);
	assert_true(hetpart_wisdom_get(back, "speed:1", &v));
	NEAR(v, -1e-300, 0);
	assert_false(hetpart_wisdom_get(back, "speed:2", &v));
	OK(hetpart_wisdom_model(back, "sort", &m, &err));
	NEAR(hetpart_model_weight(m), 4, 0);
	assert_string_equal(hetpart_wisdom_model_name(back, 1), "merge");
	assert_null(hetpart_wisdom_model_name(back, 2));
	assert_string_equal(hetpart_wisdom_number_name(back, 0), "speed:0");
	assert_null(hetpart_wisdom_number_name(back, 2));
	hetpart_wisdom_free(back);
	char cut[20];
	assert_int_equal(hetpart_wisdom_print(w, cut, sizeof cut), strlen(text));
	assert_int_equal(strlen(cut), sizeof cut - 1);
	hetpart_wisdom_free(w);
	free(text);
}

/* Check that a locale with a decimal comma changes nothing. */
static void any_locale(void **state)
{
	const char *names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8" };
	hetpart_wisdom *w = sample(), *back;
	char *text = text_of(w), *again;

	(void)state;
	for (size_t i = 0; i < LEN(names) && !setlocale(LC_ALL, names[i]); i++)
		;
	again = text_of(w);
	assert_string_equal(again, text);
	OK(hetpart_wisdom_parse(&back, text, strlen(text), host, 0, &err));
	same(w, back);
	setlocale(LC_ALL, "C");
	hetpart_wisdom_free(back);
	hetpart_wisdom_free(w);
	free(text);
	free(again);
}

static void parse_says(const char *text, size_t len, hetpart_status want, const char *says)
{
	hetpart_wisdom *w = (hetpart_wisdom *)&err;

	memset(&err, 0, sizeof err);
	assert_int_equal(hetpart_wisdom_parse(&w, text, len, host, 0, &err), want);
	assert_null(w);
	assert_int_equal(err.status, want);
	if (!strstr(err.text, says))
		fail_msg("'%s' lacks '%s'", err.text, says);
}

static uint64_t fnv(const char *text, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* Write the head, the given lines, and a checksum that matches. */
static size_t file_with(char *buf, size_t size, const char *lines)
{
	int n = snprintf(buf, size, "hetpart-wisdom 1\nhost %s\n%s", host, lines);
	uint64_t sum = fnv(buf, (size_t)n);

	return (size_t)(n + snprintf(buf + n, size - (size_t)n, "checksum %016" PRIx64 "\n", sum));
}

static void bad_lines(void **state)
{
	struct {
		const char *lines;
		hetpart_status want;
		const char *says;
	} row[] = {
		{ "cell 1 1 1 0\n", HETPART_EFORMAT, "line 3: a cell before any model" },
		{ "model a\ncell 1 1 1\n", HETPART_EFORMAT, "line 4: must be 'cell ITEMS" },
		{ "model a\ncell 1 1 1 0 0\n", HETPART_EFORMAT, "line 4: must be 'cell ITEMS" },
		{ "model a\ncell 1  1 1 0\n", HETPART_EFORMAT, "line 4: must be 'cell ITEMS" },
		{ "model a\ncell nan 1 1 0\n", HETPART_EFORMAT, "line 4: must be 'cell ITEMS" },
		{ "model a\ncell 0x10 1 1 0\n", HETPART_EFORMAT, "line 4: must be 'cell ITEMS" },
		{ "model a\ncell 1e999 1 1 0\n", HETPART_EFORMAT, "line 4: must be 'cell ITEMS" },
		{ "model a\ncell 1,5 1 1 0\n", HETPART_EFORMAT, "line 4: must be 'cell ITEMS" },
		{ "model a\ncell 0.5 1 1 0\n", HETPART_EFORMAT, "line 4: items must be 1 to" },
		{ "model a\ncell 1e30 1 1 0\n", HETPART_EFORMAT, "line 4: items must be 1 to" },
		{ "model a\ncell 5 -1 1 0\n", HETPART_EFORMAT, "line 4: cost, weight or spread" },
		{ "model a\ncell 5 1 0 0\n", HETPART_EFORMAT, "line 4: cost, weight or spread" },
		{ "model a\ncell 5 1 1e13 0\n", HETPART_EFORMAT, "line 4: cost, weight" },
		{ "model a\ncell 5 1 1 -1\n", HETPART_EFORMAT, "line 4: cost, weight or spread" },
		{ "model a\ncell 9 1 1 0\ncell 5 1 1 0\n", HETPART_EFORMAT,
		  "line 5: the cells are not" },
		{ "model a\ncell 9 1 1 0\ncell 9 1 1 0\n", HETPART_EFORMAT,
		  "line 5: the cells are not" },
		{ "model a\nmodel a\n", HETPART_EFORMAT, "line 4: this model occurs" },
		{ "model a b\n", HETPART_EFORMAT, "line 3: must be 'model NAME'" },
		{ "model \n", HETPART_EFORMAT, "line 3: must be 'model NAME'" },
		{ "number a\n", HETPART_EFORMAT, "line 3: must be 'number NAME" },
		{ "number a x\n", HETPART_EFORMAT, "line 3: the value must be" },
		{ "number a inf\n", HETPART_EFORMAT, "line 3: the value must be" },
		{ "number a 1\n"
		  "number a 1\n",
		  HETPART_EFORMAT, "line 4: this number occurs" },
		{ "time 1\ntime 1\n", HETPART_EFORMAT, "line 4: the time occurs twice" },
		{ "time -1\n", HETPART_EFORMAT, "line 3: the time must be" },
		{ "time 01\n", HETPART_EFORMAT, "line 3: the time must be" },
		{ "host other\n", HETPART_EFORMAT, "line 3: this key must be in" },
		{ "hetpart-wisdom 1\n", HETPART_EFORMAT, "line 3: this key must be in" },
		{ "\n", HETPART_EFORMAT, "line 3: must begin with a key" },
		{ "Key x\n", HETPART_EFORMAT, "line 3: must begin with a key" },
		{ "key=x\n", HETPART_EFORMAT, "line 3: must begin with a key" },
		{ "key \t\n", HETPART_EFORMAT, "line 3: a character that is not" },
		{ "key \xc3\xa9\n", HETPART_EFORMAT, "line 3: a character that is not" },
		{ "key x\r\n", HETPART_EFORMAT, "line 3: a character that is not" },
	};
	char buf[4000];

	(void)state;
	for (size_t i = 0; i < LEN(row); i++)
		parse_says(buf, file_with(buf, sizeof buf, row[i].lines), row[i].want, row[i].says);
	size_t n = file_with(buf, sizeof buf, "");
	parse_says(buf, 0, HETPART_EFORMAT, "the text is empty");
	parse_says(buf, 17, HETPART_EFORMAT, "line 1: the host is missing");
	parse_says(buf, n - 1, HETPART_EFORMAT, "line 3: the last line has no newline");
	parse_says(buf, n - 26, HETPART_EFORMAT, "the checksum is missing");
	strcpy(buf + n, "x 1\n");
	parse_says(buf, n + 4, HETPART_EFORMAT, "line 4: text after the checksum");
	memset(buf, 'a', sizeof buf);
	parse_says(buf, sizeof buf, HETPART_EFORMAT, "line 1: the last line has no newline");
	buf[3000] = '\n';
	parse_says(buf, sizeof buf, HETPART_EFORMAT, "line 1: too long");
	parse_says("hetpart-wisdom 2\n", 17, HETPART_ESTALE, "line 1: format '2' is not");
	parse_says("hetpart-wisdom x\n", 17, HETPART_EFORMAT, "line 1: must be");
}

static void later_keys(void **state)
{
	char buf[400];
	hetpart_wisdom *w;
	size_t n = file_with(buf, sizeof buf, "colour blue\nmodel a\ncell-x 1\ncell 5 1 1 0\nz\n");

	(void)state;
	OK(hetpart_wisdom_parse(&w, buf, n, host, 0, &err));
	assert_string_equal(hetpart_wisdom_model_name(w, 0), "a");
	hetpart_wisdom_free(w);
}

/* Change any bit, cut at any byte: refused, never a crash. */
static void damage(void **state)
{
	hetpart_wisdom *w = sample(), *back;
	char *text = text_of(w);
	size_t len = strlen(text);

	(void)state;
	for (size_t i = 0; i < len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			text[i] = (char)(text[i] ^ 1 << bit);
			hetpart_status rc = hetpart_wisdom_parse(&back, text, len, host, 0, &err);
			assert_true(rc == HETPART_EFORMAT || rc == HETPART_ESTALE);
			assert_null(back);
			text[i] = (char)(text[i] ^ 1 << bit);
		}
		assert_int_equal(hetpart_wisdom_parse(&back, text, i, host, 0, &err),
				 HETPART_EFORMAT);
	}
	hetpart_wisdom_free(w);
	free(text);
}

static void stale(void **state)
{
	hetpart_wisdom *w = sample(), *back;
	char *text = text_of(w);
	size_t len = strlen(text);

	(void)state;
	assert_int_equal(hetpart_wisdom_parse(&back, text, len, "node8", 0, &err), HETPART_ESTALE);
	assert_null(back);
	assert_string_equal(err.text, "made on 'node7 / 2 cores', not on 'node8'");
	assert_int_equal(hetpart_wisdom_parse(&back, text, len, host, 1700000001, &err),
			 HETPART_ESTALE);
	assert_null(back);
	OK(hetpart_wisdom_parse(&back, text, len, NULL, 1700000000, &err));
	same(w, back);
	hetpart_wisdom_free(back);
	hetpart_wisdom_free(w);
	free(text);
}

static void merging(void **state)
{
	hetpart_wisdom *a = sample(), *b = sample(), *other;
	hetpart_model *m;
	double v;

	(void)state;
	OK(hetpart_wisdom_set(b, "speed:0", 9, &err));
	OK(hetpart_wisdom_set(b, "new", 5, &err));
	OK(hetpart_wisdom_set_time(b, 1, &err));
	OK(hetpart_wisdom_merge(a, b, &err)); /* b is older: its speed does not count */
	assert_true(hetpart_wisdom_get(a, "speed:0", &v));
	NEAR(v, 1.1, 0);
	assert_true(hetpart_wisdom_get(a, "new", &v));
	assert_int_equal(hetpart_wisdom_time(a), 1700000000);
	OK(hetpart_wisdom_model(a, "sort", &m, &err));
	NEAR(hetpart_model_weight(m), 8, 0);
	OK(hetpart_wisdom_merge(b, a, &err));
	assert_true(hetpart_wisdom_get(b, "speed:0", &v));
	NEAR(v, 1.1, 0);
	assert_int_equal(hetpart_wisdom_time(b), 1700000000);
	OK(hetpart_wisdom_create(&other, "elsewhere", &err));
	assert_int_equal(hetpart_wisdom_merge(a, other, &err), HETPART_ESTALE);
	assert_int_equal(hetpart_wisdom_merge(a, a, &err), HETPART_EINVAL);
	hetpart_wisdom_free(a);
	hetpart_wisdom_free(b);
	hetpart_wisdom_free(other);
}

static void in_directory(char *path, size_t size, const char *name)
{
	const char *dir = getenv("TEST_TMP");
	snprintf(path, size, "%s/%s", dir ? dir : ".", name);
}

static size_t entries(void)
{
	const char *dir = getenv("TEST_TMP");
	DIR *d = opendir(dir ? dir : ".");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void files(void **state)
{
	hetpart_wisdom *w = sample(), *back;
	char path[4096], missing[4096], directory[4096];
	struct stat st;

	(void)state;
	in_directory(path, sizeof path, "wisdom.txt");
	in_directory(missing, sizeof missing, "no/such/directory");
	in_directory(directory, sizeof directory, "directory");
	assert_int_equal(mkdir(directory, 0777), 0);
	size_t before = entries();
	OK(hetpart_wisdom_save(w, path, &err));
	OK(hetpart_wisdom_load(&back, path, host, 0, &err));
	same(w, back);
	OK(hetpart_wisdom_set(w, "again", 2, &err));
	OK(hetpart_wisdom_save(w, path, &err));
	hetpart_wisdom_free(back);
	OK(hetpart_wisdom_load(&back, path, host, 0, &err));
	same(w, back);
	hetpart_wisdom_free(back);
	assert_int_equal(hetpart_wisdom_load(&back, path, "node8", 0, &err), HETPART_ESTALE);
	assert_non_null(strstr(err.text, "made on 'node7"));
	assert_int_equal(hetpart_wisdom_load(&back, missing, host, 0, &err), HETPART_EIO);
	assert_non_null(strstr(err.text, "cannot open"));
	assert_int_equal(hetpart_wisdom_load(&back, directory, host, 0, &err), HETPART_EIO);
	assert_non_null(strstr(err.text, "not a plain file"));
	assert_int_equal(hetpart_wisdom_save(w, missing, &err), HETPART_EIO);
	assert_int_equal(hetpart_wisdom_save(w, directory, &err), HETPART_EIO);
	assert_non_null(strstr(err.text, "cannot replace"));
	assert_int_equal(entries(), before + 1); /* no temporary file is left */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
	assert_int_equal(hetpart_wisdom_load(&back, path, host, 0, &err), HETPART_EFORMAT);
	assert_non_null(strstr(err.text, "line "));
	assert_int_equal(truncate(path, (off_t)1 << 25), 0);
	assert_int_equal(hetpart_wisdom_load(&back, path, host, 0, &err), HETPART_EFORMAT);
	assert_non_null(strstr(err.text, "too long"));
	assert_null(back);
	unlink(path);
	rmdir(directory);
	hetpart_wisdom_free(w);
}

/* Check that a file that cannot be written to its end leaves the old one. */
static void disk_full(void **state)
{
	struct rlimit was, tight;
	hetpart_wisdom *w = sample(), *back;
	char path[4096];

	(void)state;
	in_directory(path, sizeof path, "full.txt");
	OK(hetpart_wisdom_save(w, path, &err));
	size_t before = entries();
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	tight = was;
	tight.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	hetpart_status rc = hetpart_wisdom_save(w, path, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(rc, HETPART_EIO);
	assert_non_null(strstr(err.text, "cannot write"));
	assert_int_equal(entries(), before);
	OK(hetpart_wisdom_load(&back, path, host, 0, &err));
	same(w, back);
	hetpart_wisdom_free(back);
	hetpart_wisdom_free(w);
	unlink(path);
}

/* Check a plain file that cannot be read: no memory is mapped at address 0. */
static void unreadable(void **state)
{
	const char *path = "/proc/self/mem";
	hetpart_wisdom *back = (hetpart_wisdom *)&err;

	(void)state;
	if (access(path, R_OK) != 0)
		skip();
	assert_int_equal(hetpart_wisdom_load(&back, path, host, 0, &err), HETPART_EIO);
	assert_string_equal(err.text, "cannot read '/proc/self/mem': Input/output error");
	assert_null(back);
}

/* Save many models with many sizes: a file that could not be read again is not written. */
static void too_much_for_a_file(void **state)
{
	hetpart_point seen[1600];
	hetpart_wisdom *w = sample();
	char path[4096], name[32];
	size_t before;

	(void)state;
	for (size_t i = 0; i < LEN(seen); i++)
		seen[i] = (hetpart_point){ (uint64_t)(100 * pow(1.1, i / 4.)), 1 + i / 3. };
	for (int i = 0; i < 320; i++) {
		hetpart_model *m;
		snprintf(name, sizeof name, "m%d", i);
		OK(hetpart_wisdom_model(w, name, &m, &err));
		OK(hetpart_model_add(m, seen, LEN(seen), &err));
	}
	in_directory(path, sizeof path, "large.txt");
	before = entries();
	assert_int_equal(hetpart_wisdom_save(w, path, &err), HETPART_ERANGE);
	assert_non_null(strstr(err.text, "too long for a file, which has at most 16777216"));
	assert_int_equal(entries(), before);
	hetpart_wisdom_free(w);
}

static void refusals(void **state)
{
	char long_name[100], long_host[200];
	hetpart_wisdom *w = sample(), *x;
	hetpart_model *m;

	(void)state;
	memset(long_name, 'a', sizeof long_name);
	long_name[64] = 0;
	memset(long_host, 'a', sizeof long_host);
	long_host[128] = 0;
	const char *names[] = { "", "a b", "a\n", "\xe4", "a/b", long_name };
	const char *hosts[] = { "", " a", "a ", "a\nb", "\xe4", long_host };
	for (size_t i = 0; i < LEN(names); i++) {
		assert_int_equal(hetpart_wisdom_model(w, names[i], &m, &err), HETPART_EINVAL);
		assert_null(m);
		assert_int_equal(hetpart_wisdom_set(w, names[i], 1, &err), HETPART_EINVAL);
		assert_int_equal(hetpart_wisdom_create(&x, hosts[i], &err), HETPART_EINVAL);
		assert_null(x);
	}
	assert_int_equal(hetpart_wisdom_set(w, "x", NAN, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_set(w, "x", INFINITY, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_set(NULL, "x", 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_set(w, NULL, 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_set_time(w, UINT64_MAX, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_set_time(NULL, 1, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_model(w, "x", NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_model(NULL, "x", &m, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_create(NULL, "x", &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_create(&x, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_parse(NULL, "x", 1, host, 0, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_parse(&x, NULL, 1, host, 0, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_parse(&x, NULL, 0, host, 0, &err), HETPART_EFORMAT);
	assert_int_equal(hetpart_wisdom_load(NULL, "x", host, 0, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_load(&x, NULL, host, 0, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_save(NULL, "x", &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_save(w, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_merge(w, NULL, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_merge(NULL, w, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_wisdom_print(NULL, long_name, 5), 0);
	assert_string_equal(long_name, "");
	assert_string_equal(hetpart_wisdom_host(NULL), "");
	assert_int_equal(hetpart_wisdom_time(NULL), 0);
	assert_false(hetpart_wisdom_get(NULL, "x", NULL));
	assert_null(hetpart_wisdom_model_name(NULL, 0));
	hetpart_wisdom_free(NULL);
	hetpart_wisdom_free(w);
}

/* Check that 4096 names fit, and no more. */
static void many_names(void **state)
{
	hetpart_wisdom *w = sample();
	char name[32];
	int i = 0;

	(void)state;
	for (; i < 4094; i++) {
		snprintf(name, sizeof name, "n%d", i);
		OK(hetpart_wisdom_set(w, name, i, &err));
	}
	assert_int_equal(hetpart_wisdom_set(w, "more", 1, &err), HETPART_ENOMEM);
	OK(hetpart_wisdom_set(w, "n7", 1, &err));
	hetpart_wisdom_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back), cmocka_unit_test(whatever_was_learnt_comes_back),
		cmocka_unit_test(any_locale), cmocka_unit_test(bad_lines),
		cmocka_unit_test(later_keys), cmocka_unit_test(damage),
		cmocka_unit_test(stale),      cmocka_unit_test(merging),
		cmocka_unit_test(disk_full),  cmocka_unit_test(files),
		cmocka_unit_test(refusals),   cmocka_unit_test(many_names),
		cmocka_unit_test(unreadable), cmocka_unit_test(too_much_for_a_file),
	};
	return cmocka_run_group_tests_name("wisdom", tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transfers by io_uring: whole, from any offset, up to the first failure; and the trial that
 * chooses the method. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "io/io_fd.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PART = 4096, FILE_BYTES = 1000003, THREADS = 4, AT_ONCE = 16 };

#define LEN(a) (sizeof(a) / sizeof *(a))

static unsigned char content[FILE_BYTES];

static int make_file(bool filled)
{
	char name[] = "uring.XXXXXX";
	const int fd = mkstemp(name);
	assert_true(fd >= 0 && unlink(name) == 0);
	for (size_t i = 0; i < sizeof content; i++)
		content[i] = (unsigned char)(i * 2654435761U >> 13);
	if (filled)
		assert_int_equal(pwrite(fd, content, sizeof content, 0), sizeof content);
	return fd;
}

static uring *open_uring(void)
{
	err e = { ST_OK, "" };
	uring *u;
	if (uring_open(&u, PART, &e) != ST_OK) {
		assert_int_equal(e.code, ST_REFUSED);
		assert_null(u);
		print_message("%s\n", e.text);
		skip();
	}
	return u;
}

static size_t move(uring *u, int fd, io_transfer t)
{
	return uring_move(u, fd, &t);
}

/* More and fewer segments than are in flight at once; a shorter last one. */
static const struct span {
	size_t at, bytes;
} spans[] = {
	{ 0, 0 },           { 0, 1 },          { 0, PART },           { 1, PART + 1 },
	{ 777, 20 * PART }, { 0, FILE_BYTES }, { 5, FILE_BYTES - 5 },
};

static void whole_transfers(void **state)
{
	unsigned char *buf = malloc(FILE_BYTES);
	uring *u = open_uring();
	(void)state;
	for (size_t i = 0; i < LEN(spans); i++) {
		const struct span *s = &spans[i];
		const int from = make_file(true), to = make_file(false);
		memset(buf, 0xee, FILE_BYTES);
		assert_int_equal(move(u, from, (io_transfer){ buf, s->bytes, s->at, false, NULL }),
				 s->bytes);
		assert_memory_equal(buf, content + s->at, s->bytes);
		assert_int_equal(move(u, to, (io_transfer){ buf, s->bytes, s->at, true, NULL }),
				 s->bytes);
		memset(buf, 0xee, FILE_BYTES);
		assert_int_equal(pread(to, buf, s->bytes, (off_t)s->at), s->bytes);
		assert_memory_equal(buf, content + s->at, s->bytes);
		close(from);
		close(to);
	}
	uring_close(u);
	free(buf);
}

typedef struct listener {
	const unsigned char *p, *seen;
} listener;

static void check_arrived(void *listener_, const unsigned char *end)
{
	listener *l = listener_;
	assert_true(end > l->seen);
	assert_true(end - l->seen <= AT_ONCE * PART);
	assert_memory_equal(l->seen, content + (l->seen - l->p), (size_t)(end - l->seen));
	l->seen = end;
}

/* Check that the listener gets each byte once, in order, and not only at the end. */
static void bytes_as_they_arrive(void **state)
{
	unsigned char *buf = calloc(FILE_BYTES, 1);
	listener l = { buf, buf };
	const arrivals a = { check_arrived, &l };
	uring *u = open_uring();
	(void)state;
	const int fd = make_file(true);
	assert_int_equal(move(u, fd, (io_transfer){ buf, FILE_BYTES + 1, 0, false, &a }),
			 FILE_BYTES);
	assert_int_equal(l.seen - buf, FILE_BYTES);
	close(fd);
	uring_close(u);
	free(buf);
}

/* Check that only bytes before the first failure count. */
static void up_to_the_first_failure(void **state)
{
	enum { MORE = 50 * PART, LIMIT = 9 * PART + 100 };
	unsigned char *buf = calloc(1, FILE_BYTES + MORE);
	uring *u = open_uring();
	struct rlimit l, old;
	(void)state;
	const int fd = make_file(true), limited = make_file(false);
	assert_int_equal(move(u, fd, (io_transfer){ buf, FILE_BYTES + MORE, 0, false, NULL }),
			 FILE_BYTES);
	assert_memory_equal(buf, content, FILE_BYTES);
	assert_int_equal(move(u, fd, (io_transfer){ buf, PART, FILE_BYTES, false, NULL }), 0);
	const int readable = open("/proc/self/exe", O_RDONLY);
	assert_int_equal(move(u, readable, (io_transfer){ buf, 3 * PART, 0, true, NULL }), 0);
	close(readable);
	assert_int_equal(move(u, readable, (io_transfer){ buf, 3 * PART, 0, false, NULL }), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	l = (struct rlimit){ LIMIT, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
	const size_t there = move(u, limited, (io_transfer){ content, 40 * PART, 0, true, NULL });
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(there, LIMIT);
	assert_int_equal(pread(limited, buf, FILE_BYTES, 0), LIMIT);
	assert_memory_equal(buf, content, LIMIT);
	close(fd);
	close(limited);
	uring_close(u);
	free(buf);
}

typedef struct client {
	uring *u;
	int fd;
	bool ok;
} client;

static void *read_often(void *client_)
{
	client *c = client_;
	unsigned char *buf = malloc(FILE_BYTES);
	c->ok = buf != NULL;
	for (size_t i = 0; c->ok && i < 20; i++) {
		const size_t at = i * 997, bytes = FILE_BYTES - at;
		c->ok = move(c->u, c->fd, (io_transfer){ buf, bytes, at, false, NULL }) == bytes &&
			memcmp(buf, content + at, bytes) == 0;
	}
	free(buf);
	return NULL;
}

static void many_threads(void **state)
{
	pthread_t t[THREADS];
	client c[THREADS];
	uring *u = open_uring();
	(void)state;
	const int fd = make_file(true);
	for (size_t i = 0; i < THREADS; i++) {
		c[i] = (client){ u, fd, false };
		assert_int_equal(pthread_create(&t[i], NULL, read_often, &c[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		assert_true(c[i].ok);
	}
	close(fd);
	uring_close(u);
}

/* Check that blocking calls move the rest, and report errors. */
static void the_rest_by_calls(void **state)
{
	err e = { ST_OK, "" };
	unsigned char *buf = malloc(FILE_BYTES + 1);
	io_backend *x;
	io_stats t;
	uring_close(open_uring());
	(void)state;
	assert_int_equal(io_backend_open(&x, IO_URING, PART, &e), ST_OK);
	const io_fd f = { .fd = make_file(true), .direct = -1, .io = x };
	assert_int_equal(io_fd_read_at(&f, buf, FILE_BYTES, 0, "a", &e), ST_OK);
	assert_memory_equal(buf, content, FILE_BYTES);
	io_backend_stats(x, false, &t);
	assert_int_equal(t.method, IO_URING);
	assert_int_equal(t.uring_bytes, FILE_BYTES);
	assert_int_equal(io_fd_read_at(&f, buf, FILE_BYTES + 1, 0, "a", &e), ST_IO);
	assert_string_equal(e.text, "'a' ends at byte 1000003: it was cut short while being read");
	io_backend_stats(x, true, &t);
	assert_int_equal(t.uring_bytes, 0);
	close(f.fd);
	io_backend_close(x);
	free(buf);
}

static const io_transfer segment = { .bytes = PART, .writing = true };

/* Simulate a job whose transfers take uring_s by io_uring and 1 by calls; return whether it uses
 * io_uring in the end. Transfers of a round that overlap with the other method take another time.
 */
static bool uring_stays(io_backend *x, bool direct, double uring_s)
{
	double now = 1000;
	bool before = false;
	for (size_t i = 0, same = 0; i < 300; i++) {
		const bool by_ring = io_backend_ring(x, &segment, direct, now) != NULL;
		assert_true(i == 0 || i >= 126 || by_ring == before);
		same = by_ring == before ? same + 1 : 0;
		now += same < 4 ? 50 : by_ring ? uring_s : 1;
		before = by_ring;
	}
	return before;
}

static void the_faster_method(void **state)
{
	static const struct {
		double uring_s;
		bool calls_stay, uring_stays;
	} cases[] = { { 0.5, true, true },   { 0.8, true, true },   { 0.95, false, true },
		      { 1.05, false, true }, { 1.3, false, false }, { 2, false, false } };
	uring_close(open_uring());
	(void)state;
	for (size_t i = 0; i < 2 * LEN(cases); i++) {
		const double s = cases[i / 2].uring_s;
		err e = { ST_OK, "" };
		const bool wins = i % 2 ? cases[i / 2].uring_stays : cases[i / 2].calls_stay;
		io_backend *x;
		io_stats t;
		assert_int_equal(io_backend_open(&x, IO_AUTO, PART, &e), ST_OK);
		assert_int_equal(uring_stays(x, i % 2, s), wins);
		io_backend_stats(x, true, &t);
		assert_int_equal(t.method, wins ? IO_URING : IO_THREADS);
		assert_true(t.calls_bytes_per_s == PART);
		assert_true(t.uring_bytes_per_s > 0.99 * PART / s);
		assert_true(t.uring_bytes_per_s < 1.01 * PART / s);
		io_backend_stats(x, false, &t); /* reading was not tried */
		assert_int_equal(t.method, IO_THREADS);
		assert_true(t.uring_bytes_per_s == 0);
		io_backend_close(x);
	}
}

/* Check that a forced method stays, and that far less than a segment uses no ring. */
static void forced(void **state)
{
	err e = { ST_OK, "" };
	const io_transfer less = { .bytes = PART / 8 - 1, .writing = true };
	io_backend *x;
	(void)state;
	assert_null(io_backend_ring(NULL, &segment, true, 0));
	assert_int_equal(io_backend_open(&x, IO_THREADS, PART, &e), ST_OK);
	assert_false(uring_stays(x, true, 0.1));
	io_backend_close(x);
	uring_close(open_uring());
	assert_int_equal(io_backend_open(&x, IO_URING, PART, &e), ST_OK);
	assert_true(uring_stays(x, true, 10));
	assert_null(io_backend_ring(x, &less, true, 0));
	io_backend_close(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_transfers),      cmocka_unit_test(up_to_the_first_failure),
		cmocka_unit_test(many_threads),         cmocka_unit_test(the_rest_by_calls),
		cmocka_unit_test(the_faster_method),    cmocka_unit_test(forced),
		cmocka_unit_test(bytes_as_they_arrive),
	};
	const char *tmp = getenv("TEST_TMP");
	if (tmp && chdir(tmp) != 0)
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

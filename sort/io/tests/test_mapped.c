/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that shrink while they are mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "io/reader.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 8 };

static int file_of_pages(void)
{
	char name[] = "mapped.XXXXXX", page[PAGE];
	const int fd = mkstemp(name);
	assert_true(fd >= 0);
	unlink(name);
	memset(page, 'x', sizeof page);
	for (int i = 0; i < PAGES; i++)
		assert_true(write(fd, page, sizeof page) == PAGE);
	return fd;
}

static unsigned char read_byte(const unsigned char *at)
{
	return *(const volatile unsigned char *)at;
}

static void test_reads_the_file(void **unused)
{
	(void)unused;
	const int fd = file_of_pages();
	mapped m;
	const unsigned char *at = mapped_open(&m, fd, 100, 2 * PAGE);
	assert_non_null(at);
	for (int i = 0; i < 2 * PAGE; i++)
		assert_int_equal(read_byte(at + i), 'x');
	assert_false(mapped_shrank(&m));
	mapped_close(&m);
	assert_null(mapped_open(&m, -1, 0, PAGE));
	assert_false(mapped_shrank(&m));
	mapped_close(&m);
	close(fd);
}

static void test_shrinks(void **unused)
{
	(void)unused;
	const int fd = file_of_pages(), other = file_of_pages();
	mapped m, n;
	const unsigned char *at = mapped_open(&m, fd, 0, PAGES * PAGE);
	const unsigned char *next = mapped_open(&n, other, 0, PAGES * PAGE);
	assert_non_null(at);
	assert_non_null(next);
	assert_int_equal(ftruncate(fd, 3 * PAGE), 0);
	assert_int_equal(read_byte(at + 3 * PAGE - 1), 'x');
	assert_false(mapped_shrank(&m));
	for (int i = 3; i < PAGES; i++)
		assert_int_equal(read_byte(at + i * PAGE + i), 0);
	assert_true(mapped_shrank(&m));
	assert_false(mapped_shrank(&n));
	assert_int_equal(read_byte(next), 'x');
	mapped_close(&m);
	at = mapped_open(&m, fd, 0, 3 * PAGE);
	assert_non_null(at);
	assert_false(mapped_shrank(&m));
	mapped_close(&m);
	mapped_close(&n);
	close(other);
	close(fd);
}

/* ------------------------------------------------------- signals that are not for this module */

enum { SURVIVED = 10 };

static volatile sig_atomic_t calls, later_calls;
static void *volatile seen_at;
static struct sigaction replaced;

static void count_call(int signum)
{
	(void)signum;
	calls++;
}

static void count_and_see(int signum, siginfo_t *info, void *context)
{
	(void)signum;
	(void)context;
	seen_at = info->si_addr;
	calls++;
}

/* Count, and call the handler that this one has replaced. */
static void count_and_pass_on(int signum, siginfo_t *info, void *context)
{
	later_calls++;
	replaced.sa_sigaction(signum, info, context);
}

typedef void handler_with_info(int signum, siginfo_t *info, void *context);

/* Set the action of the program: f if it is not NULL, else g. */
static void set_action(void (*f)(int), handler_with_info *g, int flags)
{
	struct sigaction a = { .sa_handler = f, .sa_flags = flags };
	if (!f && g) {
		a.sa_sigaction = g;
		a.sa_flags |= SA_SIGINFO;
	}
	sigaddset(&a.sa_mask, SIGUSR1);
	if (sigaction(SIGBUS, &a, NULL) != 0)
		_exit(1);
}

/* Return whether the program has this action. */
static bool has_action(void (*f)(int), handler_with_info *g, int flags)
{
	enum { COMPARED = SA_SIGINFO | SA_NODEFER | (int)SA_RESETHAND };
	const int wanted = flags | (f ? 0 : SA_SIGINFO);
	struct sigaction now;
	return sigaction(SIGBUS, NULL, &now) == 0 && sigismember(&now.sa_mask, SIGUSR1) == 1 &&
	       (now.sa_flags & COMPARED) == wanted &&
	       (f ? now.sa_handler == f : now.sa_sigaction == g);
}

/* Read a lost page of a mapping that the table does not contain. */
static void lose_own_page(void)
{
	const int fd = file_of_pages();
	const unsigned char *at = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || ftruncate(fd, PAGE) != 0)
		_exit(1);
	(void)read_byte(at + 2 * PAGE);
}

/* Send SIGBUS with an address, as only a program can. */
static void send_with_address(const void *at)
{
	siginfo_t info = { .si_signo = SIGBUS, .si_code = SI_QUEUE };
	info.si_addr = (void *)(uintptr_t)at;
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGBUS, &info) != 0)
		_exit(1);
}

static void send_bus_error(void)
{
	if (kill(getpid(), SIGBUS) != 0)
		_exit(1);
}

/* Return whether a lost page of m is still read as zeros, and whether the action that is restored
 * at the end is the right one. */
static int close_protected(mapped *m, const unsigned char *at, int fd, void (*f)(int),
			   handler_with_info *g, int flags)
{
	if (mapped_shrank(m) || ftruncate(fd, PAGE) != 0 || read_byte(at + 2 * PAGE) != 0 ||
	    !mapped_shrank(m))
		return 2;
	mapped_close(m);
	return has_action(f, g, flags) ? SURVIVED : 3;
}

/* A program with an action of its own maps a file, and something happens. */
typedef struct foreign {
	const char *name;
	void (*action)(int);
	handler_with_info *action_with_info;
	int flags;
	void (*happens)(void); /* NULL: a signal with an address in the mapping */
	int calls; /* of the action; -1: the process must die of the signal, after any calls */
} foreign;

static const foreign cases[] = {
	{ "default, sent", SIG_DFL, NULL, 0, send_bus_error, -1 },
	{ "default, sent with an address", SIG_DFL, NULL, 0, NULL, -1 },
	{ "default, lost", SIG_DFL, NULL, 0, lose_own_page, -1 },
	{ "ignored, sent", SIG_IGN, NULL, 0, send_bus_error, 0 },
	{ "ignored, lost", SIG_IGN, NULL, 0, lose_own_page, -1 },
	{ "handler, sent", count_call, NULL, 0, send_bus_error, 1 },
	{ "handler, sent with an address", count_call, NULL, SA_NODEFER, NULL, 1 },
	{ "handler with information, sent", NULL, count_and_see, 0, send_bus_error, 1 },
	{ "handler with information, sent with an address", NULL, count_and_see, 0, NULL, 1 },
	{ "handler for once, lost", count_call, NULL, SA_RESETHAND, lose_own_page, -1 },
	{ "handler with information for once, lost", NULL, count_and_see, SA_RESETHAND,
	  lose_own_page, -1 },
};

static int live_through(const foreign *c)
{
	const int fd = file_of_pages();
	mapped m, second;
	set_action(c->action, c->action_with_info, c->flags);
	const unsigned char *at = mapped_open(&m, fd, 0, PAGES * PAGE);
	if (!at || !mapped_open(&second, fd, 0, PAGE))
		return 1;
	mapped_close(&second);
	if (c->happens)
		c->happens();
	else
		send_with_address(at + 2 * PAGE);
	if (calls != c->calls || (c->action_with_info && !c->happens && seen_at != at + 2 * PAGE))
		return 4;
	return close_protected(&m, at, fd, c->action, c->action_with_info, c->flags);
}

static void test_other_signals(void **unused)
{
	(void)unused;
	for (const foreign *c = cases; c < cases + sizeof cases / sizeof *cases; c++) {
		const pid_t child = fork();
		if (child == 0) {
			(void)alarm(60); /* ends a loop without end */
			_exit(live_through(c));
		}
		int how;
		assert_int_equal(waitpid(child, &how, 0), child);
		const int died = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
		if (died != (c->calls < 0 ? SIGBUS : 0) || (!died && WEXITSTATUS(how) != SURVIVED))
			fail_msg("%s: signal %d, or exit %d", c->name, died, WEXITSTATUS(how));
	}
}

/* Check that a handler that replaces this module's and calls it is not called by it in turn. */
static void test_replaced_handler(void **unused)
{
	(void)unused;
	const pid_t child = fork();
	if (child == 0) {
		struct sigaction a = { .sa_sigaction = count_and_pass_on, .sa_flags = SA_SIGINFO };
		const int fd = file_of_pages();
		mapped m, n;
		(void)alarm(60);
		set_action(count_call, NULL, 0);
		const unsigned char *at = mapped_open(&m, fd, 0, PAGES * PAGE);
		if (!at || sigaction(SIGBUS, &a, &replaced) != 0 || mapped_open(&n, fd, 0, PAGE))
			_exit(1);
		send_bus_error();
		if (calls != 1 || later_calls != 1)
			_exit(2);
		if (ftruncate(fd, PAGE) != 0 || read_byte(at + 2 * PAGE) != 0 || calls != 1)
			_exit(3);
		mapped_close(&m);
		send_bus_error();
		if (mapped_open(&m, fd, 0, PAGE) || calls != 2 || later_calls != 3)
			_exit(4);
		_exit(SURVIVED);
	}
	int how;
	assert_int_equal(waitpid(child, &how, 0), child);
	assert_true(WIFEXITED(how));
	assert_int_equal(WEXITSTATUS(how), SURVIVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_the_file),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_other_signals),
		cmocka_unit_test(test_replaced_handler),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code that gensort and valsort share: the size of a record, messages, standard streams,
 * threads and a progress line. The code that makes records and the code that checks them stay
 * separate, so that neither can hide an error of the other. */
#ifndef TOOL_H
#define TOOL_H

#include "nearest.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef unsigned __int128 u128;

enum { RECORD_BYTES = 100, KEY_BYTES = 10 };

/* ------------------------------------------------------------ messages
 *
 * Only the main thread prints. main checks standard error for errors, once at the end. */

/* tool_print_name - print a name on standard error. Control characters, which a terminal could
 * obey, are printed as \xHH: 00 to 1F, 7F, and in UTF-8 C2 80 to C2 9F. */
static inline void tool_print_name(const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		const bool wide = p[0] == 0xC2 && (p[1] & 0xE0) == 0x80;
		if (wide)
			fprintf(stderr, "\\x%02x", *p++);
		if (wide || *p < ' ' || *p == 0x7F)
			fprintf(stderr, "\\x%02x", *p);
		else
			putc(*p, stderr);
	}
}

/* tool_error - print "PROGRAM: TEXT 'NAME': REASON" on standard error; err 0: without a reason. */
static inline void tool_error(const char *program, const char *text, const char *name, int err)
{
	fprintf(stderr, "%s: %s '", program, text);
	tool_print_name(name);
	fprintf(stderr, err ? "': %s\n" : "'\n", strerror(err));
}

/* tool_print - print a text on standard output, which is then closed. Return the exit status. */
static inline int tool_print(const char *program, const char *text)
{
	if (fputs(text, stdout) != EOF && fclose(stdout) == 0)
		return EXIT_SUCCESS;
	tool_error(program, "cannot write", "standard output", errno);
	return EXIT_FAILURE;
}

/* tool_bad_option - return the option that getopt_long refused, as the user wrote it. word: the
 * word at optind before the call. */
static inline const char *tool_bad_option(const char *word, char letter[3])
{
	const bool is_long =
		optopt == 0 || optopt > UINT8_MAX || (word && word[0] == '-' && word[1] == '-');
	letter[0] = '-';
	letter[1] = (char)optopt;
	letter[2] = '\0';
	return is_long ? word : letter;
}

/* tool_refuse_option - print why getopt_long refused the option in this word, as it returned c. */
static inline void tool_refuse_option(const char *program, int c, const char *word,
				      const struct option *longs)
{
	char letter[3];
	const char *meant = optopt || c == ':' ? NULL
					       : nearest_word(word + 2, strcspn(word + 2, "="),
							      longs, sizeof *longs);
	fprintf(stderr, "%s: %s option '", program, c == ':' ? "no value for" : "bad");
	tool_print_name(tool_bad_option(word, letter));
	fprintf(stderr, meant ? "' (did you mean --%s?)\n" : "'\n", meant);
}

/* tool_hold_streams - open /dev/null for standard streams that are closed, in a mode in which
 * reading standard input and writing the others fail. Otherwise an output file could get the
 * descriptor of a stream, and messages would go there. Return false after a failure. */
static inline bool tool_hold_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

/* tool_messages_apart - return whether standard error is another file than fd, unless fd is no
 * regular file. If not, messages would be written among the records: then they go to the terminal
 * of this process, or nowhere if it has none. */
static inline bool tool_messages_apart(int fd)
{
	struct stat a, b;
	if (fstat(fd, &a) != 0 || !S_ISREG(a.st_mode) || fstat(STDERR_FILENO, &b) != 0 ||
	    a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return true;
	int to = open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (to < 0)
		to = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (to >= 0 && dup2(to, STDERR_FILENO) >= 0)
		close(to);
	return false;
}

/* ------------------------------------------------------------ threads */

enum { TOOL_MAX_THREADS = 1024, TOOL_FIRST_CPUS = 1024, TOOL_MOST_CPUS = 1 << 20 };
enum { TOOL_PAGE_BYTES = 4096 };

/* tool_processors - return the number of processors that the caller may use; 1 if it is unknown.
 * The kernel refuses a set that is smaller than its own, so the set grows until it is accepted.
 * Some machines have more processors than fit into a cpu_set_t. */
static inline unsigned tool_processors(void)
{
	int count = 0, err = EINVAL;
	for (size_t cpus = TOOL_FIRST_CPUS; cpus <= TOOL_MOST_CPUS && err == EINVAL; cpus *= 2) {
		const size_t bytes = CPU_ALLOC_SIZE(cpus);
		cpu_set_t *set = CPU_ALLOC(cpus);
		err = !set ? ENOMEM : sched_getaffinity(0, bytes, set) != 0 ? errno : 0;
		if (err == 0)
			count = CPU_COUNT_S(bytes, set);
		CPU_FREE(set);
	}
	return count > 0 ? (unsigned)count : 1;
}

/* Work that several threads share. Each call gets a buffer of its own. */
typedef struct tool_team {
	void (*work)(void *job, unsigned char *buf);
	void *job;
	size_t buf_bytes; /* whole pages */
} tool_team;

static inline void *tool_thread(void *team)
{
	const tool_team *t = team;
	unsigned char *buf = aligned_alloc(TOOL_PAGE_BYTES, t->buf_bytes);
	if (buf) /* without memory, the other threads do the work of this one */
		t->work(t->job, buf);
	free(buf);
	return NULL;
}

/* tool_team_work - do the work in `threads` threads (0: one per processor), at most one per block.
 * The calling thread is one of them and uses buf. If others cannot be started, fewer do the
 * work. */
static inline void tool_team_work(const tool_team *t, unsigned threads, uint64_t blocks,
				  unsigned char *buf)
{
	unsigned n = threads ? threads : tool_processors(), up = 0;
	n = n < TOOL_MAX_THREADS ? n : TOOL_MAX_THREADS;
	n = n < blocks ? n : (unsigned)blocks;
	pthread_t *id = calloc(n, sizeof *id);
	while (id && up + 1 < n && pthread_create(&id[up], NULL, tool_thread, (void *)t) == 0)
		up++;
	t->work(t->job, buf);
	while (up > 0)
		pthread_join(id[--up], NULL);
	free(id);
}

/* ------------------------------------------------------------ progress
 *
 * Work of more than two seconds prints its progress on a terminal, in a line that is rewritten once
 * a second. It costs one reading of the clock per block. */

enum { TOOL_COLUMNS = 80 };

/* The state of the line, used by one thread at a time. */
typedef struct tool_progress {
	uint64_t all; /* bytes; 0: not known */
	double begun, next;
	bool on;
	int columns; /* length of the line that is shown */
} tool_progress;

static inline double tool_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* tool_progress_begin - start the clock. The line is never shown if `on` is false. */
static inline void tool_progress_begin(tool_progress *p, uint64_t all, bool on)
{
	*p = (tool_progress){ .all = all, .begun = tool_clock() };
	p->next = p->begun + 2;
	p->on = on && isatty(STDERR_FILENO);
}

/* tool_progress_show - replace the line by a text; an empty text removes the line. */
static inline void tool_progress_show(tool_progress *p, const char *text)
{
	struct winsize w;
	const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1;
	const int room = (known && w.ws_col < TOOL_COLUMNS ? w.ws_col : TOOL_COLUMNS) - 1;
	const int n = (int)strlen(text) < room ? (int)strlen(text) : room;
	fprintf(stderr, "\r%-*.*s%s", p->columns < room ? p->columns : room, n, text,
		n ? "" : "\r");
	fflush(stderr);
	p->columns = n;
}

/* tool_progress_now - print "12.50 of 100.00 GB 12%, 812 MB/s, 1:05, 1:50 left" if a second has
 * passed since the last line. */
static inline void tool_progress_now(tool_progress *p, uint64_t done)
{
	const double now = tool_clock(), s = now - p->begun, rate = (double)done / s;
	char text[TOOL_COLUMNS + 60];
	if (!p->on || now < p->next || tcgetpgrp(STDERR_FILENO) != getpgrp())
		return;
	p->next = now + 1;
	size_t n = (size_t)snprintf(text, sizeof text, "%.2f", 1e-9 * (double)done);
	if (p->all)
		n += (size_t)snprintf(text + n, sizeof text - n, " of %.2f GB %d%%",
				      1e-9 * (double)p->all,
				      (int)(100 * (double)done / (double)p->all));
	else
		n += (size_t)snprintf(text + n, sizeof text - n, " GB");
	n += (size_t)snprintf(text + n, sizeof text - n, ", %.0f MB/s, %d:%02d", 1e-6 * rate,
			      (int)s / 60, (int)s % 60);
	if (p->all >= done && done > 0) {
		const double left = (double)(p->all - done) / rate + 0.5;
		snprintf(text + n, sizeof text - n, ", %.0f:%02d left", (double)(long)(left / 60),
			 (int)((long)left % 60));
	}
	tool_progress_show(p, text);
}

/* tool_progress_clear - remove the line, before anything else is printed. */
static inline void tool_progress_clear(tool_progress *p)
{
	if (p->columns > 0)
		tool_progress_show(p, "");
}

#endif

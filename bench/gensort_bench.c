/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timing for bench/gensort-bench: how long one warm memcpy of 1 GB takes, and how long programs
 * run, each several times in turn, so that what else the machine does meets them all alike.
 * usage: gensort_bench ROUNDS < LINES; a line is NAME<TAB>COMMAND, run by sh, silent. Prints
 * per line NAME, median seconds, its ratio to memcpy's median, and all samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>

enum { LINES = 64, ROUNDS = 31, GB = 1000000000 };

struct job {
	char *name, *command; /* command NULL: the memcpy */
	double s[ROUNDS];
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double copy(char *to, const char *from)
{
	double start = now_s();

	memcpy(to, from, GB);
	__asm__ volatile("" : : "r"(to) : "memory"); /* or the copy is never needed */
	return now_s() - start;
}

static double command(const char *text)
{
	double start = now_s();
	int rc = system(text);

	if (rc != 0) {
		fprintf(stderr, "gensort_bench: failed: %s\n", text);
		exit(1);
	}
	return now_s() - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *s, int n)
{
	double t[ROUNDS];

	memcpy(t, s, (size_t)n * sizeof t[0]);
	qsort(t, (size_t)n, sizeof t[0], by_value);
	return n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
}

static int read_jobs(struct job *j)
{
	static char line[4096];
	int n = 0;

	while (n < LINES && fgets(line, sizeof line, stdin)) {
		char *tab = strchr(line, '\t');

		if (!tab)
			continue;
		*tab = '\0';
		j[n].name = strdup(line);
		j[n].command = strdup(tab + 1);
		if (!j[n].name || !j[n].command)
			exit(1);
		n++;
	}
	return n;
}

static void print(const struct job *j, int rounds, double unit)
{
	printf("%-34s %7.4f s %6.2fx ", j->name, median(j->s, rounds), median(j->s, rounds) / unit);
	for (int r = 0; r < rounds; r++)
		printf(" %.4f", j->s[r]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	static struct job jobs[LINES + 1] = { { .name = "memcpy of 1 GB, one thread" } };
	int rounds = argc > 1 ? atoi(argv[1]) : 5, n = 1 + read_jobs(jobs + 1);
	char *from = malloc(GB), *to = malloc(GB);

	if (!from || !to || rounds < 1 || rounds > ROUNDS)
		return 1;
	memset(from, 1, GB);
	memset(to, 2, GB);
	for (int r = -1; r < rounds; r++) /* round -1 is for warming up */
		for (int i = 0; i < n; i++)
			jobs[i].s[r < 0 ? 0 : r] =
				jobs[i].command ? command(jobs[i].command) : copy(to, from);
	for (int i = 0; i < n; i++)
		print(&jobs[i], rounds, median(jobs[0].s, rounds));
	free(from);
	free(to);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Let every allocation, file call, thread and call of the comm of a sort fail once, each in a
 * process of its own that calls the real main(). Then check the promises: the exit code is of the
 * right class, no new file has the output's name or is next to it, the message names the failed
 * call, and nothing hangs. A sort that survives writes the right output. A sort that keeps runs is
 * resumed after each failure, and must succeed. Built with failpoints.
 *
 *   fault_walk full N [SEED]   all faults, then pairs of faults at random places, until N struck
 *   fault_walk quick [SEED]    a sample
 *   fault_walk pairs N [SEED]  only the pairs */
#include "testing/failpoint.h"
#include "cli/options.h"
#include "fault_help.h"
#include "open_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The program under test, with sizes that are small enough for few records. */
static status options_for_walk(settings *o, int argc, char **argv, err *e);
int hetsort_main(int argc, char **argv);
#define main          hetsort_main
#define options_parse options_for_walk
#include "main.c"
#undef main
#undef options_parse

enum { RECORDS = 900, BYTES = RECORDS * 100, MOST_ARGS = 24, LEAKED = 99 };

/* ------------------------------------------------------------------------------------ sorts */

static const struct sort {
	const char *name, *args;
	uint64_t spill_recs;
	int ranks;
	bool from_stdin;
} sorts[] = {
	{ "one rank", "--threads 2", 0, 1, false },
	{ "one rank, direct", "--threads 1 --direct always", 0, 1, false },
	{ "spilled to disk", "--threads 2 --tmpdir spill", 200, 1, false },
	{ "spilled to disk, buffered", "--threads 2 --direct never --tmpdir spill", 200, 1, false },
	{ "spilled to two directories", "--threads 2 --tmpdir spill --tmpdir .", 200, 1, false },
	{ "standard input", "--threads 2", 0, 1, true },
	{ "standard input, spilled to disk", "--threads 2 --tmpdir spill", 200, 1, true },
	{ "standard input, copied", "--ranks 3 --tmpdir spill --tmpdir .", 0, 3, true },
	{ "merge", "--ranks 3", 0, 3, false },
	{ "merge, unique keys", "--ranks 3 --exchange-threads 1 --unique", 0, 3, false },
	{ "merge, no exchange threads", "--ranks 3 --exchange-threads 0 --no-fsync --timeout 60", 0,
	  3, false },
	{ "distribute", "--ranks 3 --strategy distribute --speeds 1,0.5,2", 0, 3, false },
	{ "distribute, no exchange threads",
	  "--ranks 3 --strategy distribute --exchange-threads 0 --plan equal", 0, 3, false },
	{ "distribute, spilled to disk",
	  "--ranks 3 --strategy distribute --speeds 1,0.5,2 --tmpdir spill", 50, 3, false },
	{ "scattered by rank 0", "--ranks 3 --source root --threads 1 --speeds 1,2,3", 0, 3,
	  false },
	{ "scattered by rank 0, spilled to disk",
	  "--ranks 3 --source root --threads 1 --speeds 1,2,3 --tmpdir spill", 50, 3, false },
	{ "scattered on request", "--ranks 3 --source root --scatter dynamic --threads 1", 0, 3,
	  false },
	{ "kept runs", "--threads 2 --workdir work --resume", 200, 1, false },
	{ "kept runs, three ranks", "--ranks 3 --workdir work --resume", 80, 3, false },
	{ "complete output", "--threads 2 --workdir work --resume", 200, 1, false },
	{ "complete output, three ranks", "--ranks 3 --workdir work --resume", 80, 3, false },
	{ "complete output of five", "--ranks 3 --workdir work --resume", 80, 3, false },
	{ "runs of five ranks, three ranks", "--ranks 3 --workdir work --resume", 80, 3, false },
	{ "sorted inputs", "--merge in.odd --threads 2", 0, 1, false },
	{ "sorted inputs, three ranks", "--merge in.odd --ranks 3", 0, 3, false },
	{ "sorted inputs, unique keys, three ranks", "--merge in.odd --ranks 3 --unique", 0, 3,
	  false },
	{ "slow links and disks", "--ranks 3 --links 1,1,2 --disks 3,1,2", 0, 3, false },
	{ "speeds, eight ranks", "--ranks 8 --speeds 1,2,3,1,2,3,1,2 --plan linear", 0, 8, false },
};

/* The job that has made these runs and this output. */
static const struct sort five = { "five ranks", "--ranks 5 --workdir work", 80, 5, false };

static test_sizes sizes = { .bucket_recs = 64, .lanes = 2 };
static bool lied_to; /* ranks may wait for messages that never come */

static status options_for_walk(settings *o, int argc, char **argv, err *e)
{
	const status rc = options_parse(o, argc, argv, e);
	o->test_sizes = &sizes;
	if (lied_to)
		o->timeout_s = 3; /* on a busy machine nothing may move for a second */
	return rc;
}

static unsigned char unsorted[BYTES], expected[BYTES];

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, 100);
}

static bool write_file(const char *name, const unsigned char *recs, size_t n, size_t stride)
{
	FILE *f = fopen(name, "wb");
	bool ok = f != NULL;
	for (size_t i = 0; ok && i < n; i += stride)
		ok = fwrite(recs + i * 100, 1, 100, f) == 100;
	return (f ? fclose(f) == 0 : false) && ok;
}

/* Make the input, and two sorted files, each with every other record. */
static bool make_input(void)
{
	uint64_t s = 1;
	for (size_t i = 0; i < sizeof unsorted; i++)
		unsorted[i] = (unsigned char)splitmix(&s);
	memcpy(expected, unsorted, sizeof unsorted);
	qsort(expected, RECORDS, 100, by_key); /* keys are random: all differ */
	return mkdir("spill", 0700) == 0 && write_file("in", unsorted, RECORDS, 1) &&
	       write_file("in.even", expected, RECORDS, 2) &&
	       write_file("in.odd", expected + 100, RECORDS - 1, 2);
}

/* ---------------------------------------------------------------------------------- one case */

typedef struct outcome {
	unsigned struck;
	ending end;
	char said[4096];
	bool output, right; /* the output exists, and is right */
	char left[64];      /* a file that should not be there */
	bool lost;          /* the kept runs cannot be resumed */
} outcome;

static atomic_uint *struck; /* shared with the child */
static int said_fd;         /* the standard error of the child */

static int split_args(const struct sort *s, char *text, char **argv)
{
	static char common[][8] = { "hetsort", "-o", "out", "in" };
	static char from_stdin[] = "-", first[] = "in.even";
	int argc = 0;
	for (; argc < (int)LEN(common); argc++)
		argv[argc] = common[argc];
	if (s->from_stdin)
		argv[argc - 1] = from_stdin;
	if (strstr(s->args, "--merge"))
		argv[argc - 1] = first;
	strcpy(text, s->args);
	for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	return argc;
}

static void run_child(const struct sort *s, const char *plan)
{
	char text[256], *argv[MOST_ARGS];
	const int argc = split_args(s, text, argv);
	sizes.run_recs = s->spill_recs;
	lied_to = strstr(plan, "lie:") != NULL;
	const int in = s->from_stdin ? open("in", O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (dup2(in, STDIN_FILENO) < 0 || dup2(said_fd, STDERR_FILENO) < 0 ||
	    setenv("HETSORT_FAIL", plan, 1) != 0)
		_exit(LEAKED);
	fail_count_in(struck);
	const size_t files = open_files();
	const int rc = hetsort_main(argc, argv);
	(void)FAIL_PLAN(NULL, NULL);
	const bool leaks = open_files() != files;
	if (leaks)
		fprintf(stderr, "descriptors left open\n");
	exit(leaks ? LEAKED : rc);
}

static void look_at_output(outcome *o)
{
	static unsigned char got[BYTES + 1];
	FILE *f = fopen("out", "rb");
	o->output = f != NULL;
	if (f) {
		o->right =
			fread(got, 1, sizeof got, f) == BYTES && memcmp(got, expected, BYTES) == 0;
		fclose(f);
		unlink("out");
	}
}

static outcome run_case(const struct sort *s, const char *plan);

/* Resume without a fault. Try once for each fault that struck, because a damaged run that another
 * fault kept from being read is found only now. */
static void resume_case(const struct sort *s, outcome *o)
{
	outcome next = run_case(s, "");
	for (unsigned more = o->struck; more > 1 && next.end.code != 0; more--)
		next = run_case(s, "");
	if (next.end.code != 0)
		take_litter("work", next.left);
	o->lost = next.end.code != 0 || !next.right || next.left[0];
	if (o->lost)
		memcpy(o->said, next.said, sizeof o->said);
}

static ending run_program(const struct sort *s, const char *plan)
{
	atomic_store(struck, 0);
	if (ftruncate(said_fd, 0) != 0 || lseek(said_fd, 0, SEEK_SET) != 0)
		abort();
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0)
		run_child(s, plan);
	if (pid < 0)
		abort();
	return await_child(pid);
}

/* Return whether the first rank's state notes a complete output. */
static bool has_checkpoint(void)
{
	char text[16384];
	FILE *f = fopen("work/hetsort-rank0.json", "rb");
	const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	return strstr(text, "\"output\"") != NULL;
}

static outcome run_case(const struct sort *s, const char *plan)
{
	outcome o = { .struck = 0 };
	const bool killed_before = strncmp(s->name, "runs of five", 12) == 0;
	if (*plan && strncmp(s->name, "complete", 8) == 0) /* of a killed program */
		(void)run_program(strstr(s->name, "five") ? &five : s, "kill@commit:0");
	else if (*plan && killed_before)
		(void)run_program(&five, "kill@merge:0");
	o.end = run_program(s, plan);
	o.struck = atomic_load(struck);
	const ssize_t n = pread(said_fd, o.said, sizeof o.said - 1, 0);
	o.said[n > 0 ? n : 0] = '\0';
	look_at_output(&o);
	/* else the next program uses these files */
	if (o.end.code == 0 || !*plan || (!has_checkpoint() && !killed_before))
		take_litter(".", o.left);
	take_litter("spill", o.left);
	if (strstr(s->args, "--workdir")) {
		if (o.end.code == 0)
			take_litter("work", o.left);
		else if (*plan)
			resume_case(s, &o);
	}
	return o;
}

/* --------------------------------------------------------------------------------- promises */

/* A kind of fault: its name in the plan, and the exit codes of its class. Bit 0: a sort may succeed
 * in spite of it. */
typedef struct fault {
	const char *before, *after; /* of the number */
	unsigned codes;
	bool aborts;     /* ranks can no longer agree: temporary files may stay in commit */
	unsigned stride; /* of several ranks, try one fault in up to `stride` of them */
} fault;

#define CODE(n) (1U << (n))

static const fault faults[] = {
	{ "alloc:", "", CODE(0) | CODE(ST_RESOURCE), false, 1 },
	{ "file:", "", CODE(0) | CODE(ST_REFUSED) | CODE(ST_IO), false, 1 },
	{ "file:", "=ENOSPC", CODE(0) | CODE(ST_REFUSED) | CODE(ST_RESOURCE), false, 1 },
	{ "file:", "=EMFILE", CODE(0) | CODE(ST_REFUSED) | CODE(ST_RESOURCE), false, 1 },
	{ "file:", "=short", CODE(0), false, 1 },
	{ "file:", "=EINTR", CODE(0) | CODE(ST_REFUSED) | CODE(ST_IO), false, 1 },
	{ "thread:", "", CODE(0) | CODE(ST_RESOURCE), false, 1 },
	{ "comm:", "", CODE(ST_PEER), true, 1 },
	{ "lie:", "", CODE(ST_INTERNAL + 1) - 1, true, 24 },
	{ "flip@heard:", "", CODE(ST_PEER), true, 1 },
	{ "flip@sent:", "", CODE(ST_PEER) | CODE(ST_INVALID) | CODE(ST_INTERNAL), false, 1 },
	{ "flip@spill:", "", CODE(ST_IO), false, 1 },
	{ "flip@write:", "", CODE(ST_INVALID) | CODE(ST_INTERNAL), false, 1 },
};

/* Return whether the text begins with "rank 2, merging: ", or with "rank 2 (host), merging: ",
 * which is used until ranks know that they share a host. */
static bool names_rank_and_phase(const char *said)
{
	int rank, end = 0;
	char host[64], at[16];
	return (sscanf(said, "rank %d, %15[a-z]: %n", &rank, at, &end) == 2 ||
		sscanf(said, "rank %d (%63[^)]), %15[a-z]: %n", &rank, host, at, &end) == 3) &&
	       end > 0;
}

/* Return whether a message names a file or one of these subjects. */
static bool names_subject(const char *said)
{
	static const char *const subjects[] = { "no memory for ",     "cannot start thread ",
						"a message of rank ", "a message from rank ",
						"the other ranks ",   "a rank reported a failure" };
	for (size_t i = 0; i < LEN(subjects); i++)
		if (strncmp(said, subjects[i], strlen(subjects[i])) == 0)
			return true;
	return strstr(said, " records were planned, ") || strstr(said, "standard ") ||
	       strncmp(said, "a rank sent an invalid ", 23) == 0 ||
	       (strchr(said, '\'') && strncmp(said, "rank ", 5) != 0);
}

/* Return whether a line names the failed call, and rank and phase if there are several ranks,
 * unless all ranks refuse. */
static bool says_enough(const outcome *o, int ranks)
{
	for (const char *said = o->said; (said = strstr(said, "hetsort: "));) {
		int at = (int)strlen("hetsort: ");
		(void)sscanf(said, "hetsort: rank %*d: %n", &at); /* in a refusal */
		said += at;
		const bool bare = ranks == 1 || o->end.code == ST_REFUSED ||
				  strncmp(said, "no memory for a job of ", 23) == 0 ||
				  strncmp(said, "cannot start thread ", 20) == 0;
		if (bare ? names_subject(said) : names_rank_and_phase(said))
			return true;
	}
	return false;
}

/* Return the broken promise, or NULL. */
static const char *broken_promise(const outcome *o, int ranks, unsigned codes, bool aborts)
{
	if (o->end.hung)
		return "it hangs";
	if (o->end.signal)
		return "it died";
	if (o->lost)
		return "its runs cannot be resumed";
	if (o->end.code == LEAKED)
		return "descriptors are left open";
	if (o->end.code == 0)
		return !o->right         ? "success, but the output is not right"
		       : o->left[0]      ? "a file is left over"
		       : codes & CODE(0) ? NULL
					 : "success in spite of the fault";
	if (!o->struck)
		return "it failed without a fault";
	if (o->end.code > ST_INTERNAL || !(codes & CODE(o->end.code)))
		return "the exit code is of another class";
	if (o->output && !o->right)
		return "a wrong output has the final name";
	if (o->left[0] && !(aborts && strstr(o->said, ", finishing: ")))
		return "a file is left over";
	if (!aborts && o->output && !strstr(o->said, "is complete"))
		return "the output exists, and the message does not say that it is complete";
	return says_enough(o, ranks) ? NULL : "the message does not say enough";
}

/* ----------------------------------------------------------------------------------- walking */

typedef struct tally {
	uint64_t jobs, struck, struck_jobs, survived, in_doubt, failed, said;
	unsigned points, points_failed;
	bool quick;
	uint64_t seed;
} tally;

enum { MOST_SAID = 40 };

static atomic_uint_fast64_t *all_struck; /* by all workers */

/* Run a job with this plan, and check the promises. Return whether a fault struck. */
static bool try(tally *y, const struct sort *s, const char *plan, unsigned codes, bool aborts)
{
	const outcome o = run_case(s, plan);
	const char *why = !o.struck && o.end.code == 0 && o.right
				  ? NULL
				  : broken_promise(&o, s->ranks, codes, aborts);
	y->jobs++;
	y->struck += o.struck;
	y->struck_jobs += o.struck > 0;
	atomic_fetch_add(all_struck, o.struck);
	y->survived += o.struck && o.end.code == 0;
	y->in_doubt += o.end.code != 0 && o.output;
	if (why) {
		y->failed++;
		if (y->said++ < MOST_SAID)
			printf("# HETSORT_FAIL=%s (%s): %s; exit %d, %s%s\n#   %s\n", plan, s->name,
			       why, o.end.code, o.left[0] ? "left: " : "", o.left, o.said);
	}
	return o.struck > 0;
}

static void end_point(tally *y, const char *what, const char *name, uint64_t before)
{
	const bool ok = y->failed == before;
	y->points++;
	y->points_failed += !ok;
	printf("%s %u - %s: %s\n", ok ? "ok" : "not ok", y->points, name, what);
	fflush(stdout);
}

/* Let the n-th event of a kind fail, n = 1, 2, ..., until no such event exists. rank -1: count the
 * events of the process. Return their number. */
static uint64_t walk(tally *y, const struct sort *s, const fault *f, int rank)
{
	char plan[64], at[16] = "";
	const uint64_t most_missed = y->quick ? 1 : 2, many = s->ranks > 1 ? f->stride : 1;
	uint64_t n = 1, missed = 0, last = 0;
	if (rank >= 0)
		snprintf(at, sizeof at, "@rank%d", rank);
	while (missed < most_missed) {
		snprintf(plan, sizeof plan, "%s%" PRIu64 "%s%s", f->before, n, f->after, at);
		const bool met = try(y, s, plan, f->codes, f->aborts);
		missed = met ? 0 : missed + 1;
		last = met ? n : last;
		n += met ? 1 + splitmix(&y->seed) % (y->quick ? 100 : many) : 1;
	}
	return last;
}

/* Return whether this case is omitted. A quick walk takes allocations and files in each sort, and
 * every third other kind, so that each kind meets a third of the sorts. */
static bool is_omitted(size_t sort, size_t kind)
{
	return kind > 1 && (sort + kind) % 3 != 0;
}

/* Try all faults of one kind in one sort: a unit of work for a worker. */
static void walk_unit(tally *y, const struct sort *s, const fault *f)
{
	char what[80];
	const uint64_t before = y->failed, struck_before = y->struck;
	if (s->ranks == 1 || !y->quick)
		walk(y, s, f, -1);
	for (int r = 0; s->ranks > 1 && r < s->ranks; r++)
		if (!y->quick || r == (int)(splitmix(&y->seed) % (uint64_t)s->ranks))
			walk(y, s, f, r);
	snprintf(what, sizeof what, "%sN%s, %" PRIu64 " faults", f->before, f->after,
		 y->struck - struck_before);
	end_point(y, what, s->name, before);
}

/* Check that all sorts succeed without a fault. In a quick walk, one worker checks each sort. */
static bool all_sorts_work(tally *y, unsigned worker)
{
	for (size_t i = y->quick ? worker : 0; i < LEN(sorts); i += y->quick ? WORKERS : 1)
		try(y, &sorts[i], "", CODE(0), false);
	return y->failed == 0;
}

/* Try two faults at random places of one sort. The exit code must be allowed for one of them. */
static void try_pairs(tally *y, uint64_t wanted)
{
	const uint64_t before = y->failed;
	while (atomic_load(all_struck) < wanted) {
		char plan[128] = "";
		unsigned codes = CODE(0);
		bool aborts = false;
		const struct sort *s = &sorts[splitmix(&y->seed) % LEN(sorts)];
		for (int k = 0; k < 2; k++) {
			const fault *f;
			do
				f = &faults[splitmix(&y->seed) % LEN(faults)];
			while (f->stride > 1); /* these take long */
			const size_t at = strlen(plan);
			codes |= f->codes;
			aborts |= f->aborts;
			snprintf(plan + at, sizeof plan - at, "%s%s%" PRIu64 "%s@rank%d",
				 k ? "," : "", f->before, 1 + splitmix(&y->seed) % 60, f->after,
				 (int)(splitmix(&y->seed) % (uint64_t)s->ranks));
		}
		try(y, s, plan, codes, aborts);
	}
	end_point(y, "as promised", "pairs of faults", before);
}

/* ----------------------------------------------------------------------------------- workers */

typedef struct route {
	bool walk;
	uint64_t wanted; /* faults that must strike; 0: no limit */
} route;

/* Work as worker i of WORKERS, in a directory of its own. Several workers pay, because a sort waits
 * most of the time. */
static void work(tally *y, const route *w, unsigned i)
{
	char dir[24];
	snprintf(dir, sizeof dir, "worker%u", i);
	said_fd = memfd_create("said", 0);
	struck = mmap(NULL, sizeof *struck, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (said_fd < 0 || struck == MAP_FAILED || mkdir(dir, 0700) != 0 || chdir(dir) != 0 ||
	    !make_input())
		return;
	if (!all_sorts_work(y, i)) {
		printf("# the sorts do not work without faults\n");
		return;
	}
	for (size_t unit = i; w->walk && unit < LEN(sorts) * LEN(faults); unit += WORKERS)
		if (!y->quick || !is_omitted(unit / LEN(faults), unit % LEN(faults)))
			walk_unit(y, &sorts[unit / LEN(faults)], &faults[unit % LEN(faults)]);
	if (w->wanted)
		try_pairs(y, w->wanted);
	printf("1..%u\n", y->points);
}

/* Start the workers. Return whether all promises were kept, and at least one was checked. */
static bool run_workers(tally *each, const route *w)
{
	tally sum = { .jobs = 0 };
	bool ok = true;
	const time_t start = time(NULL);
	for (unsigned i = 0; i < WORKERS; i++) {
		fflush(stdout);
		const pid_t pid = fork();
		if (pid == 0) {
			work(&each[i], w, i);
			exit(0);
		}
	}
	for (int st; wait(&st) > 0;)
		ok &= st == 0;
	for (unsigned i = 0; i < WORKERS; i++) {
		ok &= each[i].points > 0 && each[i].failed == 0;
		sum.jobs += each[i].jobs;
		sum.struck += each[i].struck;
		sum.struck_jobs += each[i].struck_jobs;
		sum.survived += each[i].survived;
		sum.in_doubt += each[i].in_doubt;
		sum.failed += each[i].failed;
	}
	printf("# sum: %" PRIu64 " faults struck in %" PRIu64 " of %" PRIu64 " jobs: %" PRIu64
	       " succeeded, %" PRIu64 " failed after the output was complete, %" PRIu64
	       " promises broken; %.0f s\n",
	       sum.struck, sum.struck_jobs, sum.jobs, sum.survived, sum.in_doubt, sum.failed,
	       difftime(time(NULL), start));
	return ok && sum.struck >= w->wanted;
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
	return i < argc ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	static char own[] = "/tmp/hetsort-faults.XXXXXX";
	const char *dir = getenv("TEST_TMP");
	const char *way = argc > 1 ? argv[1] : "";
	const bool quick = strcmp(way, "quick") == 0, pairs = strcmp(way, "pairs") == 0;
	const route w = { !pairs, quick ? 0 : argument(argc, argv, 2, 0) };
	const uint64_t seed = argument(argc, argv, quick ? 2 : 3, (uint64_t)time(NULL));
	struct {
		atomic_uint_fast64_t struck;
		tally each[WORKERS];
	} *sums =
		mmap(NULL, sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!quick && !pairs && strcmp(way, "full") != 0)
		return 2;
	unsetenv("TMPDIR");
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* clearing huge pages takes a tenth of the time */
	if (sums == MAP_FAILED || chdir(dir ? dir : mkdtemp(own)) != 0)
		return 2;
	tally *each = sums->each;
	all_struck = &sums->struck;
	for (unsigned i = 0; i < WORKERS; i++)
		each[i] = (tally){ .quick = quick, .seed = seed + i };
	printf("# seed %" PRIu64 "\n", seed);
	const bool ok = run_workers(each, &w);
	if (!dir)
		printf("# in %s\n", own);
	return ok ? 0 : 1;
}

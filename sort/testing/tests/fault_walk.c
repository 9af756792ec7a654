/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks through the faults: every allocation, file call, thread and call of the comm of a sort
 * fails once, each in a process of its own that runs the real main(). Then its promises are
 * checked: the exit code is of the right class, nothing new has the output's name or is next to
 * it, the message names what failed, nothing hangs. A sort that survives writes the right output.
 * One that keeps runs is resumed after each failure, and has to succeed. Built with failpoints.
 *   fault_walk full N [SEED]   everything, then pairs of faults at random places, until N struck
 *   fault_walk quick [SEED]    a sample       fault_walk pairs N [SEED]    only the pairs
 *   fault_walk allocs          each allocation, and nothing else */
#include "testing/failpoint.h"
#include "testing/test_sizes.h"
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

/* The program under test, with sizes that give its paths work on few records. */
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
	{ "merge, one exchange thread", "--ranks 3 --exchange-threads 1", 0, 3, false },
	{ "merge, no exchange threads", "--ranks 3 --exchange-threads 0 --no-fsync --timeout 60", 0,
	  3, false },
	{ "two levels", "--ranks 5 --exchange two-level", 0, 5, false },
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
	{ "spilled to disk, io_uring", "--threads 2 --direct never --tmpdir spill --io uring", 200,
	  1, false },
	{ "merge, io_uring", "--ranks 3 --io uring", 0, 3, false },
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

/* Whose runs and output those are. */
static const struct sort five = { "five ranks", "--ranks 5 --workdir work", 80, 5, false };

static test_sizes sizes = { .bucket_recs = 64, .uring_segment_bytes = 4096 };
static bool lied_to;   /* ranks may wait for what never comes */
static bool has_uring; /* else its sorts are as others */

static status options_for_walk(settings *o, int argc, char **argv, err *e)
{
	const status rc = options_parse(o, argc, argv, e);
	o->test_sizes = &sizes;
	if (lied_to)
		o->timeout_s = 3; /* where the machine is busy, nothing may move for a second */
	if (!has_uring)
		o->io = IO_AUTO;
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

/* Also sorted in two files, one with each other record. */
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
	bool output, right; /* it is there, and as it should be */
	char left[64];      /* a file that should not be there */
	bool lost;          /* runs were kept, and could not be gone on with */
} outcome;

static atomic_uint *struck; /* shared with the child */
static int said_fd;         /* its standard error */

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

/* The next programs, without a fault: one for each that struck, since a damaged run that another
 * fault kept from being read is found only now. */
static void go_on(const struct sort *s, outcome *o)
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

/* Does the first rank's state speak of a complete output? */
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
	if (*plan && strncmp(s->name, "complete", 8) == 0) /* of a program that was killed */
		(void)run_program(strstr(s->name, "five") ? &five : s, "kill@commit:0");
	else if (*plan && killed_before)
		(void)run_program(&five, "kill@merge:0");
	o.end = run_program(s, plan);
	o.struck = atomic_load(struck);
	const ssize_t n = pread(said_fd, o.said, sizeof o.said - 1, 0);
	o.said[n > 0 ? n : 0] = '\0';
	look_at_output(&o);
	/* else it is for the next program */
	if (o.end.code == 0 || !*plan || (!has_checkpoint() && !killed_before))
		take_litter(".", o.left);
	take_litter("spill", o.left);
	if (strstr(s->args, "--workdir")) {
		if (o.end.code == 0)
			take_litter("work", o.left);
		else if (*plan)
			go_on(s, &o);
	}
	return o;
}

/* --------------------------------------------------------------------------------- promises */

/* A kind of fault: as the plan names it, and which exit codes are of its class; bit 0 says that a
 * sort may do without. */
typedef struct fault {
	const char *before, *after; /* of the number */
	unsigned codes;
	bool aborts;     /* ranks cannot agree any more: what waits for its name may stay */
	unsigned stride; /* one in up to this many of all is tried */
} fault;

#define CODE(n) (1U << (n))

static const fault faults[] = {
	{ "alloc:", "", CODE(0) | CODE(ST_RESOURCE), false, 1 },
	{ "file:", "", CODE(0) | CODE(ST_REFUSED) | CODE(ST_IO), false, 1 },
	{ "file:", "=ENOSPC", CODE(0) | CODE(ST_REFUSED) | CODE(ST_RESOURCE), false, 1 },
	{ "file:", "=EMFILE", CODE(0) | CODE(ST_REFUSED) | CODE(ST_RESOURCE), false, 1 },
	{ "file:", "=short", CODE(0), false, 1 },
	{ "file:", "=EINTR", CODE(0) | CODE(ST_REFUSED) | CODE(ST_IO), false, 1 },
	{ "uring:", "", CODE(0), false, 1 },
	{ "uring:", "=short", CODE(0), false, 1 },
	{ "ring:", "=ENOSYS", CODE(0) | CODE(ST_REFUSED), false, 1 },
	{ "thread:", "", CODE(0) | CODE(ST_RESOURCE), false, 1 },
	{ "comm:", "", CODE(ST_PEER), true, 1 },
	{ "lie:", "", CODE(ST_INTERNAL + 1) - 1, true, 24 },
	{ "flip@heard:", "", CODE(ST_PEER), true, 1 },
	{ "flip@sent:", "", CODE(ST_PEER), false, 1 },
	{ "flip@spill:", "", CODE(ST_IO), false, 1 },
	{ "flip@write:", "", CODE(ST_INVALID) | CODE(ST_INTERNAL), false, 1 },
};

/* "rank 2, merging: ", or "rank 2 (host), merging: " until ranks know that they share a host. */
static bool names_rank_and_phase(const char *said)
{
	int rank, end = 0;
	char host[64], at[16];
	return (sscanf(said, "rank %d, %15[a-z]: %n", &rank, at, &end) == 2 ||
		sscanf(said, "rank %d (%63[^)]), %15[a-z]: %n", &rank, host, at, &end) == 3) &&
	       end > 0;
}

/* What one rank says of a failure names a file, or else one of these. */
static bool names_subject(const char *said)
{
	static const char *const subjects[] = { "no memory for ",   "cannot start thread ",
						"io_uring ",        "a message of rank ",
						"the other ranks ", "a rank reported a failure" };
	for (size_t i = 0; i < LEN(subjects); i++)
		if (strncmp(said, subjects[i], strlen(subjects[i])) == 0)
			return true;
	return strstr(said, " records were planned, ") || strstr(said, "standard ") ||
	       (strchr(said, '\'') && strncmp(said, "rank ", 5) != 0);
}

/* What failed, and on which of several ranks in which phase, unless it is refused on all. */
static bool says_enough(const outcome *o, int ranks)
{
	const char *said = strstr(o->said, "hetsort: ");
	if (!said)
		return false;
	int at = (int)strlen("hetsort: ");
	(void)sscanf(said, "hetsort: rank %*d: %n", &at); /* of a refusal */
	said += at;
	return ranks == 1 || o->end.code == ST_REFUSED ||
			       strncmp(said, "no memory for the ranks", 23) == 0 ||
			       strncmp(said, "cannot start thread ", 20) == 0
		       ? names_subject(said)
		       : names_rank_and_phase(said);
}

/* What does not hold, NULL if all does. */
static const char *broken_promise(const outcome *o, int ranks, unsigned codes, bool aborts)
{
	if (o->end.hung)
		return "it hangs";
	if (o->end.signal)
		return "it died";
	if (o->lost)
		return "its runs cannot be gone on with";
	if (o->end.code == LEAKED)
		return "descriptors are left open";
	if (o->end.code == 0)
		return !o->right         ? "success, but the output is not right"
		       : o->left[0]      ? "something is left over"
		       : codes & CODE(0) ? NULL
					 : "success in spite of it";
	if (!o->struck)
		return "it failed without a fault";
	if (o->end.code > ST_INTERNAL || !(codes & CODE(o->end.code)))
		return "the exit code is of another class";
	if (o->output && !o->right)
		return "a wrong output stands under the final name";
	if (o->left[0] && !(aborts && strstr(o->said, ", finishing: ")))
		return "something is left over";
	if (!aborts && o->output && !strstr(o->said, "is complete"))
		return "the output stands, and nothing says that it is complete";
	return says_enough(o, ranks) ? NULL : "the message does not say enough";
}

/* ----------------------------------------------------------------------------------- walking */

typedef struct tally {
	uint64_t runs, struck, struck_runs, survived, in_doubt, failed, said;
	unsigned points, points_failed;
	bool quick;
	uint64_t seed;
} tally;

enum { MOST_SAID = 40 };

static atomic_uint_fast64_t *all_struck; /* by all workers */

/* Run a plan, look at the promises. Returns whether anything struck. */
static bool try(tally *y, const struct sort *s, const char *plan, unsigned codes, bool aborts)
{
	const outcome o = run_case(s, plan);
	const char *why = !o.struck && o.end.code == 0 && o.right
				  ? NULL
				  : broken_promise(&o, s->ranks, codes, aborts);
	y->runs++;
	y->struck += o.struck;
	y->struck_runs += o.struck > 0;
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

/* The n-th event of a kind, n = 1, 2, ..., until it is not met any more. rank -1: of the process.
 * Returns how many there are. */
static uint64_t walk(tally *y, const struct sort *s, const fault *f, int rank)
{
	char plan[64], at[16] = "";
	const uint64_t most_missed = y->quick ? 1 : 2;
	uint64_t n = 1, missed = 0, last = 0;
	if (rank >= 0)
		snprintf(at, sizeof at, "@rank%d", rank);
	while (missed < most_missed) {
		snprintf(plan, sizeof plan, "%s%" PRIu64 "%s%s", f->before, n, f->after, at);
		const bool met = try(y, s, plan, f->codes, f->aborts);
		missed = met ? 0 : missed + 1;
		last = met ? n : last;
		n += met ? 1 + splitmix(&y->seed) % (y->quick ? 100 : f->stride) : 1;
	}
	return last;
}

/* Of each sort a quick walk takes failing allocations and files, and every third of the other kinds
 * of faults, such that each meets a third of the sorts; those of io_uring meet the sorts that use
 * it. */
static bool is_left_out(size_t sort, size_t kind)
{
	if (strncmp(faults[kind].before, "uring:", 6) == 0 ||
	    strncmp(faults[kind].before, "ring:", 5) == 0)
		return !strstr(sorts[sort].args, "uring");
	return kind > 1 && (sort + kind) % 3 != 0;
}

/* All of one kind of fault in one sort: a unit of work for a worker. */
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

/* The plain sort succeeds, or nothing here means anything. A quick walk looks at each by one
 * worker. */
static bool all_sorts_work(tally *y, unsigned worker)
{
	for (size_t i = y->quick ? worker : 0; i < LEN(sorts); i += y->quick ? WORKERS : 1)
		try(y, &sorts[i], "", CODE(0), false);
	return y->failed == 0;
}

/* Two faults in one sort, anywhere; whatever comes of it has one of the codes of either. */
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
			while (f->stride > 1); /* those that take long */
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
	size_t kinds;    /* of faults, counted from the first */
	uint64_t wanted; /* faults that must strike; 0: no limit */
} route;

/* Worker i of WORKERS, in a directory of its own: most of the time a sort waits. */
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
	for (size_t unit = i; w->walk && unit < LEN(sorts) * w->kinds; unit += WORKERS)
		if (!y->quick || !is_left_out(unit / w->kinds, unit % w->kinds))
			walk_unit(y, &sorts[unit / w->kinds], &faults[unit % w->kinds]);
	if (w->wanted)
		try_pairs(y, w->wanted);
	printf("1..%u\n", y->points);
}

/* Returns whether all promises were kept, and there were any. */
static bool run_workers(tally *each, const route *w)
{
	tally sum = { .runs = 0 };
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
		sum.runs += each[i].runs;
		sum.struck += each[i].struck;
		sum.struck_runs += each[i].struck_runs;
		sum.survived += each[i].survived;
		sum.in_doubt += each[i].in_doubt;
		sum.failed += each[i].failed;
	}
	printf("# sum: %" PRIu64 " faults struck in %" PRIu64 " of %" PRIu64 " runs: %" PRIu64
	       " done without, %" PRIu64 " failed after the output was complete, %" PRIu64
	       " promises broken; %.0f s\n",
	       sum.struck, sum.struck_runs, sum.runs, sum.survived, sum.in_doubt, sum.failed,
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
	const bool allocs = strcmp(way, "allocs") == 0;
	const route w = { !pairs, allocs ? 1 : LEN(faults),
			  quick || allocs ? 0 : argument(argc, argv, 2, 0) };
	const uint64_t seed = argument(argc, argv, quick ? 2 : 3, (uint64_t)time(NULL));
	struct {
		atomic_uint_fast64_t struck;
		tally each[WORKERS];
	} *sums =
		mmap(NULL, sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!quick && !pairs && !allocs && strcmp(way, "full") != 0)
		return 2;
	unsetenv("TMPDIR");
	prctl(PR_SET_THP_DISABLE, 1, 0, 0,
	      0); /* to clear huge pages would take a tenth of the time */
	if (sums == MAP_FAILED || chdir(dir ? dir : mkdtemp(own)) != 0)
		return 2;
	tally *each = sums->each;
	all_struck = &sums->struck;
	for (unsigned i = 0; i < WORKERS; i++)
		each[i] = (tally){ .quick = quick, .seed = seed + i };
	uring *u;
	has_uring = uring_open(&u, URING_SEGMENT_BYTES, NULL) == ST_OK;
	uring_close(u);
	printf("# seed %" PRIu64 "%s\n", seed, has_uring ? "" : ", no io_uring here");
	const bool ok = run_workers(each, &w);
	if (!dir)
		printf("# in %s\n", own);
	return ok ? 0 : 1;
}

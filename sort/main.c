/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program hetsort: settings in, ranks started, result told. The only file of the sorter that
 * prints, and the only one that ends the process. */
#include "cli/manifest_check.h"
#include "comm/comm.h"
#include "model/emulation.h"
#include "testing/failpoint.h"
#include "cli/launch.h"
#include "io/target.h"
#include "io/name.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "io/unfinished.h"
#include "comm/watch.h"
#include "phases/workdir.h"
#include "run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct invocation {
	settings o;
	int argc;
	char **argv;
	atomic_bool stop; /* at the next border of a phase */
} invocation;

enum { LAST_MOMENT_MS = 400 }; /* for the report: launchers kill a second after a signal */

static status tell(const invocation *v, const job_result *res)
{
	const settings *o = &v->o;
	err e = { ST_OK, "" };
	status rc = res->status;
	report_errors(res, stderr);
	if (rc != ST_OK && !res->rank)
		fprintf(stderr, "hetsort: no memory for what the ranks have to say of a failure\n");
	if (res->note[0] && o->verbosity >= 0)
		fprintf(stderr, "hetsort: note: %s\n", res->note);
	if (rc == ST_OK && o->explain)
		report_plan(res, o, stdout);
	else if (rc == ST_OK && o->verbosity > 0)
		report_table(res, o, stderr);
	if (o->report && report_write(res, o, v->argc, v->argv, o->report, &e) != ST_OK) {
		fprintf(stderr, "hetsort: no report: %s\n", e.text);
		rc = rc == ST_OK ? ST_IO : rc;
	}
	if (rc == ST_OK && o->explain && (fflush(stdout) != 0 || ferror(stdout))) {
		fprintf(stderr, "hetsort: cannot write to standard output\n");
		rc = ST_IO;
	}
	return rc;
}

/* On the watch's thread: the job ends here. */
static void tell_stall(comm *c, const stall *s)
{
	const char *at = s->host[0] ? phase_name((phase)s->phase) : "start";
	fprintf(stderr, "hetsort: rank %d (%s), %s: ", s->rank, s->host, at);
	if (s->kind == STALL_ALL)
		fprintf(stderr,
			"all ranks wait for one another, and nothing has moved for %.1f s\n",
			s->seconds);
	else
		fprintf(stderr, "%s for %.1f s, after %" PRIu64 " pieces of work\n",
			s->kind == STALL_STUCK ? "no progress" : "no sign of life", s->seconds,
			s->ticks);
	if (unfinished_freeze()) /* nobody else comes to remove them */
		unfinished_remove_all();
	comm_abort(c, ST_PEER);
}

static void start_watch(watch **w, comm *c, const settings *o)
{
	err e = { ST_OK, "" };
	if (o->timeout_s == 0)
		return;
	if (!c->threads_allowed)
		fprintf(stderr, "hetsort: --timeout needs an MPI that lets threads call it\n");
	else if (watch_start(w, c, o->timeout_s, tell_stall, &e) != ST_OK)
		fprintf(stderr, "hetsort: rank %d (%s), start: %s\n", c->rank, c->host, e.text);
	if (!*w)
		comm_abort(c, ST_RESOURCE);
}

/* What no job is begun with. */
static status may_begin(comm *c, const invocation *v)
{
	err e = { ST_OK, "" };
	launch_check(c->processes, &e);
	if (c->rank == 0)
		report_check(&v->o, c->size, &e);
	if (e.code != ST_OK && launch_speaks())
		fprintf(stderr, "hetsort: %s\n", e.text);
	const status rc = comm_agree(c, e.code);
	if (rc != ST_OK && e.code == ST_OK && c->rank == 0 && !atomic_load(&c->broken))
		fprintf(stderr,
			"hetsort: rank 0 (%s), start: another rank says that it cannot begin\n",
			c->host);
	return rc;
}

/* Nobody can be agreed with: say so, and end the job. */
static void lost(comm *c, const char *at, status rc)
{
	fprintf(stderr, "hetsort: rank %d (%s), %s: the other ranks cannot be reached any more\n",
		c->rank, c->host, at);
	comm_abort(c, rc);
}

/* One rank, thread or process. The exit code is rank 0's: the report may have failed there. */
static status rank_run(comm *c, void *arg)
{
	const invocation *v = arg;
	job_result res = { .status = ST_OK };
	watch *w = NULL;
	status rc = may_begin(c, v);
	if (rc != ST_OK && atomic_load(&c->broken))
		lost(c, "start", rc);
	if (rc != ST_OK)
		return rc;
	start_watch(&w, c, &v->o);
	rc = job_run(c, &v->o, &res);
	/* launchers send signals to ranks that have not ended yet: that changes no outcome */
	unfinished_settle();
	const bool broken = atomic_load(&c->broken);
	if (c->rank == 0 || broken)
		rc = tell(v, &res);
	free(res.rank);
	if (broken)
		comm_abort(c, (int)(rc == ST_OK ? ST_PEER : rc));
	int32_t code = rc;
	rc = comm_bcast(c, &code, sizeof code, 0);
	if (rc == ST_OK)
		rc = comm_peer_status(c, code);
	if (atomic_load(&c->broken))
		lost(c, "end", rc);
	watch_stop(w);
	return rc;
}

static void show_emulation(const emulation *m, int nodes, FILE *f)
{
	fprintf(f, "emulation: %d virtual ranks:", m->size);
	for (int i = 0; i < nodes; i++)
		fprintf(f, " %d", m->count[i]);
	fprintf(f, "; %.1f %% of the whole speed\n", 100 * m->efficiency);
}

/* One node of an emulation: the ranks are threads of it. */
static status emulate_run(comm *c, void *arg)
{
	const invocation *v = arg;
	emulation m;
	err e = { ST_OK, "" };
	status rc = emulation_plan(&m, c, &v->o, &e);
	if (rc == ST_OK && c->rank == 0 && (v->o.explain || v->o.verbosity > 0))
		show_emulation(&m, c->size, v->o.explain ? stdout : stderr);
	if (rc == ST_OK)
		rc = comm_virtual_run(c, m.count, rank_run, arg, &e);
	if (e.code != ST_OK)
		fprintf(stderr, "hetsort: rank %d (%s), start: %s\n", c->rank, c->host, e.text);
	emulation_free(&m);
	if (rc != ST_OK && atomic_load(&c->broken))
		lost(c, "start", rc);
	return rc;
}

#ifdef HAVE_MPI
/* A rank that cannot join the others says so itself: rank 0 may know nothing of it, and waits. */
static _Noreturn void not_joined(status rc, const err *e)
{
	char host[HOST_BYTES] = "unknown";
	const char *rank = launch_rank();
	(void)gethostname(host, sizeof host - 1);
	fprintf(stderr, "hetsort: rank %s (%s), start: %s\n", rank ? rank : "?", host, e->text);
	comm_mpi_end(rc);
}
#endif

static status start(invocation *v, err *e)
{
	rank_main *run = v->o.emulate ? emulate_run : rank_run;
	if (!comm_mpi_launched())
		return comm_local_run(v->o.ranks ? v->o.ranks : 1, v->o.max_message, run, v, e);
	if (v->o.ranks)
		return err_set(e, ST_REFUSED,
			       "--ranks is for runs without a launcher: here it has "
			       "set the number of ranks");
#ifdef HAVE_MPI
	const status rc = comm_mpi_run(v->o.max_message, run, v, e);
	if (e->code != ST_OK)
		not_joined(rc, e);
	return rc;
#else
	return err_set(e, ST_REFUSED, "started by an MPI launcher, but built without MPI");
#endif
}

/* On the thread that waits for signals, whatever the others do: they are not asked. */
static void interrupted(int sig, void *invocation_)
{
	const invocation *v = invocation_;
	const job_result res = { .status = (status)(ST_SIGNAL + sig) };
	err e = { ST_OK, "" };
	if (!unfinished_freeze())
		return; /* it comes too late: names are being given, which takes but a moment */
	signals_deadline(sig, LAST_MOMENT_MS);
	unfinished_remove_all();
	if (launch_speaks()) {
		fprintf(stderr, "hetsort: interrupted by %s\n", signals_name(sig));
		if (v->o.report &&
		    report_write(&res, &v->o, v->argc, v->argv, v->o.report, &e) != ST_OK)
			fprintf(stderr, "hetsort: no report: %s\n", e.text);
	}
	if (comm_mpi_launched())
		signals_await_deadline(); /* the first death makes launchers kill at once */
	signals_die(sig);
}

static status clean_one(const settings *o, const char *pattern, int rank)
{
	err e = { ST_OK, "" };
	char q[QUOTED_BYTES];
	unsigned removed = 0;
	struct stat st;
	char *path = name_expand(pattern, rank, &e);
	const bool dir = path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	if (path && (dir ? workdir_clean : target_clean)(path, &removed, &e) == ST_OK &&
	    o->verbosity > 0)
		fprintf(stderr, "hetsort: %s: %u files removed\n", err_quoted(path, q), removed);
	if (e.code != ST_OK)
		fprintf(stderr, "hetsort: %s\n", e.text);
	free(path);
	return e.code;
}

/* All names, also if one fails; a name with %r is that of each rank. */
static status clean(const settings *o)
{
	status worst = ST_OK;
	for (size_t i = 0; i < o->ninputs; i++) {
		const bool per_rank = name_is_per_rank(o->inputs[i]);
		for (int r = 0; r < (per_rank ? o->ranks : 1); r++) {
			const status rc = clean_one(o, o->inputs[i], r);
			worst = rc > worst ? rc : worst;
		}
	}
	return worst;
}

static status check(const settings *o)
{
	status worst = ST_OK;
	for (size_t i = 0; i < o->ninputs; i++) {
		err e = { ST_OK, "" };
		const status rc = manifest_check(o->inputs[i], &e);
		if (rc != ST_OK)
			fprintf(stderr, "hetsort: %s\n", e.text);
		worst = rc > worst ? rc : worst;
	}
	return worst;
}

/* A standard stream that is closed would leave its number to a file, and what is printed would land
 * there. In its place comes one on which every use fails. */
static status hold_standard_streams(err *e)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return err_set(e, ST_RESOURCE, "standard stream %d is closed", fd);
	return ST_OK;
}

/* Runs on disk take descriptors: as many as we may have. */
static void raise_file_limit(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur == l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
}

/* Names, libraries and environment are the caller's: with another one's rights they would reach
 * what he may not. */
static status refuse_lent_rights(err *e)
{
	return getauxval(AT_SECURE)
		       ? err_set(e, ST_REFUSED,
				 "it does not run with rights that its caller has not "
				 "(set-user-ID, set-group-ID, capabilities of the file)")
		       : ST_OK;
}

enum { LEAST_STACK_BYTES = 512 << 10 };

/* Threads get as much as the limit says, and too little shows as a crash. */
static status need_stack(err *e)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_STACK, &l) != 0 || l.rlim_cur >= LEAST_STACK_BYTES)
		return ST_OK;
	return err_set(e, ST_RESOURCE, "the limit of the stack is %ju bytes: it takes %d",
		       (uintmax_t)l.rlim_cur, LEAST_STACK_BYTES);
}

int main(int argc, char **argv)
{
	invocation v = { .argc = argc, .argv = argv };
	err e = { ST_OK, "" };
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a message is one write, or launchers mix them */
	/* a closed pipe and a file size limit show as errors of the call that meets them */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	raise_file_limit();
	status rc = hold_standard_streams(&e);
	if (rc == ST_OK)
		rc = refuse_lent_rights(&e);
	if (rc == ST_OK)
		rc = need_stack(&e);
	if (rc == ST_OK)
		rc = options_parse(&v.o, argc, argv, &e);
	if (rc == ST_OK)
		rc = FAIL_PLAN(getenv("HETSORT_FAIL"), &e);
	if (rc == ST_OK && v.o.wish == WISH_VERSION)
		puts("hetsort " HETSORT_VERSION "\nLicense GPLv3+: GNU GPL version 3 or later.");
	if (rc == ST_OK && v.o.wish == WISH_HELP)
		options_help(stdout);
	if (rc == ST_OK && (v.o.wish == WISH_VERSION || v.o.wish == WISH_HELP))
		return fflush(stdout) == 0 && !ferror(stdout) ? ST_OK : ST_IO;
	if (rc == ST_OK && v.o.wish == WISH_CLEAN)
		return clean(&v.o);
	if (rc == ST_OK && v.o.wish == WISH_CHECK)
		return check(&v.o);
	if (rc == ST_OK) {
		v.o.stop = &v.stop;
		signals_block();
		signals_watch(&v.stop, interrupted, &v);
		rc = start(&v, &e);
	}
	if (e.code != ST_OK && launch_speaks()) {
		fprintf(stderr, "hetsort: %s\n", e.text);
		if (e.code == ST_REFUSED)
			fputs("Try 'hetsort --help' for more information.\n", stderr);
	}
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program hetsort: read the options, start the ranks, print the result. Of the sorter, only
 * this file and those in cli/ print. */
#include "cli/launch.h"
#include "base/size.h"
#include "cli/operands.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "base/clock.h"
#include "comm/comm.h"
#include "comm/monitor.h"
#include "io/file.h"
#include "io/unfinished.h"
#include "model/rank_speeds.h"
#include "phases/job_result.h"
#include "phases/same_files.h"
#include "job.h"
#include "testing/failpoint.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifndef HETSORT_COMMIT /* by the Makefile */
#	define HETSORT_COMMIT "unknown"
#endif

/* The command line, and what this process does with it. */
typedef struct invocation {
	settings o;
	int argc;
	char **argv;
	operand_list list;   /* of --files0-from */
	atomic_bool stop;    /* at the end of the current step */
	atomic_bool checked; /* report, trace and page replace no file that the job reads */
} invocation;

static const invocation *the_sort; /* NULL: this process does something else */

enum {
	NAMES_MS = 300,       /* files get their final names within this time, or never */
	LAST_MOMENT_MS = 400, /* to write the report: launchers kill a second after a signal */
	STALL_END_MS = 2000,  /* to remove files and to end the other ranks */
	PRINT_S = 1,          /* for rank 0 to print why the job does not start */
	WAIT_S = 5,           /* between looks at the ranks that have not started */
};

/* Return rc, or ST_IO with a message if standard output has not taken what was printed. */
static status output_printed(status rc)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return rc;
	fprintf(stderr, "hetsort: cannot write to standard output\n");
	return ST_IO;
}

/* Write the report, the page and the trace, once, if it is known that they may be written. A
 * missing report does not require another sort, so say that the output is complete. all: NULL if
 * another rank writes them. */
static status write_side_files(const invocation *v, const job_result *res, traces *all)
{
	static const char *const name[] = { "report", "page", "trace" };
	static atomic_flag written = ATOMIC_FLAG_INIT;
	const settings *o = &v->o;
	const bool sync = o->fsync && res->status < ST_PEER; /* if not about to be killed */
	err e[] = { { ST_OK, "" }, { ST_OK, "" }, { ST_OK, "" } };
	status rc = ST_OK;
	if (!atomic_load(&v->checked) || res->late_refused || !all ||
	    atomic_flag_test_and_set(&written))
		return ST_OK;
	report_write(res, o, v->argc, v->argv, sync, &e[0], &e[1]);
	if (o->trace)
		trace_write(all, res, o->trace, sync, &e[2]);
	for (size_t i = 0; i < sizeof e / sizeof *e; i++)
		if (e[i].code != ST_OK) {
			fprintf(stderr, "hetsort: no %s: %s%s\n", name[i], e[i].text,
				res->status == ST_OK && !o->explain ? "; the output is complete"
								    : "");
			rc = ST_IO;
		}
	return rc;
}

/* Print the result, and write report, page and trace. Return the status of the job. */
static status print_result(const invocation *v, job_result *res, traces *all)
{
	const settings *o = &v->o;
	status rc = res->status;
	const bool shown = progress_line_stop();
	if (all)
		(void)job_result_widen(res, monitor_look, 0); /* if the others cannot be reached */
	report_errors(res, stderr);
	if (res->note[0] && o->verbosity >= 0)
		fprintf(stderr, "hetsort: note: %s\n", res->note);
	if (rc == ST_OK && o->explain)
		report_plan(res, o, stdout);
	else if (rc == ST_OK && o->verbosity > 0)
		report_table(res, o, stderr);
	if (rc == ST_OK && shown)
		report_summary(res, o, stderr);
	const status written = write_side_files(v, res, all);
	rc = rc == ST_OK ? written : rc;
	return res->status == ST_OK && o->explain ? output_printed(rc) : rc;
}

/* Write report, page and trace of a job that ends now, on rank 0, without any message to another
 * rank. text: why rank `failed` has failed, at this phase, if it is not below 0; NULL: no rank is
 * known to have failed. */
static void write_ending(status rc, int failed, int at, const char *text,
			 int (*look)(monitor_take *take, void *to), bool by_launcher)
{
	job_result res;
	traces all = { .row = NULL };
	job_result_kept(&res);
	res.status = rc;
	if (job_result_widen(&res, look, by_launcher ? the_sort->o.timeout_s : 0))
		res.status = ST_PEER;
	else if (by_launcher)
		snprintf(res.note, sizeof res.note,
			 "the launcher ended the job, as it does when a rank has died");
	if (text && failed < res.size) {
		rank_result *k = &res.rank[failed];
		k->status = rc;
		k->phase = at < 0 ? k->phase : at;
		snprintf(k->text, sizeof k->text, "%s", text);
	}
	(void)write_side_files(the_sort, &res, &all);
	job_result_free(&res);
}

/* Exit from a signal handler, because ending the job took too long. */
static void exit_stalled(int alarm_)
{
	(void)alarm_;
	_exit(ST_PEER);
}

/* Begin the message of a process that may have no comm. */
static void print_process(const char *rank_if_unknown)
{
	char host[HOST_BYTES];
	const char *rank = launch_rank();
	host_name(host);
	fprintf(stderr, "hetsort: rank %s (%s)", rank ? rank : rank_if_unknown, host);
}

/* Print why this process ends before it has joined the others. All ranks may refuse for the same
 * reason, so rank 0 prints first, then one rank per host, then all. The launcher usually ends the
 * others as soon as one has ended, but nobody is silent because others may have printed. */
static void print_early(const err *e)
{
	if (!comm_mpi_launched() || (e->code == ST_REFUSED && launch_speaks())) {
		fprintf(stderr, "hetsort: %s\n", e->text);
		if (e->code == ST_REFUSED)
			fputs("Try 'hetsort --help' for more information.\n", stderr);
		return;
	}
	if (e->code == ST_REFUSED)
		(void)sleep(launch_is_first_here() ? PRINT_S : 2 * PRINT_S);
	print_process("?");
	fprintf(stderr, ", starting: %s\n", e->text);
}

/* Print once for what this process waits, if other ranks do not start. Called on the monitor's
 * thread, every WAIT_S seconds and when a signal asks for it. */
static void show_waiting(bool asked)
{
	static unsigned times, printed;
	char text[LAUNCH_TEXT_BYTES];
	const unsigned due = launch_waits(text);
	if (!asked && (printed || ++times < due))
		return;
	printed = 1;
	print_process("?");
	fprintf(stderr, " waits for %s; to sort without other ranks, use --launcher=none\n", text);
}

/* End the job, before there is a comm or after it is closed. */
static _Noreturn void exit_job(status rc)
{
	if (comm_mpi_launched())
		comm_launched_end(rc);
	_exit(rc);
}

/* Print which rank makes no progress, and end the job. Called on a thread of the monitor.
 *
 * Several threads may call this at the same time, one for each rank of this process. A second
 * thread may also call this while the first hangs in the file system from which it removes
 * temporary files. Only the first thread prints and ends the process; the alarm ends the process if
 * that takes longer than STALL_END_MS. The others wait, and end the process themselves if all this
 * fails. */
static void end_stalled(comm *c, const stall *s)
{
	static atomic_flag begun = ATOMIC_FLAG_INIT;
	if (atomic_flag_test_and_set(&begun)) {
		(void)sleep(2 * STALL_END_MS / 1000);
		_exit(ST_PEER);
	}
	signals_alarm(exit_stalled, STALL_END_MS);
	progress_line_clear();
	char text[ERR_TEXT_BYTES];
	if (s->kind == STALL_OVERDUE && s->rank >= 0)
		snprintf(text, sizeof text, "no connection with rank %d for %.1f s", s->rank,
			 s->seconds);
	else if (s->kind == STALL_OVERDUE)
		snprintf(text, sizeof text, "no progress for %.1f s", s->seconds);
	else if (s->kind == STALL_ALL)
		snprintf(text, sizeof text,
			 "all ranks wait for one another, and no message has moved for %.1f s",
			 s->seconds);
	else if (s->kind == STALL_DAMAGED)
		snprintf(text, sizeof text, "it sent a message that arrived damaged");
	else
		snprintf(text, sizeof text, "%s for %.1f s, after %" PRIu64 " piece%s of work",
			 s->kind == STALL_STUCK ? "no progress" : "no sign of life", s->seconds,
			 s->ticks, plural(s->ticks));
	if (s->kind == STALL_OVERDUE) { /* this process is joining or leaving the others */
		print_process("0");
		fprintf(stderr, ", %s: %s\n", s->doing, text);
	} else {
		fprintf(stderr, "hetsort: rank %d (%s), %s: %s\n", s->rank,
			s->host[0] ? s->host : "unknown",
			s->host[0] ? phase_doing((phase)s->phase) : "starting", text);
	}
	unfinished_give_up();
	if (the_sort && (c ? c->process_first == 0 : launch_speaks()))
		write_ending(ST_PEER, s->kind == STALL_OVERDUE ? 0 : s->rank,
			     s->kind == STALL_OVERDUE ? -1 : s->phase, text,
			     s->kind <= STALL_ALL ? monitor_look_locked : monitor_look, false);
	if (s->kind == STALL_OVERDUE)
		exit_job(ST_PEER);
	comm_abort(c, ST_PEER);
}

/* Print a failure in one line, so that messages of ranks do not mix, and name the rank as
 * report_errors() does. */
static void print_rank_failure(const comm *c, const char *at, const char *text)
{
	progress_line_clear();
	if (c->processes > 1)
		fprintf(stderr, "hetsort: rank %d (%s), %s: %s\n", c->rank, c->host, at, text);
	else if (c->size > 1)
		fprintf(stderr, "hetsort: rank %d, %s: %s\n", c->rank, at, text);
	else
		fprintf(stderr, "hetsort: %s\n", text);
}

/* Join the monitors of all ranks, or end the job. shown: if ranks are in other processes, they
 * report their progress. */
static void join_monitor(comm *c, const settings *o, bool shown)
{
	err e = { ST_OK, "" };
	if (o->timeout_s > 0 && !c->threads_allowed && !c->for_all)
		fprintf(stderr, "hetsort: --timeout needs an MPI that lets threads call it\n");
	else if (monitor_join(c, o->timeout_s, shown && c->processes > 1 && c->threads_allowed,
			      end_stalled, &e) == ST_OK)
		return;
	else
		print_rank_failure(c, "starting", e.text);
	comm_abort(c, ST_RESOURCE);
}

/* Broadcast what only rank 0 knows: whether it shows progress, and whether the job is traced. */
static status share_wish(comm *c, const settings *o, bool *shown)
{
	int32_t wished[2] = { c->rank == 0 && progress_line_wanted(o), o->trace != NULL };
	status rc = ST_OK;
	if (c->processes > 1)
		rc = comm_bcast(c, wished, sizeof wished, 0);
	*shown = wished[0];
	c->traced = wished[1];
	return rc;
}

/* Collective: check that the launcher started these ranks, and that the report can be written. */
static status check_start(comm *c, invocation *v)
{
	err e = { ST_OK, "" };
	if (c->rank == 0 && launch_check(c->processes, &e) == ST_OK)
		files_check(&v->o, c->size, &e);
	if (c->rank == 0 && e.code == ST_OK)
		atomic_store(&v->checked, true);
	if (e.code != ST_OK)
		fprintf(stderr, "hetsort: %s\n", e.text);
	return comm_agree(c, e.code);
}

/* End the job without the other ranks. */
static void end_alone(comm *c, status rc)
{
	char why[COMM_FAILURE_BYTES];
	rc = rc == ST_OK ? ST_PEER : rc;
	signals_alarm(exit_stalled, STALL_END_MS);
	unfinished_give_up();
	if (the_sort && c->process_first == 0) /* this may be another rank of rank 0's process */
		write_ending(rc, c->rank, atomic_load(&c->phase), comm_failure(c, why),
			     monitor_look, false);
	comm_abort(c, (int)rc);
}

/* If the other ranks cannot be reached any more, print why and end the job. */
static void end_if_broken(comm *c, const char *at, status rc)
{
	char why[COMM_FAILURE_BYTES];
	if (!atomic_load(&c->broken))
		return;
	print_rank_failure(c, at, comm_failure(c, why));
	end_alone(c, rc);
}

/* Execute the job of one rank, which is a thread or a process. Only on rank 0 does the status say
 * whether the report was written. */
static status rank_execute(comm *c, void *arg)
{
	invocation *v = arg;
	job_result res = { .status = ST_OK };
	err unsaid;
	FAIL_RANK(c->rank);
	FAIL_PHASE("start");
	bool shown = false;
	status rc = check_start(c, v);
	if (rc == ST_OK)
		rc = share_wish(c, &v->o, &shown);
	if (rc != ST_OK) {
		end_if_broken(c, "starting", rc);
		return rc;
	}
	if (c->rank == 0) {
		if (shown)
			(void)monitor_start(0, end_stalled, &unsaid); /* else nothing is shown */
		progress_line_start(&v->o, shown);
	}
	unsaid = (err){ ST_OK, "" };
	join_monitor(c, &v->o, shown);
	trace *t = c->traced
			   ? trace_open(c->rank, &c->progress, trace_rows_of_rank(c->size), now_s())
			   : NULL;
	traces all = { .row = NULL };
	rc = job_execute(c, &v->o, &res);
	if (c->traced && !atomic_load(&c->broken) && traces_gather(c, &all, &unsaid) != ST_OK &&
	    c->rank == 0 && c->processes > 1)
		print_rank_failure(c, "writing the trace without ranks of other processes",
				   unsaid.text[0] ? unsaid.text
						  : "another rank has no memory for it");
	const bool broken = atomic_load(&c->broken);
	if (!broken) /* launchers signal ranks that have not ended yet: ignore such signals now */
		unfinished_settle();
	if (c->rank == 0 || broken)
		rc = print_result(v, &res, c->rank == 0 ? &all : NULL);
	free(all.row);
	trace_close(t);
	job_result_free(&res);
	if (broken)
		end_alone(c, rc);
	int32_t code = rc; /* launchers must not end rank 0 before it has printed the result */
	status heard = comm_bcast(c, &code, sizeof code, 0);
	if (heard == ST_OK && rc != ST_OK) /* all ranks of a job that failed have one exit code */
		rc = heard = comm_peer_status(c, code);
	end_if_broken(c, "ending", heard);
	monitor_leave(c);
	FAIL_PHASE("end");
	return rc;
}

/* Execute one process of an emulation: its virtual ranks are threads. */
static status emulation_execute(comm *c, void *arg)
{
	const invocation *v = arg;
	emulation m;
	err e = { ST_OK, "" };
	status rc = emulation_plan(&m, c, &v->o, &e);
	if (rc == ST_OK && c->rank == 0 && (v->o.explain || v->o.verbosity > 0)) {
		FILE *f = v->o.explain ? stdout : stderr;
		fprintf(f, "emulation: %d virtual rank%s:", m.size, plural((uint64_t)m.size));
		for (int i = 0; i < c->size; i++)
			fprintf(f, " %d", m.count[i]);
		fprintf(f, "; %.1f %% of the whole speed\n", 100 * m.efficiency);
	}
	if (rc == ST_OK)
		rc = comm_virtual_run(c, m.count, rank_execute, arg, &e);
	if (e.code != ST_OK)
		print_rank_failure(c, "starting", e.text);
	free(m.count);
	if (rc != ST_OK)
		end_if_broken(c, "starting", rc);
	return rc;
}

/* Execute one process. The messages that follow depend on what the job does, so compare that first:
 * a check has no other comparison of options. */
static status process_execute(comm *c, void *arg)
{
	invocation *v = arg;
	const bool checks = settings_checks_order(&v->o);
	const uint64_t mine = checks ? v->o.sum : v->o.emulate != 0;
	uint64_t first = mine;
	status rc = ST_OK;
	if (comm_mpi_launched()) { /* the ranks have met */
		monitor_show(NULL, 0);
		launch_joined(c->process_first == 0);
	}
	if (c->processes > 1) {
		rc = comm_bcast(c, &first, sizeof first, 0);
		if (rc == ST_OK && first != mine) {
			print_rank_failure(c, "starting", OTHER_OPTIONS);
			rc = ST_PEER;
		}
		rc = comm_agree(c, rc);
	}
	if (rc == ST_OK && checks) {
		rc = check_start(c, v);
		if (rc == ST_OK)
			rc = check_command(c, &v->o);
	} else if (rc == ST_OK) {
		return v->o.emulate ? emulation_execute(c, arg) : rank_execute(c, arg);
	}
	end_if_broken(c, checks ? "checking" : "starting", rc);
	return rc;
}

/* Operands are the names in a list, or the last words of the command line, because getopt has
 * permuted it. */
static status fold_operands(invocation *v, err *e)
{
	char **operand = v->list.name ? v->list.name : v->argv + v->argc - v->o.ninputs;
	return operands_fold(&v->o, operand, e);
}

/* Return whether rank 0 can plan for all ranks: all have the same files, and nothing is measured.
 */
static bool rank0_can_plan(const settings *o)
{
	bool can = o->explain && !o->emulate && !o->calibrate && !o->from_root && !o->trace &&
		   !(o->output && name_is_per_rank(o->output));
	for (size_t i = 0; i < o->ninputs && can; i++)
		can = !name_is_per_rank(o->inputs[i]);
	return can;
}

/* Start the ranks: threads of this process, or the processes of a launcher. */
static status start_ranks(invocation *v, err *e)
{
	const settings *o = &v->o;
	const int ranks = o->ranks ? o->ranks : 1;
	err unsaid = { ST_OK, "" };
	if (!comm_mpi_launched() && o->launcher == LAUNCHER_MPI)
		return err_set(e, ST_REFUSED,
			       "--launcher=mpi: no MPI launcher has started this process; use "
			       "mpirun, or srun --mpi=pmix");
	status rc = fold_operands(v, e);
	if (!comm_mpi_launched())
		return rc != ST_OK         ? rc
		       : rank0_can_plan(o) ? comm_local_run_first(ranks, process_execute, v, e)
					   : comm_local_run(ranks, process_execute, v, e);
	if (o->ranks)
		return err_set(e, ST_REFUSED,
			       "--ranks cannot be combined with a launcher, which has set the "
			       "number of ranks; to sort without MPI, add --launcher=none");
	if (rc == ST_OK) {
		monitor_show(show_waiting, WAIT_S);
		(void)monitor_start(0, end_stalled, &unsaid); /* else nothing is shown */
		rc = comm_launched_run(o->max_message, process_execute, v, e);
	}
	if (e->code != ST_OK) { /* rank 0 may not know that this rank does not join, and waits */
		print_early(e);
		exit_job(rc);
	}
	return rc;
}

/* End the process because of a signal, at any moment of the sort, except while files are getting
 * their final names, which takes a moment. If another rank has died, they never get them, and a
 * launcher that has sent the signal does not wait for long. Called on the thread that waits for
 * signals. A launcher sends the signal to every rank, so only one prints. Any other signal was
 * meant for this rank. */
static void interrupted(int sig, bool by_launcher, void *invocation_)
{
	static const struct timespec a_moment = { 0, NAMES_MS * 1000000L };
	(void)invocation_;
	if (!unfinished_freeze(false)) {
		if (!comm_mpi_launched())
			return;
		nanosleep(&a_moment, NULL);
		if (!unfinished_freeze(true))
			return;
	}
	signals_deadline(sig, LAST_MOMENT_MS);
	unfinished_remove_all();
	progress_line_clear();
	const bool named = !by_launcher && launch_rank();
	if (isatty(STDERR_FILENO) && (named || launch_speaks()))
		fputc('\r', stderr); /* over the ^C that the terminal shows */
	if (named) {
		print_process("0");
		fprintf(stderr, ": interrupted by %s\n", signals_name(sig));
	} else if (launch_speaks()) {
		fprintf(stderr, "hetsort: interrupted by %s\n", signals_name(sig));
	}
	if (launch_speaks())
		write_ending((status)(ST_SIGNAL + sig), 0, -1, NULL, monitor_look,
			     by_launcher && comm_mpi_launched());
	if (comm_mpi_launched()) /* when one process ends, launchers kill the others */
		(void)sleep(1);  /* until the deadline */
	signals_die(sig);
}

/* Show progress once, because a signal asks for it. The thread that shows it may not exist yet. */
static void show_progress(void)
{
	err unsaid = { ST_OK, "" };
	if (monitor_start(0, end_stalled, &unsaid) == ST_OK)
		monitor_ask();
}

/* Do what the command line asks for instead of sorting. */
static status instead_of_sort(const settings *o)
{
	if (o->wish == WISH_CLEAN)
		return operands_clean(o);
	if (o->wish == WISH_CHECK)
		return operands_check(o);
	if (o->wish == WISH_HELP)
		options_help(stdout);
	else
		puts("hetsort " HETSORT_VERSION "\nLicense GPLv3+: GNU GPL version 3 or later.");
	if (o->wish == WISH_VERSION && o->verbosity > 0)
		printf("Built with %s, compiler %s, commit %s\n", report_build(), __VERSION__,
		       HETSORT_COMMIT);
	return output_printed(ST_OK);
}

/* Sort, while signals are watched. */
static status sort_files(invocation *v, err *e)
{
	v->o.stop = &v->stop;
	v->o.started_s = (int64_t)time(NULL);
	v->o.commit = HETSORT_COMMIT;
	the_sort = v;
	signals_block();
	if (comm_mpi_launched())
		signals_end_with_parent();
	signals_watch(&v->stop, show_progress, interrupted, v);
	monitor_enter("joining the other ranks");
	status rc = v->o.timeout_s > 0 ? monitor_start(v->o.timeout_s, end_stalled, e) : ST_OK;
	if (rc == ST_OK)
		rc = start_ranks(v, e);
	if (e->code != ST_OK) /* and if the job had begun: all simulated ranks wait for ever */
		write_ending(rc, 0, -1, e->text, monitor_look, false);
	return rc;
}

int main(int argc, char **argv)
{
	invocation v = { .argc = argc, .argv = argv };
	err e = { ST_OK, "" };
	status rc = process_prepare(&e);
	if (rc == ST_OK)
		rc = options_parse(&v.o, argc, argv, &e);
	if (rc == ST_OK && v.o.files0_from)
		rc = operands_read(&v.o, &v.list, &e);
	if (rc == ST_OK) {
		rc = messages_check(&v.o, v.o.ranks ? v.o.ranks : 1, &e);
	} else if (argc > 1) { /* any word may name a file of the job */
		const settings words = { .inputs = (const char *const *)argv + 1,
					 .ninputs = (size_t)argc - 1 };
		(void)messages_check(&words, 1, &(err){ ST_OK, "" });
	}
	if (rc == ST_OK)
		rc = FAIL_PLAN(getenv("HETSORT_FAIL"), &e);
	if (v.o.launcher == LAUNCHER_NONE)
		launch_ignore();
	if (rc == ST_OK && v.o.wish == WISH_CHECK)
		rc = fold_operands(&v, &e);
	if (rc == ST_OK && !settings_checks_order(&v.o) && v.o.wish != WISH_SORT)
		rc = instead_of_sort(&v.o);
	else if (rc == ST_OK && !settings_checks_order(&v.o))
		rc = sort_files(&v, &e);
	else if (rc == ST_OK)
		rc = start_ranks(&v, &e);
	if (e.code != ST_OK)
		print_early(&e);
	operands_free(&v.list);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do the options go together? And what those that were not given are to be. */
#include "options_validate.h"
#include "base/size.h"
#include "comm/comm.h"
#include "io/file.h"
#include "launch.h"

#include <string.h>
#include <unistd.h>

/* Two options that set the same to something else: the last would win, and the first be lost. */
static status check_opposites(option_set given, err *e)
{
	for (size_t i = 0; i < option_count; i++)
		for (size_t k = 0; k < i; k++) {
			const option_row *a = &option_rows[k], *b = &option_rows[i];
			if ((given >> i & given >> k & 1) && a->kind == OPT_SET &&
			    b->kind == OPT_SET && a->field.at == b->field.at)
				return err_set(e, ST_REFUSED, "--%s and --%s exclude each other",
					       a->name, b->name);
		}
	return ST_OK;
}

static status check_scattering(const settings *o, option_set given, err *e)
{
	for (size_t i = 0; i < option_count && !o->from_root; i++)
		if (option_rows[i].with_root && given >> i & 1)
			return err_set(e, ST_REFUSED, "--scatter requires --source=root");
	for (size_t i = 0; o->from_root && i < o->ninputs; i++)
		if (name_is_per_rank(o->inputs[i]))
			return err_set(e, ST_REFUSED,
				       "--source=root: the input is on rank 0, so it has no %%r in "
				       "its name");
	if (o->from_root && (o->stable || o->unique) && o->scatter == SCATTER_DYNAMIC)
		return err_set(e, ST_REFUSED,
			       "--scatter=dynamic does not keep the order of the input, which "
			       "--%s wants",
			       o->stable ? "stable" : "unique");
	return ST_OK;
}

/* Runs are kept in one place that the next job finds again. */
static status check_keeping(const settings *o, err *e)
{
	if (o->resume && !o->workdir)
		return err_set(e, ST_REFUSED, "--resume requires --workdir");
	if (o->workdir && !*o->workdir)
		return err_set(e, ST_REFUSED, "--workdir names no directory");
	if (o->workdir && o->tmpdirs)
		return err_set(e, ST_REFUSED, "runs go to --workdir or to --tmpdir, not to both");
	if (o->workdir && (o->from_root || !settings_strategy(o)->keeps_runs))
		return err_set(e, ST_REFUSED,
			       "--workdir requires --source=all and --strategy=merge");
	return ST_OK;
}

/* Each rank merges its records of all inputs; nothing is sent, and nothing kept. */
static status check_merging(const settings *o, option_set given, err *e)
{
	static const char *const refused[] = { "source", "scatter",  "links", "disks",   "workdir",
					       "resume", "strategy", "adapt", "emulate", "wisdom" };
	for (size_t i = 0; o->merge && i < sizeof refused / sizeof *refused; i++)
		if (option_is_in(given, refused[i]))
			return err_set(e, ST_REFUSED, "--%s cannot be combined with --merge",
				       refused[i]);
	return o->merge && o->plan == PLAN_ONLINE
		       ? err_set(e, ST_REFUSED, "--plan=online cannot be combined with --merge")
		       : ST_OK;
}

/* Records that are not sorted first: the way of --strategy=distribute, without its last step. */
static status check_partitioning(settings *o, option_set given, err *e)
{
	static const char *const want[] = { "unique", "top", "workdir", "merge" };
	if (!o->partition_only)
		return ST_OK;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		if (option_is_in(given, want[i]))
			return err_set(e, ST_REFUSED,
				       "--partition-only does not sort, which --%s wants", want[i]);
	if (option_is_in(given, "strategy") && o->strategy != BY_DISTRIBUTING)
		return err_set(e, ST_REFUSED, "--partition-only requires --strategy=distribute");
	o->strategy = BY_DISTRIBUTING;
	return ST_OK;
}

/* The speeds decide how many ranks there are, so nothing is left for shares to do. */
static status check_emulation(settings *o, option_set given, err *e)
{
	if (!o->emulate)
		return ST_OK;
	if (!o->speeds)
		return err_set(e, ST_REFUSED, "--emulate needs speeds: --speeds=LIST or FILE");
	if (option_is_in(given, "plan") && o->plan != PLAN_EQUAL)
		return err_set(e, ST_REFUSED, "--emulate has equal shares, not --plan=%s",
			       plan_names[o->plan]);
	o->plan = PLAN_EQUAL;
	return ST_OK;
}

static bool overlap(const key_field *f, uint32_t off, uint32_t bytes)
{
	return f->off < off + bytes && off < f->off + f->bytes;
}

/* A count in the key would change the order of what is sorted. */
static status check_count(const settings *o, err *e)
{
	const layout *l = &o->lay;
	const key_field *f = &o->count;
	if (!f->bytes)
		return ST_OK;
	if (!o->unique)
		return err_set(e, ST_REFUSED, "--count requires --unique");
	if (f->off + f->bytes > l->record_bytes)
		return err_set(e, ST_REFUSED,
			       "--count: bytes %u to %u do not fit a record of %u byte%s", f->off,
			       f->off + f->bytes - 1, l->record_bytes, plural(l->record_bytes));
	bool in_key = l->fields == 0 && overlap(f, l->key_off, l->key_bytes);
	for (uint32_t i = 0; i < l->fields; i++)
		in_key |= overlap(f, l->field[i].off, l->field[i].bytes);
	return in_key ? err_set(e, ST_REFUSED, "--count: bytes %u to %u are part of the key",
				f->off, f->off + f->bytes - 1)
		      : ST_OK;
}

static status check_layout(settings *o, err *e)
{
	layout *l = &o->lay;
	if (l->key_bytes > l->record_bytes)
		l->key_bytes = l->record_bytes; /* the default key of a record shorter than it */
	const status rc = layout_settle(l, o->reverse, e);
	return rc == ST_OK ? check_count(o, e) : rc;
}

/* Files of one rank alone would look as if all had been cleaned. */
static status check_cleaning(const settings *o, err *e)
{
	char q[QUOTED_BYTES];
	for (size_t i = 0; !o->ranks && i < o->ninputs; i++)
		if (name_is_per_rank(o->inputs[i]))
			return err_set(e, ST_REFUSED,
				       "--clean needs --ranks, for the %%r in the name %s",
				       err_quoted(o->inputs[i], q));
	return ST_OK;
}

static bool checks_order(const settings *o)
{
	return o->wish == WISH_ORDER || o->wish == WISH_ORDER_SILENT;
}

/* What would have no effect is refused, so that nobody waits for it. */
static status check_checking(const settings *o, option_set given, err *e)
{
	static const char *const goes[] = { "check",       "check-silent", "sum",     "record-size",
					    "skip-header", "skip-trailer", "records", "key",
					    "reverse",     "stable",       "threads", "direct",
					    "verbose",     "quiet",        "unique",  "ranks",
					    "report",      "max-message" };
	option_set unused = given;
	if (!checks_order(o))
		return o->with_sum ? err_set(e, ST_REFUSED, "--sum requires --check") : ST_OK;
	for (size_t i = 0; i < sizeof goes / sizeof *goes; i++)
		unused &= ~((option_set)1 << option_place(goes[i]));
	for (size_t i = 0; i < option_count; i++)
		if (unused >> i & 1)
			return err_set(e, ST_REFUSED, "--%s cannot be combined with --check",
				       option_rows[i].name);
	if (o->with_sum && o->wish == WISH_ORDER_SILENT)
		return err_set(e, ST_REFUSED, "--check-silent prints nothing, --sum does");
	if (o->with_sum && o->report && strcmp(o->report, "-") == 0)
		return err_set(e, ST_REFUSED, "--report=-: --sum prints to standard output");
	return ST_OK;
}

/* Without names a sort is a filter, as others are, where something is led to it. A launcher leads
 * standard input to one rank at most. */
static void take_standard_streams(settings *o)
{
	static const char *const standard[] = { "-" };
	if (checks_order(o) && o->ninputs == 0 && !isatty(STDIN_FILENO)) {
		o->inputs = standard;
		o->ninputs = 1;
	}
	if (o->wish == WISH_SORT && !o->explain && o->ninputs == 0 && !o->output &&
	    !launch_rank() && !isatty(STDIN_FILENO)) {
		o->inputs = standard;
		o->ninputs = 1;
		o->output = "-";
	}
	/* also where that leads to a file */
	if (o->output && strcmp(o->output, "/dev/stdout") == 0)
		o->output = "-";
	if (o->report && strcmp(o->report, "/dev/stdout") == 0)
		o->report = "-";
}

static status check_report(const settings *o, err *e)
{
	if (o->trace && strcmp(o->trace, "-") == 0)
		return err_set(e, ST_REFUSED, "--trace=-: a trace is written to a file");
	if (o->html && strcmp(o->html, "-") == 0)
		return err_set(e, ST_REFUSED, "--html=-: a page is written to a file");
	if (!o->report || strcmp(o->report, "-") != 0)
		return ST_OK;
	if (o->explain)
		return err_set(e, ST_REFUSED, "--report=-: --explain prints to standard output");
	if (o->output && strcmp(o->output, "-") == 0)
		return err_set(e, ST_REFUSED, "--report=-: the records go to standard output");
	return ST_OK;
}

/* Of the exchange, or disks: they go into the plan. */
static bool knows_links(const settings *o)
{
	return o->disks || (!o->from_root && (o->links || o->measure_links));
}

status options_validate(settings *o, option_set given, err *e)
{
	take_standard_streams(o);
	if (check_opposites(given, e) != ST_OK)
		return ST_REFUSED;
	if (check_checking(o, given, e) != ST_OK)
		return ST_REFUSED;
	if (o->explain && o->wish != WISH_SORT)
		return err_set(e, ST_REFUSED, "--explain is for a sort, not for --%s",
			       o->wish == WISH_CLEAN ? "clean" : "check-manifest");
	if (!option_is_in(given, "plan"))
		o->plan = o->speeds || o->calibrate || knows_links(o) ? PLAN_NLOGN : PLAN_EQUAL;
	if (o->ninputs == 0)
		return err_set(e, ST_REFUSED,
			       o->wish == WISH_CLEAN   ? "no output is named"
			       : o->wish == WISH_CHECK ? "no manifest is named"
						       : "no input file is named");
	if (o->wish == WISH_CLEAN)
		return check_cleaning(o, e);
	o->layout_named = option_is_in(given, "record-size") || option_is_in(given, "key") ||
			  option_is_in(given, "reverse");
	if (checks_order(o))
		return check_layout(o, e);
	if (o->wish != WISH_SORT)
		return ST_OK;
	if (!o->output && !o->explain)
		return err_set(e, ST_REFUSED, "no output is named; use -o FILE");
	status rc = check_report(o, e);
	if (rc == ST_OK)
		rc = check_partitioning(o, given, e);
	if (rc == ST_OK)
		rc = check_scattering(o, given, e);
	if (rc == ST_OK)
		rc = check_keeping(o, e);
	if (rc == ST_OK)
		rc = check_merging(o, given, e);
	if (rc == ST_OK)
		rc = check_emulation(o, given, e);
	return rc == ST_OK ? check_layout(o, e) : rc;
}

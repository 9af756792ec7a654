/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: getopt_long, strict numbers, and the checks that need nothing but the options
 * themselves. No printing and no file is touched: main() prints, describe looks at files. */
#include "options_validate.h"
#include "io/name.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_SPEEDS = 256,
	OPT_PLAN,
	OPT_WISDOM,
	OPT_SOURCE,
	OPT_SCATTER,
	OPT_LINKS,
	OPT_ADAPT,
	OPT_STRATEGY,
	OPT_EXCHANGE_THREADS,
	OPT_RANKS,
	OPT_EMULATE,
	OPT_THREADS,
	OPT_DIRECT,
	OPT_IO,
	OPT_MEMORY,
	OPT_TMPDIR,
	OPT_WORKDIR,
	OPT_RESUME,
	OPT_RECORD_SIZE,
	OPT_KEY,
	OPT_MANIFEST,
	OPT_REPORT,
	OPT_NO_FSYNC,
	OPT_EXPLAIN,
	OPT_CLEAN,
	OPT_CHECK,
	OPT_MAX_MESSAGE,
	OPT_TIMEOUT,
	OPT_VERSION,
	OPT_HELP,
};

static const struct option table[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "force", no_argument, NULL, 'f' },
	{ "stable", no_argument, NULL, 's' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "speeds", required_argument, NULL, OPT_SPEEDS },
	{ "plan", required_argument, NULL, OPT_PLAN },
	{ "source", required_argument, NULL, OPT_SOURCE },
	{ "scatter", required_argument, NULL, OPT_SCATTER },
	{ "links", required_argument, NULL, OPT_LINKS },
	{ "wisdom", required_argument, NULL, OPT_WISDOM },
	{ "adapt", no_argument, NULL, OPT_ADAPT },
	{ "strategy", required_argument, NULL, OPT_STRATEGY },
	{ "exchange-threads", required_argument, NULL, OPT_EXCHANGE_THREADS },
	{ "ranks", required_argument, NULL, OPT_RANKS },
	{ "emulate", required_argument, NULL, OPT_EMULATE },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "direct", required_argument, NULL, OPT_DIRECT },
	{ "io", required_argument, NULL, OPT_IO },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "tmpdir", required_argument, NULL, OPT_TMPDIR },
	{ "workdir", required_argument, NULL, OPT_WORKDIR },
	{ "resume", no_argument, NULL, OPT_RESUME },
	{ "record-size", required_argument, NULL, OPT_RECORD_SIZE },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "manifest", required_argument, NULL, OPT_MANIFEST },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "no-fsync", no_argument, NULL, OPT_NO_FSYNC },
	{ "explain", no_argument, NULL, OPT_EXPLAIN },
	{ "clean", no_argument, NULL, OPT_CLEAN },
	{ "check-manifest", no_argument, NULL, OPT_CHECK },
	{ "max-message", required_argument, NULL, OPT_MAX_MESSAGE },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

const char *options_usage(void)
{
	return "Usage: hetsort [OPTION]... -o OUTPUT INPUT...\n";
}

const char *options_help(void)
{
	return "Sort fixed-length records, on this machine or, under mpirun, on all ranks.\n"
	       "\n"
	       "INPUT is one or more files, read as one; %r in a name stands for the rank, so\n"
	       "that each rank reads its own (%3r: with leading zeros; %% beside it: a plain %).\n"
	       "- is standard input or output, where one rank runs.\n"
	       "\n"
	       "Files:\n"
	       "  -o, --output=FILE       write FILE; with %r one file a rank and a manifest\n"
	       "      --manifest=FILE     name of the manifest [OUTPUT with 'manifest' for %r]\n"
	       "  -f, --force             replace an output that exists\n"
	       "      --no-fsync          do not wait until the output is on the disk\n"
	       "      --report=FILE       write a report in JSON, on failure too\n"
	       "Records:\n"
	       "      --record-size=N     bytes in a record, 1 to 65536 [100]\n"
	       "      --key=OFF,LEN       the key's place in it [0,10]\n"
	       "  -s, --stable            equal keys keep the order of the input\n"
	       "Work:\n"
	       "      --speeds=LIST|FILE|auto  of the ranks: 1,1,0.5, a file of numbers or of\n"
	       "                          lines HOST NUMBER, or measured [all equal]\n"
	       "      --plan=KIND         shares: equal, linear, nlogn, taylor, asymptotic;\n"
	       "                          online: as earlier runs have shown\n"
	       "                          [nlogn with --speeds, else equal]\n"
	       "      --wisdom=DIR|FILE   where online keeps that [~/.local/state/hetsort]\n"
	       "      --source=WHERE      all: every rank reads the input; root: only rank 0 has\n"
	       "                          it and deals it out [all]\n"
	       "      --scatter=KIND      how: equal, speed, balanced, dynamic [balanced]\n"
	       "      --links=LIST|FILE|auto  MB/s from rank 0 to each, or measured [auto]\n"
	       "      --adapt             a rank that turns out slow while it reads is to write "
	       "less\n"
	       "      --threads=N         threads of each rank [its part of the processors]\n"
	       "      --ranks=P           without mpirun: P ranks in this process [1]\n"
	       "      --emulate=M|best    M equal virtual ranks, more on faster ones of --speeds:\n"
	       "                          threads of each rank, instead of unequal shares\n"
	       "      --memory=SIZE|%     limit for all ranks of a node; what does not fit goes "
	       "by\n"
	       "                          way of the disk [three quarters of what is free]\n"
	       "      --tmpdir=DIR        for that; may be repeated [$TMPDIR, or beside OUTPUT]\n"
	       "      --workdir=DIR       keep sorted runs in DIR until the output is complete\n"
	       "      --resume            go on with what a job which was ended has left "
	       "there\n"
	       "      --direct=WHEN       past the page cache: auto, always or never [auto]\n"
	       "      --io=WAY            files by uring (io_uring), threads, or auto: as a trial\n"
	       "                          in the run shows faster [auto]\n"
	       "      --strategy=KIND     merge: sort, exchange, merge; distribute: exchange,\n"
	       "                          sort [merge]\n"
	       "      --exchange-threads=N  0: none, 1: one, 2: a sender and a receiver [2]\n"
	       "      --max-message=BYTES longest message between ranks [256 MiB]\n"
	       "      --timeout=SECONDS   end the job when a rank makes no progress for so long "
	       "[0:\n"
	       "                          never]\n"
	       "      --explain           print the plan and predicted times, touch no data\n"
	       "  -v, --verbose           print the plan and a table of phases and ranks\n"
	       "      --clean             sort nothing: remove what killed jobs left beside the\n"
	       "                          outputs, or in the workdirs, named as operands\n"
	       "      --check-manifest    sort nothing: are the parts of the manifests named as\n"
	       "                          operands there, as stated and in order?\n"
	       "  -q, --quiet             print errors only\n"
	       "      --help, --version   print this, or the version, and exit\n"
	       "\n"
	       "Exit status: 0 sorted, verified and on disk; 1 the output did not verify;\n"
	       "2 refused before work; 3 input or output failed; 4 out of memory, disk or\n"
	       "another resource; 5 another rank failed; 6 internal error; 128+n signal n. On\n"
	       "anything but 0 no file under an output's final name is new or changed.\n";
}

/* A whole decimal number in [lo, hi], ended by `end`; *rest is what follows. */
static bool number(const char *s, uint64_t lo, uint64_t hi, char end, uint64_t *v,
		   const char **rest)
{
	char *after;
	if (*s < '0' || *s > '9') /* strtoull takes signs and spaces */
		return false;
	errno = 0;
	*v = strtoull(s, &after, 10);
	*rest = after + 1;
	return errno == 0 && *after == end && *v >= lo && *v <= hi;
}

static status bad(const char *name, const char *arg, const char *wanted, err *e)
{
	char q[QUOTED_BYTES];
	return err_set(e, ST_REFUSED, "invalid argument %s for --%s: %s", err_quoted(arg, q), name,
		       wanted);
}

static status set_number(const char *name, const char *arg, uint64_t lo, uint64_t hi, uint64_t *v,
			 err *e)
{
	const char *rest;
	char wanted[80];
	if (number(arg, lo, hi, '\0', v, &rest))
		return ST_OK;
	snprintf(wanted, sizeof wanted, "a whole number from %llu to %llu is wanted",
		 (unsigned long long)lo, (unsigned long long)hi);
	return bad(name, arg, wanted, e);
}

static status set_key(settings *o, const char *arg, err *e)
{
	const char *rest;
	uint64_t off, len;
	if (!number(arg, 0, MAX_RECORD_BYTES - 1, ',', &off, &rest) ||
	    !number(rest, 1, MAX_RECORD_BYTES, '\0', &len, &rest))
		return bad("key", arg, "OFFSET,LENGTH in bytes is wanted, LENGTH at least 1", e);
	o->lay.key_off = (uint32_t)off;
	o->lay.key_bytes = (uint32_t)len;
	return ST_OK;
}

static status set_choice(const char *name, const char *arg, const char *const *choice, int *v,
			 err *e)
{
	char wanted[80];
	size_t at = 0;
	for (*v = 0; choice[*v]; ++*v)
		if (strcmp(arg, choice[*v]) == 0)
			return ST_OK;
	for (int i = 0; choice[i] && at < sizeof wanted; i++)
		at += (size_t)snprintf(wanted + at, sizeof wanted - at, "%s%s",
				       i ? ", " : "one of ", choice[i]);
	return bad(name, arg, wanted, e);
}

/* Options whose argument is a number. */
static status set_count(settings *o, int opt, const char *arg, err *e)
{
	uint64_t v = 0;
	status rc = ST_OK;
	switch (opt) {
	case OPT_EXCHANGE_THREADS:
		rc = set_number("exchange-threads", arg, 0, 2, &v, e);
		o->exchange_threads = (unsigned)v;
		break;
	case OPT_RANKS:
		rc = set_number("ranks", arg, 1, 4096, &v, e);
		o->ranks = (int)v;
		break;
	case OPT_EMULATE:
		rc = set_number("emulate", arg, 1, 65536, &v, e);
		o->emulate = (int)v;
		break;
	case OPT_THREADS:
		rc = set_number("threads", arg, 1, 1024, &v, e);
		o->threads = (unsigned)v;
		break;
	case OPT_RECORD_SIZE:
		rc = set_number("record-size", arg, 1, MAX_RECORD_BYTES, &v, e);
		o->lay.record_bytes = (uint32_t)v;
		break;
	case OPT_TIMEOUT:
		rc = set_number("timeout", arg, 0, 1000000, &v, e);
		o->timeout_s = (unsigned)v;
		break;
	default:
		rc = set_number("max-message", arg, 1, 256 << 20, &v, e);
		o->max_message = (size_t)v;
		break;
	}
	return rc;
}

static status set_flag(settings *o, int opt)
{
	switch (opt) {
	case 'f':
		o->force = true;
		break;
	case 's':
		o->stable = true;
		break;
	case 'q':
		o->verbosity = -1;
		break;
	case 'v':
		o->verbosity = 1;
		break;
	case OPT_ADAPT:
		o->adapt.on = true;
		break;
	case OPT_RESUME:
		o->resume = true;
		break;
	case OPT_NO_FSYNC:
		o->fsync = false;
		break;
	case OPT_EXPLAIN:
		o->explain = true;
		break;
	case OPT_CLEAN:
		o->wish = WISH_CLEAN;
		break;
	case OPT_CHECK:
		o->wish = WISH_CHECK;
		break;
	default:
		o->wish = opt == OPT_HELP ? WISH_HELP : WISH_VERSION;
		break;
	}
	return ST_OK;
}

/* How an input that is on rank 0 alone gets to the others. */
static status set_scattering(settings *o, seen *s, int opt, const char *arg, err *e)
{
	static const char *const sources[] = { "all", "root", NULL };
	status rc = ST_OK;
	int v = 0;
	if (opt == OPT_LINKS) {
		o->links = strcmp(arg, "auto") == 0 ? NULL : arg;
	} else if (opt == OPT_SCATTER) {
		rc = set_choice("scatter", arg, scatter_names, &v, e);
		o->scatter = (scatter_kind)v;
	} else {
		rc = set_choice("source", arg, sources, &v, e);
		o->from_root = v;
	}
	s->scattering |= opt != OPT_SOURCE;
	return rc;
}

static status set_one(settings *o, seen *s, int opt, const char *arg, err *e)
{
	status rc = ST_OK;
	int v = 0;
	switch (opt) {
	case 'o':
		o->output = arg;
		break;
	case OPT_MANIFEST:
		o->manifest = arg;
		break;
	case OPT_REPORT:
		o->report = arg;
		break;
	case OPT_SPEEDS:
		o->calibrate = strcmp(arg, "auto") == 0;
		o->speeds = o->calibrate ? NULL : arg;
		break;
	case OPT_EMULATE:
		o->emulate = EMULATE_BEST;
		rc = strcmp(arg, "best") == 0 ? ST_OK : set_count(o, opt, arg, e);
		break;
	case OPT_PLAN:
		rc = set_choice("plan", arg, plan_names, &v, e);
		o->plan = (plan_kind)v;
		s->plan = true;
		break;
	case OPT_WISDOM:
		o->wisdom = arg;
		break;
	case OPT_SOURCE:
	case OPT_SCATTER:
	case OPT_LINKS:
		rc = set_scattering(o, s, opt, arg, e);
		break;
	case OPT_STRATEGY:
		rc = set_choice("strategy", arg, strategy_names, &v, e);
		o->strategy = (strategy)v;
		break;
	case OPT_DIRECT:
		rc = set_choice("direct", arg, direct_names, &v, e);
		o->direct = (direct_io)v;
		break;
	case OPT_IO:
		rc = set_choice("io", arg, io_names, &v, e);
		o->io = (io_method)v;
		break;
	case OPT_MEMORY:
		rc = memory_limit_parse(arg, &o->memory, e);
		break;
	case OPT_WORKDIR:
		o->workdir = arg;
		break;
	case OPT_TMPDIR:
		if (o->tmpdirs == MAX_TMPDIRS)
			return err_set(e, ST_REFUSED, "more than %d --tmpdir", MAX_TMPDIRS);
		o->tmpdir[o->tmpdirs++] = arg;
		break;
	case OPT_KEY:
		rc = set_key(o, arg, e);
		s->key = true;
		break;
	default:
		rc = arg ? set_count(o, opt, arg, e) : set_flag(o, opt);
		break;
	}
	return rc;
}

/* The word that getopt could not take, or the letter, where it stands among others. */
static status bad_option(const char *word, bool lacks, err *e)
{
	const char letter[] = { '-', (char)optopt, '\0' };
	char q[QUOTED_BYTES];
	bool known = false;
	for (const struct option *t = table; t->name; t++)
		known |= optopt == t->val;
	err_quoted(optopt == 0 || (known && word[1] == '-') ? word : letter, q);
	return known ? err_set(e, ST_REFUSED, "option %s takes %s argument", q, lacks ? "an" : "no")
		     : err_set(e, ST_REFUSED, "unknown or ambiguous option %s", q);
}

static const settings defaults = {
	.lay = { DEFAULT_RECORD_BYTES, 0, DEFAULT_KEY_BYTES },
	.exchange_threads = 2,
	.adapt = { .gain = 0.1, .saved_s = 0.02 },
	.max_message = 256 << 20,
	.scatter = SCATTER_BALANCED,
	.fsync = true,
};

status options_parse(settings *o, int argc, char **argv, err *e)
{
	seen s = { false, false, false };
	*o = defaults;
	optind = 0; /* start over, whoever parsed before */
	opterr = 0;
	/* ':' tells a missing argument apart */
	for (int opt; (opt = getopt_long(argc, argv, ":o:fsqv", table, NULL)) != -1;) {
		if (opt == '?' || opt == ':')
			return bad_option(argv[optind - 1], opt == ':', e);
		const status rc = set_one(o, &s, opt, optarg, e);
		if (rc != ST_OK || o->wish == WISH_HELP || o->wish == WISH_VERSION)
			return rc;
	}
	o->inputs = (const char *const *)argv + optind;
	o->ninputs = (size_t)(argc - optind);
	return options_validate(o, &s, e);
}

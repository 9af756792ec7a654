/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lint: table. The options, in the order of --help and of the report. A new option is a row here, a
 * member of settings, and an entry in the manual. */
#include "options.h"
#include "base/size.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIELD(member)                                                             \
	{                                                                         \
		offsetof(settings, member), sizeof(((const settings *)0)->member) \
	}

const option_row option_rows[] = {
	{ "output", 'o', "FILE", OPT_TEXT, FIELD(output),
	  .heading = "Files:", .help = "write FILE; with %r one file per rank and a manifest" },
	{ "manifest", 0, "FILE", OPT_TEXT, FIELD(manifest),
	  .help = "name of the manifest [with %r: %r becomes 'manifest']" },
	{ "order-out", 0, "FILE", OPT_TEXT, FIELD(order_out),
	  .help = "instead of records, write their numbers to FILE, as u64le" },
	{ "apply", 0, "ORDER", OPT_TEXT, FIELD(apply),
	  .help = "write the records that ORDER numbers, in its order" },
	{ "force", 'f', NULL, OPT_SET, FIELD(force), .value = true,
	  .help = "replace an existing output" },
	{ "no-fsync", 0, NULL, OPT_SET, FIELD(fsync), .report = "fsync",
	  .help = "do not wait until the output is on the disk" },
	{ "verify", 0, "WHAT", OPT_CHOICE, FIELD(verify), .choices = verify_names,
	  .help = "buffers, or reread the output from disk [buffers]" },
	{ "files0-from", 0, "FILE", OPT_TEXT, FIELD(files0_from),
	  .help = "read names of inputs, ended by NUL, from FILE or -" },
	{ "report", 0, "FILE", OPT_TEXT, FIELD(report), .may_differ = "only rank 0 writes it",
	  .help = "write a JSON report, on failure too; - prints it" },
	{ "trace", 0, "FILE", OPT_TEXT, FIELD(trace), .may_differ = "only rank 0 writes it",
	  .help = "write a timeline of all threads, for Perfetto" },
	{ "html", 0, "FILE", OPT_TEXT, FIELD(html), .may_differ = "only rank 0 writes it",
	  .help = "write the report as a page for a browser" },

	{ "record-size", 0, "SIZE", OPT_SIZE, FIELD(lay.record_bytes), .lo = 1,
	  .hi = MAX_RECORD_BYTES, .report = "record_bytes",
	  .heading = "Records:", .help = "size of a record, {} [100]" },
	{ "skip-header", 0, "SIZE", OPT_SIZE, FIELD(header_bytes), .hi = FRAME_MOST_BYTES,
	  .report = "header_bytes", .help = "skip a header; OUTPUT begins with the first input's" },
	{ "skip-trailer", 0, "SIZE", OPT_SIZE, FIELD(trailer_bytes), .hi = FRAME_MOST_BYTES,
	  .report = "trailer_bytes", .help = "skip a trailer; OUTPUT ends with the last input's" },
	{ "records", 0, "N", OPT_NUMBER, FIELD(records), .lo = 1, .hi = INT64_MAX,
	  .report = "records", .help = "records of an input; its trailer follows them" },
	{ "key", 0, "FIELD", OPT_KEY, FIELD(lay), .report = "key",
	  .help = "key field OFF,LEN[,TYPE][,desc]; repeatable [0,10]" },
	{ "reverse", 'r', NULL, OPT_SET, FIELD(reverse), .value = true,
	  .help = "sort descending, and fields with desc ascending" },
	{ "merge", 'm', NULL, OPT_SET, FIELD(merge), .value = true, .report = "merge",
	  .help = "merge inputs that are sorted already" },
	{ "stable", 's', NULL, OPT_SET, FIELD(stable), .value = true, .report = "stable",
	  .help = "keep the input order of records with equal keys" },
	{ "partition-only", 0, NULL, OPT_SET, FIELD(partition_only), .value = true,
	  .report = "partition_only",
	  .help = "send each rank its records, do not sort them there" },
	{ "unique", 'u', NULL, OPT_SET, FIELD(unique), .value = true, .report = "unique",
	  .help = "write only the first of records with equal keys" },
	{ "count", 0, "FIELD", OPT_FOLD, FIELD(lay), .value = FOLD_COUNT, .report = "count",
	  .help = "OFF,u32|u64: store the number of duplicates there" },
	{ "sum", 0, "FIELD", OPT_FOLD, FIELD(lay), .value = FOLD_SUM, .report = "sum",
	  .help = "OFF,TYPE: add up this field of duplicates; repeatable" },
	{ "min", 0, "FIELD", OPT_FOLD, FIELD(lay), .value = FOLD_MIN, .report = "min",
	  .help = "OFF,TYPE: keep the least value of duplicates" },
	{ "max", 0, "FIELD", OPT_FOLD, FIELD(lay), .value = FOLD_MAX, .report = "max",
	  .help = "OFF,TYPE: keep the greatest value of duplicates" },
	{ "append", 0, "SIZE", OPT_SIZE, FIELD(append), .lo = 1, .hi = MAX_RECORD_BYTES - 1,
	  .report = "append", .help = "append zero bytes to each record, {}" },
	{ "number", 0, "FIELD", OPT_FIELD, FIELD(shape.number), .report = "number",
	  .help = "OFF,u32|u64: store the place in the input there" },
	{ "top", 0, "N", OPT_NUMBER, FIELD(top), .lo = 1, .hi = INT64_MAX, .report = "top",
	  .help = "write only the first N records" },

	{ "speeds", 0, "LIST|FILE|auto", OPT_TEXT, FIELD(speeds),
	  .word = { "auto", FIELD(calibrate), true },
	  .heading = "Shares:", .help = "speeds, such as 1,1,0.5 [auto; one host: equal]" },
	{ "plan", 0, "KIND", OPT_CHOICE, FIELD(plan), .choices = plan_names, .report = "plan",
	  .help = "{}" },
	{ "wisdom", 0, "DIR|FILE", OPT_TEXT, FIELD(wisdom),
	  .may_differ = "only rank 0 reads and writes it",
	  .help = "file of --plan=online [~/.local/state/hetsort]" },
	{ "source", 0, "WHERE", OPT_CHOICE, FIELD(from_root), .choices = source_names,
	  .report = "source", .help = "all: every rank reads; root: only rank 0 reads [all]" },
	{ "scatter", 0, "KIND", OPT_CHOICE, FIELD(scatter), .choices = scatter_names,
	  .report = "scatter", .help = "shares: {} [balanced]" },
	{ "links", 0, "LIST|FILE|auto", OPT_TEXT, FIELD(links),
	  .word = { "auto", FIELD(measure_links), true },
	  .help = "MB/s of each rank's link; --source=root: to rank 0" },
	{ "disks", 0, "LIST|FILE", OPT_TEXT, FIELD(disks), .help = "MB/s of each rank's disk" },
	{ "adapt", 0, NULL, OPT_SET, FIELD(adapt.when), .value = ADAPT_ALWAYS,
	  .help = "let ranks that read slowly write less [several hosts]" },
	{ "no-adapt", 0, NULL, OPT_SET, FIELD(adapt.when), .value = ADAPT_NEVER,
	  .help = "keep the first shares" },

	{ "ranks", 0, "P", OPT_NUMBER, FIELD(ranks), .lo = 1, .hi = 65536,
	  .heading = "Work:", .help = "without mpirun: P ranks in this process [1]" },
	{ "launcher", 0, "KIND", OPT_CHOICE, FIELD(launcher), .choices = launcher_names,
	  .may_differ = "ranks that meet have found the same launcher",
	  .help = "none: sort without MPI; mpi: require MPI [auto]" },
	{ "threads", 0, "N", OPT_NUMBER, FIELD(threads), .hi = 1024,
	  .may_differ = "each rank has processors of its own",
	  .help = "threads per rank [0: its part of the processors]" },
	{ "bind", 0, "WHEN", OPT_CHOICE, FIELD(bind), .choices = bind_names,
	  .may_differ = "each rank has processors of its own",
	  .help = "bind threads to NUMA nodes: {} [auto]" },
	{ "emulate", 0, "M|best", OPT_NUMBER, FIELD(emulate), .lo = 1, .hi = 65536,
	  .word = { "best", FIELD(emulate), EMULATE_BEST },
	  .help = "M equal virtual ranks, more on faster processes" },
	{ "memory", 'S', "SIZE|%", OPT_MEMORY, FIELD(memory),
	  .may_differ = "nodes differ in memory",
	  .help = "memory of all ranks on a node [3/4 of what is free]" },
	{ "tmpdir", 'T', "DIR", OPT_TMPDIR, FIELD(tmpdir), .may_differ = "nodes differ in disks",
	  .help = "directory for runs [$TMPDIR, or next to OUTPUT]" },
	{ "workdir", 0, "DIR", OPT_TEXT, FIELD(workdir),
	  .help = "keep sorted runs in DIR until the output is complete" },
	{ "resume", 0, NULL, OPT_SET, FIELD(resume), .value = true,
	  .help = "continue with what an earlier job left in --workdir" },
	{ "direct", 0, "WHEN", OPT_CHOICE, FIELD(direct), .choices = direct_names,
	  .may_differ = "each rank reads and writes in its own way",
	  .help = "bypass the page cache: {} [auto]" },
	{ "strategy", 0, "KIND", OPT_CHOICE, FIELD(strategy), .choices = strategy_names,
	  .report = "strategy", .help = "merge: sort first; distribute: sort last [merge]" },
	{ "exchange-threads", 0, "N", OPT_NUMBER, FIELD(exchange_threads), .hi = 2,
	  .report = "exchange_threads", .help = "0 to 2 threads that send and receive [2]" },
	{ "max-message", 0, "SIZE", OPT_SIZE, FIELD(max_message), .lo = 1, .hi = 256 << 20,
	  .help = "longest message between ranks [256M]" },
	{ "timeout", 0, "SECONDS", OPT_NUMBER, FIELD(timeout_s), .hi = 1000000,
	  .help = "end the job if a rank makes no progress [0: never]" },
	{ "explain", 0, NULL, OPT_SET, FIELD(explain), .value = true,
	  .help = "print plan, predicted time and memory; read no data" },
	{ "progress", 0, "SECONDS|off", OPT_NUMBER, FIELD(progress_s), .lo = 1, .hi = 1000000,
	  .word = { "off", FIELD(progress_s), -1 }, .may_differ = "only rank 0 prints",
	  .help = "print progress at this interval; off: never" },
	{ "verbose", 'v', NULL, OPT_SET, FIELD(verbosity), .value = 1,
	  .may_differ = "only rank 0 prints",
	  .help = "print the plan and a table of phases and ranks" },
	{ "quiet", 'q', NULL, OPT_SET, FIELD(verbosity), .value = -1,
	  .may_differ = "only rank 0 prints", .help = "print only errors" },

	{ "check", 'c', NULL, OPT_SET, FIELD(wish), .value = WISH_ORDER,
	  .heading = "Instead of sorting:",
	  .help = "check whether inputs are in order; exit 1 if not" },
	{ "check-silent", 'C', NULL, OPT_SET, FIELD(wish), .value = WISH_ORDER_SILENT,
	  .help = "like --check, but set only the exit status" },
	{ "checksum", 0, NULL, OPT_SET, FIELD(with_sum), .value = true,
	  .help = "with --check: print count, checksum and equal keys" },
	{ "clean", 0, NULL, OPT_SET, FIELD(wish), .value = WISH_CLEAN,
	  .help = "remove files that killed jobs left at OUTPUTs, DIRs" },
	{ "check-manifest", 0, NULL, OPT_SET, FIELD(wish), .value = WISH_CHECK,
	  .help = "verify the parts of these manifests" },
	{ "help", 'h', NULL, OPT_SET, FIELD(wish), .value = WISH_HELP, .help = "print this help" },
	{ "version", 0, NULL, OPT_SET, FIELD(wish), .value = WISH_VERSION,
	  .help = "print the version" },
};

const size_t option_count = sizeof option_rows / sizeof *option_rows;

_Static_assert(sizeof option_rows / sizeof *option_rows <= OPTIONS_MAX, "a bit for each option");

int64_t option_load(const settings *o, option_field f)
{
	const char *at = (const char *)o + f.at;
	uint8_t byte = 0;
	int32_t word = 0;
	int64_t whole = 0;
	if (f.bytes == sizeof byte)
		memcpy(&byte, at, sizeof byte);
	else if (f.bytes == sizeof word)
		memcpy(&word, at, sizeof word);
	else
		memcpy(&whole, at, sizeof whole);
	return byte + word + whole; /* two of them are 0 */
}

uint64_t options_sum(const settings *o)
{
	XXH3_state_t h;
	XXH3_64bits_reset(&h);
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		const char *at = (const char *)o + r->field.at, *text;
		if (r->may_differ)
			continue;
		if (r->kind == OPT_TEXT) {
			memcpy(&text, at, sizeof text);
			text = text ? text : "";
			XXH3_64bits_update(&h, text, strlen(text) + 1);
		} else {
			XXH3_64bits_update(&h, at, r->field.bytes);
		}
		XXH3_64bits_update(&h, (const char *)o + r->word.field.at, r->word.field.bytes);
	}
	for (size_t i = 0; i < o->ninputs; i++)
		XXH3_64bits_update(&h, o->inputs[i], strlen(o->inputs[i]) + 1);
	return XXH3_64bits_digest(&h);
}

/* --------------------------------------------------------------------------------- --help */

enum { COLUMNS = 80, TEXT_AT = 26, HELP_BYTES = 400 };

/* Print words, wrapped at COLUMNS. The first line begins at `column`, further lines at `indent`;
 * "\n" begins a line. */
static void help_wrap(const char *text, size_t column, size_t indent, FILE *f)
{
	size_t n;
	bool blank = false; /* print a blank before the next word */
	for (; *text; text += n + (text[n] != '\0')) {
		n = strcspn(text, " \n");
		if (blank && column + 1 + n > COLUMNS) {
			fprintf(f, "\n%*s", (int)indent, "");
			column = indent;
			blank = false;
		}
		fprintf(f, "%s%.*s", blank ? " " : "", (int)n, text);
		column += blank + n;
		blank = true;
		if (text[n] == '\n') {
			fprintf(f, "\n%*s", (int)indent, "");
			column = indent;
			blank = false;
		}
	}
	fputc('\n', f);
}

void options_help(FILE *f)
{
	char text[HELP_BYTES], lo[SIZE_TEXT_BYTES], hi[SIZE_TEXT_BYTES];
	help_wrap(
		"Usage: hetsort [OPTION]... [-o OUTPUT] [INPUT]...\n"
		"Sort fixed-length records, on this machine or, under mpirun, on all ranks.\n"
		"Inputs are read as one file, a manifest as its parts; %r in a name is the rank.\n"
		"- or no INPUT: standard input; - or no OUTPUT: standard output (of one rank).",
		0, 0, f);
	for (const option_row *r = option_rows; r < option_rows + option_count; r++) {
		if (r->heading)
			fprintf(f, "%s\n", r->heading);
		int at = r->letter ? fprintf(f, "  -%c, --%s", r->letter, r->name)
				   : fprintf(f, "      --%s", r->name);
		if (r->arg)
			at += fprintf(f, "=%s", r->arg);
		at += fprintf(f, "%*s", at < TEXT_AT ? TEXT_AT - at : 2, "");
		/* the choices or the range replace {} */
		const char *gap = strstr(r->help, "{}");
		snprintf(text, sizeof text, "%.*s", gap ? (int)(gap - r->help) : HELP_BYTES - 1,
			 r->help);
		for (size_t i = 0; gap && r->choices && r->choices[i]; i++)
			text_append(text, sizeof text, "%s%s", i ? ", " : "", r->choices[i]);
		if (gap && r->kind == OPT_SIZE)
			text_append(text, sizeof text, "%s to %s", size_text(r->lo, lo),
				    size_text(r->hi, hi));
		if (gap)
			text_append(text, sizeof text, "%s", gap + 2);
		help_wrap(text, (size_t)at, TEXT_AT, f);
	}
	help_wrap("Exit status: 0 sorted, verified, on disk; 1 not verified; 2 refused; "
		  "3 I/O failed; 4 no memory or disk; 5 another rank failed; 6 internal; "
		  "128+n signal n.",
		  0, 0, f);
}

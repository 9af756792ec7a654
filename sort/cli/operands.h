/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ways to process operands without sorting. Prints to standard error. */
#ifndef HETSORT_CLI_OPERANDS_H
#define HETSORT_CLI_OPERANDS_H

#include "comm/comm.h"
#include "io/manifest.h"

/* The names in the list of --files0-from. */
typedef struct operand_list {
	char *text, **name; /* name: [names] points into text */
	size_t names;
} operand_list;

/* operands_read - read the list that o->files0_from names, and take its names as inputs. The list
 * must exist as long as o; the caller frees it, on failure too. ST_REFUSED: the list cannot be
 * read, is empty, or has a name that cannot be an input. ST_RESOURCE. */
status operands_read(settings *o, operand_list *l, err *e);

void operands_free(operand_list *l);

/* operands_fold - let a manifest among the inputs stand for its parts if they are inputs too, as by
 * the shell pattern out.* for a whole set. operand: o->inputs, to be permuted; the parts become the
 * last, and o->ninputs no longer counts them. ST_REFUSED: only some parts are inputs, or one
 * twice. */
status operands_fold(settings *o, char **operand, err *e);

/* operands_clean - remove the files that killed jobs left next to outputs, or in workdirs. A name
 * with %r stands for the names of o->ranks ranks. */
status operands_clean(const settings *o);

/* operands_check - check whether the parts of these manifests are as stated. */
status operands_check(const settings *o);

/* manifest_check - read a manifest and all its parts, which are in its directory. The caller frees
 * said, on failure too. ST_INVALID: their job has failed or not ended, a part is missing or not as
 * stated, or records are not in order. ST_REFUSED: not a manifest of hetsort. ST_IO, ST_RESOURCE.
 * Memory: 4 MiB. */
status manifest_check(const char *path, manifest *said, err *e);

/* check_command - collective: check whether the records of all inputs are in order, as one
 * sequence. Each rank checks a part. Rank 0 writes the report and, except with --check-silent,
 * prints the first record that is out of order. ST_INVALID: records are not in order. If the comm
 * is broken, nothing is printed, and the caller ends the job. */
status check_command(comm *c, const settings *o);

#endif

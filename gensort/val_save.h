/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The summary file that valsort -o writes. It is emptied at once, so after a failure it holds
 * nothing that could be taken for a verdict. */
#ifndef VAL_SAVE_H
#define VAL_SAVE_H

#include "val_summary.h"

struct val_save {
	const char *name;
	int fd;
	bool regular;
};

/* val_save_open - create or empty the file, unless it is the file open as `input`. Reports its
 * failure and returns it. */
bool val_save_open(struct val_save *s, const char *name, int input);

/* val_save_finish - write the summary (NULL: nothing) and close. Reports and returns a failure. */
bool val_save_finish(struct val_save *s, const struct val_summary *sum);

#endif

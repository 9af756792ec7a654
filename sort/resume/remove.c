/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names are looked at and unlinked in a directory that is held open. */
#include "remove.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool remove_run(int dirfd, int32_t rank, const file_note *n, unsigned *removed)
{
	char name[RESUME_NAME_BYTES];
	resume_state_run_name(rank, n->number, name);
	return file_remove(dirfd, name, &n->is, removed);
}

bool remove_state(int dirfd, const resume_state *s, unsigned *removed)
{
	bool all = true;
	char name[RESUME_NAME_BYTES];
	for (size_t i = 0; all && i < s->files.files; i++)
		all = remove_run(dirfd, s->rank, &s->files.file[i], removed);
	resume_state_name(s->rank, name);
	return all && (!s->self.inode || file_remove(dirfd, name, &s->self, removed));
}

static int by_file(const void *a_, const void *b_)
{
	const run_note *a = a_, *b = b_;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

bool remove_spares(const run_list *used, int32_t rank, uint64_t number)
{
	const run_note n = { .rank = rank, .number = number };
	return used->runs && bsearch(&n, used->run, used->runs, sizeof n, by_file);
}

status remove_all_but(int dirfd, const states *found, run_list *used, const char *dir,
		      unsigned *removed, err *e)
{
	char q[QUOTED_BYTES];
	if (used->runs)
		qsort(used->run, used->runs, sizeof *used->run, by_file);
	for (size_t i = 0; i < found->count; i++) {
		const resume_state *s = &found->s[i];
		for (size_t k = 0; k < s->files.files; k++)
			if (!remove_spares(used, s->rank, s->files.file[k].number) &&
			    !remove_run(dirfd, s->rank, &s->files.file[k], removed))
				return err_sys(
					e, errno,
					"cannot remove run %" PRIu64 " of rank %" PRId32 " in %s",
					s->files.file[k].number, s->rank, err_quoted(dir, q));
	}
	return ST_OK;
}

unsigned remove_count_strangers(DIR *d, const target *t, char *first, size_t bytes)
{
	unsigned n = 0;
	rewinddir(d);
	for (const struct dirent *f; (f = readdir(d));)
		if (states_is_name(f->d_name) && !(t && target_reads(t, f->d_name)) && n++ == 0)
			snprintf(first, bytes, "%s", f->d_name);
	return n;
}

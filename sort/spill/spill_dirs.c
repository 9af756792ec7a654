/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Free space is shared with other programs. Too little space at the start is a reason to refuse the
 * job. But enough space at the start proves nothing: a directory is full when a write fails. */
#include "spill.h"
#include "base/size.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROOM_FOR_COUNT = 24 }; /* for "and 123 more" */

status spill_dirs_open(spill_dirs *d, mem *m, const char *const *name, size_t count, err *e)
{
	status rc = ST_OK;
	*d = (spill_dirs){ .m = m, .name = name, .count = count };
	d->dir = mem_array(m, count, sizeof *d->dir, "directories for runs", e);
	d->full = mem_array(m, count, sizeof *d->full, "directories for runs", e);
	for (size_t i = 0; d->dir && i < count; i++)
		d->dir[i].fd = -1;
	if (!d->dir || !d->full)
		return ST_RESOURCE;
	for (size_t i = 0; rc == ST_OK && i < count; i++)
		rc = tempdir_open(&d->dir[i], name[i], e);
	return rc;
}

void spill_dirs_close(spill_dirs *d)
{
	for (size_t i = 0; d->dir && i < d->count; i++)
		tempdir_close(&d->dir[i]);
	mem_free(d->m, d->dir);
	mem_free(d->m, d->full);
	*d = (spill_dirs){ .m = d->m };
}

status spill_dirs_check(const char *const *name, size_t count, uint64_t bytes, uint64_t run_bytes,
			err *e)
{
	mem m = { 0, 0 };
	spill_dirs d;
	status rc = spill_dirs_open(&d, &m, name, count, e);
	for (size_t i = 0; rc == ST_OK && i < count; i++) {
		size_t at = i;
		io_fd f = IO_FD_NONE;
		rc = spill_dirs_create(&d, &at, NULL, false, &f, e);
		if (f.fd >= 0)
			close(f.fd);
	}
	if (rc == ST_OK && bytes)
		rc = spill_dirs_fit(&d, bytes, run_bytes, e);
	spill_dirs_close(&d);
	return rc;
}

/* ------------------------------------------------------------------------------------- room */

/* Add up the free bytes of all file systems, in *whole only the bytes for whole runs, and count the
 * file systems. Stop using directories without space for a run. */
static status dirs_find_room(spill_dirs *d, uint64_t run_bytes, uint64_t *all, uint64_t *whole,
			     size_t *systems, err *e)
{
	*all = *whole = *systems = 0;
	for (size_t i = 0; i < d->count; i++) {
		uint64_t bytes;
		size_t same = 0; /* the first directory on the same file system */
		const status rc = tempdir_free_bytes(&d->dir[i], &bytes, e);
		if (rc != ST_OK)
			return rc;
		if (bytes < run_bytes)
			(void)spill_dirs_leave_out(d, i);
		while (d->dir[same].dev != d->dir[i].dev)
			same++;
		if (same < i)
			continue;
		*all += u64_min(bytes, UINT64_MAX - *all);
		bytes -= run_bytes ? bytes % run_bytes : 0;
		*whole += u64_min(bytes, UINT64_MAX - *whole);
		++*systems;
	}
	return ST_OK;
}

status spill_dirs_room(const char *const *name, size_t count, uint64_t *bytes, err *e)
{
	mem m = { 0, 0 };
	spill_dirs d;
	uint64_t whole;
	size_t systems;
	status rc = spill_dirs_open(&d, &m, name, count, e);
	if (rc == ST_OK)
		rc = dirs_find_room(&d, 0, bytes, &whole, &systems, e);
	spill_dirs_close(&d);
	return rc;
}

status spill_dirs_fit(spill_dirs *d, uint64_t bytes, uint64_t run_bytes, err *e)
{
	char free_text[SIZE_TEXT_BYTES], need_text[SIZE_TEXT_BYTES], run_text[SIZE_TEXT_BYTES];
	uint64_t all, whole;
	size_t systems;
	const status rc = dirs_find_room(d, run_bytes, &all, &whole, &systems, e);
	/* a run cannot be divided between file systems */
	if (rc != ST_OK || bytes <= (systems > 1 ? whole : all))
		return rc;
	size_text(all, free_text);
	size_text_up(bytes, need_text);
	if (d->count == 1)
		return err_set(e, ST_RESOURCE,
			       "temporary directory %s has %s free, but runs need %s; use --tmpdir "
			       "to choose another directory",
			       quoted(d->name[0]), free_text, need_text);
	return err_set(e, ST_RESOURCE,
		       "temporary directory %s and %zu more have %s free, but runs need %s, in "
		       "files of %s; use --tmpdir to choose other directories",
		       quoted(d->name[0]), d->count - 1, free_text, need_text,
		       size_text_up(run_bytes, run_text));
}

/* ----------------------------------------------------------------------------------- in turn */

size_t spill_dirs_next(const spill_dirs *d, size_t at)
{
	for (size_t k = 0; k < d->count; k++)
		if (!atomic_load(&d->full[(at + k) % d->count]))
			return (at + k) % d->count;
	/* A spill has at least one directory. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	return at % d->count;
}

bool spill_dirs_leave_out(spill_dirs *d, size_t at)
{
	for (size_t k = 0; k < d->count; k++)
		if (k != at && !atomic_load(&d->full[k])) {
			atomic_store(&d->full[at], true);
			return true;
		}
	return false;
}

status spill_dirs_create(spill_dirs *d, size_t *at, const char *file, bool direct, io_fd *f, err *e)
{
	for (;;) {
		err why = { ST_OK, "" };
		*at = spill_dirs_next(d, *at);
		const status rc = tempdir_create(&d->dir[*at], file, direct, f, &why);
		if (rc == ST_OK)
			return ST_OK;
		if (rc != ST_RESOURCE || !spill_dirs_leave_out(d, *at))
			return err_join(e, &why);
	}
}

status spill_dirs_failed(const err *why, bool temporary, err *e)
{
	const bool full = temporary && why->code == ST_RESOURCE;
	return err_set(e, why->code, "%s%s", why->text,
		       full ? "; use --tmpdir to choose another directory" : "");
}

void spill_dirs_left_out(const spill_dirs *d, char *text, size_t bytes)
{
	size_t used = 0, more = 0;
	text[0] = '\0';
	for (size_t i = 0; i < d->count; i++) {
		const char *q = quoted(d->name[i]);
		if (!atomic_load(&d->full[i]))
			continue;
		if (more || used + strlen(q) + ROOM_FOR_COUNT > bytes)
			more++;
		else
			used += (size_t)snprintf(text + used, bytes - used, "%s%s",
						 used ? ", " : "", q);
	}
	if (more)
		snprintf(text + used, bytes - used, "%s%zu more", used ? " and " : "", more);
}

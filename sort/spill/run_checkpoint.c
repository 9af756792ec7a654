/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A checkpoint consists of a head of numbers, the checksums of the run's blocks, and its samples,
 * in the byte order of this machine. The head identifies the sort and the run's records, so that a
 * file of another run under the same name is recognized. Its digest covers the whole checkpoint.
 * The checksums cover the records, and every read verifies them. */
#include "run_checkpoint.h"
#include "base/arith.h"
#include "testing/failpoint.h"
#include "io/file.h"
#include "kernel/key.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAGIC UINT64_C(0x33306e7572736568) /* "hesrun03" where the lowest byte comes first */

typedef struct checkpoint_head {
	uint64_t magic, job, first, recs;
	uint64_t end_bytes, block_bytes, blocks, sample_bytes;
	checksum sum;
	uint64_t digest; /* of the members above, the checksums and the samples */
} checkpoint_head;

static checkpoint_head checkpoint_head_of(const spill_layout *at, uint64_t job, const run_note *n,
					  size_t sample_bytes)
{
	return (checkpoint_head){ .magic = MAGIC,
				  .job = job,
				  .first = n->first,
				  .recs = n->recs,
				  .end_bytes = at->end,
				  .block_bytes = at->block_bytes,
				  .blocks = at->blocks,
				  .sample_bytes = sample_bytes,
				  .sum = n->sum };
}

static uint64_t checkpoint_digest(const checkpoint_head *h, const uint64_t *sum, const void *sample)
{
	XXH3_state_t x;
	XXH3_64bits_reset(&x);
	XXH3_64bits_update(&x, h, offsetof(checkpoint_head, digest));
	XXH3_64bits_update(&x, sum, h->blocks * sizeof *sum);
	XXH3_64bits_update(&x, sample, h->sample_bytes);
	return XXH3_64bits_digest(&x);
}

static status sync_run(const spill_layout *at, const run_checkpoint_plan *p, err *e)
{
	char q[QUOTED_BYTES];
	if (p->fsync && fsync(at->fd) != 0)
		return err_sys(e, errno, "cannot sync %s", err_quoted(at->label, q));
	return ST_OK;
}

status run_checkpoint_save(const spill *s, size_t run, const run_checkpoint_plan *p,
			   const run_checkpoint *n, err *e)
{
	const spill_layout at = spill_run_layout(s, run, n->note.recs);
	checkpoint_head h = checkpoint_head_of(&at, p->job, &n->note, n->sample_bytes);
	h.digest = checkpoint_digest(&h, at.sum, n->sample);
	const size_t sums = at.blocks * sizeof *at.sum;
	status rc = run_notes_add(p->notes, &n->note, e);
	if (rc == ST_OK)
		rc = sync_run(&at, p, e);
	if (rc == ST_OK)
		rc = file_write_at(at.fd, at.sum, sums, at.end + sizeof h, at.label, e);
	if (rc == ST_OK)
		rc = file_write_at(at.fd, n->sample, n->sample_bytes, at.end + sizeof h + sums,
				   at.label, e);
	if (rc == ST_OK)
		rc = file_write_at(at.fd, &h, sizeof h, at.end, at.label, e);
	if (rc == ST_OK)
		rc = sync_run(&at, p, e);
	FAIL_PHASE("checkpoint");
	return rc;
}

/* The contents of a checkpoint after its head. */
typedef struct content {
	uint64_t *sum; /* of the blocks */
	unsigned char *sample;
	size_t sample_bytes, item_bytes;
} content;

static size_t samples_of(const run_note *n, uint64_t stride)
{
	return (size_t)((n->recs - 1) / stride + 1);
}

static status content_alloc(content *c, mem *m, const spill_layout *at, const run_note *n,
			    const layout *l, err *e)
{
	c->item_bytes = item_bytes(l);
	c->sample_bytes = samples_of(n, n->stride) * c->item_bytes;
	c->sum = mem_array(m, at->blocks, sizeof *c->sum, "checksums of a run", e);
	c->sample = mem_array(m, c->sample_bytes, 1, "samples of a run", e);
	return c->sum && c->sample ? ST_OK : ST_RESOURCE;
}

static void content_free(const content *c, mem *m)
{
	mem_free(m, c->sum);
	mem_free(m, c->sample);
}

/* Return false if the file does not have the checkpoint of this run, or, with e filled, if it
 * cannot be read. */
static bool content_read(const spill_layout *at, const checkpoint_head *wanted, const content *c,
			 err *e)
{
	checkpoint_head h;
	struct stat st;
	char q[QUOTED_BYTES];
	const size_t sums = at->blocks * sizeof *c->sum;
	if (fstat(at->fd, &st) != 0) {
		(void)err_sys(e, errno, "cannot look at a run in %s", err_quoted(at->label, q));
		return false;
	}
	if (!S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != at->end + sizeof h + sums + c->sample_bytes ||
	    file_read_at(at->fd, &h, sizeof h, at->end, at->label, e) != ST_OK ||
	    memcmp(&h, wanted, offsetof(checkpoint_head, digest)) != 0 ||
	    file_read_at(at->fd, c->sum, sums, at->end + sizeof h, at->label, e) != ST_OK ||
	    file_read_at(at->fd, c->sample, c->sample_bytes, at->end + sizeof h + sums, at->label,
			 e) != ST_OK)
		return false;
	return h.digest == checkpoint_digest(&h, c->sum, c->sample);
}

status run_checkpoint_look(int dirfd, run_note *note, uint64_t job, const layout *l, mem *m,
			   bool *is, err *e)
{
	char name[RESUME_NAME_BYTES], q[QUOTED_BYTES];
	resume_state_run_name(note->rank, note->number, name);
	spill_layout at =
		spill_layout_of(spill_block_bytes(l->record_bytes), l->record_bytes, note->recs);
	content c = { .sum = NULL };
	*is = false;
	at.label = name;
	at.fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (at.fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return err_sys(e, errno, "cannot open %s", err_quoted(name, q));
	if (at.fd < 0)
		return ST_OK;
	const status rc = content_alloc(&c, m, &at, note, l, e);
	if (rc == ST_OK) {
		const checkpoint_head wanted = checkpoint_head_of(&at, job, note, c.sample_bytes);
		checkpoint_head h;
		*is = content_read(&at, &wanted, &c, NULL);
		/* in a copied directory, the files differ from those in the states */
		if (file_read_at(at.fd, &h, sizeof h, at.end, name, NULL) == ST_OK &&
		    h.magic == MAGIC && h.job == job)
			(void)file_id_of(at.fd, &note->file);
	}
	content_free(&c, m);
	close(at.fd);
	return rc;
}

status run_checkpoint_load(spill *s, size_t run, const run_checkpoint_plan *p, mem *m,
			   run_checkpoint *n, err *e)
{
	char q[QUOTED_BYTES];
	const run_note *note = &n->note;
	const spill_layout at = spill_run_layout(s, run, note->recs);
	content c = { .sum = NULL };
	status rc = content_alloc(&c, m, &at, note, n->lay, e);
	if (rc == ST_OK) {
		const checkpoint_head wanted =
			checkpoint_head_of(&at, p->job, note, c.sample_bytes);
		err why = { ST_OK, "" };
		if (content_read(&at, &wanted, &c, &why) &&
		    n->sample_bytes == samples_of(note, n->stride) * c.item_bytes)
			rc = spill_run_adopt(s, run, note->recs, c.sum, e);
		else if (why.code != ST_OK)
			rc = err_join(e, &why);
		else
			rc = err_set(e, ST_IO,
				     "run %" PRIu64 " of %s has changed since it was checked",
				     note->number, err_quoted(at.label, q));
	}
	/* the checkpoint has the same samples or more: take one for every stride-th record */
	const size_t every = n->stride / note->stride * c.item_bytes;
	for (size_t i = 0; rc == ST_OK && i * c.item_bytes < n->sample_bytes; i++)
		memcpy((unsigned char *)n->sample + i * c.item_bytes, c.sample + i * every,
		       c.item_bytes);
	content_free(&c, m);
	return rc;
}

/* ------------------------------------------------------------------------------ runs and gaps */

/* Return the end of the gap before run i. */
static uint64_t gap_end(const kept_runs *k, size_t i)
{
	return i < k->count ? k->run[i].first - k->first : k->recs;
}

bool kept_runs_next(const kept_runs *k, uint64_t run_recs, kept_piece *p)
{
	const uint64_t at = p->first + p->recs, gap = gap_end(k, p->next) - at;
	if (at >= k->recs)
		return false;
	if (gap)
		*p = (kept_piece){ at, u64_min(gap, run_recs), NULL, p->next };
	else
		*p = (kept_piece){ at, k->run[p->next].recs, &k->run[p->next], p->next + 1 };
	return true;
}

/* Count per gap, because a gap may have a great number of pieces. */
uint64_t kept_runs_pieces(const kept_runs *k, uint64_t run_recs)
{
	uint64_t n = k->count, at = 0;
	for (size_t i = 0; i <= k->count; i++) {
		const uint64_t end = gap_end(k, i);
		n += end > at ? (end - at - 1) / run_recs + 1 : 0;
		at = i < k->count ? end + k->run[i].recs : end;
	}
	return n;
}

size_t kept_runs_stride(const kept_runs *k)
{
	uint64_t most = 0;
	for (size_t i = 0; i < k->count; i++)
		most = u64_max(most, k->run[i].stride);
	return (size_t)most;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A checkpoint consists of a head of numbers, the checksums of the run's blocks, and its samples,
 * in the byte order of this machine. The head identifies the sort and the run's records, so that a
 * file of another run with the same name is recognized. Its digest covers the whole checkpoint. The
 * checksums cover the records, and every read verifies them. */
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

#define MAGIC UINT64_C(0x34306e7572736568) /* "hesrun04" on a little-endian machine */

typedef struct checkpoint_head {
	uint64_t magic, job, first, recs, kept;
	uint64_t end_bytes, block_bytes, blocks, sample_bytes;
	checksum sum, dropped;
	uint64_t digest; /* of the members above, the checksums and the samples */
} checkpoint_head;

static checkpoint_head checkpoint_head_of(const spill_layout *at, const run_checkpoint_plan *p,
					  const run_note *n, size_t sample_bytes)
{
	return (checkpoint_head){ .magic = MAGIC,
				  .job = p->notes->s->job,
				  .first = n->first,
				  .recs = n->recs,
				  .kept = n->kept,
				  .end_bytes = at->end,
				  .block_bytes = at->block_bytes,
				  .blocks = at->blocks,
				  .sample_bytes = sample_bytes,
				  .sum = n->sum,
				  .dropped = n->dropped };
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
	if (p->notes->fsync && fsync(at->fd) != 0)
		return err_sys(e, errno, "cannot sync %s", quoted(at->label));
	return ST_OK;
}

status run_checkpoint_save(const spill *s, size_t run, const run_checkpoint_plan *p,
			   const run_checkpoint *n, err *e)
{
	const spill_layout at = spill_run_layout(s, run, n->note.kept);
	checkpoint_head h = checkpoint_head_of(&at, p, &n->note, n->sample_bytes);
	h.digest = checkpoint_digest(&h, at.sum, n->sample);
	const size_t sums = at.blocks * sizeof *at.sum;
	status rc = run_notes_write(p->notes, &n->note, e);
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

/* A checkpoint in memory, as in the file. */
typedef struct content {
	checkpoint_head *head; /* all of the checkpoint is in its memory */
	uint64_t *sum;         /* of the blocks */
	unsigned char *sample;
	size_t bytes, sample_bytes, item_bytes;
} content;

static size_t samples_of(const run_note *n, uint64_t stride)
{
	return (size_t)((n->kept - 1) / stride + 1);
}

static status content_alloc(content *c, mem *m, const spill_layout *at, const run_note *n,
			    const layout *l, err *e)
{
	c->item_bytes = item_bytes(l);
	c->sample_bytes = samples_of(n, n->stride) * c->item_bytes;
	c->bytes = sizeof *c->head + at->blocks * sizeof *c->sum + c->sample_bytes;
	c->head = mem_array(m, c->bytes, 1, "checkpoint of a run", e);
	if (!c->head)
		return ST_RESOURCE;
	c->sum = (void *)(c->head + 1);
	c->sample = (unsigned char *)(c->sum + at->blocks);
	return ST_OK;
}

/* Set *is to whether the file has the checkpoint of this run. */
static status content_read(const content *c, const spill_layout *at, const run_checkpoint_plan *p,
			   const run_note *n, bool *is, err *e)
{
	const checkpoint_head wanted = checkpoint_head_of(at, p, n, c->sample_bytes);
	struct stat st;
	*is = false;
	if (fstat(at->fd, &st) != 0)
		return err_sys(e, errno, "cannot look at a run in %s", quoted(at->label));
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != at->end + c->bytes)
		return ST_OK;
	const status rc = file_read_at(at->fd, c->head, c->bytes, at->end, at->label, e);
	*is = rc == ST_OK && memcmp(c->head, &wanted, offsetof(checkpoint_head, digest)) == 0 &&
	      c->head->digest == checkpoint_digest(c->head, c->sum, c->sample);
	return rc;
}

status run_checkpoint_look(const run_checkpoint_plan *p, run_note *note, mem *m, bool *is, err *e)
{
	const layout *l = &p->notes->s->lay;
	char name[RESUME_NAME_BYTES];
	resume_state_run_name(note->rank, note->number, name);
	spill_layout at =
		spill_layout_of(spill_block_bytes(l->record_bytes), l->record_bytes, note->kept);
	content c;
	*is = false;
	at.label = name;
	at.fd = openat(p->notes->to->dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (at.fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return err_sys(e, errno, "cannot open %s", quoted(name));
	if (at.fd < 0)
		return ST_OK;
	const status rc = content_alloc(&c, m, &at, note, l, e);
	if (rc == ST_OK) {
		(void)content_read(&c, &at, p, note, is, NULL);
		/* in a copied directory, the files are not the ones that the states name */
		if (file_read_at(at.fd, c.head, sizeof *c.head, at.end, name, NULL) == ST_OK &&
		    c.head->magic == MAGIC && c.head->job == p->notes->s->job)
			(void)file_id_of(at.fd, &note->file);
	}
	mem_free(m, c.head);
	close(at.fd);
	return rc;
}

status run_checkpoint_load(spill *s, size_t run, const run_checkpoint_plan *p, mem *m,
			   run_checkpoint *n, err *e)
{
	const run_note *note = &n->note;
	const spill_layout at = spill_run_layout(s, run, note->kept);
	content c;
	bool is;
	status rc = content_alloc(&c, m, &at, note, &p->notes->s->lay, e);
	if (rc == ST_OK)
		rc = content_read(&c, &at, p, note, &is, e);
	if (rc == ST_OK && (!is || n->sample_bytes != samples_of(note, n->stride) * c.item_bytes))
		rc = err_set(e, ST_IO, "run %" PRIu64 " of %s has changed since it was checked",
			     note->number, quoted(at.label));
	if (rc == ST_OK)
		rc = spill_run_adopt(s, run, note->kept, c.sum, e);
	/* the checkpoint may have more samples: take only every stride-th record */
	const size_t every = n->stride / note->stride * c.item_bytes;
	for (size_t i = 0; rc == ST_OK && i * c.item_bytes < n->sample_bytes; i++)
		memcpy((unsigned char *)n->sample + i * c.item_bytes, c.sample + i * every,
		       c.item_bytes);
	mem_free(m, c.head);
	return rc;
}

/* ------------------------------------------------------------------------------ runs and gaps */

/* Return the end of the gap before kept run i. */
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

/* Count the pieces of each gap between runs at once, because there may be very many. */
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

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A checkpoint is a head of numbers, the checksums of the run's blocks, and its samples, in the
 * byte order of this machine. The head says which records of which sort and rank it has, so that no
 * other is taken for it, also not one that was put under its name; its digest covers the whole
 * checkpoint. The checksums cover the records: every read verifies them. */
#include "run_checkpoint.h"
#include "testing/failpoint.h"
#include "io/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAGIC UINT64_C(0x32306e7572736568) /* "hesrun02" where the lowest byte comes first */

typedef struct head {
	uint64_t magic, job, rank, run, first, recs;
	uint64_t end_bytes, block_bytes, blocks, sample_bytes;
	checksum sum;
	uint64_t digest; /* of the members above, the checksums and the samples */
} head;

static head head_of(const spill_layout *at, size_t run, uint64_t recs, const run_checkpoint_plan *p,
		    const run_checkpoint *n)
{
	return (head){ .magic = MAGIC,
		       .job = p->job,
		       .rank = (uint64_t)p->rank,
		       .run = run,
		       .first = p->first + n->first,
		       .recs = recs,
		       .end_bytes = at->end,
		       .block_bytes = at->block_bytes,
		       .blocks = at->blocks,
		       .sample_bytes = n->sample_bytes,
		       .sum = n->sum };
}

static uint64_t digest(const head *h, const uint64_t *sum, const void *sample)
{
	XXH3_state_t x;
	XXH3_64bits_reset(&x);
	XXH3_64bits_update(&x, h, offsetof(head, digest));
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
	const uint64_t recs = spill_run_recs(s, run);
	const spill_layout at = spill_run_layout(s, run, recs);
	head h = head_of(&at, run, recs, p, n);
	h.digest = digest(&h, at.sum, n->sample);
	const size_t sums = at.blocks * sizeof *at.sum;
	status rc = run_notes_add(p->notes, run, n->sum, e);
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

/* The checkpoint in the file, to where there is room for it; false if it is none of this run. */
static bool read_checkpoint(const spill_layout *at, const head *wanted, uint64_t *sum,
			    run_checkpoint *n)
{
	head h;
	struct stat st;
	const size_t sums = at->blocks * sizeof *sum;
	if (fstat(at->fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != at->end + sizeof h + sums + n->sample_bytes ||
	    file_read_at(at->fd, &h, sizeof h, at->end, at->label, NULL) != ST_OK ||
	    memcmp(&h, wanted, offsetof(head, digest)) != 0 ||
	    file_read_at(at->fd, sum, sums, at->end + sizeof h, at->label, NULL) != ST_OK ||
	    file_read_at(at->fd, n->sample, n->sample_bytes, at->end + sizeof h + sums, at->label,
			 NULL) != ST_OK)
		return false;
	return h.digest == digest(&h, sum, n->sample);
}

status run_checkpoint_load(spill *s, size_t run, uint64_t recs, const run_checkpoint_plan *p,
			   mem *m, run_checkpoint *n, bool *taken, err *e)
{
	const resume_state *state = p->notes->s;
	*taken = false;
	if (run >= state->runs || !state->run[run].noted)
		return ST_OK;
	n->sum = state->run[run].sum;
	const spill_layout at = spill_run_layout(s, run, recs);
	const head wanted = head_of(&at, run, recs, p, n);
	uint64_t *sum = mem_array(m, at.blocks, sizeof *sum, "checksums of a run", e);
	status rc = sum ? ST_OK : ST_RESOURCE;
	*taken = sum && read_checkpoint(&at, &wanted, sum, n);
	if (*taken)
		rc = spill_run_adopt(s, run, recs, sum, e);
	mem_free(m, sum);
	return rc;
}

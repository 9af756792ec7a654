/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Last phases: what went in came out, in order also across the ranks' borders; only then to the
 * disk and under the final names, the manifest last of all. */
#include "job.h"
#include "part_summary.h"
#include "base/clock.h"
#include "manifest.h"

#include <inttypes.h>

static void state(const job *j, unsigned char *to)
{
	const part_summary mine = { j->mine.in, j->mine.out, j->mine.sum_in, j->mine.sum_out };
	const size_t key = j->o->lay.key_bytes;
	memcpy(to, &mine, sizeof mine);
	if (mine.out) {
		memcpy(to + sizeof mine, j->seen.first_key, key);
		memcpy(to + sizeof mine + key, j->seen.last_key, key);
	}
}

static status compare(job *j, const part_summary *sum)
{
	if (sum->in != j->records || sum->out != j->records)
		return err_set(&j->e, ST_INVALID,
			       "%" PRIu64 " records were planned, %" PRIu64 " read and %" PRIu64
			       " written",
			       j->records, sum->in, sum->out);
	if (sum->sum_in.hi != sum->sum_out.hi || sum->sum_in.lo != sum->sum_out.lo)
		return err_set(&j->e, ST_INVALID,
			       "the output's checksum %016" PRIx64 "%016" PRIx64
			       " is not the input's, %016" PRIx64 "%016" PRIx64,
			       sum->sum_out.hi, sum->sum_out.lo, sum->sum_in.hi, sum->sum_in.lo);
	return ST_OK;
}

/* Totals, and each rank's first key against the last one before it. */
static status check_part_summaries(job *j)
{
	const size_t key = j->o->lay.key_bytes;
	const unsigned char *last = NULL;
	part_summary sum = { 0 };
	for (int i = 0; i < j->c->size; i++) {
		const unsigned char *first;
		const part_summary one = part_summary_at(j->part_summaries, i, &j->o->lay, &first);
		sum.in += one.in;
		sum.out += one.out;
		sum.sum_in = checksum_join(sum.sum_in, one.sum_in);
		sum.sum_out = checksum_join(sum.sum_out, one.sum_out);
		if (!one.out)
			continue;
		if (last && memcmp(last, first, key) > 0)
			return err_set(&j->e, ST_INVALID,
				       "rank %d's first key is smaller than the last before it", i);
		last = first + key;
	}
	j->sum = sum.sum_in;
	return compare(j, &sum);
}

status phase_verify(job *j)
{
	const size_t bytes = part_summary_bytes(&j->o->lay);
	unsigned char *mine = mem_array(&j->m, 1, bytes, "checksums", &j->e);
	j->part_summaries = mem_array(&j->m, (size_t)j->c->size, bytes, "checksums", &j->e);
	status rc = comm_agree(j->c, mine && j->part_summaries ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		state(j, mine);
		rc = comm_allgather(j->c, mine, j->part_summaries, bytes);
	}
	if (rc == ST_OK) {
		const double t0 = now_s();
		rc = check_part_summaries(j);
		j->mine.verify_s += now_s() - t0;
	}
	mem_free(&j->m, mine);
	return rc;
}

status phase_sync(job *j)
{
	return output_sync(&j->out, j->o->fsync, &j->e);
}

status phase_commit(job *j)
{
	/* A rank that stood still until the others gave up must not name what they have left. */
	status rc = comm_agree(j->c, ST_OK);
	if (rc == ST_OK)
		rc = output_commit(&j->out, j->c, j->o, &j->e);
	return rc == ST_OK && j->out.per_rank && j->c->rank == 0 ? manifest_write(j) : rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First phase: the ranks find out whether they fit together, look at their files, and count the
 * records. Refuses; touches no data. */
#include "scatter/scatter.h"
#include "handshake.h"

#include <inttypes.h>
#include <sched.h>
#include <unistd.h>

/* The processors that this process may use. */
static unsigned processors(void)
{
	cpu_set_t set;
	const int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	return n > 0 ? (unsigned)n : 1;
}

/* Ranks of one host share its processors, unless the launcher has dealt them out. */
static status count_threads(job *j)
{
	const size_t p = (size_t)j->c->size;
	unsigned here = 0, mine = processors();
	char(*host)[HOST_BYTES] = mem_array(&j->m, p, sizeof *host, "host names", &j->e);
	status rc = comm_agree(j->c, host ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_allgather(j->c, j->c->host, host, sizeof *host);
	for (size_t i = 0; rc == ST_OK && i < p; i++)
		here += memcmp(host[i], j->c->host, sizeof *host) == 0;
	j->ranks_here = here ? here : 1;
	const long online = sysconf(_SC_NPROCESSORS_ONLN);
	mine /= online < 0 || mine == (unsigned)online ? j->ranks_here
						       : (unsigned)j->c->process_ranks;
	j->threads = j->o->threads ? j->o->threads : mine ? mine : 1;
	mem_free(&j->m, host);
	return rc;
}

static status look_at_files(job *j)
{
	const bool mine = j->c->rank == 0 || !j->o->from_root;
	status rc = mine ? input_describe(&j->in, j->o, j->c->rank, &j->e) : ST_OK;
	if (rc == ST_OK && j->o->output)
		rc = output_describe(&j->out, j->o, j->c->rank, &j->e);
	if (rc != ST_OK)
		return rc;
	if (j->c->size > 1 && (j->in.is_stdin || j->out.is_stdout))
		return err_set(&j->e, ST_REFUSED,
			       "standard input and output (-) need a single rank, not %d",
			       j->c->size);
	if (j->in.is_stdin && j->o->explain)
		return err_set(&j->e, ST_REFUSED,
			       "--explain cannot know the size of standard input");
	return ST_OK;
}

/* What the input says of itself: share_in where files belong to ranks, and the total. */
static status count_records(job *j)
{
	uint64_t mine = j->in.records;
	if (j->o->from_root && comm_bcast(j->c, &mine, sizeof mine, 0) != ST_OK)
		return ST_PEER;
	status rc = comm_allgather(j->c, &mine, j->share_in, sizeof mine);
	if (rc != ST_OK)
		return rc;
	if (!j->in.per_rank) {
		for (int i = 0; i < j->c->size; i++)
			if (j->share_in[i] != j->share_in[0])
				return err_set(&j->e, ST_PEER,
					       "the input has %" PRIu64
					       " records here, but %" PRIu64
					       " on rank 0: is it the same file?",
					       mine, j->share_in[0]);
		j->records = mine;
		return ST_OK;
	}
	for (int i = 0; i < j->c->size; i++)
		if (__builtin_add_overflow(j->records, j->share_in[i], &j->records))
			return err_set(&j->e, ST_REFUSED, "too many records");
	return ST_OK;
}

static status check_totals(job *j)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(j->records, j->o->lay.record_bytes, &bytes) || bytes > INT64_MAX)
		return err_set(&j->e, ST_REFUSED,
			       "%" PRIu64 " records are more than a file can hold", j->records);
	return ST_OK;
}

static status alloc_plan(job *j)
{
	const size_t p = (size_t)j->c->size;
	j->speed = mem_array(&j->m, p, sizeof *j->speed, "speeds", &j->e);
	j->rate = mem_array(&j->m, p, sizeof *j->rate, "rates", &j->e);
	j->share_in = mem_array(&j->m, p, sizeof *j->share_in, "shares", &j->e);
	j->share_out = mem_array(&j->m, p, sizeof *j->share_out, "shares", &j->e);
	j->target = mem_array(&j->m, p, sizeof *j->target, "shares", &j->e);
	j->recv = mem_array(&j->m, p, sizeof *j->recv, "counts", &j->e);
	return j->speed && j->rate && j->share_in && j->share_out && j->target && j->recv
		       ? ST_OK
		       : ST_RESOURCE;
}

/* Why there is no io_uring is told by whoever asked for it, else in the report. */
static status choose_io_backend(job *j)
{
	err why = { ST_OK, "" };
	const status rc = io_backend_open(&j->io, j->o->io, j->o->io_part_bytes, &why, &j->e);
	memcpy(j->mine.io_text, why.text, sizeof j->mine.io_text - 1);
	return rc;
}

static status lock_output(job *j)
{
	unsigned removed;
	const status rc = output_lock(&j->out, j->work.s.out.id, &removed, &j->e);
	j->mine.leftovers += removed;
	return rc;
}

status phase_describe(job *j)
{
	status rc = handshake(j);
	if (rc != ST_OK)
		return rc;
	rc = alloc_plan(j);
	rc = comm_agree(j->c, rc == ST_OK ? scatter_plan_alloc(j) : rc);
	if (rc != ST_OK)
		return rc;
	rc = count_threads(j);
	if (rc == ST_OK)
		rc = comm_agree(j->c, choose_io_backend(j));
	if (rc == ST_OK)
		rc = comm_agree(j->c, look_at_files(j));
	if (rc == ST_OK)
		rc = comm_agree(j->c, alias_check(j));
	if (rc == ST_OK)
		rc = comm_agree(j->c, workdir_open(j));
	if (rc == ST_OK && !j->o->explain)
		rc = comm_agree(j->c, lock_output(j));
	if (rc != ST_OK || j->in.is_stdin)
		return rc;
	rc = count_records(j);
	return rc == ST_OK ? check_totals(j) : rc;
}

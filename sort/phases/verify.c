/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What went in came out, in order also across the ranks' borders. */
#include "phases.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "io/reader.h"
#include "same_input.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

status output_read_again(rank_env *env, const files *f, uint64_t recs, direct_io direct,
			 inspected *seen, err *e)
{
	const layout *l = &env->o->lay;
	io_fd from = { f->out.fd, -1, f->io };
	io_fd_will_read(&from, direct, f->out.offset, recs * l->record_bytes);
	const status rc = reader_inspect(&from, output_name(&f->out), f->out.offset, recs, l,
					 &env->m, seen, e);
	if (from.direct >= 0)
		close(from.direct);
	return rc;
}

/* Pages that are on the disk can be dropped; what stays in the cache all the same, as others use
 * it or the file system is in memory, is read past it where that is possible. */
static status reread(rank_env *env, files *f, output_part *w)
{
	char q[QUOTED_BYTES];
	const uint64_t recs = w->seen.records;
	target_find(&f->out.file, f->out.file.id, &f->out.fd);
	if (f->out.fd < 0 || f->out.file.named)
		return err_set(&env->e, ST_IO, "cannot open output %s again",
			       err_quoted(output_name(&f->out), q));
	(void)posix_fadvise(f->out.fd, 0, 0, POSIX_FADV_DONTNEED);
	w->seen.records = 0;
	w->seen.sum = (checksum){ 0, 0 };
	status rc = output_read_again(env, f, recs, DIRECT_ALWAYS, &w->seen, &env->e);
	if (rc == ST_INVALID)
		err_set(&env->e, rc, "output %s is not in order when it is read again",
			err_quoted(output_name(&f->out), q));
	env->stats->out = w->seen.records;
	env->stats->sum_out = w->seen.sum;
	close(f->out.fd);
	f->out.fd = -1;
	return rc;
}

status phase_reread(rank_env *env, files *f, output_part *w)
{
	if (env->o->verify != VERIFY_REREAD || w->found || f->out.is_stdout)
		return ST_OK;
	const double t0 = now_s();
	const status rc = reread(env, f, w);
	env->stats->verify_s += now_s() - t0;
	return rc;
}

/* What manifests state of the records that this rank speaks of. */
static void add_stated(const rank_env *env, const input *in, part_summary *s)
{
	for (size_t i = 0; i < in->files && (env->c->rank == 0 || in->per_rank); i++) {
		const input_stated *stated = in->file[i].stated;
		s->stated += stated != NULL;
		s->unstated += stated == NULL;
		if (stated)
			s->sum_stated = checksum_join(s->sum_stated, stated->sum);
	}
}

static void state(const rank_env *env, const input *in, const output_part *w, unsigned char *to)
{
	const rank_result *r = env->stats;
	part_summary mine = { .in = r->in,
			      .out = r->out,
			      .dropped = r->dropped,
			      .sum_in = r->sum_in,
			      .sum_out = r->sum_out,
			      .sum_dropped = r->sum_dropped };
	const size_t key = env->o->lay.key_bytes;
	add_stated(env, in, &mine);
	memcpy(to, &mine, sizeof mine);
	if (mine.out) {
		memcpy(to + sizeof mine, w->seen.first_key, key);
		memcpy(to + sizeof mine + key, w->seen.last_key, key);
	}
}

static status compare(rank_env *env, uint64_t total, const part_summary *sum)
{
	const checksum came = checksum_join(sum->sum_out, sum->sum_dropped);
	const uint64_t top = env->o->unique || !env->o->top ? total : env->o->top;
	if (settings_drops(env->o) && (sum->in != total || sum->out + sum->dropped != total ||
				       (!env->o->unique && sum->out != u64_min(top, total))))
		return err_set(&env->e, ST_INVALID,
			       "%" PRIu64 " records were planned, %" PRIu64 " read, %" PRIu64
			       " written and %" PRIu64 " dropped",
			       total, sum->in, sum->out, sum->dropped);
	if (!settings_drops(env->o) && (sum->in != total || sum->out != total || sum->dropped))
		return err_set(&env->e, ST_INVALID,
			       "%" PRIu64 " records were planned, %" PRIu64 " read and %" PRIu64
			       " written",
			       total, sum->in, sum->out);
	if (sum->stated && !sum->unstated && !checksum_equal(sum->sum_in, sum->sum_stated))
		return err_set(&env->e, ST_IO,
			       "the input does not have the checksum that its manifests state: a "
			       "part or a manifest was changed or damaged");
	if (!checksum_equal(sum->sum_in, came))
		return err_set(&env->e, ST_INVALID,
			       "the output's checksum%s %016" PRIx64 "%016" PRIx64
			       " is not the input's, %016" PRIx64 "%016" PRIx64,
			       settings_drops(env->o) ? ", with that of what was dropped," : "",
			       came.hi, came.lo, sum->sum_in.hi, sum->sum_in.lo);
	return ST_OK;
}

/* Totals, and each rank's first key against the last one before it. */
static status check_part_summaries(rank_env *env, uint64_t total, verified *v)
{
	const size_t key = env->o->lay.key_bytes;
	const unsigned char *last = NULL;
	part_summary sum = { 0 };
	for (int i = 0; i < env->c->size; i++) {
		const unsigned char *first;
		const part_summary one =
			part_summary_at(v->part_summaries, i, &env->o->lay, &first);
		if (__builtin_add_overflow(sum.in, one.in, &sum.in) ||
		    __builtin_add_overflow(sum.out, one.out, &sum.out) ||
		    __builtin_add_overflow(sum.dropped, one.dropped, &sum.dropped))
			return err_set(&env->e, ST_INVALID,
				       "up to rank %d, more records are told of than can be", i);
		sum.sum_in = checksum_join(sum.sum_in, one.sum_in);
		sum.sum_out = checksum_join(sum.sum_out, one.sum_out);
		sum.sum_dropped = checksum_join(sum.sum_dropped, one.sum_dropped);
		sum.sum_stated = checksum_join(sum.sum_stated, one.sum_stated);
		sum.stated |= one.stated;
		sum.unstated |= one.unstated;
		if (!one.out)
			continue;
		const int order = last ? key_copies_compare(&env->o->lay, last, first) : -1;
		if (order > 0 || (order == 0 && env->o->unique))
			return err_set(&env->e, ST_INVALID,
				       "rank %d's first key is %s the last before it", i,
				       order ? "smaller than" : "the same as");
		last = first + key;
	}
	v->sum = sum.sum_in;
	v->sum_out = sum.sum_out;
	v->out = sum.out;
	return compare(env, total, &sum);
}

status phase_verify(rank_env *env, const input *in, uint64_t total, const output_part *w,
		    verified *v)
{
	const size_t bytes = part_summary_bytes(&env->o->lay);
	const size_t p = env->c->rank == 0 ? (size_t)env->c->size : 0;
	v->own = mem_array(&env->m, 1, bytes, "checksums", &env->e);
	v->part_summaries = mem_array(&env->m, p, bytes, "checksums", &env->e);
	status rc = comm_agree(env->c, v->own && v->part_summaries ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = same_as_stated(env, in);
	if (rc == ST_OK) {
		state(env, in, w, v->own);
		rc = comm_gather(env->c, v->own, v->part_summaries, bytes, 0);
	}
	if (rc == ST_OK && p) {
		const double t0 = now_s();
		rc = check_part_summaries(env, total, v);
		env->stats->verify_s += now_s() - t0;
	}
	return comm_agree(env->c, rc);
}

void verified_free(mem *m, verified *v)
{
	mem_free(m, v->own);
	mem_free(m, v->part_summaries);
}

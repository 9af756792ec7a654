/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads of valsort. The caller is one of them; if others cannot be started, fewer do the
 * work. Each takes a block, sums it up, waits for its turn, and joins it to what is known: so
 * the first unordered record is announced as soon as it is certain to be the first. */
#include <errno.h>
#include <stdlib.h>
#include "processors.h"
#include "progress.h"
#include "val_run.h"

struct judge {
	struct val_in *in;
	const struct val_args *args;
	val_announce *say;
	void *say_arg;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t turned;
	uint64_t turn; /* number of the block to be joined next */
	bool over;     /* the result stands: the end or a failure was joined */
	struct progress shown;
	struct val_result res;
};

static void join(struct judge *j, const struct val_summary *s)
{
	bool none = j->res.sum.first_unordered == 0;

	val_join(&j->res.sum, s, j->args->fold);
	if (none && j->res.sum.first_unordered != 0) {
		progress_clear(&j->shown);
		j->say(j->res.sum.first_unordered, j->say_arg);
	}
}

static void finish(struct judge *j, enum val_end end, int err)
{
	j->over = true;
	j->res.end = end;
	j->res.err = err;
}

/* Called in turn, with the lock held. */
static void join_block(struct judge *j, const struct val_summary *s, size_t bytes, int err)
{
	size_t partial = bytes % RECORD_BYTES;

	join(j, s);
	progress_now(&j->shown, (uint64_t)j->res.sum.recs * RECORD_BYTES);
	if (err != 0)
		finish(j, VAL_ERRNO, err);
	else if (partial != 0)
		finish(j, VAL_PARTIAL, 0);
	else if (bytes < VAL_BLOCK_BYTES)
		finish(j, VAL_DONE, 0);
}

static void work(struct judge *j, unsigned char *buf)
{
	struct val_summary s;
	uint64_t number;
	size_t bytes;
	int err;

	while (val_in_take(j->in, buf, &number, &bytes, &err)) {
		val_summarise(&s, buf, bytes / RECORD_BYTES, j->args->fold);
		pthread_mutex_lock(&j->lock);
		while (j->turn != number)
			pthread_cond_wait(&j->turned, &j->lock);
		if (!j->over)
			join_block(j, &s, bytes, err);
		j->turn++;
		pthread_cond_broadcast(&j->turned);
		pthread_mutex_unlock(&j->lock);
	}
}

static unsigned char *block_alloc(void)
{
	return aligned_alloc(4096, VAL_BLOCK_BYTES);
}

static void *worker(void *arg)
{
	unsigned char *buf = block_alloc();

	if (buf) /* without memory the others do this thread's share */
		work(arg, buf);
	free(buf);
	return NULL;
}

/* No more threads than blocks; a stream's length is not known. */
static unsigned thread_count(const struct judge *j)
{
	unsigned n = j->args->threads ? j->args->threads : processors_count();
	uint64_t blocks = (uint64_t)j->in->size / VAL_BLOCK_BYTES + 1;

	if (n > VAL_MAX_THREADS)
		n = VAL_MAX_THREADS;
	if (j->in->regular && blocks < n)
		n = (unsigned)blocks;
	return n ? n : 1;
}

static void work_all(struct judge *j, unsigned char *buf)
{
	unsigned n = thread_count(j), up = 0;
	pthread_t *id = calloc(n, sizeof *id);

	while (id && up + 1 < n && pthread_create(&id[up], NULL, worker, j) == 0)
		up++;
	work(j, buf);
	while (up > 0)
		pthread_join(id[--up], NULL);
	free(id);
}

struct val_result val_run_records(struct val_in *in, const struct val_args *a, val_announce *say,
				  void *arg)
{
	struct judge j = { .in = in, .args = a, .say = say, .say_arg = arg };
	unsigned char *buf = block_alloc();

	if (!buf)
		return (struct val_result){ .end = VAL_ERRNO, .err = ENOMEM };
	pthread_mutex_init(&j.lock, NULL);
	pthread_cond_init(&j.turned, NULL);
	progress_begin(&j.shown,
		       in->regular && in->size > in->base ? (uint64_t)(in->size - in->base) : 0,
		       !a->quiet);
	work_all(&j, buf);
	progress_clear(&j.shown);
	pthread_cond_destroy(&j.turned);
	pthread_mutex_destroy(&j.lock);
	free(buf);
	if (j.res.end == VAL_DONE && val_in_changed(in, (uint64_t)j.res.sum.recs * RECORD_BYTES))
		j.res.end = VAL_CHANGED;
	return j.res;
}

/* One summary from the file, in turn. */
static void join_read(struct judge *j, const unsigned char *bytes)
{
	struct val_summary s;
	u128 recs;

	val_decode(&s, bytes);
	if (!val_plausible(&s) || __builtin_add_overflow(j->res.sum.recs, s.recs, &recs))
		finish(j, VAL_IMPOSSIBLE, 0);
	else
		join(j, &s);
}

struct val_result val_run_summaries(struct val_in *in, const struct val_args *a, val_announce *say,
				    void *arg)
{
	struct judge j = { .in = in, .args = a, .say = say, .say_arg = arg };
	unsigned char bytes[VAL_SUMMARY_BYTES];
	uint64_t number;
	size_t got;
	int err;

	while (!j.over && val_in_take(in, bytes, &number, &got, &err)) {
		if (err != 0)
			finish(&j, VAL_ERRNO, err);
		else if (got == sizeof bytes)
			join_read(&j, bytes);
		else
			finish(&j, got == 0 ? VAL_DONE : VAL_PARTIAL, 0);
	}
	return j.res;
}

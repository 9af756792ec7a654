/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input, the threads and the summary file of valsort. Short reads are continued, interrupted
 * reads are repeated, and the input ends when a read returns no bytes. A directory is treated as
 * empty input, as in the benchmark's own validator. */
#include "val.h"

#include <sys/stat.h>

void val_print_reason(const char *name, int err)
{
	tool_print_name(name);
	fprintf(stderr, ": %s\n", strerror(err));
}

int val_in_open(val_in *in, const char *name, size_t block_bytes)
{
	struct stat st;
	*in = (val_in){ .name = name, .block_bytes = block_bytes };
	in->fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0)
		return errno;
	int err = fstat(in->fd, &st) < 0 ? errno : 0;
	if (err == 0) {
		/* files of /proc are regular, of size 0, but may have data: read them in order */
		in->size = st.st_size;
		in->regular = S_ISREG(st.st_mode) && st.st_size > 0;
	}
	if (in->regular) {
		in->base = lseek(in->fd, 0, SEEK_CUR); /* standard input may be half read */
		err = in->base < 0 ? errno : 0;
		posix_fadvise(in->fd, in->base, 0, POSIX_FADV_SEQUENTIAL);
	}
	if (err != 0)
		close(in->fd);
	else
		pthread_mutex_init(&in->lock, NULL);
	return err;
}

static int val_in_fill(const val_in *in, unsigned char *buf, off_t at, size_t *got)
{
	for (*got = 0; *got < in->block_bytes;) {
		const size_t left = in->block_bytes - *got;
		const ssize_t n = in->regular ? pread(in->fd, buf + *got, left, at + (off_t)*got)
					      : read(in->fd, buf + *got, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EISDIR)
			return errno;
		if (n <= 0)
			break;
		*got += (size_t)n;
	}
	return 0;
}

bool val_in_next(val_in *in, unsigned char *buf, uint64_t *number, size_t *got, int *err)
{
	off_t at = 0;
	*got = 0;
	*err = 0;
	pthread_mutex_lock(&in->lock);
	const bool ended = in->ended;
	if (!ended) {
		*number = in->next++;
		if (!in->regular) {
			*err = val_in_fill(in, buf, 0, got);
		} else if (__builtin_mul_overflow((off_t)*number, (off_t)in->block_bytes, &at) ||
			   __builtin_add_overflow(at, in->base, &at)) {
			*err = EOVERFLOW;
		} else { /* other threads may read at the same time */
			pthread_mutex_unlock(&in->lock);
			*err = val_in_fill(in, buf, at, got);
			pthread_mutex_lock(&in->lock);
		}
		if (*err != 0 || *got < in->block_bytes)
			in->ended = true;
	}
	pthread_mutex_unlock(&in->lock);
	return !ended;
}

bool val_in_changed(const val_in *in, uint64_t bytes)
{
	struct stat st;
	if (!in->regular)
		return false;
	if (fstat(in->fd, &st) < 0 || st.st_size != in->size)
		return true;
	return bytes != (in->size > in->base ? (uint64_t)(in->size - in->base) : 0);
}

void val_in_close(val_in *in)
{
	close(in->fd); /* nothing was written, so nothing can be lost */
	pthread_mutex_destroy(&in->lock);
}

/* ------------------------------------------------------------ summary file
 *
 * The file has 280 bytes. Each call is checked, as the proof of a sort may depend on the file. */

static bool val_save_failed(const val_save *s, const char *text, int err)
{
	tool_error("valsort", text, s->name, err);
	return false;
}

bool val_save_open(val_save *s, const char *name, int input)
{
	struct stat st, in;
	s->name = name;
	s->fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (s->fd < 0) {
		val_print_reason(name, errno);
		return false;
	}
	const bool known = fstat(s->fd, &st) == 0;
	s->regular = known && S_ISREG(st.st_mode);
	if (!known)
		val_save_failed(s, "cannot examine", errno);
	else if (s->regular && fstat(input, &in) == 0 && in.st_dev == st.st_dev &&
		 in.st_ino == st.st_ino) /* emptying this file would destroy the input */
		val_save_failed(s, "summary file is the input", 0);
	else if (!tool_messages_apart(s->fd))
		val_save_failed(s, "standard error is the summary file", 0);
	else if (s->regular && ftruncate(s->fd, 0) < 0)
		val_save_failed(s, "cannot empty", errno);
	else
		return true;
	close(s->fd);
	return false;
}

bool val_save_finish(val_save *s, const val_summary *sum)
{
	unsigned char bytes[VAL_SUMMARY_BYTES];
	int err = 0;
	if (sum) {
		val_encode(sum, bytes);
		for (size_t n = 0; err == 0 && n < sizeof bytes;) {
			const ssize_t done = write(s->fd, bytes + n, sizeof bytes - n);
			if (done > 0)
				n += (size_t)done;
			else if (done == 0 || errno != EINTR)
				err = done < 0 ? errno : EIO;
		}
		if (err == 0 && s->regular && fsync(s->fd) < 0)
			err = errno;
		if (err != 0 && s->regular && ftruncate(s->fd, 0) < 0)
			val_save_failed(s, "cannot empty", errno);
	}
	if (close(s->fd) < 0 && errno != EINTR && err == 0)
		err = errno;
	return err == 0 || val_save_failed(s, "cannot write", err);
}

/* ------------------------------------------------------------ threads
 *
 * Each thread takes a block, summarises it, waits for its turn, and joins the summary to the
 * result. So the first unordered record is announced as soon as all before it are checked. */

typedef struct val_job {
	val_in *in;
	const val_args *args;
	val_announce *announce;
	void *arg;
	pthread_mutex_t lock; /* guards all members below */
	pthread_cond_t turned;
	uint64_t turn; /* number of the block to be joined next */
	bool over;     /* the result is final, because the input has ended or a read has failed */
	tool_progress progress;
	val_result res;
} val_job;

static void val_job_join(val_job *j, const val_summary *s)
{
	const bool none = j->res.sum.first_unordered == 0;
	val_join(&j->res.sum, s, j->args->fold);
	if (none && j->res.sum.first_unordered != 0) {
		tool_progress_clear(&j->progress);
		j->announce(j->res.sum.first_unordered, j->arg);
	}
}

static void val_job_end(val_job *j, val_end end, int err)
{
	j->over = true;
	j->res.end = end;
	j->res.err = err;
}

static void val_job_work(void *job, unsigned char *buf)
{
	val_job *j = job;
	val_summary s;
	uint64_t number;
	size_t bytes;
	int err;
	while (val_in_next(j->in, buf, &number, &bytes, &err)) {
		val_summarise(&s, buf, bytes / RECORD_BYTES, j->args->fold);
		pthread_mutex_lock(&j->lock);
		while (j->turn != number)
			pthread_cond_wait(&j->turned, &j->lock);
		if (!j->over) {
			val_job_join(j, &s);
			tool_progress_now(&j->progress, (uint64_t)j->res.sum.recs * RECORD_BYTES);
			if (err != 0)
				val_job_end(j, VAL_ERRNO, err);
			else if (bytes % RECORD_BYTES != 0)
				val_job_end(j, VAL_PARTIAL, 0);
			else if (bytes < VAL_BLOCK_BYTES)
				val_job_end(j, VAL_DONE, 0);
		}
		j->turn++;
		pthread_cond_broadcast(&j->turned);
		pthread_mutex_unlock(&j->lock);
	}
}

val_result val_run_records(val_in *in, const val_args *a, val_announce *announce, void *arg)
{
	val_job j = { .in = in, .args = a, .announce = announce, .arg = arg };
	const tool_team team = { .work = val_job_work, .job = &j, .buf_bytes = VAL_BLOCK_BYTES };
	unsigned char *buf = aligned_alloc(TOOL_PAGE_BYTES, VAL_BLOCK_BYTES);
	if (!buf)
		return (val_result){ .end = VAL_ERRNO, .err = ENOMEM };
	pthread_mutex_init(&j.lock, NULL);
	pthread_cond_init(&j.turned, NULL);
	tool_progress_begin(&j.progress,
			    in->regular && in->size > in->base ? (uint64_t)(in->size - in->base)
							       : 0,
			    !a->quiet);
	/* the number of blocks of a stream is not known */
	tool_team_work(&team, a->threads,
		       in->regular ? (uint64_t)in->size / VAL_BLOCK_BYTES + 1 : UINT64_MAX, buf);
	tool_progress_clear(&j.progress);
	pthread_cond_destroy(&j.turned);
	pthread_mutex_destroy(&j.lock);
	free(buf);
	if (j.res.end == VAL_DONE && val_in_changed(in, (uint64_t)j.res.sum.recs * RECORD_BYTES))
		j.res.end = VAL_CHANGED;
	return j.res;
}

val_result val_run_summaries(val_in *in, const val_args *a, val_announce *announce, void *arg)
{
	val_job j = { .in = in, .args = a, .announce = announce, .arg = arg };
	unsigned char bytes[VAL_SUMMARY_BYTES];
	uint64_t number;
	size_t got;
	int err;
	while (!j.over && val_in_next(in, bytes, &number, &got, &err)) {
		val_summary s;
		u128 recs;
		if (err != 0) {
			val_job_end(&j, VAL_ERRNO, err);
		} else if (got < sizeof bytes) {
			val_job_end(&j, got == 0 ? VAL_DONE : VAL_PARTIAL, 0);
		} else {
			val_decode(&s, bytes);
			if (!val_plausible(&s) ||
			    __builtin_add_overflow(j.res.sum.recs, s.recs, &recs))
				val_job_end(&j, VAL_IMPOSSIBLE, 0);
			else
				val_job_join(&j, &s);
		}
	}
	return j.res;
}

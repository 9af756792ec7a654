/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading for valsort: short reads are completed, interrupted ones repeated, and the end is
 * where a read returns nothing. A directory counts as empty, as it does for the benchmark's
 * own validator. */
#include "val.h"
#include "processors.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void val_say_reason(const char *name, int err)
{
	say_name(name);
	fprintf(stderr, ": %s\n", strerror(err));
}

/* Files of /proc and the like are regular, of size 0, and full: those are read in order. */
static int inspect(struct val_in *in)
{
	struct stat st;

	if (fstat(in->fd, &st) < 0)
		return errno;
	in->size = st.st_size;
	in->regular = S_ISREG(st.st_mode) && st.st_size > 0;
	if (!in->regular)
		return 0;
	in->base = lseek(in->fd, 0, SEEK_CUR); /* standard input may be half read */
	posix_fadvise(in->fd, in->base, 0, POSIX_FADV_SEQUENTIAL);
	return in->base < 0 ? errno : 0;
}

int val_in_open(struct val_in *in, const char *name, size_t block_bytes)
{
	int err;

	*in = (struct val_in){ .name = name, .block_bytes = block_bytes };
	in->fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0)
		return errno;
	err = inspect(in);
	if (err != 0) {
		close(in->fd);
		return err;
	}
	pthread_mutex_init(&in->lock, NULL);
	return 0;
}

static int fill(const struct val_in *in, unsigned char *buf, off_t at, size_t *got)
{
	for (*got = 0; *got < in->block_bytes;) {
		size_t left = in->block_bytes - *got;
		ssize_t n = in->regular ? pread(in->fd, buf + *got, left, at + (off_t)*got)
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

/* The lock is held by the caller, and given back while reading if that is allowed. */
static int read_block(struct val_in *in, unsigned char *buf, uint64_t number, size_t *got)
{
	off_t skip;
	int err;

	if (!in->regular)
		return fill(in, buf, 0, got);
	if (__builtin_mul_overflow((off_t)number, (off_t)in->block_bytes, &skip) ||
	    __builtin_add_overflow(skip, in->base, &skip))
		return EOVERFLOW;
	pthread_mutex_unlock(&in->lock);
	err = fill(in, buf, skip, got);
	pthread_mutex_lock(&in->lock);
	return err;
}

bool val_in_take(struct val_in *in, unsigned char *buf, uint64_t *number, size_t *got, int *err)
{
	bool ended;

	*got = 0;
	*err = 0;
	pthread_mutex_lock(&in->lock);
	ended = in->ended;
	if (!ended) {
		*number = in->next++;
		*err = read_block(in, buf, *number, got);
		if (*err != 0 || *got < in->block_bytes)
			in->ended = true;
	}
	pthread_mutex_unlock(&in->lock);
	return !ended;
}

bool val_in_changed(const struct val_in *in, uint64_t bytes)
{
	struct stat st;

	if (!in->regular)
		return false;
	if (fstat(in->fd, &st) < 0 || st.st_size != in->size)
		return true;
	return bytes != (in->size > in->base ? (uint64_t)(in->size - in->base) : 0);
}

void val_in_close(struct val_in *in)
{
	close(in->fd); /* only read from: nothing can be lost any more */
	pthread_mutex_destroy(&in->lock);
}

/* ------------------------------------------------------------ */

/* Writing a summary file: 280 bytes, checked to the last step, for a distributed sort may rest
 * its proof on it. */

static bool report(const struct val_save *s, const char *what, int err)
{
	say_error("valsort", what, s->name, err);
	return false;
}

/* The same regular file as the input: emptying it would destroy what is to be judged. */
static bool is_input(const struct stat *st, int input)
{
	struct stat in;

	return S_ISREG(st->st_mode) && fstat(input, &in) == 0 && in.st_dev == st->st_dev &&
	       in.st_ino == st->st_ino;
}

static bool refuse(struct val_save *s, const char *what, int err)
{
	close(s->fd);
	return report(s, what, err);
}

bool val_save_open(struct val_save *s, const char *name, int input)
{
	struct stat st;

	s->name = name;
	s->fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (s->fd < 0) {
		val_say_reason(name, errno);
		return false;
	}
	if (fstat(s->fd, &st) < 0)
		return refuse(s, "cannot examine", errno);
	if (is_input(&st, input))
		return refuse(s, "summary file is the input", 0);
	s->regular = S_ISREG(st.st_mode);
	if (s->regular && ftruncate(s->fd, 0) < 0)
		return refuse(s, "cannot empty", errno);
	return true;
}

static int write_all(int fd, const unsigned char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

bool val_save_finish(struct val_save *s, const struct val_summary *sum)
{
	unsigned char bytes[VAL_SUMMARY_BYTES];
	int err = 0;

	if (sum) {
		val_encode(sum, bytes);
		err = write_all(s->fd, bytes, sizeof bytes);
		if (err == 0 && s->regular && fsync(s->fd) < 0)
			err = errno;
		if (err != 0 && s->regular && ftruncate(s->fd, 0) < 0)
			report(s, "cannot empty", errno);
	}
	if (close(s->fd) < 0 && errno != EINTR && err == 0)
		err = errno;
	return err == 0 || report(s, "cannot write", err);
}

/* ------------------------------------------------------------ */

/* The threads of valsort. The caller is one of them; if others cannot be started, fewer do the
 * work. Each takes a block, sums it up, waits for its turn, and joins it to what is known: so
 * the first unordered record is announced as soon as it is certain to be the first. */

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

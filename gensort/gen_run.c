/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads of gensort. The caller is one of them; if others cannot be started, fewer do the
 * work. A block is 400 KiB: whole records, whole pages, and it stays in a core's cache between
 * making, summing and writing. */
#include "gen.h"
#include "crc.h"
#include "processors.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BLOCK_RECS = 4096,
	BLOCK_BYTES = BLOCK_RECS * RECORD_BYTES,
	PAGE_BYTES = 4096,
};

_Static_assert(BLOCK_BYTES % PAGE_BYTES == 0, "blocks are whole pages");

struct run {
	const struct gen_args *args;
	const struct gen_out *out;
	uint64_t blocks;
	atomic_uint_fast64_t next; /* block to be handed out */
	atomic_int err;            /* first failure; all stop */
	pthread_mutex_t lock;      /* guards turn and checksum */
	pthread_cond_t turned;
	uint64_t turn; /* block to be written next, if the output is a stream */
	u128 checksum;
	struct progress shown; /* only the caller's thread */
};

static atomic_int stop_signal; /* lock-free, so fit for a signal handler */

void gen_stop(int signal)
{
	atomic_store(&stop_signal, signal);
}

static bool stopped(struct run *r)
{
	return atomic_load_explicit(&r->err, memory_order_relaxed) != 0 ||
	       atomic_load_explicit(&stop_signal, memory_order_relaxed) != 0;
}

static void fail(struct run *r, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&r->err, &none, err);
	pthread_mutex_lock(&r->lock);
	pthread_cond_broadcast(&r->turned);
	pthread_mutex_unlock(&r->lock);
}

/* The turn stays where a write failed, so nothing can follow the gap. */
static int write_in_turn(struct run *r, uint64_t block, const unsigned char *p, size_t bytes)
{
	bool mine;
	int err;

	pthread_mutex_lock(&r->lock);
	while (r->turn != block && !stopped(r))
		pthread_cond_wait(&r->turned, &r->lock);
	mine = r->turn == block;
	pthread_mutex_unlock(&r->lock);
	if (!mine)
		return 0; /* another thread failed, and has said why */
	err = gen_out_write(r->out, p, bytes, 0);
	if (err != 0)
		return err;
	pthread_mutex_lock(&r->lock);
	r->turn++;
	pthread_cond_broadcast(&r->turned);
	pthread_mutex_unlock(&r->lock);
	return 0;
}

static void do_block(struct run *r, uint64_t block, unsigned char *buf, u128 *sum)
{
	uint64_t at = block * BLOCK_RECS, left = r->args->recs - at;
	size_t recs = left < BLOCK_RECS ? (size_t)left : BLOCK_RECS, bytes = recs * RECORD_BYTES;
	int err;

	gen_records(r->args->kind, r->args->start + at, recs, buf);
	if (r->args->checksum)
		*sum += crc_sum(buf, recs);
	if (r->out->regular || r->out->fd < 0) /* the offset fits: the whole file's size does */
		err = gen_out_write(r->out, buf, bytes, at * RECORD_BYTES);
	else
		err = write_in_turn(r, block, buf, bytes);
	if (err != 0)
		fail(r, err);
}

/* Blocks until none is left but the last: that one is for the caller, when all others are done. */
static void do_blocks(struct run *r, unsigned char *buf, struct progress *shown)
{
	u128 sum = 0;

	while (!stopped(r)) {
		uint64_t block = atomic_fetch_add(&r->next, 1);

		if (block >= r->blocks - 1)
			break;
		do_block(r, block, buf, &sum);
		if (shown) /* what was handed out is nearly done */
			progress_now(shown, block * BLOCK_BYTES);
	}
	pthread_mutex_lock(&r->lock);
	r->checksum += sum;
	pthread_mutex_unlock(&r->lock);
}

static void *worker(void *arg)
{
	unsigned char *buf = aligned_alloc(PAGE_BYTES, BLOCK_BYTES);

	if (buf) /* without memory the others do this thread's share */
		do_blocks(arg, buf, NULL);
	free(buf);
	return NULL;
}

static void do_all(struct run *r, unsigned threads, unsigned char *buf)
{
	pthread_t *id = calloc(threads, sizeof *id);
	unsigned up = 0;

	while (id && up + 1 < threads && pthread_create(&id[up], NULL, worker, r) == 0)
		up++;
	do_blocks(r, buf, &r->shown);
	while (up > 0)
		pthread_join(id[--up], NULL);
	free(id);
	if (!stopped(r))
		do_block(r, r->blocks - 1, buf, &r->checksum);
}

static unsigned thread_count(const struct run *r)
{
	unsigned n = r->args->threads ? r->args->threads : processors_count();

	if (n > GEN_MAX_THREADS)
		n = GEN_MAX_THREADS;
	return n < r->blocks ? n : (unsigned)r->blocks;
}

struct gen_result gen_run(const struct gen_args *a, const struct gen_out *out)
{
	struct run r = { .args = a, .out = out, .lock = PTHREAD_MUTEX_INITIALIZER };
	unsigned char *buf;

	pthread_cond_init(&r.turned, NULL);
	r.blocks = a->recs / BLOCK_RECS + (a->recs % BLOCK_RECS != 0);
	if (r.blocks > 0) {
		buf = aligned_alloc(PAGE_BYTES, BLOCK_BYTES);
		progress_begin(&r.shown,
			       a->recs < UINT64_MAX / RECORD_BYTES ? a->recs * RECORD_BYTES : 0,
			       true);
		if (buf)
			do_all(&r, thread_count(&r), buf);
		else
			atomic_store(&r.err, ENOMEM);
		progress_clear(&r.shown);
		free(buf);
	}
	pthread_cond_destroy(&r.turned);
	return (struct gen_result){ r.checksum, atomic_load(&r.err), atomic_load(&stop_signal) };
}

/* ------------------------------------------------------------ */

/* The output of gensort. A file that is at least as long as the new one is overwritten in place,
 * which spares the system freeing and finding its pages; it is cut by a byte first, so that it
 * cannot pass for a complete one meanwhile. */

static int open_file(struct gen_out *o)
{
	o->fd = open(o->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	o->created = o->fd >= 0;
	if (o->fd < 0 && errno == EEXIST)
		o->fd = open(o->name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	return o->fd < 0 ? errno : 0;
}

static int cut(int fd, uint64_t bytes)
{
	int rc;

	do
		rc = ftruncate(fd, (off_t)bytes);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? errno : 0;
}

/* Would a file of this size be refused however much room there is? lseek() knows what the file
 * system can hold, and changes nothing. */
static bool too_large(int fd, uint64_t bytes)
{
	struct rlimit most;

	if (bytes > INT64_MAX || lseek(fd, (off_t)bytes, SEEK_SET) < 0)
		return true;
	return getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur;
}

/* A file system, or a kernel, that cannot preallocate is no failure; whatever else it answers would
 * only come up later, in a write. */
static int reserve(int fd, uint64_t bytes)
{
	int rc;

	do
		rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
	while (rc < 0 && errno == EINTR);
	return rc < 0 && errno != EOPNOTSUPP && errno != ENOSYS ? errno : 0;
}

static int prepare(struct gen_out *o, uint64_t bytes)
{
	struct stat st;
	int rc = 0;

	if (fstat(o->fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	o->regular = true;
	if (too_large(o->fd, bytes))
		return EFBIG;
	o->changed = true;
	if (st.st_size > 0)
		rc = cut(o->fd, bytes > 0 && (uint64_t)st.st_size >= bytes ? bytes - 1 : 0);
	if (rc == 0 && bytes > 0 && (uint64_t)st.st_size < bytes)
		rc = reserve(o->fd, bytes);
	return rc;
}

static void no_room(const char *name, uint64_t bytes, int err)
{
	char what[64] = "cannot make room for 2^64 bytes or more in";

	if (bytes < UINT64_MAX)
		snprintf(what, sizeof what, "cannot make room for %" PRIu64 " byte%s in", bytes,
			 bytes == 1 ? "" : "s");
	say_error("gensort", what, name, err);
}

bool gen_out_open(struct gen_out *o, const char *name, uint64_t bytes)
{
	int err;

	*o = (struct gen_out){ .name = name, .fd = -1 };
	if (strcmp(name, "/dev/null") == 0)
		return true;
	if (strcmp(name, "-") == 0) {
		o->name = "standard output";
		o->fd = STDOUT_FILENO;
		return true;
	}
	err = open_file(o);
	if (err != 0) {
		say_error("gensort", "cannot open", name, err);
		return false;
	}
	err = prepare(o, bytes);
	if (err != 0) {
		no_room(name, bytes, err);
		gen_out_discard(o);
		return false;
	}
	return true;
}

int gen_out_write(const struct gen_out *o, const unsigned char *p, size_t n, uint64_t at)
{
	if (o->fd < 0)
		return 0;
	while (n > 0) {
		ssize_t done = o->regular ? pwrite(o->fd, p, n, (off_t)at) : write(o->fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		p += done;
		n -= (size_t)done;
		at += (uint64_t)done;
	}
	return 0;
}

/* A new file is not safe before its folder is; a folder that may not be read, or a file system
 * without such a call, is no failure of ours. */
static int sync_folder(const char *name)
{
	const char *slash = strrchr(name, '/');
	char *folder =
		slash ? strndup(name, slash == name ? 1 : (size_t)(slash - name)) : strdup(".");
	int fd, err = 0;

	if (!folder)
		return ENOMEM;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? 0 : errno;
	if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
		err = errno;
	close(fd);
	return err;
}

static int make_durable(const struct gen_out *o)
{
	struct stat st;

	if (fstat(o->fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (fsync(o->fd) < 0)
		return errno; /* never tried again: a second call may report a false success */
	return o->created ? sync_folder(o->name) : 0;
}

bool gen_out_finish(struct gen_out *o, bool durable)
{
	int fd = o->fd, err = 0;

	if (fd < 0)
		return true;
	if (durable && (err = make_durable(o)) != 0) {
		say_error("gensort", "cannot sync", o->name, err);
		return false;
	}
	o->fd = -1;
	/* after EINTR the descriptor is closed on Linux, and all was written before */
	if (close(fd) < 0 && errno != EINTR) {
		say_error("gensort", "cannot close", o->name, errno);
		return false;
	}
	return true;
}

static bool still_there(const struct gen_out *o)
{
	struct stat st;

	return lstat(o->name, &st) == 0 && st.st_dev == o->dev && st.st_ino == o->ino;
}

void gen_out_discard(struct gen_out *o)
{
	if (o->created && o->regular && still_there(o) && unlink(o->name) == 0)
		say_error("gensort", "removed the incomplete file", o->name, 0);
	else if (o->regular && !o->changed)
		; /* what was there before is there still */
	else if (o->regular && (o->fd >= 0 ? ftruncate(o->fd, 0) : truncate(o->name, 0)) == 0)
		say_error("gensort", "emptied the incomplete file", o->name, 0);
	else
		say_error("gensort", "incomplete output left in", o->name, 0);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

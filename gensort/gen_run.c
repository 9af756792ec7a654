/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads and the output of gensort. A block has 400 KiB, which are whole records and whole
 * pages. It is so small that it stays in a core's cache while it is made, summed up and written. */
#include "crc.h"
#include "gen.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { GEN_BLOCK_RECS = 4096, GEN_BLOCK_BYTES = GEN_BLOCK_RECS * RECORD_BYTES };

_Static_assert(GEN_BLOCK_BYTES % TOOL_PAGE_BYTES == 0, "blocks are whole pages");

typedef struct gen_job {
	const gen_args *args;
	const gen_out *out;
	uint64_t blocks;
	atomic_uint_fast64_t next; /* block to be assigned */
	atomic_int err;            /* first failure; all threads stop */
	pthread_mutex_t lock;      /* guards turn and checksum */
	pthread_cond_t turned;
	uint64_t turn; /* block to be written next, if the output is a stream */
	u128 checksum;
	unsigned char *buf;     /* buffer of the calling thread, */
	tool_progress progress; /* which also prints the progress */
} gen_job;

static atomic_int stop_signal; /* lock-free, so a signal handler may set it */

void gen_stop(int signal)
{
	atomic_store(&stop_signal, signal);
}

static bool gen_stopped(gen_job *j)
{
	return atomic_load_explicit(&j->err, memory_order_relaxed) != 0 ||
	       atomic_load_explicit(&stop_signal, memory_order_relaxed) != 0;
}

/* Write a block to a stream after all blocks before it. If a write fails, the turn stays at its
 * block, so no later block is written. */
static int gen_write_in_turn(gen_job *j, uint64_t block, const unsigned char *p, size_t bytes)
{
	pthread_mutex_lock(&j->lock);
	while (j->turn != block && !gen_stopped(j))
		pthread_cond_wait(&j->turned, &j->lock);
	const bool mine = j->turn == block;
	pthread_mutex_unlock(&j->lock);
	if (!mine)
		return 0; /* another thread failed and has set the reason */
	const int err = gen_out_write(j->out, p, bytes, 0);
	if (err != 0)
		return err;
	pthread_mutex_lock(&j->lock);
	j->turn++;
	pthread_cond_broadcast(&j->turned);
	pthread_mutex_unlock(&j->lock);
	return 0;
}

static void gen_block(gen_job *j, uint64_t block, unsigned char *buf, u128 *sum)
{
	const uint64_t at = block * GEN_BLOCK_RECS, left = j->args->recs - at;
	const size_t recs = left < GEN_BLOCK_RECS ? (size_t)left : GEN_BLOCK_RECS;
	const size_t bytes = recs * RECORD_BYTES;
	gen_records(j->args->kind, j->args->start + at, recs, buf);
	if (j->args->checksum)
		*sum += crc_sum(buf, recs);
	/* the offset in a regular file fits an off_t, as the size of the file does */
	const int err = j->out->regular || j->out->fd < 0
				? gen_out_write(j->out, buf, bytes, at * RECORD_BYTES)
				: gen_write_in_turn(j, block, buf, bytes);
	if (err != 0) {
		int none = 0;
		atomic_compare_exchange_strong(&j->err, &none, err);
		pthread_mutex_lock(&j->lock);
		pthread_cond_broadcast(&j->turned);
		pthread_mutex_unlock(&j->lock);
	}
}

/* Make blocks until only the last one remains, which gen_run makes when all others are done. */
static void gen_blocks(void *job, unsigned char *buf)
{
	gen_job *j = job;
	u128 sum = 0;
	while (!gen_stopped(j)) {
		const uint64_t block = atomic_fetch_add(&j->next, 1);
		if (block >= j->blocks - 1)
			break;
		gen_block(j, block, buf, &sum);
		if (buf == j->buf) /* the calling thread; nearly all blocks before are done */
			tool_progress_now(&j->progress, block * GEN_BLOCK_BYTES);
	}
	pthread_mutex_lock(&j->lock);
	j->checksum += sum;
	pthread_mutex_unlock(&j->lock);
}

gen_result gen_run(const gen_args *a, const gen_out *out)
{
	gen_job j = { .args = a, .out = out, .lock = PTHREAD_MUTEX_INITIALIZER };
	const tool_team team = { .work = gen_blocks, .job = &j, .buf_bytes = GEN_BLOCK_BYTES };
	pthread_cond_init(&j.turned, NULL);
	j.blocks = a->recs / GEN_BLOCK_RECS + (a->recs % GEN_BLOCK_RECS != 0);
	if (j.blocks > 0) {
		j.buf = aligned_alloc(TOOL_PAGE_BYTES, GEN_BLOCK_BYTES);
		tool_progress_begin(
			&j.progress,
			a->recs < UINT64_MAX / RECORD_BYTES ? a->recs * RECORD_BYTES : 0, true);
		if (j.buf)
			tool_team_work(&team, a->threads, j.blocks, j.buf);
		else
			atomic_store(&j.err, ENOMEM);
		if (!gen_stopped(&j))
			gen_block(&j, j.blocks - 1, j.buf, &j.checksum);
		tool_progress_clear(&j.progress);
		free(j.buf);
	}
	pthread_cond_destroy(&j.turned);
	return (gen_result){ j.checksum, atomic_load(&j.err), atomic_load(&stop_signal) };
}

/* ------------------------------------------------------------ output
 *
 * A file that is at least as long as the new one is overwritten in place: the system then need not
 * free and allocate its blocks. It is first cut to one byte less than the new size, so that it does
 * not look complete while it is written. */

static int gen_truncate(int fd, uint64_t bytes)
{
	int rc;
	do
		rc = ftruncate(fd, (off_t)bytes);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? errno : 0;
}

/* Check that a regular file can have this size, and reserve room for it. lseek() fails above the
 * largest size that the file system supports, and changes nothing. Ignore a file system or kernel
 * without preallocation. Any other error would appear later, in a write. */
static int gen_out_prepare(gen_out *o, uint64_t bytes)
{
	struct rlimit most;
	struct stat st;
	if (fstat(o->fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	o->regular = true;
	if (bytes > INT64_MAX || lseek(o->fd, (off_t)bytes, SEEK_SET) < 0 ||
	    (getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur))
		return EFBIG;
	o->changed = true;
	const uint64_t old = (uint64_t)st.st_size;
	int rc = old > 0 ? gen_truncate(o->fd, bytes > 0 && old >= bytes ? bytes - 1 : 0) : 0;
	if (rc == 0 && bytes > 0 && old < bytes) {
		do
			rc = fallocate(o->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
		while (rc < 0 && errno == EINTR);
		rc = rc < 0 && errno != EOPNOTSUPP && errno != ENOSYS ? errno : 0;
	}
	return rc;
}

bool gen_out_open(gen_out *o, const char *name, uint64_t bytes)
{
	*o = (gen_out){ .name = name, .fd = -1 };
	if (strcmp(name, "/dev/null") == 0)
		return true;
	if (strcmp(name, "-") == 0) {
		o->name = "standard output";
		o->fd = STDOUT_FILENO;
	} else {
		o->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		o->created = o->fd >= 0;
		if (o->fd < 0 && errno == EEXIST)
			o->fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	}
	if (o->fd >= 0 && !tool_messages_apart(o->fd)) {
		tool_error("gensort", "standard error is the same file as", o->name, 0);
		if (o->fd != STDOUT_FILENO)
			close(o->fd);
		return false;
	}
	if (o->fd == STDOUT_FILENO)
		return true;
	if (o->fd < 0) {
		tool_error("gensort", "cannot open", name, errno);
		return false;
	}
	const int err = gen_out_prepare(o, bytes);
	if (err != 0) {
		char text[64] = "cannot make room for 2^64 bytes or more in";
		if (bytes < UINT64_MAX)
			snprintf(text, sizeof text, "cannot make room for %" PRIu64 " byte%s in",
				 bytes, bytes == 1 ? "" : "s");
		tool_error("gensort", text, name, err);
		gen_out_discard(o);
		return false;
	}
	return true;
}

int gen_out_write(const gen_out *o, const unsigned char *p, size_t n, uint64_t at)
{
	if (o->fd < 0)
		return 0;
	while (n > 0) {
		const ssize_t done =
			o->regular ? pwrite(o->fd, p, n, (off_t)at) : write(o->fd, p, n);
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

/* Sync the directory of a new file, because its name could be lost otherwise. Ignore a directory
 * without read permission, and a file system that cannot sync directories. */
static int gen_sync_directory(const char *name)
{
	const char *slash = strrchr(name, '/');
	char *dir = slash ? strndup(name, slash == name ? 1 : (size_t)(slash - name)) : strdup(".");
	if (!dir)
		return ENOMEM;
	const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(dir);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? 0 : errno;
	const int err = fsync(fd) < 0 && errno != EINVAL && errno != EROFS ? errno : 0;
	close(fd);
	return err;
}

/* Make a regular file durable. A failed fsync is not repeated: it might report a false success. */
static int gen_out_sync(const gen_out *o)
{
	struct stat st;
	if (fstat(o->fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (fsync(o->fd) < 0)
		return errno;
	return o->created ? gen_sync_directory(o->name) : 0;
}

bool gen_out_finish(gen_out *o, bool durable)
{
	const int fd = o->fd, err = durable && fd >= 0 ? gen_out_sync(o) : 0;
	if (fd < 0)
		return true;
	if (err != 0) {
		tool_error("gensort", "cannot sync", o->name, err);
		return false;
	}
	o->fd = -1;
	/* after EINTR the descriptor is closed on Linux, and all was written before */
	if (close(fd) < 0 && errno != EINTR) {
		tool_error("gensort", "cannot close", o->name, errno);
		return false;
	}
	return true;
}

void gen_out_discard(gen_out *o)
{
	struct stat st;
	const bool ours = o->created && o->regular && lstat(o->name, &st) == 0 &&
			  st.st_dev == o->dev && st.st_ino == o->ino;
	if (ours && unlink(o->name) == 0)
		tool_error("gensort", "removed the incomplete file", o->name, 0);
	else if (o->regular && !o->changed)
		; /* the file still has its earlier contents */
	else if (o->regular && (o->fd >= 0 ? ftruncate(o->fd, 0) : truncate(o->name, 0)) == 0)
		tool_error("gensort", "emptied the incomplete file", o->name, 0);
	else
		tool_error("gensort", "incomplete output left in", o->name, 0);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

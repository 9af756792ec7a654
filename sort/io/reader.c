/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A share consists of extents, each in one file. A file is opened twice, for the page cache and for
 * direct I/O. It stays open until the end, or, if there are many files, only during a read. A file
 * is mapped only if its pages are in memory already. */
#include "reader.h"
#include "base/clock.h"
#include "base/arith.h"
#include "base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	CHUNK_BYTES = 4 << 20,
	STEP_BYTES = 256 << 10,
	MOST_OPEN = 128, /* extents; if there are more, opening a file costs little compared with
			    each read */
	OPEN_PART = 64   /* a rank uses 1 / OPEN_PART of the files that a process may open */
};

/* The part of the share in one file. */
typedef struct extent {
	const input_file *f;
	io_fd fd;       /* open, or IO_FD_NONE */
	uint64_t at, n; /* its place in the share */
} extent;

struct reader {
	reader_plan p;
	const shape *shape;  /* NULL: records stay as they are */
	uint32_t file_bytes; /* of a record in a file */
	size_t chunk;        /* in records; chunks end at multiples of it in their file */
	size_t extents;
	extent *extent;
};

/* Return the place in its file of record `at` of the share, which is in extent f. */
static uint64_t place_of(const reader *r, const extent *f, uint64_t at)
{
	return r->p.first + at - f->f->first;
}

static uint64_t offset_of(const reader *r, const extent *f, uint64_t at)
{
	return f->f->frame.header_bytes + place_of(r, f, at) * r->file_bytes;
}

/* Return the number of records in a chunk that needs about `bytes`, in the file and in memory. */
static size_t chunk_recs(const reader *r, size_t bytes)
{
	const size_t most = size_max(r->file_bytes, r->p.lay.record_bytes);
	return io_fd_chunk_recs((uint32_t)most, bytes);
}

/* Set *fd to the open file of an extent, until end_reading. */
static status begin_reading(const reader *r, const extent *f, io_fd *fd, err *e)
{
	*fd = f->fd;
	if (fd->fd >= 0)
		return ST_OK;
	const status rc = input_open(f->f, false, &fd->fd, e);
	if (rc == ST_OK)
		io_fd_will_read(fd, r->p.direct, offset_of(r, f, f->at), f->n * r->file_bytes);
	return rc;
}

static void end_reading(const extent *f, io_fd *fd)
{
	if (f->fd.fd < 0)
		io_fd_close(fd);
}

status reader_open(reader **out, const input *in, const reader_plan *p, err *e)
{
	struct rlimit l;
	reader *r = malloc(sizeof *r + in->files * sizeof r->extent[0]);
	*out = NULL;
	if (!r)
		return err_set(e, ST_RESOURCE, "no memory for %zu input files", in->files);
	const uint32_t file_bytes = input_file_bytes(in, &p->lay);
	*r = (reader){ .p = *p,
		       .shape = shape_is_on(&in->shape) ? &in->shape : NULL,
		       .file_bytes = file_bytes,
		       .extent = (extent *)(void *)(r + 1) };
	r->chunk = chunk_recs(r, CHUNK_BYTES);
	for (size_t i = 0; i < in->files; i++) {
		const input_file *f = &in->file[i];
		const uint64_t lo = u64_max(p->first, f->first);
		const uint64_t hi = u64_min(p->first + p->n, f->first + f->count);
		if (lo < hi)
			r->extent[r->extents++] = (extent){ f, IO_FD_NONE, lo - p->first, hi - lo };
	}
	status rc = ST_OK;
	const bool stay_open = r->extents <= MOST_OPEN && getrlimit(RLIMIT_NOFILE, &l) == 0 &&
			       r->extents <= u64_max(l.rlim_cur / OPEN_PART, 1);
	for (size_t i = 0; stay_open && i < r->extents && rc == ST_OK; i++)
		rc = begin_reading(r, &r->extent[i], &r->extent[i].fd, e);
	if (rc == ST_OK)
		*out = r;
	else
		reader_close(r);
	return rc;
}

void reader_close(reader *r)
{
	for (size_t i = 0; r && i < r->extents; i++)
		io_fd_close(&r->extent[i].fd);
	free(r);
}

static const extent *extent_at(const reader *r, uint64_t at)
{
	lower_bound b = { .lo = 1, .hi = r->extents };
	while (lower_bound_open(&b))
		lower_bound_step(&b, r->extent[b.mid].at <= at);
	return &r->extent[b.lo - 1];
}

size_t reader_align(const reader *r, uint64_t at)
{
	if (r->extents == 0 || r->shape)
		return 0;
	return (size_t)(offset_of(r, extent_at(r, at), at) % IO_FD_ALIGN);
}

size_t reader_chunk(const reader *r, uint64_t at, uint64_t n)
{
	const extent *f = extent_at(r, at);
	const uint64_t left = f->n - (at - f->at);
	const uint64_t to_end = r->chunk - place_of(r, f, at) % r->chunk;
	return (size_t)u64_min(u64_min(left, n), to_end);
}

bool reader_is_cached(const reader *r, uint64_t at)
{
	const extent *f = extent_at(r, at);
	return f->fd.fd >= 0 && f->fd.direct < 0;
}

uint64_t reader_chunks(const reader *r)
{
	uint64_t chunks = 0;
	for (size_t i = 0; i < r->extents; i++) {
		const extent *f = &r->extent[i];
		const uint64_t first = place_of(r, f, f->at);
		chunks += (first + f->n - 1) / r->chunk - first / r->chunk + 1;
	}
	return chunks;
}

status reader_check(const reader *r, err *e)
{
	status rc = ST_OK;
	for (size_t i = 0; i < r->extents && rc == ST_OK; i++) {
		const extent *f = &r->extent[i];
		io_fd fd;
		rc = begin_reading(r, f, &fd, e);
		if (rc == ST_OK)
			rc = input_unchanged(f->f, fd.fd, e);
		end_reading(f, &fd);
	}
	return rc;
}

/* ------------------------------------------------------------------------------- as memory */

/* A thread that reads a page of a mapping after the file was truncated gets SIGBUS, which would end
 * the process. A table contains the mappings of the process. The handler of SIGBUS, which runs on
 * the thread that read the page, searches the table for the address. If the address is in a
 * mapping, the handler marks the mapping and replaces the missing page by a page of zeros. So the
 * thread continues. The code that opened the mapping checks the mark at the end, before it uses any
 * result.
 *
 * Any other SIGBUS has the effect that it would have without this module, because another process
 * may send it, or a library may lose a page of a mapping of its own. The handler has the mask and
 * the flags of the program's own action, and takes this action. It is installed only while a
 * mapping is open. If another part of the program replaces it then, it is never installed
 * again: the new handler may call it as the previous one, and then each would call the other
 * without end.
 *
 * Threads that open or close a mapping take or free a slot of the table under the lock. The handler
 * takes no lock: it reads `begin`, which is written after all other fields of a slot and cleared
 * before they change. An address in a mapping is only used while the mapping is open, so a slot
 * that the handler needs does not change while it looks. */
enum { SLOTS = 1024 };

typedef struct slot {
	atomic_uintptr_t begin; /* 0: free */
	uintptr_t end;
	atomic_bool shrank;
} slot;

static struct {
	pthread_mutex_t lock;
	size_t page_bytes;
	size_t open;
	bool replaced;           /* another handler was found while a mapping was open */
	struct sigaction before; /* the program's own action */
	slot slot[SLOTS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Replace the page at this address by zeros. Return false if it is in no mapping of the table. */
static bool replace_page(uintptr_t at)
{
	void *page = (void *)(at - at % table.page_bytes);
	for (slot *s = table.slot; s < table.slot + SLOTS; s++) {
		const uintptr_t begin = atomic_load_explicit(&s->begin, memory_order_acquire);
		if (!begin || at < begin || at >= s->end)
			continue;
		if (mmap(page, table.page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			 -1, 0) != page)
			return false;
		atomic_store(&s->shrank, true);
		return true;
	}
	return false;
}

static void on_bus_error(int signum, siginfo_t *info, void *context)
{
	const struct sigaction *own = &table.before;
	const int errnum = errno;
	/* else a process has sent the signal, or the kernel warns of a damaged page */
	const bool lost = info->si_code > 0 && info->si_code != BUS_MCEERR_AO;
	if (lost && replace_page((uintptr_t)info->si_addr)) {
		errno = errnum;
		return;
	}
	if (own->sa_flags & SA_RESETHAND)
		(void)signal(SIGBUS, SIG_DFL);
	if (own->sa_flags & SA_SIGINFO) {
		own->sa_sigaction(signum, info, context);
	} else if (own->sa_handler != SIG_DFL && own->sa_handler != SIG_IGN) {
		own->sa_handler(signum);
	} else if (lost || own->sa_handler == SIG_DFL) { /* a lost page cannot be ignored */
		(void)signal(SIGBUS, SIG_DFL);
		if (!lost) /* else the access fails again when this returns */
			(void)raise(SIGBUS);
	}
}

static bool is_installed(struct sigaction *now)
{
	return sigaction(SIGBUS, NULL, now) == 0 && (now->sa_flags & SA_SIGINFO) &&
	       now->sa_sigaction == on_bus_error;
}

/* Install the handler of SIGBUS, unless it is installed. Called under the lock. */
static bool install_handler(void)
{
	struct sigaction a = { 0 };
	table.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	if (is_installed(&a))
		return true;
	table.replaced |= table.open > 0;
	if (table.replaced)
		return false;
	table.before = a;
	a.sa_sigaction = on_bus_error;
	a.sa_flags = (a.sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
	return sigaction(SIGBUS, &a, NULL) == 0;
}

/* If no mapping is open, restore the program's own action. Called under the lock. */
static void restore_handler(void)
{
	struct sigaction now;
	if (table.open > 0)
		return;
	if (is_installed(&now))
		(void)sigaction(SIGBUS, &table.before, NULL);
	else
		table.replaced = true;
}

const unsigned char *mapped_open(mapped *m, int fd, uint64_t offset, size_t bytes)
{
	*m = (mapped){ 0 };
	pthread_mutex_lock(&table.lock);
	size_t at = install_handler() ? 0 : SLOTS;
	while (at < SLOTS && atomic_load(&table.slot[at].begin))
		at++;
	const size_t skip = at < SLOTS ? (size_t)(offset % table.page_bytes) : 0;
	void *page = MAP_FAILED;
	size_t all;
	if (at < SLOTS && bytes > 0 && !__builtin_add_overflow(bytes, skip, &all))
		page = mmap(NULL, all, PROT_READ, MAP_SHARED, fd, (off_t)(offset - skip));
	if (page != MAP_FAILED) {
		slot *s = &table.slot[at];
		*m = (mapped){ page, all, at };
		s->end = (uintptr_t)page + all;
		atomic_store(&s->shrank, false);
		atomic_store_explicit(&s->begin, (uintptr_t)page, memory_order_release);
		table.open++;
	}
	restore_handler();
	pthread_mutex_unlock(&table.lock);
	return m->page ? m->page + skip : NULL;
}

bool mapped_shrank(const mapped *m)
{
	return m->page && atomic_load(&table.slot[m->slot].shrank);
}

void mapped_close(mapped *m)
{
	if (!m->page)
		return;
	pthread_mutex_lock(&table.lock);
	atomic_store(&table.slot[m->slot].begin, 0);
	munmap(m->page, m->bytes);
	table.open--;
	restore_handler();
	pthread_mutex_unlock(&table.lock);
	*m = (mapped){ 0 };
}

const unsigned char *reader_map(const reader *r, mapped *m)
{
	const extent *f = r->extent;
	*m = (mapped){ 0 };
	if (r->extents != 1 || r->shape || f->f->written || f->fd.fd < 0 || f->fd.direct >= 0 ||
	    r->p.direct == DIRECT_ALWAYS)
		return NULL;
	const uint64_t offset = offset_of(r, f, 0), bytes = f->n * r->file_bytes;
	return io_fd_is_cached(f->fd.fd, offset, bytes) ? mapped_open(m, f->fd.fd, offset, bytes)
							: NULL;
}

status reader_check_map(const reader *r, const mapped *m, err *e)
{
	const status rc = reader_check(r, e);
	return rc == ST_OK && mapped_shrank(m)
		       ? err_set(e, ST_IO, "input %s changed while it was being read",
				 quoted(r->extent->f->path))
		       : rc;
}

/* ------------------------------------------------------------------------------- reading */

size_t reader_step_recs(const layout *l)
{
	return STEP_BYTES > l->record_bytes ? STEP_BYTES / l->record_bytes : 1;
}

checksum reader_checksum(const layout *l, const unsigned char *recs, size_t n, double *verify_s)
{
	checksum sum = { 0 };
	for (size_t at = 0, k; at < n; at += k, recs += k * l->record_bytes) {
		const double t0 = now_s();
		k = size_min(n - at, reader_step_recs(l));
		sum = checksum_join(sum, checksum_records(l, recs, k));
		*verify_s += now_s() - t0;
		progress_add(PROGRESS_IN, k * l->record_bytes);
	}
	return sum;
}

/* Return the bytes that reader_load needs to read n records in the form that they have in files. */
static size_t raw_bytes(const reader *r, uint64_t n)
{
	return (size_t)u64_min(n, chunk_recs(r, STEP_BYTES)) * r->file_bytes + 2 * IO_FD_ALIGN;
}

uint64_t reader_most_bytes(const input *in, const layout *l, uint64_t n, unsigned threads)
{
	const reader r = { .p.lay = *l, .file_bytes = input_file_bytes(in, l) };
	return shape_is_on(&in->shape) ? threads * raw_bytes(&r, n) : 0;
}

/* Read n records of an extent to raw, and make records in memory of them. */
static status read_shaped(const reader *r, const extent *f, const io_fd *fd, uint64_t at, size_t n,
			  unsigned char *raw, unsigned char *to, bool notes, err *e)
{
	const uint64_t offset = offset_of(r, f, at);
	unsigned char *from = raw + (size_t)(-(uintptr_t)raw % IO_FD_ALIGN) + offset % IO_FD_ALIGN;
	const status rc = io_fd_read_at(fd, from, n * r->file_bytes, offset, f->f->path, e);
	if (rc != ST_OK)
		return rc;
	shape_apply(r->shape, r->p.lay.record_bytes, to, from, n, r->p.first + at);
	if (notes)
		input_note_shaped(f->f, r->shape, from, n);
	return ST_OK;
}

/* Return how many records to read at once, from record `at` of the share on. */
static size_t step_recs(const reader *r, const extent *f, const io_fd *fd, uint64_t at,
			const loading *l)
{
	const size_t step = r->shape ? chunk_recs(r, STEP_BYTES) : reader_step_recs(&r->p.lay);
	if (r->shape) /* end at a multiple in the file, for direct I/O */
		return step - (size_t)(place_of(r, f, at) % step);
	/* direct I/O is fast only for large reads */
	return l && (fd->direct < 0 || l->in_place) ? step : SIZE_MAX;
}

status reader_load(const reader *r, uint64_t at, size_t n, unsigned char *to, loading *l, err *e)
{
	const uint32_t bytes = r->p.lay.record_bytes;
	unsigned char *raw = r->shape ? malloc(raw_bytes(r, n)) : NULL;
	status rc = ST_OK;
	if (r->shape && !raw)
		return err_set(e, ST_RESOURCE, "no memory to read %zu records", n);
	for (size_t done = 0, k; done < n && rc == ST_OK; done += k) {
		const extent *f = extent_at(r, at + done);
		io_fd fd;
		k = reader_chunk(r, at + done, n - done);
		rc = begin_reading(r, f, &fd, e);
		for (size_t i = done, some; i < done + k && rc == ST_OK; i += some) {
			some = size_min(done + k - i, step_recs(r, f, &fd, at + i, l));
			if (raw)
				rc = read_shaped(r, f, &fd, at + i, some, raw, to + i * bytes,
						 l != NULL, e);
			else if (l && l->in_place)
				progress_add(PROGRESS_READ, some * bytes);
			else
				rc = io_fd_read_at(&fd, to + i * bytes, some * bytes,
						   offset_of(r, f, at + i), f->f->path, e);
			if (rc != ST_OK || !l)
				continue;
			const checksum sum =
				reader_checksum(&r->p.lay, to + i * bytes, some, &l->verify_s);
			l->sum = checksum_join(l->sum, sum);
			if (!raw)
				input_note_read(f->f, some, sum);
			if (l->arrived)
				l->arrived(l->arrived_to, l->pos + i, some);
		}
		end_reading(f, &fd);
	}
	free(raw);
	return rc;
}

/* Read n records, one chunk at a time, into a buffer for one chunk. Compute their checksum in l, if
 * given, and inspect them if seen is given. Chunks end at multiples of IO_FD_ALIGN if the record
 * size allows it, for direct I/O. */
static status reader_read_all(const reader *r, uint64_t n, mem *m, loading *l, inspected *seen,
			      err *e)
{
	const size_t most = (size_t)u64_min(n, r->chunk);
	const size_t bytes = most * r->p.lay.record_bytes + 2 * IO_FD_ALIGN;
	unsigned char *raw = mem_array(m, bytes, 1, "records", e);
	status rc = raw ? ST_OK : ST_RESOURCE;
	size_t k;
	for (uint64_t at = 0; rc == ST_OK && at < n; at += k) {
		unsigned char *to =
			raw + (size_t)(-(uintptr_t)raw % IO_FD_ALIGN) + reader_align(r, at);
		k = reader_chunk(r, at, n - at);
		rc = reader_load(r, at, k, to, l, e);
		if (rc == ST_OK && seen && inspect(seen, &r->p.lay, to, k) != 0)
			rc = ST_INVALID;
	}
	mem_free(m, raw);
	return rc;
}

status reader_sum(const input *in, const reader_plan *p, mem *m, checksum *sum, err *e)
{
	loading l = { .arrived = NULL };
	reader *r;
	status rc = reader_open(&r, in, p, e);
	if (rc == ST_OK)
		rc = reader_read_all(r, p->n, m, &l, NULL, e);
	if (rc == ST_OK)
		rc = reader_check(r, e);
	*sum = l.sum;
	reader_close(r);
	return rc;
}

status reader_inspect(const file_records *from, const layout *l, mem *m, inspected *seen, err *e)
{
	const input_file file = { .path = (char *)(uintptr_t)from->path,
				  .frame.header_bytes = from->offset % l->record_bytes };
	extent all = { .f = &file, .fd = from->fd, .n = from->recs };
	const reader r = { .p = { .first = from->offset / l->record_bytes, .lay = *l },
			   .file_bytes = l->record_bytes,
			   .chunk = io_fd_chunk_recs(l->record_bytes, CHUNK_BYTES),
			   .extents = 1,
			   .extent = &all };
	return reader_read_all(&r, from->recs, m, NULL, seen, e);
}

status reader_inspect_part(int dirfd, const manifest_part *s, const layout *l, inspected *seen,
			   const char **why, err *e)
{
	mem m = { 0 };
	struct stat st;
	const int fd = openat(dirfd, s->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const file_records all = { .fd = { .fd = fd, .direct = -1 },
				   .path = s->file,
				   .offset = s->frame.header_bytes,
				   .recs = s->records };
	status rc = ST_OK;
	*why = NULL;
	if (fd < 0)
		*why = errno == ENOENT ? "is missing" : "cannot be opened";
	else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		*why = "is not a regular file";
	else if ((uint64_t)st.st_size != manifest_part_bytes(s, l))
		*why = "does not have the stated size";
	else
		rc = reader_inspect(&all, l, &m, seen, e);
	if (fd >= 0)
		close(fd);
	if (rc == ST_INVALID)
		*why = "is not in order";
	else if (rc == ST_OK && !*why && !checksum_equal(seen->sum, s->sum))
		*why = "does not have the stated checksum";
	return rc == ST_INVALID ? ST_OK : rc;
}

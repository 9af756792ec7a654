/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whoever reads a page of a mapping that its file no longer has gets SIGBUS, which would end the
 * process. A table holds the mappings of the process. The handler of SIGBUS, which runs on the
 * thread that read the page, looks there for the address. If it finds it, it marks the mapping, and
 * puts a page of zeros in place of the missing one, so the thread continues. Whoever opened the
 * mapping asks for the mark at the end, before anything made from it counts. Any other SIGBUS is
 * handled as if this module did not exist.
 *
 * A slot of the table is taken and left under the lock by threads that open and close. The handler
 * takes no lock: it reads `begin`, which is written after all other fields of a slot and cleared
 * before they change. An address in a mapping is only used while the mapping is open, so a slot
 * that the handler needs does not change while it looks. */
#include "mapped.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 1024 };

typedef struct slot {
	atomic_uintptr_t begin; /* 0: free */
	uintptr_t end;
	atomic_bool shrank;
} slot;

static struct {
	pthread_mutex_t lock;
	size_t page_bytes;
	struct sigaction before; /* the program's own action */
	slot slot[SLOTS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static slot *find(uintptr_t at)
{
	for (size_t i = 0; i < SLOTS; i++) {
		slot *s = &table.slot[i];
		const uintptr_t begin = atomic_load_explicit(&s->begin, memory_order_acquire);
		if (begin && at >= begin && at < s->end)
			return s;
	}
	return NULL;
}

static void on_bus_error(int signum, siginfo_t *info, void *context)
{
	const uintptr_t at = (uintptr_t)info->si_addr;
	slot *s = find(at);
	void *page = (void *)(at - at % table.page_bytes);
	if (s && mmap(page, table.page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		      -1, 0) == page) {
		atomic_store(&s->shrank, true);
	} else if (table.before.sa_flags & SA_SIGINFO) {
		table.before.sa_sigaction(signum, info, context);
	} else { /* with the old action the access fails again when this returns */
		(void)sigaction(SIGBUS, &table.before, NULL);
	}
}

/* Under the lock: also where another part of the program has changed the action since. */
static bool install(void)
{
	struct sigaction a = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO }, now;
	table.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &now) != 0)
		return false;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus_error)
		return true;
	table.before = now;
	sigemptyset(&a.sa_mask);
	return sigaction(SIGBUS, &a, NULL) == 0;
}

/* Under the lock: a free slot, or SLOTS. */
static size_t free_slot(void)
{
	size_t i = 0;
	while (i < SLOTS && atomic_load(&table.slot[i].begin))
		i++;
	return i;
}

const unsigned char *mapped_open(mapped *m, int fd, uint64_t offset, size_t bytes)
{
	*m = (mapped){ 0 };
	pthread_mutex_lock(&table.lock);
	const size_t at = install() ? free_slot() : SLOTS;
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
	}
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
	pthread_mutex_unlock(&table.lock);
	*m = (mapped){ 0 };
}

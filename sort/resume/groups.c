/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first rank of each host makes a file of a name that nobody has used before, and looks for
 * those of the hosts before it; each other rank looks for that of its host. Where one does not find
 * it, as hosts may have one name, such ranks make files, too, and all who have made one look for
 * all. Numbers of devices and of inodes would not do: two local disks may have the same ones. Costs
 * six collectives, and on the first rank of each host a look at the directory for each host before
 * it that does not share it; 20 bytes for each rank. */
#include "groups.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* first[i]: of the ranks of the host of rank i. */
static status find_hosts(comm *c, mem *m, int32_t *first, err *e)
{
	const uint64_t mine = XXH3_64bits(c->host, strlen(c->host));
	uint64_t *host = mem_array(m, (size_t)c->size, sizeof *host, "hosts", e);
	status rc = comm_agree(c, host ? ST_OK : ST_RESOURCE);
	int32_t own = c->rank;
	if (rc == ST_OK)
		rc = comm_allgather(c, &mine, host, sizeof mine);
	for (int32_t i = c->rank; rc == ST_OK && i-- > 0;)
		if (host[i] == mine)
			own = i;
	mem_free(m, host);
	return rc == ST_OK ? comm_allgather(c, &own, first, sizeof own) : rc;
}

/* Is the file of that rank here? */
static bool finds(const char *dir, int32_t rank, uint64_t id, group_name *name)
{
	char base[48], hidden[UNFINISHED_NAME_BYTES], *path = NULL;
	target t;
	err e = { ST_OK, "" };
	name(rank, base);
	if (asprintf(&path, "%s/%s", dir, base) < 0)
		return false;
	bool is = target_open(&t, path, &e) == ST_OK;
	if (is) {
		t.id = id;
		target_hidden_name(&t, TARGET_TEMP, hidden);
		is = faccessat(t.dirfd, hidden, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	target_discard(&t);
	free(path);
	return is;
}

static status make_file(target *t, uint64_t id, err *e)
{
	int fd = -1;
	const status rc = target_create(t, id, &fd, e);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* The ranks that make files. */
typedef struct search {
	comm *c;
	target *t;
	const char *dir;
	group_name *name;
	uint64_t id;
	int32_t *first, *of; /* [size] of each rank's host; of its group */
} search;

/* The first rank whose file is here, of those that have made one; this rank if there is none. */
static int32_t find_leader(const search *x)
{
	for (int32_t i = 0; i < x->c->rank; i++)
		if (x->first[i] == i && finds(x->dir, i, x->id, x->name))
			return i;
	return x->c->rank;
}

/* Each looks for that of its host, the first of it for all. */
static status look(const search *x, err *e)
{
	comm *c = x->c;
	const int32_t host = x->first[c->rank];
	status rc = comm_agree(c, host == c->rank ? make_file(x->t, x->id, e) : ST_OK);
	if (rc != ST_OK)
		return rc;
	const int32_t own = host < 0 || host >= c->rank           ? find_leader(x)
			    : finds(x->dir, host, x->id, x->name) ? host
								  : c->rank;
	return comm_allgather(c, &own, x->of, sizeof own);
}

/* Those that have not found it make files themselves. */
static status look_again(const search *x, err *e)
{
	comm *c = x->c;
	int32_t own = x->of[c->rank];
	bool any = false;
	for (int32_t i = 0; i < c->size; i++)
		if (x->of[i] == i && x->first[i] != i) {
			x->first[i] = i;
			any = true;
		}
	if (!any)
		return comm_agree(c, ST_OK); /* before any of these files goes */
	const bool lacks = own == c->rank && !*x->t->temp.name;
	status rc = comm_agree(c, lacks ? make_file(x->t, x->id, e) : ST_OK);
	if (rc == ST_OK && own == c->rank)
		own = find_leader(x);
	return rc == ST_OK ? comm_allgather(c, &own, x->of, sizeof own) : rc;
}

static status find_all(const search *x, mem *m, err *e)
{
	search s = *x;
	status rc = find_hosts(s.c, m, s.first, e);
	if (rc == ST_OK && s.c->rank == 0 && getrandom(&s.id, sizeof s.id, 0) != sizeof s.id)
		s.id = (uint64_t)getpid();
	if (rc == ST_OK)
		rc = comm_bcast(s.c, &s.id, sizeof s.id, 0);
	if (rc == ST_OK)
		rc = look(&s, e);
	if (rc == ST_OK)
		rc = look_again(&s, e);
	unfinished_remove(&s.t->temp);
	s.t->id = 0;
	return rc;
}

/* A rank is of the group of the one whose file it has found; whatever was said. */
static void settle(const comm *c, groups *g)
{
	for (int32_t i = 0; i < c->size; i++)
		g->of[i] = g->of[i] < 0 || g->of[i] >= i ? i : g->of[g->of[i]];
	g->own = g->of[c->rank];
	for (int32_t i = 0; i < c->size; i++) {
		g->ranks += g->of[i] == g->own;
		g->place += g->of[i] == g->own && i < c->rank;
	}
}

status groups_find(comm *c, mem *m, target *t, const char *dir, group_name *name, groups *g, err *e)
{
	const size_t p = (size_t)c->size;
	*g = (groups){ .of = mem_array(m, p, sizeof *g->of, "groups", e) };
	search x = { .c = c, .t = t, .dir = dir, .name = name, .of = g->of };
	x.first = mem_array(m, p, sizeof *x.first, "hosts", e);
	status rc = comm_agree(c, g->of && x.first ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK && c->process_ranks < c->size)
		rc = find_all(&x, m, e);
	if (rc == ST_OK)
		settle(c, g);
	mem_free(m, x.first);
	return rc;
}

void groups_free(mem *m, groups *g)
{
	mem_free(m, g->of);
	*g = (groups){ 0 };
}

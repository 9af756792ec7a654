/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first rank of each host makes a file of a name that nobody has used before, and looks for the
 * files of the hosts before it; each other rank looks for the file of its host. Two hosts may have
 * one name, so ranks that do not find that file make files, too, and all who have made one look for
 * all. Numbers of devices and of inodes would not do: two local disks may have the same ones. Costs
 * six collectives, and on the first rank of each host a look at the directory for each host before
 * it that does not share it; 20 bytes for each rank. */
#include "groups.h"
#include "spill/resume_state.h"

#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The ranks that make files. */
typedef struct search {
	rank_env *env;
	target *t;
	uint64_t id;
	int32_t *first, *of; /* [size] of each rank's host; of its group */
	int32_t own;         /* this rank, or the one before it whose file it has found */
} search;

/* first[i]: of the ranks of the host of rank i. */
static status find_hosts(rank_env *env, int32_t *first)
{
	comm *c = env->c;
	const uint64_t mine = XXH3_64bits(c->host, strlen(c->host));
	int32_t own = c->rank;
	status rc;
	uint64_t *host = env_allgather(env, &mine, sizeof mine, "hosts", &rc);
	for (int32_t i = c->rank; host && i-- > 0;)
		if (host[i] == mine)
			own = i;
	mem_free(&env->m, host);
	return rc == ST_OK ? comm_allgather(c, &own, first, sizeof own) : rc;
}

/* Make a file, if this rank is to. Then find the first of the ranks [from, to) whose file is here.
 */
static status look(search *x, bool makes, int32_t from, int32_t to)
{
	comm *c = x->env->c;
	char base[RESUME_NAME_BYTES], hidden[UNFINISHED_NAME_BYTES];
	int fd = -1;
	status rc = comm_agree(c, makes ? target_create(x->t, x->id, &fd, &x->env->e) : ST_OK);
	if (fd >= 0)
		close(fd);
	for (int32_t i = from; rc == ST_OK && x->own == c->rank && i < to; i++) {
		if (x->first[i] != i)
			continue;
		resume_state_name(i, base);
		const target t = { .base = base, .mark = target_mark(base), .id = x->id };
		target_hidden_name(&t, TARGET_TEMP, hidden);
		if (faccessat(x->t->dirfd, hidden, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			x->own = i;
	}
	return rc == ST_OK ? comm_allgather(c, &x->own, x->of, sizeof x->own) : rc;
}

/* Those that have not found the file of their host make files themselves. */
static status look_again(search *x)
{
	comm *c = x->env->c;
	bool any = false;
	x->own = x->of[c->rank];
	for (int32_t i = 0; i < c->size; i++)
		if (x->of[i] == i && x->first[i] != i) {
			x->first[i] = i;
			any = true;
		}
	return any ? look(x, x->own == c->rank && !*x->t->temp.name, 0, c->rank)
		   : comm_agree(c, ST_OK); /* before any of these files goes */
}

status groups_find(rank_env *env, target *t, groups *g)
{
	comm *c = env->c;
	const size_t p = (size_t)c->size;
	*g = (groups){ .of = mem_array(&env->m, p, sizeof *g->of, "groups", &env->e) };
	search x = { .env = env, .t = t, .of = g->of, .own = c->rank };
	x.first = mem_array(&env->m, p, sizeof *x.first, "hosts", &env->e);
	status rc = comm_agree(c, g->of && x.first ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK && c->process_ranks < c->size) {
		if (c->rank == 0 && getrandom(&x.id, sizeof x.id, 0) != sizeof x.id)
			x.id = (uint64_t)getpid();
		rc = find_hosts(env, x.first);
		if (rc == ST_OK)
			rc = comm_bcast(c, &x.id, sizeof x.id, 0);
		const int32_t host = x.first[c->rank];
		const bool follows = host >= 0 && host < c->rank;
		if (rc == ST_OK)
			rc = look(&x, host == c->rank, follows ? host : 0,
				  follows ? host + 1 : c->rank);
		if (rc == ST_OK)
			rc = look_again(&x);
		unfinished_remove(&t->temp);
		t->id = 0;
	}
	/* A rank is of the group of the one whose file it has found; whatever was said. */
	for (int32_t i = 0; rc == ST_OK && i < c->size; i++)
		g->of[i] = g->of[i] < 0 || g->of[i] >= i ? i : g->of[g->of[i]];
	for (int32_t i = 0; rc == ST_OK && i < c->size; i++) {
		g->own = g->of[c->rank];
		g->ranks += g->of[i] == g->own;
		g->place += g->of[i] == g->own && i < c->rank;
	}
	mem_free(&env->m, x.first);
	return rc;
}

void groups_free(mem *m, groups *g)
{
	mem_free(m, g->of);
	*g = (groups){ 0 };
}

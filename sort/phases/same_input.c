/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every rank reads its slice under the same names, and a name may lead to an old copy on one host:
 * of equal size, so the output would be half of each. On one host, device and inode decide. Between
 * hosts these mean nothing, and honest copies on local disks differ in their times; so sizes and a
 * checksum of some blocks are compared. Costs 66 reads of 4 KiB for each file, and only where ranks
 * are on several hosts. Memory: 32 bytes for each file, twice. */
#include "same_input.h"
#include "base/size.h"
#include "io/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCKS = 66, BLOCK_BYTES = 4096, FILES_AT_ONCE = 64 };

/* What a rank has read of one file. */
typedef struct amount {
	uint64_t recs;
	checksum sum;
} amount;

/* One file, as a rank sees it. */
typedef struct view {
	uint64_t dev, ino, bytes, sum;
} view;

/* What rank 0 says before its views. */
typedef struct reference {
	char host[HOST_BYTES];
	uint64_t files, streams;
} reference;

/* The first block, the last, and those between them at equal distances. */
static status sum_blocks(const input_file *f, int fd, uint64_t *sum, err *e)
{
	unsigned char block[BLOCK_BYTES];
	const uint64_t bytes = (uint64_t)f->st.st_size;
	const uint64_t last = bytes > BLOCK_BYTES ? bytes - BLOCK_BYTES : 0;
	const size_t n = (size_t)(bytes - last);
	status rc = ST_OK;
	XXH3_state_t h;
	XXH3_64bits_reset(&h);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t i = 0; i < BLOCKS && rc == ST_OK; i++) {
		const uint64_t at = i + 1 < BLOCKS ? last / (BLOCKS - 1) * i : last;
		rc = file_read_at(fd, block, n, at, f->path, e);
		if (rc == ST_OK)
			XXH3_64bits_update(&h, block, n);
	}
	*sum = XXH3_64bits_digest(&h);
	return rc;
}

static status look(const input_file *f, bool sample, view *v, err *e)
{
	int fd;
	*v = (view){ f->st.st_dev, f->st.st_ino, (uint64_t)f->st.st_size, 0 };
	if (!sample || f->is_stream)
		return ST_OK;
	status rc = input_open(f, false, &fd, e);
	if (rc != ST_OK)
		return rc;
	rc = sum_blocks(f, fd, &v->sum, e);
	close(fd);
	return rc;
}

/* NULL: none. */
static const char *difference(const view *a, const view *b, bool same_host)
{
	if (a->bytes != b->bytes)
		return "has another size";
	if (same_host)
		return a->dev != b->dev || a->ino != b->ino ? "is another file" : NULL;
	return a->sum != b->sum ? "has other content" : NULL;
}

static status compare(rank_env *env, const input *in, const reference *first, const view *mine,
		      const view *others)
{
	const bool same_host = memcmp(first->host, env->c->host, sizeof first->host) == 0;
	char q[QUOTED_BYTES];
	for (size_t i = 0; i < in->files; i++) {
		const char *how = difference(&mine[i], &others[i], same_host);
		if (how)
			return err_set(&env->e, ST_PEER, "input %s %s than on rank 0 (%.*s)",
				       err_quoted(in->file[i].path, q), how, HOST_BYTES - 1,
				       first->host);
	}
	return ST_OK;
}

static status exchange(rank_env *env, const input *in, view *mine, view *others)
{
	reference first = { .files = in->files, .streams = in->streams };
	memcpy(first.host, env->c->host, sizeof first.host);
	status rc = comm_bcast(env->c, &first, sizeof first, 0);
	if (rc == ST_OK && first.files != in->files)
		rc = err_set(&env->e, ST_PEER,
			     "the input has %zu file%s here, but %" PRIu64 " on rank 0 (%.*s)",
			     in->files, plural(in->files), first.files, HOST_BYTES - 1, first.host);
	if (rc == ST_OK && first.streams != in->streams)
		rc = err_set(&env->e, ST_PEER, "some inputs are streams here, but not on rank 0");
	rc = comm_agree(env->c, rc);
	if (rc != ST_OK)
		return rc;
	memcpy(others, mine, in->files * sizeof *mine);
	rc = comm_bcast(env->c, others, in->files * sizeof *others, 0);
	return rc == ST_OK ? compare(env, in, &first, mine, others) : rc;
}

status same_input(rank_env *env, const input *in, bool sample)
{
	view *mine = mem_array(&env->m, in->files, sizeof *mine, "inputs", &env->e);
	view *others = mem_array(&env->m, in->files, sizeof *others, "inputs", &env->e);
	status rc = mine && others ? ST_OK : ST_RESOURCE;
	for (size_t i = 0; i < in->files && rc == ST_OK; i++)
		rc = look(&in->file[i], sample, &mine[i], &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = comm_agree(env->c, exchange(env, in, mine, others));
	mem_free(&env->m, mine);
	mem_free(&env->m, others);
	return rc;
}

/* The amounts of all ranks, one rank after the other, become those of rank 0. */
static void join_amounts(const input *in, size_t first, const amount *all, int ranks)
{
	for (size_t i = 0; i < FILES_AT_ONCE && first + i < in->files; i++) {
		input_stated *s = in->file[first + i].stated;
		if (!s)
			continue;
		s->read_recs = 0;
		s->read = (checksum){ 0, 0 };
		for (int r = 0; r < ranks; r++) {
			const amount *a = &all[(size_t)r * FILES_AT_ONCE + i];
			s->read_recs += a->recs;
			s->read = checksum_join(s->read, a->sum);
		}
	}
}

/* What each rank has read of the files that all of them read, to rank 0. */
static status gather_amounts(rank_env *env, const input *in)
{
	const size_t ranks = env->c->rank == 0 ? (size_t)env->c->size : 0;
	amount *all = mem_array(&env->m, ranks * FILES_AT_ONCE, sizeof *all, "inputs", &env->e);
	status rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	for (size_t first = 0; first < in->files && rc == ST_OK; first += FILES_AT_ONCE) {
		amount mine[FILES_AT_ONCE] = { 0 };
		for (size_t i = 0; i < FILES_AT_ONCE && first + i < in->files; i++) {
			const input_stated *s = in->file[first + i].stated;
			if (s)
				mine[i] = (amount){ s->read_recs, s->read };
		}
		rc = comm_gather(env->c, mine, all, sizeof mine, 0);
		if (rc == ST_OK && ranks)
			join_amounts(in, first, all, env->c->size);
	}
	mem_free(&env->m, all);
	return rc;
}

status same_as_stated(rank_env *env, const input *in)
{
	const bool shared = env->c->size > 1 && !in->per_rank && !env->o->from_root;
	status rc = shared ? gather_amounts(env, in) : ST_OK;
	for (size_t i = 0; i < in->files; i++) {
		input_stated *s = in->file[i].stated;
		if (!s)
			continue;
		if (rc == ST_OK && (!shared || env->c->rank == 0))
			rc = input_check_stated(&in->file[i], &env->e);
		s->read_recs = 0;
		s->read = (checksum){ 0, 0 };
	}
	return comm_agree(env->c, rc);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0 gathers what each rank says of its part and writes it as JSON, next to the parts. */
#include "manifest.h"
#include "json.h"
#include "names.h"

#include <stdlib.h>
#include <string.h>

/* A rank's part, followed by its first and last key. */
typedef struct part {
	uint64_t records;
	checksum sum;
} part;

static json_t *part_json(const job *j, int rank, const unsigned char *at)
{
	const size_t key = j->o->lay.key_bytes;
	part p;
	err e = { 0 };
	memcpy(&p, at, sizeof p);
	char *path = name_expand(j->o->output, rank, &e);
	if (!path)
		return NULL;
	const char *slash = strrchr(path, '/');
	json_t *o = json_pack("{s:i, s:o, s:I, s:o}", "rank", rank, "file",
			      json_name(slash ? slash + 1 : path), "records", (json_int_t)p.records,
			      "checksum", json_checksum(p.sum));
	free(path);
	if (o && p.records) {
		json_object_set_new(o, "first_key", json_hex(at + sizeof p, key));
		json_object_set_new(o, "last_key", json_hex(at + sizeof p + key, key));
	}
	return o;
}

static json_t *manifest_json(const job *j, const unsigned char *all, size_t bytes)
{
	json_t *parts = json_array();
	for (int i = 0; i < j->c->size; i++) {
		if (json_array_append_new(parts, part_json(j, i, all + (size_t)i * bytes)) != 0) {
			json_decref(parts);
			return NULL;
		}
	}
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:I, s:s, s:o}", "format", "hetsort-manifest",
			 "version", 1, "record_bytes", (int)j->o->lay.record_bytes, "key_offset",
			 (int)j->o->lay.key_off, "key_bytes", (int)j->o->lay.key_bytes, "records",
			 (json_int_t)j->records, "checksum_kind", CHECKSUM_NAME, "parts", parts);
}

status manifest_write(job *j)
{
	const size_t p = (size_t)j->c->size, key = j->o->lay.key_bytes;
	const size_t bytes = sizeof(part) + 2 * key;
	unsigned char *mine = mem_array(&j->m, 1, bytes, "manifest", &j->e);
	unsigned char *all = mem_array(&j->m, p, bytes, "manifest", &j->e);
	status rc = comm_agree(j->c, mine && all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		const part own = { j->mine.out, j->mine.sum_out };
		memcpy(mine, &own, sizeof own);
		memcpy(mine + sizeof own, j->seen.first_key, 2 * key);
		rc = comm_gather(j->c, mine, all, bytes, 0);
	}
	if (rc == ST_OK && j->c->rank == 0)
		rc = json_write(manifest_json(j, all, bytes), &j->out.manifest, j->o->force,
				j->o->fsync, &j->e);
	mem_free(&j->m, mine, 1, bytes);
	mem_free(&j->m, all, p, bytes);
	return rc;
}

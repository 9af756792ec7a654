/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads operands from a list, finds sets among them, and processes the operands of --clean and
 * --check-manifest. Every operand is processed, even if one fails, and the worst status is the
 * program's. Parts are read from the directory of the manifest, and never through a symbolic link.
 */
#include "operands.h"
#include "options.h"
#include "base/size.h"
#include "io/file.h"
#include "io/journal.h"
#include "io/reader.h"
#include "phases/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------ operands from a list */

enum { LIST_FIRST_BYTES = 64 << 10, LIST_MOST_BYTES = 1 << 30 };

/* Open the list. Under a launcher, every rank reads it, and only a file gives all ranks the same
 * names: a stream would give each rank some of them. */
static status list_open(const settings *o, int *fd, err *e)
{
	const char *path = o->files0_from;
	struct stat st;
	const bool standard = stream_is_standard(path);
	*fd = -1;
	if (comm_mpi_launched() && o->launcher != LAUNCHER_NONE &&
	    (standard || (stat(path, &st) == 0 && !S_ISREG(st.st_mode))))
		return err_set(
			e, ST_REFUSED,
			"%s of --files0-from: under a launcher, every rank reads the list, so "
			"it must be a file, not a stream",
			quoted(path));
	*fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	return *fd < 0 ? err_refuse(e, errno, "cannot open %s of --files0-from", quoted(path))
		       : ST_OK;
}

/* Read the whole list, end its last name, and count the names. */
static status list_read(operand_list *l, int fd, const char *path, err *e)
{
	size_t room = LIST_FIRST_BYTES, got = 0, bytes = 0;
	status rc = ST_OK;
	for (; rc == ST_OK && bytes < LIST_MOST_BYTES; room *= 2) {
		char *more = realloc(l->text, room + 1);
		if (!more)
			return err_set(e, ST_RESOURCE, "no memory for the names in %s",
				       quoted(path));
		l->text = more;
		rc = file_read_some(fd, l->text + bytes, room - bytes, &got, path, e);
		bytes += got;
		if (bytes < room)
			break;
	}
	if (rc == ST_IO) /* nothing has been done yet */
		e->code = rc = ST_REFUSED;
	if (rc != ST_OK)
		return rc;
	if (bytes >= LIST_MOST_BYTES)
		return err_set(e, ST_REFUSED, "%s of --files0-from is larger than 1 GiB",
			       quoted(path));
	if (bytes && l->text[bytes - 1] != '\0')
		l->text[bytes++] = '\0';
	for (size_t i = 0; i < bytes; i++)
		l->names += l->text[i] == '\0';
	return l->names ? ST_OK
			: err_set(e, ST_REFUSED, "%s of --files0-from contains no names",
				  quoted(path));
}

status operands_read(settings *o, operand_list *l, err *e)
{
	const char *path = o->files0_from;
	int fd;
	*l = (operand_list){ .text = NULL };
	status rc = list_open(o, &fd, e);
	if (rc == ST_OK)
		rc = list_read(l, fd, path, e);
	if (fd > STDIN_FILENO)
		close(fd);
	if (rc != ST_OK)
		return rc;
	l->name = malloc(l->names * sizeof *l->name);
	if (!l->name)
		return err_set(e, ST_RESOURCE, "no memory for %zu names", l->names);
	char *at = l->text;
	for (size_t i = 0; i < l->names; i++, at += strlen(at) + 1) {
		l->name[i] = at;
		if (!*at)
			return err_set(e, ST_REFUSED, "name %zu in %s of --files0-from is empty",
				       i + 1, quoted(path));
		if (stream_is_standard(at) && stream_is_standard(path))
			return err_set(e, ST_REFUSED,
				       "name %zu of --files0-from=- is -, but standard input is "
				       "the list: put the list into a file",
				       i + 1);
	}
	return options_take_names(o, (const char *const *)l->name, l->names, e);
}

void operands_free(operand_list *l)
{
	free(l->name);
	free(l->text);
	*l = (operand_list){ .text = NULL };
}

/* ------------------------------------------------------------------------ sets among operands */

/* The file of an operand. */
typedef struct named_file {
	uint64_t dev, ino;
	char *name;
	size_t place;
	bool is_manifest, twice, folded;
} named_file;

static int by_file(const void *a_, const void *b_)
{
	const named_file *a = a_, *b = b_;
	return a->dev != b->dev   ? (a->dev > b->dev ? 1 : -1)
	       : a->ino != b->ino ? (a->ino > b->ino ? 1 : -1)
				  : 0;
}

static int by_place(const void *a_, const void *b_)
{
	const named_file *a = a_, *b = b_;
	return a->folded != b->folded ? a->folded - b->folded : a->place > b->place ? 1 : -1;
}

/* Mark the operands that are parts of this manifest. If one is, each part must be named once. A
 * manifest that cannot be read and a missing part are reported later. */
static status fold_parts(const char *path, named_file *file, size_t files, err *e)
{
	manifest m;
	struct stat st;
	const char *left_out = NULL, *twice = NULL;
	bool any = false;
	status rc = ST_OK;
	const status loaded = manifest_load(&m, path, NULL);
	for (size_t i = 0; loaded == ST_OK && rc == ST_OK && i < m.parts; i++) {
		char *name = manifest_part_path(path, &m.part[i], e);
		if (!name)
			rc = ST_RESOURCE;
		else if (stat(name, &st) == 0) {
			const named_file key = { .dev = st.st_dev, .ino = st.st_ino };
			named_file *f = bsearch(&key, file, files, sizeof *file, by_file);
			if (!f || f->is_manifest)
				left_out = m.part[i].file;
			else if (f->twice)
				twice = m.part[i].file;
			else
				f->folded = any = true;
		}
		free(name);
	}
	if (rc == ST_OK && (twice || (any && left_out)))
		rc = err_set(e, ST_REFUSED,
			     "manifest %s is named with parts of it, but its part %s is %s: name "
			     "only the manifest, or also each part once",
			     quoted(path), quoted(twice ? twice : left_out),
			     twice ? "named twice" : "not named");
	manifest_free(&m);
	return rc;
}

status operands_fold(settings *o, char **operand, err *e)
{
	const size_t n = o->ninputs;
	size_t manifests = 0, folded = 0;
	for (size_t i = 0; n > 1 && i < n; i++)
		manifests += role_begins_file(ROLE_MANIFEST, operand[i]);
	if (!manifests)
		return ST_OK;
	named_file *file = calloc(n, sizeof *file);
	if (!file)
		return err_set(e, ST_RESOURCE, "no memory for %zu names", n);
	for (size_t i = 0; i < n; i++) {
		struct stat st = { 0 };
		const bool exists = stat(operand[i], &st) == 0;
		file[i] = (named_file){ .dev = st.st_dev,
					.ino = st.st_ino,
					.name = operand[i],
					.place = i,
					.is_manifest = exists && role_begins_file(ROLE_MANIFEST,
										  operand[i]) };
	}
	qsort(file, n, sizeof *file, by_file);
	for (size_t i = 1; i < n; i++)
		if (by_file(&file[i - 1], &file[i]) == 0)
			file[i - 1].twice = file[i].twice = true;
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < n; i++)
		if (file[i].is_manifest)
			rc = fold_parts(file[i].name, file, n, e);
	qsort(file, n, sizeof *file, by_place);
	for (size_t i = 0; i < n; i++) {
		operand[i] = file[i].name;
		folded += file[i].folded;
	}
	o->ninputs -= folded;
	free(file);
	return rc;
}

/* ------------------------------------------------------------------------------- cleaning */

/* Clean one file or directory, and add to n. */
static status clean_path(const char *path, cleaned *n)
{
	err e = { ST_OK, "" };
	struct stat st;
	cleaned here = { 0 };
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		workdir_clean(path, &here, &e);
	else
		journal_clean(path, 0, &here, &e);
	cleaned_add(n, &here);
	if (here.note.code != ST_OK)
		fprintf(stderr, "hetsort: note: %s\n", here.note.text);
	if (e.code != ST_OK)
		fprintf(stderr, "hetsort: %s\n", e.text);
	return e.code;
}

/* Clean one operand. For a name with %r, first complete the commit of the parts if they have a
 * manifest, then clean each part. */
static status clean_operand(const settings *o, const char *operand, cleaned *n)
{
	const bool parts = name_is_per_rank(operand);
	const char *slash = strrchr(operand, '/');
	char *dir = strndup(operand, slash ? (size_t)(slash - operand) : 0), *path = NULL;
	if (parts && o->manifest)
		path = strdup(o->manifest);
	else if (parts && dir && !name_is_per_rank(dir))
		path = name_expand(operand, RANK_MANIFEST, NULL);
	free(dir);
	status worst = path ? clean_path(path, n) : ST_OK;
	free(path);
	for (int r = 0; r < (parts ? o->ranks : 1); r++) {
		err e = { ST_OK, "" };
		path = name_expand(operand, r, &e);
		if (!path)
			fprintf(stderr, "hetsort: %s\n", e.text);
		const status rc = path ? clean_path(path, n) : e.code;
		free(path);
		worst = rc > worst ? rc : worst;
	}
	return worst;
}

status operands_clean(const settings *o)
{
	status worst = ST_OK;
	for (size_t i = 0; i < o->ninputs; i++) {
		cleaned n = { 0 };
		const status rc = clean_operand(o, o->inputs[i], &n);
		worst = rc > worst ? rc : worst;
		if (o->verbosity < 0 || (rc != ST_OK && !n.removed && !n.named))
			continue;
		fprintf(stderr, "hetsort: %s: ", quoted(o->inputs[i]));
		if (n.named)
			fprintf(stderr, "ended the commit of %u part%s%s", n.named, plural(n.named),
				n.removed ? ", " : "");
		if (n.removed)
			fprintf(stderr, "removed %u file%s", n.removed, plural(n.removed));
		if (!n.removed && !n.named)
			fputs("nothing to clean", stderr);
		if (n.stays) {
			fprintf(stderr, "; %s", quoted(n.first));
			if (n.stays > 1)
				fprintf(stderr, " and %u more", n.stays - 1);
			fprintf(stderr, " stay%s, because nothing proves that hetsort made %s",
				n.stays > 1 ? "" : "s", n.stays > 1 ? "them" : "it");
		}
		fputc('\n', stderr);
	}
	return worst;
}

/* ---------------------------------------------------------------------------- check a manifest */

typedef struct manifest_checking {
	const manifest *said;
	int dirfd;
	mem m;
	unsigned char *keys; /* first and last key of the part, last key of the parts before it */
	bool any;            /* there are records before this part */
	err *e;
} manifest_checking;

/* Compare one end of the part with the key that the manifest states, in hexadecimal digits and as
 * values. An older manifest has no values. */
static status same_key(manifest_checking *k, const char *file, const char *end,
		       const unsigned char *key, const char *hex, const json_t *values)
{
	const layout *l = &k->said->lay;
	json_t *is = json_hex(key, l->key_bytes), *are = manifest_values(l, key);
	const bool same = is && hex && strcmp(json_string_value(is), hex) == 0;
	const bool same_values = !values || (are && l->fields && json_equal(are, values));
	json_decref(is);
	json_decref(are);
	return same && same_values
		       ? ST_OK
		       : err_set(k->e, ST_INVALID, "part %s does not have the %s key that %s",
				 quoted(file), end, same ? "its values state" : "is stated");
}

/* Inspect a part, and compare it with the manifest and with the preceding part. */
static status check_part(manifest_checking *k, const manifest_part *s)
{
	const layout *l = &k->said->lay;
	const size_t bytes = l->key_bytes;
	unsigned char *first = k->keys, *last = first + bytes, *before = last + bytes;
	inspected seen = { .first_key = first,
			   .last_key = last,
			   .order = k->said->unsorted_inside ? INSPECT_ANY : INSPECT_SORTED };
	const char *why;
	status rc = reader_inspect_part(k->dirfd, s, l, &seen, &why, k->e);
	if (rc != ST_OK || (!why && s->records == 0))
		return rc;
	if (!why && !k->said->unordered) {
		rc = same_key(k, s->file, "first", first, s->first, s->first_values);
		if (rc == ST_OK)
			rc = same_key(k, s->file, "last", last, s->last, s->last_values);
		if (rc != ST_OK)
			return rc;
		if (k->any && key_copies_compare(l, before, first) > 0)
			why = "begins before the end of the preceding part";
	}
	memcpy(before, last, bytes);
	k->any = true;
	return why ? err_set(k->e, ST_INVALID, "part %s %s", quoted(s->file), why) : ST_OK;
}

status manifest_check(const char *path, manifest *said, err *e)
{
	target t;
	manifest_checking k = { .said = said, .e = e };
	*said = (manifest){ .doc = NULL };
	status rc = target_open(&t, path, e);
	if (rc == ST_OK)
		rc = manifest_settled(path, NULL, e) == ST_OK ? ST_OK : (e->code = ST_INVALID);
	if (rc == ST_OK)
		rc = manifest_load(said, path, e);
	if (rc == ST_OK) {
		k.dirfd = t.dirfd;
		k.keys = mem_array(&k.m, 3u * said->lay.key_bytes, 1, "keys", e);
		rc = k.keys ? ST_OK : ST_RESOURCE;
	}
	for (size_t i = 0; rc == ST_OK && i < said->parts; i++)
		rc = check_part(&k, &said->part[i]);
	mem_free(&k.m, k.keys);
	target_discard(&t);
	return rc;
}

status operands_check(const settings *o)
{
	status worst = ST_OK;
	for (size_t i = 0; i < o->ninputs; i++) {
		err e = { ST_OK, "" };
		manifest m;
		const status rc = manifest_check(o->inputs[i], &m, &e);
		if (rc != ST_OK)
			fprintf(stderr, "hetsort: %s\n", e.text);
		else if (o->verbosity > 0)
			fprintf(stderr,
				"hetsort: %s: %zu part%s, %" PRIu64 " record%s, %" PRIu64
				" byte%s: sizes%s and checksums are as stated\n",
				quoted(o->inputs[i]), m.parts, plural(m.parts), m.records,
				plural(m.records), m.records * m.lay.record_bytes,
				plural(m.records * m.lay.record_bytes),
				m.unordered ? "" : ", order, first and last keys");
		manifest_free(&m);
		worst = rc > worst ? rc : worst;
	}
	return worst;
}

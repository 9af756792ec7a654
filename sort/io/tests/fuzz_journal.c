/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz journals, and the old manifests that they put aside, separated by a zero byte. For any
 * bytes, --clean completes the set or refuses with a sentence. Files that are not named as parts of
 * this output, in the directory and outside of it, stay unchanged. Readers and a new job for the
 * set print a sentence at most. */
#include "../../../scripts/fuzz.h"
#include "io/journal.h"
#include "io/manifest.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 320, MAKER = 0x5eed };

static char base_dir[] = "/tmp/hetsort-fuzz.XXXXXX";
static const char *const kept[] = { "other.2", "x.0", "out.2.bak", "out.02", "../outside" };
static const char *const parts[] = { "out.0", "out.1", "out.2" };

#define LEN(a) (sizeof(a) / sizeof *(a))

static void path_of(char path[PATH_BYTES], const char *name)
{
	snprintf(path, PATH_BYTES, "%s/set/%s", base_dir, name);
}

static void put(const char *name, const void *data, size_t size)
{
	char path[PATH_BYTES];
	path_of(path, name);
	const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
}

static void clean(void)
{
	char path[PATH_BYTES];
	for (size_t i = 0; i < LEN(kept); i++) {
		path_of(path, kept[i]);
		(void)unlink(path);
	}
	path_of(path, "");
	(void)rmdir(path);
	(void)rmdir(base_dir);
}

static void prepare(void)
{
	char path[PATH_BYTES];
	fuzz_check(mkdtemp(base_dir) != NULL);
	path_of(path, "");
	fuzz_check(mkdir(path, 0700) == 0 && atexit(clean) == 0);
	for (size_t i = 0; i < LEN(kept); i++)
		put(kept[i], "kept", 4);
}

/* Make the parts of the old set, and the parts of the new one that have no final name yet. */
static void put_parts(const target *m)
{
	static const char *const old[] = { "aaaa", "bbbb", "cccc" };
	for (size_t i = 0; i < LEN(parts); i++) {
		char path[PATH_BYTES], name[UNFINISHED_NAME_BYTES];
		err e = { ST_OK, "" };
		target t;
		put(parts[i], old[i], 4);
		path_of(path, parts[i]);
		fuzz_check(target_open(&t, path, &e) == ST_OK);
		t.id = m->id;
		target_hidden_name(&t, TARGET_TEMP, name);
		if (i < 2)
			put(name, i == 0 ? "dddd" : "eeee", 4);
		target_discard(&t);
	}
}

static void put_hidden(const target *m, target_kind kind, const void *data, size_t size)
{
	char name[UNFINISHED_NAME_BYTES];
	target_hidden_name(m, kind, name);
	put(name, data, size);
}

static void check_kept(void)
{
	for (size_t i = 0; i < LEN(kept); i++) {
		char path[PATH_BYTES], text[8] = "";
		path_of(path, kept[i]);
		const int fd = open(path, O_RDONLY | O_CLOEXEC);
		fuzz_check(fd >= 0 && read(fd, text, sizeof text) == 4);
		fuzz_check(memcmp(text, "kept", 4) == 0 && close(fd) == 0);
	}
}

/* Check that the surplus old part was removed only if the old manifest states its checksum, for any
 * record size. */
static void check_removed(const void *old, size_t size)
{
	char path[PATH_BYTES];
	bool stated = false;
	path_of(path, parts[2]);
	for (size_t bytes = 1; bytes <= 4; bytes *= 2) {
		const layout one = { .record_bytes = (uint32_t)bytes };
		json_t *sum = json_checksum(
			checksum_records(&one, (const unsigned char *)"cccc", 4 / bytes));
		fuzz_check(sum != NULL);
		stated |= old && memmem(old, size, json_string_value(sum), 32) != NULL;
		json_decref(sum);
	}
	fuzz_check(stated || access(path, F_OK) == 0);
}

/* Remove all files of the directory except those that must be kept. */
static void remove_rest(const target *m)
{
	DIR *d = target_list(m);
	fuzz_check(d != NULL);
	for (const struct dirent *f; (f = readdir(d));) {
		bool stays = f->d_name[0] == '.' && strncmp(f->d_name, ".hetsort-", 9) != 0;
		for (size_t i = 0; i < LEN(kept); i++)
			stays |= strcmp(f->d_name, kept[i]) == 0;
		if (!stays)
			(void)unlinkat(m->dirfd, f->d_name, 0);
	}
	closedir(d);
}

static void check_sentence(status rc, const err *e)
{
	fuzz_check(rc == e->code && (rc == ST_OK) == !e->text[0] && fuzz_clean(e->text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[PATH_BYTES];
	err e = { ST_OK, "" }, read = { ST_OK, "" };
	const uint8_t *const end = size ? memchr(data, 0, size) : NULL;
	const size_t journal = end ? (size_t)(end - data) : size;
	target m;
	cleaned n;
	size_t surplus;
	if (strstr(base_dir, "XXXXXX"))
		prepare();
	path_of(path, "out.manifest");
	fuzz_check(target_open(&m, path, &e) == ST_OK);
	m.id = MAKER;
	put_parts(&m);
	if (end)
		put_hidden(&m, TARGET_OLD, end + 1, size - journal - 1);
	put_hidden(&m, TARGET_REPLACES, data, journal);
	fuzz_check(manifest_settled(path, NULL, &read) == ST_REFUSED && fuzz_clean(read.text));
	check_sentence(journal_clean(path, 0, &n, &e), &e);
	fuzz_check(fuzz_clean(n.note.text));
	check_removed(end, end ? size - journal : 0);
	check_kept();
	if (end)
		put("out.manifest", end + 1, size - journal - 1);
	const bool ours = journal_surplus(&m, "out.%r", 2, &surplus);
	fuzz_check(ours == !m.past.note.text[0] && fuzz_clean(m.past.note.text));
	check_kept();
	remove_rest(&m);
	target_discard(&m);
	return 0;
}

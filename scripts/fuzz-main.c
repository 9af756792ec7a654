/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main() of a fuzzer without libFuzzer. It runs the fuzzer on each file of the command line, or
 * else on each file of the fuzzer's corpus. The corpus of .../DIR/tests/fuzz_NAME is
 * $ROOT/DIR/tests/corpus/NAME; DIR may be two directories. So every input that was ever found is a
 * test with any compiler. Prints TAP; a run that fails aborts. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, NAME_BYTES = 257 };

static int compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Return the contents of a file, in an allocation of exactly its size; NULL and errno on
 * failure. */
static uint8_t *load(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long n = -1;
	if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
		data = malloc(n ? (size_t)n : 1);
	if (data && fread(data, 1, (size_t)n, f) != (size_t)n) {
		free(data);
		data = NULL;
	}
	if (f)
		fclose(f);
	*size = (size_t)n;
	return data;
}

static bool replay(const char *path, int number)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t size;
	uint8_t *data = load(path, &size);
	if (!data) {
		printf("not ok %d - cannot read %s: %s\n", number, path, strerror(errno));
		return false;
	}
	printf("# %s\n", name); /* names the input if this run aborts */
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	printf("ok %d - %s\n", number, name);
	return true;
}

/* Find the corpus of this program. Its directory below $ROOT has two components, or one. */
static bool corpus_of(const char *program, char dir[PATH_BYTES])
{
	static const char marker[] = "/tests/fuzz_";
	const char *root = getenv("ROOT"), *tests = strstr(program, marker);
	bool found = false;
	for (int directories = 2; tests && directories > 0 && !found; directories--) {
		const char *room = tests;
		for (int slashes = 0; room > program; room--)
			if (room[-1] == '/' && ++slashes == directories)
				break;
		const int n =
			snprintf(dir, PATH_BYTES, "%s/%.*s/tests/corpus/%s", root ? root : ".",
				 (int)(tests - room), room, tests + sizeof marker - 1);
		found = n > 0 && n < PATH_BYTES && (directories == 1 || access(dir, F_OK) == 0);
	}
	return found;
}

static int replay_corpus(const char *dir)
{
	struct dirent **list;
	char path[PATH_BYTES + NAME_BYTES];
	const int n = scandir(dir, &list, visible, compare);
	int bad = 0;
	if (n < 1) {
		printf("1..1\nnot ok 1 - no corpus in %s\n", dir);
		return EXIT_FAILURE;
	}
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
		bad += !replay(path, i + 1);
		free(list[i]);
	}
	free(list);
	printf("1..%d\n", n);
	return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	char dir[PATH_BYTES];
	int bad = 0;
	if (argc < 2 && corpus_of(argv[0], dir))
		return replay_corpus(dir);
	for (int i = 1; i < argc; i++)
		bad += !replay(argv[i], i);
	printf("1..%d\n", argc - 1);
	return bad || argc < 2 ? EXIT_FAILURE : EXIT_SUCCESS;
}

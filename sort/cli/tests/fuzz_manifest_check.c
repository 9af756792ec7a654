/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzzer of --check-manifest: a manifest of any bytes is refused with a message, or its parts are
 * checked. They are in its own directory, which contains only empty parts here. */
#include "../../../scripts/fuzz.h"
#include "cli/operands.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hetsort-fuzz.XXXXXX", path[64], part[64];

static void clean(void)
{
	(void)unlink(path);
	(void)unlink(part);
	(void)rmdir(dir);
}

static void prepare(void)
{
	fuzz_check(mkdtemp(dir) != NULL);
	snprintf(path, sizeof path, "%s/manifest", dir);
	snprintf(part, sizeof part, "%s/part.0", dir);
	const int fd = open(part, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	fuzz_check(fd >= 0 && close(fd) == 0 && atexit(clean) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	err e = { ST_OK, "" };
	if (!*path)
		prepare();
	const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
	manifest n;
	const status rc = manifest_check(path, &n, &e);
	manifest_free(&n);
	fuzz_check(rc == e.code && (rc == ST_OK) == !e.text[0] && fuzz_clean(e.text));
	fuzz_check(rc == ST_OK || rc == ST_INVALID || rc == ST_REFUSED || rc == ST_RESOURCE);
	return 0;
}

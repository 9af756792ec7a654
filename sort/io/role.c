/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of roles. Looking at a file costs one read of a few hundred bytes. */
#include "role.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MARKS = 2, WORDS = 7, HEAD_BYTES_MOST = 512 };

/* marks: white space may stand between their words, as JSON allows it. */
typedef struct role_row {
	const char *name, *writer, *mark[MARKS][WORDS];
} role_row;

#define FORMAT(name) "{", "\"format\"", ":", "\"" name "\""

static const role_row rows[FILE_ROLES] = {
	[ROLE_ANY] = { .name = "file" },
	[ROLE_INPUT] = { .name = "input" },
	[ROLE_SOURCE_MANIFEST] = { .name = "the input's manifest" },
	[ROLE_PLATFORM] = { .name = "platform" },
	[ROLE_SPEEDS] = { .name = "speeds file" },
	[ROLE_LINKS] = { .name = "links file" },
	[ROLE_DISKS] = { .name = "disks file" },
	[ROLE_SOURCE_REPORT] = { .name = "report" },
	[ROLE_WORKDIR] = { .name = "the workdir's" },
	[ROLE_STDOUT] = { .name = "output" }, /* its path is "-" */
	[ROLE_OUTPUT] = { .name = "output" },
	[ROLE_MANIFEST] = { "manifest",
			    "hetsort as a manifest",
			    { { FORMAT("hetsort-manifest") } } },
	[ROLE_WISDOM] = { "wisdom", "hetsort --wisdom", { { "hetpart-wisdom " } } },
	[ROLE_REPORT] = { "report",
			  "hetsort --report",
			  { { FORMAT("hetsort-report") }, { FORMAT("hetsort-check") } } },
	[ROLE_TRACE] = { "trace",
			 "hetsort --trace",
			 { { "{", "\"otherData\"", ":", "{", "\"program\"", ":",
			     "\"hetsort\"" } } },
	[ROLE_PAGE] = { "page", "hetsort --html or hetsort-report", { { ROLE_PAGE_MARK } } },
	[ROLE_SIM_REPORT] = { "report",
			      "hetsim --report",
			      { { ROLE_SIM_REPORT_MARK }, { FORMAT("hetsim-report") } } },
};

const char *role_name(file_role r)
{
	return rows[r].name;
}

const char *role_writer(file_role r)
{
	return rows[r].writer;
}

static bool has_mark(const char *const word[WORDS], const char *text, size_t bytes)
{
	size_t at = 0;
	for (size_t i = 0; i < WORDS && word[i]; i++) {
		const size_t n = strlen(word[i]);
		while (at < bytes && memchr(" \t\n\r", text[at], 4))
			at++;
		if (bytes - at < n || memcmp(text + at, word[i], n) != 0)
			return false;
		at += n;
	}
	return word[0] != NULL;
}

bool role_begins(file_role r, const char *text, size_t bytes)
{
	bool is = false;
	for (size_t i = 0; i < MARKS; i++)
		is = is || has_mark(rows[r].mark[i], text, bytes);
	return is;
}

/* 1: yes; 0: the file is empty; -1: no. */
static int judge(file_role r, int dirfd, const char *name, int flags)
{
	char text[HEAD_BYTES_MOST];
	struct iovec v = { text, sizeof text };
	struct stat st;
	ssize_t n = -1;
	/* To open a pipe and close it again would end its writer. */
	if (fstatat(dirfd, name, &st, flags ? AT_SYMLINK_NOFOLLOW : 0) != 0 || !S_ISREG(st.st_mode))
		return -1;
	const int fd = openat(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		do
			n = preadv2(fd, &v, 1, 0, 0);
		while (n < 0 && errno == EINTR);
	close(fd);
	return n > 0 && role_begins(r, text, (size_t)n) ? 1 : n == 0 ? 0 : -1;
}

bool role_begins_file(file_role r, const char *path)
{
	return judge(r, AT_FDCWD, path, 0) > 0;
}

bool role_wrote(file_role r, int dirfd, const char *name)
{
	return judge(r, dirfd, name, O_NOFOLLOW) >= 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input.c - a file, or standard input, in memory.
 * May not touch: what is in it. Costs its bytes, up to the limit of a request. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hetplan.h"

/* All of a stream into memory, up to one byte over the limit, with room for one more. */
static bool read_all(struct hp_job *job, FILE *f, char **text, size_t *bytes)
{
	size_t room = 0, limit = job->limits->line_bytes + 1, got;

	*text = NULL;
	*bytes = 0;
	do {
		if (*bytes == room) {
			char *more;
			room = room ? 2 * room : 65536;
			if (!(more = realloc(*text, room + 1)))
				return hp_fail(job, NULL, "out of memory");
			*text = more;
		}
		got = fread(*text + *bytes, 1, room - *bytes, f);
		*bytes += got;
	} while (got > 0 && *bytes < limit);
	return !ferror(f) || hp_fail(job, NULL, "%s", strerror(errno));
}

bool hp_read_file(struct hp_job *job, const char *path, char **text, size_t *bytes)
{
	bool standard = strcmp(path, "-") == 0, ok;
	FILE *f = standard ? stdin : fopen(path, "r");

	*text = NULL;
	if (!f)
		return hp_fail(job, NULL, "%s", strerror(errno));
	ok = read_all(job, f, text, bytes);
	if (!standard && fclose(f) != 0)
		ok = hp_fail(job, NULL, "%s", strerror(errno));
	return ok;
}

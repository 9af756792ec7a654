/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a file is to a job, and how the files begin that hetsort writes next to its output. Only by
 * its content does a file prove that hetsort wrote it for a role; names prove nothing. */
#ifndef HETSORT_IO_ROLE_H
#define HETSORT_IO_ROLE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum file_role {
	ROLE_ANY,
	ROLE_INPUT, /* the first ones are only read */
	ROLE_SOURCE_MANIFEST,
	ROLE_PLATFORM, /* of hetsim */
	ROLE_SPEEDS,
	ROLE_LINKS,
	ROLE_DISKS,
	ROLE_SOURCE_REPORT, /* of hetsort-report */
	ROLE_WORKDIR,       /* a state or a run */
	ROLE_STDOUT,
	ROLE_OUTPUT,
	ROLE_MANIFEST,
	ROLE_WISDOM,
	ROLE_REPORT, /* from here on: written by rank 0 when the job has ended */
	ROLE_TRACE,
	ROLE_PAGE,
	ROLE_SIM_REPORT, /* of hetsim */
	FILE_ROLES
} file_role;

/* How a page and a report of hetsim begin. */
#define ROLE_PAGE_MARK       "<!-- hetsort: page of a report -->\n"
#define ROLE_SIM_REPORT_MARK "hetsim report\n"

/* role_name - for messages: "report". role_writer - who writes such files, "hetsort --report". */
const char *role_name(file_role r);
const char *role_writer(file_role r);

/* role_begins - does a text begin as files of this role do? role_begins_file - does a regular file?
 * role_wrote - the same of a name that is no symbolic link; true also of an empty file, because
 * nothing is lost with it. */
bool role_begins(file_role r, const char *text, size_t bytes);
bool role_begins_file(file_role r, const char *path);
bool role_wrote(file_role r, int dirfd, const char *name);

#endif

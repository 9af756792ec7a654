/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts open descriptors, to find leaks. */
#ifndef HETSORT_TESTING_TESTS_OPEN_FILES_H
#define HETSORT_TESTING_TESTS_OPEN_FILES_H

#include <dirent.h>
#include <stddef.h>

/* open_files - return the number of descriptors that this process has open. */
static inline size_t open_files(void)
{
	size_t n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

#endif

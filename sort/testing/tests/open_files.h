/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The number of descriptors that this process has open, to find those that a call leaves open. */
#ifndef HETSORT_TESTING_TESTS_OPEN_FILES_H
#define HETSORT_TESTING_TESTS_OPEN_FILES_H

#include <dirent.h>
#include <stddef.h>

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

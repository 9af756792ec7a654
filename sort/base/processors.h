/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processors that the calling thread may use. */
#ifndef HETSORT_BASE_PROCESSORS_H
#define HETSORT_BASE_PROCESSORS_H

#include <stdint.h>

typedef struct processors {
	uint32_t count;    /* that the thread may use; 0: not known */
	uint32_t online;   /* of the machine; 0: not known. Equal to count if count is above 1,
			    * because counting them reads a file */
	uint64_t set_hash; /* equal for threads that may use the same processors */
} processors;

processors processors_find(void);

/* processors_usable - return how many p has; if not known, those of the machine, at least 1.
 * processors_count - return the same for the calling thread. */
unsigned processors_usable(const processors *p);
unsigned processors_count(void);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An output that earlier ranks have noted as complete, put together from their states. */
#ifndef HETSORT_RESUME_SAVED_OUTPUT_H
#define HETSORT_RESUME_SAVED_OUTPUT_H

#include "states.h"

typedef struct saved_output {
	output_checkpoint all;   /* of all parts together; id 0: there is none */
	int32_t ranks;           /* that have made it */
	output_checkpoint *part; /* [ranks] if this job has as many; NULL: it has not */
} saved_output;

/* saved_output_find - collective. An output of which a part is missing is none. */
status saved_output_find(comm *c, mem *m, const states *s, saved_output *out, err *e);

void saved_output_free(mem *m, saved_output *s);

#endif

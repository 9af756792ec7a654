/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes around the records: header and trailer. */
#ifndef HETSORT_PHASES_FRAME_H
#define HETSORT_PHASES_FRAME_H

#include "job.h"

/* The pieces around the records. The header of the first input (--skip-header) precedes the records
 * of the first output. The trailer of the last input (--skip-trailer, or the bytes after --records)
 * follows the records of the last output. Only the rank that writes a piece holds it in memory. */

/* frame_read - collective, after streams were copied: read both pieces. If a stream is not copied,
 * open it and consume its header. */
job_step frame_read;

/* frame_write - write one piece to the open output. Write the header before any record, and the
 * trailer after all records, when the file has its final size. */
status frame_write(job *j, frame_place place);

/* frame_check - verify that this rank's file, open as fd, has both pieces. ST_IO if not. */
status frame_check(job *j, int fd, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a report, for a browser: a template with the report in it, complete in one file. */
#ifndef HETSORT_REPORT_PAGE_H
#define HETSORT_REPORT_PAGE_H

#include "io/json.h"

/* page_check - refuse (ST_REFUSED) a document that is not a report, or of another version. name is
 * for messages. */
status page_check(const json_t *report, const char *name, err *e);

/* page_write - write the page of a report to path, and replace an earlier one; "-" is standard
 * output. */
status page_write(const json_t *report, const char *path, bool fsync, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a report or of two, for a browser: one file, which contains the reports, a style and
 * a script. */
#ifndef HETSORT_REPORT_PAGE_H
#define HETSORT_REPORT_PAGE_H

#include "io/json.h"

/* page_check - return ST_REFUSED if the document is not a report, or has another version. name is
 * the file, for messages. */
status page_check(const json_t *report, const char *name, err *e);

/* page_write - write the page of a report to path, and replace an earlier page. "-" is standard
 * output. fsync: sync the file. A page that compares two reports gets an array of them, each as an
 * object with the members name, its file, and report. */
status page_write(const json_t *report, const char *path, bool fsync, err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON report and its page, written on success and on failure alike, complete or not at all.
 * side_files_check() has found before that they may be written. */
#include "io/json.h"
#include "report.h"
#include "report/page.h"
#include "report_fields.h"

/* Who is about to be killed does not wait for a disk. */
static bool synced(const job_result *r, const settings *o)
{
	return o->fsync && r->status < ST_SIGNAL;
}

status report_write(const job_result *r, const settings *o, int argc, char *const *argv, err *e)
{
	const report_source source = { r, o, argc, argv };
	return json_write_role(ROLE_REPORT, o->report, report_object(report_fields, r, &source),
			       synced(r, o), e);
}

status report_page(const job_result *r, const settings *o, int argc, char *const *argv, err *e)
{
	const report_source source = { r, o, argc, argv };
	json_t *report = report_object(report_fields, r, &source);
	const status rc = page_write(report, o->html, synced(r, o), e);
	json_decref(report);
	return rc;
}

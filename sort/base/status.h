/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status that a function of hetsort returns, and an err, the message about a failure. The
 * values of a status are exit codes of the program. Only main() prints. An err is a few hundred
 * bytes on the caller's stack. */
#ifndef HETSORT_BASE_STATUS_H
#define HETSORT_BASE_STATUS_H

#include <stdbool.h>
#include <string.h>

typedef enum status {
	ST_OK = 0,
	ST_INVALID = 1, /* validation failed: the output is not a sorted permutation of the input */
	ST_REFUSED = 2, /* usage, configuration or input was rejected before any work */
	ST_IO = 3,      /* reading, writing, closing or syncing failed */
	ST_RESOURCE = 4, /* memory, disk space, descriptors, threads */
	ST_PEER = 5,     /* another rank failed, left, or does not match this one */
	ST_INTERNAL = 6, /* a fault of this program */
	ST_SIGNAL = 128, /* plus the number of the signal that ended the program */
} status;

enum { ERR_TEXT_BYTES = 480, QUOTED_BYTES = 256 };

typedef struct err {
	status code;
	char text[ERR_TEXT_BYTES]; /* lower case, subject in quotes, no full stop */
} err;

/* err_set - store a failure in e, which may be NULL, unless e already holds one. Return the status
 * in e, or st if e is NULL. */
#define err_set(e, st, ...) err_code(err_tell(e, st, 0, __VA_ARGS__), st)

/* err_sys - do the same for a failed system call, and append the text of errnum. The status is
 * ST_RESOURCE for a full disk or missing memory, else ST_IO. err_refuse - do the same before any
 * work, with ST_REFUSED instead of ST_IO. */
#define err_sys(e, errnum, ...) err_code(err_tell(e, ST_IO, errnum, __VA_ARGS__), ST_IO)
#define err_refuse(e, errnum, ...) \
	err_code(err_tell(e, ST_REFUSED, errnum, __VA_ARGS__), ST_REFUSED)

/* err_tell - do the work of these macros; errnum 0: no system call failed. err_code - return
 * `kept`, which is never ST_OK, in a form that shows this to the compiler. */
status err_tell(err *e, status st, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static inline status err_code(status kept, status otherwise)
{
	return kept != ST_OK ? kept : otherwise;
}

/* err_join - if `from` holds a failure, store it in e by err_set and return the result. Otherwise
 * return ST_OK. */
static inline status err_join(err *e, const err *from)
{
	return from->code == ST_OK ? ST_OK : err_set(e, from->code, "%s", from->text);
}

/* err_quoted - write path to buf, in single quotes, with control bytes escaped; "..." replaces the
 * middle of a long path. quoted - do the same, in a buffer that exists until the end of the
 * enclosing block. */
const char *err_quoted(const char *path, char buf[QUOTED_BYTES]);
#define quoted(path) err_quoted(path, (char[QUOTED_BYTES]){ 0 })

/* The name that stands for standard input or output on the command line and in messages. */
#define STREAM_NAME "-"

static inline bool stream_is_standard(const char *name)
{
	return strcmp(name, STREAM_NAME) == 0;
}

#endif

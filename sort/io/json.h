/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes JSON documents, by jansson. */
#ifndef HETSORT_IO_JSON_H
#define HETSORT_IO_JSON_H

#include "kernel/inspect.h"
#include "target.h"

#include <jansson.h>

/* json_name - make a JSON string of a file name; if it is not UTF-8, bytes from 0x80 on become
 * \ooo. */
json_t *json_name(const char *path);

json_t *json_hex(const unsigned char *bytes, size_t n);
json_t *json_checksum(checksum s);

/* json_parse_hex - parse exactly n numbers of 16 hexadecimal digits each. json_parse_checksum -
 * parse a checksum written by json_checksum. False: the text is something else. */
bool json_parse_hex(const char *text, size_t n, uint64_t *number);
bool json_parse_checksum(const char *text, checksum *sum);

/* json_with, json_and - add a member to an object, a value to an array. Both arguments are consumed
 * and may be NULL (no memory): then the result is NULL. */
json_t *json_with(json_t *o, const char *key, json_t *value);
json_t *json_and(json_t *a, json_t *value);

/* json_parse - parse text, len arbitrary bytes. Messages contain `what`, its kind ("manifest"), and
 * its name. ST_REFUSED, with line and column, if it is not JSON. */
status json_parse(const char *text, size_t len, const char *what, const char *name, json_t **doc,
		  err *e);

/* json_read - parse a regular file of at most 64 MiB, by its name in dirfd. own: the user has not
 * named this file, so it must belong to this user and must not be a link. */
status json_read(int dirfd, bool own, const char *what, const char *name, json_t **doc, err *e);

/* json_stage - write doc, which is consumed and may be NULL (no memory), to the temporary file of t
 * with this id. The file is complete except for its final name. */
status json_stage(json_t *doc, target *t, uint64_t id, bool fsync, err *e);

/* json_write - write doc, which is consumed and may be NULL (no memory), to the file t, which gets
 * its final name when it is complete. An existing file is replaced. */
status json_write(json_t *doc, target *t, bool fsync, err *e);

/* text_write_role, json_write_role - write a text, or a document, to the file at path, or to
 * standard output if path is "-". doc is consumed and may be NULL. An existing file is replaced
 * only if hetsort wrote it for the same role. */
status text_write_role(file_role role, const char *path, const char *text, size_t bytes, bool fsync,
		       err *e);
status json_write_role(file_role role, const char *path, json_t *doc, bool fsync, err *e);

#endif

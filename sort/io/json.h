/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON documents to files, by jansson. */
#ifndef HETSORT_IO_JSON_H
#define HETSORT_IO_JSON_H

#include "kernel/checksum.h"
#include "target.h"

#include <jansson.h>

/* json_name - a file name as a JSON string; if it is no UTF-8, bytes from 0x80 on come as \ooo. */
json_t *json_name(const char *path);

/* json_can_name - is the name UTF-8, so that the string is the name? */
bool json_can_name(const char *path);
json_t *json_hex(const unsigned char *bytes, size_t n);
json_t *json_checksum(checksum s);

/* json_parse_hex - n numbers of 16 hexadecimal digits each, and no more. json_parse_checksum - a
 * checksum as json_checksum writes it. False: the text is none. */
bool json_parse_hex(const char *text, size_t n, uint64_t *number);
bool json_parse_checksum(const char *text, checksum *sum);

/* json_with, json_and - an object with one member more, an array with one value more. Both
 * arguments are consumed and may be NULL (no memory): then so is what is returned. */
json_t *json_with(json_t *o, const char *key, json_t *value);
json_t *json_and(json_t *a, json_t *value);

/* json_parse - text of len bytes, which may hold anything; what it is ("manifest") and its name are
 * for messages. Refuses (ST_REFUSED, with line and column) what is no JSON. */
status json_parse(const char *text, size_t len, const char *what, const char *name, json_t **doc,
		  err *e);

/* json_read - the same of a regular file of at most 64 MiB. json_read_at - by a name in dirfd, that
 * this user has made. */
status json_read(const char *what, const char *path, json_t **doc, err *e);
status json_read_at(int dirfd, const char *what, const char *name, json_t **doc, err *e);

/* json_stage - doc, which is consumed and may be NULL (no memory), to the temporary file of t with
 * this id: all but its final name. */
status json_stage(json_t *doc, target *t, uint64_t id, bool fsync, err *e);

/* json_write - doc, which is consumed and may be NULL (no memory), to t, under its final name when
 * it is complete; an existing file is replaced. */
status json_write(json_t *doc, target *t, bool fsync, err *e);

/* text_write_role, json_write_role - text, or a document as json_write takes it, to the file of
 * this name, or to standard output for "-". An existing file is replaced only if hetsort wrote it
 * for the same role. */
status text_write_role(file_role role, const char *path, const char *text, size_t bytes, bool fsync,
		       err *e);
status json_write_role(file_role role, const char *path, json_t *doc, bool fsync, err *e);

#endif

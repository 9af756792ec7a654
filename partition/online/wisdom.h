/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wisdom.h - named models and numbers of one machine. Internal. */
#ifndef PART_WISDOM_H
#define PART_WISDOM_H

#include "model.h"

#define WISDOM_NAME_BYTES 64
#define WISDOM_HOST_BYTES 128
#define WISDOM_ENTRIES    4096                /* the most models, and the most numbers, of a file */
#define WISDOM_FILE_BYTES (UINT64_C(1) << 24) /* the longest file that is read */
#define WISDOM_FORMAT     1

typedef struct wisdom_model {
	char name[WISDOM_NAME_BYTES];
	hetpart_model *model;
} wisdom_model;

typedef struct wisdom_number {
	char name[WISDOM_NAME_BYTES];
	double value;
} wisdom_number;

struct hetpart_wisdom {
	char host[WISDOM_HOST_BYTES];
	uint64_t time_s; /* seconds since 1970, as the caller sets it; 0: not known */
	wisdom_model *models;
	size_t nmodels;
	wisdom_number *numbers;
	size_t nnumbers;
};

bool part_wisdom_name_ok(const char *name, size_t len);
bool part_wisdom_host_ok(const char *host, size_t len);

/* Find a model or a number by its name; return NULL if it does not exist. */
hetpart_model *part_wisdom_find(const hetpart_wisdom *w, const char *name);
wisdom_number *part_wisdom_number(const hetpart_wisdom *w, const char *name);

#endif

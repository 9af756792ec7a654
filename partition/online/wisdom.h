/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wisdom.h - named models and numbers of one machine. Internal. */
#ifndef PART_WISDOM_H
#define PART_WISDOM_H

#include "model.h"

#define WISDOM_NAME_BYTES 64
#define WISDOM_HOST_BYTES 128
#define WISDOM_ENTRIES    4096                /* models, and numbers, of one file */
#define WISDOM_FILE_BYTES (UINT64_C(1) << 24) /* longest file that is read */
#define WISDOM_FORMAT     1

struct wisdom_model {
	char name[WISDOM_NAME_BYTES];
	hetpart_model *model;
};

struct wisdom_number {
	char name[WISDOM_NAME_BYTES];
	double value;
};

struct hetpart_wisdom {
	char host[WISDOM_HOST_BYTES];
	uint64_t time_s; /* seconds since 1970 as the caller says; 0: not known */
	struct wisdom_model *models;
	size_t nmodels;
	struct wisdom_number *numbers;
	size_t nnumbers;
};

bool part_wisdom_name_ok(const char *name, size_t len);
bool part_wisdom_host_ok(const char *host, size_t len);

/* The model or number of that name, NULL if there is none. */
hetpart_model *part_wisdom_find(const hetpart_wisdom *w, const char *name);
struct wisdom_number *part_wisdom_number(const hetpart_wisdom *w, const char *name);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processor time that control groups allow this process. A quota lets a group run at full speed
 * until it is used up and then wait for the next period, so a short measurement shows it badly; it
 * tells itself what a long run gets. */
#ifndef HETSORT_MODEL_QUOTA_H
#define HETSORT_MODEL_QUOTA_H

#include <stddef.h>
#include <stdint.h>

/* The tightest quota of the group and of those above it. */
typedef struct quota {
	double cpus;        /* for all in the group together; 0: there is none */
	uint64_t group;     /* whose: the same for all its processes on this machine */
	uint64_t throttled; /* periods in which the group had to wait, so far */
} quota;

/* quota_find - looked up below root ("" for this machine). What is missing or cannot be understood
 * is no quota. */
quota quota_find(const char *root);

/* quota_processors - of `all` processors, how many each of `ranks` that share them has in a long
 * run. */
double quota_processors(const quota *q, double all, unsigned ranks);

/* What a rank had of the processors while it was measured. */
typedef struct allowance {
	double got_cpus;   /* its threads together */
	double quota_cpus; /* 0: none */
	uint64_t group;    /* whose quota: the same for those, and only those, who share it */
	uint64_t waits;    /* in how many periods the group had to wait meanwhile */
} allowance;

/* quota_slowdown - by how much rank i of p is slower in a long run than while all were measured:
 * where its group had to wait, or had more than its quota, that quota is what there is, and its
 * ranks get it in the parts that they had; else 1. Above zero and finite, whatever a holds. */
double quota_slowdown(const allowance *a, size_t p, size_t i);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated cluster that a file describes: groups of hosts, a switch, and changes with their
 * times. hetsim(1) describes the format. */
#ifndef HETSORT_SIM_PLATFORM_H
#define HETSORT_SIM_PLATFORM_H

#include "base/status.h"

#include <stdint.h>

/* There are at most as many ranks as hosts, and on one host at most as many as processors. */
enum { SIM_MOST_HOSTS = 65536, SIM_MOST_CORES = 1024 };

/* One machine. */
typedef struct sim_host {
	double speed;          /* relative to the processor of sim_rates */
	unsigned cores, ranks; /* the ranks share the processors */
	uint64_t mem_bytes;
	double disk_bytes_per_s;
	double net_bytes_per_s; /* in each direction */
	double latency_s;       /* to a host of the same latency; each host adds half of its
				 * latency */
} sim_host;

/* A change of a host at a time. */
typedef struct sim_change {
	double at_s;
	int host;
	enum { SIM_STOP, SIM_SPEED, SIM_DISK, SIM_NET } what;
	double value;
} sim_change;

/* Seconds of work on a processor of speed 1. */
typedef struct sim_rates {
	double sort_s, merge_s, copy_s; /* as in model/job_time.h */
	double message_s;               /* to send a message, or to receive it */
	double file_s;                  /* per byte: the system's work to write a file */
} sim_rates;

typedef struct platform {
	sim_host *host;     /* [hosts] */
	int hosts, ranks;   /* ranks of all hosts, numbered in the order of the hosts */
	sim_change *change; /* [changes] in the order of the file */
	size_t changes;
	double switch_bytes_per_s; /* of all messages together; INFINITY: never full */
	sim_rates rates;
} platform;

/* platform_parse - read a platform from text. Error messages contain `name`, the name of the file,
 * and for ST_REFUSED the line. The caller frees the platform, also after a failure. */
status platform_parse(platform *p, const char *text, const char *name, err *e);

/* platform_load - read a platform from a file. The caller frees the platform, also after a
 * failure. */
status platform_load(platform *p, const char *path, err *e);
void platform_free(platform *p);

#endif

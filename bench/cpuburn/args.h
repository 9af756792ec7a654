/* SPDX-License-Identifier: GPL-3.0-or-later */
/* args.h - the command line of cpuburn. */
#ifndef CPUBURN_ARGS_H
#define CPUBURN_ARGS_H

#include "cpuburn.h"

struct args {
	double factor, period_s, seconds_s;
	int cpus[CPUS_MAX];
	size_t ncpus;
	enum how how;
	bool calibrate, quiet;
	const char *json; /* NULL: none */
	char **command;   /* NULL: none */
	int status;       /* to exit with, where args_read says no */
};

/* Prints what is wrong, or the help that was asked for, and returns false. */
bool args_read(struct args *a, int argc, char **argv);

#endif

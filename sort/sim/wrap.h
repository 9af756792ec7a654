/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that the simulation replaces. The program is linked with ld --wrap for each name that is
 * WRAPPED, so its other files stay as they are. The Makefile reads the names. */
#ifndef HETSORT_SIM_WRAP_H
#define HETSORT_SIM_WRAP_H

/* A wrapped call has two names that no header declares. */
#define WRAPPED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers that look random, from a state of 8 bytes: splitmix64. Pure. */
#ifndef HETSORT_BASE_SPLITMIX_H
#define HETSORT_BASE_SPLITMIX_H

#include <stdint.h>

static inline uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A platform for SimGrid, in its XML. */
#ifndef HETSORT_SIM_PLATFORM_XML_H
#define HETSORT_SIM_PLATFORM_XML_H

#include "platform.h"

#include <stdio.h>

/* platform_xml - hosts h0, h1, ..., each with a link to one switch; a processor of speed 1 does
 * PLATFORM_XML_OPS a second. ST_REFUSED where something changes during the simulation. */
#define PLATFORM_XML_OPS 1e9
status platform_xml(FILE *f, const platform *p, err *e);

#endif

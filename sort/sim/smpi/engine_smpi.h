/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What takes the place of engine_open under SMPI. */
#ifndef HETSORT_SIM_SMPI_ENGINE_SMPI_H
#define HETSORT_SIM_SMPI_ENGINE_SMPI_H

#include "sim/platform.h"

/* engine_smpi_open - by the actor that SMPI has started as a rank, on host hN of the platform. */
status engine_smpi_open(const platform *p, double least_work_s, err *e);

#endif

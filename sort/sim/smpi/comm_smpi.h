/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rank's comm under SMPI. */
#ifndef HETSORT_SIM_SMPI_COMM_SMPI_H
#define HETSORT_SIM_SMPI_COMM_SMPI_H

#include "sim/comm_sim.h"

/* comm_smpi_rates - what messages take of a processor; they stay the caller's. */
void comm_smpi_rates(const sim_rates *r);

#endif

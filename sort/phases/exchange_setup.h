/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frame that both strategies share: open the exchange and the output, let records flow, close.
 */
#ifndef HETSORT_PHASES_EXCHANGE_SETUP_H
#define HETSORT_PHASES_EXCHANGE_SETUP_H

#include "exchange/exchange.h"
#include "job.h"

/* exchange_setup_windows - what the windows of the exchange take, by the mean share and the least
 * limit of memory of any rank: the same on all ranks, as it sets the size of blocks. */
uint64_t exchange_setup_windows(const job *j, uint64_t least_limit_bytes);

/* exchange_setup_output - collective: create the output; *to is where this rank writes. To be
 * closed on failure too. */
status exchange_setup_output(job *j, io_fd *to);
void exchange_setup_output_close(const io_fd *to);

/* exchange_setup_open - collective: counts, windows and the output file; then records start to
 * move. On failure too exchange_setup_close is to be called. */
status exchange_setup_open(job *j, exchange **x);

/* exchange_setup_drained - all streams are read: waits until all is sent, and notes what waiting
 * took. */
status exchange_setup_drained(job *j, exchange *x);

/* exchange_setup_close - the last records are written; notes counts and times. rc is how the flow
 * went on this rank so far; NULL for x, and an output that was not opened, are fine. */
status exchange_setup_close(job *j, exchange *x, status rc);

#endif

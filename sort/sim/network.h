/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The times of messages: through the sender's port, the switch and the receiver's port. Each of
 * these passes one message after the other, as they come; a message of one packet waits for none.
 */
#ifndef HETSORT_SIM_NETWORK_H
#define HETSORT_SIM_NETWORK_H

#include "engine.h"

#include <math.h>

/* Ethernet, IP and TCP add the header to each packet, which has this part of the message. */
enum { NETWORK_HEADER_BYTES = 66, NETWORK_PACKET_BYTES = 1448 };

/* network_bytes - return how many bytes a message of this size has on the wire. */
static inline double network_bytes(double bytes)
{
	return bytes + NETWORK_HEADER_BYTES * fmax(1, ceil(bytes / NETWORK_PACKET_BYTES));
}

typedef struct delivery {
	host *from, *to;
	double bytes;
	event_fn *through;
	void *sender, *receiver;
} delivery;

/* network_send - send a message at this time at the earliest. Calls through(sender) when its last
 * byte has left its host, and then through(receiver) when that has arrived; makes no call while a
 * link on the way has no bandwidth or a host has stopped. ST_RESOURCE without memory. */
status network_send(const delivery *d, double at_s);

#endif

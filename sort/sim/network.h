/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long messages take: through the sender's port, the switch and the receiver's port, each of
 * which passes one message after the other, as they come; those of a packet at once. */
#ifndef HETSORT_SIM_NETWORK_H
#define HETSORT_SIM_NETWORK_H

#include "engine.h"

#include <math.h>

/* What Ethernet, IP and TCP add to each packet, and what of a message there is in one. */
enum { NETWORK_HEADER_BYTES = 66, NETWORK_PACKET_BYTES = 1448 };

/* network_bytes - of a message with so many bytes, on the wire. */
static inline double network_bytes(double bytes)
{
	return bytes + NETWORK_HEADER_BYTES * fmax(1, ceil(bytes / NETWORK_PACKET_BYTES));
}

/* network_send - so many bytes leave at this time at the earliest. Calls sent(sender) when the last
 * of them has left its host, and then landed(receiver) when it is there; neither, while a link on
 * the way has no bandwidth or a host has stopped. ST_RESOURCE without memory. */
typedef struct delivery {
	host *from, *to;
	double bytes;
	event_fn *sent, *landed;
	void *sender, *receiver;
} delivery;

status network_send(const delivery *d, double at_s);

#endif

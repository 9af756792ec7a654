/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages between hosts, see engine.h. A message occupies its sender's port and, after the
 * latency, the switch and the receiver's port. Its first byte is passed on while the last byte is
 * still being sent. Events of a message: depart (it may use the sender's port), left (its last byte
 * has left), arrive (its first byte reaches the switch), landed (its last byte has arrived). */
#include "engine.h"

#include <stdlib.h>

enum {
	PACKET_BYTES = 1500, /* a message of one packet does not wait: packets alternate */
	FLIGHTS = 1024       /* allocated at once, because there may be millions */
};

static double switch_free_s;

/* Let a message pass a port after all earlier ones. Return when its last byte has passed. */
static double port_pass(double *free_s, const delivery *d, double bytes_per_s)
{
	const double now = engine_now_s(), takes_s = d->bytes / bytes_per_s;
	*free_s = fmax(*free_s, now) + takes_s;
	return d->bytes <= PACKET_BYTES ? now + takes_s : *free_s;
}

static bool host_is_up(const host *h)
{
	return !h->stopped && h->is.net_bytes_per_s > 0;
}

/* A message on its way. */
typedef struct flight {
	delivery d;
	union {
		double left_s; /* when its last byte can arrive, by the sender's port and latency */
		struct flight *next; /* in the list of spare ones */
	};
	unsigned held; /* number of queued events that use it */
} flight;

static flight *spare;

static void flight_release(flight *f)
{
	if (--f->held > 0)
		return;
	f->next = spare;
	spare = f;
}

/* Call `again` at the next change of the platform, when a link that is down may come up. Drop the
 * message if the host has stopped or no change follows. */
static void flight_retry(flight *f, const host *down, event_fn *again)
{
	const double at_s = engine_next_change_s();
	if (down->stopped || isinf(at_s))
		flight_release(f);
	else
		engine_at(at_s, again, f);
}

static void flight_landed(void *flight_)
{
	flight *f = flight_;
	if (!f->d.to->stopped)
		f->d.through(f->d.receiver);
	flight_release(f);
}

static void flight_left(void *flight_)
{
	flight *f = flight_;
	if (!f->d.from->stopped)
		f->d.through(f->d.sender);
	flight_release(f);
}

static void flight_arrive(void *flight_)
{
	flight *f = flight_;
	host *to = f->d.to;
	if (!host_is_up(to)) {
		flight_retry(f, to, flight_arrive);
		return;
	}
	const double takes_s = f->d.bytes / to->is.net_bytes_per_s;
	const double switched_s =
		port_pass(&switch_free_s, &f->d, engine_platform()->switch_bytes_per_s);
	const double in_s = port_pass(&to->in_free_s, &f->d, to->is.net_bytes_per_s);
	to->in_s += takes_s;
	to->landing.fn = flight_landed;
	events_add_in(&to->landing, fmax(fmax(in_s, switched_s), f->left_s), f);
}

static void flight_depart(void *flight_)
{
	flight *f = flight_;
	host *from = f->d.from;
	if (from == f->d.to) {
		f->held = 2;
		flight_left(f);
		flight_landed(f);
		return;
	}
	if (!host_is_up(from)) {
		flight_retry(f, from, flight_depart);
		return;
	}
	const double takes_s = f->d.bytes / from->is.net_bytes_per_s;
	const double out_s = port_pass(&from->out_free_s, &f->d, from->is.net_bytes_per_s);
	const double latency_s = (from->is.latency_s + f->d.to->is.latency_s) / 2;
	from->out_s += takes_s;
	f->left_s = out_s + latency_s;
	f->held = 2;
	from->leaving.fn = flight_left;
	from->arriving.fn = flight_arrive;
	events_add_in(&from->leaving, out_s, f);
	events_add_in(&from->arriving, out_s - takes_s + latency_s, f);
}

status network_send(const delivery *d, double at_s)
{
	if (!spare) {
		flight *more = malloc(FLIGHTS * sizeof *more);
		for (size_t i = 0; more && i < FLIGHTS; i++) {
			more[i].next = spare;
			spare = &more[i];
		}
	}
	flight *f = spare;
	if (!f)
		return ST_RESOURCE;
	spare = f->next;
	f->d = *d;
	f->held = 1;
	d->from->departing.fn = flight_depart;
	events_add_in(&d->from->departing, at_s, f);
	return ST_OK;
}

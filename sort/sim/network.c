/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A message occupies its sender's port, then, a latency later, the switch and the receiver's port:
 * its first byte is passed on while the last is still being sent. */
#include "network.h"

#include <stdlib.h>

enum {
	PACKET_BYTES = 1500, /* such a message waits for none that is longer: packets take turns */
	FLIGHTS = 1024       /* are allocated at once: there may be millions at a time */
};

static double switch_free_s;

/* Let a message pass after those that have come before it, and return when it is through. */
static double pass(double *free_s, const delivery *d, double bytes_per_s)
{
	const double now = engine_now_s(), takes_s = d->bytes / bytes_per_s;
	*free_s = fmax(*free_s, now) + takes_s;
	return d->bytes <= PACKET_BYTES ? now + takes_s : *free_s;
}

static bool is_up(const host *h)
{
	return !h->stopped && h->is.net_bytes_per_s > 0;
}

/* A message on its way. */
typedef struct flight {
	delivery d;
	union {
		double left_s;
		struct flight *next; /* in the list of spare ones */
	};
	unsigned held; /* by queued events */
} flight;

static flight *spare;

static void release(flight *f)
{
	if (--f->held > 0)
		return;
	f->next = spare;
	spare = f;
}

/* A link that is down may come up when the platform changes. A host that has stopped never does. */
static void later(flight *f, const host *down, event_fn *again)
{
	const double at_s = engine_next_change_s();
	if (down->stopped || isinf(at_s))
		release(f);
	else
		engine_at(at_s, again, f);
}

static void has_landed(void *flight_)
{
	flight *f = flight_;
	if (!f->d.to->stopped)
		f->d.through(f->d.receiver);
	release(f);
}

static void has_left(void *flight_)
{
	flight *f = flight_;
	if (!f->d.from->stopped)
		f->d.through(f->d.sender);
	release(f);
}

static void arrive(void *flight_)
{
	flight *f = flight_;
	host *to = f->d.to;
	if (!is_up(to)) {
		later(f, to, arrive);
		return;
	}
	const double takes_s = f->d.bytes / to->is.net_bytes_per_s;
	const double switched_s =
		pass(&switch_free_s, &f->d, engine_platform()->switch_bytes_per_s);
	const double in_s = pass(&to->in_free_s, &f->d, to->is.net_bytes_per_s);
	to->in_s += takes_s;
	to->landing.fn = has_landed;
	events_add_in(&to->landing, fmax(fmax(in_s, switched_s), f->left_s), f);
}

static void depart(void *flight_)
{
	flight *f = flight_;
	host *from = f->d.from;
	if (!is_up(from)) {
		later(f, from, depart);
		return;
	}
	const double takes_s = f->d.bytes / from->is.net_bytes_per_s;
	const double out_s = pass(&from->out_free_s, &f->d, from->is.net_bytes_per_s);
	const double latency_s = (from->is.latency_s + f->d.to->is.latency_s) / 2;
	from->out_s += takes_s;
	f->left_s = out_s + latency_s;
	f->held = 2;
	from->leaving.fn = has_left;
	from->arriving.fn = arrive;
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
	d->from->departing.fn = depart;
	events_add_in(&d->from->departing, at_s, f);
	return ST_OK;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SimGrid's messages have no headers, so its links have what these leave of them. Each host has a
 * link of its own for each direction, which gives half of its latency; a switch is a backbone that
 * all messages share. SimGrid's disks and memory are not used. */
#include "platform_xml.h"
#include "network.h"

#include <math.h>

static double for_messages(double bytes_per_s)
{
	return bytes_per_s * NETWORK_PACKET_BYTES / network_bytes(NETWORK_PACKET_BYTES);
}

static void write_host(FILE *f, int i, const sim_host *h)
{
	fprintf(f, "<host id=\"h%d\" speed=\"%.12gf\" core=\"%u\"/>\n", i,
		h->speed * PLATFORM_XML_OPS, h->cores);
	fprintf(f,
		"<link id=\"l%d\" bandwidth=\"%.12gBps\" latency=\"%.12gs\" "
		"sharing_policy=\"SPLITDUPLEX\"/>\n",
		i, for_messages(h->net_bytes_per_s), h->latency_s / 2);
	fprintf(f, "<host_link id=\"h%d\" up=\"l%d_UP\" down=\"l%d_DOWN\"/>\n", i, i, i);
}

status platform_xml(FILE *f, const platform *p, err *e)
{
	if (p->changes)
		return err_set(e, ST_REFUSED, "SimGrid gets no hosts that change at a time");
	fprintf(f, "<?xml version='1.0'?>\n"
		   "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
		   "<platform version=\"4.1\">\n<zone id=\"cluster\" routing=\"Cluster\">\n");
	for (int i = 0; i < p->hosts; i++)
		write_host(f, i, &p->host[i]);
	if (isfinite(p->switch_bytes_per_s))
		fprintf(f, "<backbone id=\"switch\" bandwidth=\"%.12gBps\" latency=\"0s\"/>\n",
			for_messages(p->switch_bytes_per_s));
	fprintf(f, "</zone>\n</platform>\n");
	return ST_OK;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parser of platform files. A line is a list of words. A property is a name and a value with
 * its unit. */
#include "platform.h"
#include "base/size.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 32, MOST_CHANGES = 10000, MOST_FILE_BYTES = 1 << 20 };

typedef struct line {
	const char *file;
	unsigned number;
	char *word[MOST_WORDS];
	size_t words, next;
	err *e;
} line;

#define REFUSE(l, ...) refuse_line(l, err_set((l)->e, ST_REFUSED, __VA_ARGS__))

/* Put the file and the line before the message. Return rc. */
static status refuse_line(const line *l, status rc)
{
	const err why = *l->e;
	*l->e = (err){ ST_OK, "" };
	err_set(l->e, rc, "%s, line %u: %.200s", quoted(l->file), l->number, why.text);
	return rc;
}

/* Return the next word, or "" after the last one. */
static const char *platform_next_word(line *l)
{
	return l->next < l->words ? l->word[l->next++] : "";
}

/* ------------------------------------------------------------------------------------ values */

typedef struct unit {
	const char *name;
	double factor;
} unit;

static const unit plain[] = { { "", 1 }, { NULL, 0 } };
static const unit seconds[] = {
	{ "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 }, { NULL, 0 }
};
/* Network rates are in bits, disk rates in bytes. */
static const unit net[] = { { "K", 1e3 / 8 }, { "M", 1e6 / 8 }, { "G", 1e9 / 8 }, { NULL, 0 } };
static const unit disk[] = { { "K/s", 1e3 }, { "M/s", 1e6 }, { "G/s", 1e9 }, { NULL, 0 } };

/* Limits of properties. A simulation takes longer the longer its ranks wait for messages. */
static const double LEAST = 1e-12, MOST = 1e15, LEAST_NET = 1. / 8, MOST_LATENCY_S = 1e4,
		    MOST_RATE_S = 1;

/* A value with a name. */
typedef struct property {
	const char *name;
	const unit *u;
	double least, most, *v;
} property;

static status read_value(line *l, const property *p)
{
	const char *w = platform_next_word(l), *rest = w;
	const unit *u = p->u;
	uint64_t whole;
	uint32_t millionths;
	if (!size_number(&rest, &whole, &millionths))
		return REFUSE(l, "'%s' needs a number, not %s", p->name, quoted(w));
	double v = (double)whole + 1e-6 * millionths;
	while (u->name && strcmp(u->name, rest) != 0)
		u++;
	if (!u->name && (*rest || v != 0)) /* 0 needs no unit */
		return REFUSE(l, "'%s' does not have the unit %s", p->name, quoted(rest));
	v *= u->factor;
	if (!(v >= p->least) || !(v <= p->most))
		return REFUSE(l, "'%s' must be from %g%s to %g%s, not %s", p->name,
			      p->least / p->u->factor, p->u->name, p->most / p->u->factor,
			      p->u->name, quoted(w));
	*p->v = v;
	return ST_OK;
}

static status read_count(line *l, const char *what, unsigned most, unsigned *n)
{
	double v;
	const status rc = read_value(l, &(property){ what, plain, 0, MOST, &v });
	if (rc != ST_OK)
		return rc;
	if (v != floor(v) || v > most)
		return REFUSE(l, "'%s' must be a whole number up to %u", what, most);
	*n = (unsigned)v;
	return ST_OK;
}

/* Find a name in a table, which ends with NULL. */
static const property *find_property(const property *p, const char *name)
{
	while (p->name && strcmp(p->name, name) != 0)
		p++;
	return p->name ? p : NULL;
}

/* ------------------------------------------------------------------------------------- lines */

static status read_property(line *l, sim_host *h)
{
	const property all[] = { { "speed", plain, LEAST, MOST, &h->speed },
				 { "disk", disk, LEAST, MOST, &h->disk_bytes_per_s },
				 { "net", net, LEAST_NET, MOST, &h->net_bytes_per_s },
				 { "lat", seconds, 0, MOST_LATENCY_S, &h->latency_s },
				 { NULL, NULL, 0, 0, NULL } };
	const char *name = platform_next_word(l);
	const property *p = find_property(all, name);
	if (p)
		return read_value(l, p);
	if (strcmp(name, "mem") == 0) {
		const char *w = platform_next_word(l), *why = size_parse(w, &h->mem_bytes);
		return why ? REFUSE(l, "'mem' %s: %s", quoted(w), why) : ST_OK;
	}
	unsigned *n = strcmp(name, "cores") == 0   ? &h->cores
		      : strcmp(name, "ranks") == 0 ? &h->ranks
						   : NULL;
	if (!n)
		return REFUSE(l, "a host has no property %s", quoted(name));
	const status rc = read_count(l, name, SIM_MOST_CORES, n);
	return rc == ST_OK && *n == 0 ? REFUSE(l, "'%s' must be at least 1", name) : rc;
}

/* Read a group of hosts: COUNT x PROPERTY VALUE... */
static status read_group(line *l, platform *p)
{
	sim_host h = { .speed = 1,
		       .cores = 1,
		       .ranks = 1,
		       .mem_bytes = UINT64_C(4) << 30,
		       .disk_bytes_per_s = INFINITY,
		       .net_bytes_per_s = 1e9 / 8,
		       .latency_s = 50e-6 };
	unsigned n = 0;
	status rc = read_count(l, "hosts", SIM_MOST_HOSTS, &n);
	if (rc == ST_OK && (strcmp(platform_next_word(l), "x") != 0 || n == 0))
		rc = REFUSE(l, "hosts must be 'COUNT x PROPERTY VALUE...'");
	while (rc == ST_OK && l->next < l->words)
		rc = read_property(l, &h);
	if (rc == ST_OK && n > (unsigned)(SIM_MOST_HOSTS - p->hosts))
		rc = REFUSE(l, "more than %d hosts", SIM_MOST_HOSTS);
	if (rc == ST_OK && n > (unsigned)(SIM_MOST_HOSTS - p->ranks) / h.ranks)
		rc = REFUSE(l, "more than %d ranks", SIM_MOST_HOSTS);
	for (; rc == ST_OK && n > 0; n--) {
		p->host[p->hosts++] = h;
		p->ranks += (int)h.ranks;
	}
	return rc;
}

/* Read a change: at TIME host NUMBER stop | speed X | disk RATE | net RATE. */
static status read_change(line *l, platform *p)
{
	sim_change c = { .what = SIM_STOP };
	const property all[] = { [SIM_STOP] = { "stop", NULL, 0, 0, NULL },
				 [SIM_SPEED] = { "speed", plain, LEAST, MOST, &c.value },
				 [SIM_DISK] = { "disk", disk, LEAST, MOST, &c.value },
				 [SIM_NET] = { "net", net, 0, MOST, &c.value },
				 { NULL, NULL, 0, 0, NULL } };
	unsigned host = 0;
	if (p->changes == MOST_CHANGES)
		return REFUSE(l, "more than %d changes", MOST_CHANGES);
	status rc = read_value(l, &(property){ "at", seconds, 0, MOST, &c.at_s });
	if (rc == ST_OK && strcmp(platform_next_word(l), "host") != 0)
		rc = REFUSE(l, "a change must be 'at TIME host NUMBER WHAT'");
	if (rc == ST_OK)
		rc = read_count(l, "host", SIM_MOST_HOSTS - 1, &host);
	if (rc != ST_OK)
		return rc;
	if ((int)host >= p->hosts)
		return REFUSE(l, "there is no host %u before this line", host);
	c.host = (int)host;
	const property *what = find_property(all, platform_next_word(l));
	if (!what)
		return REFUSE(l, "a host can 'stop', or change its 'speed', 'disk' or 'net'");
	c.what = what - all;
	if (what->v)
		rc = read_value(l, what);
	if (rc == ST_OK && c.what == SIM_NET && c.value > 0 && c.value < LEAST_NET)
		rc = REFUSE(l, "'net' must be 0, or at least %g%s", LEAST_NET / net->factor,
			    net->name);
	if (rc == ST_OK)
		p->change[p->changes++] = c;
	return rc;
}

static status read_platform_line(line *l, char *text, platform *p)
{
	char *save = NULL;
	text[strcspn(text, "#")] = '\0';
	l->words = l->next = 0;
	for (char *w = strtok_r(text, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
		if (l->words == MOST_WORDS)
			return REFUSE(l, "more than %d words", MOST_WORDS);
		l->word[l->words++] = w;
	}
	if (l->words == 0)
		return ST_OK;
	const property all[] = { { "sort", seconds, LEAST, MOST_RATE_S, &p->rates.sort_s },
				 { "merge", seconds, LEAST, MOST_RATE_S, &p->rates.merge_s },
				 { "copy", seconds, LEAST, MOST_RATE_S, &p->rates.copy_s },
				 { "message", seconds, LEAST, MOST_RATE_S, &p->rates.message_s },
				 { "file", seconds, LEAST, MOST_RATE_S, &p->rates.file_s },
				 { NULL, NULL, 0, 0, NULL } };
	const char *first = platform_next_word(l);
	status rc = ST_OK;
	if (strcmp(first, "at") == 0) {
		rc = read_change(l, p);
	} else if (strcmp(first, "switch") == 0) {
		rc = read_value(l,
				&(property){ first, net, LEAST_NET, MOST, &p->switch_bytes_per_s });
	} else if (strcmp(first, "rates") == 0) {
		while (rc == ST_OK && l->next < l->words) {
			const char *name = platform_next_word(l);
			const property *rate = find_property(all, name);
			rc = rate ? read_value(l, rate)
				  : REFUSE(l, "there is no rate %s", quoted(name));
		}
	} else {
		l->next = 0;
		rc = read_group(l, p);
	}
	return rc == ST_OK && l->next < l->words
		       ? REFUSE(l, "unexpected word %s", quoted(platform_next_word(l)))
		       : rc;
}

status platform_parse(platform *p, const char *text, const char *name, err *e)
{
	*p = (platform){ .host = calloc(SIM_MOST_HOSTS, sizeof *p->host),
			 .change = calloc(MOST_CHANGES, sizeof *p->change),
			 .switch_bytes_per_s = INFINITY,
			 .rates = { 4e-9, 0.45e-9, 0.35e-9, 3e-6, 0.66e-9 } };
	char *copy = strdup(text), *at = copy;
	line l = { .file = name, .e = e };
	status rc = p->host && p->change && copy
			    ? ST_OK
			    : err_set(e, ST_RESOURCE, "no memory for a platform");
	while (rc == ST_OK && at) {
		l.number++;
		rc = read_platform_line(&l, strsep(&at, "\n"), p);
	}
	if (rc == ST_OK && p->hosts == 0)
		rc = err_set(e, ST_REFUSED, "%s has no hosts", quoted(name));
	free(copy);
	return rc;
}

status platform_load(platform *p, const char *path, err *e)
{
	*p = (platform){ .hosts = 0 };
	char *text = malloc(MOST_FILE_BYTES + 1);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t n = 0;
	status rc = ST_OK;
	if (fd < 0)
		rc = err_refuse(e, errno, "cannot open %s", quoted(path));
	else if (!text)
		rc = err_set(e, ST_RESOURCE, "no memory for a platform");
	while (rc == ST_OK && (n = read(fd, text + at, MOST_FILE_BYTES - at)) > 0)
		at += (size_t)n;
	if (rc == ST_OK && n < 0)
		rc = err_sys(e, errno, "cannot read %s", quoted(path));
	if (rc == ST_OK) {
		text[at] = '\0';
		rc = at == MOST_FILE_BYTES || strlen(text) != at
			     ? err_set(e, ST_REFUSED, "%s is not a platform file", quoted(path))
			     : platform_parse(p, text, path, e);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return rc;
}

void platform_free(platform *p)
{
	free(p->host);
	free(p->change);
	*p = (platform){ .hosts = 0 };
}

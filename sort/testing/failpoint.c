/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the points from HETSORT_FAIL, and decide when they strike. Only builds with failpoints
 * contain this file. A process has one list of points, which stays while ranks run; counters are
 * atomic. */
#include "failpoint.h"
#include "failcalls.h"
#include "number.h"
#include "base/arith.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_POINTS = 16, ANY_RANK = -2, SHORT = -1, KILLED = -2, PHASE_BYTES = 16 };

typedef struct point {
	fail_kind kind;
	uint64_t n; /* it strikes at this event; 1 if it strikes at a phase */
	int rank;
	int errnum;              /* of flips: 1 + the bit; 0: the default */
	char phase[PHASE_BYTES]; /* events are counted from this phase on; "": from the start */
	atomic_bool begun;
	double delay_s;
	unsigned char *lie;        /* never freed, because other ranks may still read it */
	atomic_uint_fast64_t seen; /* events so far */
} point;

static point points[MOST_POINTS];
static size_t count;
static atomic_uint own_strikes, *strikes = &own_strikes;
static _Thread_local int my_rank = -1;

/* --------------------------------------------------------------------------------- grammar */

static const char *const kinds[] = {
	[FAIL_ALLOC] = "alloc:",      [FAIL_FILE] = "file:",
	[FAIL_THREAD] = "thread:",    [FAIL_COMM] = "comm:",
	[FAIL_LIE] = "lie:",          [FAIL_HEARD] = "flip@heard:",
	[FAIL_SENT] = "flip@sent:",   [FAIL_SPILL] = "flip@spill:",
	[FAIL_WRITE] = "flip@write:", [FAIL_ENTRIES] = "flip@entries:",
	[FAIL_KILL] = "kill@",        [FAIL_STOP] = "stop@",
	[FAIL_DELAY] = "delay@",      [FAIL_UNLIKE] = "differ@",
};

static const struct errno_name {
	const char *name;
	int errnum;
} errnos[] = {
	{ "EIO", EIO },       { "ENOSPC", ENOSPC }, { "EDQUOT", EDQUOT }, { "EINTR", EINTR },
	{ "EAGAIN", EAGAIN }, { "EMFILE", EMFILE }, { "ENFILE", ENFILE }, { "EFBIG", EFBIG },
	{ "EACCES", EACCES }, { "EROFS", EROFS },   { "ESTALE", ESTALE }, { "ENOMEM", ENOMEM },
	{ "ENOSYS", ENOSYS }, { "EPERM", EPERM },   { "EXDEV", EXDEV },   { "short", SHORT },
	{ "kill", KILLED },
};

/* If *s begins with the word, move *s after it. Return whether it does. */
static bool skip(const char **s, const char *word)
{
	const size_t n = strlen(word);
	const bool there = strncmp(*s, word, n) == 0;
	*s += there ? n : 0;
	return there;
}

static bool rank_at(const char **s, int *rank)
{
	uint64_t v = 0;
	const bool ok = number_at(s, INT32_MAX, &v);
	*rank = (int)v;
	return ok;
}

/* Read the name of a phase, up to the byte `end` or the end of the text. */
static bool phase_at(const char **s, char end, point *p)
{
	const size_t n = strcspn(*s, ":,");
	if (n == 0 || n >= sizeof p->phase || (end && (*s)[n] != end))
		return false;
	memcpy(p->phase, *s, n);
	p->phase[n] = '\0';
	*s += n + (end != '\0');
	return true;
}

/* Read PHASE:R[=SECONDS]. */
static bool phase_point(const char **s, point *p)
{
	if (!phase_at(s, ':', p) || !rank_at(s, &p->rank))
		return false;
	if (p->kind != FAIL_DELAY)
		return true;
	char *after;
	if (!skip(s, "=") || **s < '0' || **s > '9')
		return false;
	p->delay_s = strtod(*s, &after);
	*s = after;
	return p->delay_s <= 3600;
}

/* Read N[=ERRNO][@rankR][@inPHASE] or N[=BIT][@rankR][@inPHASE]. */
static bool counted_point(const char **s, point *p)
{
	if (!number_at(s, UINT32_MAX, &p->n) || p->n == 0)
		return false;
	if (p->kind == FAIL_FILE && skip(s, "=")) {
		const struct errno_name *x = errnos, *const end =
							     x + sizeof errnos / sizeof *errnos;
		while (x < end && !skip(s, x->name))
			x++;
		if (x == end || (**s && !strchr("@,", **s)))
			return false;
		p->errnum = x->errnum;
	}
	const bool by_bit = p->kind == FAIL_HEARD || p->kind == FAIL_ENTRIES;
	if (by_bit && skip(s, "=")) {
		uint64_t bit;
		if (!number_at(s, INT32_MAX - 1, &bit))
			return false;
		p->errnum = (int)bit + 1;
	}
	if (skip(s, "@rank") && !rank_at(s, &p->rank))
		return false;
	return !skip(s, "@in") || phase_at(s, '\0', p);
}

static bool point_at(const char **s, point *p)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (skip(s, kinds[i])) {
			*p = (point){ .kind = (fail_kind)i, .n = 1, .rank = ANY_RANK };
			return i < FAIL_KILL ? counted_point(s, p) : phase_point(s, p);
		}
	return false;
}

status fail_plan(const char *text, err *e)
{
	const char *at = text ? text : "";
	bool more = *at != '\0';
	for (count = 0; more; count++) {
		const char *const start = at;
		if (count == MOST_POINTS || !point_at(&at, &points[count]) || (*at && *at != ',')) {
			count = 0;
			return err_set(e, ST_REFUSED, "HETSORT_FAIL: cannot read the point at %s",
				       quoted(start));
		}
		more = skip(&at, ",");
	}
	return ST_OK;
}

/* --------------------------------------------------------------------------------- striking */

void fail_count_in(atomic_uint *place)
{
	strikes = place;
}

void fail_rank(int rank)
{
	my_rank = rank;
}

/* Count an event of this point, and return whether the point strikes. */
static bool strikes_now(point *p)
{
	if (p->rank != ANY_RANK && p->rank != my_rank)
		return false;
	if (p->kind < FAIL_KILL && *p->phase && !atomic_load(&p->begun))
		return false;
	const bool now = atomic_fetch_add(&p->seen, 1) + 1 == p->n;
	if (now)
		atomic_fetch_add(strikes, 1);
	return now;
}

bool fail_now(fail_kind kind, int *errnum)
{
	bool now = false;
	for (size_t i = 0; i < count; i++)
		if (points[i].kind == kind && strikes_now(&points[i])) {
			now = true;
			if (points[i].errnum == KILLED)
				(void)kill(getpid(), SIGKILL);
			if (errnum)
				*errnum = points[i].errnum;
		}
	return now;
}

void fail_phase(const char *phase)
{
	for (size_t i = 0; i < count; i++) {
		point *p = &points[i];
		if (strcmp(p->phase, phase) != 0)
			continue;
		if (p->kind < FAIL_KILL) {
			atomic_store(&p->begun, true);
		} else if (p->kind != FAIL_UNLIKE && strikes_now(p)) {
			struct timespec t = { (time_t)p->delay_s, 0 };
			t.tv_nsec = (long)((p->delay_s - (double)t.tv_sec) * 1e9);
			if (p->kind != FAIL_DELAY)
				(void)kill(getpid(), p->kind == FAIL_KILL ? SIGKILL : SIGSTOP);
			else
				while (nanosleep(&t, &t) != 0 && errno == EINTR)
					;
		}
	}
}

bool fail_differ(const char *what)
{
	bool unlike = false;
	for (size_t i = 0; i < count; i++)
		if (points[i].kind == FAIL_UNLIKE && strcmp(points[i].phase, what) == 0)
			unlike |= strikes_now(&points[i]);
	return unlike;
}

void fail_flip(fail_kind kind, void *buf, size_t bytes)
{
	unsigned char *p = buf;
	int bit = 0;
	if (bytes == 0 || !fail_now(kind, &bit))
		return;
	const size_t at = bit ? (size_t)(bit - 1) % (8 * bytes) : bytes / 2 * 8 + 4;
	p[at / 8] ^= (unsigned char)(1U << (at % 8));
}

/* Invent random bytes, bytes 0, bytes 255, or the true bytes with one changed. The number of the
 * event and the rank decide which. */
void *fail_lie(const void *truth, size_t bytes)
{
	void *said = (void *)(uintptr_t)truth;
	for (size_t i = 0; i < count && bytes > 0; i++) {
		point *p = &points[i];
		if (p->kind != FAIL_LIE || !strikes_now(p) || !(p->lie = malloc(bytes)))
			continue;
		said = memcpy(p->lie, truth, bytes);
		uint64_t s = p->n * 64 + (uint64_t)(my_rank + 1);
		const unsigned kind = (unsigned)(s + p->n) % 4;
		const size_t at = splitmix(&s) % bytes;
		if (kind == 3)
			p->lie[at]++;
		else if (kind > 0)
			memset(p->lie, kind == 1 ? 0 : 0xff, bytes);
		for (size_t k = 0; k < bytes && kind == 0; k++)
			p->lie[k] = (unsigned char)splitmix(&s);
	}
	return said;
}

/* ------------------------------------------------------------------------------ system calls */

static _Thread_local bool moves_less; /* the call counted last moves half of its bytes */

bool fail_memory(void)
{
	const bool now = fail_now(FAIL_ALLOC, NULL);
	if (now)
		errno = ENOMEM;
	return now;
}

bool fail_file(void)
{
	int errnum = 0;
	const bool now = fail_now(FAIL_FILE, &errnum);
	moves_less = now && errnum == SHORT;
	if (now && !moves_less)
		errno = errnum ? errnum : EIO;
	return now && !moves_less;
}

size_t fail_some(size_t bytes)
{
	return moves_less && bytes > 1 ? bytes / 2 : bytes;
}

typedef struct birth {
	void *(*fn)(void *);
	void *arg;
	int rank;
} birth;

/* Execute a thread, which belongs to the rank of its creator. */
static void *fail_thread_main(void *birth_)
{
	const birth b = *(birth *)birth_;
	free(birth_);
	my_rank = b.rank;
	return b.fn(b.arg);
}

int fail_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	birth *b = fail_now(FAIL_THREAD, NULL) ? NULL : (malloc)(sizeof *b);
	if (!b)
		return EAGAIN;
	*b = (birth){ fn, arg, my_rank };
	const int rc = (pthread_create)(thread, attr, fail_thread_main, b);
	if (rc != 0)
		free(b);
	return rc;
}

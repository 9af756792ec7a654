/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults on demand, for tests: `make FAILPOINTS=1` builds them in, and HETSORT_FAIL names them. In
 * any other build the macros below do nothing, and failpoint.c and failcalls.h are omitted.
 *
 *   HETSORT_FAIL=POINT[,POINT...]     N counts from 1; R is a rank; each point strikes once.
 *                                     @inPHASE at its end: it counts only from that phase on.
 *   alloc:N[@rankR]                   the N-th allocation (of the process, or of rank R) fails
 *   file:N[=ERRNO][@rankR]            the N-th call on a file fails: EIO, or ENOSPC, EINTR, ...;
 *                                     =short: a read or write moves half of its bytes;
 *                                     =kill: SIGKILL ends the process before the call
 *   thread:N[@rankR]                  the N-th thread does not start
 *   comm:N[@rankR]                    the N-th call of the comm fails; a comm_test counts
 *                                     only if its message is done
 *   lie:N[@rankR]                     the N-th message to other ranks, a block or in a
 *                                     collective, has wrong content
 *   flip@heard:N[=BIT][@rankR]        a bit of the N-th message other than a block flips on the way
 *   flip@sent:N[@rankR]               a bit of the N-th block sent flips
 *   flip@spill:N[@rankR]              a bit of the N-th write to a run flips on disk
 *   flip@write:N[@rankR]              a bit of the N-th batch of merged records flips in memory
 *   flip@entries:N[=BIT][@rankR]      a bit of the N-th array of entries flips, before or after
 *                                     it is sorted, merged or distributed
 *   kill@PHASE:R  stop@PHASE:R        rank R gets SIGKILL or SIGSTOP when it reaches the phase
 *   delay@PHASE:R=SECONDS             rank R sleeps when it reaches the phase
 *   differ@WHAT:R                     rank R has another version, protocol, order, sizes or layout
 *                                     (describe.c), or an MPI that allows no threads
 *
 * Allocations, files and threads have a point at each of our calls (failcalls.h). */
#ifndef HETSORT_TESTING_FAILPOINT_H
#define HETSORT_TESTING_FAILPOINT_H

#include "base/status.h"

#include <stdatomic.h>

typedef enum fail_kind {
	FAIL_ALLOC,
	FAIL_FILE,
	FAIL_THREAD,
	FAIL_COMM,
	FAIL_LIE,
	FAIL_HEARD,
	FAIL_SENT,
	FAIL_SPILL,
	FAIL_WRITE,
	FAIL_ENTRIES,
	FAIL_KILL,
	FAIL_STOP,
	FAIL_DELAY,
	FAIL_UNLIKE
} fail_kind;

#ifdef HETSORT_FAILPOINTS

/* fail_plan - set the points before any thread starts; NULL or "": none. ST_REFUSED if the text
 * does not follow the grammar. */
status fail_plan(const char *text, err *e);

/* fail_count_in - count in *place how many points have struck. Processes may share *place. */
void fail_count_in(atomic_uint *place);

/* fail_rank - note the rank of the calling thread, and of the threads that it starts. */
void fail_rank(int rank);

/* fail_now - count an event and return whether a point strikes. If so, set *errnum to the error
 * that the point names, or 0. */
bool fail_now(fail_kind kind, int *errnum);

/* fail_phase - note that the rank has reached this phase. */
void fail_phase(const char *phase);

/* fail_differ - return whether a point makes this rank differ from the others in `what`. */
bool fail_differ(const char *what);

/* fail_lie - return the bytes to send: `truth`, or other bytes if a point strikes. */
void *fail_lie(const void *truth, size_t bytes);

/* fail_flip - flip a bit of buf if a point strikes. */
void fail_flip(fail_kind kind, void *buf, size_t bytes);

#	define FAIL_PLAN(text, e)          fail_plan(text, e)
#	define FAIL_RANK(rank)             fail_rank(rank)
#	define FAIL_PHASE(phase)           fail_phase(phase)
#	define FAIL_COMM_CALL(call)        (fail_now(FAIL_COMM, NULL) ? ST_PEER : (call))
#	define FAIL_FLIP(kind, buf, bytes) fail_flip(kind, buf, bytes)
#	define FAIL_DIFFER(what)           fail_differ(what)
#	define FAIL_LIE(truth, bytes)      fail_lie(truth, bytes)

#else

#	define FAIL_PLAN(text, e)          (ST_OK)
#	define FAIL_RANK(rank)             ((void)0)
#	define FAIL_PHASE(phase)           ((void)0)
#	define FAIL_COMM_CALL(call)        (call)
#	define FAIL_FLIP(kind, buf, bytes) ((void)0)
#	define FAIL_DIFFER(what)           (false)
#	define FAIL_LIE(truth, bytes)      (truth)

#endif
#endif

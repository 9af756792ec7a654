/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetsort.h - libhetsort: sort fixed-length records that lie in the caller's memory, on the threads
 * of one process or over the ranks of an MPI communicator, which may differ in speed.
 *
 * Records are compared by key_bytes bytes at key_off, as memcmp() does, or by the numbers and bytes
 * that hetsort_opts.key names. Sorting is stable: equal keys stay in the order of (rank, place in
 * that rank's input). Over ranks, each receives exactly the number of records that the shares or
 * the caller say, however the keys are distributed: equal keys are cut anywhere. Rank r's output
 * precedes rank r + 1's.
 *
 * Every call with a communicator is collective over it, whether it succeeds or not: all its ranks
 * must call it, with the same layout and speeds. It works on duplicates of the communicator, made
 * at the start and freed at the end (the copy functions of the caller's attributes run), which
 * return errors; the caller's communicator, its error handler and its attributes are never changed.
 *
 * Ranks leave together: a rank whose arguments or memory fail returns its own status, all others
 * HETSORT_EPEER with a sentence that names the rank and its trouble. The exceptions, returned at
 * once on the rank that sees them: HETSORT_EINVAL if MPI is not running or the communicator is
 * MPI_COMM_NULL or an intercommunicator; and HETSORT_EPEER where MPI itself fails in the middle,
 * which no rank can report to the others: then the caller can only call MPI_Abort().
 *
 * Threads: a call starts those that the options allow and has joined them when it returns. Only one
 * thread at a time may be in a call on one communicator. With exchange_threads above 0 they call
 * MPI, one at a time: during the call the caller's other threads must not, unless MPI was started
 * with MPI_THREAD_MULTIPLE; below MPI_THREAD_SERIALIZED they are not started. Nothing is printed,
 * no call ends the program, and a rank that waits naps: it does not occupy its processor.
 *
 * The calls with a communicator are declared unless HETSORT_NO_MPI is defined: a libhetsort that
 * was built without MPI defines it through pkg-config and CMake.
 */
#ifndef HETSORT_H
#define HETSORT_H

#include <stddef.h>
#include <stdint.h>

#ifndef HETSORT_NO_MPI
#	include <mpi.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#	define HETSORT_API        __attribute__((visibility("default")))
#	define HETSORT_MUST_CHECK __attribute__((warn_unused_result))
#else
#	define HETSORT_API
#	define HETSORT_MUST_CHECK
#endif

/* ======================================================================== version and status */

#define HETSORT_VERSION_MAJOR 0
#define HETSORT_VERSION_MINOR 2
#define HETSORT_VERSION_PATCH 0
#define HETSORT_VERSION       "0.2.0"

/* hetsort_version - the version of the library that is linked, as "major.minor.patch".
 * Static text, never NULL; compare it with HETSORT_VERSION, the version of this header. */
HETSORT_API const char *hetsort_version(void);

/* The result of a call. Values never change their meaning; new ones are added at the end. */
typedef enum hetsort_status {
	HETSORT_OK = 0,        /* done */
	HETSORT_EINVAL = 1,    /* an argument makes no sense, or differs from rank 0's */
	HETSORT_ERANGE = 2,    /* too many records for a rank, an array or the room there is */
	HETSORT_ENOMEM = 3,    /* out of memory */
	HETSORT_EPEER = 4,     /* another rank failed, or MPI did */
	HETSORT_EINTERNAL = 5, /* a fault of the library itself: please report it */
} hetsort_status;

/* hetsort_strerror - a few words for a status.
 * Static text, never NULL; "unknown status" for a value this version does not know. */
HETSORT_API const char *hetsort_strerror(hetsort_status status);

#define HETSORT_ERR_BYTES 512

/* Caller-allocated; needs no initialisation. Written by a call that fails, and only then. */
typedef struct hetsort_err {
	hetsort_status status;        /* what the call returned */
	char text[HETSORT_ERR_BYTES]; /* lower case, no full stop, always terminated */
} hetsort_err;

/* ==================================================================================== options */

#define HETSORT_RECORD_BYTES_MAX 65536
#define HETSORT_THREADS_MAX      1024

/* Start from HETSORT_OPTS_INIT, then set what you need. The layout (record_bytes and the key) and
 * the speeds must be the same on all ranks, the threads need not. Members are only added at the
 * end: a program compiled with an earlier version has the defaults of those that it lacks; one
 * compiled with a later version is served where what this one lacks is zero. */
typedef struct hetsort_opts {
	size_t struct_size;        /* sizeof(hetsort_opts), set by the INIT macro */
	uint32_t record_bytes;     /* 1 .. HETSORT_RECORD_BYTES_MAX; 100 by default */
	uint32_t key_off;          /* where in a record its key begins; 0 by default */
	uint32_t key_bytes;        /* >= 1, ending within the record; 10 by default */
	uint32_t threads;          /* that sort on this rank, the calling one among them, up to
				    * HETSORT_THREADS_MAX; 0: one per processor it may use;
				    * 1 by default */
	uint32_t exchange_threads; /* that move records between ranks: 2 one to send and one to
				    * receive, 1 one for both, 0 the calling thread does it itself;
				    * 0 by default */
	const double *speeds;      /* NULL: equal shares; else one for each rank, finite and > 0:
				    * rank r outputs a share proportional to speeds[r]. Not looked at
				    * where the caller gives the counts, or there is one process. */
	const char *key; /* NULL: the key is key_bytes bytes at key_off. Else these are not
			  * looked at, and it is what hetsort's --key takes, fields separated
			  * by a space: "0,u64,desc 8,4". The first counts most; types are
			  * bytes, u8 to u64, i8 to i64, f32 and f64, of the machine's byte
			  * order or with le or be after them. Read during the call. */
} hetsort_opts;

/* clang-format off */
#define HETSORT_OPTS_INIT { sizeof(hetsort_opts), 100, 0, 10, 1, 0, NULL, NULL }
/* clang-format on */

/* hetsort_mem_bytes - return the most bytes that a call allocates on a rank, without the caller's
 * arrays. Entries are sorted in the output array if they fit, before records come there.
 * records_in, records_out  of this rank; for hetsort_sort_local() give the same for both.
 * ranks                    of the communicator, >= 1.
 * opts                     as for the call; NULL for the defaults.
 * Returns bytes; UINT64_MAX where opts is refused or the number is too large for any machine. Not
 * collective; safe from any number of threads. */
HETSORT_API uint64_t hetsort_mem_bytes(uint64_t records_in, uint64_t records_out, int ranks,
				       const hetsort_opts *opts);

/* ================================================================================ one process */

/* hetsort_sort_local - sort records on the threads of this process; no MPI takes part, nor need it
 * be running.
 * in       n records, only read; NULL only if n is 0.
 * n        records, 0 too.
 * out      receives them sorted: room for n records; NULL only if n is 0; must not overlap in. Its
 *          content is undefined on failure.
 * opts     NULL for the defaults.
 * err      NULL, or receives the reason of a failure.
 * Returns HETSORT_OK; HETSORT_EINVAL: a pointer is NULL, the arrays overlap, struct_size is
 *   unknown, the layout makes no sense or there are too many threads; HETSORT_ERANGE: the records
 *   are beyond the address space, or more than 2^48; HETSORT_ENOMEM; HETSORT_EINTERNAL.
 * Not collective; safe from any number of threads on different arrays. */
HETSORT_API hetsort_status hetsort_sort_local(const void *in, uint64_t n, void *out,
					      const hetsort_opts *opts,
					      hetsort_err *err) HETSORT_MUST_CHECK;

/* ================================================================================= over ranks */
#ifndef HETSORT_NO_MPI

/* hetsort_share - how many records this rank will receive from hetsort_sort(): equal shares, or
 * shares proportional to the speeds, which sum up to all n_in.
 * n_in   records that this rank will bring, 0 too.
 * n_out  receives the number; 0 on failure.
 * opts   as for hetsort_sort(); NULL for the defaults.
 * comm   intracommunicator.
 * err    NULL, or receives the reason of a failure.
 * Returns HETSORT_OK; HETSORT_EINVAL: n_out is NULL, opts is refused as by hetsort_sort(), or see
 *   the top of this file; HETSORT_ERANGE: too many records in all; HETSORT_ENOMEM; HETSORT_EPEER;
 *   HETSORT_EINTERNAL.
 * Collective. */
HETSORT_API hetsort_status hetsort_share(uint64_t n_in, uint64_t *n_out, const hetsort_opts *opts,
					 MPI_Comm comm, hetsort_err *err) HETSORT_MUST_CHECK;

/* hetsort_sort - sort the records of all ranks; this rank receives its share of them.
 * in     n_in records of this rank, only read; NULL only if n_in is 0.
 * n_in   records, 0 too; need not be the same everywhere.
 * out    receives this rank's records; NULL only if room is 0; must not overlap in. Nothing is
 *        written after the share. Its content is undefined on failure.
 * room   records that out holds.
 * n_out  receives the number of this rank's records, as hetsort_share() returns it before; with
 *        HETSORT_ERANGE for want of room, how many there would be; 0 on other failures.
 * opts   NULL for the defaults.
 * comm   intracommunicator.
 * err    NULL, or receives the reason of a failure.
 * Returns HETSORT_OK;
 *   HETSORT_EINVAL: a pointer is NULL, the arrays overlap, struct_size is unknown, the layout makes
 *     no sense, there are too many threads, exchange_threads is above 2, a speed is not finite or
 *     not above 0, or layout or speeds differ from rank 0's;
 *   HETSORT_ERANGE: the share is larger than room (nothing is sorted), the records are beyond the
 *     address space, or more than 2^48 on a rank or 2^63 bytes in all;
 *   HETSORT_ENOMEM; HETSORT_EPEER: another rank failed, or MPI did; HETSORT_EINTERNAL.
 * Collective. Memory: hetsort_mem_bytes(). */
HETSORT_API hetsort_status hetsort_sort(const void *in, uint64_t n_in, void *out, uint64_t room,
					uint64_t *n_out, const hetsort_opts *opts, MPI_Comm comm,
					hetsort_err *err) HETSORT_MUST_CHECK;

/* hetsort_sort_counts - hetsort_sort() with the number of records that each rank receives chosen by
 * the caller: n_in, say, to keep what each rank has.
 * out    receives n_out records; NULL only if n_out is 0; must not overlap in.
 * n_out  records that this rank wishes, 0 too; over all ranks they sum up to all n_in.
 * The other arguments and results as there; HETSORT_EINVAL also if the sums differ (on all ranks);
 * speeds are not looked at. */
HETSORT_API hetsort_status hetsort_sort_counts(const void *in, uint64_t n_in, void *out,
					       uint64_t n_out, const hetsort_opts *opts,
					       MPI_Comm comm, hetsort_err *err) HETSORT_MUST_CHECK;

/* hetsort_share_f, hetsort_sort_f, hetsort_sort_counts_f - the same for languages that hold a
 * communicator as Fortran does, as a number: Fortran, or Python through mpi4py's py2f(). */
HETSORT_API hetsort_status hetsort_share_f(uint64_t n_in, uint64_t *n_out, const hetsort_opts *opts,
					   MPI_Fint comm, hetsort_err *err) HETSORT_MUST_CHECK;
HETSORT_API hetsort_status hetsort_sort_f(const void *in, uint64_t n_in, void *out, uint64_t room,
					  uint64_t *n_out, const hetsort_opts *opts, MPI_Fint comm,
					  hetsort_err *err) HETSORT_MUST_CHECK;
HETSORT_API hetsort_status hetsort_sort_counts_f(const void *in, uint64_t n_in, void *out,
						 uint64_t n_out, const hetsort_opts *opts,
						 MPI_Fint comm,
						 hetsort_err *err) HETSORT_MUST_CHECK;

#endif /* HETSORT_NO_MPI */

#ifdef __cplusplus
}
#endif

#endif

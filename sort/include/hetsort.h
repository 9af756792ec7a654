/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetsort.h - libhetsort: sort fixed-length records in memory, on the threads of one process or
 * over the ranks of an MPI communicator. Ranks may differ in speed.
 *
 * Records are compared by key_bytes bytes at key_off, as memcmp() does, or by the numbers and bytes
 * that hetsort_opts.key names. Sorting is stable: equal keys stay in the order of (rank, place in
 * the input of that rank). Each rank receives exactly the number of records that the shares or the
 * caller define. This also holds for equal keys, because their records may go to several ranks. The
 * output of rank r precedes the output of rank r + 1.
 *
 * Every call with a communicator is collective over it, even if it fails: all ranks must make the
 * call, with the same layout and speeds. A call works on duplicates of the communicator, with the
 * error handler MPI_ERRORS_RETURN. It makes the duplicates at the start, which calls the copy
 * functions of the caller's attributes, and frees them at the end. The caller's communicator, its
 * error handler and its attributes never change.
 *
 * All ranks return from a call together. If a rank fails because of its arguments or its memory, it
 * returns its own status. All other ranks return HETSORT_EPEER, with a sentence that names the rank
 * and the reason. In two cases a rank returns at once:
 *   HETSORT_EINVAL: MPI is not running, or the communicator is MPI_COMM_NULL or an
 *     intercommunicator;
 *   HETSORT_EPEER: MPI itself fails during the call. No rank can report this to the others, so the
 *     caller can only call MPI_Abort().
 *
 * Threads: a call starts at most as many threads as the options allow, and joins them before it
 * returns. Only one thread at a time may be in a call on one communicator. If exchange_threads is
 * above 0, the exchange threads call MPI, one at a time. They are not started if MPI provides less
 * than MPI_THREAD_SERIALIZED. During the call, other threads of the caller must not call MPI,
 * unless MPI was started with MPI_THREAD_MULTIPLE. No call prints anything or ends the program. A
 * waiting rank sleeps, and does not occupy its processor.
 *
 * The calls with a communicator are declared unless HETSORT_NO_MPI is defined. If libhetsort was
 * built without MPI, its files for pkg-config and CMake define this macro. */
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
#define HETSORT_VERSION_MINOR 3
#define HETSORT_VERSION_PATCH 0
#define HETSORT_VERSION       "0.3.0"

/* hetsort_version - return the version of the linked library, as "major.minor.patch". The text is
 * static, never NULL. HETSORT_VERSION is the version of this header. */
HETSORT_API const char *hetsort_version(void);

/* The result of a call. Values never change their meaning; new ones are added at the end. */
typedef enum hetsort_status {
	HETSORT_OK = 0,        /* done */
	HETSORT_EINVAL = 1,    /* an argument is invalid, or differs from the one on rank 0 */
	HETSORT_ERANGE = 2,    /* too many records for a rank or an array */
	HETSORT_ENOMEM = 3,    /* out of memory */
	HETSORT_EPEER = 4,     /* another rank failed, or MPI did */
	HETSORT_EINTERNAL = 5, /* records changed during the call, or a fault of the library */
} hetsort_status;

/* hetsort_strerror - describe a status in a few words. The text is static, never NULL. It is
 * "unknown status" for a value that this version does not define. */
HETSORT_API const char *hetsort_strerror(hetsort_status status);

#define HETSORT_ERR_BYTES 512

/* The reason of a failure. The last argument of a call, err, may be NULL. The caller allocates it
 * and need not initialise it. Only a call that fails writes it. */
typedef struct hetsort_err {
	hetsort_status status;        /* the result of the call */
	char text[HETSORT_ERR_BYTES]; /* lower case, no full stop, always terminated */
} hetsort_err;

/* ==================================================================================== options */

#define HETSORT_RECORD_BYTES_MAX 65536
#define HETSORT_THREADS_MAX      1024

/* Start from HETSORT_OPTS_INIT, then set the members that you need. The layout (record_bytes and
 * the key) and the speeds must be the same on all ranks; the threads may differ. New members are
 * only added at the end. For a program that was compiled with an earlier version, they have their
 * defaults. A program that was compiled with a later version may set only the members of this
 * library. */
typedef struct hetsort_opts {
	size_t struct_size;    /* sizeof(hetsort_opts), set by the INIT macro */
	uint32_t record_bytes; /* 1 .. HETSORT_RECORD_BYTES_MAX; 100 by default */
	uint32_t key_off;      /* offset of the key in a record; 0 by default */
	uint32_t key_bytes;    /* length of the key, >= 1; 10 by default */
	uint32_t threads;      /* threads that sort on this rank, the calling thread included, up
				* to HETSORT_THREADS_MAX; 0: one per processor that the rank may
				* use; 1 by default */
	uint32_t exchange_threads; /* 1 or 2: threads of their own send records to other ranks. 0:
				    * the threads that merge do it; 0 by default */
	const double *speeds;      /* NULL: equal shares. Else one speed for each rank, finite and
				    * above 0: the output of rank r has a share proportional to
				    * speeds[r]. Ignored by hetsort_sort_counts() and
				    * hetsort_sort_local(). */
	const char *key; /* NULL: the key is key_bytes bytes at key_off. Else key_off and key_bytes
			  * are ignored, and this text lists the fields of the key, most significant
			  * first, separated by a space: "0,u64,desc 8,4". A field has the format of
			  * hetsort's --key: offset, type or number of bytes, and optionally
			  * nan-last and desc. Types are u8 to u64, i8 to i64, f16 to f64, c64 and
			  * c128. Numbers have the byte order of the machine unless le or be
			  * follows. With nan-last, NaN and the least signed number (NaT of numpy)
			  * come last, and -0 equals +0. The text is only read during the call. */
} hetsort_opts;

/* clang-format off */
#define HETSORT_OPTS_INIT { sizeof(hetsort_opts), 100, 0, 10, 1, 0, NULL, NULL }
/* clang-format on */

/* hetsort_mem_bytes - return an upper bound of the bytes that a call allocates on a rank, in
 * addition to the caller's arrays.
 * records_in, records_out  input and output records of this rank; equal for hetsort_sort_local().
 * ranks                    number of ranks of the communicator, >= 1.
 * opts                     as for the call; NULL for the defaults.
 * Returns bytes, or UINT64_MAX if opts is invalid or the number is too large for any machine. Not
 * collective; safe from any number of threads. */
HETSORT_API uint64_t hetsort_mem_bytes(uint64_t records_in, uint64_t records_out, int ranks,
				       const hetsort_opts *opts);

/* ================================================================================ one process */

/* hetsort_sort_local - sort records on the threads of this process. MPI is not used, and need not
 * be running.
 * in       n records, only read; NULL only if n is 0. If they change during the call, nothing
 *          outside of out is written. Most changes of keys are reported (HETSORT_EINTERNAL).
 * n        number of records, may be 0.
 * out      space for n records, which receives the sorted records; NULL only if n is 0; must not
 *          overlap in. Its content is undefined on failure.
 * opts     NULL for the defaults.
 * Returns HETSORT_OK;
 *   HETSORT_EINVAL: a pointer is NULL, the arrays overlap, struct_size is unknown, the layout is
 *     invalid or there are too many threads;
 *   HETSORT_ERANGE: the records do not fit into the address space, or are more than 2^48;
 *   HETSORT_ENOMEM; HETSORT_EINTERNAL.
 * Not collective; safe from any number of threads on different arrays. */
HETSORT_API hetsort_status hetsort_sort_local(const void *in, uint64_t n, void *out,
					      const hetsort_opts *opts,
					      hetsort_err *err) HETSORT_MUST_CHECK;

/* ================================================================================= over ranks */
#ifndef HETSORT_NO_MPI

/* hetsort_share - compute how many records this rank will receive from hetsort_sort(). Shares are
 * equal, or proportional to the speeds. Their sum is the sum of n_in over all ranks.
 * n_in   number of records that this rank will bring, may be 0.
 * n_out  receives the number; 0 on failure.
 * opts   as for hetsort_sort(); NULL for the defaults.
 * comm   intracommunicator.
 * Returns HETSORT_OK; HETSORT_EINVAL: n_out is NULL, opts is invalid as for hetsort_sort(), see
 *   also the top of this file; HETSORT_ERANGE: too many records in all; HETSORT_ENOMEM;
 *   HETSORT_EPEER; HETSORT_EINTERNAL.
 * Collective. */
HETSORT_API hetsort_status hetsort_share(uint64_t n_in, uint64_t *n_out, const hetsort_opts *opts,
					 MPI_Comm comm, hetsort_err *err) HETSORT_MUST_CHECK;

/* hetsort_sort - sort the records of all ranks; this rank receives its share of them.
 * in     n_in records of this rank, only read; NULL only if n_in is 0.
 * n_in   number of records, may be 0; ranks may have different numbers.
 * out    receives this rank's records; NULL only if room is 0; must not overlap in. The array is
 *        unchanged beyond the share. Its content is undefined on failure.
 * room   number of records that fit into out.
 * n_out  receives the number of this rank's records, the same as from hetsort_share(). If room is
 *        too small (HETSORT_ERANGE), it receives the room that is needed; 0 on other failures.
 * opts   NULL for the defaults.
 * comm   intracommunicator.
 * Returns HETSORT_OK;
 *   HETSORT_EINVAL: a pointer is NULL, the arrays overlap, struct_size is unknown, the layout is
 *     invalid, there are too many threads, exchange_threads is above 2, a speed is not finite or
 *     not above 0, or layout or speeds differ from those on rank 0;
 *   HETSORT_ERANGE: the share is larger than room (nothing is sorted), the records do not fit into
 *     the address space, or are more than 2^48 on a rank or 2^63 bytes in all;
 *   HETSORT_ENOMEM; HETSORT_EPEER: another rank failed, or MPI did; HETSORT_EINTERNAL.
 * Collective. Memory: hetsort_mem_bytes(). */
HETSORT_API hetsort_status hetsort_sort(const void *in, uint64_t n_in, void *out, uint64_t room,
					uint64_t *n_out, const hetsort_opts *opts, MPI_Comm comm,
					hetsort_err *err) HETSORT_MUST_CHECK;

/* hetsort_sort_counts - sort like hetsort_sort(), but the caller chooses the number of records that
 * each rank receives. If n_out is n_in, for example, each rank keeps its number of records.
 * out    receives n_out records; NULL only if n_out is 0; must not overlap in.
 * n_out  number of records that this rank is to receive, may be 0. The sum over all ranks must
 *        equal the sum of n_in.
 * Other arguments and results are as for hetsort_sort(). Returns HETSORT_EINVAL on all ranks if the
 * sums differ. Speeds are ignored. */
HETSORT_API hetsort_status hetsort_sort_counts(const void *in, uint64_t n_in, void *out,
					       uint64_t n_out, const hetsort_opts *opts,
					       MPI_Comm comm, hetsort_err *err) HETSORT_MUST_CHECK;

/* hetsort_argsort - sort only the numbers of the records. The records of all ranks are numbered
 * from 0 on: the records of rank 0 in the order of its array, then the records of rank 1, and so
 * on. Afterwards, all ranks together have the numbers of the records in sorted order. Equal keys
 * are in the order of their numbers. This rank receives the share that hetsort_share() returns, so
 * order[i] is the number of the record that hetsort_sort() would put at place i of out. Only keys
 * and numbers move between ranks.
 * in     n_in records of this rank, only read; NULL only if n_in is 0.
 * n_in   number of records, may be 0; ranks may have different numbers.
 * order  receives this rank's numbers; NULL only if room is 0; must not overlap in. The array is
 *        unchanged beyond the share. Its content is undefined on failure.
 * room   length of order.
 * n_out  receives the length of this rank's share. If room is too small (HETSORT_ERANGE), it
 *        receives the room that is needed; 0 on other failures.
 * opts   as for hetsort_sort(); NULL for the defaults.
 * comm   intracommunicator.
 * Returns the same as hetsort_sort().
 * Collective. Memory: as hetsort_mem_bytes() states for records of B = key_bytes + 8 bytes, and
 *   (n_in + n_out) * B bytes. With opts.key, key_bytes is the length of all its fields. */
HETSORT_API hetsort_status hetsort_argsort(const void *in, uint64_t n_in, uint64_t *order,
					   uint64_t room, uint64_t *n_out, const hetsort_opts *opts,
					   MPI_Comm comm, hetsort_err *err) HETSORT_MUST_CHECK;

/* hetsort_apply - fetch records by their numbers: record i of out becomes the record with the
 * number order[i], whichever rank has it. So an order from hetsort_argsort() sorts these records,
 * and also arrays with other data of them. A number may occur several times, on any ranks, or
 * never.
 * order         n_order numbers, each at least 0 and below the sum of n_in over all ranks. They
 *               are only read, and count as in hetsort_argsort(). NULL only if n_order is 0.
 * n_order       number of records that this rank is to receive, may be 0.
 * in            n_in records of this rank, only read; NULL only if n_in is 0.
 * n_in          number of records, may be 0; ranks may have different numbers.
 * out           receives n_order records; NULL only if n_order is 0; must not overlap order or
 *               in. Its content is undefined on failure.
 * record_bytes  size of a record, 1 .. HETSORT_RECORD_BYTES_MAX; the same on all ranks.
 * opts          NULL for the defaults. Only threads is used: records need no key here.
 * comm          intracommunicator.
 * Returns HETSORT_OK;
 *   HETSORT_EINVAL: a pointer is NULL, the arrays overlap, struct_size is unknown, there are too
 *     many threads, record_bytes is 0, too large or differs from rank 0, or a number in order is
 *     too large. Then nothing is written, and err names the number; on other ranks, it also names
 *     its rank;
 *   HETSORT_ERANGE: the arrays do not fit into the address space, or have more than 2^48 elements
 *     on a rank or 2^63 bytes in all;
 *   HETSORT_ENOMEM; HETSORT_EPEER: another rank failed, or MPI did;
 *   HETSORT_EINTERNAL: order changed during the call, or a fault of the library.
 * Collective. Memory: 17 MB; with more than 32 ranks 0.6 MB for each, at most 140 MB; none with
 *   one rank. */
HETSORT_API hetsort_status hetsort_apply(const uint64_t *order, uint64_t n_order, const void *in,
					 uint64_t n_in, void *out, uint32_t record_bytes,
					 const hetsort_opts *opts, MPI_Comm comm,
					 hetsort_err *err) HETSORT_MUST_CHECK;

/* hetsort_share_f, hetsort_sort_f, hetsort_sort_counts_f, hetsort_argsort_f, hetsort_apply_f - call
 * the functions above with the Fortran handle of a communicator, for Fortran and other languages.
 * In Python, py2f() of mpi4py returns this handle. */
HETSORT_API hetsort_status hetsort_share_f(uint64_t n_in, uint64_t *n_out, const hetsort_opts *opts,
					   MPI_Fint comm, hetsort_err *err) HETSORT_MUST_CHECK;
HETSORT_API hetsort_status hetsort_sort_f(const void *in, uint64_t n_in, void *out, uint64_t room,
					  uint64_t *n_out, const hetsort_opts *opts, MPI_Fint comm,
					  hetsort_err *err) HETSORT_MUST_CHECK;
HETSORT_API hetsort_status hetsort_sort_counts_f(const void *in, uint64_t n_in, void *out,
						 uint64_t n_out, const hetsort_opts *opts,
						 MPI_Fint comm,
						 hetsort_err *err) HETSORT_MUST_CHECK;
HETSORT_API hetsort_status hetsort_argsort_f(const void *in, uint64_t n_in, uint64_t *order,
					     uint64_t room, uint64_t *n_out,
					     const hetsort_opts *opts, MPI_Fint comm,
					     hetsort_err *err) HETSORT_MUST_CHECK;
HETSORT_API hetsort_status hetsort_apply_f(const uint64_t *order, uint64_t n_order, const void *in,
					   uint64_t n_in, void *out, uint32_t record_bytes,
					   const hetsort_opts *opts, MPI_Fint comm,
					   hetsort_err *err) HETSORT_MUST_CHECK;

#endif /* HETSORT_NO_MPI */

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: GPL-3.0-or-later
// local_partners.cc - the sorts of C++ libraries with which bucket_sort_records() is compared, each
// in its fastest form. Records of 8 bytes are numbers of 64 bits. Records of 16 bytes are numbers
// of 128 bits with the key in the upper half. For longer records, numbers of 128 bits are sorted,
// which have 80 bits of key and 48 bits of position. A prefetching loop then gathers the records.
#include "local.h"
#include "local_radix.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#ifdef HAVE_HWY
#	include <hwy/contrib/sort/vqsort.h>
#endif
#ifdef HAVE_OPENMP
#	include <omp.h>
#	include <parallel/algorithm>
#endif
#ifdef HAVE_TBB
#	include <tbb/global_control.h>
#	include <tbb/parallel_sort.h>
#endif
#ifdef HAVE_BOOST
#	include <boost/sort/sort.hpp>
#endif

namespace
{

typedef unsigned __int128 number;

uint64_t key_word(const shape &s, const unsigned char *rec)
{
	uint64_t v;
	memcpy(&v, rec, sizeof v);
	return s.little ? v : __builtin_bswap64(v);
}

// Make the number that represents record i: the record itself, or its key and position.
void number_of(const shape &, const unsigned char *rec, size_t, uint64_t key, uint64_t &to)
{
	(void)rec;
	to = key;
}

void number_of(const shape &s, const unsigned char *rec, size_t i, uint64_t key, number &to)
{
	uint64_t low = i;
	uint16_t more;
	memcpy(&more, rec + WORD_BYTES, sizeof more);
	if (s.record_bytes == PAIR_BYTES)
		memcpy(&low, rec + WORD_BYTES, sizeof low);
	else if (s.key_bytes > WORD_BYTES)
		low |= (uint64_t)__builtin_bswap16(more) << 48;
	to = (number)key << 64 | low;
}

template <class T>
void extract(const shape &s, const unsigned char *in, size_t n, T *e, unsigned threads)
{
	on_threads(threads, n, [=](size_t from, size_t to) {
		for (size_t i = from; i < to; i++) {
			const unsigned char *rec = in + i * s.record_bytes;
			number_of(s, rec, i, key_word(s, rec), e[i]);
		}
	});
}

void put(const shape &s, unsigned char *rec, uint64_t key)
{
	key = s.little ? key : __builtin_bswap64(key);
	memcpy(rec, &key, sizeof key);
}

void put(const shape &s, unsigned char *rec, number e)
{
	const uint64_t value = (uint64_t)e;
	put(s, rec, (uint64_t)(e >> 64));
	memcpy(rec + WORD_BYTES, &value, sizeof value);
}

// Write the records that the sorted numbers e represent. E is a pointer, or has an operator [].
template <class E>
void put_back(const shape &s, E e, size_t n, unsigned char *out, unsigned threads)
{
	on_threads(threads, n, [=](size_t from, size_t to) {
		for (size_t i = from; i < to; i++)
			put(s, out + i * s.record_bytes, e[i]);
	});
}

template <class E>
void gather(const shape &s, const unsigned char *in, E e, size_t n, unsigned char *out,
	    unsigned threads)
{
	const size_t bytes = s.record_bytes;
	auto source = [=](number x) {
		return in + ((uint64_t)x & ((UINT64_C(1) << 48) - 1)) * bytes;
	};
	on_threads(threads, n, [=](size_t from, size_t to) {
		for (size_t i = from; i < to; i++) {
			if (i + 16 < to) {
				const unsigned char *p = source(e[i + 16]);
				__builtin_prefetch(p);
				__builtin_prefetch(p + (bytes > 64 ? 64 : 0));
				__builtin_prefetch(p + bytes - 1);
			}
			memcpy(out + i * bytes, source(e[i]), bytes);
		}
	});
}

// Sort by S::sort(), which receives the numbers and scratch memory of the same size. It returns
// where the sorted numbers are.
template <class S>
void by_numbers(const shape *s, const unsigned char *in, size_t n, unsigned char *out,
		unsigned threads, void *scratch)
{
	if (s->record_bytes == WORD_BYTES) {
		uint64_t *e = static_cast<uint64_t *>(scratch);
		extract(*s, in, n, e, threads);
		put_back(*s, S::sort(e, e + n, n, threads), n, out, threads);
		return;
	}
	number *e = static_cast<number *>(scratch);
	extract(*s, in, n, e, threads);
	e = S::sort(e, e + n, n, threads);
	if (s->record_bytes == PAIR_BYTES)
		put_back(*s, e, n, out, threads);
	else
		gather(*s, in, e, n, out, threads);
}

struct std_sort {
	template <class T> static T *sort(T *e, T *, size_t n, unsigned)
	{
		std::sort(e, e + n);
		return e;
	}
};

#ifdef HAVE_HWY
void vq(uint64_t *e, size_t n)
{
	hwy::Sorter()(e, n, hwy::SortAscending());
}
void vq(number *e, size_t n)
{
	hwy::Sorter()(reinterpret_cast<hwy::uint128_t *>(e), n, hwy::SortAscending());
}

// Use one thread, or two. With two threads, numbers below a pivot are moved to the front; then each
// thread sorts one side.
struct vqsort {
	template <class T> static T pivot(const T *e, size_t n)
	{
		T some[255];
		const size_t k = std::min<size_t>(n, 255);
		for (size_t i = 0; i < k; i++)
			some[i] = e[n / k * i];
		std::sort(some, some + k);
		return some[k / 2];
	}
	template <class T> static T *sort(T *e, T *to, size_t n, unsigned threads)
	{
		if (threads < 2 || n < 2) {
			vq(e, n);
			return e;
		}
		const T p = pivot(e, n);
		const size_t half = n / 2;
		size_t below[2];
		auto count = [=, &below](unsigned side, size_t from, size_t end) {
			below[side] = std::count_if(e + from, e + end, [=](T x) { return x < p; });
		};
		std::thread counter([=] { count(1, half, n); });
		count(0, 0, half);
		counter.join();
		const size_t low = below[0] + below[1];
		auto move = [=](size_t from, size_t end, T *a, T *b) {
			for (size_t i = from; i < end; i++) {
				const bool is_low = e[i] < p;
				*(is_low ? a : b) = e[i];
				a += is_low;
				b += !is_low;
			}
		};
		T *const first = to + below[0], *const second = to + low + half - below[0];
		std::thread mover([=] { move(half, n, first, second); });
		move(0, half, to, to + low);
		mover.join();
		std::thread sorter([=] { vq(to + low, n - low); });
		vq(to, low);
		sorter.join();
		return to;
	}
};
#endif

#ifdef HAVE_XSS_avx2
typedef void xss_sort(uint64_t *keys, size_t n, unsigned threads);
typedef void xss_sort_pairs(uint64_t *keys, uint64_t *values, size_t n, unsigned threads);
extern "C" {
xss_sort avx2_sort, avx512_sort;
xss_sort_pairs avx2_sort_pairs, avx512_sort_pairs;
}

// The upper halves of numbers in one array, and the lower halves in another.
struct halves {
	uint64_t *upper, *lower;
	number operator[](size_t i) const
	{
		return (number)upper[i] << 64 | lower[i];
	}
};

template <xss_sort SORT, xss_sort_pairs SORT_PAIRS>
void xss(const shape *s, const unsigned char *in, size_t n, unsigned char *out, unsigned threads,
	 void *scratch)
{
	const halves e = { static_cast<uint64_t *>(scratch), static_cast<uint64_t *>(scratch) + n };

	if (s->record_bytes == WORD_BYTES) {
		extract(*s, in, n, e.upper, threads);
		SORT(e.upper, n, threads);
		return put_back(*s, e.upper, n, out, threads);
	}
	on_threads(threads, n, [=](size_t from, size_t to) {
		for (size_t i = from; i < to; i++) {
			number x;
			const unsigned char *rec = in + i * s->record_bytes;
			number_of(*s, rec, i, key_word(*s, rec), x);
			e.upper[i] = (uint64_t)(x >> 64);
			e.lower[i] = (uint64_t)x;
		}
	});
	SORT_PAIRS(e.upper, e.lower, n, threads);
	if (s->record_bytes == PAIR_BYTES)
		return put_back(*s, e, n, out, threads);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && e.upper[j] == e.upper[i]; j++)
			;
		if (j > i + 1)
			SORT(e.lower + i, j - i, threads);
	}
	gather(*s, in, e, n, out, threads);
}
#endif

// A record that the radix sort moves itself, without a number that represents it.
template <unsigned BYTES, bool LITTLE> struct raw {
	uint64_t w[BYTES / sizeof(uint64_t)];

	uint64_t key() const
	{
		return LITTLE ? w[0] : __builtin_bswap64(w[0]);
	}
	bool operator<(const raw &o) const
	{
		const uint64_t a = key(), b = o.key();
		if (BYTES > PAIR_BYTES && !LITTLE && a == b)
			return __builtin_bswap16(w[1]) < __builtin_bswap16(o.w[1]);
		return a < b;
	}
};
template <unsigned BYTES, bool LITTLE> unsigned digit_of(const raw<BYTES, LITTLE> &x, unsigned d)
{
	return reinterpret_cast<const unsigned char *>(x.w)[LITTLE ? 7 - d : d];
}
unsigned digit_of(const number &x, unsigned d)
{
	return (unsigned)(x >> (120 - 8 * d)) & 255;
}

template <class T>
void radix_raw(const unsigned char *in, size_t n, unsigned char *out, unsigned digits,
	       unsigned threads, void *scratch)
{
	radix<T, digit_of>(reinterpret_cast<const T *>(in), n, reinterpret_cast<T *>(out),
			   static_cast<T *>(scratch), digits, threads);
}
template <bool LITTLE>
bool radix_short(const shape *s, const unsigned char *in, size_t n, unsigned char *out,
		 unsigned threads, void *scratch)
{
	if (s->record_bytes == WORD_BYTES)
		radix_raw<raw<8, LITTLE>>(in, n, out, s->key_bytes, threads, scratch);
	else if (s->record_bytes == PAIR_BYTES)
		radix_raw<raw<16, LITTLE>>(in, n, out, s->key_bytes, threads, scratch);
	else if (s->record_bytes == 32)
		radix_raw<raw<32, LITTLE>>(in, n, out, s->key_bytes, threads, scratch);
	else
		return false;
	return true;
}
void raduls(const shape *s, const unsigned char *in, size_t n, unsigned char *out, unsigned threads,
	    void *scratch)
{
	if ((s->little ? radix_short<true> : radix_short<false>)(s, in, n, out, threads, scratch))
		return;
	number *e = static_cast<number *>(scratch);
	extract(*s, in, n, e, threads);
	radix<number, digit_of>(e, n, e, e + n, s->key_bytes, threads);
	gather(*s, in, e, n, out, threads);
}

#ifdef HAVE_OPENMP
struct gnu_parallel {
	template <class T> static T *sort(T *e, T *, size_t n, unsigned threads)
	{
		omp_set_num_threads((int)threads);
		__gnu_parallel::sort(e, e + n);
		return e;
	}
};
#endif

#ifdef HAVE_TBB
struct tbb_sort {
	template <class T> static T *sort(T *e, T *, size_t n, unsigned threads)
	{
		tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
		tbb::parallel_sort(e, e + n);
		return e;
	}
};
#endif

#ifdef HAVE_BOOST
struct boost_block {
	template <class T> static T *sort(T *e, T *, size_t n, unsigned threads)
	{
		boost::sort::block_indirect_sort(e, e + n, std::less<T>(), threads);
		return e;
	}
};
struct boost_sample {
	template <class T> static T *sort(T *e, T *, size_t n, unsigned threads)
	{
		boost::sort::sample_sort(e, e + n, std::less<T>(), threads);
		return e;
	}
};

struct shift {
	int64_t operator()(number x, unsigned by) const
	{
		return (int64_t)((uint64_t)(x >> 64) ^ (UINT64_C(1) << 63)) >> by;
	}
};
struct boost_spread {
	static uint64_t *sort(uint64_t *e, uint64_t *, size_t n, unsigned)
	{
		boost::sort::spreadsort::integer_sort(e, e + n);
		return e;
	}
	static number *sort(number *e, number *, size_t n, unsigned)
	{
		boost::sort::spreadsort::integer_sort(e, e + n, shift(), std::less<number>());
		/* spreadsort treats numbers with equal upper halves as equal */
		for (size_t i = 0, j; i < n; i = j) {
			for (j = i + 1; j < n && (e[j] >> 64) == (e[i] >> 64); j++)
				;
			std::sort(e + i, e + j);
		}
		return e;
	}
};
#endif

} // namespace

extern "C" const partner PARTNERS[] = {
#ifdef HAVE_HWY
	{ "hwy vqsort", by_numbers<vqsort>, 1 },
#endif
	{ "radix as RADULS", raduls, 1 },
#ifdef HAVE_XSS_avx2
	{ "x86-simd-sort avx2", xss<avx2_sort, avx2_sort_pairs>, 1 },
#endif
#ifdef HAVE_XSS_avx512
	{ "x86-simd-sort avx512", xss<avx512_sort, avx512_sort_pairs>, 1 },
#endif
	{ "std::sort", by_numbers<std_sort>, 0 },
#ifdef HAVE_OPENMP
	{ "gnu_parallel", by_numbers<gnu_parallel>, 1 },
#endif
#ifdef HAVE_TBB
	{ "tbb", by_numbers<tbb_sort>, 1 },
#endif
#ifdef HAVE_BOOST
	{ "boost block_indirect", by_numbers<boost_block>, 1 },
	{ "boost sample", by_numbers<boost_sample>, 1 },
	{ "boost spreadsort", by_numbers<boost_spread>, 0 },
#endif
	{ nullptr, nullptr, 0 },
};

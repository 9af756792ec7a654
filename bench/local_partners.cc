// SPDX-License-Identifier: GPL-3.0-or-later
// local_partners.cc - the sorts of C++ libraries that records_sort is measured beside, each in the
// form that suits it best: all but std::sort of the records themselves sort numbers of 128 bits, 80
// of them key and 48 position, and gather the records by the same prefetching loop.
#include "local.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#ifdef HAVE_HWY
#include <hwy/contrib/sort/vqsort.h>
#endif
#ifdef HAVE_OPENMP
#include <omp.h>
#include <parallel/algorithm>
#endif
#ifdef HAVE_TBB
#include <tbb/global_control.h>
#include <tbb/parallel_sort.h>
#endif
#ifdef HAVE_BOOST
#include <boost/sort/sort.hpp>
#endif

namespace
{

typedef unsigned __int128 number;

struct record {
	unsigned char bytes[REC_BYTES];
	bool operator<(const record &other) const
	{
		return memcmp(bytes, other.bytes, KEY_BYTES) < 0;
	}
};

template <class F> void on_threads(unsigned threads, size_t n, F work)
{
	std::vector<std::thread> team;
	for (unsigned t = 1; t < threads; t++)
		team.emplace_back([=] { work(n * t / threads, n * (t + 1) / threads); });
	work(0, n / threads);
	for (auto &t : team)
		t.join();
}

void extract(const unsigned char *in, size_t n, number *e, unsigned threads)
{
	on_threads(threads, n, [=](size_t from, size_t to) {
		for (size_t i = from; i < to; i++) {
			uint64_t hi;
			uint16_t lo;
			memcpy(&hi, in + i * REC_BYTES, 8);
			memcpy(&lo, in + i * REC_BYTES + 8, 2);
			e[i] = (number)__builtin_bswap64(hi) << 64 |
			       (uint64_t)__builtin_bswap16(lo) << 48 | i;
		}
	});
}

const unsigned char *source(const unsigned char *in, number e)
{
	return in + ((uint64_t)e & ((UINT64_C(1) << 48) - 1)) * REC_BYTES;
}

void gather(const unsigned char *in, const number *e, size_t n, unsigned char *out,
	    unsigned threads)
{
	on_threads(threads, n, [=](size_t from, size_t to) {
		for (size_t i = from; i < to; i++) {
			if (i + 16 < to) {
				const unsigned char *p = source(in, e[i + 16]);
				__builtin_prefetch(p);
				__builtin_prefetch(p + 64);
				__builtin_prefetch(p + REC_BYTES - 1);
			}
			memcpy(out + i * REC_BYTES, source(in, e[i]), REC_BYTES);
		}
	});
}

// Sort the entries by S, then gather.
template <void (*S)(number *, size_t, unsigned)>
void by_entries(const unsigned char *in, size_t n, unsigned char *out, unsigned threads,
		void *scratch)
{
	number *e = static_cast<number *>(scratch);
	extract(in, n, e, threads);
	S(e, n, threads);
	gather(in, e, n, out, threads);
}

void std_records(const unsigned char *in, size_t n, unsigned char *out, unsigned, void *)
{
	memcpy(out, in, n * REC_BYTES);
	record *r = reinterpret_cast<record *>(out);
	std::sort(r, r + n);
}

void std_entries(number *e, size_t n, unsigned)
{
	std::sort(e, e + n);
}

#ifdef HAVE_HWY
void vq(number *e, size_t n)
{
	hwy::Sorter()(reinterpret_cast<hwy::uint128_t *>(e), n, hwy::SortAscending());
}

// As many runs as threads, each sorted by its thread; then every thread merges its part of the
// result, found by a binary search along the diagonal. Two threads, or one.
void vqsort(const unsigned char *in, size_t n, unsigned char *out, unsigned threads, void *scratch)
{
	number *e = static_cast<number *>(scratch), *merged = e + n;
	extract(in, n, e, threads);
	if (threads < 2) {
		vq(e, n);
		gather(in, e, n, out, 1);
		return;
	}
	const size_t half = n / 2;
	std::thread other([=] { vq(e + half, n - half); });
	vq(e, half);
	other.join();
	on_threads(2, n, [=](size_t from, size_t to) {
		size_t lo = from > n - half ? from - (n - half) : 0, hi = std::min(from, half);
		while (lo < hi) {
			const size_t mid = (lo + hi) / 2;
			if (e[mid] < e[half + from - mid - 1])
				lo = mid + 1;
			else
				hi = mid;
		}
		const number *a = e + lo, *a_end = e + half, *b = e + half + from - lo,
			     *b_end = e + n;
		for (size_t i = from; i < to; i++) {
			const bool second = a == a_end || (b != b_end && *b < *a);
			merged[i] = second ? *b : *a;
			b += second;
			a += !second;
		}
	});
	gather(in, merged, n, out, 2);
}
#endif

#ifdef HAVE_OPENMP
void gnu_parallel(number *e, size_t n, unsigned threads)
{
	omp_set_num_threads((int)threads);
	__gnu_parallel::sort(e, e + n);
}
#endif

#ifdef HAVE_TBB
void tbb_entries(number *e, size_t n, unsigned threads)
{
	tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
	tbb::parallel_sort(e, e + n);
}
#endif

#ifdef HAVE_BOOST
void boost_block(number *e, size_t n, unsigned threads)
{
	boost::sort::block_indirect_sort(e, e + n, std::less<number>(), threads);
}
void boost_sample(number *e, size_t n, unsigned threads)
{
	boost::sort::sample_sort(e, e + n, std::less<number>(), threads);
}

struct shift {
	int64_t operator()(number x, unsigned by) const
	{
		return (int64_t)((uint64_t)(x >> 64) ^ (UINT64_C(1) << 63)) >> by;
	}
};
void boost_spread(number *e, size_t n, unsigned)
{
	boost::sort::spreadsort::integer_sort(e, e + n, shift(), std::less<number>());
	/* it takes numbers whose upper halves are equal for equal */
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && (e[j] >> 64) == (e[i] >> 64); j++)
			;
		std::sort(e + i, e + j);
	}
}
#endif

} // namespace

extern "C" const partner PARTNERS[] = {
#ifdef HAVE_HWY
	{ "hwy vqsort", vqsort, 1, 1 },
#endif
	{ "std::sort records", std_records, 0, 0 },
	{ "std::sort", by_entries<std_entries>, 1, 0 },
#ifdef HAVE_OPENMP
	{ "gnu_parallel", by_entries<gnu_parallel>, 1, 1 },
#endif
#ifdef HAVE_TBB
	{ "tbb", by_entries<tbb_entries>, 1, 1 },
#endif
#ifdef HAVE_BOOST
	{ "boost block_indirect", by_entries<boost_block>, 1, 1 },
	{ "boost sample", by_entries<boost_sample>, 1, 1 },
	{ "boost spreadsort", by_entries<boost_spread>, 1, 0 },
#endif
	{ nullptr, nullptr, 0, 0 },
};

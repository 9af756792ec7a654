// SPDX-License-Identifier: GPL-3.0-or-later
// local_radix.hpp - the method of RADULS, for local_partners.cc, after Kokot, Deorowicz and
// Debudaj-Grabysz, "Sorting Data on Ultra-Large Scale with RADULS" (2017): radix sort by bytes, the
// most significant first. All threads together divide large bins, one bin after the other. Each
// thread counts the digits of a chunk, and scatters the chunk through small buffers. A full buffer
// is written directly to memory, not to the cache. Small bins wait in a queue, the largest first;
// one thread sorts each. Stable.
#ifndef LOCAL_RADIX_HPP
#define LOCAL_RADIX_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#ifdef __SSE2__
#	include <emmintrin.h>
#endif

template <class F> inline void on_threads(unsigned threads, size_t n, F work)
{
	std::vector<std::thread> team;
	for (unsigned t = 1; t < threads; t++)
		team.emplace_back([=] { work(n * t / threads, n * (t + 1) / threads); });
	work(0, n / threads);
	for (auto &t : team)
		t.join();
}

// DIGIT(x, d) is byte d of the key of x. The result is in `out`, which may be `in`; `other` has the
// same size.
template <class T, unsigned (*DIGIT)(const T &, unsigned)> class radix
{
      public:
	radix(const T *in, size_t n, T *out, T *other, unsigned digits, unsigned threads)
	    : out_(out), other_(other), digits_(digits)
	{
		std::vector<part> large{ { in, n, 0, 0 } }, small;
		while (!large.empty()) {
			const part p = large.back();
			large.pop_back();
			divide(p, threads, [&](const part &bin) {
				const bool all = threads > 1 && bin.n > n / threads / 4;
				(all && bin.d < digits_ ? large : small).push_back(bin);
			});
		}
		std::sort(small.begin(), small.end(),
			  [](const part &a, const part &b) { return a.n > b.n; });
		std::atomic<size_t> next(0);
		on_threads(threads, threads, [&, this](size_t, size_t) {
			for (size_t i; (i = next++) < small.size();)
				sort(small[i]);
		});
	}

      private:
	struct part {
		const T *at; // the array that contains the part
		size_t n, from;
		unsigned d; // all digits before this one are equal in its keys
	};
	typedef std::array<size_t, 256> bins;
	enum : size_t {
		LINE = 64, // bytes of a cache line
		BUFFER = 2 * LINE / sizeof(T),
		CACHE = (size_t)128 << 10,
		TINY = 16,  // records for insertion sort
		ONE = 512,  // most records that leaf() sorts by one digit
		LEAF = 4096 // most records that leaf() sorts by two
	};
	T *out_, *other_;
	unsigned digits_;

	T *target(const part &p) const
	{
		return p.at == other_ ? out_ : other_;
	}
	static void count(const T *e, size_t n, unsigned d, bins &to)
	{
		to.fill(0);
		for (size_t i = 0; i < n; i++)
			to[DIGIT(e[i], d)]++;
	}
	static void stream(T *to, const T *from, size_t n)
	{
#ifdef __SSE2__
		if (n == BUFFER) {
			for (size_t i = 0; i < n * sizeof(T) / sizeof(__m128i); i++)
				_mm_stream_si128(reinterpret_cast<__m128i *>(to) + i,
						 reinterpret_cast<const __m128i *>(from)[i]);
			return;
		}
#endif
		std::copy(from, from + n, to);
	}
	// Move each record to the place at[digit], and advance that. Buffers are aligned to lines,
	// so the first and the last buffer of a bin may share a line with another bin, and are
	// written in part.
	static void scatter(const T *e, size_t n, unsigned d, T *to, bins &at)
	{
		if (n * sizeof(T) <= CACHE) {
			for (size_t i = 0; i < n; i++)
				to[at[DIGIT(e[i], d)]++] = e[i];
			return;
		}
		alignas(LINE) static thread_local T buffer[256][BUFFER];
		bins begin = at;
		for (size_t i = 0; i < n; i++) {
			const unsigned b = DIGIT(e[i], d);
			const size_t place = at[b]++, slot = place % BUFFER;
			buffer[b][slot] = e[i];
			if (slot == BUFFER - 1) {
				const size_t skip = begin[b] % BUFFER;
				stream(to + begin[b], buffer[b] + skip, BUFFER - skip);
				begin[b] = place + 1;
			}
		}
		for (unsigned b = 0; b < 256; b++)
			std::copy(buffer[b] + begin[b] % BUFFER,
				  buffer[b] + begin[b] % BUFFER + (at[b] - begin[b]),
				  to + begin[b]);
#ifdef __SSE2__
		_mm_sfence();
#endif
	}
	// Divide by the first digit that differs between records. Pass each bin to `take`.
	template <class F> void divide(part p, unsigned threads, F take) const
	{
		std::unique_ptr<bins[]> at(new bins[threads]);
		bins all;
		auto chunk = [&](size_t t) { return p.n * t / threads; };
		for (;; p.d++) {
			if (p.d == digits_)
				return take(p);
			on_threads(threads, threads, [&](size_t t, size_t) {
				count(p.at + p.from + chunk(t), chunk(t + 1) - chunk(t), p.d,
				      at[t]);
			});
			all.fill(0);
			for (unsigned t = 0; t < threads; t++)
				for (unsigned b = 0; b < 256; b++)
					all[b] += at[t][b];
			if (*std::max_element(all.begin(), all.end()) < p.n)
				break;
		}
		size_t place = p.from;
		for (unsigned b = 0; b < 256; b++)
			for (unsigned t = 0; t < threads; t++) {
				const size_t n = at[t][b];
				at[t][b] = place;
				place += n;
			}
		T *const to = target(p);
		on_threads(threads, threads, [&](size_t t, size_t) {
			scatter(p.at + p.from + chunk(t), chunk(t + 1) - chunk(t), p.d, to, at[t]);
		});
		place = p.from;
		for (unsigned b = 0; b < 256; place += all[b++])
			if (all[b])
				take({ to, all[b], place, p.d + 1 });
	}
	void insert(const T *e, const part &p) const
	{
		T *const to = out_ + p.from;
		for (size_t i = 0; i < p.n; i++) {
			const T x = e[i];
			size_t j = i;
			for (; j > 0 && x < to[j - 1]; j--)
				to[j] = to[j - 1];
			to[j] = x;
		}
	}
	// Replace the size of each bin by the index of its first record. Return the largest size.
	static size_t places(bins &of)
	{
		size_t place = 0, most = 0;
		for (size_t &b : of) {
			const size_t n = b;
			b = place;
			place += n;
			most = n > most ? n : most;
		}
		return most;
	}
	// Sort in the cache by one or two digits, the lower one first, then by insertion within
	// equal digits. Return false, and sort nothing, if many records have the same upper digit.
	bool leaf(const part &p) const
	{
		const T *e = p.at + p.from;
		bins high, low;
		if (p.n > LEAF || p.d + 2 > digits_)
			return false;
		count(e, p.n, p.d, high);
		if (places(high) > p.n / 256 + TINY)
			return false;
		alignas(LINE) static thread_local T some[2][LEAF];
		if (p.n > ONE) {
			count(e, p.n, p.d + 1, low);
			places(low);
			scatter(e, p.n, p.d + 1, some[0], low);
			e = some[0];
		}
		scatter(e, p.n, p.d, some[1], high);
		insert(some[1], p);
		return true;
	}
	void sort(const part &p) const
	{
		if (p.n <= TINY)
			insert(p.at + p.from, p);
		else if (p.d == digits_)
			std::copy(p.at + p.from, p.at + p.from + (p.at == out_ ? 0 : p.n),
				  out_ + p.from);
		else if (!leaf(p))
			divide(p, 1, [this](const part &bin) { sort(bin); });
	}
};

#endif

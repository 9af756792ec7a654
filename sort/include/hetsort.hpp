// SPDX-License-Identifier: GPL-3.0-or-later
// hetsort.hpp - libhetsort for C++17: records are trivially copyable structs, keys are pointers to
// their members. hetsort.h documents the calls of the library. No other header is needed.
//
//   struct star { double mass; std::uint32_t id; };
//   hetsort::sorter<star> heaviest_first(hetsort::descending(&star::mass), &star::id);
//   std::vector<star> sorted = heaviest_first.sort(stars); // in this process
//   std::vector<star> mine = heaviest_first.sort_share(stars, MPI_COMM_WORLD); // of all ranks
//   auto order = heaviest_first.argsort(stars, MPI_COMM_WORLD); // only the numbers of stars,
//   auto names = hetsort::apply<name>(order, all_names, MPI_COMM_WORLD); // and their names
//
// Members can be bool, integers, enumerations, float, double, and arrays of these; arrays of chars,
// unsigned chars and std::byte are compared as by memcmp(). Each call has two forms. One throws
// hetsort::error; the other takes a hetsort_err, returns a status, and throws nothing.
#ifndef HETSORT_HPP
#define HETSORT_HPP

#include <hetsort.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsort {

// The failure of a call: status() is the number, what() the library's own sentence.
class error : public std::runtime_error {
public:
	explicit error(const hetsort_err &e) : std::runtime_error(e.text), status_(e.status) {}
	hetsort_status status() const noexcept { return status_; }

private:
	hetsort_status status_;
};

// Adjacent records, like std::span of C++20. It is made from a pointer and a number, or from
// anything that has data() and size().
template <class T> class span {
public:
	constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
	template <std::size_t N> constexpr span(T (&row)[N]) noexcept : data_(row), size_(N) {}
	template <class Row, class = std::enable_if_t<std::is_convertible_v<
				     decltype(std::declval<Row &>().data()), T *>>>
	constexpr span(Row &&row) noexcept : data_(row.data()), size_(row.size())
	{
	}
	constexpr T *data() const noexcept { return data_; }
	constexpr std::size_t size() const noexcept { return size_; }

private:
	T *data_;
	std::size_t size_;
};

// A part of a key that sorts in descending order.
template <class C, class M> struct descending {
	M C::*member;
	explicit descending(M C::*m) : member(m) {}
};

namespace detail {

template <class M> struct always_false : std::false_type {};

inline void part(std::string &key, std::size_t at, const std::string &type, bool down)
{
	key += (key.empty() ? "" : " ") + std::to_string(at) + "," + type + (down ? ",desc" : "");
}

template <class M> constexpr bool is_byte()
{
	return std::is_same_v<M, char> || std::is_same_v<M, unsigned char> ||
	       std::is_same_v<M, std::byte>;
}

// The element type and the length of an array type; the length of other types is 0.
template <class M> struct row {
	static constexpr std::size_t size = 0;
	using element = M;
};
template <class E, std::size_t N> struct row<E[N]> {
	static constexpr std::size_t size = N;
	using element = E;
};
template <class E, std::size_t N> struct row<std::array<E, N>> {
	static constexpr std::size_t size = N;
	using element = E;
};

// Append the key fields of a member of type M at offset `at` of the record.
template <class M> void fields(std::string &key, std::size_t at, bool down)
{
	using element = std::remove_cv_t<typename row<M>::element>;
	if constexpr (row<M>::size > 0 && is_byte<element>()) {
		part(key, at, std::to_string(sizeof(M)), down);
	} else if constexpr (row<M>::size > 0) {
		for (std::size_t i = 0; i < row<M>::size; i++)
			fields<element>(key, at + i * sizeof(element), down);
	} else if constexpr (std::is_enum_v<M>) {
		fields<std::underlying_type_t<M>>(key, at, down);
	} else if constexpr (std::is_same_v<M, float> || std::is_same_v<M, double>) {
		part(key, at, "f" + std::to_string(8 * sizeof(M)), down);
	} else if constexpr (std::is_integral_v<M> && sizeof(M) <= 8) {
		part(key, at, (std::is_signed_v<M> ? "i" : "u") + std::to_string(8 * sizeof(M)),
		     down);
	} else {
		static_assert(always_false<M>::value, "this type cannot be a key");
	}
}

// Space for a record that is never constructed, to find the offset of a member.
template <class T> union place {
	char none;
	T record;
	place() : none() {}
};

template <class T, class M> std::size_t offset(M T::*member)
{
	const place<T> p;
	return static_cast<std::size_t>(
		reinterpret_cast<const char *>(std::addressof(p.record.*member)) -
		reinterpret_cast<const char *>(std::addressof(p.record)));
}

template <class T, class C, class M> void add(std::string &key, M C::*member)
{
	fields<std::remove_cv_t<M>>(key, offset<T, M>(member), false);
}

template <class T, class C, class M> void add(std::string &key, descending<C, M> d)
{
	fields<std::remove_cv_t<M>>(key, offset<T, M>(d.member), true);
}

} // namespace detail

// Sorts records of type T by a key. It can be used repeatedly, and by several threads at a time.
template <class T> class sorter {
	static_assert(std::is_trivially_copyable_v<T>, "records are moved as bytes");
	static_assert(sizeof(T) <= HETSORT_RECORD_BYTES_MAX, "a record is too large");

public:
	// Sort by members, the most significant first: &T::member or descending(&T::member).
	template <class First, class... More,
		  class = std::enable_if_t<!std::is_convertible_v<First, std::string>>>
	explicit sorter(First first, More... more)
	{
		detail::add<T>(key_, first);
		(detail::add<T>(key_, more), ...);
	}
	// Sort by the whole record, which is a number or an array of numbers.
	sorter() { detail::fields<T>(key_, 0, false); }
	// Sort by a key in the format of hetsort_opts.key, "0,u64,desc 8,4".
	explicit sorter(std::string key) : key_(std::move(key)) {}

	sorter &threads(std::uint32_t n) { return threads_ = n, *this; }
	sorter &exchange_threads(std::uint32_t n) { return exchange_threads_ = n, *this; }
	// Set one speed for each rank, which receives records in proportion. An empty list: equal
	// shares.
	sorter &speeds(std::vector<double> s) { return speeds_ = std::move(s), *this; }

	// Sort in this process: out receives all records of in.
	hetsort_status sort(span<const T> in, span<T> out, hetsort_err &err) const noexcept
	{
		if (in.size() != out.size()) {
			err.status = HETSORT_ERANGE;
			std::snprintf(err.text, sizeof err.text, "out has room for '%zu' records, in has %zu",
				      out.size(), in.size());
			return err.status;
		}
		const hetsort_opts o = opts();
		return hetsort_sort_local(in.data(), in.size(), out.data(), &o, &err);
	}
	void sort(span<const T> in, span<T> out) const
	{
		hetsort_err err;
		check(sort(in, out, err), err);
	}
	std::vector<T> sort(span<const T> in) const
	{
		std::vector<T> out(in.size());
		sort(in, out);
		return out;
	}

#ifndef HETSORT_NO_MPI
	// Sort over the ranks of comm. Each rank's out is filled to its end, so the sum of their
	// sizes must be the number of all records.
	hetsort_status sort(span<const T> in, span<T> out, MPI_Comm comm,
			    hetsort_err &err) const noexcept
	{
		const hetsort_opts o = opts();
		return hetsort_sort_counts(in.data(), in.size(), out.data(), out.size(), &o, comm,
					   &err);
	}
	void sort(span<const T> in, span<T> out, MPI_Comm comm) const
	{
		hetsort_err err;
		check(sort(in, out, comm, err), err);
	}
	// Sort over the ranks of comm, and resize out to this rank's share.
	hetsort_status sort_share(span<const T> in, std::vector<T> &out, MPI_Comm comm,
				  hetsort_err &err) const noexcept
	{
		return by_share(hetsort_sort, in, out, comm, err);
	}
	std::vector<T> sort_share(span<const T> in, MPI_Comm comm) const
	{
		hetsort_err err;
		std::vector<T> out;
		check(sort_share(in, out, comm, err), err);
		return out;
	}
	// Sort only the numbers of the records of all ranks, which are counted from 0 on over the
	// ranks, and resize order to this rank's share.
	hetsort_status argsort(span<const T> in, std::vector<std::uint64_t> &order, MPI_Comm comm,
			       hetsort_err &err) const noexcept
	{
		return by_share(hetsort_argsort, in, order, comm, err);
	}
	std::vector<std::uint64_t> argsort(span<const T> in, MPI_Comm comm) const
	{
		hetsort_err err;
		std::vector<std::uint64_t> order;
		check(argsort(in, order, comm, err), err);
		return order;
	}
#endif

private:
	hetsort_opts opts() const noexcept
	{
		hetsort_opts o = HETSORT_OPTS_INIT;
		o.record_bytes = sizeof(T);
		o.key = key_.c_str();
		o.threads = threads_;
		o.exchange_threads = exchange_threads_;
		return o;
	}
#ifndef HETSORT_NO_MPI
	template <class Call, class E>
	hetsort_status by_share(Call *call, span<const T> in, std::vector<E> &out, MPI_Comm comm,
				hetsort_err &err) const noexcept
	{
		std::vector<double> speeds;
		hetsort_opts o = opts();
		o.speeds = for_ranks(comm, speeds);
		std::uint64_t n = 0;
		const hetsort_status st = hetsort_share(in.size(), &n, &o, comm, &err);
		if (st != HETSORT_OK)
			return st;
		try {
			out.resize(n);
		} catch (...) { // the call reports the lack of room on all ranks
			out.clear();
		}
		return call(in.data(), in.size(), out.data(), out.size(), &n, &o, comm, &err);
	}
	// Return a speed for each rank. Missing speeds are 0, which the library refuses on all
	// ranks.
	const double *for_ranks(MPI_Comm comm, std::vector<double> &speeds) const noexcept
	{
		int up = 0, down = 0, ranks = 0;
		if (speeds_.empty() || MPI_Initialized(&up) != MPI_SUCCESS || !up ||
		    MPI_Finalized(&down) != MPI_SUCCESS || down || comm == MPI_COMM_NULL ||
		    MPI_Comm_size(comm, &ranks) != MPI_SUCCESS)
			return nullptr;
		try {
			speeds = speeds_;
			speeds.resize(static_cast<std::size_t>(ranks));
		} catch (...) { // other ranks have speeds, so the library reports a difference
			return nullptr;
		}
		return speeds.data();
	}
#endif
	static void check(hetsort_status st, const hetsort_err &err)
	{
		if (st != HETSORT_OK)
			throw error(err);
	}

	std::string key_;
	std::uint32_t threads_ = 1, exchange_threads_ = 0;
	std::vector<double> speeds_;
};

#ifndef HETSORT_NO_MPI
// Fetch records of type T by their numbers, as hetsort_apply() does: out receives the records of
// the ranks of comm that have the numbers in order.
template <class T>
hetsort_status apply(span<const std::uint64_t> order, std::common_type_t<span<const T>> in,
		     std::vector<T> &out, MPI_Comm comm, hetsort_err &err,
		     std::uint32_t threads = 1) noexcept
{
	static_assert(std::is_trivially_copyable_v<T>, "records are moved as bytes");
	static_assert(sizeof(T) <= HETSORT_RECORD_BYTES_MAX, "a record is too large");
	hetsort_opts o = HETSORT_OPTS_INIT;
	o.threads = threads;
	try {
		out.resize(order.size());
	} catch (...) { // hetsort_apply() reports on all ranks that there is no array
		out = std::vector<T>();
	}
	return hetsort_apply(order.data(), order.size(), in.data(), in.size(), out.data(),
			     sizeof(T), &o, comm, &err);
}
template <class T>
std::vector<T> apply(span<const std::uint64_t> order, std::common_type_t<span<const T>> in,
		     MPI_Comm comm, std::uint32_t threads = 1)
{
	hetsort_err err;
	std::vector<T> out;
	if (apply<T>(order, in, out, comm, err, threads) != HETSORT_OK)
		throw error(err);
	return out;
}
#endif

} // namespace hetsort

#endif

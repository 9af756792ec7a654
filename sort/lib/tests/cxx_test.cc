// SPDX-License-Identifier: GPL-3.0-or-later
// cxx_test.cc - test_languages.sh compiles this: compares hetsort.hpp with std::stable_sort, for members of all kinds; TAP.
#include <hetsort.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <random>
#include <tuple>

namespace {

enum class colour : std::int8_t { red = -1, green, blue };

struct base {
	std::uint16_t first;
};

struct record : base {
	double mass;
	bool dark;
	colour c;
	char name[5];
	std::array<std::int32_t, 2> at;
	float f;
	std::int64_t number;
	std::byte raw[3];
	unsigned char pad;
	std::uint64_t place;

	record() = delete; // an output that the caller has needs no constructor
	explicit record(std::mt19937_64 &r, std::uint64_t i)
		: base{ static_cast<std::uint16_t>(r() % 3) },
		  mass(static_cast<double>(static_cast<int>(r() % 7)) - 3), dark(r() % 2),
		  c(static_cast<colour>(static_cast<int>(r() % 3) - 1)),
		  at{ static_cast<int>(r() % 3) - 1, static_cast<int>(r() % 3) - 1 },
		  f(static_cast<float>(r() % 5) - 2), number(static_cast<std::int64_t>(r() % 9) - 4),
		  pad(static_cast<unsigned char>(r() % 255)), place(i)
	{
		for (char &letter : name)
			letter = static_cast<char>(r() % 2 ? 'a' : '\xe4');
		for (std::byte &b : raw)
			b = static_cast<std::byte>(r() % 2 * 200);
	}
};

int points = 0, bad = 0;

void ok(bool good, const char *name)
{
	std::cout << (good ? "ok " : "not ok ") << ++points << " - " << name << "\n";
	bad += !good;
}

std::vector<record> make(std::size_t n)
{
	std::mt19937_64 random(7);
	std::vector<record> all;
	for (std::size_t i = 0; i < n; i++)
		all.emplace_back(random, i);
	return all;
}

// The sorter, and whether a record comes before another.
template <class Less>
void compare(const char *name, const hetsort::sorter<record> &by, Less less)
{
	const std::vector<record> in = make(3000);
	std::vector<record> wanted = in, got = make(3000);
	std::stable_sort(wanted.begin(), wanted.end(), less);
	by.sort(in, got);
	ok(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(record)) == 0, name);
}

template <class T, std::size_t N> int bytes(const T (&a)[N], const T (&b)[N])
{
	return std::memcmp(a, b, N * sizeof(T));
}

void members()
{
	using hetsort::descending;
	using R = record;
	compare("a double", hetsort::sorter<R>(&R::mass), [](const R &a, const R &b) { return a.mass < b.mass; });
	compare("an integer, descending", hetsort::sorter<R>(descending(&R::number)),
		[](const R &a, const R &b) { return a.number > b.number; });
	compare("a bool, an enumeration and a float", hetsort::sorter<R>(&R::dark, descending(&R::c), &R::f),
		[](const R &a, const R &b) { return std::tie(a.dark, b.c, a.f) < std::tie(b.dark, a.c, b.f); });
	compare("chars as bytes", hetsort::sorter<R>(&R::name),
		[](const R &a, const R &b) { return bytes(a.name, b.name) < 0; });
	compare("an array of bytes, descending", hetsort::sorter<R>(descending(&R::raw)),
		[](const R &a, const R &b) { return bytes(a.raw, b.raw) > 0; });
	compare("an array of numbers, and a member of a base", hetsort::sorter<R>(&R::at, &R::first),
		[](const R &a, const R &b) { return std::tie(a.at, a.first) < std::tie(b.at, b.first); });
	hetsort::sorter<R> by(&R::f);
	hetsort::sorter<R> copy = by.threads(2);
	compare("a copy, on two threads", copy, [](const R &a, const R &b) { return a.f < b.f; });
}

void rows()
{
	const double numbers[] = { 3, -1, 2 };
	double sorted[3];
	hetsort::sorter<double>().sort(numbers, sorted);
	ok(sorted[0] == -1 && sorted[2] == 3, "plain numbers in C arrays");
	const std::array<std::uint32_t, 4> words = { 5, 1, 4, 1 };
	ok(hetsort::sorter<std::uint32_t>("0,u32,desc").sort(words) == std::vector<std::uint32_t>{ 5, 4, 1, 1 },
	   "a key as text");
	ok(hetsort::sorter<int>().sort(std::vector<int>()).empty(), "no records");
	ok(hetsort::sorter<double>().sort({ numbers + 1, 2 })[1] == 2, "a pointer and a number");
}

void errors()
{
	hetsort_err err = { HETSORT_OK, "" };
	int in[2] = { 2, 1 }, out[3];
	ok(hetsort::sorter<int>().sort(in, out, err) == HETSORT_ERANGE && err.status == HETSORT_ERANGE &&
		   std::strstr(err.text, "out has room for '3' records, in has 2"),
	   "another size, as a status");
	ok(hetsort::sorter<int>().sort(in, { in + 1, 2 }, err) == HETSORT_EINVAL && std::strstr(err.text, "overlap"),
	   "the library's own refusal");
	try {
		(void)hetsort::sorter<int>("0,u64").sort(in);
		ok(false, "nothing was thrown");
	} catch (const hetsort::error &e) {
		ok(e.status() == HETSORT_EINVAL && std::strlen(e.what()) > 10, "an exception");
	}
}

} // namespace

int main()
{
	members();
	rows();
	errors();
	std::cout << "1.." << points << "\n";
	return bad != 0;
}

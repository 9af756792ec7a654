/* SPDX-License-Identifier: GPL-3.0-or-later */
/* peers.cc - sorts of well-known libraries from file to file, with which hetsort is compared. Each
 * reads all records of 100 bytes, sorts them in memory by their first 10 bytes, writes them, and
 * waits for the disk. Each sort is called as its manual says, on all processors if it supports
 * this.
 * Uses no code of hetsort. Memory: the size of the file, with vqsort a sixth more. */
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef _OPENMP
#	include <parallel/algorithm>
#endif
#if __has_include(<boost/sort/sort.hpp>)
#	include <boost/sort/sort.hpp>
#	include <boost/version.hpp>
#	define HAVE_BOOST_SORT
#endif
#ifdef HAVE_TBB
#	include <tbb/parallel_sort.h>
#	include <tbb/version.h>
#endif
#ifdef HAVE_HWY
#	include <hwy/contrib/sort/vqsort.h>
#endif

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

namespace
{
constexpr size_t RECORD_BYTES = 100;

struct record {
	unsigned char byte[RECORD_BYTES];
};
static_assert(sizeof(record) == RECORD_BYTES, "an array of records is the file");

uint64_t load64(const unsigned char *p)
{
	uint64_t v;
	std::memcpy(&v, p, sizeof v);
	return __builtin_bswap64(v);
}

uint64_t load16(const unsigned char *p)
{
	return static_cast<uint64_t>(p[0] << 8 | p[1]);
}

/* Return whether the key of a is less than the key of b, by two comparisons of numbers. */
bool before(const record &a, const record &b)
{
	const uint64_t x = load64(a.byte), y = load64(b.byte);
	return x != y ? x < y : load16(a.byte + 8) < load16(b.byte + 8);
}

[[noreturn]] void fail(const char *what, const char *path)
{
	throw std::runtime_error(std::string(what) + " '" + path + "': " + std::strerror(errno));
}

class file
{
      public:
	file(const char *p, int flags) : path(p), fd(open(p, flags | O_CLOEXEC, 0666))
	{
		if (fd < 0)
			fail("cannot open", p);
	}
	~file()
	{
		if (fd >= 0)
			close(fd);
	}
	file(const file &) = delete;
	file &operator=(const file &) = delete;

	size_t bytes() const
	{
		struct stat st;
		if (fstat(fd, &st) != 0)
			fail("cannot look at", path);
		return static_cast<size_t>(st.st_size);
	}
	void read_all(void *to, size_t n)
	{
		for (char *p = static_cast<char *>(to); n > 0;) {
			const ssize_t got = read(fd, p, n);
			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				fail("cannot read", path);
			if (got == 0)
				throw std::runtime_error(std::string("file ended early: '") + path +
							 "'");
			p += got, n -= static_cast<size_t>(got);
		}
	}
	void write_all(const void *from, size_t n)
	{
		for (const char *p = static_cast<const char *>(from); n > 0;) {
			const ssize_t put = write(fd, p, n);
			if (put < 0 && errno == EINTR)
				continue;
			if (put < 0)
				fail("cannot write", path);
			p += put, n -= static_cast<size_t>(put);
		}
	}
	void finish()
	{
		if (fsync(fd) != 0 && errno != EINVAL) /* a pipe has nothing to sync */
			fail("cannot sync", path);
		const int rc = close(fd);
		fd = -1;
		if (rc != 0)
			fail("cannot close", path);
	}

      private:
	const char *path;
	int fd;
};

using range_sort = void (*)(record *first, record *last);

#ifdef HAVE_HWY
/* Sort numbers of 128 bits, each the key of a record above its index. Then gather the records into
 * blocks, and write each block when it is full. */
void by_vqsort(const record *r, size_t n, file &out)
{
	constexpr unsigned INDEX_BITS = 48;
	constexpr size_t BLOCK_RECS = 10000;
	constexpr uint64_t INDEX_MASK = (UINT64_C(1) << INDEX_BITS) - 1;
	std::unique_ptr<hwy::uint128_t[]> key(new hwy::uint128_t[n]);
	std::unique_ptr<record[]> block(new record[BLOCK_RECS]);

	for (size_t i = 0; i < n; i++) {
		key[i].hi = load64(r[i].byte);
		key[i].lo = load16(r[i].byte + 8) << INDEX_BITS | i;
	}
	hwy::Sorter()(key.get(), n, hwy::SortAscending());
	for (size_t done = 0; done < n;) {
		const size_t m = std::min(BLOCK_RECS, n - done);
		for (size_t i = 0; i < m; i++)
			block[i] = r[key[done + i].lo & INDEX_MASK];
		out.write_all(block.get(), m * RECORD_BYTES);
		done += m;
	}
}
#endif

struct peer {
	const char *name, *version;
	range_sort sort; /* null: vqsort, which does not move the records themselves */
};

const peer peers[] = {
	{ "std::sort", "libstdc++ " TEXT(__GLIBCXX__),
	  [](record *a, record *z) { std::sort(a, z, before); } },
#ifdef _OPENMP
	{ "__gnu_parallel::sort", "libstdc++ " TEXT(__GLIBCXX__),
	  [](record *a, record *z) { __gnu_parallel::sort(a, z, before); } },
#endif
#ifdef HAVE_BOOST_SORT
	{ "boost::block_indirect_sort", "Boost " BOOST_LIB_VERSION,
	  [](record *a, record *z) {
		  boost::sort::block_indirect_sort(a, z, before,
						   std::thread::hardware_concurrency());
	  } },
	{ "boost::sample_sort", "Boost " BOOST_LIB_VERSION,
	  [](record *a, record *z) {
		  boost::sort::sample_sort(a, z, before, std::thread::hardware_concurrency());
	  } },
#endif
#ifdef HAVE_TBB
	{ "tbb::parallel_sort", "oneTBB " TEXT(TBB_VERSION_MAJOR) "." TEXT(TBB_VERSION_MINOR),
	  [](record *a, record *z) { tbb::parallel_sort(a, z, before); } },
#endif
#ifdef HAVE_HWY
	{ "hwy::vqsort", "Highway " HAVE_HWY, nullptr },
#endif
};

void run(const peer &p, const char *from, const char *to)
{
	file in(from, O_RDONLY);
	const size_t bytes = in.bytes(), n = bytes / RECORD_BYTES;

	if (bytes % RECORD_BYTES != 0)
		throw std::runtime_error(std::string("not whole records: '") + from + "'");
	std::unique_ptr<record[]> r(new record[n]);
	in.read_all(r.get(), bytes);
	file out(to, O_WRONLY | O_CREAT | O_TRUNC);
#ifdef HAVE_HWY
	if (!p.sort)
		by_vqsort(r.get(), n, out);
#endif
	if (p.sort) {
		p.sort(r.get(), r.get() + n);
		out.write_all(r.get(), bytes);
	}
	out.finish();
}
} // namespace

int main(int argc, char **argv)
{
	if (argc == 2 && !std::strcmp(argv[1], "--list")) {
		for (const peer &p : peers)
			std::printf("%s\t%s\n", p.name, p.version);
		return std::fflush(stdout) == 0 ? 0 : 1;
	}
	for (const peer &p : peers)
		if (argc == 4 && !std::strcmp(argv[1], p.name)) {
			try {
				run(p, argv[2], argv[3]);
				return 0;
			} catch (const std::exception &e) {
				std::fprintf(stderr, "peers: %s\n", e.what());
				return 1;
			}
		}
	std::fprintf(stderr, "usage: peers --list | PEER INPUT OUTPUT\n");
	return 2;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// Sort the stars of all ranks, the heaviest first, stars of equal mass by number. Every second rank is
// twice as fast, and gets twice the share.
//
//   mpicxx -std=c++17 stars.cc $(pkg-config --cflags --libs hetsort) && mpirun -n 4 ./a.out
#include <hetsort.hpp>

#include <iostream>
#include <random>

struct star {
	double mass;
	std::uint32_t number;
};

static void sort_stars(int rank, int ranks)
{
	std::mt19937 random(static_cast<unsigned>(rank));
	std::vector<star> stars(static_cast<std::size_t>(1000 + 10 * rank));
	for (star &s : stars)
		s = { static_cast<double>(random() % 1000) / 8, static_cast<std::uint32_t>(random()) };

	std::vector<double> speeds;
	for (int i = 0; i < ranks; i++)
		speeds.push_back(1 + i % 2);
	hetsort::sorter<star> heaviest_first(hetsort::descending(&star::mass), &star::number);
	const std::vector<star> mine = heaviest_first.speeds(speeds).sort_share(stars, MPI_COMM_WORLD);

	std::cout << "rank " + std::to_string(rank) + ": " + std::to_string(mine.size()) + " stars, masses " +
			     std::to_string(mine.front().mass) + " to " + std::to_string(mine.back().mass) + "\n";

	// The same, but only numbers are sorted; the masses, which are another column, follow them.
	std::vector<double> masses;
	for (const star &s : stars)
		masses.push_back(s.mass);
	const auto order = heaviest_first.argsort(stars, MPI_COMM_WORLD);
	masses = hetsort::apply<double>(order, masses, MPI_COMM_WORLD);
	std::size_t wrong = masses.size() != mine.size();
	for (std::size_t i = 0; i < mine.size() && !wrong; i++)
		wrong += masses[i] != mine[i].mass;
	std::cout << "rank " + std::to_string(rank) + (wrong ? ": WRONG" : ": the same by numbers") + "\n";
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	try {
		sort_stars(rank, ranks);
	} catch (const hetsort::error &e) {
		std::cerr << "stars: " << e.what() << "\n";
		return MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return MPI_Finalize();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The node of each rank and each worker on machines that are described to hwloc. Calls that would
 * bind threads are recorded, not executed. */
#include "base/numa.h"
#include "base/pool.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CPUS = 64, CALLS = 64 };

/* ----------------------------------------------------------------- replacements of system calls */

static struct machine {
	uint64_t may; /* processors of the calling thread */
	int refuses;  /* an errno for each call that binds; 0: none */
	_Atomic unsigned bound;
	const char *nodes; /* with processors, as /sys names them; NULL: /sys is missing */
} machine;

static _Thread_local uint64_t bound_to; /* the calling thread's last one */

#define REPLACED __attribute__((visibility("default")))

REPLACED FILE *fopen(const char *path, const char *mode)
{
	if (strcmp(path, "/sys/devices/system/node/has_cpu") == 0)
		return machine.nodes ? fmemopen((char *)machine.nodes, strlen(machine.nodes), "r")
				     : NULL;
	const int fd = open(path, mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT, 0600);
	return fd < 0 ? NULL : fdopen(fd, mode);
}

static unsigned loads;        /* of hwloc's description of the machine */
static bool built_with_hwloc; /* set by a test that describes a machine */
REPLACED int hwloc_topology_init(void **topology);
int hwloc_topology_init(void **topology)
{
	loads++;
	*topology = NULL;
	union {
		void *found;
		int (*call)(void **);
	} real = { dlsym(RTLD_NEXT, "hwloc_topology_init") };
	return real.call(topology);
}

REPLACED int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	(void)pid;
	memset(set, 0, bytes);
	for (size_t i = 0; i < CPUS; i++)
		if (machine.may >> i & 1)
			CPU_SET_S(i, bytes, set);
	return 0;
}

REPLACED int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	assert_int_equal(pid, 0);
	machine.bound++;
	bound_to = 0;
	for (size_t i = 0; i < CPUS && i < 8 * bytes; i++)
		bound_to |= (uint64_t) !!CPU_ISSET_S(i, bytes, set) << i;
	errno = machine.refuses;
	return machine.refuses ? -1 : 0;
}

/* Open a machine of which the thread may use these processors. Return NULL if hetsort was built
 * without hwloc. */
static numa *on(const char *synthetic, uint64_t may)
{
	machine = (struct machine){ .may = may };
	bound_to = 0;
	setenv("HWLOC_SYNTHETIC", synthetic, 1);
	setenv("HWLOC_THISSYSTEM", "1", 1);
	numa *n = numa_open(false);
	assert_non_null(n);
	built_with_hwloc = loads > 0;
	if (numa_plan(n, 1, 0, 1, false).nodes[0])
		return n;
	numa_close(n);
	return NULL;
}

#define ON(n, synthetic, may)               \
	numa *const n = on(synthetic, may); \
	if (!n)                             \
	skip()

static void is(numa_place p, const char *nodes, numa_binding binding)
{
	assert_string_equal(p.nodes, nodes);
	assert_int_equal(p.binding, binding);
}

/* ---------------------------------------------------------------------- weights and turns */

static void ranks_divide_the_processors(void **state)
{
	(void)state;
	numa_node node[] = { { .cpus = 8 }, { .cpus = 0 }, { .cpus = 8 }, { .cpus = 3 } };
	for (unsigned ranks = 1; ranks <= 40; ranks++) {
		uint64_t of_node[4] = { 0 };
		for (unsigned r = 0; r < ranks; r++) {
			uint64_t mine = 0;
			numa_weights(node, 4, ranks, r);
			for (int i = 0; i < 4; i++) {
				of_node[i] += node[i].weight;
				mine += node[i].weight;
			}
			assert_int_equal(mine, 19);
		}
		for (int i = 0; i < 4; i++)
			assert_int_equal(of_node[i], (uint64_t)node[i].cpus * ranks);
	}
}

static void each_of_four_ranks_gets_one_of_four_nodes(void **state)
{
	(void)state;
	numa_node node[] = { { .cpus = 16 }, { .cpus = 16 }, { .cpus = 16 }, { .cpus = 16 } };
	for (unsigned r = 0; r < 4; r++) {
		numa_weights(node, 4, 4, r);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(node[i].weight, i == r ? 64 : 0);
	}
}

/* Check that the first workers, any number of them, are spread over the nodes, too. */
static void workers_take_turns(void **state)
{
	(void)state;
	numa_node node[] = {
		{ .weight = 10 }, { .weight = 0 }, { .weight = 20 }, { .weight = 10 }
	};
	uint32_t turn[40];
	unsigned of_node[4] = { 0 };
	numa_turns(node, 4, 40, turn);
	for (unsigned w = 0; w < 40; w++) {
		of_node[turn[w]]++;
		for (unsigned i = 0; i < 4; i++) {
			const double fair = (double)node[i].weight * (w + 1) / 40;
			assert_true(of_node[i] < fair + 1 && of_node[i] + 1 > fair);
		}
	}
}

/* -------------------------------------------------------------------------- plan and bind */

static void ranks_on_one_node_stay_unbound(void **state)
{
	(void)state;
	ON(n, "numa:1 core:4 pu:1", 0xf);
	is(numa_plan(n, 1, 0, 4, true), "0", NUMA_UNBOUND);
	is(numa_plan(n, 4, 2, 1, true), "0", NUMA_UNBOUND);
	numa_close(n);
}

static void a_rank_bound_by_its_launcher_stays_so(void **state)
{
	(void)state;
	ON(n, "numa:4 core:4 pu:1", 0x0f00);
	is(numa_plan(n, 2, 1, 2, true), "2", NUMA_UNBOUND);
	numa_close(n);
}

static void a_rank_gets_its_node(void **state)
{
	(void)state;
	ON(n, "numa:4 core:4 pu:1", 0xffff);
	is(numa_plan(n, 4, 2, 4, true), "2", NUMA_RANK);
	assert_true(numa_bind(n));
	assert_int_equal(bound_to, 0x0f00);
	is(numa_plan(n, 8, 7, 2, true), "3", NUMA_RANK);
	is(numa_plan(n, 4, 2, 4, false), "0-3", NUMA_UNBOUND);
	numa_close(n);
}

/* Do not use processors that the launcher has not given to the job. */
static void no_processor_is_added(void **state)
{
	(void)state;
	ON(n, "numa:4 core:4 pu:1", 0x1f70);
	is(numa_plan(n, 1, 0, 8, true), "1-3", NUMA_THREADS);
	is(numa_plan(n, 2, 0, 4, true), "1-2", NUMA_THREADS);
	assert_true(numa_bind(n));
	assert_int_equal(bound_to, 0x0f70);
	is(numa_plan(n, 8, 7, 1, true), "3", NUMA_RANK);
	assert_true(numa_bind(n));
	assert_int_equal(bound_to, 0x1000);
	numa_close(n);
}

static void processors_with_two_kinds_of_memory_count_once(void **state)
{
	(void)state;
	ON(n, "2 [numa] [numa] 4", 0xff);
	is(numa_plan(n, 1, 0, 8, true), "0,2", NUMA_THREADS);
	is(numa_plan(n, 2, 1, 4, true), "2", NUMA_RANK);
	numa_close(n);
}

static struct seen {
	uint64_t by_worker[CALLS];
} seen;

static void look(void *arg, unsigned worker)
{
	(void)arg;
	seen.by_worker[worker] = bound_to;
}

static void workers_are_bound(void **state)
{
	(void)state;
	ON(n, "numa:2 core:4 pu:1", 0xff);
	is(numa_plan(n, 1, 0, 8, true), "0-1", NUMA_THREADS);
	assert_true(numa_bind(n));
	const unsigned up = pool_run(11, look, NULL); /* more than planned */
	assert_int_equal(up, 11);
	assert_int_equal(seen.by_worker[0], 0xff);
	for (unsigned w = 1; w < up; w++)
		assert_int_equal(seen.by_worker[w], w % 8 % 2 ? 0xf0 : 0x0f);
	numa_close(n);
	const unsigned calls = machine.bound;
	pool_run(4, look, NULL);
	assert_int_equal(machine.bound, calls);
}

static void a_rank_of_one_thread_has_no_workers_to_bind(void **state)
{
	(void)state;
	ON(n, "numa:2 core:4 pu:1", 0xff);
	is(numa_plan(n, 1, 0, 1, true), "0-1", NUMA_UNBOUND);
	is(numa_plan(n, 3, 1, 1, true), "0-1", NUMA_UNBOUND);
	numa_close(n);
}

static void nothing_is_bound_if_the_system_refuses(void **state)
{
	(void)state;
	ON(n, "numa:2 core:4 pu:1", 0xff);
	machine.refuses = EPERM;
	is(numa_plan(n, 1, 0, 8, true), "0-1", NUMA_THREADS);
	assert_false(numa_bind(n));
	const unsigned calls = machine.bound;
	pool_run(4, look, NULL);
	assert_int_equal(machine.bound, calls);
	numa_close(n);
}

/* Check that a description of another machine is only used for --explain. */
static void another_machine_is_only_explained(void **state)
{
	(void)state;
	ON(n, "numa:2 core:4 pu:1", 0xff);
	numa_close(n);
	setenv("HWLOC_THISSYSTEM", "0", 1);
	numa *sort = numa_open(false), *explain = numa_open(true);
	is(numa_plan(sort, 1, 0, 8, true), "", NUMA_UNBOUND);
	is(numa_plan(explain, 1, 0, 8, true), "0-1", NUMA_THREADS);
	numa_close(sort);
	numa_close(explain);
}

/* Check that hwloc is not loaded in vain: it prints an error for a machine that it cannot describe,
 * and takes time for one with a single node. */
static void hwloc_is_loaded_only_if_the_system_names_several_nodes(void **state)
{
	(void)state;
	static const struct {
		const char *has_cpu, *nodes;
		bool asks;
	} systems[] = {
		{ NULL, "", false }, { "0\n", "0", false },   { "3", "3", false },
		{ "\n", "", false }, { "0-1\n", NULL, true }, { "0,2\n", NULL, true },
	};
	unsetenv("HWLOC_SYNTHETIC");
	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
		machine = (struct machine){ .may = 1, .nodes = systems[i].has_cpu };
		loads = 0;
		numa *n = numa_open(false);
		if (systems[i].nodes)
			is(numa_plan(n, 1, 0, 8, true), systems[i].nodes, NUMA_UNBOUND);
		numa_close(n);
		assert_int_equal(loads, systems[i].asks && built_with_hwloc);
	}
}

static void without_memory_nothing_is_bound(void **state)
{
	(void)state;
	is(numa_plan(NULL, 1, 0, 8, true), "", NUMA_UNBOUND);
	numa_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_divide_the_processors),
		cmocka_unit_test(each_of_four_ranks_gets_one_of_four_nodes),
		cmocka_unit_test(workers_take_turns),
		cmocka_unit_test(ranks_on_one_node_stay_unbound),
		cmocka_unit_test(a_rank_bound_by_its_launcher_stays_so),
		cmocka_unit_test(a_rank_gets_its_node),
		cmocka_unit_test(no_processor_is_added),
		cmocka_unit_test(processors_with_two_kinds_of_memory_count_once),
		cmocka_unit_test(workers_are_bound),
		cmocka_unit_test(a_rank_of_one_thread_has_no_workers_to_bind),
		cmocka_unit_test(nothing_is_bound_if_the_system_refuses),
		cmocka_unit_test(another_machine_is_only_explained),
		cmocka_unit_test(hwloc_is_loaded_only_if_the_system_names_several_nodes),
		cmocka_unit_test(without_memory_nothing_is_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

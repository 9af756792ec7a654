/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hwloc describes the machine and binds threads. Loading the library and its description makes a
 * short sort longer, so they are loaded only if the system names several nodes. If the system names
 * no node (no /sys), hwloc could not find any either, and would complain on standard error. If the
 * library is missing at run time, nothing is bound, as in a build without it. */
#include "numa.h"
#include "arith.h"
#include "pool.h"
#include "sysfile.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_HWLOC
#	include <dlfcn.h>
#	include <hwloc.h>
#	include <pthread.h>
#	ifdef __APPLE__
#		define HWLOC_SONAME "libhwloc.15.dylib"
#	else
#		define HWLOC_SONAME "libhwloc.so.15" /* of hwloc 2 */
#	endif
#endif

void numa_weights(numa_node *node, size_t nodes, unsigned ranks, unsigned rank)
{
	uint64_t all = 0, at = 0;
	for (size_t i = 0; i < nodes; i++)
		all += node[i].cpus;
	const uint64_t first = all * rank, last = all * (rank + UINT64_C(1));
	for (size_t i = 0; i < nodes; i++) {
		const uint64_t end = at + (uint64_t)node[i].cpus * ranks;
		const uint64_t from = u64_max(at, first), to = u64_min(end, last);
		node[i].weight = from < to ? to - from : 0;
		at = end;
	}
}

void numa_turns(numa_node *node, size_t nodes, unsigned workers, uint32_t *turn)
{
	int64_t all = 0;
	for (size_t i = 0; i < nodes; i++) {
		node[i].credit = 0;
		all += (int64_t)node[i].weight;
	}
	for (unsigned w = 0; w < workers; w++) {
		size_t most = 0;
		for (size_t i = 0; i < nodes; i++) {
			node[i].credit += (int64_t)node[i].weight;
			if (node[i].credit > node[most].credit)
				most = i;
		}
		node[most].credit -= all;
		turn[w] = (uint32_t)most;
	}
}

/* Copy the name of the only node with processors; "" if the system names several nodes or no node.
 * Return whether it names several. */
static bool numa_find_only(char text[NUMA_TEXT_BYTES])
{
	sysfile_text("", "/sys/devices/system/node/has_cpu", "", text, NUMA_TEXT_BYTES);
	const bool several = text[strspn(text, "0123456789")] != '\0';
	if (several)
		text[0] = '\0';
	return several;
}

#ifdef HAVE_HWLOC

#	define HWLOC_CALLS(X)            \
		X(get_api_version)        \
		X(topology_init)          \
		X(topology_load)          \
		X(topology_is_thissystem) \
		X(topology_destroy)       \
		X(get_nbobjs_by_depth)    \
		X(get_obj_by_depth)       \
		X(get_cpubind)            \
		X(set_cpubind)            \
		X(bitmap_alloc)           \
		X(bitmap_free)            \
		X(bitmap_intersects)      \
		X(bitmap_weight)          \
		X(bitmap_zero)            \
		X(bitmap_set)             \
		X(bitmap_and)             \
		X(bitmap_or)              \
		X(bitmap_andnot)          \
		X(bitmap_list_snprintf)

static struct {
	bool found; /* all functions were found, in the version of the header */
#	define HWLOC_MEMBER(f) __typeof__(hwloc_##f) *(f);
	HWLOC_CALLS(HWLOC_MEMBER)
#	undef HWLOC_MEMBER
} hw;

static pthread_once_t hw_once = PTHREAD_ONCE_INIT;

/* Load hwloc, which stays in the process; its version must match the header. Look up its functions
 * as the linker does, so that a preloaded library may replace them. */
static void numa_load_hwloc(void)
{
#	define HWLOC_ROW(f) { "hwloc_" #        f, &hw.f },
	const struct {
		const char *name;
		void *at;
	} calls[] = { HWLOC_CALLS(HWLOC_ROW) };
#	undef HWLOC_ROW
	if (!dlopen(HWLOC_SONAME, RTLD_LAZY | RTLD_GLOBAL | RTLD_NODELETE))
		return;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		void *found = dlsym(RTLD_DEFAULT, calls[i].name);
		if (!found)
			return;
		memcpy(calls[i].at, &found, sizeof found);
	}
	hw.found = hw.get_api_version() >> 16 == HWLOC_API_VERSION >> 16;
}

struct numa {
	char only[NUMA_TEXT_BYTES]; /* the only node; "": several, or unknown */
	hwloc_topology_t topology;  /* NULL: not known */
	numa_node *node;            /* [room] */
	size_t nodes, room;  /* number of nodes with usable processors; number of all nodes */
	hwloc_bitmap_t mine; /* processors of all nodes of the rank */
	uint32_t *turn;      /* [workers] the node of each */
	unsigned workers;    /* 0: workers are bound like the rank */
};

/* Add the nodes of the usable processors `left`. A processor counts only for the first of its
 * nodes, because several kinds of memory near it may each be a node. Return false without
 * memory. */
static bool numa_add_nodes(numa *n, hwloc_bitmap_t left)
{
	for (unsigned i = 0; i < n->room; i++) {
		const struct hwloc_obj *o =
			hw.get_obj_by_depth(n->topology, HWLOC_TYPE_DEPTH_NUMANODE, i);
		if (!o || !o->cpuset || !hw.bitmap_intersects(o->cpuset, left))
			continue;
		numa_node *to = &n->node[n->nodes];
		to->set = hw.bitmap_alloc();
		if (!to->set || hw.bitmap_and(to->set, o->cpuset, left) != 0)
			return false;
		to->number = o->os_index;
		to->cpus = (uint32_t)hw.bitmap_weight(to->set);
		n->nodes++;
		if (hw.bitmap_andnot(left, left, to->set) != 0)
			return false;
	}
	return true;
}

/* Find the nodes of this machine, or of another one for --explain. */
static bool numa_find_nodes(numa *n, bool to_explain)
{
	(void)pthread_once(&hw_once, numa_load_hwloc);
	if (!hw.found)
		return false;
	if (hw.topology_init(&n->topology) != 0) {
		n->topology = NULL;
		return false;
	}
	if (hw.topology_load(n->topology) != 0)
		return false;
	if (hw.topology_is_thissystem(n->topology) != 1 && !to_explain)
		return false;
	const int nodes = (int)hw.get_nbobjs_by_depth(n->topology, HWLOC_TYPE_DEPTH_NUMANODE);
	if (nodes <= 0)
		return false;
	n->node = calloc((size_t)nodes, sizeof *n->node);
	n->mine = hw.bitmap_alloc();
	if (!n->node || !n->mine)
		return false;
	n->room = (size_t)nodes;
	hwloc_bitmap_t may = hw.bitmap_alloc();
	const bool found = may && hw.get_cpubind(n->topology, may, HWLOC_CPUBIND_THREAD) == 0 &&
			   numa_add_nodes(n, may);
	hw.bitmap_free(may);
	return found;
}

numa *numa_open(bool to_explain)
{
	numa *n = calloc(1, sizeof *n);
	if (!n)
		return NULL;
	const bool described = getenv("HWLOC_SYNTHETIC") || getenv("HWLOC_XMLFILE");
	if ((described || numa_find_only(n->only)) && !numa_find_nodes(n, to_explain))
		n->nodes = 0;
	return n;
}

void numa_close(numa *n)
{
	if (!n)
		return;
	pool_begin_with(NULL, NULL);
	if (n->topology) {
		for (size_t i = 0; i < n->room; i++)
			hw.bitmap_free(n->node[i].set);
		hw.bitmap_free(n->mine);
		hw.topology_destroy(n->topology);
	}
	free(n->node);
	free(n->turn);
	free(n);
}

numa_place numa_plan(numa *n, unsigned ranks, unsigned rank, unsigned threads, bool bind)
{
	numa_place p = { "", NUMA_UNBOUND };
	if (!n || n->nodes == 0) {
		if (n)
			memcpy(p.nodes, n->only, sizeof p.nodes);
		return p;
	}
	const bool divides = bind && n->nodes > 1;
	numa_weights(n->node, n->nodes, divides ? ranks : 1, divides ? rank : 0);
	size_t nodes = 0; /* of the rank */
	hw.bitmap_zero(n->mine);
	for (size_t i = 0; i < n->nodes; i++)
		if (n->node[i].weight > 0 && hw.bitmap_set(n->mine, n->node[i].number) == 0)
			nodes++;
	(void)hw.bitmap_list_snprintf(p.nodes, NUMA_TEXT_BYTES, n->mine);
	hw.bitmap_zero(n->mine);
	for (size_t i = 0; i < n->nodes; i++)
		if (n->node[i].weight > 0)
			(void)hw.bitmap_or(n->mine, n->mine, n->node[i].set);
	if (!divides)
		return p;
	free(n->turn);
	n->turn = nodes > 1 && threads > 1 ? calloc(threads, sizeof *n->turn) : NULL;
	n->workers = n->turn ? threads : 0;
	if (n->turn) {
		numa_turns(n->node, n->nodes, threads, n->turn);
		p.binding = NUMA_THREADS;
	} else if (nodes < n->nodes) {
		p.binding = NUMA_RANK;
	}
	return p;
}

static void numa_bind_worker(void *numa_, unsigned worker)
{
	const numa *n = numa_;
	hwloc_const_bitmap_t set = n->node[n->turn[worker % n->workers]].set;
	(void)hw.set_cpubind(n->topology, set, HWLOC_CPUBIND_THREAD);
}

/* Bind the calling thread even if the rank has all nodes, to find out whether threads can be
 * bound. */
bool numa_bind(numa *n)
{
	if (hw.set_cpubind(n->topology, n->mine, HWLOC_CPUBIND_THREAD) != 0)
		return false;
	if (n->workers)
		pool_begin_with(numa_bind_worker, n);
	return true;
}

#else

struct numa {
	char only[NUMA_TEXT_BYTES];
};

numa *numa_open(bool to_explain)
{
	numa *n = calloc(1, sizeof *n);
	(void)to_explain;
	if (n)
		(void)numa_find_only(n->only);
	return n;
}

void numa_close(numa *n)
{
	free(n);
}

numa_place numa_plan(numa *n, unsigned ranks, unsigned rank, unsigned threads, bool bind)
{
	numa_place p = { "", NUMA_UNBOUND };
	(void)ranks;
	(void)rank;
	(void)threads;
	(void)bind;
	if (n)
		memcpy(p.nodes, n->only, sizeof p.nodes);
	return p;
}

bool numa_bind(numa *n)
{
	(void)n;
	return false;
}

#endif

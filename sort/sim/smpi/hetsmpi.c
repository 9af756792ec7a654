/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetsort as a program of SMPI, against which hetsim is checked: smpirun ... hetsmpi.so SCALE
 * PLATFORM HETSORT-ARGUMENT... Work is charged by the code of hetsim and the rates of PLATFORM.
 * Messages are SMPI's, on the platform that `hetsim --xml PLATFORM` prints.
 *
 * The comm replaces comm_local_run. It uses blocking collectives, because SMPI's nonblocking ones
 * send all messages of all pairs of ranks at once. A block is a message without contents, of the
 * size that its records represent. The records themselves are copied when both sides have asked for
 * the block; this is possible because all ranks are in one process. */
#include "cli/signals.h"
#include "job.h"
#include "sim/sim.h"
#include "sim/engine.h"

#include <limits.h>
#include <math.h>
#include <simgrid/host.h>
#include <smpi/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof((comm_req *)0)->handle[0], "a request fits its place");

/* A rank. Other ranks find it as the data of its host. */
typedef struct smpi {
	comm c; /* first, so that a comm is an smpi */
	MPI_Comm data;
	comm_mailbox box;
	unsigned char *bytes; /* [room] the contents of all messages, which nobody reads */
	size_t room;
} smpi;

static smpi *self;

double comm_sim_scale(void)
{
	return self ? scale_in((phase)atomic_load(&self->c.phase)) : 1;
}

static status smpi_status(int rc)
{
	return rc == MPI_SUCCESS ? ST_OK : ST_PEER;
}

/* ------------------------------------------------------------------------------- collectives */

static status smpi_collective(comm *c, const comm_call *k)
{
	const int n = (int)k->bytes;
	const MPI_Comm all = MPI_COMM_WORLD;
	(void)c;
	actor_pay();
	if (k->kind == COMM_BCAST)
		return smpi_status(MPI_Bcast(k->recv, n, MPI_BYTE, k->root, all));
	if (k->kind == COMM_GATHER)
		return smpi_status(
			MPI_Gather(k->send, n, MPI_BYTE, k->recv, n, MPI_BYTE, k->root, all));
	if (k->kind == COMM_ALLGATHER)
		return smpi_status(MPI_Allgather(k->send, n, MPI_BYTE, k->recv, n, MPI_BYTE, all));
	return smpi_status(MPI_Alltoall(k->send, n, MPI_BYTE, k->recv, n, MPI_BYTE, all));
}

/* ------------------------------------------------------------------------------------ blocks */

/* Copy the records if both sides have asked for the block; the message takes the time. handle[0] is
 * MPI's request. handle[1] is true if both sides have asked. */
static status smpi_move(comm *c, comm_req *r)
{
	char name[16];
	snprintf(name, sizeof name, "h%d", r->sending ? r->peer : c->rank);
	smpi *to = sg_host_get_data(sg_host_by_name(name));
	r->peer = r->sending ? c->rank : r->peer;
	comm_req *other = comm_pair(&to->box, r);
	r->handle[1] = other != NULL;
	if (!other)
		return ST_OK;
	other->handle[1] = true;
	return comm_hand_over(r, other);
}

static double smpi_message_s(const comm_req *r)
{
	return scale_messages(scale_block(r)) * engine_platform()->rates.message_s;
}

static status smpi_start(comm *c, comm_req *r)
{
	smpi *m = (smpi *)c;
	MPI_Request req;
	const int peer = r->peer;
	const double bytes = scale_block(r);
	if (bytes > INT_MAX)
		return ST_INTERNAL;
	if (bytes > (double)m->room) { /* SMPI does not copy memory of SMPI_SHARED_MALLOC */
		m->room = 2 * (size_t)bytes + (1 << 20);
		m->bytes = SMPI_SHARED_MALLOC(m->room); /* messages under way still use the old
							 * memory */
		if (!m->bytes)
			return ST_RESOURCE;
	}
	actor_owe(r->sending ? smpi_message_s(r) : smpi_message_s(r) / 2);
	const status rc = smpi_status(
		r->sending
			? MPI_Issend(m->bytes, (int)bytes, MPI_BYTE, peer, r->tag, m->data, &req)
			: MPI_Irecv(m->bytes, (int)bytes, MPI_BYTE, peer, r->tag, m->data, &req));
	memcpy(&r->handle[0], &req, sizeof req);
	return rc == ST_OK ? smpi_move(c, r) : rc;
}

/* Call MPI_Test only if the request may be complete, because it takes long in real time. */
static status smpi_test(comm *c, comm_req *r, bool *done)
{
	MPI_Request req;
	int flag = 0;
	(void)c;
	*done = false;
	actor_owe(engine_platform()->rates.test_s);
	if (!r->handle[1])
		return ST_OK;
	memcpy(&req, &r->handle[0], sizeof req);
	const status rc = smpi_status(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
	memcpy(&r->handle[0], &req, sizeof req);
	*done = flag;
	if (flag && !r->sending)
		actor_owe(smpi_message_s(r) / 2);
	return rc;
}

static void smpi_end_job(comm *c, int code)
{
	(void)c;
	fflush(NULL);
	MPI_Abort(MPI_COMM_WORLD, code);
}

static const struct comm_ops smpi_ops = {
	smpi_collective, NULL, smpi_start, smpi_test, NULL, smpi_end_job,
};

/* -------------------------------------------------------------------------------------- ranks */

WRAPPED(status, comm_local_run, int size, rank_main *fn, void *arg, err *e)
{
	const MPI_Comm all = MPI_COMM_WORLD;
	smpi m = { .data = MPI_COMM_NULL };
	status rc = ST_OK;
	(void)size;                           /* smpirun sets the number of ranks */
	sg_host_set_data(sg_host_self(), &m); /* other ranks read it after the barrier */
	if (MPI_Comm_rank(all, &m.c.rank) != MPI_SUCCESS ||
	    MPI_Comm_size(all, &m.c.size) != MPI_SUCCESS ||
	    MPI_Comm_dup(all, &m.data) != MPI_SUCCESS || MPI_Barrier(all) != MPI_SUCCESS)
		rc = err_set(e, ST_PEER, "cannot set up the MPI communicators");
	m.c.ops = &smpi_ops;
	m.c.processes = m.c.size;
	m.c.process_first = m.c.rank;
	m.c.process_ranks = 1;
	m.c.kind = "SMPI";
	snprintf(m.c.host, sizeof m.c.host, "h%d", m.c.rank);
	m.c.host_id = (uint64_t)m.c.rank;
	void *room = calloc(1, comm_room_bytes(m.c.size));
	if (rc == ST_OK && !room)
		rc = err_set(e, ST_RESOURCE, "no memory for a rank");
	if (rc != ST_OK) {
		free(room);
		return rc;
	}
	comm_give_room(&m.c, room);
	self = &m;
	rc = fn(&m.c, arg);
	actor_pay();
	if (MPI_Barrier(all) != MPI_SUCCESS && rc == ST_OK) /* other ranks use m before */
		rc = err_set(e, ST_PEER, "cannot leave the other ranks");
	self = NULL;
	free(room);
	return rc;
}

/* ------------------------------------------------------------------------------------ program */

int hetsort_main(int argc, char **argv); /* main.c's, renamed */

WRAPPED(status, job_execute, comm *c, const settings *o, job_result *res)
{
	scale_records(o->lay.record_bytes);
	return __real_job_execute(c, o, res);
}

/* Watch no signals, because a signal ends all ranks, which are one process. */
WRAPPED(void, signals_block, void)
{
}

WRAPPED(void, signals_watch, atomic_bool *stop, signals_show *show, signals_end *end, void *arg)
{
	(void)stop;
	(void)show;
	(void)end;
	(void)arg;
}

/* smpirun finds this main by its name. */
__attribute__((visibility("default"))) int main(int argc, char **argv)
{
	static char name[] = "hetsort"; /* replaces PLATFORM */
	platform p = { .hosts = 0 };
	err e = { ST_OK, "" };
	double mine_s = 0, all_s = 0;
	int r = 0;
	if (argc < 3 || MPI_Init(&argc, &argv) != MPI_SUCCESS ||
	    MPI_Comm_rank(MPI_COMM_WORLD, &r) != MPI_SUCCESS)
		return ST_REFUSED;
	const double scale = strtod(argv[1], NULL);
	status rc = scale >= 1
			    ? platform_load(&p, argv[2], &e)
			    : err_set(&e, ST_REFUSED, "the scale must be a number of at least 1");
	if (rc == ST_OK)
		rc = scale_open(&p, scale, &e);
	if (rc == ST_OK) {
		const double start_s = engine_now_s();
		argv[2] = name;
		rc = (status)hetsort_main(argc - 2, argv + 2);
		mine_s = fmax(engine_here()->h->disk_free_s, engine_now_s()) - start_s;
	}
	if (e.code != ST_OK)
		fprintf(stderr, "hetsmpi: %s\n", e.text);
	if (MPI_Reduce(&mine_s, &all_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
		rc = ST_PEER;
	if (r == 0)
		printf("makespan %.6f s, status %d\n", all_s, (int)rc);
	platform_free(&p);
	MPI_Finalize();
	return rc;
}

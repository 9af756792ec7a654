/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetsort as a program of SMPI, against which hetsim is checked: smpirun ... hetsmpi.so SCALE
 * PLATFORM HETSORT-ARGUMENT... Work is charged by the code of hetsim and the rates of PLATFORM.
 * Messages are SMPI's, on the platform that `hetsim --xml PLATFORM` prints. */
#include "cli/signals.h"
#include "sim/engine.h"
#include "run.h"
#include "sim/scale.h"
#include "sim/wrap.h"

#include <math.h>
#include <smpi/mpi.h>
#include <stdio.h>
#include <stdlib.h>

int hetsort_main(int argc, char **argv); /* main.c's, renamed */

WRAPPED(status, job_run, comm *c, const settings *o, job_result *res)
{
	scale_records(o->lay.record_bytes);
	return __real_job_run(c, o, res);
}

/* A signal ends all ranks, which are one process. */
WRAPPED(void, signals_block, void)
{
}

WRAPPED(void, signals_watch, atomic_bool *stop, signals_tell *tell, signals_end *end, void *arg)
{
	(void)stop;
	(void)tell;
	(void)end;
	(void)arg;
}

/* Sort by SCALE PLATFORM HETSORT-ARGUMENT... The name of hetsort takes the place of PLATFORM. */
static status sort(platform *p, char **argument, int n, double *seconds, err *e)
{
	static char name[] = "hetsort";
	const double scale = strtod(argument[0], NULL);
	if (!(scale >= 1))
		return err_set(e, ST_REFUSED, "the scale is a number from 1");
	status rc = platform_load(p, argument[1], e);
	if (rc == ST_OK)
		rc = scale_open(p, scale, e);
	if (rc != ST_OK)
		return rc;
	argument[1] = name;
	const double start_s = engine_now_s();
	rc = (status)hetsort_main(n - 1, argument + 1);
	*seconds = fmax(engine_here()->disk_free_s, engine_now_s()) - start_s;
	return rc;
}

/* smpirun finds it by its name. */
__attribute__((visibility("default"))) int main(int argc, char **argv)
{
	platform p = { .hosts = 0 };
	err e = { ST_OK, "" };
	double mine_s = 0, all_s = 0;
	int r = 0;
	if (argc < 3 || MPI_Init(&argc, &argv) != MPI_SUCCESS ||
	    MPI_Comm_rank(MPI_COMM_WORLD, &r) != MPI_SUCCESS)
		return ST_REFUSED;
	status rc = sort(&p, argv + 1, argc - 1, &mine_s, &e);
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

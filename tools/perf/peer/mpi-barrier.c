// SPDX-License-Identifier: GPL-2.0
/*
 * MPI's barrier, for bench to have beside ours: each line of output is a JSON
 * object, as those of bgdma-perf are.
 *
 *	mpirun -n N mpi-barrier RUNS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define BARRIERS	500

static void barriers(void)
{
	int i;

	for (i = 0; i < BARRIERS; i++)
		MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, size, runs;
	double begin;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	barriers();
	for (runs = argc > 1 ? atoi(argv[1]) : 1; runs > 0; runs--) {
		begin = MPI_Wtime();
		barriers();
		if (!rank)
			printf("{\"region\":\"MPI barrier of %d\",\"ops\":%d,\"ns\":%.1f}\n",
			       size, BARRIERS,
			       (MPI_Wtime() - begin) * 1e9 / BARRIERS);
	}
	MPI_Finalize();
	return 0;
}

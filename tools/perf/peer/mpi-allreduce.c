// SPDX-License-Identifier: GPL-2.0
/*
 * MPI's all-reduce, for bench to have beside ours: each line of output is a JSON
 * object, as those of bgdma-perf are.
 *
 *	mpirun -n N mpi-allreduce RUNS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define LONGEST	(1 << 20)

static const struct {
	const char *size;
	int bytes, ops;
} works[] = { { "8 B", 8, 200 }, { "64 KiB", 65536, 20 }, { "1 MiB", LONGEST, 3 } };

#define WORKS	((int)(sizeof(works) / sizeof(works[0])))

static long long in[LONGEST / 8], out[LONGEST / 8];

static void all_reduces(int work)
{
	int i;

	for (i = 0; i < works[work].ops; i++)
		MPI_Allreduce(in, out, works[work].bytes / 8, MPI_LONG_LONG,
			      MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, runs, work;
	double begin;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (work = 0; work < WORKS; work++)
		all_reduces(work);
	for (runs = argc > 1 ? atoi(argv[1]) : 1; runs > 0; runs--)
		for (work = 0; work < WORKS; work++) {
			begin = MPI_Wtime();
			all_reduces(work);
			if (!rank)
				printf("{\"region\":\"%s all-reduce, Open MPI\",\"ops\":%d,\"ns\":%.1f}\n",
				       works[work].size, works[work].ops,
				       (MPI_Wtime() - begin) * 1e9 /
				       works[work].ops);
		}
	MPI_Finalize();
	return 0;
}

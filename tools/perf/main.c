// SPDX-License-Identifier: GPL-2.0
/*
 * bgdma-perf: measure what a transfer costs, where it runs. The program bench
 * runs it in virtual machines, adds the plugin's counts, and judges.
 */
#include <string.h>

#include "perf.h"

static const struct {
	const char *name;
	void (*run)(void);
	const char *what;
} subjects[] = {
	{ "peers", count_peers, "getppid, an ioctl, process_vm_readv" },
	{ "messages", count_messages, "8-byte messages with a doorbell each, and in batches" },
	{ "puts", count_puts, "puts of 4 KiB, and of 1 MiB" },
	{ "pingpong", ping_pong, "8-byte messages to and fro, and an ioctl's time" },
	{ "bandwidth", bandwidth, "times of puts of 1 and 4 MiB beside their peers" },
	{ "idle", idle, "what runs while nothing is to do, and memory" },
	{ "growth", growth, "with more nodes, in grow2, grow64 and grow4096" },
	{ "attack", under_attack, "what a user gets beside another; needs 4 nodes" },
	{ "traffic", traffic, "none: load for somebody else's, until killed" },
};

#define SUBJECTS	(sizeof(subjects) / sizeof(subjects[0]))

static void help(FILE *to)
{
	size_t i;

	fputs("Usage: bgdma-perf MEASUREMENT...\n\n"
	      "Measures what transfers cost, in the partition " PARTITION
	      " of at least 2 nodes:\n\n", to);
	for (i = 0; i < SUBJECTS; i++)
		fprintf(to, "  %-12s %s\n", subjects[i].name, subjects[i].what);
	fputs("\nEach line of output is a JSON object; see bgdma-perf(8).\n",
	      to);
}

int main(int argc, char **argv)
{
	size_t i;
	int arg;

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help(argc < 2 ? stderr : stdout);
		return argc < 2 ? 2 : 0;
	}
	for (arg = 1; arg < argc; arg++) {
		for (i = 0; i < SUBJECTS; i++) {
			if (!strcmp(argv[arg], subjects[i].name))
				break;
		}
		if (i == SUBJECTS) {
			fprintf(stderr, "bgdma-perf: no measurement %s\n",
				argv[arg]);
			return 2;
		}
		subjects[i].run();
	}
	return 0;
}

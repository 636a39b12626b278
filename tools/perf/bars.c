// SPDX-License-Identifier: GPL-2.0
/*
 * bars: measure what a transfer costs, in the guest. The host's half, which
 * adds the plugin's counts and judges, is the program bench.
 *
 *	bars SUBJECT...
 */
#include <string.h>

#include "perf.h"

static const struct {
	const char *name;
	void (*run)(void);
} subjects[] = {
	{ "peers", count_peers },
	{ "messages", count_messages },
	{ "puts", count_puts },
	{ "pingpong", ping_pong },
	{ "bandwidth", bandwidth },
	{ "idle", idle },
	{ "growth", growth },
	{ "attack", under_attack },
	{ "traffic", traffic },
};

#define SUBJECTS	(sizeof(subjects) / sizeof(subjects[0]))

int main(int argc, char **argv)
{
	size_t i;
	int arg;

	for (arg = 1; arg < argc; arg++) {
		for (i = 0; i < SUBJECTS; i++) {
			if (!strcmp(argv[arg], subjects[i].name))
				break;
		}
		if (i == SUBJECTS) {
			fprintf(stderr, "bars: no subject %s\n", argv[arg]);
			return 2;
		}
		subjects[i].run();
	}
	return 0;
}

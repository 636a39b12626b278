// SPDX-License-Identifier: GPL-2.0
/*
 * Barriers of four processes, back to back; who waits looks for a while and then
 * sleeps, or sleeps at once. The partition is a ring of four nodes.
 */
#include <string.h>

#include "processes.h"

#define PROCESSES	4
#define BARRIERS	500

static const struct {
	const char *name;
	uint32_t flags;
	enum bgdma_wait_mode mode;
} kinds[] = {
	{ "barrier of 4, by deposit bit", 0, BGDMA_SPIN_THEN_SLEEP },
	{ "barrier of 4, by deposit bit, no replies", BGDMA_SPLIT_NO_REPLY,
	  BGDMA_SPIN_THEN_SLEEP },
	{ "barrier of 4, a packet for each", BGDMA_SPLIT_PLAIN,
	  BGDMA_SPIN_THEN_SLEEP },
	{ "barrier of 4, a put by deposit bit", BGDMA_SPLIT_PUT,
	  BGDMA_SPIN_THEN_SLEEP },
	{ "barrier of 4, a put for each", BGDMA_SPLIT_PUT | BGDMA_SPLIT_PLAIN,
	  BGDMA_SPIN_THEN_SLEEP },
	{ "barrier of 4, asleep at once", 0, BGDMA_SLEEP },
	{ "barrier of 4, a put for each, asleep at once",
	  BGDMA_SPLIT_PUT | BGDMA_SPLIT_PLAIN, BGDMA_SLEEP },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

struct kind {
	struct bgdma_coll_group *group;
	enum bgdma_wait_mode mode;
};

static void barriers(void *arg, unsigned int n)
{
	const struct kind *kind = arg;

	while (n--) {
		must(bgdma_coll_enter(kind->group));
		must(bgdma_coll_wait(kind->group, kind->mode, -1));
	}
}

static void member(struct process *process)
{
	struct subject subject[KINDS];
	struct kind kind[KINDS];
	size_t i, n = 0;

	for (i = 0; i < KINDS; i++) {
		if (!strstr(kinds[i].name, only))
			continue;
		kind[n].mode = kinds[i].mode;
		must(bgdma_coll_split(process->coll, &(struct bgdma_split_attr){
				.flags = kinds[i].flags }, &kind[n].group));
		subject[n] = (struct subject){
			kinds[i].name, barriers, &kind[n], BARRIERS,
		};
		n++;
	}
	processes_take(process, subject, n);
	for (i = 0; i < n; i++)
		bgdma_coll_group_destroy(kind[i].group);
}

void barrier(void)
{
	processes_run(PROCESSES, member);
}

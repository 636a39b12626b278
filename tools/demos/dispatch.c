// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Two modules in one process that do not know each other: one sends lines of a
 * file as messages, one writes others into the memory of the other side and says
 * where. Their packets are mixed; none reaches the wrong module (DP-5).
 *
 *	dispatch FILE [OPERATION]
 *
 * Each process of a job sends to the next. All have the file, to compare what came.
 * With an OPERATION this process registers it in place of one of its own: all
 * are then told who disagrees, and about what (DP-1). Phases are lines:
 * registered, agreed, sent, received.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bgdma/bgdma.h>

#include "scene.h"

#define LINES		20000
#define LINE_BYTES	240	/* more is another line; one packet */

struct two_sided {
	uint32_t got, next, wrong;
};

struct one_sided {
	uint32_t got, wrong;
	char memory[LINES * LINE_BYTES];
};

/* The file, as often as it takes; line i: from begin[i] to begin[i + 1]. */
static char text[LINES * LINE_BYTES];
static uint32_t begin[LINES + 1];
static struct two_sided two_sided;
static struct one_sided one_sided;
static uint64_t troubles;

/* Read a line. Return: where the next begins; @at: the file is at its end. */
static uint32_t line_load(FILE *file, uint32_t at)
{
	const uint32_t end = at + LINE_BYTES;
	int c = 0;

	while (at < end && c != '\n') {
		c = getc(file);
		if (c == EOF)
			break;
		text[at++] = (char)c;
	}
	return at;
}

static void text_load(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint32_t i = 0;

	if (!file)
		check(-errno, path);
	while (i < LINES) {
		begin[i + 1] = line_load(file, begin[i]);
		if (begin[i + 1] > begin[i]) {
			i++;
			continue;
		}
		if (!i || ferror(file))
			check(-ENODATA, path);
		rewind(file);
	}
	fclose(file);
}

static uint32_t line_bytes(uint32_t i)
{
	return begin[i + 1] - begin[i];
}

/* Which of the modules has line @i; the other never sees it. */
static bool is_stored(uint32_t i)
{
	return i % 3 == 0;
}

/* A message: which line is in the word, the line in the payload. All in order. */
static int on_line(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct two_sided *side = arg;
	uint64_t i = bgdma_packet_word(packet);

	(void)rank;
	side->got++;
	while (is_stored(side->next))
		side->next++;
	if (i != side->next || i >= LINES ||
	    packet->bytes != line_bytes((uint32_t)i) ||
	    memcmp(bgdma_packet_data(packet), text + begin[i], packet->bytes))
		side->wrong++;
	side->next++;
	return 0;
}

/* A remote store: where it goes is in the word, what in the payload. */
static int on_store(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct one_sided *side = arg;
	uint64_t at = bgdma_packet_word(packet);

	(void)rank;
	side->got++;
	if (packet->bytes > LINE_BYTES ||
	    at > sizeof(side->memory) - packet->bytes)
		side->wrong++;
	else
		memcpy(side->memory + at, bgdma_packet_data(packet),
		       packet->bytes);
	return 0;
}

/* A packet that no module wants, or a process that died. */
static void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	(void)arg;
	troubles++;
	fprintf(stderr, "dispatch: process %u: %s\n", info->rank,
		bgdma_strtrouble(info->trouble));
}

static bool all_here(void *arg)
{
	(void)arg;
	return troubles || two_sided.got + one_sided.got == LINES;
}

static uint32_t add(struct bgdma_endpoint *ep, const char *module,
		    const char *name, bgdma_packet_fn *fn, void *arg)
{
	uint32_t id;

	check(bgdma_operation_register(ep, &(struct bgdma_operation_attr){
			.module = module, .name = name, .packet = fn,
			.arg = arg }, &id), name);
	return id;
}

static void disagree(const struct bgdma_disagreement *why)
{
	printf("refused: process %u on node %u %s operation %s of module %s\n",
	       why->rank, why->node, why->missing ? "lacks" : "alone has",
	       why->name, why->module);
}

static void send_all(struct bgdma_endpoint *ep, uint32_t dest, uint32_t line,
		     uint32_t store)
{
	struct bgdma_send_attr send = { .dest = dest };
	uint32_t i;
	int ret;

	for (i = 0; i < LINES; i++) {
		send.operation = is_stored(i) ? store : line;
		send.word = is_stored(i) ? begin[i] : i;
		send.data = text + begin[i];
		send.length = line_bytes(i);
		while ((ret = bgdma_endpoint_send(ep, &send)) == -EAGAIN)
			check(bgdma_endpoint_progress(ep, 0), "progress");
		check(ret, "send");
	}
}

/* The memory has the lines of its module, and nothing where the others are. */
static uint32_t memory_wrong(void)
{
	static const char nothing[LINE_BYTES];
	uint32_t i, wrong = 0;

	for (i = 0; i < LINES; i++)
		wrong += !!memcmp(one_sided.memory + begin[i],
				  is_stored(i) ? text + begin[i] : nothing,
				  line_bytes(i));
	return wrong;
}

int main(int argc, char **argv)
{
	struct bgdma_disagreement why;
	struct bgdma_endpoint *ep;
	struct bgdma_job *job;
	uint32_t line, store;
	uint64_t wrong;
	int ret;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: dispatch FILE [OPERATION]\n");
		return 2;
	}
	text_load(argv[1]);
	check(bgdma_job_open(&job, &(struct bgdma_job_attr){
			.timeout_ms = 60000 }), "job");
	check(bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){
			.job = job, .trouble = on_trouble }), "endpoint");
	line = add(ep, "two-sided", "line", on_line, &two_sided);
	store = add(ep, "one-sided", argc > 2 ? argv[2] : "store", on_store,
		    &one_sided);
	phase("registered\n");
	ret = bgdma_endpoint_commit(ep, &why);
	if (ret == -EPROTO) {
		disagree(&why);
		return 3;
	}
	check(ret, "commit");

	phase("agreed\n");
	send_all(ep, (bgdma_job_rank(job) + 1) % bgdma_job_size(job), line,
		 store);
	phase("sent\n");
	check(bgdma_endpoint_wait_until(ep, all_here, NULL,
					BGDMA_SPIN_THEN_SLEEP, -1), "wait");
	phase("received\n");
	wrong = two_sided.wrong + one_sided.wrong + memory_wrong() + troubles;
	printf("rank %u: %" PRIu32 " lines two-sided, %" PRIu32
	       " one-sided, %" PRIu64 " misdelivered\n", bgdma_job_rank(job),
	       two_sided.got, one_sided.got, wrong);
	check(bgdma_job_fence(job), "fence");
	bgdma_endpoint_destroy(ep);
	bgdma_job_close(job);
	return wrong != 0;
}

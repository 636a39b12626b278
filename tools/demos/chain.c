// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Send a file from process 0 to process 1 of a job in portions, by a chain of
 * remote gets that the engines alone keep going.
 *
 *	chain [-s] PORTIONS FILE
 *
 * -s: both processes stop themselves (SIGSTOP) right after the set-up, and go
 * on when told. Process 1 says where to look meanwhile: "memory FD", a file of
 * its own. Phases are lines: begin, set up, moved.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bgdma/rendezvous.h>

#include "scene.h"

struct side {
	struct bgdma_job *job;
	struct bgdma_endpoint *ep;
	uint32_t operation;
	struct bgdma_rts rts;
	bool announced, ended;
	int result;
	void *memory;
	uint64_t bytes;
};

static int on_rts(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct side *side = arg;

	side->announced = true;
	return bgdma_rts_read(&side->rts, rank, packet);
}

static void on_done(void *arg, int result, uint64_t bytes)
{
	struct side *side = arg;

	side->ended = true;
	side->result = result;
	side->bytes = bytes;
}

static bool announced(void *arg)
{
	return ((struct side *)arg)->announced;
}

static bool ended(void *arg)
{
	return ((struct side *)arg)->ended;
}

static void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	(void)arg;
	fprintf(stderr, "chain: process %u: %s: %s\n", info->rank,
		bgdma_strtrouble(info->trouble), bgdma_strcode(info->code));
}

static void side_open(struct side *side)
{
	struct bgdma_endpoint_attr attr = { .trouble = on_trouble };

	check(bgdma_job_open(&side->job, &(struct bgdma_job_attr){
			.timeout_ms = 60000 }), "job");
	attr.job = side->job;
	check(bgdma_endpoint_create(&side->ep, &attr), "endpoint");
	check(bgdma_operation_register(side->ep, &(struct bgdma_operation_attr){
			.module = "chain", .name = "rts", .packet = on_rts,
			.arg = side }, &side->operation), "register");
	check(bgdma_endpoint_commit(side->ep, NULL), "commit");
}

/* The file, in memory that can be registered. */
static void source_load(struct side *side, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	uint64_t at;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		check(-ENOENT, path);
	side->bytes = (uint64_t)st.st_size;
	side->memory = mmap(NULL, side->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (side->memory == MAP_FAILED)
		check(-ENOMEM, path);
	for (at = 0; at < side->bytes; at += (uint64_t)n) {
		n = read(fd, (char *)side->memory + at, side->bytes - at);
		if (n <= 0)
			check(-EIO, path);
	}
	close(fd);
}

static void target_make(struct side *side, const char *path)
{
	char line[32];
	struct stat st;
	int fd;

	check(stat(path, &st) ? -errno : 0, path);
	side->bytes = (uint64_t)st.st_size;
	fd = memfd_create("chain", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, st.st_size))
		check(-ENOMEM, "memory");
	side->memory = mmap(NULL, side->bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, fd, 0);
	if (side->memory == MAP_FAILED)
		check(-ENOMEM, "memory");
	snprintf(line, sizeof(line), "memory %d\n", fd);
	phase(line);
}

int main(int argc, char **argv)
{
	bool stop = argc == 4 && !strcmp(argv[1], "-s");
	static struct side side;
	const char *path;
	uint64_t portions;
	int64_t begin;

	if (argc != 3 + stop) {
		fprintf(stderr, "usage: chain [-s] PORTIONS FILE\n");
		return 2;
	}
	portions = strtoull(argv[1 + stop], NULL, 10);
	path = argv[2 + stop];
	if (!portions)
		check(-EINVAL, "portions");
	side_open(&side);
	if (bgdma_job_rank(side.job) == 0)
		source_load(&side, path);
	else
		target_make(&side, path);
	check(bgdma_job_fence(side.job), "fence");
	/* An engine that is awake needs no doorbells. */
	check(bgdma_doorbell(bgdma_endpoint_ctx(side.ep),
			     BGDMA_DOORBELL_POOL), "doorbell");

	phase("begin\n");
	begin = now_ns();
	if (bgdma_job_rank(side.job) == 0) {
		check(bgdma_rendezvous_send(side.ep,
			&(struct bgdma_rendezvous_attr){
				.operation = side.operation, .dest = 1,
				.length = side.bytes, .data = side.memory,
				.portion = (side.bytes + portions - 1) /
					   portions,
				.done = on_done, .arg = &side }), "send");
	} else {
		check(bgdma_endpoint_wait_until(side.ep, announced, &side,
						BGDMA_SPIN, -1), "RTS");
		check(bgdma_rendezvous_accept(side.ep, &side.rts,
			&(struct bgdma_accept_attr){
				.length = side.bytes, .data = side.memory,
				.done = on_done, .arg = &side }), "accept");
	}
	phase("set up\n");
	if (stop)
		raise(SIGSTOP);
	check(bgdma_endpoint_wait_until(side.ep, ended, &side, BGDMA_SPIN, -1),
	      "transfer");
	begin = now_ns() - begin;
	phase("moved\n");
	check(side.result, "transfer");
	printf("bytes %" PRIu64 "\nns %" PRId64 "\n", side.bytes, begin);
	check(bgdma_job_fence(side.job), "fence");
	bgdma_endpoint_destroy(side.ep);
	bgdma_job_close(side.job);
	return 0;
}

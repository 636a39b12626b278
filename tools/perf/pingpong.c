// SPDX-License-Identifier: GPL-2.0
/*
 * 8-byte messages to and fro between two processes on two processors, each
 * with its doorbell, both sides polling: instructions of each side, and the
 * time against that of an ioctl that fails at once, taken in between.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define ROUNDS	1024
#define CTX	7		/* of both, so that nobody has to be told */
#define FIFO	0

struct side {
	struct bgdma_ctx *ctx;
	struct bgdma_inj_fifo *inj;
	struct bgdma_rec_fifo *rec;
	uint32_t peer;
};

static struct side me;

static void side_open(uint32_t rank)
{
	me.ctx = attach(rank, CTX);
	me.peer = 1 - rank;
	must(bgdma_inj_create(me.ctx, NULL, &me.inj));
	must(bgdma_rec_create(me.ctx, &(struct bgdma_rec_attr){
			.fixed_id = true, .id = FIFO }, &me.rec));
	must(bgdma_rec_grant(me.rec, &(struct bgdma_grant_attr){
			.rank = me.peer, .ctx = CTX }, NULL));
}

static inline void ping(uint64_t value)
{
	must(bgdma_memfifo(me.inj, &(struct bgdma_memfifo_attr){
			.dest = me.peer, .dest_ctx = CTX, .fifo = FIFO,
			.data = &value, .length = sizeof(value) }));
}

static inline uint64_t pong(void)
{
	const struct bgdma_packet *packet;
	uint64_t value;

	spin_until(bgdma_rec_bytes(me.rec));
	packet = bgdma_rec_peek(me.rec);
	value = *(const uint64_t *)bgdma_packet_data(packet);
	bgdma_rec_next(me.rec);
	must(bgdma_rec_release(me.rec));
	return value;
}

/* Sends back what comes, until 0 comes. */
static void child(int ready)
{
	uint64_t value;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin_to(1);
	side_open(1);
	if (write(ready, "", 1) != 1)
		exit(1);
	do {
		value = pong();
		ping(value);
	} while (value);
	bgdma_detach(me.ctx);
	exit(0);
}

static inline void to_and_fro(unsigned int n)
{
	while (n) {
		ping(n);
		if (pong() != n)
			die("ping-pong", -EBADMSG);
		n--;
	}
}

static void times(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint64_t begin, middle, end;
	unsigned int pair, i;

	for (pair = 0; pair < runs(PAIRS); pair++) {
		begin = now_ns();
		to_and_fro(ROUNDS);
		middle = now_ns();
		for (i = 0; i < 2 * ROUNDS; i++)
			ioctl(fd, 0);
		end = now_ns();
		report_ns("half round trip", pair, middle - begin, 2 * ROUNDS);
		report_ns("failing ioctl", pair, end - middle, 2 * ROUNDS);
	}
	close(fd);
}

void ping_pong(void)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	if (pipe(ready))
		die("pipe", -errno);
	pid = fork_bound();
	if (!pid)
		child(ready[1]);
	close(ready[1]);
	pin_to(0);
	side_open(0);
	if (read(ready[0], &byte, 1) != 1)
		die("the other side", -EPIPE);
	close(ready[0]);
	count("8 B round trip, polling", ROUNDS, to_and_fro);
	times();
	ping(0);
	pong();
	if (waitpid(pid, &status, 0) != pid || status)
		die("the other side", -ECHILD);
	bgdma_detach(me.ctx);
}

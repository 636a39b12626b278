// SPDX-License-Identifier: GPL-2.0
/*
 * What a message costs where each processor has a process that sends: they share
 * the engine and nothing else.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define PLACE	"senders"
#define MOST	4U
#define EACH	2048U

static int told[MOST];
static unsigned int n_senders;

/* From one node to the next, so often, whenever the socket says so. */
static void send_when_told(int sock, unsigned int i)
{
	const struct bgdma_grant_attr anyone = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
	};
	struct bgdma_memfifo_attr message = {
		.dest = 2 * i + 1, .length = sizeof(i), .data = &i,
	};
	struct bgdma_ctx *from, *to;
	struct bgdma_inj_fifo *out;
	struct bgdma_rec_fifo *in;
	unsigned int n;
	char go;

	must(bgdma_attach(&from, &(struct bgdma_attach_attr){
			.partition = PLACE, .rank = 2 * i }));
	must(bgdma_attach(&to, &(struct bgdma_attach_attr){
			.partition = PLACE, .rank = 2 * i + 1 }));
	must(bgdma_inj_create(from, NULL, &out));
	must(bgdma_rec_create(to, NULL, &in));
	must(bgdma_rec_grant(in, &anyone, NULL));
	message.dest_ctx = bgdma_ctx_info(to)->ctx;
	message.fifo = bgdma_rec_id(in);
	/* Ends with who tells it. */
	while (read(sock, &go, 1) == 1) {
		for (n = 0; n < EACH; n++) {
			must(bgdma_memfifo(out, &message));
			if (!bgdma_rec_peek(in))
				die("message", -EBADMSG);
			bgdma_rec_next(in);
			must(bgdma_rec_release(in));
		}
		if (write(sock, &go, 1) != 1)
			break;
	}
	_exit(0);
}

/* All at once. */
static inline void all_send(unsigned int n)
{
	unsigned int i;
	char go = 0;

	(void)n;
	for (i = 0; i < n_senders; i++) {
		if (send(told[i], &go, 1, MSG_NOSIGNAL) != 1)
			die("send", -errno);
	}
	for (i = 0; i < n_senders; i++) {
		if (read(told[i], &go, 1) != 1)
			die("read", -EPIPE);
	}
}

void senders(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	pid_t sender[MOST] = { 0 };
	unsigned int i, k;
	int pair[2];

	n_senders = processors < (long)MOST ? (unsigned int)processors : MOST;
	for (i = 0; i < n_senders; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			die("socketpair", -errno);
		told[i] = pair[0];
		sender[i] = fork_bound();
		if (!sender[i]) {
			for (k = 0; k <= i; k++)
				close(told[k]);
			pin_to((int)i);
			send_when_told(pair[1], i);
		}
		close(pair[1]);
	}
	count("8 B, a sender on each processor", n_senders * EACH, all_send);
	for (i = 0; i < n_senders; i++) {
		close(told[i]);
		waitpid(sender[i], NULL, 0);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What there is without bgdma: memcpy, common memory that both sides spin on,
 * process_vm_readv, a pipe, and TCP over loopback.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "operations.h"

#define PIPE_BYTES	(1 << 20)

/* ---- memcpy ------------------------------------------------------------- */

/* Through a pointer, so that the compiler sees no known size. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void memcpy_stream(unsigned int n, size_t size)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		copy(op_target + place(i, size), op_source + place(i, size),
		     size);
}

static void memcpy_ping(unsigned int n)
{
	memcpy_stream(n, WORD);
}

/* ---- Common memory: one copy, by the sender ---------------------------- */

/* A's word and B's, in lines of their own. */
static struct common {
	uint64_t word __attribute__((aligned(64)));
} *common;
static char *common_data;

static void spin_prepare(size_t bytes)
{
	(void)bytes;
	common[0].word = 0;
	common[1].word = 0;
}

static void spin_ping(unsigned int n)
{
	unsigned int i;

	for (i = 1; i <= n; i++) {
		bgdma_store_release(&common[0].word, i);
		spin_until(bgdma_load_acquire(&common[1].word) == i);
	}
}

static void spin_pong(unsigned int n)
{
	unsigned int i;

	for (i = 1; i <= n; i++) {
		spin_until(bgdma_load_acquire(&common[0].word) == i);
		bgdma_store_release(&common[1].word, i);
	}
}

static void spin_stream(unsigned int n, size_t size)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		copy(common_data + place(i, size), op_source + place(i, size),
		     size);
		bgdma_store_release(&common[0].word, i + 1);
	}
	spin_until(bgdma_load_acquire(&common[1].word));
}

static void spin_sink(unsigned int n, size_t size)
{
	(void)size;
	spin_until(bgdma_load_acquire(&common[0].word) == n);
	bgdma_store_release(&common[1].word, 1);
}

/* ---- process_vm_readv --------------------------------------------------- */

/* Small ones in batches, as bgdma's: one system call for many. */
static void readv_stream(unsigned int n, size_t size)
{
	struct iovec to[BATCH], from[BATCH];
	unsigned int i, k, batch = size == WORD ? BATCH : 1;

	for (i = 0; i < n; i += batch) {
		for (k = 0; k < batch; k++) {
			size_t at = place(i + k, size);

			to[k] = (struct iovec){ op_target + at, size };
			from[k] = (struct iovec){ op_peer.source + at, size };
		}
		if (process_vm_readv(op_peer.pid, to, batch, from, batch, 0) !=
		    (ssize_t)(batch * size))
			die("process_vm_readv", -errno);
	}
}

static void readv_ping(unsigned int n)
{
	struct iovec to = { op_target, WORD }, from = { op_peer.source, WORD };

	while (n--) {
		if (process_vm_readv(op_peer.pid, &to, 1, &from, 1, 0) != WORD)
			die("process_vm_readv", -errno);
	}
}

/* ---- Streams of the kernel ---------------------------------------------- */

static int pipes[2][2];		/* to B, to A: read here, write there */
static int sockets[2];		/* A's, B's */

static void write_all(int fd, const char *from, size_t size)
{
	while (size) {
		ssize_t n = write(fd, from, size);

		if (n <= 0)
			die("write", -errno);
		from += n;
		size -= (size_t)n;
	}
}

static void read_all(int fd, char *to, size_t size)
{
	while (size) {
		ssize_t n = read(fd, to, size);

		if (n <= 0)
			die("read", n ? -errno : -EPIPE);
		to += n;
		size -= (size_t)n;
	}
}

static void fd_ping(unsigned int n, int in, int out)
{
	while (n--) {
		write_all(out, op_source, WORD);
		read_all(in, op_target, WORD);
	}
}

static void fd_pong(unsigned int n, int in, int out)
{
	while (n--) {
		read_all(in, op_target, WORD);
		write_all(out, op_source, WORD);
	}
}

static void fd_stream(unsigned int n, size_t size, int in, int out)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		write_all(out, op_source + place(i, size), size);
	read_all(in, op_target, 1);
}

/* It reads as much at a time as has come. */
static void fd_sink(unsigned int n, size_t size, int in, int out)
{
	read_all(in, op_target, n * size);
	write_all(out, op_source, 1);
}

static void pipe_ping(unsigned int n)
{
	fd_ping(n, pipes[1][0], pipes[0][1]);
}

static void pipe_pong(unsigned int n)
{
	fd_pong(n, pipes[0][0], pipes[1][1]);
}

static void pipe_stream(unsigned int n, size_t size)
{
	fd_stream(n, size, pipes[1][0], pipes[0][1]);
}

static void pipe_sink(unsigned int n, size_t size)
{
	fd_sink(n, size, pipes[0][0], pipes[1][1]);
}

static void tcp_ping(unsigned int n)
{
	fd_ping(n, sockets[0], sockets[0]);
}

static void tcp_pong(unsigned int n)
{
	fd_pong(n, sockets[1], sockets[1]);
}

static void tcp_stream(unsigned int n, size_t size)
{
	fd_stream(n, size, sockets[0], sockets[0]);
}

static void tcp_sink(unsigned int n, size_t size)
{
	fd_sink(n, size, sockets[1], sockets[1]);
}

/* ------------------------------------------------------------------------ */

/* The address of side 1: of its namespace, if it has one. */
static struct sockaddr_in tcp_address(void)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct ifaddrs *all, *each;

	if (!netns)
		return at;
	if (getifaddrs(&all))
		die("getifaddrs", -errno);
	for (each = all; each; each = each->ifa_next) {
		if (each->ifa_addr && each->ifa_addr->sa_family == AF_INET)
			memcpy(&at, each->ifa_addr, sizeof(at));
	}
	freeifaddrs(all);
	return at;
}

static void tcp_open(void)
{
	struct sockaddr_in at;
	socklen_t length = sizeof(at);
	int listener, i, one = 1;

	/* A socket is of the namespace where it was made. */
	netns_enter(1);
	at = tcp_address();
	listener = socket(AF_INET, SOCK_STREAM, 0);
	netns_enter(0);
	sockets[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || sockets[0] < 0)
		die("socket", -errno);
	if (bind(listener, (struct sockaddr *)&at, length) ||
	    getsockname(listener, (struct sockaddr *)&at, &length) ||
	    listen(listener, 1) ||
	    connect(sockets[0], (struct sockaddr *)&at, length))
		die("connection to oneself", -errno);
	sockets[1] = accept(listener, NULL, NULL);
	if (sockets[1] < 0)
		die("accept", -errno);
	close(listener);
	for (i = 0; i < 2; i++) {
		if (setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &one,
			       sizeof(one)))
			die("TCP_NODELAY", -errno);
	}
}

void peers_open(void)
{
	int i;

	tcp_open();
	if (netns)
		return;
	for (i = 0; i < 2; i++) {
		if (pipe(pipes[i]) ||
		    fcntl(pipes[i][1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
			die("pipe", -errno);
	}
	common = mmap(NULL, 2 * sizeof(*common), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	common_data = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (common == MAP_FAILED || common_data == MAP_FAILED)
		die("mmap", -errno);
}

const struct method link_method = {
	.name = "TCP over the link", .landing = &op_target,
	.ping = tcp_ping, .pong = tcp_pong,
	.stream = tcp_stream, .sink = tcp_sink
};

const struct method peer_methods[] = {
	{ .name = "memcpy", .landing = &op_target,
	  .ping = memcpy_ping, .stream = memcpy_stream },
	{ .name = "common memory, spinning", .landing = &common_data,
	  .prepare = spin_prepare, .ping = spin_ping, .pong = spin_pong,
	  .stream = spin_stream, .sink = spin_sink },
	{ .name = "process_vm_readv", .landing = &op_target,
	  .ping = readv_ping, .stream = readv_stream },
	{ .name = "pipe", .landing = &op_target,
	  .ping = pipe_ping, .pong = pipe_pong,
	  .stream = pipe_stream, .sink = pipe_sink },
	{ .name = "TCP over loopback", .landing = &op_target,
	  .ping = tcp_ping, .pong = tcp_pong,
	  .stream = tcp_stream, .sink = tcp_sink },
};

const size_t n_peer_methods = sizeof(peer_methods) / sizeof(peer_methods[0]);

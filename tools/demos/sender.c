// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Node 0 of the demonstration: sends a file.
 *
 *	sender memfifo | put | rget  FILE
 *
 * Between the lines "moving" and "moved" that it prints there is no system
 * call, if it may spin and the engine stays awake.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "side.h"

struct sender {
	struct side side;
	enum method method;
	const uint8_t *file;	/* mapped: reading it needs no call */
	uint64_t length;
	uint64_t descriptors;
	struct word there;	/* where the receiver wants it */
};

/* Map the file; NULL when it is empty. */
static void map_file(struct sender *x, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st))
		side_die(&x->side, path, -errno);
	if (!S_ISREG(st.st_mode))
		side_die(&x->side, path, -EINVAL);
	x->length = (uint64_t)st.st_size;
	if (x->length) {
		p = mmap(NULL, x->length, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			side_die(&x->side, path, -errno);
		x->file = p;
	}
	close(fd);
}

/* What the receiver's remote gets need: a queue, and the right to read. */
static void open_for_rget(struct sender *x)
{
	struct bgdma_rgq_attr attr = { .fixed_id = true, .id = RGET_QUEUE };
	struct bgdma_grant_attr peer = side_grant(&x->side, 0);
	struct bgdma_rget_queue *queue;

	side_check(&x->side, bgdma_rgq_create(x->side.ctx, &attr, &queue),
		   "remote-get queue");
	side_check(&x->side, bgdma_rgq_grant(queue, &peer, NULL), "grant");
	peer.rights = BGDMA_RIGHT_READ;
	side_check(&x->side, bgdma_region_grant(x->side.window, &peer, NULL),
		   "grant");
}

static void meet(struct sender *x)
{
	struct word hello = {
		.length = x->length, .method = x->method,
	};

	side_window(&x->side, x->length, BGDMA_LOCAL_READ);
	if (x->method == RGET)
		open_for_rget(x);
	hello.region = bgdma_region_handle(x->side.window);
	side_say(&x->side, HELLO, &hello);
	side_hear(&x->side, WELCOME, &x->there);
	side_wake_engine(&x->side);
}

static void send_piece(struct sender *x, uint32_t offset, uint32_t bytes)
{
	struct bgdma_place from = { x->side.window, offset };
	int ret;

	if (x->method == MEMFIFO)
		ret = bgdma_memfifo(x->side.out, &(struct bgdma_memfifo_attr){
			.dest = RECEIVER, .dest_ctx = CTX, .fifo = FIFO,
			.dispatch = DATA, .length = bytes, .from = from,
			.cookie = offset, .more = true });
	else
		ret = bgdma_put(x->side.out, &(struct bgdma_put_attr){
			.dest = RECEIVER, .dest_ctx = CTX, .length = bytes,
			.from = from, .to = { x->there.region, offset },
			.remote_counter = x->there.counter,
			.flags = BGDMA_DESC_OPS, .more = true });
	side_check(&x->side, ret, "inject");
	x->descriptors++;
}

static void send_window(struct sender *x, uint64_t offset, uint32_t bytes)
{
	void *window = bgdma_region_addr(x->side.window);
	uint32_t i;

	if (bytes)
		memcpy(window, x->file + offset, bytes);
	side_hash(&x->side, window, bytes);
	side_say(&x->side, LOADED, NULL);
	if (x->method != RGET) {
		side_hear(&x->side, GO, NULL);
		for (i = 0; i < pieces_of(bytes); i++)
			send_piece(x, i * PIECE, piece_bytes(bytes, i));
		side_submit(&x->side);
	}
	side_hear(&x->side, DONE, NULL);
}

int main(int argc, char **argv)
{
	static struct sender x;
	uint64_t offset = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: sender memfifo|put|rget FILE\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	x.method = method_of(argv[1]);
	side_open(&x.side, SENDER);
	map_file(&x, argv[2]);
	meet(&x);

	printf("moving\n");
	do {
		uint64_t left = x.length - offset;
		uint32_t bytes = left < WINDOW ? (uint32_t)left : WINDOW;

		send_window(&x, offset, bytes);
		offset += bytes;
	} while (offset < x.length);
	printf("moved\n");

	side_print_hash(&x.side);
	printf("bytes %llu\ndescriptors %llu\n",
	       (unsigned long long)offset, (unsigned long long)x.descriptors);
	side_close(&x.side);
	return 0;
}

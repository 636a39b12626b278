// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Node 1 of the demonstration: receives a file.
 *
 *	receiver [-o FILE] [-p FILE] memfifo | put | rget
 *
 *	-o FILE  where the file goes; else it is only hashed
 *	-p FILE  holds, as text, how many percent have come
 *
 * Between the lines "moving" and "moved" that it prints there is no system
 * call, if it may spin and the engine stays awake: files are mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "side.h"

struct receiver {
	struct side side;
	enum method method;
	uint64_t length;
	uint8_t *file;
	char *progress;
	struct word source;		/* what the sender told of itself */
	struct bgdma_counter *counter;	/* transfers that have not come */
	struct bgdma_region *descriptors;
	uint64_t packets;
	uint64_t rgets;
	uint64_t puts;
	int64_t ns;
};

/* A new file of @length bytes, mapped; NULL when that is 0. */
static void *map_new(struct receiver *x, const char *path, uint64_t length)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	void *p = NULL;

	if (fd < 0 || ftruncate(fd, (off_t)length))
		side_die(&x->side, path, -errno);
	if (length) {
		p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 0);
		if (p == MAP_FAILED)
			side_die(&x->side, path, -errno);
	}
	close(fd);
	return p;
}

static void show_progress(struct receiver *x, uint64_t offset)
{
	unsigned int percent = 100;

	if (!x->progress)
		return;
	if (x->length)
		percent = (unsigned int)((double)offset / x->length * 100);
	x->progress[0] = (char)(percent < 100 ? ' ' : '1');
	x->progress[1] = (char)('0' + percent / 10 % 10);
	x->progress[2] = (char)('0' + percent % 10);
	x->progress[3] = '\n';
}

/* The window that puts arrive in, and the counter that they move. */
static void open_for_puts(struct receiver *x, struct word *welcome)
{
	struct bgdma_grant_attr peer = side_grant(&x->side, 0);

	side_check(&x->side, bgdma_counter_alloc(x->side.ctx, BGDMA_RECEPTION,
						 &x->counter), "counter");
	side_check(&x->side, bgdma_counter_grant(x->counter, 1, &peer, NULL),
		   "grant");
	peer.rights = BGDMA_RIGHT_WRITE;
	side_check(&x->side, bgdma_region_grant(x->side.window, &peer, NULL),
		   "grant");
	welcome->region = bgdma_region_handle(x->side.window);
	welcome->counter = bgdma_counter_handle(x->counter);
}

static void meet(struct receiver *x, const char *path)
{
	struct word welcome = { 0 };

	side_hear(&x->side, HELLO, &x->source);
	if (x->source.method != x->method)
		side_die(&x->side, "the sender has another method", 0);
	x->length = x->source.length;
	if (path)
		x->file = map_new(x, path, x->length);
	side_window(&x->side, x->length, BGDMA_LOCAL_WRITE);
	if (x->method != MEMFIFO)
		open_for_puts(x, &welcome);
	if (x->method == RGET)
		side_check(&x->side,
			   bgdma_region_alloc(x->side.ctx, PIECES *
					      sizeof(struct bgdma_desc),
					      BGDMA_LOCAL_READ, &x->descriptors),
			   "descriptors");
	side_say(&x->side, WELCOME, &welcome);
	side_wake_engine(&x->side);
}

/* Read the packets in place and put each where it belongs. */
static void receive_packets(struct receiver *x, uint32_t bytes)
{
	uint8_t *window = bgdma_region_addr(x->side.window);
	uint32_t messages = pieces_of(bytes);

	while (messages) {
		const struct bgdma_packet *p = side_packet(&x->side);
		uint64_t at = p->cookie + p->offset;

		if (p->flags & BGDMA_PACKET_ERROR || p->dispatch != DATA ||
		    p->cookie > bytes || at + p->bytes > bytes)
			side_die(&x->side, "a packet that does not fit", 0);
		memcpy(window + at, bgdma_packet_data(p), p->bytes);
		messages -= !!(p->flags & BGDMA_PACKET_LAST);
		x->packets++;
		side_next(&x->side);
	}
}

/*
 * Have the sender's engine put the window here. The puts are written in our
 * memory and travel as payload; each says what it would say if the sender's
 * process had injected it.
 */
static void remote_get(struct receiver *x, uint32_t bytes)
{
	struct bgdma_desc *desc = bgdma_region_addr(x->descriptors);
	uint32_t i, count = pieces_of(bytes);

	for (i = 0; i < count; i++) {
		struct bgdma_transfer t = {
			.dest = RECEIVER, .dest_ctx = CTX,
			.length = piece_bytes(bytes, i),
			.from = { x->source.region, i * PIECE },
			.to = { bgdma_region_handle(x->side.window),
				i * PIECE },
			.remote_counter = bgdma_counter_handle(x->counter),
			.flags = BGDMA_DESC_OPS,
		};

		bgdma_desc_put(&desc[i], &t);
	}
	side_check(&x->side, bgdma_rget(x->side.out, &(struct bgdma_rget_attr){
		.dest = SENDER, .dest_ctx = CTX, .queue = RGET_QUEUE,
		.count = count, .from = { x->descriptors, 0 },
		.more = true }), "remote get");
	side_submit(&x->side);
	x->rgets++;
}

static void receive_puts(struct receiver *x, uint32_t bytes)
{
	uint32_t count = pieces_of(bytes);

	bgdma_counter_clear_hit(x->counter);
	bgdma_counter_add(x->counter, count);
	if (x->method == RGET)
		remote_get(x, bytes);
	else
		side_say(&x->side, GO, NULL);
	side_wait(&x->side, x->counter);
	x->puts += count;
}

static void receive_window(struct receiver *x, uint64_t offset, uint32_t bytes)
{
	void *window = bgdma_region_addr(x->side.window);
	int64_t begin;

	side_hear(&x->side, LOADED, NULL);
	/* The clock runs while both sides have nothing else to do. */
	begin = now_ns();
	if (x->method == MEMFIFO) {
		side_say(&x->side, GO, NULL);
		receive_packets(x, bytes);
	} else {
		receive_puts(x, bytes);
	}
	x->ns += now_ns() - begin;
	/* The sender loads the next window while we hash this one. */
	side_say(&x->side, DONE, NULL);
	side_hash(&x->side, window, bytes);
	if (x->file)
		memcpy(x->file + offset, window, bytes);
}

static void print_result(struct receiver *x, uint64_t bytes)
{
	side_print_hash(&x->side);
	printf("bytes %llu\npackets %llu\nrgets %llu\nputs %llu\nns %lld\n",
	       (unsigned long long)bytes, (unsigned long long)x->packets,
	       (unsigned long long)x->rgets, (unsigned long long)x->puts,
	       (long long)x->ns);
}

int main(int argc, char **argv)
{
	static struct receiver x;
	const char *path = NULL, *progress = NULL;
	uint64_t offset = 0;
	int opt;

	while ((opt = getopt(argc, argv, "o:p:")) != -1) {
		if (opt == 'o')
			path = optarg;
		else if (opt == 'p')
			progress = optarg;
		else
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: receiver [-o FILE] [-p FILE] "
			"memfifo|put|rget\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	x.method = method_of(argv[optind]);
	side_open(&x.side, RECEIVER);
	if (progress)
		x.progress = map_new(&x, progress, 4);
	printf("ready\n");
	meet(&x, path);

	printf("moving\n");
	do {
		uint64_t left = x.length - offset;
		uint32_t bytes = left < WINDOW ? (uint32_t)left : WINDOW;

		receive_window(&x, offset, bytes);
		offset += bytes;
		show_progress(&x, offset);
	} while (offset < x.length);
	printf("moved\n");

	print_result(&x, offset);
	side_close(&x.side);
	return 0;
}

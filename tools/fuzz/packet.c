// SPDX-License-Identifier: GPL-2.0
/*
 * A reception FIFO (kernel/engine/packet.c and rec_fifo.c, the library's
 * receive.h): messages go in, the library reads them, against a plain queue. The
 * reader arms, releases late, and in the end writes any head that he likes.
 */
#include <sys/mman.h>
#include <unistd.h>

#include <bgdma/receive.h>

#include "fuzz.h"
#include "packet.h"

#define SIZE		BGDMA_REC_BYTES_MIN
#define PAGE		4096
#define WAITING_MAX	(SIZE / BGDMA_PACKET_ALIGN)

/* The library's handle is its view and more. */
struct bgdma_rec_fifo {
	struct bgdma_rec_view view;
};

/* A packet that the reader has not seen. */
struct expected {
	struct bgdma_packet header;
	uint8_t first;			/* byte of the payload, which counts */
};

static struct bgdma_rec_fifo fifo;
static struct bgdma_rec_user user;
static struct bgdma_rec_kern kern;
static const __u32 awake;		/* the engine polls */
static __u64 doorbell;
static struct expected queue[WAITING_MAX];
static uint64_t queued, seen;
static uint64_t used, marked, marked_seen;

/* A message that is on its way. */
static struct {
	struct bgdma_desc desc;
	uint32_t id, done;
	uint8_t first;
	bool active;
} message;

int bgdma_doorbell(struct bgdma_ctx *ctx, uint32_t flags)
{
	abort();
}

static uint8_t *map_ring(void)
{
	int fd = memfd_create("ring", 0);
	uint8_t *at = mmap(NULL, 2 * SIZE + 2 * PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	must(fd >= 0 && at != MAP_FAILED && !ftruncate(fd, SIZE));
	for (i = 0; i < 2; i++)
		must(mmap(at + PAGE + (size_t)i * SIZE, SIZE,
			  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			  0) != MAP_FAILED);
	close(fd);
	return at + PAGE;
}

static void begin(void)
{
	static uint8_t *ring;

	if (!ring)
		ring = map_ring();
	memset(&user, 0, sizeof(user));
	memset(&kern, 0, sizeof(kern));
	memset(&message, 0, sizeof(message));
	doorbell = 0;
	queued = 0;
	seen = 0;
	used = 0;
	marked = 0;
	marked_seen = 0;
	fifo.view = (struct bgdma_rec_view){
		.ring = ring, .mask = SIZE - 1, .user = &user, .kern = &kern,
		.doorbell = &doorbell, .bit = 1, .wake = &awake,
	};
	packet_begin(&(struct packet_fifo){ ring, SIZE, &user, &kern });
}

/* Payload byte @i of a message that begins with @first. */
static uint8_t byte_at(uint8_t first, uint32_t i)
{
	return (uint8_t)(first + i * 7);
}

static void start(struct input *in)
{
	struct bgdma_desc *d = &message.desc;

	memset(d, 0, sizeof(*d));
	d->op = take(in, 1) & 1 ? BGDMA_OP_MEMFIFO : BGDMA_OP_LOCAL_MEMFIFO;
	d->flags = take(in, 1) & (BGDMA_DESC_INTERRUPT | BGDMA_DESC_INLINE);
	d->route = take(in, 1) & BGDMA_ROUTE_ADAPTIVE;
	d->rec_ctr = BGDMA_NONE;
	d->length = (uint32_t)take(in, 2) % 10000;
	d->dispatch = (uint16_t)take(in, 2);
	d->cookie = take(in, 8);
	message.first = (uint8_t)take(in, 1);
	message.id++;
	message.done = 0;
	message.active = true;
	if (d->flags & BGDMA_DESC_INLINE) {
		unsigned int i;

		d->length %= BGDMA_INLINE_MAX + 1;
		for (i = 0; i < BGDMA_INLINE_MAX; i++)
			d->u.inline_data[i] = byte_at(message.first, i);
	}
}

/* What a packet of so many bytes takes. */
static uint32_t record(uint32_t bytes)
{
	return 32 + (bytes + 31) / 32 * 32;
}

static void expect(uint32_t n)
{
	const struct bgdma_desc *d = &message.desc;
	bool last = message.done + n == d->length;
	struct expected *e = &queue[queued++ % WAITING_MAX];

	must(queued - seen <= WAITING_MAX);
	e->first = byte_at(message.first, message.done);
	e->header = (struct bgdma_packet){
		.type = d->op, .bytes = (uint16_t)n,
		.dispatch = d->dispatch, .msg_id = message.id,
		.offset = message.done, .msg_length = d->length,
		.cookie = d->cookie,
		.flags = (message.done ? 0 : BGDMA_PACKET_FIRST) |
			 (last ? BGDMA_PACKET_LAST : 0) |
			 (d->flags & BGDMA_DESC_INTERRUPT ?
			  BGDMA_PACKET_INTERRUPT : 0) |
			 (d->route ? BGDMA_PACKET_ADAPTIVE : 0),
	};
	used += record(n);
	marked += !!(d->flags & BGDMA_DESC_INTERRUPT);
	message.done += n;
	message.active = !last;
}

/* Does a packet that just came interrupt? */
static bool armed(void)
{
	switch (user.arm) {
	case BGDMA_ARM_ANY:
		return true;
	case BGDMA_ARM_MARKED:
		return marked != user.marked_seen;
	case BGDMA_ARM_OCCUPANCY:
		return used >= user.arm_bytes;
	default:
		return false;
	}
}

static void send_one(struct input *in)
{
	static uint8_t payload[BGDMA_PACKET_MAX];
	uint32_t i, n;
	bool fits;

	/* A sender who waits does nothing else. */
	if (packet_seen.parked)
		return;
	if (!message.active)
		start(in);
	n = message.desc.length - message.done;
	if (n > BGDMA_PACKET_MAX)
		n = BGDMA_PACKET_MAX;
	for (i = 0; i < n; i++)
		payload[i] = byte_at(message.first, message.done + i);
	packet_seen.signals = 0;
	fits = record(n) <= SIZE - used;
	must(packet_send(&message.desc, message.id, message.done, payload, n,
			 n ? (uint32_t)take(in, 2) % n : 0) == fits);
	must(packet_seen.parked == !fits && !packet_seen.bad_head);
	must(fits || kern.starved);
	if (fits)
		expect(n);
	must(packet_seen.signals == (fits && armed()));
	must(kern.packets == queued && kern.marked == marked);
}

static void read_one(void)
{
	const struct bgdma_packet *packet = bgdma_rec_peek(&fifo);
	const struct expected *e = &queue[seen % WAITING_MAX];
	const uint8_t *data;
	uint32_t i;

	must(!packet == (seen == queued));
	if (!packet)
		return;
	must(!memcmp(packet, &e->header, sizeof(*packet)));
	data = bgdma_packet_data(packet);
	for (i = 0; i < packet->bytes; i++)
		must(data[i] == byte_at(e->first, i));
	marked_seen += !!(packet->flags & BGDMA_PACKET_INTERRUPT);
	bgdma_rec_next(&fifo);
	seen++;
}

static void release(void)
{
	bool rung, room;

	used = bgdma_rec_bytes(&fifo);
	must(bgdma_rec_release(&fifo) == 0);
	must(user.marked_seen == marked_seen);
	must(!packet_seen.parked || doorbell);
	rung = doorbell;
	room = SIZE - used >= record(BGDMA_PACKET_MAX);
	if (rung)
		packet_kick();
	doorbell = 0;
	must(!packet_seen.bad_head);
	must(!room || !packet_seen.parked);
	must(!rung || kern.starved == !room);
}

/* Any head: the engine may refuse, or overwrite what this reader wanted. */
static void lie(struct input *in)
{
	static const uint8_t nothing[BGDMA_PACKET_MAX];
	unsigned int i;

	for (i = 0; in->left && i < 100; i++) {
		uint64_t before;
		uint32_t n;
		bool fits;

		if (take(in, 1) & 1)
			user.head = take(in, 8);
		else
			user.head += (uint64_t)(int16_t)take(in, 2);
		user.arm = (uint32_t)take(in, 1);
		packet_seen.bad_head = false;
		start(in);
		if (message.desc.length > BGDMA_PACKET_MAX)
			message.desc.length = BGDMA_PACKET_MAX;
		n = message.desc.length;
		before = kern.tail - user.head;
		fits = before <= SIZE && SIZE - before >= record(n);
		must(packet_send(&message.desc, 1, 0, nothing, n, 0) == fits);
		must(packet_seen.bad_head == (before > SIZE));
		packet_kick();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	unsigned int i;

	begin();
	while (in.left) {
		switch (take(&in, 1) % 16) {
		case 0:
			lie(&in);
			return 0;
		case 1:
			bgdma_rec_arm(&fifo, take(&in, 1) % 4,
				      (uint32_t)take(&in, 2));
			break;
		case 2 ... 4:
			release();
			break;
		case 5 ... 8:
			read_one();
			break;
		case 9:
			for (i = (unsigned int)take(&in, 1); i; i--)
				read_one();
			break;
		default:
			send_one(&in);
		}
	}
	while (seen < queued)
		read_one();
	read_one();
	release();
	must(!packet_seen.parked);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of each kind as a capture, made from the structures of wire.h, and what a
 * dissector has to show of them:
 *
 *	frames CAPTURE TOLD MUTANTS
 *
 * TOLD gets a line "FRAME FIELD=VALUE" for each field, those of one name in the order
 * in which they are in the frame. The first frames are good ones, with any numbers
 * where any will do. So many mutants of them follow, of which it is only told whether
 * the module (kernel/fabric/wire.c, which this is linked with) takes them.
 */
#include <arpa/inet.h>
#include <linux/bgdma_netlink.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define DESC		sizeof(struct bgdma_desc)

FILE *told;
unsigned int written;
static FILE *capture;

static uint64_t any(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void fill(void *p, size_t n)
{
	uint8_t *bytes = p;

	while (n--)
		*bytes++ = (uint8_t)(any() >> 24);
}

static void fail(const char *what)
{
	fprintf(stderr, "frames: %s\n", what);
	exit(1);
}

/* ---- Making them --------------------------------------------------------- */

/* The frame under work, and the payload that its packets have so far. */
static union frame u;
static uint8_t payload[FRAME_ROOM / 2];

/* Good ones, for mutants. */
static union frame good[64];
static uint32_t good_len[COUNT(good)];
static unsigned int goods;

static uint32_t length_of(const union frame *frame)
{
	return frame->f.head + frame->f.bytes;
}

static void write_words(const uint32_t *words, size_t n)
{
	if (fwrite(words, sizeof(*words), n, capture) != n)
		fail("cannot write");
}

/* @captured of its bytes are in the capture. */
static void write_frame(const union frame *frame, uint32_t len,
			uint32_t captured)
{
	struct ethhdr eth = { .h_dest = { 2, 0, 0, 0, 0, 1 },
			      .h_source = { 2, 0, 0, 0, 0, 2 },
			      .h_proto = htons(BGDMA_WIRE_ETHERTYPE) };
	const uint32_t record[] = { 0, written * 1000, captured + sizeof(eth),
				    len + sizeof(eth) };

	written++;
	write_words(record, COUNT(record));
	if (fwrite(&eth, sizeof(eth), 1, capture) != 1 ||
	    (captured && fwrite(frame, captured, 1, capture) != 1))
		fail("cannot write");
}

/* A frame without packets, with any numbers where any will do. */
static void begin(uint8_t type)
{
	memset(&u, 0, sizeof(u));
	fill(&u.f, sizeof(u.f));
	u.f.magic = BGDMA_WIRE_MAGIC;
	u.f.version = BGDMA_WIRE_VERSION;
	u.f.type = type;
	u.f.flags &= BGDMA_FRAME_ADAPTIVE;
	u.f.head = sizeof(u.f);
	u.f.packets = 0;
	u.f.more = type == BGDMA_FRAME_DATA ? u.f.more % BGDMA_WIRE_SPAN : 0;
	u.f.bytes = 0;
	u.f.sum = 0;
}

static void *head_part(size_t bytes)
{
	void *part = u.bytes + u.f.head;

	if (u.f.head + bytes > FRAME_ROOM / 2)
		fail("no room");
	u.f.head += bytes;
	return part;
}

static struct bgdma_desc new_desc(uint8_t op, uint32_t length)
{
	struct bgdma_desc d;

	fill(&d, sizeof(d));
	d.op = op;
	d.flags &= ~BGDMA_DESC_INLINE;
	d.length = length;
	d.resv = 0;
	d.epoch |= 1;
	if (op >= BGDMA_OP_TREE_REDUCE && op <= BGDMA_OP_TREE_ALLREDUCE) {
		/* offset, total; kind and code; reserved: kernel/engine/tree.h */
		const uint32_t head[] = { 17, 4096, 100000, 5, 1, 0 };

		memcpy(d.u.inline_data, head, sizeof(head));
		d.flags = 0;
		d.class_prio = 3;
		d.route &= ~BGDMA_ROUTE_DEPOSIT;
	}
	if (op == BGDMA_OP_ATOMIC)
		d.dispatch = BGDMA_ATOMIC(BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64);
	return d;
}

/* One more packet, whose payload is any bytes if it is not @bytes. */
static struct bgdma_wire_packet *packet(uint8_t kind, struct bgdma_desc d,
					const void *bytes, uint32_t n)
{
	struct bgdma_wire_packet *p = head_part(sizeof(*p));
	uint8_t *to = payload + u.f.bytes;

	fill(p, sizeof(*p));
	p->desc = d;
	p->kind = kind;
	p->offset = 0;
	p->bytes = n;
	p->flags = 0;
	p->resv = 0;
	u.f.packets++;
	if (kind == BGDMA_WIRE_ABORT)
		return p;
	if (u.f.bytes + n > sizeof(payload))
		fail("no room");
	if (bytes)
		memcpy(to, bytes, n);
	else
		fill(to, n);
	u.f.bytes += n;
	return p;
}

/* As kernel/fabric/sum.c says, a byte at a time. */
static void checksums(void)
{
	uint32_t sums[16] = {}, at, word = 0, column;

	memcpy(u.bytes + u.f.head, payload, u.f.bytes);
	for (at = 0; at < u.f.bytes || at % 32; at++) {
		if (at < u.f.bytes)
			word |= (uint32_t)u.bytes[u.f.head + at] << at % 4 * 8;
		if (at % 4 != 3)
			continue;
		column = at / 4 % 8;
		sums[column] += word;
		sums[8 + column] += sums[column];
		word = 0;
	}
	u.f.sum = u.f.bytes && !(u.f.flags & BGDMA_FRAME_UNSUMMED) ?
		~crc32c_add(~0U, sums, sizeof(sums)) : 0;
	frame_seal(&u.f);
}

/* Does the module take it? */
static bool taken(const union frame *frame, uint32_t len)
{
	if (len < sizeof(frame->f) || !bgdma_wire_head_check(&frame->f, len))
		return false;
	if (frame->f.type == BGDMA_FRAME_HELLO)
		return bgdma_wire_hello_check(&frame->hello.hello);
	if (frame->f.type == BGDMA_FRAME_STATE)
		return bgdma_wire_state_check(&frame->state.state,
					      BGDMA_RANK_MAX + 1);
	/* Of these that was all. */
	return frame->f.type == BGDMA_FRAME_ACK ||
	       frame->f.type == BGDMA_FRAME_CLOSE ||
	       bgdma_wire_frame_check(&frame->f, frame->f.bytes);
}

/* The frame is complete. Returns its number. */
static unsigned int finish(void)
{
	uint32_t len;

	checksums();
	len = length_of(&u);
	if (!taken(&u, len) || goods == COUNT(good))
		fail("not as the module takes it");
	good[goods] = u;
	good_len[goods++] = len;
	write_frame(&u, len, len);
	tell_frame(&u);
	return written;
}

/* ---- One of each kind ---------------------------------------------------- */

static void hello(void)
{
	struct bgdma_wire_hello *h;
	unsigned int i;

	begin(BGDMA_FRAME_HELLO);
	h = head_part(sizeof(*h));
	fill(h, offsetof(struct bgdma_wire_hello, name));
	memcpy(h->name, "demo", sizeof("demo"));
	h->dims[0] = 4;
	h->dims[1] = 3;
	h->dims[2] = 2;
	h->torus = BGDMA_AXIS_X | BGDMA_AXIS_Z;
	h->mtu = 1500;
	h->every = 100;
	h->runs = 3;
	h->heard = 2;
	for (i = 0; i < h->runs; i++) {
		h->run[i].first = i * 7;
		h->run[i].last = i * 8;
	}
	fill(h->hears, h->heard * sizeof(h->hears[0]));
	finish();
}

static void state(void)
{
	struct bgdma_wire_state *s;

	begin(BGDMA_FRAME_STATE);
	s = head_part(sizeof(*s));
	fill(s, offsetof(struct bgdma_wire_state, runs));
	s->runs = 1;
	s->run[0].first = 5;
	s->run[0].last = 6;
	s->peers = 3;
	s->flags = BGDMA_WIRE_STATE_BYE;
	fill(s->peer, s->peers * sizeof(s->peer[0]));
	fill(s->end, 2 * sizeof(s->end[0]));
	finish();
}

static void last_word(void)
{
	begin(BGDMA_FRAME_CLOSE);
	finish();
}

static void ack(uint16_t results)
{
	struct bgdma_wire_result *r;
	struct bgdma_wire_ack *a;

	begin(BGDMA_FRAME_ACK);
	a = head_part(sizeof(*a));
	fill(a, sizeof(*a));
	a->state = BGDMA_WIRE_NOT_READY;
	a->kind = BGDMA_KIND_REC_FIFO;
	u.f.psn &= UINT32_MAX >> 1;
	u.f.packets = results;
	while (results--) {
		r = head_part(sizeof(*r));
		fill(r, sizeof(*r));
		r->code = BGDMA_E_BOUNDS;
	}
	finish();
}

static void pieces(void)
{
	static const uint8_t ops[] = { BGDMA_OP_PUT, BGDMA_OP_MEMFIFO,
				       BGDMA_OP_RGET, BGDMA_OP_ATOMIC,
				       BGDMA_OP_TREE_ALLREDUCE,
				       BGDMA_OP_TREE_BCAST, BGDMA_OP_TREE_P2P };
	struct bgdma_wire_packet *p;
	unsigned int i;

	for (i = 0; i < COUNT(ops); i++) {
		begin(BGDMA_FRAME_DATA);
		packet(BGDMA_WIRE_PIECE, new_desc(ops[i], 2 * DESC), NULL,
		       2 * DESC);
		finish();
	}
	/* Those of gates begin a frame, behind the last are others: no whole words. */
	for (i = BGDMA_OP_EPOCH_BEGIN; i <= BGDMA_OP_EPOCH_END; i++) {
		begin(BGDMA_FRAME_DATA);
		packet(BGDMA_WIRE_PIECE, new_desc((uint8_t)i, 0), NULL, 0);
		if (i < BGDMA_OP_EPOCH_END)
			finish();
	}
	p = packet(BGDMA_WIRE_PIECE, new_desc(BGDMA_OP_MEMFIFO, 21), NULL, 0);
	p->desc.flags |= BGDMA_DESC_INLINE;
	p = packet(BGDMA_WIRE_ABORT, new_desc(BGDMA_OP_PUT, 1000), NULL,
		   BGDMA_E_CANCELLED);
	p->offset = 500;
	p = packet(BGDMA_WIRE_PIECE, new_desc(BGDMA_OP_PUT, 1000), NULL, 333);
	p->offset = 667;
	finish();
	begin(BGDMA_FRAME_DATA);
	u.f.flags |= BGDMA_FRAME_UNSUMMED;
	packet(BGDMA_WIRE_PIECE, new_desc(BGDMA_OP_PUT, 100), NULL, 100);
	finish();
}

static void kernels(void)
{
	begin(BGDMA_FRAME_DATA);
	u.f.flow = BGDMA_FLOW_KERNEL;
	u.f.flow_ctx = BGDMA_CTX_ANY;
	packet(BGDMA_WIRE_ANSWER, new_desc(BGDMA_OP_NOP, 0), NULL,
	       sizeof(struct bgdma_wire_answer));
	packet(BGDMA_WIRE_EVENT, new_desc(BGDMA_OP_NOP, 0), NULL,
	       sizeof(struct bgdma_event));
	packet(BGDMA_WIRE_FETCHED, new_desc(BGDMA_OP_NOP, 0), NULL, 16);
	packet(BGDMA_WIRE_GONE, new_desc(BGDMA_OP_NOP, 0), NULL,
	       sizeof(struct bgdma_wire_gone));
	finish();
}

/* ---- What belongs together ----------------------------------------------- */

/* A frame of a flow between the ranks 1 and 2 of one partition. */
static void begin_flow(uint8_t type, uint32_t src, uint32_t flow, uint32_t psn)
{
	begin(type);
	u.f.flags = 0;
	u.f.partition = 0x12345678;
	u.f.src_rank = src;
	u.f.dst_rank = 3 - src;
	u.f.flow_inc = 9;
	u.f.flow_ctx = 1;
	u.f.flow = flow;
	u.f.session = 3;
	u.f.psn = psn;
}

/* Three frames, one of them lost and sent again, all acknowledged in the end. */
static void sendings(void)
{
	static const uint32_t psns[] = { UINT32_MAX, 0, 1 };
	struct bgdma_wire_ack *a;
	unsigned int i, first = 0;
	union frame second = { 0 };

	for (i = 0; i < COUNT(psns); i++) {
		begin_flow(BGDMA_FRAME_DATA, 1, 5, psns[i]);
		packet(BGDMA_WIRE_PIECE, new_desc(BGDMA_OP_PUT, 8), NULL, 8);
		finish();
		/* In the acknowledgments that follow. */
		tell("bgdma.acked_in", written + (i == 1 ? 5 - i : 3 - i));
		if (i == 1)
			second = u;
		if (!i)
			first = written;
	}
	begin_flow(BGDMA_FRAME_ACK, 2, 5, 0);
	a = head_part(sizeof(*a));
	a->sack[0] = 2;
	finish();
	tell("bgdma.acks", first);
	u = second;
	u.f.flags = BGDMA_FRAME_AGAIN;
	u.f.stamp++;
	finish();
	tell("bgdma.again_of", first + 1);
	tell("bgdma.acked_in", first + 5);
	begin_flow(BGDMA_FRAME_ACK, 2, 5, 2);
	head_part(sizeof(*a));
	finish();
	tell("bgdma.acks", first + 2);
	/* The second one, seen on the next link. */
	u = second;
	u.f.hops--;
	u.f.at++;
	finish();
	tell("bgdma.copy_of", first + 1);
	tell("bgdma.acked_in", first + 5);
}

static struct bgdma_desc stripped(struct bgdma_desc d)
{
	bgdma_wire_strip(&d);
	return d;
}

/* A packet whose descriptor came by a remote get. */
static struct bgdma_wire_packet *remote(struct bgdma_desc d, const void *bytes,
					uint32_t n)
{
	struct bgdma_wire_packet *p =
		packet(BGDMA_WIRE_PIECE, stripped(d), bytes, n);

	p->flags = BGDMA_WIRE_REMOTE;
	p->dst_inc |= 1;
	return p;
}

/*
 * A portion of a chain: 1 sends {T, D} to 2, which sends {O} to 1 and data, in two
 * frames; 1 executes O, which sends a put to 2.
 */
static void chain(void)
{
	const uint32_t queue = 1U << 31 | 4 << 16;
	struct bgdma_desc o = new_desc(BGDMA_OP_RGET, DESC);
	struct bgdma_desc last = new_desc(BGDMA_OP_PUT, 32);
	struct bgdma_desc td[2] = { new_desc(BGDMA_OP_RGET, DESC),
				    new_desc(BGDMA_OP_PUT, 64) };
	unsigned int first;

	begin_flow(BGDMA_FRAME_DATA, 1, 6, 0);
	packet(BGDMA_WIRE_PIECE, new_desc(BGDMA_OP_RGET, sizeof(td)), td,
	       sizeof(td));
	first = finish();
	tell("bgdma.executed_in", first + 1);
	tell("bgdma.executed_in", first + 1);
	begin_flow(BGDMA_FRAME_DATA, 2, queue, 0);
	remote(td[0], &o, sizeof(o));
	remote(td[1], NULL, 24);
	finish();
	tell("bgdma.asked_in", first);
	tell("bgdma.asked_in", first);
	tell("bgdma.executed_in", first + 3);
	begin_flow(BGDMA_FRAME_DATA, 2, queue, 1);
	remote(td[1], NULL, 40)->offset = 24;
	finish();
	tell("bgdma.asked_in", first);
	begin_flow(BGDMA_FRAME_DATA, 1, queue, 0);
	remote(o, &last, sizeof(last));
	finish();
	tell("bgdma.asked_in", first + 1);
	tell("bgdma.executed_in", first + 4);
	begin_flow(BGDMA_FRAME_DATA, 2, queue, 2);
	remote(last, NULL, 32);
	finish();
	tell("bgdma.asked_in", first + 3);
}

/* ---- Bad ones ------------------------------------------------------------ */

/* A few bytes, or a number that somebody may count on. */
static void spoil(union frame *frame, uint32_t len)
{
	static const uint32_t numbers[] = { 0, 1, 2, 3, 64, 4096, 65535, 65536,
					    1U << 30, 1U << 31, UINT32_MAX };
	uint32_t at, times = 1 + any() % 3;

	while (times--) {
		/* What tells that it is ours stays. */
		at = 3 + any() % (len - 3);
		if (any() % 2)
			frame->bytes[at] = (uint8_t)any();
		else
			memcpy(frame->bytes + (at & ~3U) + (at < 4 ? 4 : 0),
			       &numbers[any() % COUNT(numbers)], 1 + any() % 4);
	}
}

static void mutant(void)
{
	unsigned int which = any() % goods;
	union frame frame = good[which];
	uint32_t len = good_len[which];

	if (any() % 4)
		spoil(&frame, any() % 2 ? len : sizeof(frame.f));
	if (!(any() % 4))
		len = 4 + any() % (len - 4);
	else if (!(any() % 4))
		len += any() % 64;
	write_frame(&frame, len, len);
	tell("malformed", !taken(&frame, len));
}

/* A good one, of which the capture has only a part. */
static void part(void)
{
	unsigned int which = any() % goods;

	write_frame(&good[which], good_len[which],
		    4 + any() % (good_len[which] - 4));
	tell("malformed", 0);
	tell("short", 1);
}

int main(int argc, char **argv)
{
	const uint32_t head[] = { 0xa1b2c3d4, 4 << 16 | 2, 0, 0, 65535, 1 };
	int i, mutants;

	if (argc != 4)
		fail("usage: frames CAPTURE TOLD MUTANTS");
	capture = fopen(argv[1], "wb");
	told = fopen(argv[2], "w");
	mutants = (int)strtol(argv[3], NULL, 10);
	if (!capture || !told)
		fail("cannot write");
	told_complete();
	write_words(head, COUNT(head));
	hello();
	state();
	last_word();
	ack(0);
	ack(BGDMA_WIRE_RESULTS);
	pieces();
	kernels();
	sendings();
	chain();
	for (i = 0; i < mutants; i++)
		i % 8 ? mutant() : part();
	if (fclose(capture) || fclose(told))
		fail("cannot write");
	return 0;
}

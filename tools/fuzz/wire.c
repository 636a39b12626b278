// SPDX-License-Identifier: GPL-2.0
/*
 * What comes over a link (kernel/fabric/wire.c): any bytes as any frame, against a
 * second telling of kernel/fabric/wire.h; what is taken as good has what those who
 * deliver it rely on; and what a good descriptor becomes on the way is taken.
 *
 * A frame lies in memory of its own size: who looks behind its end is seen.
 */
#include "../../kernel/engine/desc.c"
#include "../../kernel/fabric/wire.c"

#include "fuzz.h"

#define HEAD		sizeof(struct bgdma_frame)
#define PACKET		sizeof(struct bgdma_wire_packet)

/* ---- Data and acknowledgments ------------------------------------------ */

/* Of a packet of the combining network, which is 4096 bytes at most. */
static bool told_tree(const struct bgdma_wire_packet *p)
{
	const struct bgdma_desc *d = &p->desc;
	uint32_t head[6];

	memcpy(head, d->u.inline_data, sizeof(head));
	if (p->flags & 1 || d->flags || !d->epoch || d->class_prio > 15 ||
	    d->route >> 7 || head[5])
		return false;
	if (head[2] > 1 << 30 || head[1] > head[2])
		return false;
	/* Part, differ, broken, left, hello; only the first has bytes. */
	switch (head[4] >> 16 & 255) {
	case 0:
		return d->length <= 4096 && !p->bytes == !d->length;
	case 1:
	case 2:
	case 3:
	case 4:
		return !d->length;
	}
	return false;
}

/* A piece of an operation that moves bytes: what it is, told by what it is not. */
static bool told_piece(const struct bgdma_wire_packet *p)
{
	const struct bgdma_desc *d = &p->desc;
	uint64_t end = (uint64_t)p->offset + p->bytes;
	unsigned int op = d->dispatch >> 8, type = d->dispatch & 255;
	unsigned int size = type / 2 ? 8 : 4;

	if (d->length > 1 << 30 || end > d->length)
		return false;
	if (d->flags & BGDMA_DESC_INLINE)
		return d->op == BGDMA_OP_MEMFIFO && !end && d->length <= 24;
	if (d->op >= BGDMA_OP_EPOCH_BEGIN && d->op <= BGDMA_OP_EPOCH_END)
		return d->length == 0 && d->epoch != 0;
	if (d->op == BGDMA_OP_RGET)
		return p->offset == 0 && p->bytes == d->length &&
		       d->length && d->length <= 1024 && d->length % 64 == 0;
	if (d->op == BGDMA_OP_ATOMIC) {
		if (op > BGDMA_ATOMIC_CAS || type > BGDMA_ATOMIC_U64 ||
		    !p->bytes || p->bytes > 256)
			return false;
		if ((d->length | p->offset | p->bytes) & (size - 1))
			return false;
		return op != BGDMA_ATOMIC_CAS || d->length == size;
	}
	if (d->op >= BGDMA_OP_TREE_REDUCE && d->op <= BGDMA_OP_TREE_ALLREDUCE)
		return told_tree(p);
	if (d->op != BGDMA_OP_PUT && d->op != BGDMA_OP_MEMFIFO &&
	    d->op != BGDMA_OP_TREE_P2P)
		return false;
	/* A piece has bytes, where there are any. */
	if (!p->bytes)
		return !d->length;
	return d->op == BGDMA_OP_PUT || p->offset / 4096 == (end - 1) / 4096;
}

static bool told_packet(const struct bgdma_wire_packet *p)
{
	if (p->resv || p->desc.resv || p->flags > 3 ||
	    ((p->flags & 1) && !p->dst_inc))
		return false;
	switch (p->kind) {
	case 0:
		return told_piece(p);
	case 1:
		return p->desc.length <= 1 << 30 && p->offset <= p->desc.length;
	case 2:
		return p->bytes == 28;
	case 3:
		return p->bytes == sizeof(struct bgdma_event);
	case 4:
		return p->bytes >= 1 && p->bytes <= 256;
	case 5:
		return p->bytes == 16;
	}
	return false;
}

static bool told_frame(const struct bgdma_frame *f, uint32_t payload)
{
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	uint64_t bytes = 0;
	unsigned int i;

	if (f->flags > 15 || f->bytes != payload)
		return false;
	if (f->type != BGDMA_FRAME_DATA || !f->packets || f->packets > 32)
		return false;
	if (f->head != HEAD + PACKET * f->packets)
		return false;
	for (i = 0; i < f->packets; i++) {
		if (!told_packet(p + i))
			return false;
		bytes += p[i].kind == BGDMA_WIRE_ABORT ? 0 : p[i].bytes;
	}
	return bytes == payload;
}

/* What arrive.c and hear.c have room for, and what they count on. */
static void relied_on(const struct bgdma_frame *f)
{
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	uint32_t at = 0;
	unsigned int i;

	for (i = 0; i < f->packets; i++, p++) {
		u32 bytes = bgdma_wire_payload(p);

		must(bytes <= f->bytes && at <= f->bytes - bytes);
		at += bytes;
		if (p->kind != BGDMA_WIRE_PIECE) {
			must(bytes <= BGDMA_WIRE_ATOMIC);
			continue;
		}
		must(p->offset <= p->desc.length &&
		     bytes <= p->desc.length - p->offset);
		if (p->desc.op == BGDMA_OP_MEMFIFO)
			must(p->offset % BGDMA_PACKET_MAX + bytes <=
			     BGDMA_PACKET_MAX);
		if (p->desc.op == BGDMA_OP_RGET)
			must(bytes <= BGDMA_PACKET_MAX);
		if (p->desc.op == BGDMA_OP_ATOMIC)
			must(bytes % bgdma_atomic_size(p->desc.dispatch & 0xff)
			     == 0);
	}
	must(at == f->bytes);
}

/* Cut for a link, its parts are good frames, and have all of it, in order. */
static void parts_are_good(const struct bgdma_frame *f, uint32_t mtu)
{
	struct bgdma_wire_cut cut = {}, again = {};
	struct bgdma_frame *part = malloc(HEAD + PACKET * 255);
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	uint32_t at = 0, done = 0, i;

	must(part);
	while (bgdma_wire_cut(f, mtu, &cut, (void *)(part + 1))) {
		const struct bgdma_wire_packet *q = (const void *)(part + 1);

		must(bgdma_wire_cut(f, mtu, &again, NULL) &&
		     !memcmp(&cut, &again, sizeof(cut)));
		*part = *f;
		part->packets = (uint8_t)cut.packets;
		part->head = (uint16_t)(HEAD + PACKET * cut.packets);
		part->bytes = cut.bytes;
		must(cut.packets <= 255 && part->head + cut.bytes <= mtu);
		must(told_frame(part, cut.bytes) && cut.at == at);
		at += cut.bytes;
		for (i = 0; i < cut.packets; i++, q++) {
			must(q->id == p->id && q->kind == p->kind &&
			     q->offset == p->offset + done);
			done += bgdma_wire_payload(q);
			if (done < bgdma_wire_payload(p))
				continue;
			p++;
			done = 0;
		}
	}
	must(at == f->bytes && !done &&
	     p == (const void *)((const char *)f + f->head));
	free(part);
}

/* Bytes that the head of a frame has, if it is one. */
static uint32_t told_head(const struct bgdma_frame *f)
{
	if (f->packets > 32)
		return 0;
	if (f->type == BGDMA_FRAME_DATA)
		return f->packets ? HEAD + PACKET * f->packets : 0;
	if (f->type == BGDMA_FRAME_ACK)
		return HEAD + 40 + 32 * f->packets;
	if (f->packets)
		return 0;
	if (f->type == BGDMA_FRAME_CLOSE)
		return HEAD;
	if (f->type == BGDMA_FRAME_HELLO)
		return HEAD + 848;
	return f->type == BGDMA_FRAME_STATE ? HEAD + 1184 : 0;
}

/* Sums that are right, so that more is looked at. */
static void make_consistent(struct bgdma_frame *f, uint32_t len, uint8_t how)
{
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	unsigned int i;

	if (how & 1)
		f->type = 1 + f->type % 2;
	if (how & 2)
		f->packets = f->type == BGDMA_FRAME_DATA ?
			1 + f->packets % 4 : f->packets % 4;
	if (how & 4)
		f->head = (uint16_t)told_head(f);
	if (how & 8)
		f->flags &= BGDMA_FRAME_FLAGS;
	if (how & 64)
		f->more = 0;
	if (!(how & 16) || !f->head || f->head > len || f->head != told_head(f))
		return;
	f->bytes = 0;
	for (i = 0; f->type == BGDMA_FRAME_DATA && i < f->packets; i++)
		f->bytes += bgdma_wire_payload(p + i);
}

static void frame(struct input *in)
{
	uint8_t how = (uint8_t)take(in, 1);
	uint32_t more = (uint32_t)take(in, 2) % 8192, len, head;
	struct bgdma_frame *f;
	bool good;

	/* Payload is not looked at: only there has to be some. */
	len = (uint32_t)in->left;
	if (len < HEAD)
		return;
	f = malloc(len);
	must(f);
	take_into(in, f, len);
	make_consistent(f, len, how);
	/* As much as it says, which may be more than there can be. */
	if (how & 32 && f->bytes < 1U << 31)
		more = f->bytes;
	head = told_head(f);
	len += more;
	good = head && f->head == head && f->flags <= 15 && head <= len &&
	       f->bytes <= len - head &&
	       (f->type == BGDMA_FRAME_DATA || !f->bytes) &&
	       (!f->more || (f->type == BGDMA_FRAME_DATA && f->more < 64));
	must(bgdma_wire_head_check(f, len) == good);
	/* As the link does: the head is there, and what fills up is cut off. */
	if (good && head <= len - more && f->type == BGDMA_FRAME_DATA) {
		good = bgdma_wire_frame_check(f, f->bytes);
		must(good == told_frame(f, f->bytes));
		if (good) {
			relied_on(f);
			parts_are_good(f, BGDMA_WIRE_MTU_MIN + f->psn % 9000);
		}
		must(!bgdma_wire_frame_check(f, f->bytes + 1));
	}
	free(f);
}

/* ---- About kernels ------------------------------------------------------ */

static bool told_runs(const struct bgdma_wire_run *run, uint32_t n,
		      uint64_t size)
{
	uint64_t from = 0;
	uint32_t i;

	for (i = 0; i < n && i < BGDMA_WIRE_RUNS; i++) {
		if (run[i].first < from || run[i].last < run[i].first ||
		    run[i].last >= size)
			return false;
		from = (uint64_t)run[i].last + 1;
	}
	return n >= 1 && n <= BGDMA_WIRE_RUNS;
}

static bool told_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < BGDMA_NAME_MAX; i++) {
		if (!name[i])
			return i > 0;
		if (name[i] < 0x21 || name[i] > 0x7e || name[i] == '/')
			return false;
	}
	return false;
}

/* A few numbers of runs, mostly small, so that some are in order. */
static void runs(struct input *in, struct bgdma_wire_run *run, uint32_t n)
{
	uint32_t at = 0, i;

	for (i = 0; i < n && i < BGDMA_WIRE_RUNS; i++) {
		at += (uint32_t)take(in, 1);
		run[i].first = at;
		at += (uint32_t)take(in, 1);
		run[i].last = at;
		at++;
	}
}

/* All of it; @few: four bytes of it, anywhere. */
static void any_bytes(struct input *in, void *p, size_t bytes, bool few)
{
	size_t at = few ? take(in, 2) % (bytes - 3) : 0;

	take_into(in, (uint8_t *)p + at, few ? 4 : bytes);
}

static void hello(struct input *in)
{
	struct bgdma_wire_hello *h = calloc(1, sizeof(*h));
	uint8_t how = (uint8_t)take(in, 1);
	bool good;
	int i;

	must(h && sizeof(*h) == 848);
	if (how & 1) {
		h->kernel = take(in, 8);
		take_into(in, h->name, 4);
		h->torus = (uint32_t)take(in, 1);
		h->mtu = (uint32_t)take(in, 3);
		h->every = (uint32_t)take(in, 2);
		h->heard = (uint32_t)take(in, 1);
		h->runs = (uint32_t)take(in, 1) % 70;
		for (i = 0; i < 3; i++)
			h->dims[i] = (uint32_t)take(in, 2);
		runs(in, h->run, h->runs);
	}
	any_bytes(in, h, sizeof(*h), how & 1);
	good = told_name(h->name) && h->kernel && h->torus < 8 &&
	       h->mtu < 65536 && h->every >= 1 && h->every <= 60000 &&
	       h->heard <= 32;
	for (i = 0; i < 3; i++)
		good = good && h->dims[i] >= 1 && h->dims[i] <= 1024;
	good = good && (uint64_t)h->dims[0] * h->dims[1] * h->dims[2] <=
			1 << 24;
	good = good && told_runs(h->run, h->runs, (uint64_t)h->dims[0] *
				 h->dims[1] * h->dims[2]);
	must(bgdma_wire_hello_check(h) == good);
	free(h);
}

static bool told_ends(const struct bgdma_wire_end *end)
{
	static const struct bgdma_wire_end none;
	unsigned int n = BGDMA_WIRE_ENDS;

	while (n && !memcmp(&end[n - 1], &none, sizeof(none)))
		n--;
	while (n--)
		if (!end[n].kernel || !(end[n].lost | end[n].known))
			return false;
	return true;
}

static void state(struct input *in)
{
	struct bgdma_wire_state *s = calloc(1, sizeof(*s));
	uint8_t how = (uint8_t)take(in, 1);
	uint32_t size = 1 + (uint32_t)take(in, 3);
	uint32_t i;

	must(s && sizeof(*s) == 1184);
	if (how & 1) {
		s->kernel = take(in, 1);
		s->seq = (uint32_t)take(in, 1);
		s->runs = (uint32_t)take(in, 1) % 70;
		s->peers = (uint32_t)take(in, 1);
		s->flags = (uint32_t)take(in, 1);
		runs(in, s->run, s->runs);
		for (i = 0; i < (how >> 1) % 16U && i < BGDMA_WIRE_ENDS; i++) {
			s->end[i].kernel = take(in, 1);
			s->end[i].lost = (uint32_t)take(in, 1);
			s->end[i].known = (uint32_t)take(in, 1) % 4;
		}
	}
	any_bytes(in, s, sizeof(*s), how & 1);
	must(bgdma_wire_state_check(s, size) ==
	     (s->kernel && s->seq && s->peers <= 64 && s->flags < 2 &&
	      told_ends(s->end) && told_runs(s->run, s->runs, size)));
	free(s);
}

/* ---- What a good descriptor becomes -------------------------------------- */

/* As remote.c cuts it, @room bytes of payload at most in a packet. */
static uint32_t piece_of(const struct bgdma_desc *d, uint32_t offset,
			 uint32_t room)
{
	uint32_t n = d->length - offset;

	if (d->op == BGDMA_OP_RGET)
		return n;
	if (d->op == BGDMA_OP_ATOMIC)
		return n < BGDMA_WIRE_ATOMIC ? n : BGDMA_WIRE_ATOMIC;
	if ((d->op == BGDMA_OP_MEMFIFO || d->op == BGDMA_OP_TREE_P2P) &&
	    n > BGDMA_PACKET_MAX - offset % BGDMA_PACKET_MAX)
		n = BGDMA_PACKET_MAX - offset % BGDMA_PACKET_MAX;
	return n < room ? n : room;
}

static void cut(const struct bgdma_stream *s, uint32_t room)
{
	struct bgdma_wire_packet p = { .desc = s->x.desc };
	uint32_t n = 0, pieces = 0;

	bgdma_wire_strip(&p.desc);
	if (s->remote) {
		p.flags = BGDMA_WIRE_REMOTE;
		p.dst_inc = s->who.incarnation;
	}
	do {
		if (!(p.desc.flags & BGDMA_DESC_INLINE))
			n = piece_of(&p.desc, p.offset, room);
		p.bytes = n;
		must(bgdma_wire_packet_check(&p));
		must(bgdma_wire_payload(&p) == n);
		p.offset += n;
	} while (n && p.offset < p.desc.length && ++pieces < 64);
	/* It can be given up anywhere. */
	p.kind = BGDMA_WIRE_ABORT;
	p.bytes = BGDMA_E_CANCELLED;
	must(bgdma_wire_packet_check(&p) && !bgdma_wire_payload(&p));
}

static void descriptor(struct input *in)
{
	static struct bgdma_ctx ctx;
	static struct bgdma_stream s;
	struct bgdma_desc *d = &s.x.desc;
	struct bgdma_fault fault;
	uint8_t how = (uint8_t)take(in, 1);
	uint32_t room = 256 + (uint32_t)take(in, 2);

	memset(d, 0, sizeof(*d));
	s.ctx = &ctx;
	s.remote = how & 1;
	s.who.incarnation = 1;
	if (how & 2) {
		d->inj_ctr = BGDMA_NONE;
		d->rec_ctr = BGDMA_NONE;
		d->u.at.src_region = BGDMA_NONE;
		d->u.at.dst_region = BGDMA_NONE;
	}
	/* Field by field: most of a good one is zero. */
	d->op = (uint8_t)take(in, 1) % BGDMA_OP_COUNT;
	d->flags = (uint8_t)take(in, 1);
	d->length = (uint32_t)take(in, how & 4 ? 1 : 4);
	d->dispatch = (uint16_t)take(in, 2);
	d->epoch = (uint32_t)take(in, 1);
	if (how & 8)
		d->u.at.src_region = (uint32_t)take(in, 1);
	if (how & 16)
		d->u.at.dst_region = (uint32_t)take(in, 1);
	d->route = (uint8_t)take(in, 1);
	d->cookie = take(in, 1);
	any_bytes(in, d, sizeof(*d), true);
	if (bgdma_desc_check(&s, &fault) || d->op == BGDMA_OP_NOP ||
	    d->op == BGDMA_OP_LOCAL_COPY || d->op == BGDMA_OP_LOCAL_MEMFIFO)
		return;
	/* Of a collective only the engine's own packets cross a link. */
	if (bgdma_op_is_tree(d->op))
		return;
	cut(&s, room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	switch (take(&in, 1) % 4) {
	case 0:
		frame(&in);
		break;
	case 1:
		hello(&in);
		break;
	case 2:
		state(&in);
		break;
	default:
		descriptor(&in);
	}
	return 0;
}

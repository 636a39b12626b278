/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of data and acknowledgments in the name of the last node of a line, as
 * netlink_forged.h has the rest.
 */
#ifndef BGDMA_SELFTESTS_NETLINK_DATA_H
#define BGDMA_SELFTESTS_NETLINK_DATA_H

#include "netlink_forged.h"

#define WE	(DIM - 1)	/* our node */
#define INC	77		/* incarnation of a context of ours */
#define FIRST	0xfffffff0U	/* of a flow: numbers go round */
#define PACKETS	4

struct data_frame {
	struct bgdma_frame frame;
	struct bgdma_wire_packet packet[PACKETS];
	uint8_t payload[4096];
};

struct ack_frame {
	struct bgdma_frame frame;
	struct bgdma_wire_ack ack;
	struct bgdma_wire_result result[BGDMA_WIRE_RESULTS];
};

/*
 * Where there are two veth devices: a line that ends at us, and an end of theirs that
 * we write to. -1: it is not there.
 */
static inline int line_to_us(struct link *l, int *sock, struct hello_frame *hello,
			     struct end *e)
{
	struct timeval patience = { .tv_usec = 100000 };

	if (rt_set("veth0", true, 9000) || rt_set("veth1", true, 9000))
		return -1;
	if (link_open(l))
		return -1;
	*sock = raw_socket();
	if (*sock < 0 || partition_and_link(l) || link_timeout(l, 600000))
		return -1;
	hello_new(hello, PARTITION, DIM, US);
	hello->hello.mtu = 9000;
	/* We say it once, and are slow. */
	hello->hello.every = 60000;
	if (!come_up(l, *sock, hello) || !until(way_to(l, WE)))
		return -1;
	end_new(e, 0);
	return setsockopt(*sock, SOL_SOCKET, SO_RCVTIMEO, &patience,
			  sizeof(patience));
}

/* ---- Making frames ------------------------------------------------------- */

/* A flow of a context of ours to theirs; @tag: which FIFO. */
static inline void data_new(struct data_frame *f, uint32_t tag, uint32_t psn)
{
	memset(f, 0, sizeof(*f));
	frame_head(&f->frame, PARTITION, BGDMA_FRAME_DATA, sizeof(f->frame));
	f->frame.src_rank = WE;
	f->frame.flow_inc = INC;
	f->frame.flow = tag;
	f->frame.session = 1;
	f->frame.psn = psn;
	f->frame.first = FIRST;
	f->frame.kernel = US;
}

/* What the kernel itself has to say: another flow. */
static inline void voice_new(struct data_frame *f, uint32_t psn)
{
	data_new(f, BGDMA_FLOW_KERNEL, psn);
	f->frame.flow_ctx = BGDMA_CTX_ANY;
	f->frame.flow_inc = (uint32_t)US;
}

/* One packet more, with so many bytes of payload, all alike. */
static inline struct bgdma_wire_packet *add(struct data_frame *f,
					    const struct bgdma_desc *d,
					    uint32_t offset, uint32_t bytes,
					    uint8_t value)
{
	struct bgdma_wire_packet *p = &f->packet[f->frame.packets++];

	if (d)
		p->desc = *d;
	p->desc.inj_ctr = BGDMA_NONE;
	if (!(p->desc.flags & BGDMA_DESC_INLINE)) {
		p->desc.u.at.src_region = BGDMA_NONE;
		p->desc.u.at.src_off = 0;
	}
	p->id = f->frame.psn * PACKETS + f->frame.packets;
	p->offset = offset;
	p->bytes = bytes;
	memset(f->payload + f->frame.bytes, value, bytes);
	f->frame.bytes += bytes;
	return p;
}

/* As kernel/fabric/sum.c says, a word at a time. */
static inline uint32_t sum_of(const struct data_frame *f)
{
	uint32_t sums[2][8] = {}, word, i;

	for (i = 0; i < f->frame.bytes || i % 32; i += 4) {
		uint32_t *once = &sums[0][i / 4 % 8];

		word = 0;
		if (i < f->frame.bytes)
			memcpy(&word, f->payload + i,
			       f->frame.bytes - i < 4 ? f->frame.bytes - i : 4);
		*once += word;
		once[8] += *once;
	}
	return f->frame.bytes ? ~crc32c_add(~0U, sums, sizeof(sums)) : 0;
}

static inline bool send_sealed(int sock, const struct data_frame *f)
{
	size_t head = f->frame.head;
	uint8_t bytes[sizeof(*f)];

	memcpy(bytes, f, head);
	memcpy(bytes + head, f->payload, f->frame.bytes);
	return send_from(sock, 1, bytes, head + f->frame.bytes);
}

static inline bool send_data(int sock, struct data_frame *f)
{
	f->frame.head = (uint16_t)(sizeof(f->frame) +
				   f->frame.packets * sizeof(f->packet[0]));
	f->frame.sum = sum_of(f);
	frame_seal(&f->frame);
	return send_sealed(sock, f);
}

static inline struct bgdma_desc put_to(const struct region *r, uint64_t off,
				       uint32_t length)
{
	return d_put(0, BGDMA_NONE, 0, r->handle, off, length);
}

/* ---- What comes back ----------------------------------------------------- */

/* The next frame of that type from them. */
static inline bool next_frame(int sock, uint8_t type, void *out, size_t room)
{
	uint8_t in[sizeof(struct ether_header) + 4096];
	const struct bgdma_frame *f =
		(void *)(in + sizeof(struct ether_header));
	__u64 end = now_ns() + PATIENCE_NS;

	while (now_ns() < end) {
		ssize_t n = recv(sock, in, sizeof(in), 0);

		n -= (ssize_t)sizeof(struct ether_header);
		if (n < (ssize_t)sizeof(*f) || f->kernel == US ||
		    f->type != type)
			continue;
		memset(out, 0, room);
		memcpy(out, f, (size_t)n < room ? (size_t)n : room);
		return true;
	}
	return false;
}

/* Wait until all frames of a flow before @psn were dealt with. */
static inline bool dealt(int sock, uint32_t tag, uint32_t psn, struct ack_frame *ack)
{
	__u64 end = now_ns() + PATIENCE_NS;

	while (now_ns() < end && next_frame(sock, BGDMA_FRAME_ACK, ack,
					    sizeof(*ack))) {
		if (ack->frame.flow == tag && ack->frame.psn == psn)
			return true;
	}
	return false;
}

/*
 * Say that all before @psn were dealt with, as an answer to @f. @number is that of the
 * acknowledgment in its flow; @kernel says so.
 */
static inline bool send_ack_of(int sock, const struct data_frame *f, uint64_t kernel,
			       uint32_t number, uint32_t psn, uint16_t results,
			       struct ack_frame *ack)
{
	struct bgdma_frame *head = &ack->frame;
	size_t bytes = sizeof(*ack) -
		       (BGDMA_WIRE_RESULTS - results) * sizeof(ack->result[0]);

	*head = f->frame;
	head->type = BGDMA_FRAME_ACK;
	head->head = (uint16_t)bytes;
	head->src_rank = f->frame.dst_rank;
	head->dst_rank = f->frame.src_rank;
	head->at = f->frame.src_rank;
	head->psn = psn;
	head->first = number;
	head->packets = results;
	head->bytes = 0;
	head->sum = 0;
	head->kernel = kernel;
	frame_seal(head);
	return send_from(sock, 1, ack, bytes);
}

static inline bool send_ack_as(int sock, const struct data_frame *f,
			       uint32_t number, uint32_t psn, uint16_t results,
			       struct ack_frame *ack)
{
	return send_ack_of(sock, f, US, number, psn, results, ack);
}

static inline bool send_ack(int sock, const struct data_frame *f, uint32_t psn,
			    uint16_t results, struct ack_frame *ack)
{
	static uint32_t number;

	return send_ack_as(sock, f, ++number, psn, results, ack);
}

static inline void ack_new(struct ack_frame *ack)
{
	memset(ack, 0, sizeof(*ack));
	ack->ack.window = BGDMA_WIRE_SACK;
}

static inline bool all_bytes(const void *p, size_t n, uint8_t value)
{
	const uint8_t *b = p;

	while (n && *b == value) {
		n--;
		b++;
	}
	return !n;
}

#endif /* BGDMA_SELFTESTS_NETLINK_DATA_H */

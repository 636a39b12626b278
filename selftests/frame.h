/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames that were made by nobody's kernel: checksums and proofs as
 * kernel/fabric/wire.h asks for them, for a partition without a key.
 */
#ifndef BGDMA_SELFTESTS_FRAME_H
#define BGDMA_SELFTESTS_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire.h"

/* Behind struct ethhdr. */
struct hello_frame {
	struct bgdma_frame frame;
	struct bgdma_wire_hello hello;
};

struct state_frame {
	struct bgdma_frame frame;
	struct bgdma_wire_state state;
};

/* Castagnoli's, bit by bit. */
static inline uint32_t crc32c_add(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	int i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

static inline void frame_seal(struct bgdma_frame *frame)
{
	struct bgdma_frame first = *frame;
	uint32_t crc;

	first.crc = 0;
	first.at = 0;
	first.hops = 0;
	crc = crc32c_add(~0U, &first, sizeof(first));
	if (frame->head > sizeof(first))
		crc = crc32c_add(crc, frame + 1, frame->head - sizeof(first));
	frame->crc = ~crc;
}

static inline uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void sip_rounds(uint64_t *v, int n)
{
	while (n--) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

/* SipHash-2-4 with a key of zeros, of a multiple of 8 bytes. */
static inline uint64_t sip(const void *data, size_t len)
{
	uint64_t v[4] = { 0x736f6d6570736575, 0x646f72616e646f6d,
			  0x6c7967656e657261, 0x7465646279746573 };
	uint64_t word;
	size_t at;

	for (at = 0; at <= len; at += 8) {
		if (at < len)
			memcpy(&word, (const char *)data + at, 8);
		else
			word = (uint64_t)len << 56;
		v[3] ^= word;
		sip_rounds(v, 2);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Of a message whose proof is 0. */
static inline uint64_t proof_of(const void *data, size_t len, uint64_t type)
{
	const uint64_t words[2] = { sip(data, len), type };

	return sip(words, sizeof(words));
}

static inline uint32_t tag_of(const char *name)
{
	char padded[BGDMA_NAME_MAX] = "";

	memcpy(padded, name, strnlen(name, sizeof(padded) - 1));
	return (uint32_t)sip(padded, sizeof(padded));
}

/* Head of a frame about a link, complete but for its checksum. */
static inline void frame_head(struct bgdma_frame *frame, const char *name,
			      uint8_t type, size_t bytes)
{
	memset(frame, 0, bytes);
	frame->magic = BGDMA_WIRE_MAGIC;
	frame->version = BGDMA_WIRE_VERSION;
	frame->type = type;
	frame->partition = tag_of(name);
	frame->head = (uint16_t)bytes;
}

/* A HELLO that is right, of the last node of a line of @dim. */
static inline void hello_new(struct hello_frame *f, const char *name,
			     uint32_t dim, uint64_t kernel)
{
	frame_head(&f->frame, name, BGDMA_FRAME_HELLO, sizeof(*f));
	f->hello.kernel = kernel;
	memcpy(f->hello.name, name, strnlen(name, sizeof(f->hello.name) - 1));
	f->hello.dims[0] = dim;
	f->hello.dims[1] = 1;
	f->hello.dims[2] = 1;
	f->hello.torus = 7;
	f->hello.mtu = 1500;
	f->hello.every = 1000;
	f->hello.runs = 1;
	f->hello.run[0].first = dim - 1;
	f->hello.run[0].last = dim - 1;
}

static inline void hello_seal(struct hello_frame *f)
{
	f->hello.proof = 0;
	f->hello.proof = proof_of(&f->hello, sizeof(f->hello),
				  BGDMA_FRAME_HELLO);
	frame_seal(&f->frame);
}

static inline void state_new(struct state_frame *f, const char *name,
			     uint64_t kernel, uint32_t seq, uint32_t node)
{
	frame_head(&f->frame, name, BGDMA_FRAME_STATE, sizeof(*f));
	f->state.kernel = kernel;
	f->state.seq = seq;
	f->state.runs = 1;
	f->state.run[0].first = node;
	f->state.run[0].last = node;
}

static inline void state_seal(struct state_frame *f)
{
	f->state.proof = 0;
	f->state.proof = proof_of(&f->state, sizeof(f->state),
				  BGDMA_FRAME_STATE);
	frame_seal(&f->frame);
}

#endif /* BGDMA_SELFTESTS_FRAME_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Messages and collectives of modules over the combining network: a tree of processes of
 * the job, whose packets are dispatched to the same callbacks as all others (DP-3 to
 * DP-5). Several modules may use one tree.
 *
 *	bgdma_operation_register(ep, &attr, &id);	before the commit
 *	bgdma_network_open(ep, &(struct bgdma_network_attr){ .number = 15 }, &net);
 *	bgdma_job_fence(job);				all have it
 *	bgdma_network_combine(net, &(struct bgdma_combine_attr){
 *		.op = BGDMA_OP_TREE_ALLREDUCE, .operation = id,
 *		.dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_S64),
 *		.length = bytes, .from = { region, offset } });
 *
 * and the callback of @id gets the result, in packets, where they lie. <bgdma/collective.h>
 * has collectives with results in memory, for any operator.
 *
 * The rules of <bgdma/sys.h> hold.
 */
#ifndef BGDMA_NETWORK_H
#define BGDMA_NETWORK_H

#include <bgdma/sys.h>

BGDMA_BEGIN_DECLS

/* A tree, as one member sees it. */
struct bgdma_network;

/**
 * struct bgdma_network_attr - which tree, and who is on it
 * @number: of the class, below BGDMA_CLASSES_MAX, the same at all members, and of none of
 *	their other classes. Groups of <bgdma/coll.h> take the lowest that is free at all
 * @instance: the same at all members, and another for another use of the number
 * @members: ranks in the job, the root first: what is its place here is a member's address
 *	on the tree (DP-7). The same at all members; NULL: all processes, by rank
 * @member_count: so many
 * @packet: as in struct bgdma_class_attr
 * @window: likewise
 */
struct bgdma_network_attr {
	uint32_t number;
	uint32_t instance;
	const uint32_t *members;
	uint32_t member_count;
	uint32_t packet;
	uint32_t window;
};

/* bgdma_network_open() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_network_open_sized(struct bgdma_endpoint *ep,
				       const struct bgdma_network_attr *attr,
				       size_t size, struct bgdma_network **net);

/**
 * bgdma_network_open() - become a member of a tree (DP-7)
 * @ep: endpoint, committed
 * @attr: the tree; copied
 * @net: out
 *
 * No member uses it before all have it: a fence between. Before
 * bgdma_endpoint_destroy() it is closed.
 *
 * Thread safety: as the endpoint.
 * Return: 0; -EINVAL this process is no member, or it is one twice, or no such rank;
 * -EEXIST that number is taken; -ENOTCONN not committed; -ENOMEM; -ENODEV; what
 * bgdma_inj_create() returns.
 */
static inline int bgdma_network_open(struct bgdma_endpoint *ep,
				     const struct bgdma_network_attr *attr,
				     struct bgdma_network **net)
{
	return bgdma_network_open_sized(ep, attr, sizeof(*attr), net);
}

/**
 * bgdma_network_close() - be a member no longer
 * @net: tree, or NULL
 *
 * It waits up to a second until the neighbours have what was begun. Collectives that have
 * not ended break the tree for all; messages that have not left are lost, so
 * bgdma_endpoint_flush() before.
 *
 * Thread safety: nobody else uses @net.
 */
BGDMA_API void bgdma_network_close(struct bgdma_network *net);

/**
 * struct bgdma_member_attr - a message for one member
 * @operation: identifier of a BGDMA_POINT_TO_POINT operation
 * @dest: place on the tree
 * @word: as in struct bgdma_send_attr
 * @length: bytes, up to BGDMA_MEMBER_MAX
 * @data: copied before the call returns
 * @more: as in struct bgdma_send_attr
 */
struct bgdma_member_attr {
	uint32_t operation;
	uint32_t dest;
	uint64_t word;
	uint64_t length;
	const void *data;
	bool more;
};

/* The identifier is at the head of the payload, and takes so much of it. */
#define BGDMA_MEMBER_HEAD	8U
#define BGDMA_MEMBER_MAX	(BGDMA_PACKET_MAX - BGDMA_MEMBER_HEAD)

/* bgdma_network_send() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_network_send_sized(struct bgdma_network *net,
				       const struct bgdma_member_attr *attr,
				       size_t size);

/**
 * bgdma_network_send() - send a packet to one member (DP-3, DP-6)
 * @net: tree
 * @attr: the message: one packet, whose payload begins with the identifier
 *
 * Thread safety: as the endpoint.
 * Return: as bgdma_endpoint_send(); -EINVAL also no such member.
 */
static inline int bgdma_network_send(struct bgdma_network *net,
				     const struct bgdma_member_attr *attr)
{
	return bgdma_network_send_sized(net, attr, sizeof(*attr));
}

/**
 * struct bgdma_combine_attr - the part of this process in a collective
 * @op: BGDMA_OP_TREE_REDUCE, _ALLREDUCE or _BCAST, the same at all members
 * @operation: identifier of a BGDMA_COLLECTIVE operation, likewise: its callback gets the
 *	result, in packets, of a reduce at the root alone, of a broadcast at all others
 * @dispatch: BGDMA_TREE_COMBINE(op, type), likewise; of a broadcast 0
 * @length: bytes, likewise, up to BGDMA_LENGTH_MAX
 * @from: what it contributes, of a broadcast at the root: read until @sent has moved
 * @sent: injection counter, which moves by @length; NULL: none
 * @word: BGDMA_WORD_BITS bits that the packets of the result carry here
 * @more: as in struct bgdma_send_attr
 */
struct bgdma_combine_attr {
	enum bgdma_op op;
	uint32_t operation;
	uint16_t dispatch;
	uint64_t length;
	struct bgdma_place from;
	struct bgdma_counter *sent;
	uint64_t word;
	bool more;
};

/* bgdma_network_combine() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_network_combine_sized(struct bgdma_network *net,
					  const struct bgdma_combine_attr *attr,
					  size_t size);

/**
 * bgdma_network_combine() - take part in a collective of the engines (DP-3, DP-7)
 * @net: tree
 * @attr: the collective
 *
 * All members take part in the same collectives in the same order, whatever module they
 * are of: else bgdma_network_error() tells at all of them. It waits for nobody. A result
 * that the callback refuses for now (-EAGAIN) holds up this tree.
 *
 * Thread safety: as the endpoint.
 * Return: 0; -EAGAIN no room; -EMSGSIZE; -EINVAL also no such operation, or that of a
 * message; -EIO, -ENODEV.
 */
static inline int bgdma_network_combine(struct bgdma_network *net,
					const struct bgdma_combine_attr *attr)
{
	return bgdma_network_combine_sized(net, attr, sizeof(*attr));
}

/**
 * bgdma_network_error() - whether a tree is broken
 * @net: tree
 * @why: out: who broke it, and with which code; or NULL
 *
 * An event wakes who waits in bgdma_endpoint_wait_until().
 *
 * Thread safety: as the endpoint.
 * Return: 0, or an enum bgdma_code: it is, for good, and is to be closed.
 */
BGDMA_API uint32_t bgdma_network_error(const struct bgdma_network *net,
				       struct bgdma_record *why);

/**
 * bgdma_packet_body() - what a module sent, without what dispatch needs
 * @packet: in a callback of an operation
 *
 * The same as bgdma_packet_data(), but of packets of bgdma_network_send().
 */
static inline const void *bgdma_packet_body(const struct bgdma_packet *packet)
{
	const char *data = (const char *)bgdma_packet_data(packet);

	return packet->type == BGDMA_OP_TREE_P2P &&
	       packet->bytes >= BGDMA_MEMBER_HEAD ? data + BGDMA_MEMBER_HEAD :
						    data;
}

/**
 * bgdma_packet_body_bytes() - how much that is
 * @packet: in a callback of an operation
 */
static inline uint32_t bgdma_packet_body_bytes(const struct bgdma_packet *packet)
{
	return packet->type == BGDMA_OP_TREE_P2P &&
	       packet->bytes >= BGDMA_MEMBER_HEAD ?
		packet->bytes - BGDMA_MEMBER_HEAD : packet->bytes;
}

BGDMA_END_DECLS

#endif /* BGDMA_NETWORK_H */

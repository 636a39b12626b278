/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * bgdma - a virtual DMA messaging device
 *
 * Everything that a process and the kernel agree on: the ioctls of /dev/bgdma,
 * the pages that it maps, and the descriptor, which also travels to other
 * kernels inside remote gets and is therefore little-endian everywhere.
 *
 * Documentation/uapi.rst is the reference: the error contract of every call
 * and what raises and clears every code. SPEC ids (DMA-4, ...) are explained
 * there too.
 *
 * Errors of the calls, in the order in which they are looked for:
 *
 *  ENOTTY      no such ioctl
 *  ENOTCONN    the file is not attached to a node yet
 *  EPERM       the caller is not the process that attached this file
 *  ENODEV      the partition of this file was deleted
 *  EFAULT      the structure, or memory that it points to, is not accessible
 *  EINVAL      @size is too small
 *  E2BIG       @size is larger than this kernel knows and the rest is not zero,
 *              or larger than a page
 *  EINVAL      an unknown flag or a reserved field is set, or a value is out of
 *              its documented range
 *  EOPNOTSUPP  the call or flag is defined, but this kernel does not do it yet
 *
 * and then those that each call documents.
 */
#ifndef _UAPI_LINUX_BGDMA_H
#define _UAPI_LINUX_BGDMA_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define BGDMA_DEVICE		"/dev/bgdma"
#define BGDMA_ABI_VERSION	1

/* ------------------------------------------------------------------------
 * Limits of ABI v1
 */
#define BGDMA_NAME_MAX		32	/* partition name with its final zero */
#define BGDMA_DIM_MAX		1024	/* nodes along one axis */
#define BGDMA_RANK_MAX		((1U << 24) - 1)
#define BGDMA_CTX_PER_NODE	256
#define BGDMA_INJ_FIFOS_MAX	1024	/* per context */
#define BGDMA_REC_FIFOS_MAX	64
#define BGDMA_RGET_QUEUES_MAX	64
#define BGDMA_COUNTERS_MAX	1024	/* per context and kind */
#define BGDMA_REGIONS_MAX	65535
#define BGDMA_INJ_ENTRIES_MIN	16
#define BGDMA_INJ_ENTRIES_MAX	65536
#define BGDMA_REC_BYTES_MIN	16384
#define BGDMA_REC_BYTES_MAX	(64U << 20)
#define BGDMA_EVENTS_MAX	4096
#define BGDMA_LENGTH_MAX	(1U << 30)	/* bytes of one transfer */
#define BGDMA_PACKET_MAX	4096	/* payload of one memory FIFO packet */
#define BGDMA_INLINE_MAX	24	/* payload inside a descriptor */
#define BGDMA_RGET_DESC_MAX	16	/* descriptors of one remote get */
#define BGDMA_GRANTS_MAX	64	/* per object */
#define BGDMA_WAIT_MAX		64	/* conditions of one wait */
#define BGDMA_GROUPS_MAX	1024	/* numbers of groups */
#define BGDMA_GROUP_SLOTS	16
#define BGDMA_GROUP_MEMBERS_MAX	1024
#define BGDMA_CLASSES_MAX	16	/* of the combining network, of a context */
#define BGDMA_CLASS_MEMBERS_MAX	(1U << 20)
#define BGDMA_CLASS_WINDOW_MAX	64	/* packets */
#define BGDMA_CLASS_PACKET_MIN	512	/* bytes of payload; all elements fit */

#define BGDMA_NONE		0xffffffffU	/* no counter, no region */
#define BGDMA_RANK_ANY		0xffffffffU	/* in grants and leases */
#define BGDMA_RANK_NOBODY	0xfffffffeU	/* in leases */
#define BGDMA_CTX_ANY		0xffffU
#define BGDMA_ID_ANY		0xffffffffU	/* let the kernel choose */

/*
 * A handle names a region or a counter: its slot, and a generation that is
 * never 0 and changes whenever the slot goes to another use, so that a late
 * packet for the old use is refused with BGDMA_E_STALE.
 */
#define BGDMA_HANDLE(slot, gen)	((__u32)(slot) | (__u32)(gen) << 16)
#define BGDMA_HANDLE_SLOT(h)	((__u32)(h) & 0xffffU)
#define BGDMA_HANDLE_GEN(h)	((__u32)(h) >> 16)

/* ------------------------------------------------------------------------
 * Descriptors
 */

/**
 * enum bgdma_op - what a descriptor does
 * @BGDMA_OP_NOP: nothing; takes its place in the order of its FIFO
 * @BGDMA_OP_MEMFIFO: payload lands as packets in a reception FIFO of the target
 * @BGDMA_OP_LOCAL_MEMFIFO: the same, into a reception FIFO of this context
 * @BGDMA_OP_PUT: payload lands in a region of the target
 * @BGDMA_OP_LOCAL_COPY: payload lands in a region of this context
 * @BGDMA_OP_RGET: the payload is descriptors, injected into a remote-get queue
 *	of the target and executed there with the rights given to the sender
 * @BGDMA_OP_ATOMIC: an integer operation on a word of a region of the target
 * @BGDMA_OP_TREE_REDUCE: contribute to a reduction on the combining network
 * @BGDMA_OP_TREE_BCAST: broadcast down the combining network
 * @BGDMA_OP_TREE_ALLREDUCE: reduction whose result goes to every member
 * @BGDMA_OP_TREE_P2P: point to point packet on the combining network
 * @BGDMA_OP_EPOCH_BEGIN: ask for the access limitation of an epoch
 * @BGDMA_OP_EPOCH_CLOSE: tell the target how many puts the epoch had
 * @BGDMA_OP_EPOCH_END: lift the access limitation
 * @BGDMA_OP_COUNT: number of operations
 *
 * BGDMA_IOC_QUERY tells which ones this kernel executes; the rest stop the
 * FIFO with BGDMA_E_UNSUPPORTED.
 */
enum bgdma_op {
	BGDMA_OP_NOP		= 0,
	BGDMA_OP_MEMFIFO	= 1,
	BGDMA_OP_LOCAL_MEMFIFO	= 2,
	BGDMA_OP_PUT		= 3,
	BGDMA_OP_LOCAL_COPY	= 4,
	BGDMA_OP_RGET		= 5,
	BGDMA_OP_ATOMIC		= 6,
	BGDMA_OP_TREE_REDUCE	= 7,
	BGDMA_OP_TREE_BCAST	= 8,
	BGDMA_OP_TREE_ALLREDUCE	= 9,
	BGDMA_OP_TREE_P2P	= 10,
	BGDMA_OP_EPOCH_BEGIN	= 11,
	BGDMA_OP_EPOCH_CLOSE	= 12,
	BGDMA_OP_EPOCH_END	= 13,
	BGDMA_OP_COUNT		= 14
};

/* bgdma_desc.flags */
#define BGDMA_DESC_INTERRUPT	(1U << 0)	/* mark the packets (DMA-6) */
#define BGDMA_DESC_INLINE	(1U << 1)	/* payload is in @inline_data */
#define BGDMA_DESC_OPS		(1U << 2)	/* @rec_ctr counts transfers */
#define BGDMA_DESC_FENCE	(1U << 3)	/* wait for earlier ones (DMA-2) */
#define BGDMA_DESC_GROUP	(1U << 4)	/* @dst_ctx is a group */
#define BGDMA_DESC_HOLD		(1U << 5)	/* epoch: wait, do not refuse */
#define BGDMA_DESC_FETCH	(1U << 6)	/* atomic: bring the old value */
#define BGDMA_DESC_EXCLUSIVE	(1U << 7)	/* epoch: nobody else */

/* bgdma_desc.route: hints, at most one of each pair, and how to travel */
#define BGDMA_ROUTE_XP		(1U << 0)
#define BGDMA_ROUTE_XM		(1U << 1)
#define BGDMA_ROUTE_YP		(1U << 2)
#define BGDMA_ROUTE_YM		(1U << 3)
#define BGDMA_ROUTE_ZP		(1U << 4)
#define BGDMA_ROUTE_ZM		(1U << 5)
#define BGDMA_ROUTE_ADAPTIVE	(1U << 6)	/* else deterministic */
#define BGDMA_ROUTE_DEPOSIT	(1U << 7)	/* copy at each node of a line */

/* bgdma_desc.dispatch of BGDMA_OP_ATOMIC */
#define BGDMA_ATOMIC(op, type)	((__u16)((op) << 8 | (type)))

/**
 * enum bgdma_atomic_op - what an atomic does to each element at the target
 * @BGDMA_ATOMIC_READ: nothing; for BGDMA_DESC_FETCH
 * @BGDMA_ATOMIC_ADD: adds the operand; wraps
 * @BGDMA_ATOMIC_MUL: multiplies by it; wraps
 * @BGDMA_ATOMIC_MIN: the smaller of both
 * @BGDMA_ATOMIC_MAX: the larger of both
 * @BGDMA_ATOMIC_AND: bit by bit
 * @BGDMA_ATOMIC_OR: bit by bit
 * @BGDMA_ATOMIC_XOR: bit by bit
 * @BGDMA_ATOMIC_SWAP: the operand itself
 * @BGDMA_ATOMIC_CAS: what is at the source, if it was @cookie; one element
 * @BGDMA_ATOMIC_OP_COUNT: number of operations
 */
enum bgdma_atomic_op {
	BGDMA_ATOMIC_READ	= 0,
	BGDMA_ATOMIC_ADD	= 1,
	BGDMA_ATOMIC_MUL	= 2,
	BGDMA_ATOMIC_MIN	= 3,
	BGDMA_ATOMIC_MAX	= 4,
	BGDMA_ATOMIC_AND	= 5,
	BGDMA_ATOMIC_OR		= 6,
	BGDMA_ATOMIC_XOR	= 7,
	BGDMA_ATOMIC_SWAP	= 8,
	BGDMA_ATOMIC_CAS	= 9,
	BGDMA_ATOMIC_OP_COUNT	= 10
};

/* Elements of an atomic: host byte order of the target. */
enum bgdma_atomic_type {
	BGDMA_ATOMIC_S32	= 0,
	BGDMA_ATOMIC_U32	= 1,
	BGDMA_ATOMIC_S64	= 2,
	BGDMA_ATOMIC_U64	= 3,
	BGDMA_ATOMIC_TYPE_COUNT	= 4
};

/*
 * bgdma_desc.dispatch of BGDMA_OP_TREE_REDUCE and _ALLREDUCE: what becomes of two
 * elements. Host byte order.
 */
#define BGDMA_TREE_COMBINE(op, type)	((__u16)((op) << 8 | (type)))

enum bgdma_tree_op {
	BGDMA_TREE_ADD		= 0,	/* wraps */
	BGDMA_TREE_MIN		= 1,
	BGDMA_TREE_MAX		= 2,
	BGDMA_TREE_AND		= 3,
	BGDMA_TREE_OR		= 4,
	BGDMA_TREE_XOR		= 5,
	BGDMA_TREE_OP_COUNT	= 6
};

enum bgdma_tree_type {
	BGDMA_TREE_U16		= 0,
	BGDMA_TREE_S16		= 1,
	BGDMA_TREE_U32		= 2,
	BGDMA_TREE_S32		= 3,
	BGDMA_TREE_U64		= 4,
	BGDMA_TREE_S64		= 5,
	BGDMA_TREE_U128		= 6,
	BGDMA_TREE_S128		= 7,
	BGDMA_TREE_TYPE_WIDE	= 8,	/* in bgdma_query.tree_ops only */
	BGDMA_TREE_TYPE_COUNT	= 9
};

/* Signed, of so many words of 64 bits, the lowest first. */
#define BGDMA_TREE_WIDE(words)	(0x40 | ((words) - 1))
#define BGDMA_TREE_WIDE_MAX	64

/* bgdma_packet.dispatch of BGDMA_OP_TREE_P2P: the first 4 bytes of payload say it */
#define BGDMA_TREE_DISPATCH	0xffffU

/* bgdma_desc.class_prio */
#define BGDMA_CLASS_MASK	0x0fU		/* class of the combining network */
#define BGDMA_PRIORITY		(1U << 4)	/* reserved for links */
#define BGDMA_TREE_PACKETS	(1U << 5)	/* the result is packets, see below */

/**
 * struct bgdma_desc - one transfer, 64 bytes, little-endian
 * @op: enum bgdma_op
 * @flags: BGDMA_DESC_*
 * @route: BGDMA_ROUTE_*
 * @class_prio: class of a tree operation, and BGDMA_TREE_PACKETS or BGDMA_PRIORITY;
 *	else 0
 * @dst_rank: target node
 * @dst_ctx: context at the target node, or group with BGDMA_DESC_GROUP
 * @dst_fifo: reception FIFO, or remote-get queue, at the target; tag of a tree
 *	operation; else 0
 * @inj_ctr: injection counter of the context where the descriptor executes,
 *	moved by the bytes that have left for good; or BGDMA_NONE
 * @rec_ctr: reception counter at the target, moved by the bytes that are
 *	visible there, or by one per transfer with BGDMA_DESC_OPS; or BGDMA_NONE
 * @epoch: epoch that the transfer belongs to; 0: none
 * @length: bytes, at most BGDMA_LENGTH_MAX
 * @dispatch: operation identifier of a memory FIFO message; of an atomic or
 *	tree operation: operation in the high byte, type in the low one
 * @resv: 0
 * @u: where the payload is and goes, or the payload itself
 * @u.at: without BGDMA_DESC_INLINE
 * @u.at.src_region: where the payload is, in the context that executes;
 *	BGDMA_NONE in a remote get marks it unfilled (SP-2)
 * @u.at.dst_region: where the payload goes; BGDMA_NONE for FIFO operations
 * @u.at.src_off: byte offset in the source region
 * @u.at.dst_off: byte offset in the target region; 0 for FIFO operations
 * @u.inline_data: payload with BGDMA_DESC_INLINE
 * @cookie: travels with every packet of the message, or of the result; operand of
 *	an atomic of one element; puts of an epoch that closes
 *
 * BGDMA_OP_ATOMIC, with @dispatch BGDMA_ATOMIC(op, type): of one element the
 * operand is @cookie, and with BGDMA_DESC_FETCH what was there before goes to
 * the source place, which else is BGDMA_NONE. Of several the operands are at the
 * source place, and FETCH puts what was there in their stead. Each element is
 * updated at once, the whole of them is not.
 *
 * BGDMA_OP_EPOCH_BEGIN, _CLOSE and _END name a region with a gate
 * (BGDMA_IOC_GATE) and an @epoch. BEGIN asks for its limitation, with
 * BGDMA_DESC_EXCLUSIVE or shared, and with BGDMA_DESC_HOLD waits for it in the
 * gate's queue, where it keeps up nothing behind it in its FIFO; when the
 * limitation is there @inj_ctr moves by one. CLOSE tells how many puts of
 * the epoch there were, as @cookie; when the target has got as many, @inj_ctr
 * moves by one. END lifts the limitation.
 * A transfer with @epoch counts as one of that epoch at the gate of the region
 * that it puts to, or of a descriptor from elsewhere, that it reads.
 *
 * BGDMA_OP_TREE_REDUCE, _BCAST and _ALLREDUCE are this context's part in a
 * collective of the class in @class_prio (BGDMA_IOC_CLASS_BIND), in which all members
 * take part in the same order. @dst_fifo is a tag; operation, tag, @dispatch and
 * @length are the same at all members. The source place has what this one
 * contributes (BCAST: at the root of the class), and @inj_ctr moves when that has
 * left; the target place, of this context too, is where the result lands (REDUCE:
 * at the root; BCAST: at the others), where @rec_ctr counts it, or with
 * BGDMA_DESC_OPS the end of the collective, at any member. A target place that is
 * BGDMA_NONE gets nothing, and a source place that is not used may be BGDMA_NONE.
 * With BGDMA_TREE_PACKETS, which is each member's own choice, the result is a
 * message of packets for a reception FIFO of this context: @dst_region is its
 * number, the tag their operation identifier, and @cookie theirs.
 * BGDMA_OP_TREE_P2P is a message of packets as BGDMA_OP_MEMFIFO, but @dst_rank is
 * the rank in the class, and the payload begins with an operation identifier.
 *
 * Fields that an operation does not use hold 0, or BGDMA_NONE where they are
 * handles; anything else is BGDMA_E_FIELD.
 */
struct bgdma_desc {
	__u8	op;
	__u8	flags;
	__u8	route;
	__u8	class_prio;
	__le32	dst_rank;
	__le16	dst_ctx;
	__le16	dst_fifo;
	__le32	inj_ctr;
	__le32	rec_ctr;
	__le32	epoch;
	__le32	length;
	__le16	dispatch;
	__le16	resv;
	union {
		struct {
			__le32	src_region;
			__le32	dst_region;
			__le64	src_off;
			__le64	dst_off;
		} at;
		__u8	inline_data[BGDMA_INLINE_MAX];
	} u;
	__le64	cookie;
};

/* ------------------------------------------------------------------------
 * Packets in a reception FIFO
 */
#define BGDMA_PACKET_FIRST	(1U << 0)	/* first of its message */
#define BGDMA_PACKET_LAST	(1U << 1)	/* last of its message */
#define BGDMA_PACKET_INTERRUPT	(1U << 2)	/* was marked by the sender */
#define BGDMA_PACKET_DEPOSITED	(1U << 3)	/* a copy left by a deposit */
#define BGDMA_PACKET_ADAPTIVE	(1U << 4)
#define BGDMA_PACKET_ERROR	(1U << 5)	/* message ends here, incomplete */

#define BGDMA_PACKET_ALIGN	32

/**
 * struct bgdma_packet - header of a packet in a reception FIFO, 32 bytes
 * @type: enum bgdma_op that made it
 * @flags: BGDMA_PACKET_*
 * @bytes: payload that follows this header
 * @src_rank: node that sent it; written by the kernel, cannot be forged
 * @src_ctx: context that sent it, or that a remote descriptor came from
 * @dispatch: from the descriptor
 * @msg_id: the same in all packets of a message and in the traces of both sides
 * @offset: of this payload in the message
 * @msg_length: bytes of the whole message
 * @cookie: from the descriptor
 *
 * Host byte order. The next packet starts at the next multiple of
 * BGDMA_PACKET_ALIGN; the ring is mapped twice in a row, so none ever wraps.
 */
struct bgdma_packet {
	__u8	type;
	__u8	flags;
	__u16	bytes;
	__u32	src_rank;
	__u16	src_ctx;
	__u16	dispatch;
	__u32	msg_id;
	__u32	offset;
	__u32	msg_length;
	__u64	cookie;
};

/* ------------------------------------------------------------------------
 * Errors that the engine reports: in records, events and counters
 */

/**
 * enum bgdma_code - why a transfer, FIFO or counter is in error
 *
 * Documentation/uapi.rst has the table of what raises and clears each.
 */
enum bgdma_code {
	BGDMA_OK		= 0,
	BGDMA_E_INDEX		= 1,	/* ring index moved by more than the ring holds */
	BGDMA_E_OP		= 2,	/* no such operation */
	BGDMA_E_UNSUPPORTED	= 3,	/* operation, flag or route not in this kernel */
	BGDMA_E_FLAGS		= 4,	/* flags or route hints that exclude each other */
	BGDMA_E_FIELD		= 5,	/* unused field is not zero (or BGDMA_NONE) */
	BGDMA_E_LENGTH		= 6,	/* length not possible for this operation */
	BGDMA_E_REGION		= 7,	/* no such region */
	BGDMA_E_COUNTER		= 8,	/* no such counter */
	BGDMA_E_STALE		= 9,	/* handle of an earlier generation */
	BGDMA_E_BOUNDS		= 10,	/* offset and length leave the region or grant */
	BGDMA_E_RIGHTS		= 11,	/* object is there, not for this principal */
	BGDMA_E_NO_PEER		= 12,	/* nobody at that rank and context */
	BGDMA_E_PEER_DOWN	= 13,	/* peer that we dealt with died or left */
	BGDMA_E_FIFO		= 14,	/* no such reception FIFO or remote-get queue */
	BGDMA_E_RGET_FULL	= 15,	/* waited too long for room in a remote-get queue */
	BGDMA_E_UNFILLED	= 16,	/* remote get that was never filled in */
	BGDMA_E_PROVENANCE	= 17,	/* not allowed to a descriptor from another node */
	BGDMA_E_UNDERFLOW	= 18,	/* counter went below zero */
	BGDMA_E_CANCELLED	= 19,	/* by BGDMA_IOC_CANCEL or by closing its FIFO */
	BGDMA_E_ABORTED		= 20,	/* other side of the transfer failed; see bound */
	/* with later operations */
	BGDMA_E_ALIGN		= 21,	/* operand not naturally aligned */
	BGDMA_E_EPOCH_HELD	= 32,	/* region is held by another epoch */
	BGDMA_E_EPOCH_CLOSED	= 33,	/* epoch is in its closing stage, over, or none */
	BGDMA_E_EPOCH_COUNT	= 34,	/* more puts arrived than were sent */
	BGDMA_E_EPOCH_BUSY	= 35,	/* epoch identifier is in use, or queue full */
	BGDMA_E_GROUP		= 36,	/* no such group or slot */
	BGDMA_E_TREE_MISMATCH	= 37,	/* members contributed different operations */
	BGDMA_E_LINK_DOWN	= 38,	/* no way to that node */
	BGDMA_E_TIMEOUT		= 39,	/* peer kernel did not answer in time */
	BGDMA_E_CLASS		= 40	/* no such class of the combining network */
};

/* What a record, event, grant, binding or condition is about. */
enum bgdma_kind {
	BGDMA_KIND_CONTEXT	= 0,
	BGDMA_KIND_INJ_FIFO	= 1,
	BGDMA_KIND_REC_FIFO	= 2,
	BGDMA_KIND_RGET_QUEUE	= 3,
	BGDMA_KIND_INJ_COUNTER	= 4,
	BGDMA_KIND_REC_COUNTER	= 5,
	BGDMA_KIND_REGION	= 6,
	BGDMA_KIND_EVENTS	= 7,
	BGDMA_KIND_GROUP	= 8,
	BGDMA_KIND_CLASS	= 9
};

/**
 * struct bgdma_record - last error of a counter or FIFO, 64 bytes, read-only
 * @code: enum bgdma_code; written last, so read it first and with acquire
 * @lost: further errors since this one, which is kept until it is cleared
 * @desc_seq: sequence number of the descriptor in its FIFO, since creation
 * @fifo: FIFO or remote-get queue that the descriptor was in
 * @fifo_kind: enum bgdma_kind of @fifo
 * @peer_ctx: context of @peer_rank
 * @peer_rank: the other node of the transfer
 * @transfer_id: as in the packets and traces of both sides; 0: no transfer
 * @offset: where in the region, ring or transfer it went wrong
 * @bound: what @offset had to stay within; for BGDMA_E_ABORTED the cause
 * @resv: 0
 */
struct bgdma_record {
	__u32	code;
	__u32	lost;
	__u64	desc_seq;
	__u32	fifo;
	__u16	fifo_kind;
	__u16	peer_ctx;
	__u32	peer_rank;
	__u32	transfer_id;
	__u64	offset;
	__u64	bound;
	__u64	resv[2];
};

/* bgdma_event.type */
enum bgdma_event_type {
	BGDMA_EVENT_PEER_DOWN	= 1,	/* a peer left or died */
	BGDMA_EVENT_FIFO_ERROR	= 2,	/* a FIFO of ours is in error */
	BGDMA_EVENT_COUNTER	= 3,	/* a counter of ours is in error */
	BGDMA_EVENT_REFUSED	= 4,	/* our remote descriptor was refused at peer */
	BGDMA_EVENT_OFFENDER	= 5,	/* we refused a remote descriptor of peer */
	BGDMA_EVENT_PARTITION	= 6,	/* the partition was deleted */
	BGDMA_EVENT_EPOCH	= 7,	/* an epoch broke, or asks: see uapi.rst */
	BGDMA_EVENT_CLASS	= 8	/* a class broke; peer is who broke it */
};

/**
 * struct bgdma_event - what has no transfer to report it, 64 bytes
 * @type: enum bgdma_event_type
 * @code: enum bgdma_code
 * @peer_rank: the other node, or BGDMA_RANK_ANY
 * @peer_ctx: its context
 * @kind: enum bgdma_kind of @object
 * @peer_incarnation: of the peer's context
 * @object: handle or id
 * @desc_seq: sequence number of the descriptor
 * @transfer_id: as in packets and traces; 0: no transfer
 * @cookie: of the descriptor
 * @offset: as in struct bgdma_record
 * @bound: as in struct bgdma_record
 */
struct bgdma_event {
	__u32	type;
	__u32	code;
	__u32	peer_rank;
	__u16	peer_ctx;
	__u16	kind;
	__u32	peer_incarnation;
	__u32	object;
	__u64	desc_seq;
	__u64	transfer_id;
	__u64	cookie;
	__u64	offset;
	__u64	bound;
};

/* ------------------------------------------------------------------------
 * Mapped areas
 *
 * BGDMA_IOC_ATTACH and the create calls return the mmap offset and the bytes
 * of each. Pages that the kernel alone writes cannot be mapped writable. All
 * need MAP_SHARED, the whole area at once; they are not inherited by fork.
 *
 * Documentation/rings.rst states the memory order. In short: the owner of an
 * index stores it with release, the other side loads it with acquire.
 */
enum bgdma_area_id {
	BGDMA_AREA_USER_CTL	= 0,	/* read-write */
	BGDMA_AREA_KERN_CTL	= 1,	/* read-only */
	BGDMA_AREA_COUNTERS	= 2,	/* read-write */
	BGDMA_AREA_RECORDS	= 3,	/* read-only */
	BGDMA_AREA_EVENTS	= 4,	/* read-only */
	BGDMA_AREA_COUNT	= 5
};

struct bgdma_area {
	__aligned_u64 offset;
	__aligned_u64 bytes;
};

#define BGDMA_CTR_WORDS		(BGDMA_COUNTERS_MAX / 64)
#define BGDMA_INJ_WORDS		(BGDMA_INJ_FIFOS_MAX / 64)

/* Index of a counter kind in hit_zero, enable and counter_error. */
#define BGDMA_INJECTION		0
#define BGDMA_RECEPTION		1

/**
 * struct bgdma_user_ctl - head of the area that user space writes
 * @doorbell: bit per injection FIFO: its tail has moved
 * @doorbell_rec: bit per reception FIFO: its head has moved, and it was starved
 * @events_head: events consumed, since attach
 * @leases: not 0: some counter is leased to one peer, so look at the leases
 *	when a peer dies
 * @resv0: 0
 * @resv: 0
 * @hit_zero: bit per counter, by kind: it has reached zero; set by whoever
 *	reached it (engine or library), cleared by software
 * @enable: bit per counter, by kind: a hit is an interrupt (poll, eventfd)
 *
 * The lines of the injection FIFOs, then of the reception FIFOs, follow at the
 * offsets that BGDMA_IOC_ATTACH returned.
 */
struct bgdma_user_ctl {
	__u64	doorbell[BGDMA_INJ_WORDS];
	__u64	doorbell_rec;
	__u64	events_head;
	__u32	leases;
	__u32	resv0;
	__u64	resv[13];
	__u64	hit_zero[2][BGDMA_CTR_WORDS];
	__u64	enable[2][BGDMA_CTR_WORDS];
};

/* bgdma_rec_user.arm: which arrivals wake a sleeper (DMA-6) */
#define BGDMA_ARM_NONE		0
#define BGDMA_ARM_ANY		1
#define BGDMA_ARM_MARKED	2	/* marked packets only */
#define BGDMA_ARM_OCCUPANCY	3	/* when at least @arm_bytes are in the FIFO */

struct bgdma_inj_user {
	__u64	tail;		/* descriptors written, since creation */
	__u64	resv[7];
};

struct bgdma_rec_user {
	__u64	head;		/* bytes consumed, since creation */
	__u32	arm;		/* BGDMA_ARM_* */
	__u32	arm_bytes;
	__u64	marked_seen;	/* marked packets that software has dealt with */
	__u64	resv[5];
};

/* bgdma_kern_ctl.wake */
#define BGDMA_NEED_WAKEUP	1U	/* engine sleeps: ring by BGDMA_IOC_DOORBELL */

/* bgdma_kern_ctl.state */
#define BGDMA_STATE_ATTACHED	1U
#define BGDMA_STATE_DEAD	2U	/* the partition is gone */

/**
 * struct bgdma_kern_ctl - head of the area that the kernel writes
 * @wake: BGDMA_NEED_WAKEUP, or 0 while the engine polls this context's doorbell
 * @state: BGDMA_STATE_*
 * @events_tail: events written, since attach
 * @events_lost: events that found the ring full
 * @resv: 0
 * @counter_error: bit per counter, by kind: its record holds an error
 * @inj_error: bit per injection FIFO
 * @rec_error: bit per reception FIFO
 * @rgq_error: bit per remote-get queue: it refused descriptors since the clear
 * @resv1: 0
 */
struct bgdma_kern_ctl {
	__u32	wake;
	__u32	state;
	__u64	events_tail;
	__u64	events_lost;
	__u64	resv[5];
	__u64	counter_error[2][BGDMA_CTR_WORDS];
	__u64	inj_error[BGDMA_INJ_WORDS];
	__u64	rec_error;
	__u64	rgq_error;
	__u64	resv1[6];
};

/* bgdma_inj_kern.state */
#define BGDMA_FIFO_RUNNING	0
#define BGDMA_FIFO_BLOCKED	1	/* waits for room at the target */
#define BGDMA_FIFO_ERROR	2	/* stopped; see its record */

struct bgdma_inj_kern {
	__u64	head;		/* descriptors fetched: their slots are free */
	__u64	done;		/* descriptors that ended, all before this one too */
	__u32	state;		/* BGDMA_FIFO_* */
	__u32	resv0;
	__u64	resv[5];
};

struct bgdma_rec_kern {
	__u64	tail;		/* bytes written, since creation */
	__u64	packets;	/* packets written, since creation */
	__u64	marked;		/* marked packets among them */
	__u32	starved;	/* senders wait: set the doorbell when head moves */
	__u32	resv0;
	__u64	resv[4];
};

/**
 * struct bgdma_counter_cell - a counter, 64 bytes, read-write on both sides
 * @value: signed count; only changed by atomic add
 * @zero_seq: times that it reached zero
 * @wake_at: a sleeper wakes when @value is at or below this; usually 0
 * @arm: sleepers; who brings @value to @wake_at or below calls BGDMA_IOC_NOTIFY
 *	when this is not 0 or the counter is enabled
 * @lease_gen: generation that handles must carry, 1 to 65535
 * @lease_peer: rank that may move it from outside, or BGDMA_RANK_ANY/NOBODY
 * @lease_ctx: context of that rank, or BGDMA_CTX_ANY
 * @resv: 0
 *
 * The owner may write all of it: a wrong value harms nobody else.
 */
struct bgdma_counter_cell {
	__s64	value;
	__u64	zero_seq;
	__s64	wake_at;
	__u32	arm;
	__u32	lease_gen;
	__u32	lease_peer;
	__u32	lease_ctx;
	__u64	resv[3];
};

/* ------------------------------------------------------------------------
 * ioctls: every structure starts with its size; see the top of this file.
 */
#define BGDMA_IOC_TYPE		0xBD

/* bgdma_query.features */
#define BGDMA_FEATURE_URING_DOORBELL	(1ULL << 0)
#define BGDMA_FEATURE_URING_WAIT	(1ULL << 1)	/* cancellable waits */

/**
 * struct bgdma_query - BGDMA_IOC_QUERY: what this kernel does; needs no attach
 * @size: sizeof(struct bgdma_query)
 * @abi_version: out: BGDMA_ABI_VERSION
 * @features: out: BGDMA_FEATURE_*
 * @ops: out: bit per enum bgdma_op that is executed
 * @desc_flags: out: BGDMA_DESC_* that are honoured
 * @routes: out: BGDMA_ROUTE_* that are honoured
 * @packet_max: out: BGDMA_PACKET_MAX of this kernel
 * @length_max: out: BGDMA_LENGTH_MAX of this kernel
 * @rget_desc_max: out: descriptors of one remote get
 * @atomic_ops: out: bit operation * BGDMA_ATOMIC_TYPE_COUNT + type for each
 *	atomic that is executed
 * @tree_ops: out: bit operation * BGDMA_TREE_TYPE_COUNT + type for each that the
 *	combining network does
 */
struct bgdma_query {
	__u32	size;
	__u32	abi_version;
	__aligned_u64 features;
	__u32	ops;
	__u32	desc_flags;
	__u32	routes;
	__u32	packet_max;
	__u32	length_max;
	__u32	rget_desc_max;
	__aligned_u64 atomic_ops;
	__aligned_u64 tree_ops;
};

/* struct bgdma_attach: flags */
#define BGDMA_ATTACH_WATCH	(1U << 0)	/* hear of the end of all of the same user */

/**
 * struct bgdma_attach - BGDMA_IOC_ATTACH: become a context of a node
 * @size: sizeof(struct bgdma_attach)
 * @flags: BGDMA_ATTACH_*
 * @partition: name, zero-terminated
 * @rank: node
 * @ctx: in: context number wanted or BGDMA_CTX_ANY for the lowest; out: given
 * @resv: 0
 * @inj_fifos: room for so many injection FIFOs; 0: 16
 * @rec_fifos: reception FIFOs; 0: 8
 * @rget_queues: remote-get queues; 0: 4
 * @inj_counters: injection counters; 0: 64
 * @rec_counters: reception counters; 0: 64
 * @events: entries of the events ring, a power of two; 0: 64
 * @incarnation: out: names this attach among all of this node's
 * @dims: out: nodes along X, Y and Z
 * @torus: out: bit per axis: 1 torus, 0 mesh
 * @user_inj: out: byte offset of struct bgdma_inj_user[] in USER_CTL
 * @user_rec: out: of struct bgdma_rec_user[]
 * @kern_inj: out: of struct bgdma_inj_kern[] in KERN_CTL
 * @kern_rec: out: of struct bgdma_rec_kern[]
 * @cells: out: byte offset of the cells in COUNTERS, by kind
 * @rec_counter_inj: out: byte offset of the records of the injection counters
 * @rec_counter_rec: out: of the reception counters
 * @rec_inj: out: of the injection FIFOs
 * @rec_rec: out: of the reception FIFOs
 * @rec_rgq: out: of the remote-get queues
 * @resv1: 0
 * @areas: out: what to map, by enum bgdma_area_id
 *
 * EISCONN attached already; ENOENT no such partition in this network
 * namespace, or no such rank; EREMOTE that node lives elsewhere, behind a
 * link; EACCES the partition's mode (which CAP_NET_ADMIN
 * in its user namespace passes), or the node belongs to another user;
 * EADDRINUSE that context number is taken; EMFILE the user has as many contexts
 * as the partition allows; ENOSPC the node is full; ENOMEM.
 */
struct bgdma_attach {
	__u32	size;
	__u32	flags;
	char	partition[BGDMA_NAME_MAX];
	__u32	rank;
	__u16	ctx;
	__u16	resv;
	__u32	inj_fifos;
	__u32	rec_fifos;
	__u32	rget_queues;
	__u32	inj_counters;
	__u32	rec_counters;
	__u32	events;
	__u32	incarnation;
	__u32	dims[3];
	__u32	torus;
	__u32	user_inj;
	__u32	user_rec;
	__u32	kern_inj;
	__u32	kern_rec;
	__u32	cells[2];
	__u32	rec_counter_inj;
	__u32	rec_counter_rec;
	__u32	rec_inj;
	__u32	rec_rec;
	__u32	rec_rgq;
	__u32	resv1;
	struct bgdma_area areas[BGDMA_AREA_COUNT];
};

/**
 * struct bgdma_inj_create - BGDMA_IOC_INJ_CREATE: an injection FIFO
 * @size: sizeof(struct bgdma_inj_create)
 * @flags: 0
 * @id: in: wanted or BGDMA_ID_ANY; out: given
 * @entries: descriptors, a power of two
 * @ring: out: the ring, struct bgdma_desc[entries], read-write
 *
 * EEXIST that id is taken; ENOSPC no id is left; EMFILE the partition allows
 * no more; ENOMEM.
 */
struct bgdma_inj_create {
	__u32	size;
	__u32	flags;
	__u32	id;
	__u32	entries;
	struct bgdma_area ring;
};

/**
 * struct bgdma_rec_create - BGDMA_IOC_REC_CREATE: a reception FIFO
 * @size: sizeof(struct bgdma_rec_create)
 * @flags: 0
 * @id: in: wanted or BGDMA_ID_ANY; out: given
 * @bytes: of the ring, a power of two
 * @ring: out: the ring, twice in a row, so ring.bytes is 2 * @bytes; read-only
 *
 * Nobody else may send to it until BGDMA_IOC_GRANT gives BGDMA_RIGHT_ACCEPT.
 * Errors as for BGDMA_IOC_INJ_CREATE.
 */
struct bgdma_rec_create {
	__u32	size;
	__u32	flags;
	__u32	id;
	__u32	bytes;
	struct bgdma_area ring;
};

/**
 * struct bgdma_rgq_create - BGDMA_IOC_RGQ_CREATE: a remote-get queue
 * @size: sizeof(struct bgdma_rgq_create)
 * @flags: 0
 * @id: in: wanted or BGDMA_ID_ANY; out: given
 * @quota: descriptors that one sender may have waiting, a power of two from
 *	BGDMA_RGET_DESC_MAX to 4096
 * @senders: senders that can have descriptors waiting at once, 1 to 1024
 * @timeout_ms: how long a remote get waits for room before it fails at its
 *	origin with BGDMA_E_RGET_FULL; 0: 2000; at most 3,600,000
 *
 * Nobody may inject into it until BGDMA_IOC_GRANT gives BGDMA_RIGHT_INJECT.
 * Errors as for BGDMA_IOC_INJ_CREATE.
 */
struct bgdma_rgq_create {
	__u32	size;
	__u32	flags;
	__u32	id;
	__u32	quota;
	__u32	senders;
	__u32	timeout_ms;
};

/**
 * struct bgdma_fifo_destroy - BGDMA_IOC_FIFO_DESTROY
 * @size: sizeof(struct bgdma_fifo_destroy)
 * @kind: BGDMA_KIND_INJ_FIFO, _REC_FIFO or _RGET_QUEUE
 * @id: which
 * @resv: 0
 *
 * What is still in it is dropped; transfers under way end with
 * BGDMA_E_CANCELLED, senders that wait for it with BGDMA_E_FIFO. ENOENT.
 */
struct bgdma_fifo_destroy {
	__u32	size;
	__u32	kind;
	__u32	id;
	__u32	resv;
};

/* bgdma_counter_alloc.flags */
#define BGDMA_COUNTER_NO_UNDERFLOW (1U << 0)	/* may go below zero (DMA-5) */

/**
 * struct bgdma_counter_alloc - BGDMA_IOC_COUNTER_ALLOC
 * @size: sizeof(struct bgdma_counter_alloc)
 * @flags: BGDMA_COUNTER_*
 * @kind: BGDMA_KIND_INJ_COUNTER or BGDMA_KIND_REC_COUNTER
 * @count: so many in a row
 * @first: out: slot of the first; handles are BGDMA_HANDLE(slot, lease_gen)
 * @resv: 0
 *
 * The cells are set to value 0, lease to anybody, a new generation. ENOSPC.
 */
struct bgdma_counter_alloc {
	__u32	size;
	__u32	flags;
	__u32	kind;
	__u32	count;
	__u32	first;
	__u32	resv;
};

/**
 * struct bgdma_counter_free - BGDMA_IOC_COUNTER_FREE
 * @size: sizeof(struct bgdma_counter_free)
 * @kind: as for the allocation
 * @first: slot of the first
 * @count: so many in a row
 *
 * ENOENT one of them is not allocated; then none is freed.
 */
struct bgdma_counter_free {
	__u32	size;
	__u32	kind;
	__u32	first;
	__u32	count;
};

/*
 * Rights. The first two say what the owner's own descriptors may do to a
 * region, the others are granted to peers.
 */
#define BGDMA_LOCAL_READ	(1U << 0)
#define BGDMA_LOCAL_WRITE	(1U << 1)
#define BGDMA_RIGHT_READ	(1U << 2)	/* region: source of a remote descriptor */
#define BGDMA_RIGHT_WRITE	(1U << 3)	/* region: target of puts */
#define BGDMA_RIGHT_FETCH	(1U << 4)	/* region: descriptors may be fetched */
#define BGDMA_RIGHT_ATOMIC	(1U << 5)	/* region: target of atomics */
#define BGDMA_RIGHT_EPOCH	(1U << 6)	/* region: epochs may be begun */
#define BGDMA_RIGHT_COUNT	(1U << 7)	/* counter: may be moved */
#define BGDMA_RIGHT_ACCEPT	(1U << 8)	/* reception FIFO: packets */
#define BGDMA_RIGHT_INJECT	(1U << 9)	/* remote-get queue: descriptors */

/**
 * struct bgdma_region_pin - BGDMA_IOC_REGION_PIN: register user memory
 * @size: sizeof(struct bgdma_region_pin)
 * @rights: BGDMA_LOCAL_*
 * @addr: first byte, any alignment
 * @length: bytes, at least 1
 * @handle: out
 * @resv: 0
 *
 * The pages are pinned for as long as the region lives and are charged to
 * RLIMIT_MEMLOCK. EFAULT the memory is not a private mapping, shared memory,
 * memfd or hugetlb, or not writable; ENOMEM the limit, or memory; ENOSPC 65,535
 * regions.
 */
struct bgdma_region_pin {
	__u32	size;
	__u32	rights;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32	handle;
	__u32	resv;
};

/**
 * struct bgdma_region_alloc - BGDMA_IOC_REGION_ALLOC: memory of the driver
 * @size: sizeof(struct bgdma_region_alloc)
 * @rights: BGDMA_LOCAL_*
 * @length: bytes, at least 1; zeroed
 * @handle: out
 * @resv: 0
 * @mem: out: what to map, read-write
 *
 * Charged to the memory cgroup. ENOMEM; ENOSPC.
 */
struct bgdma_region_alloc {
	__u32	size;
	__u32	rights;
	__aligned_u64 length;
	__u32	handle;
	__u32	resv;
	struct bgdma_area mem;
};

/**
 * struct bgdma_region_free - BGDMA_IOC_REGION_FREE
 * @size: sizeof(struct bgdma_region_free)
 * @handle: region
 *
 * Transfers that use it end with BGDMA_E_REGION. When the call returns no
 * page is pinned or charged any more. ENOENT.
 */
struct bgdma_region_free {
	__u32	size;
	__u32	handle;
};

/**
 * struct bgdma_grant - BGDMA_IOC_GRANT: let a peer use an object of ours
 * @size: sizeof(struct bgdma_grant)
 * @kind: BGDMA_KIND_REGION, _INJ_COUNTER, _REC_COUNTER, _REC_FIFO, _RGET_QUEUE
 * @object: handle, or id; of counters the slot of the first
 * @count: counters in a row; else 1
 * @rank: to whom, or BGDMA_RANK_ANY
 * @ctx: which context of that rank, or BGDMA_CTX_ANY
 * @resv: 0
 * @incarnation: which attach of that context, or 0 for any
 * @rights: BGDMA_RIGHT_* that fit @kind
 * @lo: first byte of a region that it covers; else 0
 * @hi: byte after the last, 0 for the end; else 0
 * @id: out: names the grant in BGDMA_IOC_REVOKE
 * @resv1: 0
 *
 * ENOENT no such object; ESTALE handle of an earlier generation; ENOSPC the
 * object has BGDMA_GRANTS_MAX grants already.
 */
struct bgdma_grant {
	__u32	size;
	__u32	kind;
	__u32	object;
	__u32	count;
	__u32	rank;
	__u16	ctx;
	__u16	resv;
	__u32	incarnation;
	__u32	rights;
	__aligned_u64 lo;
	__aligned_u64 hi;
	__u32	id;
	__u32	resv1;
};

/**
 * struct bgdma_revoke - BGDMA_IOC_REVOKE
 * @size: sizeof(struct bgdma_revoke)
 * @id: grant
 *
 * When it returns no transfer uses the grant any more. ENOENT.
 */
struct bgdma_revoke {
	__u32	size;
	__u32	id;
};

/**
 * struct bgdma_group_slot - an object that members of a group may use
 * @kind: BGDMA_KIND_REC_FIFO, _RGET_QUEUE, _INJ_COUNTER, _REC_COUNTER, _REGION
 * @object: id of a FIFO or queue, else handle
 */
struct bgdma_group_slot {
	__u32	kind;
	__u32	object;
};

/**
 * struct bgdma_group_member - who may use the slots
 * @rank: node
 * @ctx: context of it
 * @resv: 0
 * @incarnation: which attach of that context, or 0 for any
 */
struct bgdma_group_member {
	__u32	rank;
	__u16	ctx;
	__u16	resv;
	__u32	incarnation;
};

/**
 * struct bgdma_group_bind - BGDMA_IOC_GROUP_BIND: become a member of a group
 * @size: sizeof(struct bgdma_group_bind)
 * @flags: 0
 * @group: number, below BGDMA_GROUPS_MAX, the same at every member
 * @count: slots, at most BGDMA_GROUP_SLOTS
 * @slots: struct bgdma_group_slot[], which means the same at every member
 * @members: struct bgdma_group_member[], each rank at most once
 * @member_count: 1 to BGDMA_GROUP_MEMBERS_MAX
 * @resv: 0
 *
 * What members send under the group may use the slots, as the owner may, until
 * BGDMA_IOC_GROUP_UNBIND. A FIFO that is destroyed leaves its slots, a handle
 * that goes stale is refused. EEXIST a context of this node has that group
 * already; ENOENT, ESTALE the object of a slot; EFAULT; ENOMEM.
 */
struct bgdma_group_bind {
	__u32	size;
	__u32	flags;
	__u32	group;
	__u32	count;
	__aligned_u64 slots;
	__aligned_u64 members;
	__u32	member_count;
	__u32	resv;
};

/**
 * struct bgdma_group_unbind - BGDMA_IOC_GROUP_UNBIND
 * @size: sizeof(struct bgdma_group_unbind)
 * @group: number
 *
 * When it returns no transfer uses the slots under the group any more. ENOENT.
 */
struct bgdma_group_unbind {
	__u32	size;
	__u32	group;
};

/* bgdma_class_bind.flags */
#define BGDMA_CLASS_P2P		(1U << 0)	/* remember all members: BGDMA_OP_TREE_P2P */

/**
 * struct bgdma_class_bind - BGDMA_IOC_CLASS_BIND: become a member of a virtual tree
 * @size: sizeof(struct bgdma_class_bind)
 * @flags: BGDMA_CLASS_*
 * @number: number, below BGDMA_CLASSES_MAX, the same at every member
 * @instance: not 0, the same at every member, and another for another use
 * @rank: of this context in the class
 * @member_count: 1 to BGDMA_CLASS_MEMBERS_MAX
 * @members: struct bgdma_group_member[], by rank in the class, with incarnations.
 *	0 is the root; the children of r are 2 r + 1 and 2 r + 2
 * @packet: bytes of payload of a packet, BGDMA_CLASS_PACKET_MIN to
 *	BGDMA_PACKET_MAX, a multiple of 16, the same at every member; 0: BGDMA_PACKET_MAX
 * @window: packets that the class keeps, a power of two, up to BGDMA_CLASS_WINDOW_MAX;
 *	0: 16
 *
 * All members bind a class before the first uses it: a packet for a class that is
 * not bound is refused, and breaks that of its sender. Only the parent and the
 * children of a member reach its class. EEXIST the number is in use; EINVAL also
 * when @members does not say that this context has @rank; EFAULT; ENOMEM.
 */
struct bgdma_class_bind {
	__u32	size;
	__u32	flags;
	__u32	number;
	__u32	instance;
	__u32	rank;
	__u32	member_count;
	__aligned_u64 members;
	__u32	packet;
	__u32	window;
};

/* bgdma_class_unbind.flags */
#define BGDMA_CLASS_BREAK	(1U << 0)	/* break it, for all members */

/**
 * struct bgdma_class_unbind - BGDMA_IOC_CLASS_UNBIND
 * @size: sizeof(struct bgdma_class_unbind)
 * @number: number
 * @flags: BGDMA_CLASS_*
 * @resv: 0
 *
 * EBUSY packets of collectives are on their way from or to parent or children, or the
 * word that this context leaves, or to its own reader that a result breaks off: try
 * again. Who waits for it then, or begins another
 * collective, has a broken class. ENOENT.
 */
struct bgdma_class_unbind {
	__u32	size;
	__u32	number;
	__u32	flags;
	__u32	resv;
};

/* bgdma_gate.flags */
#define BGDMA_GATE_ASK		(1U << 0)	/* the owner lets each epoch begin */

#define BGDMA_GATES_MAX		1024	/* of one context */
#define BGDMA_EPOCHS_MAX	4096	/* of one gate */
#define BGDMA_EPOCHS_EACH	16	/* of one context at one gate */

/**
 * struct bgdma_gate - BGDMA_IOC_GATE: let a region have epochs
 * @size: sizeof(struct bgdma_gate)
 * @flags: BGDMA_GATE_*
 * @region: handle
 * @epochs: at once, those that wait for their limitation too, 1 to
 *	BGDMA_EPOCHS_MAX; 0: 64
 * @with: handle of a region of the same owner: share the gate that was made for
 *	it; @flags and @epochs are 0. 0: have an own one
 * @resv: 0
 *
 * The region has its gate until it is freed. Epochs are begun by those whom
 * BGDMA_RIGHT_EPOCH is granted, and by the owner; at a gate that is shared they
 * name the region that it was made for, keep others out of all of them, and puts
 * to any of them count. When that region is freed nothing of others goes into the
 * rest any more. ENOENT no such region, or @with has no gate of its own; EEXIST;
 * ENOSPC BGDMA_GATES_MAX are there; ENOMEM.
 */
struct bgdma_gate {
	__u32	size;
	__u32	flags;
	__u32	region;
	__u32	epochs;
	__u32	with;
	__u32	resv;
};

/* bgdma_epoch.state */
#define BGDMA_EPOCH_WAITING	0	/* for its limitation */
#define BGDMA_EPOCH_ASKED	1	/* for the owner: BGDMA_GATE_ASK */
#define BGDMA_EPOCH_OPEN	2
#define BGDMA_EPOCH_CLOSING	3	/* puts are missing */
#define BGDMA_EPOCH_CLOSED	4	/* all puts are there */
#define BGDMA_EPOCH_OVER	5	/* in events */

/**
 * struct bgdma_epoch - an epoch at a gate
 * @rank: of its origin
 * @ctx: context of its origin
 * @state: BGDMA_EPOCH_*
 * @incarnation: of its origin
 * @epoch: identifier, of the origin's choice
 * @exclusive: 1, or 0: shared
 * @resv: 0
 * @got: puts of it that have come
 * @put: puts that there were; 0 before CLOSING
 */
struct bgdma_epoch {
	__u32	rank;
	__u16	ctx;
	__u16	state;
	__u32	incarnation;
	__u32	epoch;
	__u32	exclusive;
	__u32	resv;
	__u64	got;
	__u64	put;
};

/**
 * struct bgdma_epochs - BGDMA_IOC_EPOCHS: what is at a gate of ours
 * @size: sizeof(struct bgdma_epochs)
 * @flags: 0
 * @region: handle
 * @count: in: room; out: how many there are, of which the first that found room
 *	were written: those that hold it, then those that wait, in their order
 * @epochs: struct bgdma_epoch[]
 *
 * ENOENT no such region, or it has no gate; ENOMEM.
 */
struct bgdma_epochs {
	__u32	size;
	__u32	flags;
	__u32	region;
	__u32	count;
	__aligned_u64 epochs;
};

/**
 * struct bgdma_epoch_allow - BGDMA_IOC_EPOCH_ALLOW: answer of BGDMA_GATE_ASK
 * @size: sizeof(struct bgdma_epoch_allow)
 * @flags: 0
 * @region: handle
 * @epoch: identifier
 * @incarnation: of its origin
 * @rank: node of its origin
 *
 * ENOENT no such epoch waits for an answer.
 */
struct bgdma_epoch_allow {
	__u32	size;
	__u32	flags;
	__u32	region;
	__u32	epoch;
	__u32	incarnation;
	__u32	rank;
};

/**
 * struct bgdma_event_bind - BGDMA_IOC_EVENT_BIND: interrupts go to an eventfd
 * @size: sizeof(struct bgdma_event_bind)
 * @flags: 0
 * @kind: BGDMA_KIND_INJ_COUNTER, _REC_COUNTER: enabled hits and errors;
 *	_REC_FIFO: arrivals that it is armed for; _EVENTS: every new event
 * @object: handle or id; 0 for events
 * @eventfd: file descriptor, or -1 to unbind
 * @resv: 0
 *
 * EBADF, EINVAL not an eventfd; ENOENT; ESTALE.
 */
struct bgdma_event_bind {
	__u32	size;
	__u32	flags;
	__u32	kind;
	__u32	object;
	__s32	eventfd;
	__u32	resv;
};

/* bgdma_clear_error.flags */
#define BGDMA_CLEAR_FLUSH	(1U << 0)	/* drop what waits in the FIFO too */

/**
 * struct bgdma_clear_error - BGDMA_IOC_CLEAR_ERROR
 * @size: sizeof(struct bgdma_clear_error)
 * @flags: BGDMA_CLEAR_*
 * @kind: any FIFO or counter kind
 * @object: FIFO id, or slot of the counter
 *
 * An injection FIFO goes on after the descriptor that failed; after
 * BGDMA_E_INDEX, or with BGDMA_CLEAR_FLUSH, at its tail. Counters have nothing
 * to flush. ENOENT.
 */
struct bgdma_clear_error {
	__u32	size;
	__u32	flags;
	__u32	kind;
	__u32	object;
};

/**
 * struct bgdma_cancel - BGDMA_IOC_CANCEL: descriptors that have not ended
 * @size: sizeof(struct bgdma_cancel)
 * @flags: 0
 * @fifo: injection FIFO
 * @cancelled: out: so many
 * @first: in: sequence number of the first
 * @last: in: of the last
 *
 * What had not started becomes BGDMA_OP_NOP; a transfer under way ends on both
 * sides. What they had left to count is taken off their injection counters,
 * which then show BGDMA_E_CANCELLED. ENOENT; EINTR; EFAULT where @cancelled cannot
 * be written: all the rest is done.
 */
struct bgdma_cancel {
	__u32	size;
	__u32	flags;
	__u32	fifo;
	__u32	cancelled;
	__aligned_u64 first;
	__aligned_u64 last;
};

/**
 * struct bgdma_condition - what to wait for; also the payload of a
 *	BGDMA_URING_WAIT command
 * @kind: INJ_COUNTER, REC_COUNTER: at or below its wake mark, its hit bit or
 *	an error is set. REC_FIFO: more than @value bytes are in it, or error.
 *	INJ_FIFO: descriptors before sequence number @value have ended, or error.
 *	EVENTS: more than @value events were written since attach.
 * @object: handle or id
 * @value: see @kind
 */
struct bgdma_condition {
	__u32	kind;
	__u32	object;
	__aligned_u64 value;
};

/**
 * struct bgdma_wait - BGDMA_IOC_WAIT: sleep until one of some conditions holds
 * @size: sizeof(struct bgdma_wait)
 * @flags: 0
 * @conditions: struct bgdma_condition[count]
 * @count: 1 to BGDMA_WAIT_MAX
 * @ready: out: index of the first that holds
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * ETIME none in time; EINTR; ENOENT, ESTALE no such object.
 */
struct bgdma_wait {
	__u32	size;
	__u32	flags;
	__aligned_u64 conditions;
	__u32	count;
	__u32	ready;
	__s64	timeout_ns __attribute__((aligned(8)));
};

/* Argument of BGDMA_IOC_DOORBELL, and of BGDMA_URING_DOORBELL. */
#define BGDMA_DOORBELL_POOL	(1U << 0)	/* the engine's threads do it all */

/* Argument of BGDMA_IOC_NOTIFY: a counter whose owner's add reached the mark. */
#define BGDMA_NOTIFY_ARG(kind, slot)	((__u32)(kind) << 16 | (__u32)(slot))

#define BGDMA_IOC_QUERY		_IOWR(BGDMA_IOC_TYPE, 0x00, struct bgdma_query)
#define BGDMA_IOC_ATTACH	_IOWR(BGDMA_IOC_TYPE, 0x01, struct bgdma_attach)
#define BGDMA_IOC_INJ_CREATE	_IOWR(BGDMA_IOC_TYPE, 0x02, struct bgdma_inj_create)
#define BGDMA_IOC_REC_CREATE	_IOWR(BGDMA_IOC_TYPE, 0x03, struct bgdma_rec_create)
#define BGDMA_IOC_RGQ_CREATE	_IOWR(BGDMA_IOC_TYPE, 0x04, struct bgdma_rgq_create)
#define BGDMA_IOC_FIFO_DESTROY	_IOW(BGDMA_IOC_TYPE, 0x05, struct bgdma_fifo_destroy)
#define BGDMA_IOC_COUNTER_ALLOC	_IOWR(BGDMA_IOC_TYPE, 0x06, struct bgdma_counter_alloc)
#define BGDMA_IOC_COUNTER_FREE	_IOW(BGDMA_IOC_TYPE, 0x07, struct bgdma_counter_free)
#define BGDMA_IOC_REGION_PIN	_IOWR(BGDMA_IOC_TYPE, 0x08, struct bgdma_region_pin)
#define BGDMA_IOC_REGION_ALLOC	_IOWR(BGDMA_IOC_TYPE, 0x09, struct bgdma_region_alloc)
#define BGDMA_IOC_REGION_FREE	_IOW(BGDMA_IOC_TYPE, 0x0a, struct bgdma_region_free)
#define BGDMA_IOC_GRANT		_IOWR(BGDMA_IOC_TYPE, 0x0b, struct bgdma_grant)
#define BGDMA_IOC_REVOKE	_IOW(BGDMA_IOC_TYPE, 0x0c, struct bgdma_revoke)
#define BGDMA_IOC_GROUP_BIND	_IOW(BGDMA_IOC_TYPE, 0x0d, struct bgdma_group_bind)
#define BGDMA_IOC_GROUP_UNBIND	_IOW(BGDMA_IOC_TYPE, 0x0e, struct bgdma_group_unbind)
#define BGDMA_IOC_EVENT_BIND	_IOW(BGDMA_IOC_TYPE, 0x0f, struct bgdma_event_bind)
#define BGDMA_IOC_CLEAR_ERROR	_IOW(BGDMA_IOC_TYPE, 0x10, struct bgdma_clear_error)
#define BGDMA_IOC_CANCEL	_IOWR(BGDMA_IOC_TYPE, 0x11, struct bgdma_cancel)
#define BGDMA_IOC_WAIT		_IOWR(BGDMA_IOC_TYPE, 0x12, struct bgdma_wait)
#define BGDMA_IOC_DOORBELL	_IO(BGDMA_IOC_TYPE, 0x13)
#define BGDMA_IOC_NOTIFY	_IO(BGDMA_IOC_TYPE, 0x14)
#define BGDMA_IOC_GATE		_IOW(BGDMA_IOC_TYPE, 0x15, struct bgdma_gate)
#define BGDMA_IOC_EPOCHS	_IOWR(BGDMA_IOC_TYPE, 0x16, struct bgdma_epochs)
#define BGDMA_IOC_EPOCH_ALLOW	_IOW(BGDMA_IOC_TYPE, 0x17, struct bgdma_epoch_allow)
#define BGDMA_IOC_CLASS_BIND	_IOW(BGDMA_IOC_TYPE, 0x18, struct bgdma_class_bind)
#define BGDMA_IOC_CLASS_UNBIND	_IOW(BGDMA_IOC_TYPE, 0x19, struct bgdma_class_unbind)

/* io_uring commands (IORING_OP_URING_CMD) */
#define BGDMA_URING_DOORBELL	_IO(BGDMA_IOC_TYPE, 0x40)
#define BGDMA_URING_WAIT	_IOW(BGDMA_IOC_TYPE, 0x41, struct bgdma_condition)

#endif /* _UAPI_LINUX_BGDMA_H */

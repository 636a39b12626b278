/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What goes over an Ethernet link: the one place that says so, for the kernel,
 * the tests and the dissector. Needs no more than <linux/types.h> and the uapi.
 *
 * A frame belongs to one flow: the transfers of one FIFO of a context (or of one
 * sender's part of a remote-get queue, or of a kernel itself) to one node, either
 * deterministic or adaptive. Behind the Ethernet header come
 *
 *   struct bgdma_frame
 *   BGDMA_FRAME_DATA:   frame.packets times struct bgdma_wire_packet, then the
 *                       payload of all packets in a row
 *   BGDMA_FRAME_ACK:    struct bgdma_wire_ack, then frame.packets times struct
 *                       bgdma_wire_result
 *   BGDMA_FRAME_CLOSE:  nothing
 *   BGDMA_FRAME_HELLO:  struct bgdma_wire_hello
 *   BGDMA_FRAME_STATE:  struct bgdma_wire_state
 *
 * The head is all of it but payload: frame.head bytes, which have a checksum of
 * their own, so that nobody takes a damaged number for a place in memory. All is
 * little-endian. Unused fields are zero, and looked at.
 */
#ifndef _BGDMA_WIRE_H
#define _BGDMA_WIRE_H

#include <linux/types.h>

#include <linux/bgdma.h>

#define BGDMA_WIRE_ETHERTYPE	0x88b5	/* local experimental, IEEE 802 */
#define BGDMA_WIRE_MAGIC	0x4742	/* "BG" */
#define BGDMA_WIRE_VERSION	1

/* Every link must carry so many bytes behind the Ethernet header. */
#define BGDMA_WIRE_MTU_MIN	1280
/* So many are made use of. */
#define BGDMA_WIRE_MTU_MAX	65535

/* A frame that comes to more kernels is lost; nodes of one are passed without. */
#define BGDMA_WIRE_HOPS_MAX	255

enum bgdma_frame_type {
	BGDMA_FRAME_DATA = 1,
	BGDMA_FRAME_ACK = 2,
	BGDMA_FRAME_HELLO = 3,	/* to whoever is on the link; not forwarded */
	BGDMA_FRAME_STATE = 4,	/* to the peer on the link; not forwarded */
	BGDMA_FRAME_CLOSE = 5,	/* the flow was idle for long: forget it */
	BGDMA_FRAME_TYPES
};

/* bgdma_frame.flags */
#define BGDMA_FRAME_ADAPTIVE	0x01	/* any minimal way */
#define BGDMA_FRAME_AGAIN	0x02	/* sent before */
#define BGDMA_FRAME_UNSUMMED	0x04	/* payload has no checksum: within one kernel */
#define BGDMA_FRAME_PATIENT	0x08	/* DATA: nobody waits for its acknowledgment */
#define BGDMA_FRAME_FLAGS	0x0f

/* Numbers that one frame can have: see frame.more. */
#define BGDMA_WIRE_SPAN		64

/**
 * struct bgdma_frame - the beginning of each frame
 * @magic: BGDMA_WIRE_MAGIC
 * @version: BGDMA_WIRE_VERSION
 * @type: enum bgdma_frame_type
 * @partition: made of its name and key
 * @crc: CRC32C of the head, where this, @at and @hops count as zero
 * @at: node that the frame goes to next; a hop changes it
 * @hops: links that it may still cross; a hop changes it
 * @flags: BGDMA_FRAME_*
 * @head: bytes up to the payload, without the Ethernet header
 * @src_rank: node that the frame comes from
 * @dst_rank: node that it goes to
 * @flow_inc: incarnation of the context whose flow it is; of a kernel's, the kernel's
 * @flow_ctx: number of that context; BGDMA_CTX_ANY: the kernel
 * @packets: so many; of an ACK, results
 * @more: DATA: numbers behind @psn that it has, too. It is longer than the MTU, goes
 *	by a veth as it is, and is cut into as many more frames where it has to be
 * @flow: which FIFO of the context, see bgdma_stream.tag; its two ends agree
 * @session: of two lives of a flow that is the later one
 * @psn: DATA: number of the frame in its flow; ACK: all before it were dealt with;
 *	CLOSE: likewise, as the sender knows, and there were none after them
 * @first: DATA, CLOSE: all before it are known to have been dealt with; ACK: how many there
 *	were of the flow before this, and it
 * @stamp: DATA: when it was sent, of a clock of the sender's, in us; ACK: the
 *	one of the last frame that arrived
 * @bytes: of payload
 * @sum: of the payload, see sum.c; 0 with BGDMA_FRAME_UNSUMMED
 * @kernel: number of the kernel that the frame comes from
 */
struct bgdma_frame {
	__le16 magic;
	__u8 version;
	__u8 type;
	__le32 partition;
	__le32 crc;
	__le32 at;
	__u8 hops;
	__u8 flags;
	__le16 head;
	__le32 src_rank;
	__le32 dst_rank;
	__le32 flow_inc;
	__le16 flow_ctx;
	__u8 packets;
	__u8 more;
	__le32 flow;
	__le32 session;
	__le32 psn;
	__le32 first;
	__le32 stamp;
	__le32 bytes;
	__le32 sum;
	__le64 kernel;
};

/* The flow of a kernel itself: what it has to tell of its contexts. */
#define BGDMA_FLOW_KERNEL	0xffffffffU

enum bgdma_wire_kind {
	BGDMA_WIRE_PIECE = 0,	/* of a transfer: as @desc says */
	BGDMA_WIRE_ABORT = 1,	/* the transfer ends at @offset; why is in @bytes */
	BGDMA_WIRE_ANSWER = 2,	/* of a gate: payload is struct bgdma_wire_answer */
	BGDMA_WIRE_EVENT = 3,	/* for a context: payload is struct bgdma_event */
	/* What was at a piece of an atomic, which went by the flow in desc.cookie. */
	BGDMA_WIRE_FETCHED = 4,
	BGDMA_WIRE_GONE = 5,	/* a context: payload is struct bgdma_wire_gone */
	BGDMA_WIRE_KINDS
};

/* bgdma_wire_packet.flags */
#define BGDMA_WIRE_REMOTE	0x01	/* its descriptor came from another context */
#define BGDMA_WIRE_OWN		0x02	/* who sent that asked for it itself */
#define BGDMA_WIRE_FLAGS	0x03

/**
 * struct bgdma_wire_packet - a piece of a transfer, or what a kernel has to say
 * @desc: as its origin executes it, without what only the origin can use:
 *	bgdma_wire_strip()
 * @id: transfer; of an answer, the one that asked
 * @offset: of the piece in the transfer
 * @bytes: of it, in the payload; 0 where they are in @desc
 * @dst_inc: incarnation of the context that it is for; 0: whoever has the place
 * @kind: enum bgdma_wire_kind
 * @flags: BGDMA_WIRE_REMOTE, BGDMA_WIRE_OWN
 * @group: number + 1 of the group that a remote descriptor is under; 0: none
 * @resv: 0
 */
struct bgdma_wire_packet {
	struct bgdma_desc desc;
	__le32 id;
	__le32 offset;
	__le32 bytes;
	__le32 dst_inc;
	__u8 kind;
	__u8 flags;
	__le16 group;
	__le32 resv;
};

/* bgdma_wire_ack.state */
enum bgdma_wire_ready {
	BGDMA_WIRE_READY = 0,
	BGDMA_WIRE_NOT_READY = 1,	/* @kind, @object has no room: see psn */
	BGDMA_WIRE_READIES
};

/* Frames behind frame.psn that an ACK can tell of. */
#define BGDMA_WIRE_SACK		256

/**
 * struct bgdma_wire_ack - what has become of the frames of a flow
 * @sack: bit i: frame.psn + i has arrived
 * @window: frames from frame.psn on that may be sent
 * @state: enum bgdma_wire_ready
 * @kind: what the next frame waits for: BGDMA_KIND_*
 * @object: which
 */
struct bgdma_wire_ack {
	__le64 sack[BGDMA_WIRE_SACK / 64];
	__le16 window;
	__u8 state;
	__u8 kind;
	__le32 object;
};

/* Results that an ACK can have, and packets that a frame can. */
#define BGDMA_WIRE_RESULTS	32

/**
 * struct bgdma_wire_result - a transfer that was refused
 * @offset: bgdma_fault.offset
 * @bound: bgdma_fault.bound
 * @id: transfer
 * @code: enum bgdma_code
 * @psn: of the frame that was refused
 * @resv: 0
 *
 * Each ACK has those of all frames that the origin does not yet know about.
 */
struct bgdma_wire_result {
	__le64 offset;
	__le64 bound;
	__le32 id;
	__le32 code;
	__le32 psn;
	__le32 resv;
};

/* struct bgdma_answer, and the context whose gate it is */
struct bgdma_wire_answer {
	__le32 counter;
	__le32 region;
	__le32 epoch;
	__le32 code;
	__le32 rank;
	__le32 incarnation;
	__le16 ctx;
	__le16 resv;
};

/**
 * struct bgdma_wire_gone - a context left
 * @rank: its node
 * @incarnation: its
 * @uid: whose, in the initial user namespace
 * @ctx: its number
 * @resv: 0
 */
struct bgdma_wire_gone {
	__le32 rank;
	__le32 incarnation;
	__le32 uid;
	__le16 ctx;
	__le16 resv;
};

/* Nodes of a kernel: so many runs of consecutive ranks. */
#define BGDMA_WIRE_RUNS		64
/* Kernels that one HELLO can name. */
#define BGDMA_WIRE_HEARD	32

struct bgdma_wire_run {
	__le32 first;
	__le32 last;
};

/**
 * struct bgdma_wire_hello - who is there
 * @kernel: a number that no other kernel has, nor this one after it was restarted
 * @proof: made with the key of all of this but @proof
 * @name: of the partition, zero-padded
 * @dims: of it
 * @torus: BGDMA_AXIS_*
 * @mtu: bytes behind the Ethernet header that this end takes
 * @every: milliseconds between two HELLO of this end, while nothing changes
 * @runs: so many
 * @heard: so many
 * @run: nodes that live there
 * @hears: kernels that were heard on this link
 */
struct bgdma_wire_hello {
	__le64 kernel;
	__le64 proof;
	char name[BGDMA_NAME_MAX];
	__le32 dims[3];
	__le32 torus;
	__le32 mtu;
	__le32 every;
	__le32 runs;
	__le32 heard;
	struct bgdma_wire_run run[BGDMA_WIRE_RUNS];
	__le64 hears[BGDMA_WIRE_HEARD];
};

/* Kernels that one STATE can name. */
#define BGDMA_WIRE_PEERS	64

/* Of so many one STATE can say that they were given up, or know that they gave up. */
#define BGDMA_WIRE_ENDS		8

/**
 * struct bgdma_wire_end - one kernel gave up another, which lives
 * @kernel: the other one; 0: none, and none follows
 * @lost: it was not heard for the timeout, so all that lived there is gone for whoever
 *	lives here: a number for each time; 0, when it is known to know
 * @known: the last @lost that it said of this one: all there are gone here, too; or 0
 *
 * No way leads from one to the other until both know.
 */
struct bgdma_wire_end {
	__le64 kernel;
	__le32 lost;
	__le32 known;
};

/* bgdma_wire_state.flags */
#define BGDMA_WIRE_STATE_BYE	0x01	/* it leaves: whoever was there is gone */
#define BGDMA_WIRE_STATE_FLAGS	0x01

/**
 * struct bgdma_wire_state - what a kernel says of itself to all others
 * @kernel: its number
 * @proof: made with the key of all of this but @proof
 * @seq: of two, the higher one is true
 * @runs: so many
 * @peers: so many
 * @flags: BGDMA_WIRE_STATE_*
 * @run: nodes that live there
 * @peer: kernels that a link leads to from there, and which hear it. A way from a
 *	node to the next one is open if both live in one kernel, or if that of the
 *	first names that of the next
 * @end: kernels that it gave up, or that gave it up
 *
 * Who gets one that is news passes it on to its other peers.
 */
struct bgdma_wire_state {
	__le64 kernel;
	__le64 proof;
	__le32 seq;
	__le32 runs;
	__le32 peers;
	__le32 flags;
	struct bgdma_wire_run run[BGDMA_WIRE_RUNS];
	__le64 peer[BGDMA_WIRE_PEERS];
	struct bgdma_wire_end end[BGDMA_WIRE_ENDS];
};

#endif /* _BGDMA_WIRE_H */

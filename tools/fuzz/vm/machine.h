/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program of the fuzzer works on, and how the bytes of a call become
 * arguments.
 *
 * Several threads change all of this without locks, on purpose: every index is
 * taken modulo the size of its array, so that nothing worse happens than an
 * argument that is no longer right.
 */
#ifndef BGDMA_FUZZ_MACHINE_H
#define BGDMA_FUZZ_MACHINE_H

#include <setjmp.h>

#include <linux/bgdma_netlink.h>

#include "../../../selftests/utils.h"
#include "program.h"

#define FILES		4
#define LIST		8
#define VIEWS		64
#define ARENA		(32 * PAGE)

/* The last few of something; the older ones are mostly gone. */
struct list {
	__u32 v[LIST];
	unsigned int n;
};

/* What there is of each kind in a context. */
enum thing {
	INJ_FIFOS, REC_FIFOS, QUEUES, INJ_SLOTS, REC_SLOTS, INJ_COUNTERS,
	REC_COUNTERS, REGIONS, GRANTS, THINGS
};

/* @at: what it attached as; @area: what can be mapped */
struct file {
	int fd;
	struct bgdma_attach at;
	struct list things[THINGS];
	struct bgdma_area area[LIST];
	unsigned int areas;
	struct inj inj;		/* the last one that is mapped */
};

struct machine {
	struct file file[FILES];
	struct view view[VIEWS];
	unsigned int views;
	char *arena;		/* for arguments, and to be pinned */
	int eventfd[2];
	const struct program *program;
	bool scribbling;
};

/*
 * Whoever may touch what is not mapped says so first:
 *
 *	if (!sigsetjmp(touching, 1)) { ...; }
 */
extern __thread sigjmp_buf touching;

/* ---- choose.c ---------------------------------------------------------- */

enum sort {
	C_SIZE, C_ZERO, C_RANK, C_CTX, C_NEW_ID, C_KIND, C_FIFO_KIND,
	C_COUNTER_KIND, C_COUNT, C_ENTRIES, C_BYTES, C_QUOTA, C_MS, C_ROOM,
	C_RIGHTS, C_LOCAL, C_ADDR, C_LENGTH, C_OFFSET, C_NS, C_FD, C_SEQ,
	C_FLAG, C_INJ, C_REC, C_QUEUE, C_INJ_SLOT, C_REC_SLOT, C_INJ_COUNTER,
	C_REC_COUNTER, C_REGION, C_GRANT, C_OBJECT, C_VALUE, C_INCARNATION,
	C_SOME_INCARNATION
};

/* An argument of that sort for a call on @f. */
__u64 choose(struct machine *m, struct file *f, enum sort sort,
	     uint8_t choice);
/* One of those that @f has. */
__u32 thing(struct file *f, enum thing which, uint8_t choice);
void thing_add(struct file *f, enum thing which, __u32 v);
const char *choose_name(uint8_t choice);

/* ---- ioctls.c ---------------------------------------------------------- */

#define IOCTLS		26

const char *ioctl_name(unsigned int which);
void call_ioctl(struct machine *m, struct file *f, unsigned int which,
		const uint8_t *choice);
void call_uring(struct machine *m, struct file *f, const uint8_t *choice);

/* ---- memory.c ---------------------------------------------------------- */

void view_add(struct machine *m, void *p, size_t bytes);
void call_map(struct machine *m, struct file *f, const uint8_t *choice);
void call_remap(struct machine *m, struct file *f, const uint8_t *choice);
void call_poke(struct machine *m, struct file *f, const uint8_t *choice);
void call_scribble(struct machine *m, struct file *f, const uint8_t *choice);

/* ---- descriptor.c ------------------------------------------------------ */

void call_inject(struct machine *m, struct file *f, const uint8_t *choice);
void call_prepare(struct machine *m, struct file *f, const uint8_t *choice);
void call_tail(struct machine *m, struct file *f, const uint8_t *choice);
void call_drain(struct machine *m, struct file *f, const uint8_t *choice);

/* ---- group.c ----------------------------------------------------------- */

void call_group(struct machine *m, struct file *f, const uint8_t *choice);
/* Have a descriptor go down a line, or under the group that it came under. */
void under_group(struct file *f, struct bgdma_desc *d, const uint8_t *choice);

/* ---- tree.c ------------------------------------------------------------ */

void call_class(struct machine *m, struct file *f, const uint8_t *choice);
/* A part in a collective of one of these classes, or a message for a member. */
struct bgdma_desc in_class(struct file *f, __u8 op, const uint8_t *choice,
			   __u32 length);

/* ---- message.c --------------------------------------------------------- */

/* A partition of that name, as the ground needs it, or these nodes of it; once. */
bool partition_make(const char *name, const struct bgdma_run *run);
void call_netlink(struct machine *m, struct file *f, const uint8_t *choice);

/* ---- link.c ------------------------------------------------------------ */

/* From this node on they live in another network namespace, behind a link. */
#define LINK_RANK	2

/* Both namespaces, once for all; then what is in them, if it is not any more. */
void link_prepare(void);
bool link_repair(void);
/* Where a node lives; nothing for who has no privileges. */
void link_enter(__u32 rank);
void link_leave(void);
void call_link(struct machine *m, struct file *f, const uint8_t *choice);
void call_frame(struct machine *m, struct file *f, const uint8_t *choice);

#endif /* BGDMA_FUZZ_MACHINE_H */

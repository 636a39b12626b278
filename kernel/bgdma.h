/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects of the module, and what protects each.
 *
 * Lock order, outermost first:
 *
 *   ctx.detach_lock (mutex)       its end, until all were told
 *   ctx.lock (mutex)              control calls of one context; held over
 *                                 copies to and from user space
 *   bgdma_net.lock (mutex)        the partitions of a network namespace
 *   partition.lock (mutex)        who is attached
 *   ctx.map_lock (mutex)          areas that can be mapped; taken in .mmap,
 *                                 so never held over a user copy
 *   stream ownership (bit)        a trylock, see engine/engine.c
 *   engine.poll_lock
 *   bgdma_tx.lock                 see fabric/flow.h
 *   engine.park_lock, then engine.rq_lock
 *   rec_fifo.lock | rget_queue.lock | region_gate.lock | class.lock
 *                                 leaves: one packet, one remote get, one look
 *   waitqueues
 *
 * The three engine locks are never taken inside a leaf, and two leaves never
 * nest. Engine code never looks at the task that happens to run it.
 */
#ifndef _BGDMA_H
#define _BGDMA_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/cred.h>
#include <linux/eventfd.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <linux/xarray.h>

#include <linux/bgdma.h>
#include <linux/workqueue.h>

#include "compat.h"

struct bgdma_ctx;
struct bgdma_ether;
struct bgdma_parting;
struct bgdma_stream;
struct net;

/* --------------------------------------------------------------------- */
/* Small tools: engine/busy.h, engine/shm.c                               */

/**
 * struct bgdma_busy - short users of an object that may be torn down
 * @n: one for being alive, and one per user
 */
struct bgdma_busy {
	atomic_t n;
};

/**
 * struct bgdma_shm - pages shared with user space
 * @pages: each charged to the memory cgroup of who asked
 * @nr: pages
 * @addr: kernel mapping, of all pages, twice in a row if @twice
 * @twice: mapped twice in a row on both sides
 * @writable: user space may map it for writing
 */
struct bgdma_shm {
	struct page **pages;
	unsigned int nr;
	void *addr;
	bool twice;
	bool writable;
};

/* bgdma_shm_alloc() flags */
#define BGDMA_SHM_TWICE		1U
#define BGDMA_SHM_WRITABLE	2U
#define BGDMA_SHM_PAGES_ONLY	4U	/* no kernel mapping */

int bgdma_shm_alloc(struct bgdma_shm *shm, u64 bytes, unsigned int flags);
void bgdma_shm_free(struct bgdma_shm *shm);
int bgdma_shm_mmap(struct bgdma_shm *shm, struct vm_area_struct *vma);

/* Number of pages as user space maps them. */
static inline unsigned long bgdma_shm_span(const struct bgdma_shm *shm)
{
	return (unsigned long)shm->nr << shm->twice;
}

/* mmap offset of an area: kind in the top bits, index below, then bytes. */
enum bgdma_map_kind {
	BGDMA_MAP_AREA = 1,		/* index: enum bgdma_area_id */
	BGDMA_MAP_INJ = 2,
	BGDMA_MAP_REC = 3,
	BGDMA_MAP_REGION = 4,
};

#define BGDMA_MAP_KIND_SHIFT	56
#define BGDMA_MAP_INDEX_SHIFT	40

static inline u64 bgdma_map_offset(enum bgdma_map_kind kind, u32 index)
{
	return (u64)kind << BGDMA_MAP_KIND_SHIFT |
	       (u64)index << BGDMA_MAP_INDEX_SHIFT;
}

#include "engine/grant.h"

/* --------------------------------------------------------------------- */
/* What can go wrong with a transfer                                      */

/**
 * struct bgdma_fault - an error on its way to whom it concerns
 * @code: enum bgdma_code
 * @offset: where
 * @bound: what it had to stay within
 */
struct bgdma_fault {
	u32 code;
	u64 offset;
	u64 bound;
};

/* Results of a step of a transfer; positive ones are enum bgdma_code. */
#define BGDMA_STEP_DONE		0
#define BGDMA_STEP_AGAIN	(-1)	/* budget used up */
#define BGDMA_STEP_WAIT		(-2)	/* parked: somebody else wakes it */
#define BGDMA_STEP_HOP		(-3)	/* a deposit goes on to the next node */
#define BGDMA_STEP_SENT		(-4)	/* on its way: the fabric counts it */

/* --------------------------------------------------------------------- */
/* Counters: engine/counter.c                                             */

/**
 * struct bgdma_counter - the kernel's side of a counter
 * @grants: who may move it from outside
 * @eventfd: where hits and errors go, when enabled
 * @freed: if @warm: grace period that has to pass before it is used again
 * @gen: last generation given by the kernel
 * @flags: BGDMA_COUNTER_*
 * @used: allocated; written under ctx.lock
 * @warm: it was used before, and slices may not have ended that found it then
 */
struct bgdma_counter {
	struct bgdma_grants __rcu *grants;
	struct bgdma_eventfd __rcu *eventfd;
	unsigned long freed;
	u16 gen;
	u8 flags;
	bool used;
	bool warm;
};

/**
 * struct bgdma_eventfd - a bound eventfd, replaced under RCU
 * @ref: the object that it is bound to, and @work
 * @ctx: reference
 * @work: signals it when that takes long
 * @slow: it took long
 * @rcu: deliveries signal under RCU
 */
struct bgdma_eventfd {
	struct kref ref;
	struct eventfd_ctx *ctx;
	struct work_struct work;
	bool slow;
	struct rcu_head rcu;
};

int bgdma_counter_alloc(struct bgdma_ctx *ctx, struct bgdma_counter_alloc *arg);
int bgdma_counter_free(struct bgdma_ctx *ctx,
		       const struct bgdma_counter_free *arg);
int bgdma_counter_find(struct bgdma_ctx *ctx, unsigned int kind, u32 handle,
		       const struct bgdma_principal *who, u64 *memo);
void bgdma_counter_fail(struct bgdma_ctx *ctx, unsigned int kind, u32 slot,
			u64 left, const struct bgdma_record *why);
bool bgdma_counter_there(struct bgdma_ctx *ctx, unsigned int kind, u32 slot);
void bgdma_counter_notify(struct bgdma_ctx *ctx, unsigned int kind, u32 slot);
int bgdma_counter_clear(struct bgdma_ctx *ctx, unsigned int kind, u32 slot);
bool bgdma_counters_peer_down(struct bgdma_ctx *ctx,
			      const struct bgdma_principal *peer, u32 first,
			      u32 n);

#include "engine/memory.h"
#include "engine/fifo.h"
#include "engine/gate.h"
#include "engine/tree.h"

/* --------------------------------------------------------------------- */
/* Contexts: engine/context.c                                             */

/**
 * struct bgdma_ctx - one open file, and once attached one share of a node
 * @ref: the file, and streams that remember it as their peer
 * @calls: control calls under way, once attached
 * @rings: doorbells that its process rings just now, likewise; none waits for a user
 * @busy: deliveries under way, once attached
 * @lock: control calls that change something
 * @map_lock: what can be mapped
 * @wq: whoever waits for anything of this context
 * @wake_work: wakes them when that takes long
 * @wake_slow: it took long
 * @waiting: tasks in BGDMA_IOC_WAIT
 * @mm: of the process that attached; a reference to the struct only
 * @memcg: its control group: pays for what is allocated outside of its own calls
 * @files: of that process, to see it exit
 * @tgid: of that process, to see it dump core
 * @process: that process; joined before it is attached
 * @process_node: in process.contexts; its lock
 * @partition: reference
 * @user: scheduling and limits of its owner
 * @rank: node
 * @id: number among the contexts of the node
 * @who: itself as a principal
 * @watch: hears of the end of all others of its owner
 * @attached: published; partition.lock
 * @dead: the partition, or the process, is gone
 * @untold: it is detached, but did not leave its place; @detach_lock
 * @doomed: its process dies; lock of the process
 * @ending: somebody frees, or freed, what it holds
 * @released: freed what it held; @lock
 * @n_inj: room in @inj
 * @n_rec: room in @rec
 * @n_rgq: room in @rgq
 * @n_ctr: room in @counters by kind
 * @area: the shared pages, by enum bgdma_area_id
 * @uctl: head of USER_CTL
 * @kctl: head of KERN_CTL
 * @inj_user: lines with tails
 * @rec_user: lines with heads
 * @inj_kern: lines with heads
 * @rec_kern: lines with tails
 * @cells: counter cells by kind
 * @counter_rec: their error records
 * @inj_rec: error records of the injection FIFOs
 * @rec_rec: of the reception FIFOs
 * @rgq_rec: of the remote-get queues
 * @counters: kernel side of the counters by kind
 * @inj: injection FIFOs; pointers change under @lock, read under RCU
 * @rec: reception FIFOs; likewise
 * @rgq: remote-get queues; likewise
 * @regions: by slot; xa_lock, read under RCU
 * @region_next: slot to try next
 * @region_gen: generation of the slots given out in this round
 * @n_regions: those that the engine finds; written under @map_lock
 * @region_bytes: of all of them; likewise
 * @regions_serial: a new one of all contexts when a region is freed; as @inj
 * @gates: of its regions; @lock, read under RCU
 * @n_gates: so many; @lock
 * @last_gate: number of the newest, from 1; @lock
 * @grant_last: id of the newest grant
 * @grants_round: ids have gone round: an older grant may have the next one
 * @groups: that it has bound; lock of partition.groups
 * @classes: of the combining network; written under @lock, read under RCU
 * @n_classes: so many; written under @lock
 * @event_lock: a leaf too, for one event
 * @events: the ring
 * @events_mask: entries - 1
 * @events_tail: written
 * @event_fd: eventfd for events
 * @talked: hash of the ranks that it exchanged something with
 * @runnable: streams that want to run; rq_lock
 * @running: streams that threads run; rq_lock
 * @rq_node: in user.round; rq_lock
 * @poll_node: in engine.polled; poll_lock
 * @poll_until: in ns; poll_lock
 * @detach_lock: held until everybody was told that it is gone
 * @member: index in partition.members; partition.lock
 * @stats_gone: of FIFOs that were destroyed; @lock
 * @parting: tells other kernels that it has left; NULL: nothing left this kernel
 * @kcov_handle: what the pool does for it is covered for who opened it
 * @rcu: freed after a grace period
 */
struct bgdma_ctx {
	struct kref ref;
	struct bgdma_busy calls;
	struct bgdma_busy rings;
	struct bgdma_busy busy;
	struct mutex lock;
	struct mutex map_lock;
	wait_queue_head_t wq;
	struct work_struct wake_work;
	bool wake_slow;
	atomic_t waiting;
	struct mm_struct *mm;
	struct mem_cgroup *memcg;
	void *files;
	pid_t tgid;
	struct bgdma_process *process;
	struct list_head process_node;
	struct bgdma_partition *partition;
	struct bgdma_user *user;
	u32 rank;
	u16 id;
	struct bgdma_principal who;
	bool watch;
	bool attached;
	bool dead;
	bool untold;
	bool doomed;
	bool ending;
	bool released;
	u32 n_inj, n_rec, n_rgq, n_ctr[2];
	struct bgdma_shm area[BGDMA_AREA_COUNT];
	struct bgdma_user_ctl *uctl;
	struct bgdma_kern_ctl *kctl;
	struct bgdma_inj_user *inj_user;
	struct bgdma_rec_user *rec_user;
	struct bgdma_inj_kern *inj_kern;
	struct bgdma_rec_kern *rec_kern;
	struct bgdma_counter_cell *cells[2];
	struct bgdma_record *counter_rec[2];
	struct bgdma_record *inj_rec, *rec_rec, *rgq_rec;
	struct bgdma_counter *counters[2];
	struct bgdma_inj_fifo __rcu **inj;
	struct bgdma_rec_fifo __rcu **rec;
	struct bgdma_rget_queue __rcu **rgq;
	struct xarray regions;
	u32 region_next;
	u32 region_gen;
	u32 n_regions;
	u64 regions_serial;
	u64 region_bytes;
	struct list_head gates;
	u32 n_gates;
	u64 last_gate;
	u32 grant_last;
	bool grants_round;
	struct list_head groups;
	struct bgdma_class __rcu *classes[BGDMA_CLASSES_MAX];
	u32 n_classes;
	spinlock_t event_lock;
	struct bgdma_event *events;
	u32 events_mask;
	u64 events_tail;
	struct bgdma_eventfd __rcu *event_fd;
	DECLARE_BITMAP(talked, 1024);
	struct list_head runnable;
	u32 running;
	struct list_head rq_node;
	struct list_head poll_node;
	u64 poll_until;
	struct mutex detach_lock;
	u32 member;
	struct bgdma_stream_stats stats_gone;
	struct bgdma_parting *parting;
	u64 kcov_handle;
	struct rcu_head rcu;
};

void bgdma_ctx_init(struct bgdma_ctx *ctx);
struct bgdma_ctx *bgdma_ctx_new(void);
int bgdma_ctx_attach(struct bgdma_ctx *ctx, struct bgdma_attach *arg);
void bgdma_ctx_abandon(struct bgdma_ctx *ctx);
void bgdma_ctx_detach(struct bgdma_ctx *ctx);
void bgdma_ctx_wake_waiters(struct bgdma_ctx *ctx);
int bgdma_ctx_fifo_end(struct bgdma_ctx *ctx, u32 kind, u32 id);
bool bgdma_ctx_release(struct bgdma_ctx *ctx);
void bgdma_ctx_put(struct bgdma_ctx *ctx);
size_t bgdma_ctx_bytes(struct bgdma_ctx *ctx);
bool bgdma_ctx_stats(struct bgdma_ctx *ctx, struct bgdma_stream_stats *out);
void bgdma_stats_add(struct bgdma_stream_stats *sum,
		     const struct bgdma_stream_stats *more);

/* Events and records: engine/event.c */
void bgdma_event_post(struct bgdma_ctx *ctx, const struct bgdma_event *event);
bool bgdma_record_show(struct bgdma_ctx *ctx, struct bgdma_record *rec,
		       u64 *words, u32 bit, const struct bgdma_record *why);
bool bgdma_record_set(struct bgdma_ctx *ctx, struct bgdma_record *rec,
		      u64 *words, u32 bit, const struct bgdma_record *why);
void bgdma_record_hide(struct bgdma_ctx *ctx, struct bgdma_record *rec,
		       u64 *words, u32 bit);
void bgdma_record_clear(struct bgdma_ctx *ctx, struct bgdma_record *rec,
			u64 *words, u32 bit);
void bgdma_record_of(const struct bgdma_stream *s, struct bgdma_record *out);
int bgdma_event_bind(struct bgdma_ctx *ctx,
		     const struct bgdma_event_bind *arg);

/* Waking: engine/wake.c */
int bgdma_wake_init(void);
void bgdma_wake_exit(void);
void bgdma_ctx_wake_init(struct bgdma_ctx *ctx);
void bgdma_ctx_wake_end(struct bgdma_ctx *ctx);
void bgdma_ctx_wake(struct bgdma_ctx *ctx, __poll_t mask);
struct bgdma_eventfd *bgdma_eventfd_new(int fd);
void bgdma_eventfd_drop(struct bgdma_eventfd __rcu **where);
void bgdma_eventfd_signal(struct bgdma_eventfd __rcu *const *where);

/* Waiting: engine/wait.c */
bool bgdma_ctx_ready(struct bgdma_ctx *ctx);
int bgdma_wait(struct bgdma_ctx *ctx, const struct bgdma_condition *cond,
	       u32 count, s64 timeout_ns, u32 *ready);
void bgdma_condition_arm(struct bgdma_ctx *ctx,
			 const struct bgdma_condition *cond, int by);
int bgdma_condition_test(struct bgdma_ctx *ctx,
			 const struct bgdma_condition *cond);

/* --------------------------------------------------------------------- */
/* The engine: engine/engine.c, desc.c, ops.c, deliver.c                  */

/**
 * struct bgdma_user - everything of one uid that the engine runs
 * @uid: in the initial namespace
 * @contexts: attached
 * @round: contexts with streams that run or want to; rq_lock
 * @rq_node: in engine.rq; rq_lock
 * @node: in engine.users; engine.lock
 */
struct bgdma_user {
	kuid_t uid;
	u32 contexts;
	struct list_head round;
	struct list_head rq_node;
	struct list_head node;
};

/* What a thread does for everybody, so much of it and no more: for people. */
enum bgdma_hold {
	BGDMA_HOLD_POLLED,	/* contexts looked at in one hold of their lock */
	BGDMA_HOLD_PARKED,	/* streams woken in one hold of theirs */
	BGDMA_HOLD_RUNG,	/* FIFOs rung in one look at polled contexts */
	BGDMA_HOLD_PASSED,	/* streams of the dead passed over in one hold */
};

int bgdma_engine_init(void);
void bgdma_engine_exit(void);
struct bgdma_user *bgdma_engine_join(kuid_t uid, u32 max_contexts);
void bgdma_engine_leave(struct bgdma_user *user);
void bgdma_doorbell(struct bgdma_ctx *ctx);
u32 bgdma_doorbell_pool(struct bgdma_ctx *ctx);
void bgdma_stream_init(struct bgdma_stream *s, struct bgdma_ctx *ctx, u16 kind,
		       u32 id, int (*fetch)(struct bgdma_stream *s));
void bgdma_stream_wake(struct bgdma_stream *s);
void bgdma_stream_own(struct bgdma_stream *s);
void bgdma_stream_kill(struct bgdma_stream *s);
void bgdma_stream_park(struct bgdma_stream *s, struct bgdma_waiters *waiters,
		       unsigned long timeout, u32 kind, u32 id);
void bgdma_stream_unpark(struct bgdma_stream *s);
void bgdma_stream_error(struct bgdma_stream *s, bool error);
void bgdma_stream_held(struct bgdma_stream *s, bool held, u32 kind, u32 id);
void bgdma_waiters_init(struct bgdma_waiters *waiters);
void bgdma_waiters_wake(struct bgdma_waiters *waiters);
void bgdma_waiters_end(struct bgdma_waiters *waiters);
void bgdma_rec_kick(struct bgdma_rec_fifo *fifo);
void bgdma_ctx_poll(struct bgdma_ctx *ctx);
void bgdma_ctx_unpoll(struct bgdma_ctx *ctx);
u32 bgdma_engine_threads(void);

u32 bgdma_desc_check(const struct bgdma_stream *s, struct bgdma_fault *fault);

static inline bool bgdma_op_is_gate(u8 op)
{
	return op >= BGDMA_OP_EPOCH_BEGIN && op <= BGDMA_OP_EPOCH_END;
}

/* What a descriptor takes off its injection counter, all told. */
static inline u32 bgdma_desc_counts(const struct bgdma_desc *d)
{
	return bgdma_op_is_gate(d->op) ? 1 : le32_to_cpu(d->length);
}

/* Bytes of an element of a type that was found good. */
static inline u32 bgdma_atomic_size(u32 type)
{
	return type == BGDMA_ATOMIC_S32 || type == BGDMA_ATOMIC_U32 ?
		sizeof(u32) : sizeof(u64);
}

/* An atomic of one element, which was found good. */
static inline bool bgdma_atomic_is_single(const struct bgdma_desc *d)
{
	return le32_to_cpu(d->length) ==
	       bgdma_atomic_size(le16_to_cpu(d->dispatch) & 0xff);
}

long bgdma_stream_run(struct bgdma_stream *s, long budget, u32 each);
void bgdma_op_fail(struct bgdma_stream *s);
void bgdma_inj_fail_counter(struct bgdma_stream *s, u32 left);
void bgdma_late_fail(struct bgdma_stream *s, struct bgdma_stream *at);
void bgdma_op_cancel(struct bgdma_stream *s);
bool bgdma_op_step(struct bgdma_stream *s, int ret);

extern const u32 bgdma_ops_supported;
extern const u64 bgdma_atomics_supported;

/*
 * What lands on a node, from any side: called by a fabric with a busy
 * reference on @ctx, inside a slice (see engine/busy.h).
 */
int bgdma_deliver_put(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		      const struct bgdma_payload *payload, u32 n);
int bgdma_deliver_memfifo(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			  const struct bgdma_payload *payload, u32 n);
int bgdma_deliver_rget(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		       const struct bgdma_payload *descs, u32 n);
int bgdma_deliver_gate(struct bgdma_ctx *ctx, struct bgdma_stream *s);
int bgdma_deliver_atomic(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 void *operands, u32 *n);
int bgdma_deliver_tree(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		       const struct bgdma_payload *payload, u32 n);
void bgdma_deliver_answer(struct bgdma_ctx *ctx,
			  const struct bgdma_principal *from,
			  const struct bgdma_answer *answer);
void bgdma_deliver_count(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 u32 n);
void bgdma_deliver_abort(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 u32 left);

/* --------------------------------------------------------------------- */
/* The fabric: fabric/                                                    */

#include "engine/fabric.h"

/**
 * struct bgdma_node - a coordinate where somebody is attached
 * @uid: whose it is until the last context leaves
 * @contexts: so many
 * @ids: numbers given out
 */
struct bgdma_node {
	kuid_t uid;
	u32 contexts;
	DECLARE_BITMAP(ids, BGDMA_CTX_PER_NODE);
};

/**
 * struct bgdma_partition - a torus or mesh of nodes
 * @ref: the namespace's list, contexts, netlink calls
 * @lock: attach and detach
 * @name: unique in its namespace
 * @dims: nodes along X, Y, Z
 * @torus: bit per axis
 * @uid: owner
 * @gid: group
 * @mode: as of a file: r and w both needed to attach
 * @poll_ns: how long the engine polls after work
 * @quantum: bytes that a stream moves in one turn
 * @max_contexts: of one user
 * @max_inj: injection FIFOs of one context
 * @size: nodes
 * @incarnation: last one given out
 * @going: being deleted, its name still taken; bgdma_net.lock and bgdma_config_lock
 * @dead: deleted; @lock
 * @fabric: how its nodes reach each other
 * @ether: of nodes that live elsewhere; NULL, or set once: bgdma_ether()
 * @ctxs: by rank << 8 | context; written under @lock, read under RCU
 * @first: context 0 of each of the first BGDMA_FIRST_MAX ranks: mostly who is
 *	looked for, without a walk down @ctxs; written and read like it
 * @nodes: struct bgdma_node by rank; @lock
 * @groups: struct bgdma_group by number and rank; its own lock, read under RCU
 * @groups_gone: bindings that are no more; written under the lock of @groups
 * @groups_made: how many there were; likewise
 * @members: who is attached, without holes; written under @lock, read under RCU
 * @contexts: so many; @lock
 * @stats_lock: innermost
 * @stats_gone: of contexts that were released
 * @node: in bgdma_net.partitions; bgdma_net.lock
 */
struct bgdma_partition {
	struct kref ref;
	struct mutex lock;
	char name[BGDMA_NAME_MAX];
	u32 dims[3];
	u32 torus;
	kuid_t uid;
	kgid_t gid;
	u16 mode;
	u64 poll_ns;
	u32 quantum;
	u32 max_contexts;
	u32 max_inj;
	u32 size;
	u32 incarnation;
	bool going;
	bool dead;
	const struct bgdma_fabric_ops *fabric;
	struct bgdma_ether *ether;
	struct xarray ctxs;
	struct bgdma_ctx __rcu **first;
	struct xarray nodes;
	struct xarray groups;
	u64 groups_gone;
	u32 groups_made;
	struct xarray members;
	u32 contexts;
	struct mutex stats_lock;
	struct bgdma_stream_stats stats_gone;
	struct list_head node;
};

/**
 * struct bgdma_net - the partitions of one network namespace
 * @lock: the list
 * @partitions: of it
 * @n_partitions: so many; @lock
 * @n_kernels: that links of all of them lead to
 */
struct bgdma_net {
	struct mutex lock;
	struct list_head partitions;
	u32 n_partitions;
	atomic_t n_kernels;
};

struct bgdma_net *bgdma_net(struct net *net);
int bgdma_partition_add(struct bgdma_net *bn, struct bgdma_partition *part);
struct bgdma_partition *bgdma_partition_new(const char *name);
struct bgdma_partition *bgdma_partition_find(struct bgdma_net *bn,
					     const char *name);
void bgdma_partition_put(struct bgdma_partition *part);
int bgdma_partition_attach(struct bgdma_partition *part, struct bgdma_ctx *ctx,
			   u16 want);
int bgdma_partition_publish(struct bgdma_ctx *ctx);
void bgdma_partition_abandon(struct bgdma_ctx *ctx);
void bgdma_partition_detach(struct bgdma_ctx *ctx);
void bgdma_partition_leave(struct bgdma_ctx *ctx);
struct bgdma_ctx *bgdma_partition_peer(struct bgdma_partition *part, u32 rank,
				       u16 id);
int bgdma_fabric_init(void);
void bgdma_fabric_exit(void);

#define BGDMA_QUANTUM_DEFAULT	65536
#define BGDMA_FIRST_MAX		65536
#define BGDMA_PARTITIONS_MAX	1024	/* of a network namespace */
#define BGDMA_POLL_NS_DEFAULT	50000
#define BGDMA_CONTEXTS_DEFAULT	8192

/* control/netlink.c, control/stats.c; front/cdev.c */
int bgdma_control_init(void);
void bgdma_control_exit(void);
int bgdma_front_init(void);
void bgdma_front_exit(void);

#endif /* _BGDMA_H */

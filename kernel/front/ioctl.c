// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls. Each structure starts with its size; a longer one than we know
 * must end in zeros, a shorter one than its first version is refused. Results
 * are copied out before what they describe is published, so that a failure
 * leaves nothing behind.
 */
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "front.h"
#include "../engine/busy.h"
#include "../engine/group.h"
#include "../tree/tree.h"

/**
 * struct bgdma_call - an ioctl on its way
 * @ctx: of the file
 * @uarg: user's structure
 * @size: bytes of it that we fill in
 * @u: our copy
 */
struct bgdma_call {
	struct bgdma_ctx *ctx;
	void __user *uarg;
	u32 size;
	union {
		u32 size;
		struct bgdma_query query;
		struct bgdma_attach attach;
		struct bgdma_inj_create inj_create;
		struct bgdma_rec_create rec_create;
		struct bgdma_rgq_create rgq_create;
		struct bgdma_fifo_destroy fifo_destroy;
		struct bgdma_counter_alloc counter_alloc;
		struct bgdma_counter_free counter_free;
		struct bgdma_region_pin region_pin;
		struct bgdma_region_alloc region_alloc;
		struct bgdma_region_free region_free;
		struct bgdma_grant grant;
		struct bgdma_revoke revoke;
		struct bgdma_group_bind group_bind;
		struct bgdma_class_bind class_bind;
		struct bgdma_class_unbind class_unbind;
		struct bgdma_group_unbind group_unbind;
		struct bgdma_event_bind event_bind;
		struct bgdma_clear_error clear_error;
		struct bgdma_cancel cancel;
		struct bgdma_wait wait;
		struct bgdma_gate gate;
		struct bgdma_epochs epochs;
		struct bgdma_epoch_allow epoch_allow;
	} u;
};

static int bgdma_reply(struct bgdma_call *call)
{
	return copy_to_user(call->uarg, &call->u, call->size) ? -EFAULT : 0;
}

static int bgdma_ioc_query(struct bgdma_call *call)
{
	u32 size = call->u.query.size;

	call->u.query = (struct bgdma_query) {
		.size = size,
		.abi_version = BGDMA_ABI_VERSION,
		.features = bgdma_uring_features(),
		.ops = bgdma_ops_supported,
		.desc_flags = BGDMA_DESC_INTERRUPT | BGDMA_DESC_INLINE |
			      BGDMA_DESC_OPS | BGDMA_DESC_FENCE |
			      BGDMA_DESC_GROUP | BGDMA_DESC_HOLD |
			      BGDMA_DESC_FETCH | BGDMA_DESC_EXCLUSIVE,
		.routes = BGDMA_ROUTE_XP | BGDMA_ROUTE_XM | BGDMA_ROUTE_YP |
			  BGDMA_ROUTE_YM | BGDMA_ROUTE_ZP | BGDMA_ROUTE_ZM |
			  BGDMA_ROUTE_ADAPTIVE | BGDMA_ROUTE_DEPOSIT,
		.packet_max = BGDMA_PACKET_MAX,
		.length_max = BGDMA_LENGTH_MAX,
		.rget_desc_max = BGDMA_RGET_DESC_MAX,
		.atomic_ops = bgdma_atomics_supported,
		.tree_ops = bgdma_tree_supported,
	};
	return bgdma_reply(call);
}

/* As for a file that is opened for reading and writing. */
static bool bgdma_may_attach(struct bgdma_partition *part, struct net *net)
{
	kuid_t uid;
	kgid_t gid;
	u16 mode;

	/* Half of what was before, and half of what is to be, may let anybody in. */
	mutex_lock(&part->lock);
	uid = part->uid;
	gid = part->gid;
	mode = part->mode;
	mutex_unlock(&part->lock);

	if (uid_eq(current_euid(), uid))
		mode >>= 6;
	else if (in_egroup_p(gid))
		mode >>= 3;
	return (mode & 6) == 6 || ns_capable(net->user_ns, CAP_NET_ADMIN);
}

static int bgdma_ioc_attach(struct bgdma_call *call)
{
	struct net *net = current->nsproxy->net_ns;
	struct bgdma_attach *arg = &call->u.attach;
	struct bgdma_ctx *ctx = call->ctx;
	struct bgdma_partition *part;
	int err;

	if (arg->flags & ~BGDMA_ATTACH_WATCH || arg->resv || arg->resv1 ||
	    strnlen(arg->partition, BGDMA_NAME_MAX) == BGDMA_NAME_MAX)
		return -EINVAL;

	mutex_lock(&ctx->lock);
	err = ctx->mm == current->mm ? -EISCONN : -EPERM;
	if (ctx->attached)
		goto unlock;
	err = -ENOENT;
	part = bgdma_partition_find(bgdma_net(net), arg->partition);
	if (!part)
		goto unlock;
	if (arg->rank >= part->size)
		goto put;
	err = -EACCES;
	if (!bgdma_may_attach(part, net))
		goto put;
	ctx->partition = part;
	err = bgdma_ctx_attach(ctx, arg);
	if (err)
		goto put;
	err = bgdma_reply(call) ?: bgdma_partition_publish(ctx);
	if (!err)
		goto unlock;
	bgdma_ctx_abandon(ctx);
put:
	ctx->partition = NULL;
	bgdma_partition_put(part);
unlock:
	mutex_unlock(&ctx->lock);
	return err;
}

/* An id of a table of RCU pointers: the one wanted, or the lowest free. */
#define bgdma_choose_id(table, n, want) ({				\
	u32 __i, __n = (n), __want = (want);				\
	int __ret = -ENOSPC;						\
									\
	if (__want != BGDMA_ID_ANY) {					\
		if (__want >= __n)					\
			__ret = -EINVAL;				\
		else							\
			__ret = rcu_access_pointer((table)[__want]) ?	\
				-EEXIST : (int)__want;			\
	} else {							\
		for (__i = 0; __i < __n && __ret < 0; __i++) {		\
			if (!rcu_access_pointer((table)[__i]))		\
				__ret = __i;				\
		}							\
	}								\
	__ret;								\
})

static u32 bgdma_inj_count(const struct bgdma_ctx *ctx)
{
	u32 i, n = 0;

	for (i = 0; i < ctx->n_inj; i++)
		n += !!rcu_access_pointer(ctx->inj[i]);
	return n;
}

static int bgdma_ioc_inj_create(struct bgdma_call *call)
{
	struct bgdma_inj_create *arg = &call->u.inj_create;
	struct bgdma_ctx *ctx = call->ctx;
	struct bgdma_inj_fifo *fifo;
	int id, err;

	if (arg->flags)
		return -EINVAL;
	id = bgdma_choose_id(ctx->inj, ctx->n_inj, arg->id);
	if (id < 0)
		return id;
	if (bgdma_inj_count(ctx) >= READ_ONCE(ctx->partition->max_inj))
		return -EMFILE;
	arg->id = id;
	err = bgdma_inj_create(ctx, arg, &fifo);
	if (err)
		return err;
	err = bgdma_reply(call);
	if (err) {
		bgdma_inj_free(fifo);
		return err;
	}
	mutex_lock(&ctx->map_lock);
	rcu_assign_pointer(ctx->inj[id], fifo);
	mutex_unlock(&ctx->map_lock);
	return 0;
}

static int bgdma_ioc_rec_create(struct bgdma_call *call)
{
	struct bgdma_rec_create *arg = &call->u.rec_create;
	struct bgdma_ctx *ctx = call->ctx;
	struct bgdma_rec_fifo *fifo;
	int id, err;

	if (arg->flags)
		return -EINVAL;
	id = bgdma_choose_id(ctx->rec, ctx->n_rec, arg->id);
	if (id < 0)
		return id;
	arg->id = id;
	err = bgdma_rec_create(ctx, arg, &fifo);
	if (err)
		return err;
	err = bgdma_reply(call);
	if (err) {
		bgdma_rec_free(fifo);
		return err;
	}
	mutex_lock(&ctx->map_lock);
	rcu_assign_pointer(ctx->rec[id], fifo);
	mutex_unlock(&ctx->map_lock);
	return 0;
}

static int bgdma_ioc_rgq_create(struct bgdma_call *call)
{
	struct bgdma_rgq_create *arg = &call->u.rgq_create;
	struct bgdma_ctx *ctx = call->ctx;
	struct bgdma_rget_queue *queue;
	int id, err;

	if (arg->flags)
		return -EINVAL;
	id = bgdma_choose_id(ctx->rgq, ctx->n_rgq, arg->id);
	if (id < 0)
		return id;
	arg->id = id;
	err = bgdma_rgq_create(ctx, arg, &queue);
	if (err)
		return err;
	err = bgdma_reply(call);
	if (err) {
		bgdma_rgq_free(queue);
		return err;
	}
	rcu_assign_pointer(ctx->rgq[id], queue);
	return 0;
}

static int bgdma_ioc_fifo_destroy(struct bgdma_call *call)
{
	const struct bgdma_fifo_destroy *arg = &call->u.fifo_destroy;

	if (arg->resv)
		return -EINVAL;
	return bgdma_ctx_fifo_end(call->ctx, arg->kind, arg->id);
}

static int bgdma_ioc_counter_alloc(struct bgdma_call *call)
{
	struct bgdma_counter_alloc *arg = &call->u.counter_alloc;
	struct bgdma_counter_free undo;
	int err;

	err = bgdma_counter_alloc(call->ctx, arg);
	if (err)
		return err;
	err = bgdma_reply(call);
	if (err) {
		undo = (struct bgdma_counter_free) {
			.kind = arg->kind,
			.first = arg->first,
			.count = arg->count,
		};
		bgdma_counter_free(call->ctx, &undo);
	}
	return err;
}

static int bgdma_ioc_counter_free(struct bgdma_call *call)
{
	return bgdma_counter_free(call->ctx, &call->u.counter_free);
}

static int bgdma_region_finish(struct bgdma_call *call,
			       struct bgdma_region *region)
{
	int err = bgdma_reply(call);

	if (err)
		bgdma_region_abandon(call->ctx, region);
	else
		bgdma_region_publish(call->ctx, region);
	return err;
}

static int bgdma_ioc_region_pin(struct bgdma_call *call)
{
	struct bgdma_region *region;
	int err = bgdma_region_pin(call->ctx, &call->u.region_pin, &region);

	return err ?: bgdma_region_finish(call, region);
}

static int bgdma_ioc_region_alloc(struct bgdma_call *call)
{
	struct bgdma_region *region;
	int err = bgdma_region_alloc(call->ctx, &call->u.region_alloc, &region);

	return err ?: bgdma_region_finish(call, region);
}

static int bgdma_ioc_region_free(struct bgdma_call *call)
{
	return bgdma_region_free(call->ctx, call->u.region_free.handle);
}

static int bgdma_ioc_grant(struct bgdma_call *call)
{
	int err = bgdma_grant(call->ctx, &call->u.grant);

	if (err)
		return err;
	err = bgdma_reply(call);
	if (err)
		bgdma_revoke(call->ctx, call->u.grant.id);
	return err;
}

static int bgdma_ioc_revoke(struct bgdma_call *call)
{
	return bgdma_revoke(call->ctx, call->u.revoke.id);
}

static int bgdma_ioc_class_bind(struct bgdma_call *call)
{
	return bgdma_class_bind(call->ctx, &call->u.class_bind);
}

static int bgdma_ioc_class_unbind(struct bgdma_call *call)
{
	return bgdma_class_unbind(call->ctx, &call->u.class_unbind);
}

static int bgdma_ioc_group_bind(struct bgdma_call *call)
{
	return bgdma_group_bind(call->ctx, &call->u.group_bind);
}

static int bgdma_ioc_group_unbind(struct bgdma_call *call)
{
	return bgdma_group_unbind(call->ctx, call->u.group_unbind.group);
}

static int bgdma_ioc_event_bind(struct bgdma_call *call)
{
	return bgdma_event_bind(call->ctx, &call->u.event_bind);
}

static struct bgdma_inj_fifo *bgdma_inj_find(struct bgdma_ctx *ctx, u32 id)
{
	if (id >= ctx->n_inj)
		return NULL;
	return rcu_dereference_protected(ctx->inj[id],
					 lockdep_is_held(&ctx->lock));
}

static int bgdma_ioc_clear_error(struct bgdma_call *call)
{
	const struct bgdma_clear_error *arg = &call->u.clear_error;
	bool flush = arg->flags & BGDMA_CLEAR_FLUSH;
	struct bgdma_ctx *ctx = call->ctx;
	struct bgdma_rget_queue *queue;
	struct bgdma_inj_fifo *inj;
	struct bgdma_rec_fifo *rec;

	if (arg->flags & ~BGDMA_CLEAR_FLUSH)
		return -EINVAL;
	switch (arg->kind) {
	case BGDMA_KIND_INJ_COUNTER:
	case BGDMA_KIND_REC_COUNTER:
		return flush ? -EINVAL :
			bgdma_counter_clear(ctx,
					    arg->kind - BGDMA_KIND_INJ_COUNTER,
					    arg->object);
	case BGDMA_KIND_INJ_FIFO:
		inj = bgdma_inj_find(ctx, arg->object);
		return inj ? bgdma_inj_clear(inj, flush) : -ENOENT;
	case BGDMA_KIND_REC_FIFO:
		rec = arg->object < ctx->n_rec ?
			rcu_dereference_protected(ctx->rec[arg->object], true) :
			NULL;
		if (!rec)
			return -ENOENT;
		bgdma_rec_clear(rec, flush);
		return 0;
	case BGDMA_KIND_RGET_QUEUE:
		queue = arg->object < ctx->n_rgq ?
			rcu_dereference_protected(ctx->rgq[arg->object], true) :
			NULL;
		if (!queue)
			return -ENOENT;
		bgdma_rgq_clear(queue, flush);
		return 0;
	default:
		return -EINVAL;
	}
}

static int bgdma_ioc_cancel(struct bgdma_call *call)
{
	struct bgdma_cancel *arg = &call->u.cancel;
	struct bgdma_inj_fifo *fifo;
	int err;

	if (arg->flags)
		return -EINVAL;
	fifo = bgdma_inj_find(call->ctx, arg->fifo);
	if (!fifo)
		return -ENOENT;
	err = bgdma_inj_cancel(fifo, arg);
	return err ?: bgdma_reply(call);
}

static int bgdma_ioc_wait(struct bgdma_call *call)
{
	struct bgdma_wait *arg = &call->u.wait;
	struct bgdma_condition *cond;
	int err;

	if (arg->flags || !arg->count || arg->count > BGDMA_WAIT_MAX)
		return -EINVAL;
	cond = memdup_user(u64_to_user_ptr(arg->conditions),
			   arg->count * sizeof(*cond));
	if (IS_ERR(cond))
		return PTR_ERR(cond);
	err = bgdma_wait(call->ctx, cond, arg->count, arg->timeout_ns,
			 &arg->ready);
	kfree(cond);
	return err ?: bgdma_reply(call);
}

static int bgdma_ioc_gate(struct bgdma_call *call)
{
	return bgdma_gate_create(call->ctx, &call->u.gate);
}

static int bgdma_ioc_epochs(struct bgdma_call *call)
{
	struct bgdma_epochs *arg = &call->u.epochs;
	u32 room = min_t(u32, arg->count, BGDMA_EPOCHS_MAX);
	struct bgdma_epoch *epochs;
	int err;

	if (arg->flags)
		return -EINVAL;
	epochs = kvcalloc(room, sizeof(*epochs), GFP_KERNEL_ACCOUNT);
	if (!epochs && room)
		return -ENOMEM;
	arg->count = room;
	err = bgdma_gate_list(call->ctx, arg->region, epochs, &arg->count);
	if (!err && copy_to_user(u64_to_user_ptr(arg->epochs), epochs,
				 min(room, arg->count) * sizeof(*epochs)))
		err = -EFAULT;
	kvfree(epochs);
	return err ?: bgdma_reply(call);
}

static int bgdma_ioc_epoch_allow(struct bgdma_call *call)
{
	return bgdma_gate_allow(call->ctx, &call->u.epoch_allow);
}

/**
 * struct bgdma_ioc - one ioctl
 * @cmd: its full number
 * @size: of its structure today
 * @min: of its structure in the first version
 * @flags: how it is called
 * @fn: does it
 */
struct bgdma_ioc {
	unsigned int cmd;
	u32 size;
	u32 min;
	u32 flags;
	int (*fn)(struct bgdma_call *call);
};

#define BGDMA_IOC_ALONE		1U	/* needs no attached file */
#define BGDMA_IOC_UNLOCKED	2U	/* does not take ctx.lock */

#define BGDMA_IOC(_nr, _struct, _last, _flags, _fn)			\
	[_IOC_NR(_nr)] = {						\
		.cmd = (_nr),						\
		.size = sizeof(struct _struct),				\
		.min = offsetofend(struct _struct, _last),		\
		.flags = (_flags),					\
		.fn = (_fn),						\
	}

static const struct bgdma_ioc bgdma_iocs[] = {
	BGDMA_IOC(BGDMA_IOC_QUERY, bgdma_query, tree_ops,
		  BGDMA_IOC_ALONE | BGDMA_IOC_UNLOCKED, bgdma_ioc_query),
	BGDMA_IOC(BGDMA_IOC_ATTACH, bgdma_attach, areas,
		  BGDMA_IOC_ALONE | BGDMA_IOC_UNLOCKED, bgdma_ioc_attach),
	BGDMA_IOC(BGDMA_IOC_INJ_CREATE, bgdma_inj_create, ring, 0,
		  bgdma_ioc_inj_create),
	BGDMA_IOC(BGDMA_IOC_REC_CREATE, bgdma_rec_create, ring, 0,
		  bgdma_ioc_rec_create),
	BGDMA_IOC(BGDMA_IOC_RGQ_CREATE, bgdma_rgq_create, timeout_ms, 0,
		  bgdma_ioc_rgq_create),
	BGDMA_IOC(BGDMA_IOC_FIFO_DESTROY, bgdma_fifo_destroy, resv, 0,
		  bgdma_ioc_fifo_destroy),
	BGDMA_IOC(BGDMA_IOC_COUNTER_ALLOC, bgdma_counter_alloc, resv, 0,
		  bgdma_ioc_counter_alloc),
	BGDMA_IOC(BGDMA_IOC_COUNTER_FREE, bgdma_counter_free, count, 0,
		  bgdma_ioc_counter_free),
	BGDMA_IOC(BGDMA_IOC_REGION_PIN, bgdma_region_pin, resv, 0,
		  bgdma_ioc_region_pin),
	BGDMA_IOC(BGDMA_IOC_REGION_ALLOC, bgdma_region_alloc, mem, 0,
		  bgdma_ioc_region_alloc),
	BGDMA_IOC(BGDMA_IOC_REGION_FREE, bgdma_region_free, handle, 0,
		  bgdma_ioc_region_free),
	BGDMA_IOC(BGDMA_IOC_GRANT, bgdma_grant, resv1, 0, bgdma_ioc_grant),
	BGDMA_IOC(BGDMA_IOC_REVOKE, bgdma_revoke, id, 0, bgdma_ioc_revoke),
	BGDMA_IOC(BGDMA_IOC_GROUP_BIND, bgdma_group_bind, resv, 0,
		  bgdma_ioc_group_bind),
	BGDMA_IOC(BGDMA_IOC_GROUP_UNBIND, bgdma_group_unbind, group, 0,
		  bgdma_ioc_group_unbind),
	BGDMA_IOC(BGDMA_IOC_EVENT_BIND, bgdma_event_bind, resv, 0,
		  bgdma_ioc_event_bind),
	BGDMA_IOC(BGDMA_IOC_CLEAR_ERROR, bgdma_clear_error, object, 0,
		  bgdma_ioc_clear_error),
	BGDMA_IOC(BGDMA_IOC_CANCEL, bgdma_cancel, last, 0, bgdma_ioc_cancel),
	BGDMA_IOC(BGDMA_IOC_WAIT, bgdma_wait, timeout_ns, BGDMA_IOC_UNLOCKED,
		  bgdma_ioc_wait),
	BGDMA_IOC(BGDMA_IOC_GATE, bgdma_gate, epochs, 0, bgdma_ioc_gate),
	BGDMA_IOC(BGDMA_IOC_EPOCHS, bgdma_epochs, epochs, 0, bgdma_ioc_epochs),
	BGDMA_IOC(BGDMA_IOC_CLASS_BIND, bgdma_class_bind, window, 0,
		  bgdma_ioc_class_bind),
	BGDMA_IOC(BGDMA_IOC_CLASS_UNBIND, bgdma_class_unbind, resv, 0,
		  bgdma_ioc_class_unbind),
	BGDMA_IOC(BGDMA_IOC_EPOCH_ALLOW, bgdma_epoch_allow, rank, 0,
		  bgdma_ioc_epoch_allow),
};

/* The user's structure, whatever version of the header he was built with. */
static int bgdma_copy_in(struct bgdma_call *call, const struct bgdma_ioc *ioc,
			 void __user *uarg)
{
	u32 size;

	if (get_user(size, (u32 __user *)uarg))
		return -EFAULT;
	if (size < ioc->min)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	call->uarg = uarg;
	call->size = min(size, ioc->size);
	return copy_struct_from_user(&call->u, ioc->size, uarg, size);
}

static int bgdma_ioctl_call(struct bgdma_ctx *ctx, const struct bgdma_ioc *ioc,
			    void __user *uarg)
{
	struct bgdma_call call = { .ctx = ctx };
	int err;

	BUILD_BUG_ON(sizeof(call.u) > 256);

	err = bgdma_copy_in(&call, ioc, uarg);
	if (err)
		return err;
	if (ioc->flags & BGDMA_IOC_UNLOCKED)
		return ioc->fn(&call);
	if (mutex_lock_killable(&ctx->lock))
		return -EINTR;
	err = ioc->fn(&call);
	mutex_unlock(&ctx->lock);
	return err;
}

static int bgdma_ioc_doorbell(struct bgdma_ctx *ctx, unsigned long arg)
{
	if (arg & ~(unsigned long)BGDMA_DOORBELL_POOL)
		return -EINVAL;
	if (likely(!arg)) {
		bgdma_doorbell(ctx);
		return 0;
	}
	bgdma_doorbell_pool(ctx);
	bgdma_ctx_poll(ctx);
	return 0;
}

static int bgdma_ioc_notify(struct bgdma_ctx *ctx, unsigned long arg)
{
	unsigned int kind = (arg >> 16) - BGDMA_KIND_INJ_COUNTER;
	u32 slot = arg & 0xffff;

	if (arg > U32_MAX || kind > 1)
		return -EINVAL;
	if (slot >= ctx->n_ctr[kind] ||
	    !READ_ONCE(ctx->counters[kind][slot].used))
		return -ENOENT;
	bgdma_counter_notify(ctx, kind, slot);
	return 0;
}

/**
 * bgdma_ioctl() - .unlocked_ioctl of the device
 * @file: of a context
 * @cmd: BGDMA_IOC_*
 * @arg: its structure, or its flags
 *
 * Return: 0 or the negative errno that the call documents.
 */
long bgdma_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct bgdma_ctx *ctx = file->private_data;
	const struct bgdma_ioc *ioc = NULL;
	unsigned int nr = _IOC_NR(cmd);
	int err;

	/* The one call of the data path looks nothing up. */
	if (likely(cmd == BGDMA_IOC_DOORBELL)) {
		err = bgdma_ring_begin(ctx);
		if (likely(!err)) {
			err = bgdma_ioc_doorbell(ctx, arg);
			bgdma_ring_end(ctx);
		}
		return err;
	}
	if (nr < ARRAY_SIZE(bgdma_iocs) && bgdma_iocs[nr].cmd == cmd)
		ioc = &bgdma_iocs[nr];
	else if (cmd != BGDMA_IOC_NOTIFY)
		return -ENOTTY;
	if (ioc && (ioc->flags & BGDMA_IOC_ALONE))
		return bgdma_ioctl_call(ctx, ioc, (void __user *)arg);

	err = bgdma_call_begin(ctx);
	if (err)
		return err;
	if (ioc)
		err = bgdma_ioctl_call(ctx, ioc, (void __user *)arg);
	else
		err = bgdma_ioc_notify(ctx, arg);
	bgdma_call_end(ctx);
	return err;
}

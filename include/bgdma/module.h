/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, sys layer: what modules of an endpoint need beside <bgdma/sys.h>, such as
 * <bgdma/msg.h> and <bgdma/rma.h> (DP-5).
 */
#ifndef BGDMA_MODULE_H
#define BGDMA_MODULE_H

#include <bgdma/sys.h>

BGDMA_BEGIN_DECLS

/**
 * struct bgdma_module_attr - what an endpoint does for a module
 * @work: called at the end of each progress, where callbacks run: to do what
 *	found no room before. It returns how much was done, or -EAGAIN: nothing,
 *	and some is left, for which it has tried again to send; or -ENOMEM: the
 *	same, and only time helps, as it does where -EAGAIN is returned and no call
 *	for a message found a channel full. Where it found one full and waits for
 *	something else, too, of which nothing tells, it returns -ENOMEM. NULL:
 *	nothing to do
 * @trouble: called before that of struct bgdma_endpoint_attr; NULL: not
 * @release: called once, by bgdma_endpoint_destroy(), after the last of all
 *	callbacks; NULL: not
 * @arg: for all of them
 * @event: called for each event of the context (<bgdma/event.h>), where callbacks
 *	run, after the endpoint has looked at it; with NULL after events were
 *	lost, when there is room again; NULL: not
 */
struct bgdma_module_attr {
	int (*work)(void *arg);
	bgdma_trouble_fn *trouble;
	void (*release)(void *arg);
	void *arg;
	void (*event)(void *arg, const struct bgdma_event *event);
};

/* bgdma_module_add() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_module_add_sized(struct bgdma_endpoint *ep,
				     const struct bgdma_module_attr *attr,
				     size_t size);

/**
 * bgdma_module_add() - let a module live as long as an endpoint (DP-5)
 * @ep: endpoint, not yet committed
 * @attr: what is done for it; copied
 *
 * Return: 0; -EBUSY the endpoint is committed; -ENOMEM.
 */
static inline int bgdma_module_add(struct bgdma_endpoint *ep,
				   const struct bgdma_module_attr *attr)
{
	return bgdma_module_add_sized(ep, attr, sizeof(*attr));
}

/**
 * bgdma_endpoint_lock() - what callbacks of the endpoint run under
 * @ep: endpoint
 *
 * For modules whose functions share data with their callbacks. It nests. Does
 * nothing with BGDMA_THREADS_ONE.
 */
BGDMA_API void bgdma_endpoint_lock(struct bgdma_endpoint *ep);

/**
 * bgdma_endpoint_unlock() - end of it
 * @ep: endpoint
 */
BGDMA_API void bgdma_endpoint_unlock(struct bgdma_endpoint *ep);

/**
 * bgdma_endpoint_wake() - have all that wait on an endpoint look again
 * @ep: endpoint
 *
 * For modules: what a wait looks at was changed outside of progress, or there is
 * work for it.
 *
 * Thread safety: as the endpoint.
 */
BGDMA_API void bgdma_endpoint_wake(struct bgdma_endpoint *ep);

/**
 * bgdma_endpoint_grant() - let the processes of the job use an object
 * @ep: endpoint, committed
 * @kind: BGDMA_KIND_* of the object, which is of the endpoint's context
 * @object: its handle or id; of counters the slot of the first
 * @count: counters in a row; else 1
 * @rights: BGDMA_RIGHT_*; 0: the only one that there is for such an object
 *
 * And nobody else, but in jobs of more than BGDMA_GRANTS_MAX processes: then
 * it is open to the partition. Until the object is gone.
 *
 * Thread safety: any thread.
 * Return: 0; -ENOTCONN; what bgdma_region_grant() returns.
 */
BGDMA_API int bgdma_endpoint_grant(struct bgdma_endpoint *ep, uint32_t kind,
				   uint32_t object, uint32_t count,
				   uint32_t rights);

/**
 * bgdma_endpoint_break() - something between us and a process was lost
 * @ep: endpoint, committed
 * @why: of a transfer of a module's own, which failed: @code, @peer_rank, @peer_ctx
 *	and, of a message to many, @offset. Nothing happens but with BGDMA_E_LINK_DOWN,
 *	BGDMA_E_TIMEOUT, BGDMA_E_NO_PEER and BGDMA_E_PEER_DOWN
 *
 * The endpoint breaks with the process that did not get it, see
 * BGDMA_TROUBLE_PEER_DOWN; of a message to many, with those of the node that did not
 * answer. It does so by itself for what it sends, and for each event of its context
 * that has such a code: this is for where there may have been no room for an event.
 * Where nobody is there any more it has found one to be dead. Modules are told when what
 * he sent before has been taken, not by this call.
 *
 * Thread safety: as the endpoint.
 * Return: modules are told of that process, or were before; false: nobody knows which.
 */
BGDMA_API bool bgdma_endpoint_break(struct bgdma_endpoint *ep,
				    const struct bgdma_record *why);

/* bgdma_endpoint_describe() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_endpoint_describe_sized(struct bgdma_endpoint *ep,
					    const struct bgdma_send_attr *attr,
					    size_t size,
					    struct bgdma_desc *desc);

/**
 * bgdma_endpoint_describe() - write the descriptor of a message, and send nothing
 * @ep: endpoint, committed
 * @attr: the message: to one process, of up to BGDMA_INLINE_MAX bytes of @data; no
 *	@from, no @counter
 * @desc: out
 *
 * For a remote get: the engine of the process that it goes to sends it, as a
 * message of that process. To the caller itself it tells that what the caller had
 * sent to that queue before has been begun, or with BGDMA_DESC_FENCE has ended.
 *
 * Return: 0; -EMSGSIZE; -EINVAL; -ENOTCONN not committed.
 */
static inline int bgdma_endpoint_describe(struct bgdma_endpoint *ep,
					  const struct bgdma_send_attr *attr,
					  struct bgdma_desc *desc)
{
	return bgdma_endpoint_describe_sized(ep, attr, sizeof(*attr), desc);
}

BGDMA_END_DECLS

#endif /* BGDMA_MODULE_H */

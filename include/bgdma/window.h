/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, rma module: windows. See <bgdma/rma.h>.
 */
#ifndef BGDMA_WINDOW_H
#define BGDMA_WINDOW_H

#include <bgdma/sys.h>

BGDMA_BEGIN_DECLS

/* One-sided access on an endpoint. */
struct bgdma_rma;

/* Memory of each process of the job that all can use. */
struct bgdma_window;

/* An epoch of this process at a target. */
struct bgdma_rma_epoch;

/**
 * struct bgdma_rma_trouble - an epoch broke
 * @window: window
 * @rank: the other process; BGDMA_STRANGER: events were lost, so that any epoch of
 *	others at the window may have broken: bgdma_gate_epochs() has those that
 *	have not. Nothing else is known then
 * @epoch: identifier; those from BGDMA_EPOCH_RESERVED on are the module's own
 * @origin: this process is its origin; else the target
 * @code: enum bgdma_code
 * @got: target: puts of it that had come
 * @put: puts of it; target: 0, unless the origin was closing it
 */
struct bgdma_rma_trouble {
	struct bgdma_window *window;
	uint32_t rank;
	uint32_t epoch;
	bool origin;
	uint32_t code;
	uint64_t got;
	uint64_t put;
};

/* See struct bgdma_rma_attr; @trouble is valid until it returns. */
typedef void bgdma_rma_trouble_fn(void *arg,
				  const struct bgdma_rma_trouble *trouble);

/**
 * struct bgdma_rma_attr - how to make the module
 * @channels: injection FIFOs; a target always uses the same; 0: 4, but no more
 *	than there are processes
 * @entries: descriptors of each, a power of two; 0: 256
 * @trouble: called where callbacks run, or in a call of an epoch, when one broke:
 *	here for what the engine refused, at the target when an origin left or
 *	died in an epoch (EP-8); NULL: not. It calls nothing of the library
 * @arg: for @trouble
 */
struct bgdma_rma_attr {
	uint32_t channels;
	uint32_t entries;
	bgdma_rma_trouble_fn *trouble;
	void *arg;
};

/* bgdma_rma_create() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_rma_create_sized(struct bgdma_rma **rma,
				     struct bgdma_endpoint *ep,
				     const struct bgdma_rma_attr *attr,
				     size_t size);

/**
 * bgdma_rma_create() - add the module to an endpoint
 * @rma: out; ends with the endpoint
 * @ep: endpoint, not yet committed
 * @attr: how; NULL: all defaults
 *
 * Return: 0; -EEXIST it was added; -EBUSY the endpoint is committed; -EINVAL;
 * -ENOMEM; what bgdma_inj_create() and bgdma_region_alloc() return.
 */
static inline int bgdma_rma_create(struct bgdma_rma **rma,
				   struct bgdma_endpoint *ep,
				   const struct bgdma_rma_attr *attr)
{
	return bgdma_rma_create_sized(rma, ep, attr, sizeof(*attr));
}

/* ---- Windows ----------------------------------------------------------- */

/**
 * enum bgdma_window_trap - which accesses of the target itself are trapped
 * @BGDMA_TRAP_NOTHING: none
 * @BGDMA_TRAP_WRITES: those that write
 * @BGDMA_TRAP_ALL: all
 */
enum bgdma_window_trap {
	BGDMA_TRAP_NOTHING	= 0,
	BGDMA_TRAP_WRITES	= 1,
	BGDMA_TRAP_ALL		= 2
};

/**
 * struct bgdma_race - an access of the target itself to memory in an epoch
 * @window: window
 * @code: address of the instruction; 0: not known on this processor
 * @offset: byte of the window that it touches first
 * @rank: origin of the epoch; of several that are not over the one that began last
 * @epoch: its identifier
 */
struct bgdma_race {
	struct bgdma_window *window;
	const void *code;
	uint64_t offset;
	uint32_t rank;
	uint32_t epoch;
};

/* See struct bgdma_window_attr; @race is valid until it returns. */
typedef void bgdma_race_fn(void *arg, const struct bgdma_race *race);

/**
 * struct bgdma_window_attr - the own part of a window
 * @addr: memory of the caller's, which stays his; NULL: the driver's, zeroed
 * @length: bytes; 0: none
 * @unit: bytes that accesses to it count in; 0: 1
 * @dynamic: on all processes: no memory yet; see bgdma_window_attach()
 * @trap: for development: accesses of this process itself are reported while
 *	epochs of others are open. Needs @addr and @length of whole pages. Each
 *	epoch waits until the memory is protected, which progress does: the
 *	endpoint should have BGDMA_PROGRESS_THREAD. System calls that are given
 *	such memory fail with -EFAULT, and are not reported
 * @race: called for the first such access to each page in an epoch, or to all of it
 *	where it cannot be split (the driver's, huge pages), in the
 *	signal handler of the thread that made it: only what is
 *	async-signal-safe may be called; the access is then made
 * @arg: for @race
 */
struct bgdma_window_attr {
	void *addr;
	uint64_t length;
	uint32_t unit;
	bool dynamic;
	enum bgdma_window_trap trap;
	bgdma_race_fn *race;
	void *arg;
};

/* bgdma_window_create() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_window_create_sized(struct bgdma_rma *rma,
					const struct bgdma_window_attr *attr,
					size_t size,
					struct bgdma_window **window);

/**
 * bgdma_window_create() - show memory to the others
 * @rma: module; its endpoint is committed
 * @attr: the own part; NULL: none
 * @window: out: to be ended by bgdma_window_free(), or with the endpoint
 *
 * Collective; processes create their windows in the same order.
 *
 * Return: 0; -EINVAL; -ENOTCONN not committed; -ENOMEM; -EHOSTDOWN; what
 * bgdma_region_register(), bgdma_region_alloc() and bgdma_gate_create() return,
 * here or at another process: if one fails all do.
 */
static inline int bgdma_window_create(struct bgdma_rma *rma,
				      const struct bgdma_window_attr *attr,
				      struct bgdma_window **window)
{
	return bgdma_window_create_sized(rma, attr, sizeof(*attr), window);
}

/**
 * bgdma_window_free() - end a window
 * @window: window, or NULL
 *
 * Collective. Waits for all others to call it.
 *
 * Return: 0; -EBUSY an epoch of this process is open: nothing was done;
 * -EHOSTDOWN a process has left or died: the window has ended all the same.
 */
BGDMA_API int bgdma_window_free(struct bgdma_window *window);

/**
 * bgdma_window_addr() - own memory
 * @window: window, not dynamic
 *
 * Thread safety: any thread.
 */
BGDMA_API void *bgdma_window_addr(const struct bgdma_window *window);

/**
 * bgdma_window_region() - own region, which has the gate
 * @window: window
 *
 * To name the memory, and for bgdma_gate_epochs(). Of a dynamic window, and of
 * one without memory, there is only the gate.
 *
 * Thread safety: any thread.
 */
BGDMA_API struct bgdma_region *
bgdma_window_region(const struct bgdma_window *window);

/**
 * bgdma_window_length() - bytes of a process's part
 * @window: window
 * @rank: process
 *
 * Thread safety: any thread.
 * Return: bytes; 0: none, or no such process.
 */
BGDMA_API uint64_t bgdma_window_length(const struct bgdma_window *window,
				       uint32_t rank);

/* Pieces of memory that a process can have attached to a window. */
#define BGDMA_ATTACHED_MAX	4096

/**
 * bgdma_window_attach() - let memory be part of a dynamic window
 * @window: dynamic window
 * @addr: memory of the caller's, that is no part yet
 * @length: bytes, at least 1
 *
 * Others name it by its address in this process: accesses count in bytes from
 * 0. It is behind the window's gate: epochs are of all that is attached.
 *
 * Not collective. When it returns the others are told, as far as their FIFOs have
 * room, for which it waits: who synchronizes with this process in whatever way
 * may access it, but in a callback of the endpoint's only once that was called for
 * something else behind it: there is no progress in there. Where a callback there has
 * refused a packet, by -EAGAIN, what it is told may lie behind that: an access to what
 * it does not know of is then not -ERANGE but -EAGAIN, and may be tried again once that
 * packet is taken.
 *
 * Return: 0; -EINVAL; -EEXIST part of it is attached; -ENOSPC there are
 * BGDMA_ATTACHED_MAX pieces; what bgdma_region_register(), bgdma_gate_share() and
 * bgdma_counter_alloc() return. If it fails nothing is
 * attached.
 */
BGDMA_API int bgdma_window_attach(struct bgdma_window *window, void *addr,
				  uint64_t length);

/**
 * bgdma_window_detach() - end what bgdma_window_attach() began
 * @window: dynamic window
 * @addr: as attached
 *
 * Later accesses to it are refused. Others are told as by bgdma_window_attach().
 *
 * Return: 0; -ENOENT; what bgdma_counter_alloc() returns: the memory is detached, but
 * not all others may have been told. It is one of the BGDMA_ATTACHED_MAX pieces until
 * they are: by detaching the same once more, which tells again and returns 0 (or
 * -ENOENT: they were), or by attaching what overlaps it.
 */
BGDMA_API int bgdma_window_detach(struct bgdma_window *window, void *addr);

BGDMA_END_DECLS

#endif /* BGDMA_WINDOW_H */

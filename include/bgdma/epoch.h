/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, rma module: epochs, and accesses in them. See <bgdma/rma.h>.
 */
#ifndef BGDMA_EPOCH_H
#define BGDMA_EPOCH_H

#include <bgdma/window.h>

BGDMA_BEGIN_DECLS

/* ---- Epochs (EP-1 to EP-8) --------------------------------------------- */

/* Identifiers of epochs are 1 to one less than this. */
#define BGDMA_EPOCH_RESERVED	0x80000000U

/* Flags of bgdma_epoch_begin() and bgdma_window_lock(). */
#define BGDMA_EPOCH_EXCLUSIVE	(1U << 0)	/* nobody else; else shared */
#define BGDMA_EPOCH_REFUSE	(1U << 1)	/* -EBUSY rather than wait */

/**
 * bgdma_epoch_begin() - begin an epoch, and wait for its limitation (EP-1)
 * @window: window
 * @target: rank
 * @id: identifier, which no other open epoch of this process has, at whatever window
 * @flags: BGDMA_EPOCH_*
 * @epoch: out: until bgdma_epoch_close()
 *
 * Limitations are given in the order asked: one that waits for an exclusive epoch
 * to end keeps back shared ones that come later, so that none starves. The gate has
 * room for BGDMA_EPOCHS_EACH of each process, up to BGDMA_EPOCHS_MAX of all.
 *
 * Return: 0; -EEXIST the identifier is in use; -EBUSY with BGDMA_EPOCH_REFUSE:
 * another epoch holds the window; with or without: this process has as many there
 * as it may, or there is no room, as can be in a job of more than 256 processes;
 * -EHOSTDOWN; -ENOSPC no counter is left,
 * of which an epoch needs one of each kind, and those of lock all, fence and start
 * one for each target that is accessed; -EINVAL; -ENOMEM.
 */
BGDMA_API int bgdma_epoch_begin(struct bgdma_window *window, uint32_t target,
				uint32_t id, unsigned int flags,
				struct bgdma_rma_epoch **epoch);

/**
 * bgdma_epoch_close() - end an epoch (EP-4 to EP-6)
 * @epoch: epoch; cannot be used any more, whatever is returned
 *
 * From now on its accesses are refused with -ESHUTDOWN. When it returns, all of
 * them are complete, here and at the target, and the limitation is lifted.
 *
 * One thread closes an epoch, and when that has returned no other may access it any
 * more: the epoch may be the next one at the target by then. Where threads find out by
 * -ESHUTDOWN that they are to stop, bgdma_epoch_closing() comes first, then they are
 * waited for, and then this.
 *
 * Return: 0; the first error that it had; -EALREADY another thread is closing it;
 * -EINVAL it is that of a lock, a fence or a start.
 */
BGDMA_API int bgdma_epoch_close(struct bgdma_rma_epoch *epoch);

/**
 * bgdma_epoch_closing() - begin the closing stage, and do not wait (EP-4)
 * @epoch: epoch; only bgdma_epoch_close() and _info() are left to be called
 *
 * Return: 0; -EALREADY; what submitting returns.
 */
BGDMA_API int bgdma_epoch_closing(struct bgdma_rma_epoch *epoch);

/**
 * bgdma_epoch_flush() - wait until all accesses so far are complete
 * @epoch: epoch
 *
 * Here and at the target: their local memory is the caller's again, and what they
 * put is visible there.
 *
 * Return: 0; the first error of the epoch.
 */
BGDMA_API int bgdma_epoch_flush(struct bgdma_rma_epoch *epoch);

/**
 * struct bgdma_epoch_info - an epoch as its origin knows it
 * @target: rank
 * @id: identifier
 * @closing: it is in its closing stage
 * @code: the first error; BGDMA_OK: none
 * @puts: the put counter: puts and atomics so far (EP-3)
 * @gets: the get counter: gets that are under way (EP-2)
 */
struct bgdma_epoch_info {
	uint32_t target;
	uint32_t id;
	bool closing;
	uint32_t code;
	uint64_t puts;
	int64_t gets;
};

/* bgdma_epoch_info() of a program whose structure has @size bytes. */
BGDMA_API void bgdma_epoch_info_sized(struct bgdma_rma_epoch *epoch,
				      struct bgdma_epoch_info *info,
				      size_t size);

/**
 * bgdma_epoch_info() - how an epoch is
 * @epoch: epoch
 * @info: out
 */
static inline void bgdma_epoch_info(struct bgdma_rma_epoch *epoch,
				    struct bgdma_epoch_info *info)
{
	bgdma_epoch_info_sized(epoch, info, sizeof(*info));
}

/* ---- Accesses ---------------------------------------------------------- */

/**
 * struct bgdma_rma_request - names accesses, to wait for them alone
 * @epoch: that they are of; this and what follows is the library's
 * @serial: which epoch
 * @seq: of the last descriptor
 * @gets: of the epoch until then
 *
 * Made by a call that is given one, for that access and, of gets, those before it
 * in the epoch. It is complete at the latest with the epoch. The caller's
 * memory, which needs no freeing.
 */
struct bgdma_rma_request {
	struct bgdma_rma_epoch *epoch;
	uint64_t serial;
	uint64_t seq;
	uint64_t gets;
};

/**
 * struct bgdma_access_attr - a put or a get
 * @local: where it comes from, or goes
 * @length: bytes, up to BGDMA_LENGTH_MAX
 * @at: where in the target's window, in its units
 * @route: BGDMA_ROUTE_*
 * @more: more follows for the same target: the engine need not look yet
 * @request: out: for bgdma_rma_wait() and _test(); NULL: not needed
 */
struct bgdma_access_attr {
	struct bgdma_place local;
	uint64_t length;
	uint64_t at;
	uint8_t route;
	bool more;
	struct bgdma_rma_request *request;
};

/* bgdma_epoch_put() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_epoch_put_sized(struct bgdma_rma_epoch *epoch,
				    const struct bgdma_access_attr *attr,
				    size_t size);

/**
 * bgdma_epoch_put() - write to the target's window (EP-3)
 * @epoch: epoch
 * @attr: what and where to
 *
 * Return: 0; -ESHUTDOWN the epoch is in its closing stage: nothing was counted or
 * moved (EP-4); -ERANGE outside of the window; -EAGAIN the same, of a dynamic one, but
 * that may not be known yet: see bgdma_window_attach(); -EINVAL; -EMSGSIZE.
 */
static inline int bgdma_epoch_put(struct bgdma_rma_epoch *epoch,
				  const struct bgdma_access_attr *attr)
{
	return bgdma_epoch_put_sized(epoch, attr, sizeof(*attr));
}

/* bgdma_epoch_get() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_epoch_get_sized(struct bgdma_rma_epoch *epoch,
				    const struct bgdma_access_attr *attr,
				    size_t size);

/**
 * bgdma_epoch_get() - read from the target's window (EP-2)
 * @epoch: epoch
 * @attr: what and where to
 *
 * Return: as bgdma_epoch_put().
 */
static inline int bgdma_epoch_get(struct bgdma_rma_epoch *epoch,
				  const struct bgdma_access_attr *attr)
{
	return bgdma_epoch_get_sized(epoch, attr, sizeof(*attr));
}

/**
 * struct bgdma_piece - a piece of an access
 * @local: bytes from where struct bgdma_access_attr says
 * @at: the same at the target, in its units
 * @length: bytes
 */
struct bgdma_piece {
	uint64_t local;
	uint64_t at;
	uint64_t length;
};

/* The two below of a program whose attr has @size bytes. */
BGDMA_API int bgdma_epoch_pieces_sized(struct bgdma_rma_epoch *epoch, bool put,
				       const struct bgdma_access_attr *attr,
				       size_t size,
				       const struct bgdma_piece *pieces,
				       uint32_t count);

/**
 * bgdma_epoch_put_pieces() - write pieces to the target's window
 * @epoch: epoch
 * @attr: the whole; @length is not used
 * @pieces: pieces, each of them one put
 * @count: so many
 *
 * Return: as bgdma_epoch_put(), before any of them was begun; but where it waits for
 * room callbacks run, and after one that closes the epoch or detaches memory some have
 * been, in order.
 */
static inline int bgdma_epoch_put_pieces(struct bgdma_rma_epoch *epoch,
					 const struct bgdma_access_attr *attr,
					 const struct bgdma_piece *pieces,
					 uint32_t count)
{
	return bgdma_epoch_pieces_sized(epoch, true, attr, sizeof(*attr),
					pieces, count);
}

/**
 * bgdma_epoch_get_pieces() - read pieces of the target's window
 * @epoch: epoch
 * @attr: the whole; @length is not used
 * @pieces: pieces, each of them one get
 * @count: so many
 *
 * Return: as bgdma_epoch_put_pieces().
 */
static inline int bgdma_epoch_get_pieces(struct bgdma_rma_epoch *epoch,
					 const struct bgdma_access_attr *attr,
					 const struct bgdma_piece *pieces,
					 uint32_t count)
{
	return bgdma_epoch_pieces_sized(epoch, false, attr, sizeof(*attr),
					pieces, count);
}

/**
 * struct bgdma_stride - blocks of the same length at the same distance
 * @count: of blocks
 * @local: bytes from the start of one to that of the next
 * @at: the same at the target, in its units
 *
 * The length of a block is that of struct bgdma_access_attr.
 */
struct bgdma_stride {
	uint32_t count;
	uint64_t local;
	uint64_t at;
};

/* The two below of a program whose attr has @size bytes. */
BGDMA_API int bgdma_epoch_strided_sized(struct bgdma_rma_epoch *epoch, bool put,
					const struct bgdma_access_attr *attr,
					size_t size,
					const struct bgdma_stride *stride);

/**
 * bgdma_epoch_put_strided() - write blocks to the target's window
 * @epoch: epoch
 * @attr: the first block
 * @stride: how many, and how far apart
 *
 * Return: as bgdma_epoch_put_pieces().
 */
static inline int bgdma_epoch_put_strided(struct bgdma_rma_epoch *epoch,
					  const struct bgdma_access_attr *attr,
					  const struct bgdma_stride *stride)
{
	return bgdma_epoch_strided_sized(epoch, true, attr, sizeof(*attr),
					 stride);
}

/**
 * bgdma_epoch_get_strided() - read blocks of the target's window
 * @epoch: epoch
 * @attr: the first block
 * @stride: how many, and how far apart
 *
 * Return: as bgdma_epoch_put_pieces().
 */
static inline int bgdma_epoch_get_strided(struct bgdma_rma_epoch *epoch,
					  const struct bgdma_access_attr *attr,
					  const struct bgdma_stride *stride)
{
	return bgdma_epoch_strided_sized(epoch, false, attr, sizeof(*attr),
					 stride);
}

/*
 * What bgdma_epoch_update() can do beyond enum bgdma_atomic_op: logical
 * operators, whose result is 0 or 1.
 */
#define BGDMA_RMA_LAND		16
#define BGDMA_RMA_LOR		17
#define BGDMA_RMA_LXOR		18

/* And types beyond enum bgdma_atomic_type. */
#define BGDMA_RMA_FLOAT		16
#define BGDMA_RMA_DOUBLE	17

/**
 * struct bgdma_update_attr - elements of the target's window that are updated
 * @op: enum bgdma_atomic_op, or BGDMA_RMA_*
 * @type: enum bgdma_atomic_type, or BGDMA_RMA_FLOAT or _DOUBLE
 * @count: elements; of BGDMA_ATOMIC_CAS: 1
 * @at: the first, in units of the target's window; aligned to its size
 * @operand: of one element, if @local has no region: its bits, in the low ones
 * @compare: of BGDMA_ATOMIC_CAS: what has to be there
 * @local: the operands; not of BGDMA_ATOMIC_READ
 * @result: where what was there before goes; without region: nowhere. It may
 *	be @local, and must not overlap it else
 * @more: as in struct bgdma_access_attr
 * @request: the same
 */
struct bgdma_update_attr {
	unsigned int op;
	unsigned int type;
	uint32_t count;
	uint64_t at;
	uint64_t operand;
	uint64_t compare;
	struct bgdma_place local;
	struct bgdma_place result;
	bool more;
	struct bgdma_rma_request *request;
};

/* bgdma_epoch_update() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_epoch_update_sized(struct bgdma_rma_epoch *epoch,
				       const struct bgdma_update_attr *attr,
				       size_t size);

/**
 * bgdma_epoch_update() - accumulate, fetch and accumulate, compare and swap
 * @epoch: epoch
 * @attr: what and where
 *
 * Each element is updated at once; integers by the target's engine. Logical
 * operators, and arithmetic on floating point, are made here, from fetched
 * elements and compare-and-swap: these calls return when it is done, calls of other
 * threads wait meanwhile, and each try counts as a put. So does a BGDMA_ATOMIC_CAS
 * without @result.
 *
 * Return: as bgdma_epoch_put(); -ERANGE also outside of the regions of @local and
 * @result; -EINVAL also for what makes no sense, such as bitwise operators on
 * floating point.
 */
static inline int bgdma_epoch_update(struct bgdma_rma_epoch *epoch,
				     const struct bgdma_update_attr *attr)
{
	return bgdma_epoch_update_sized(epoch, attr, sizeof(*attr));
}

/* The two below of a program whose attr has @size bytes. */
BGDMA_API int
bgdma_epoch_update_pieces_sized(struct bgdma_rma_epoch *epoch,
				const struct bgdma_update_attr *attr,
				size_t size, const struct bgdma_piece *pieces,
				uint32_t count);
BGDMA_API int
bgdma_epoch_update_strided_sized(struct bgdma_rma_epoch *epoch,
				 const struct bgdma_update_attr *attr,
				 size_t size,
				 const struct bgdma_stride *stride);

/**
 * bgdma_epoch_update_pieces() - update elements in many places
 * @epoch: epoch
 * @attr: the whole; @count is not used; not of BGDMA_ATOMIC_CAS
 * @pieces: pieces of whole elements, each of them one update. @local counts from
 *	@local and @result of @attr
 * @count: so many
 *
 * Return: as bgdma_epoch_update(), with as many begun as of bgdma_epoch_put_pieces().
 */
static inline int
bgdma_epoch_update_pieces(struct bgdma_rma_epoch *epoch,
			  const struct bgdma_update_attr *attr,
			  const struct bgdma_piece *pieces, uint32_t count)
{
	return bgdma_epoch_update_pieces_sized(epoch, attr, sizeof(*attr),
					       pieces, count);
}

/**
 * bgdma_epoch_update_strided() - update blocks of elements
 * @epoch: epoch
 * @attr: the first block; not of BGDMA_ATOMIC_CAS. An operand that is in no
 *	memory is that of all
 * @stride: how many, and how far apart
 *
 * Return: as bgdma_epoch_update_pieces().
 */
static inline int
bgdma_epoch_update_strided(struct bgdma_rma_epoch *epoch,
			   const struct bgdma_update_attr *attr,
			   const struct bgdma_stride *stride)
{
	return bgdma_epoch_update_strided_sized(epoch, attr, sizeof(*attr),
						stride);
}

/**
 * bgdma_rma_wait() - wait for what a request names
 * @request: from one of the calls above
 *
 * Its local memory is the caller's again; what it fetched is there. Of a put this
 * says nothing about the target.
 *
 * Return: 0; -EINVAL no request; -ENODEV the partition is gone; the first error of the
 * epoch.
 */
BGDMA_API int bgdma_rma_wait(const struct bgdma_rma_request *request);

/**
 * bgdma_rma_test() - whether bgdma_rma_wait() would return at once
 * @request: from one of the calls above
 * @done: out
 *
 * Return: 0; -EINVAL no request; -ENODEV the partition is gone, though it is not done;
 * if it is done, what bgdma_rma_wait() would.
 */
BGDMA_API int bgdma_rma_test(const struct bgdma_rma_request *request,
			     bool *done);

BGDMA_END_DECLS

#endif /* BGDMA_EPOCH_H */

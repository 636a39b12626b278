/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * bgdma on an io_uring of the program's own. Needs liburing's header, which
 * wants _GNU_SOURCE; nothing else in libbgdma does.
 *
 * The ring belongs to one thread, as liburing says; the context may be used by
 * others meanwhile.
 */
#ifndef BGDMA_URING_H
#define BGDMA_URING_H

#include <poll.h>
#include <string.h>

#include <liburing.h>

#include <bgdma/context.h>
#include <bgdma/types.h>

/* The 16 bytes of a plain submission entry that a command owns. */
#define BGDMA_URING_PAYLOAD	48

static inline void bgdma__uring_prep_cmd(struct io_uring_sqe *sqe, int fd,
					uint32_t cmd, const void *payload,
					size_t bytes)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = cmd;
	memcpy((unsigned char *)sqe + BGDMA_URING_PAYLOAD, payload, bytes);
}

/**
 * bgdma_uring_prep_doorbell() - bgdma_doorbell() as a submission
 * @sqe: submission entry
 * @ctx: context
 * @flags: 0 or BGDMA_DOORBELL_POOL
 *
 * For after bgdma_inj_publish(). It never sleeps. Needs
 * BGDMA_FEATURE_URING_DOORBELL. Set the user data afterwards.
 */
static inline void bgdma_uring_prep_doorbell(struct io_uring_sqe *sqe,
					     const struct bgdma_ctx *ctx,
					     uint32_t flags)
{
	bgdma__uring_prep_cmd(sqe, bgdma_ctx_fd(ctx), BGDMA_URING_DOORBELL,
			     &flags, sizeof(flags));
}

/**
 * bgdma_uring_prep_wait() - complete when a condition holds
 * @sqe: submission entry
 * @ctx: context
 * @condition: from one of the bgdma_until_*() functions
 *
 * Needs BGDMA_FEATURE_URING_WAIT: kernels that can cancel a waiting command.
 * Elsewhere use bgdma_uring_prep_poll(). Set the user data afterwards.
 */
static inline void
bgdma_uring_prep_wait(struct io_uring_sqe *sqe, const struct bgdma_ctx *ctx,
		      const struct bgdma_condition *condition)
{
	bgdma__uring_prep_cmd(sqe, bgdma_ctx_fd(ctx), BGDMA_URING_WAIT,
			     condition, sizeof(*condition));
}

/**
 * bgdma_uring_prep_poll() - complete when bgdma_ctx_fd() is readable
 * @sqe: submission entry
 * @ctx: context
 *
 * Once; on both kernels. Set the user data afterwards.
 */
static inline void bgdma_uring_prep_poll(struct io_uring_sqe *sqe,
					 const struct bgdma_ctx *ctx)
{
	io_uring_prep_poll_add(sqe, bgdma_ctx_fd(ctx), POLLIN);
}

#endif /* BGDMA_URING_H */

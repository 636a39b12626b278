/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Errors of the engine in words. All functions here are reentrant and may be
 * called from any thread.
 */
#ifndef BGDMA_ERROR_H
#define BGDMA_ERROR_H

#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * bgdma_strcode() - a code in words
 * @code: enum bgdma_code
 *
 * Return: a phrase such as "no such region"; never NULL.
 */
BGDMA_API const char *bgdma_strcode(unsigned int code);

/**
 * bgdma_code_name() - a code as it is spelled in the header
 * @code: enum bgdma_code
 *
 * Return: such as "BGDMA_E_REGION"; NULL: no such code.
 */
BGDMA_API const char *bgdma_code_name(unsigned int code);

/**
 * bgdma_code_errno() - the errno that calls return for a code
 * @code: enum bgdma_code
 *
 * Return: negative; 0 for BGDMA_OK; -EIO for an unknown code. Never -EAGAIN,
 * -ETIMEDOUT, -EINTR or -ENODEV, which mean something else.
 */
BGDMA_API int bgdma_code_errno(unsigned int code);

/**
 * bgdma_explain_record() - why a counter or FIFO is in error, as a sentence
 * @record: from bgdma_counter_error(), bgdma_inj_error(), bgdma_rec_error() or
 *	bgdma_rgq_error()
 * @buf: out: text with its final zero; may be NULL if @size is 0
 * @size: bytes of @buf
 *
 * Names the descriptor by number and FIFO, the peer, the offset and the bound.
 *
 * Return: length of the whole text, as snprintf() does.
 */
BGDMA_API int bgdma_explain_record(const struct bgdma_record *record, char *buf,
				   size_t size);

/**
 * bgdma_explain_event() - what an event says, as a sentence
 * @event: from bgdma_event_peek()
 * @buf: out: text with its final zero; may be NULL if @size is 0
 * @size: bytes of @buf
 *
 * Return: length of the whole text, as snprintf() does.
 */
BGDMA_API int bgdma_explain_event(const struct bgdma_event *event, char *buf,
				  size_t size);

BGDMA_END_DECLS

#endif /* BGDMA_ERROR_H */

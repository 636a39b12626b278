/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What a code of the engine means for whoever waits for another process.
 */
#ifndef BGDMA_CODE_H
#define BGDMA_CODE_H

#include <errno.h>
#include <stdbool.h>

#include <bgdma/error.h>

/* What a descriptor fails with whose target has left or died. */
static inline bool code_is_death(unsigned int code)
{
	return code == BGDMA_E_PEER_DOWN || code == BGDMA_E_NO_PEER;
}

/* What it fails with when there was no way for so long that it is lost. */
static inline bool code_is_outage(unsigned int code)
{
	return code == BGDMA_E_LINK_DOWN || code == BGDMA_E_TIMEOUT;
}

/* For the one at the other end there is one error, whichever way he is not there. */
static inline int code_result(unsigned int code)
{
	return code_is_death(code) || code_is_outage(code) ?
	       -EHOSTDOWN : bgdma_code_errno(code);
}

#endif /* BGDMA_CODE_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What a module asks for whose call fails as the partition is gone.
 */
#ifndef BGDMA_FORGET_H
#define BGDMA_FORGET_H

struct bgdma_endpoint;

/*
 * With the lock: messages by rendezvous that were begun with this argument end now, and
 * the memory they are about is the caller's. Their functions are called later.
 */
void requests_forget(struct bgdma_endpoint *ep, const void *arg);

#endif /* BGDMA_FORGET_H */

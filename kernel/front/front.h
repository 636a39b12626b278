/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the front share. */
#ifndef _BGDMA_FRONT_H
#define _BGDMA_FRONT_H

#include <linux/fs.h>

#include "../bgdma.h"

struct io_uring_cmd;

int bgdma_call_begin(struct bgdma_ctx *ctx);
void bgdma_call_end(struct bgdma_ctx *ctx);
long bgdma_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int bgdma_mmap(struct file *file, struct vm_area_struct *vma);
int bgdma_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
u64 bgdma_uring_features(void);

#endif /* _BGDMA_FRONT_H */

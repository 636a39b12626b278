/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels that we build on: 6.1 and 6.12. The only
 * place that looks at the kernel's version. (sparse has no __has_include.)
 */
#ifndef _BGDMA_COMPAT_H
#define _BGDMA_COMPAT_H

#include <linux/cleanup.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring/cmd.h>
#define BGDMA_URING_CAN_CANCEL 1
#else
#include <linux/io_uring.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void bgdma_vm_flags(struct vm_area_struct *vma,
				  unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#else
static inline void bgdma_vm_flags(struct vm_area_struct *vma,
				  unsigned long set, unsigned long clear)
{
	vm_flags_mod(vma, set, clear);
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define bgdma_eventfd_notify(ctx) eventfd_signal(ctx, 1)
#else
#define bgdma_eventfd_notify(ctx) eventfd_signal(ctx)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define bgdma_pin_user_pages(start, nr, flags, pages) \
	pin_user_pages(start, nr, flags, pages, NULL)
#else
#define bgdma_pin_user_pages(start, nr, flags, pages) \
	pin_user_pages(start, nr, flags, pages)
#endif

/*
 * Does memcpy() do what the processor is fast at? Since 6.4 a kernel copies with
 * "rep movs" only where that is fast for any length; before, wherever it was
 * not known to be slow.
 */
#if !defined(CONFIG_X86)
#define bgdma_memcpy_is_fast() true
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define bgdma_memcpy_is_fast() static_cpu_has(X86_FEATURE_ERMS)
#else
#define bgdma_memcpy_is_fast() static_cpu_has(X86_FEATURE_FSRM)
#endif

/* ---- links (fabric/) ---- */
#if IS_REACHABLE(CONFIG_LIBCRC32C)
#include <linux/crc32c.h>
#define bgdma_crc32c(crc, data, len) crc32c(crc, data, len)
#else
#include <linux/crc32.h>
#define bgdma_crc32c(crc, data, len) \
	__crc32c_le(crc, (const unsigned char *)(data), len)
#endif

/* ---- netlink (control/) ---- */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define bgdma_dump_attrs(cb) (genl_dumpit_info(cb)->attrs)
#else
#define bgdma_dump_attrs(cb) (genl_dumpit_info(cb)->info.attrs)
#endif
#define bgdma_dump_maxattr(cb) (genl_dumpit_info(cb)->op.maxattr)

#endif /* _BGDMA_COMPAT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the pure parts of the module need of the kernel, for one thread in user
 * space. Every <linux/...> header that the module includes leads here (see the
 * Makefile); what nobody calls is declared only as far as kernel/bgdma.h needs.
 */
#ifndef FUZZ_KERNEL_H
#define FUZZ_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef __u64 u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef __s64 s64;
typedef unsigned int __poll_t;
typedef unsigned int gfp_t;

#define __rcu
#define __force
#define __user
#define __acquires(x)
#define __releases(x)
#undef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#define noinline		__attribute__((noinline))
#define __aligned(n)		__attribute__((aligned(n)))
#undef unreachable
#define unreachable()		__builtin_unreachable()

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define BUILD_BUG_ON(x)		_Static_assert(!(x), #x)
#define WARN_ON_ONCE(x)		({ bool w_ = (x); if (w_) abort(); w_; })
#define OPTIMIZER_HIDE_VAR(x)	((void)(x))
#define IS_ENABLED(x)		0

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK(h, l)		((~0UL << (l)) & (~0UL >> (63 - (h))))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define ALIGN(x, a)		(((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define roundup_pow_of_two(n)	\
	((n) <= 1 ? 1U : 1U << (32 - __builtin_clz((u32)(n) - 1)))
#define is_power_of_2(n)	((n) && !((n) & ((n) - 1)))
#define reciprocal_scale(x, n)	((u32)((u64)(x) * (n) >> 32))
#define get_random_u32()	0x9e3779b9U
#define jhash_3words(a, b, c, seed) \
	(((a) ^ (u32)(b) << 20 ^ (u32)(c) << 10) * (seed))
#define struct_size(p, m, n)	(sizeof(*(p)) + sizeof((p)->m[0]) * (n))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))
#define array_index_nospec(i, n)	(i)
#define check_add_overflow(a, b, sum)	__builtin_add_overflow(a, b, sum)

#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define offset_in_page(p)	((unsigned long)(p) & (PAGE_SIZE - 1))

/* One thread: order is no question, and every access is once. */
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define data_race(e)		(e)
#define smp_load_acquire(p)	READ_ONCE(*(p))
#define smp_store_release(p, v)	WRITE_ONCE(*(p), v)
#define smp_mb()		((void)0)
#define smp_rmb()		((void)0)
#define smp_mb__after_atomic()	((void)0)
#define xchg(p, v)		__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)

/* The descriptors' byte order is ours. */
#define le16_to_cpu(x)		((u16)(x))
#define le32_to_cpu(x)		((u32)(x))
#define le64_to_cpu(x)		((u64)(x))
#define cpu_to_le16(x)		((__le16)(x))
#define cpu_to_le32(x)		((__le32)(x))
#define cpu_to_le64(x)		((__le64)(x))

/* Atomics and bits */
typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
typedef struct { long counter; } atomic_long_t;

#define atomic_read(v)		READ_ONCE((v)->counter)
#define atomic_read_acquire(v)	READ_ONCE((v)->counter)
#define atomic_set(v, i)	((v)->counter = (i))
#define atomic_add(i, v)	((v)->counter += (i))
#define atomic_inc(v)		((v)->counter++)
#define atomic_dec(v)		((v)->counter--)
#define atomic_dec_and_test(v)	(--(v)->counter == 0)
#define atomic_inc_not_zero(v)	((v)->counter && (v)->counter++)
#define atomic64_read(v)	((v)->counter)
#define atomic64_set(v, i)	((v)->counter = (i))
#define atomic64_inc(v)		((v)->counter++)
#define atomic64_inc_return(v)	(++(v)->counter)
#define atomic64_sub_return(i, v)	((v)->counter -= (s64)(i))
#define atomic64_or(i, v)	((v)->counter |= (s64)(i))
#define atomic64_andnot(i, v)	((v)->counter &= ~(s64)(i))

static inline bool test_bit(unsigned int n, const unsigned long *word)
{
	return word[n / 64] & BIT(n % 64);
}

static inline void set_bit(unsigned int n, unsigned long *word)
{
	word[n / 64] |= BIT(n % 64);
}

static inline void clear_bit(unsigned int n, unsigned long *word)
{
	word[n / 64] &= ~BIT(n % 64);
}

#define __set_bit		set_bit
#define __clear_bit		clear_bit
#define clear_bit_unlock	clear_bit

static inline void bitmap_set(unsigned long *map, unsigned int start,
			      unsigned int n)
{
	while (n--)
		map[(start + n) / 64] |= 1UL << (start + n) % 64;
}

static inline void bitmap_clear(unsigned long *map, unsigned int start,
				unsigned int n)
{
	while (n--)
		map[(start + n) / 64] &= ~(1UL << (start + n) % 64);
}

static inline bool bitmap_empty(const unsigned long *map, unsigned int bits)
{
	unsigned int i;

	for (i = 0; i < bits; i++) {
		if (test_bit(i, map))
			return false;
	}
	return true;
}

static inline void bitmap_shift_right(unsigned long *to,
				      const unsigned long *from,
				      unsigned int by, unsigned int bits)
{
	unsigned int i;

	for (i = 0; i < bits; i++) {
		if (i + by < bits && test_bit(i + by, from))
			set_bit(i, to);
		else
			clear_bit(i, to);
	}
}

static inline void bitmap_to_arr64(u64 *to, const unsigned long *from,
				   unsigned int bits)
{
	memcpy(to, from, bits / 8);
}

static inline bool test_and_set_bit_lock(unsigned int n, unsigned long *word)
{
	bool was = test_bit(n, word);

	set_bit(n, word);
	return was;
}

/* Locks: taken once, given back once. */
typedef struct { bool held; } spinlock_t;
struct mutex { bool held; };

#define spin_lock_init(l)	((l)->held = false)
#define spin_lock(l)		((l)->held ? abort() : (void)((l)->held = true))
#define spin_unlock(l)		((l)->held ? (void)((l)->held = false) : abort())
#define lockdep_assert_held(l)	((void)(l))
#define lockdep_is_held(l)	((void)(l), true)

/* RCU: nobody else reads, so what is freed is freed at once. */
struct rcu_head { void *next; };

#define rcu_read_lock()		((void)0)
#define rcu_read_unlock()	((void)0)
#define rcu_read_lock_sched()	((void)0)
#define rcu_read_unlock_sched()	((void)0)
#define rcu_read_lock_held()	true
#define rcu_read_lock_sched_held()	true
#define synchronize_rcu()	((void)0)
#define rcu_dereference(p)	(p)
#define rcu_access_pointer(p)	(p)
#define rcu_dereference_check(p, c)	(p)
#define rcu_dereference_protected(p, c)	(p)
#define rcu_assign_pointer(p, v)	((p) = (v))
#define RCU_INIT_POINTER(p, v)	((p) = (v))
#define kfree_rcu(p, m)		free(p)
#define kvfree_rcu(p, m)	free(p)
#define get_state_synchronize_rcu()	0UL
#define cond_synchronize_rcu(s)	((void)(s))

/* Memory, which a target can take away */
static bool fuzz_no_memory __attribute__((unused));

#define GFP_KERNEL_ACCOUNT	0U
#define kzalloc(n, flags)	(fuzz_no_memory ? NULL : calloc(1, n))
#define kvzalloc(n, flags)	kzalloc(n, flags)
#define kvcalloc(n, each, flags)	kzalloc((size_t)(n) * (each), flags)
#define kcalloc			kvcalloc
#define kmalloc(n, flags)	(fuzz_no_memory ? NULL : malloc(n))
#define kvmalloc_array(n, each, flags)	kmalloc((size_t)(n) * (each), flags)
#define kfree(p)		free(p)
#define kvfree(p)		free(p)
#define page_address(page)	((void *)(page))

/* The user is the target itself. */
#define u64_to_user_ptr(p)	((void *)(uintptr_t)(p))
#define copy_from_user(to, from, n)	(memcpy(to, from, n), 0)
#define sort(base, n, size, cmp, swap)	qsort(base, n, size, cmp)

#define MAX_ERRNO		4095
#define ERR_PTR(e)		((void *)(long)(e))
#define PTR_ERR(p)		((long)(p))
#define IS_ERR(p)		((unsigned long)(p) >= (unsigned long)-MAX_ERRNO)
#define PTR_ERR_OR_ZERO(p)	((int)(IS_ERR(p) ? PTR_ERR(p) : 0))

/* Lists and slots */
struct list_head { struct list_head *next, *prev; };

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

#define LIST_HEAD(name)		struct list_head name = { &(name), &(name) }

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline void list_add(struct list_head *node, struct list_head *after)
{
	node->prev = after;
	node->next = after->next;
	after->next->prev = node;
	after->next = node;
}

static inline void list_del(struct list_head *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	node->next = NULL;
	node->prev = NULL;
}

static inline void list_move_tail(struct list_head *node, struct list_head *list)
{
	list_del(node);
	list_add(node, list->prev);
}

/* All of @from, to behind @after. */
static inline void list_splice_init(struct list_head *from,
				    struct list_head *after)
{
	while (!list_empty(from)) {
		struct list_head *last = from->prev;

		list_del(last);
		list_add(last, after);
	}
}

static inline void list_del_init(struct list_head *node)
{
	list_del(node);
	INIT_LIST_HEAD(node);
}

#define list_add_tail(node, list)	list_add(node, (list)->prev)
#define list_splice_tail_init(from, list)	\
	list_splice_init(from, (list)->prev)
#define list_add_tail_rcu	list_add_tail
#define list_del_rcu		list_del
#define list_first_entry_or_null(list, t, m)	\
	(list_empty(list) ? NULL : container_of((list)->next, t, m))
#define list_for_each_entry(e, list, m)					\
	for ((e) = container_of((list)->next, __typeof__(*(e)), m);	\
	     &(e)->m != (list);						\
	     (e) = container_of((e)->m.next, __typeof__(*(e)), m))
#define list_for_each_entry_rcu	list_for_each_entry

struct hlist_head { struct hlist_node *first; };
struct hlist_node { struct hlist_node *next, **pprev; };

static inline bool hlist_unhashed(const struct hlist_node *node)
{
	return !node->pprev;
}

static inline void hlist_add_head(struct hlist_node *node,
				  struct hlist_head *head)
{
	node->next = head->first;
	if (node->next)
		node->next->pprev = &node->next;
	head->first = node;
	node->pprev = &head->first;
}

static inline void hlist_del_init(struct hlist_node *node)
{
	if (!node->pprev)
		return;
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
	node->next = NULL;
	node->pprev = NULL;
}

#define hlist_entry_safe(p, t, m)	((p) ? container_of(p, t, m) : NULL)
#define hlist_for_each_entry(e, head, m)				\
	for ((e) = hlist_entry_safe((head)->first, __typeof__(*(e)), m); \
	     (e);							\
	     (e) = hlist_entry_safe((e)->m.next, __typeof__(*(e)), m))
#define hlist_for_each_entry_safe(e, n, head, m)			\
	for ((e) = hlist_entry_safe((head)->first, __typeof__(*(e)), m); \
	     (e) && ((n) = (e)->m.next, true);				\
	     (e) = hlist_entry_safe(n, __typeof__(*(e)), m))

/* The first so many slots of an xarray. */
#define FUZZ_SLOTS		64
struct xarray {
	int xa_lock;
	void *slot[FUZZ_SLOTS];
};

#define xa_lock(xa)		((void)(xa))
#define xa_unlock(xa)		((void)(xa))
#define __xa_erase(xa, index)	((xa)->slot[index] = NULL)

static inline void *xa_load(const struct xarray *xa, unsigned long index)
{
	return index < FUZZ_SLOTS ? xa->slot[index] : NULL;
}

static inline int __xa_insert(struct xarray *xa, unsigned long index, void *entry,
			      gfp_t flags)
{
	if (xa->slot[index])
		return -EBUSY;
	xa->slot[index] = entry;
	return 0;
}

#define xa_for_each(xa, index, entry)				\
	for ((index) = 0; (index) < FUZZ_SLOTS; (index)++)	\
		if (((entry) = (xa)->slot[index]))

/* Waiting: nobody does. */
struct wait_queue_head { int sleepers; };
typedef struct wait_queue_head wait_queue_head_t;

#define EPOLLIN			1U
#define EPOLLRDNORM		64U
#define waitqueue_active(wq)	((wq)->sleepers)
#define wake_up_poll(wq, mask)	((void)(wq), (void)(mask))
#define wake_up_var(v)		((void)(v))
#define wake_up_bit(word, bit)	((void)(word))
#define wait_var_event(v, c)	((c) ? (void)0 : abort())

#define cond_resched()		((void)0)
#define need_resched()		false
#define fatal_signal_pending(task)	false
#define msleep(ms)		abort()	/* there is memory */
#define msecs_to_jiffies(ms)	(ms)

/* What structures have in them. */
struct eventfd_ctx;
struct mm_struct;
struct page;
struct task_struct;
struct user_struct;
struct vm_area_struct;
struct kref { int n; };
struct work_struct { void (*fn)(struct work_struct *work); bool queued; };

#define system_unbound_wq	NULL
#define INIT_WORK(w, f)		((w)->fn = (f))
#define queue_work(wq, w)	((w)->queued = true)
#define cancel_work_sync(w)	((w)->queued = false)
struct delayed_work { struct work_struct work; };

#define INIT_DELAYED_WORK(w, f)	INIT_WORK(&(w)->work, f)
#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
#define queue_delayed_work(wq, w, after)	queue_work(wq, &(w)->work)
#define mod_delayed_work	queue_delayed_work
#define cancel_delayed_work_sync(w)	cancel_work_sync(&(w)->work)

typedef struct { unsigned int val; } kuid_t;
typedef struct { unsigned int val; } kgid_t;
typedef struct { int n; } possible_net_t;
typedef unsigned short umode_t;

#define DECLARE_BITMAP(name, bits)	unsigned long name[(bits) / 64]

/* Not for us: what differs between kernels, and trace points. */
#define _BGDMA_COMPAT_H

#define _BGDMA_TRACE_H
#define trace_bgdma_counter(...)	((void)0)
#define trace_bgdma_done(...)		((void)0)
#define trace_bgdma_epoch(...)		((void)0)
#define trace_bgdma_execute(...)	((void)0)
#define trace_bgdma_fetch(...)		((void)0)
#define trace_bgdma_hit_zero(...)	((void)0)
#define trace_bgdma_inject(...)		((void)0)
#define trace_bgdma_inject_enabled()	false
#define trace_bgdma_packet(...)		((void)0)

#endif /* FUZZ_KERNEL_H */

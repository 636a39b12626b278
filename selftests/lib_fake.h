/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A /dev/bgdma of this process alone, for testing libbgdma without a kernel
 * module: a memfd with the areas in it, and ioctl() and syscall() in front of
 * the C library.
 * It has the layout and the bookkeeping of the device and no engine; the tests
 * play that. One context at a time.
 *
 * The nth of the library's calls can be made to fail, to see that nothing is
 * left behind.
 */
#ifndef BGDMA_SELFTESTS_LIB_FAKE_H
#define BGDMA_SELFTESTS_LIB_FAKE_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bgdma.h>

#define FAKE_INJ	16
#define FAKE_REC	8
#define FAKE_RGQ	4
#define FAKE_CTR	64
#define FAKE_EVENTS	64
#define FAKE_PAGE	4096

/* Where things are in the memfd; the rings are last, one after the other. */
#define FAKE_USER	0
#define FAKE_KERN	(1 * FAKE_PAGE)
#define FAKE_CELLS	(2 * FAKE_PAGE)
#define FAKE_RECORDS	(4 * FAKE_PAGE)
#define FAKE_RING	(8 * FAKE_PAGE)
#define FAKE_EVENTS_AT	(7 * FAKE_PAGE)
#define FAKE_BYTES	(1024 * FAKE_PAGE)

#define FAKE_USER_INJ	1024
#define FAKE_USER_REC	(FAKE_USER_INJ + 64 * FAKE_INJ)
#define FAKE_KERN_INJ	1024
#define FAKE_KERN_REC	(FAKE_KERN_INJ + 64 * FAKE_INJ)

struct fake {
	int fd;			/* -1: nobody has it open */
	char *mem;
	__u64 rings;		/* bytes of rings given out */
	int objects;		/* FIFOs, counters, regions that exist */
	int calls;		/* of the library since fake_reset() */
	int fail_at;		/* the call that fails with @fail_with; 0: none */
	int fail_with;
	int doorbells, notifies, waits;
	unsigned long notify_arg;
	struct bgdma_wait wait;	/* the last one, */
	struct bgdma_condition condition;
	int wait_ret;		/* and what it returned */
	void (*on_wait)(void);	/* what the engine does meanwhile */
	struct bgdma_grant grant;
	struct bgdma_cancel cancel;
	struct bgdma_attach attach;
	__u32 next_id, next_slot, next_region;
};

static struct fake fake = { .fd = -1 };

#define fake_user	((struct bgdma_user_ctl *)(fake.mem + FAKE_USER))
#define fake_kern	((struct bgdma_kern_ctl *)(fake.mem + FAKE_KERN))
#define fake_inj_user(id)  ((struct bgdma_inj_user *)(fake.mem + FAKE_USER + \
						      FAKE_USER_INJ) + (id))
#define fake_rec_user(id)  ((struct bgdma_rec_user *)(fake.mem + FAKE_USER + \
						      FAKE_USER_REC) + (id))
#define fake_inj_kern(id)  ((struct bgdma_inj_kern *)(fake.mem + FAKE_KERN + \
						      FAKE_KERN_INJ) + (id))
#define fake_rec_kern(id)  ((struct bgdma_rec_kern *)(fake.mem + FAKE_KERN + \
						      FAKE_KERN_REC) + (id))
#define fake_cell(kind, slot) ((struct bgdma_counter_cell *)(fake.mem + \
				FAKE_CELLS) + (kind) * FAKE_CTR + (slot))
/* Records: injection counters, reception counters, FIFOs, queues. */
#define fake_record(n)	((struct bgdma_record *)(fake.mem + FAKE_RECORDS) + (n))
#define FAKE_RECORD_INJ	(2 * FAKE_CTR)
#define FAKE_RECORD_REC	(FAKE_RECORD_INJ + FAKE_INJ)
#define FAKE_RECORD_RGQ	(FAKE_RECORD_REC + FAKE_REC)
#define fake_event(n)	((struct bgdma_event *)(fake.mem + FAKE_EVENTS_AT) + (n))

static void fake_reset(void)
{
	char *mem = fake.mem;

	if (!mem)
		mem = mmap(NULL, FAKE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(&fake, 0, sizeof(fake));
	fake.fd = -1;
	fake.mem = mem;
	fake.next_region = 1;
}

/* Whether this call is the one that has to fail. */
static bool fake_fails(void)
{
	return ++fake.calls == fake.fail_at;
}

static struct bgdma_area fake_ring(__u64 bytes)
{
	struct bgdma_area area = { FAKE_RING + fake.rings, bytes };

	fake.rings += (bytes + FAKE_PAGE - 1) & ~(__u64)(FAKE_PAGE - 1);
	fake.objects++;
	return area;
}

static int fake_attach(struct bgdma_attach *a)
{
	if (strcmp(a->partition, "fake") != 0)
		return -ENOENT;
	fake.attach = *a;
	if (a->ctx == BGDMA_CTX_ANY)
		a->ctx = 0;
	a->incarnation = 7;
	a->dims[0] = 2;
	a->dims[1] = 3;
	a->dims[2] = 4;
	a->torus = 5;
	a->events = FAKE_EVENTS;
	a->user_inj = FAKE_USER_INJ;
	a->user_rec = FAKE_USER_REC;
	a->kern_inj = FAKE_KERN_INJ;
	a->kern_rec = FAKE_KERN_REC;
	a->cells[1] = 64 * FAKE_CTR;
	a->rec_counter_rec = 64 * FAKE_CTR;
	a->rec_inj = 64 * FAKE_RECORD_INJ;
	a->rec_rec = 64 * FAKE_RECORD_REC;
	a->rec_rgq = 64 * FAKE_RECORD_RGQ;
	a->areas[BGDMA_AREA_USER_CTL] =
		(struct bgdma_area){ FAKE_USER, FAKE_PAGE };
	a->areas[BGDMA_AREA_KERN_CTL] =
		(struct bgdma_area){ FAKE_KERN, FAKE_PAGE };
	a->areas[BGDMA_AREA_COUNTERS] =
		(struct bgdma_area){ FAKE_CELLS, 2 * FAKE_PAGE };
	a->areas[BGDMA_AREA_RECORDS] =
		(struct bgdma_area){ FAKE_RECORDS, 3 * FAKE_PAGE };
	a->areas[BGDMA_AREA_EVENTS] =
		(struct bgdma_area){ FAKE_EVENTS_AT, FAKE_PAGE };
	fake_kern->state = BGDMA_STATE_ATTACHED;
	return 0;
}

static void fake_id(__u32 *id)
{
	if (*id == BGDMA_ID_ANY)
		*id = fake.next_id++;
}

static int fake_counter_alloc(struct bgdma_counter_alloc *c)
{
	__u32 i;

	if (fake.next_slot + c->count > FAKE_CTR)
		return -ENOSPC;
	c->first = fake.next_slot;
	fake.next_slot += c->count;
	fake.objects += (int)c->count;
	for (i = 0; i < c->count; i++) {
		struct bgdma_counter_cell *cell =
			fake_cell(c->kind - BGDMA_KIND_INJ_COUNTER,
				  c->first + i);

		memset(cell, 0, sizeof(*cell));
		cell->lease_gen = 1;
		cell->lease_peer = BGDMA_RANK_ANY;
		cell->lease_ctx = BGDMA_CTX_ANY;
	}
	return 0;
}

static int fake_wait(struct bgdma_wait *w)
{
	fake.waits++;
	fake.wait = *w;
	memcpy(&fake.condition, (void *)(unsigned long)w->conditions,
	       sizeof(fake.condition));
	if (fake.on_wait)
		fake.on_wait();
	return fake.wait_ret;
}

static int fake_clear(const struct bgdma_clear_error *c)
{
	static const int at[] = {
		[BGDMA_KIND_INJ_FIFO]	 = FAKE_RECORD_INJ,
		[BGDMA_KIND_REC_FIFO]	 = FAKE_RECORD_REC,
		[BGDMA_KIND_RGET_QUEUE]	 = FAKE_RECORD_RGQ,
		[BGDMA_KIND_INJ_COUNTER] = 0,
		[BGDMA_KIND_REC_COUNTER] = FAKE_CTR,
	};

	fake_record(at[c->kind] + c->object)->code = 0;
	memset(fake_kern->counter_error, 0, sizeof(fake_kern->counter_error));
	return 0;
}

static int fake_call(unsigned long request, void *arg)
{
	struct bgdma_region_alloc *alloc = arg;
	struct bgdma_inj_create *inj = arg;
	struct bgdma_rec_create *rec = arg;
	struct bgdma_rgq_create *rgq = arg;
	struct bgdma_region_pin *pin = arg;

	switch (request) {
	case BGDMA_IOC_ATTACH:
		return fake_attach(arg);
	case BGDMA_IOC_INJ_CREATE:
		fake_id(&inj->id);
		inj->ring = fake_ring(inj->entries * sizeof(struct bgdma_desc));
		return 0;
	case BGDMA_IOC_REC_CREATE:
		fake_id(&rec->id);
		rec->ring = fake_ring(2 * (__u64)rec->bytes);
		return 0;
	case BGDMA_IOC_RGQ_CREATE:
		fake_id(&rgq->id);
		fake.objects++;
		return 0;
	case BGDMA_IOC_REGION_PIN:
		pin->handle = BGDMA_HANDLE(fake.next_region++, 1);
		fake.objects++;
		return 0;
	case BGDMA_IOC_REGION_ALLOC:
		alloc->handle = BGDMA_HANDLE(fake.next_region++, 1);
		alloc->mem = fake_ring(alloc->length);
		return 0;
	case BGDMA_IOC_COUNTER_ALLOC:
		return fake_counter_alloc(arg);
	case BGDMA_IOC_GROUP_BIND:
	case BGDMA_IOC_CLASS_BIND:
		fake.objects++;
		return 0;
	case BGDMA_IOC_FIFO_DESTROY:
	case BGDMA_IOC_REGION_FREE:
	case BGDMA_IOC_COUNTER_FREE:
	case BGDMA_IOC_GROUP_UNBIND:
	case BGDMA_IOC_CLASS_UNBIND:
		fake.objects--;
		return 0;
	case BGDMA_IOC_GRANT:
		fake.grant = *(struct bgdma_grant *)arg;
		((struct bgdma_grant *)arg)->id = 99;
		return 0;
	case BGDMA_IOC_EPOCHS:
		((struct bgdma_epochs *)arg)->count = 0;
		return 0;
	case BGDMA_IOC_REVOKE:
	case BGDMA_IOC_EVENT_BIND:
	case BGDMA_IOC_QUERY:
	case BGDMA_IOC_GATE:
	case BGDMA_IOC_EPOCH_ALLOW:
		return 0;
	case BGDMA_IOC_CLEAR_ERROR:
		return fake_clear(arg);
	case BGDMA_IOC_CANCEL:
		fake.cancel = *(struct bgdma_cancel *)arg;
		((struct bgdma_cancel *)arg)->cancelled = 3;
		return 0;
	case BGDMA_IOC_WAIT:
		return fake_wait(arg);
	case BGDMA_IOC_DOORBELL:
		fake.doorbells++;
		return 0;
	case BGDMA_IOC_NOTIFY:
		fake.notifies++;
		fake.notify_arg = (unsigned long)arg;
		return 0;
	default:
		return -ENOTTY;
	}
}

/* The system call takes longs, of which a vararg int is only a half. */
static void *fake_mmap(void *addr, size_t length, long prot, long flags,
		       long fd, long offset)
{
	return (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, offset);
}

/* The library's calls land here rather than in the C library. */

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	if (strcmp(path, BGDMA_DEVICE) != 0)
		return (int)syscall(SYS_openat, (long)AT_FDCWD, path,
				    (long)flags, (long)mode);
	if (fake_fails()) {
		errno = fake.fail_with;
		return -1;
	}
	fake.fd = memfd_create("bgdma", MFD_CLOEXEC);
	if (fake.fd < 0 || ftruncate(fake.fd, FAKE_BYTES))
		return -1;
	munmap(fake.mem, FAKE_BYTES);
	fake.mem = fake_mmap(NULL, FAKE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_SHARED, fake.fd, 0);
	return fake.fd;
}

void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	if (fd >= 0 && fd == fake.fd && fake_fails()) {
		errno = fake.fail_with;
		return MAP_FAILED;
	}
	return fake_mmap(addr, length, prot, flags, fd, offset);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;
	int ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (fd != fake.fd)
		return (int)syscall(SYS_ioctl, (long)fd, request, arg);
	ret = fake_fails() ? -fake.fail_with : fake_call(request, arg);
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

/* The doorbell comes this way; all else goes on to the C library. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long arg[6];
	va_list args;
	int i;

	va_start(args, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_ioctl && arg[0] == fake.fd)
		return ioctl(fake.fd, (unsigned long)arg[1], arg[2]);
	if (!real)
		real = dlsym(RTLD_NEXT, "syscall");
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

#endif /* BGDMA_SELFTESTS_LIB_FAKE_H */

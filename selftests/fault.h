/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls with a fault inside: the kernel fails the nth allocation, page or copy
 * from or to user space that this thread asks for (Documentation/
 * fault-injection of the kernel). A call is repeated with n = 1, 2, ... until
 * it passes without having come to n; each time that it failed all that the
 * module keeps account of has to be where it was, and a good call has to work.
 */
#ifndef BGDMA_SELFTESTS_FAULT_H
#define BGDMA_SELFTESTS_FAULT_H

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "machine.h"
#include "netlink_util.h"
#include "utils.h"

#define FAULTS_MAX	400	/* no call of ours asks for so much */

static int fault_fd = -1;

static inline int write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -errno : 0;
}

/* Why there is no fault injection here, or NULL. */
static inline const char *faults_begin(void)
{
	static const char *const kinds[] = {
		"failslab", "fail_page_alloc", "fail_usercopy",
	};
	static char why[128];
	char name[128];
	size_t i;

	fault_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fault_fd < 0)
		return "this kernel has no fault injection (fail-nth)";
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(name, sizeof(name), "/sys/kernel/debug/%s/verbose",
			 kinds[i]);
		/* Each failure would leave a call trace, which is a complaint. */
		if (machine_set(name, "0")) {
			snprintf(why, sizeof(why), "this kernel has no %s",
				 kinds[i]);
			return why;
		}
	}
	/* Allocations that may sleep are nearly all of ours. */
	must(machine_set("/sys/kernel/debug/failslab/ignore-gfp-wait", "N"));
	must(machine_set("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait",
			 "N"));
	must(machine_set("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem",
			 "N"));
	must(machine_set("/sys/kernel/debug/fail_page_alloc/min-order", "0"));
	return NULL;
}

static inline void fault_arm(unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	must(pwrite(fault_fd, text, (size_t)length, 0) == length ? 0 : -EIO);
}

/* True if the fault has happened. */
static inline bool fault_disarm(void)
{
	char text[16] = "";
	/* Copying this out is subject to it, too: then it had not happened. */
	bool hit = pread(fault_fd, text, sizeof(text) - 1, 0) > 0 &&
		   atoi(text) == 0;

	if (pwrite(fault_fd, "0", 1, 0) != 1)
		must(pwrite(fault_fd, "0", 1, 0) == 1 ? 0 : -EIO);
	return hit;
}

/* ---- What the module keeps account of ----------------------------------- */

struct account {
	__u64 shown;	/* a hash of all that netlink shows */
	long pins;	/* pages pinned in the machine */
	long users;	/* references on the module */
};

static inline long number_of(const char *name, const char *key)
{
	char line[256];
	long value = -1;
	FILE *file = fopen(name, "re");

	must(file ? 0 : -errno);
	while (fgets(line, sizeof(line), file)) {
		size_t length = strlen(key);

		if (!strncmp(line, key, length) &&
		    (!length || line[length] == ' ' || line[length] == ':')) {
			value = atol(line + length + !!length);
			break;
		}
	}
	fclose(file);
	return value;
}

static struct link account_link;

static inline void account(struct account *out)
{
	static const int dumps[] = {
		BGDMA_CMD_PARTITION_GET, BGDMA_CMD_NODE_GET, BGDMA_CMD_CTX_GET,
		BGDMA_CMD_COUNTER_GET, BGDMA_CMD_FIFO_GET,
	};
	size_t i;

	out->shown = HASH_BEGIN;
	if (!account_link.sock)
		must(link_open(&account_link));
	for (i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++) {
		struct answer a = { .each = hash_attrs, .arg = &out->shown };

		must(ask(&account_link,
			 request(&account_link, dumps[i], NLM_F_DUMP), &a));
	}
	/* Counts of each processor come into the sum when asked to. */
	must(write_file("/proc/sys/vm/stat_refresh", "1"));
	out->pins = number_of("/proc/vmstat", "nr_foll_pin_acquired") -
		    number_of("/proc/vmstat", "nr_foll_pin_released");
	out->users = number_of("/sys/module/bgdma/refcnt", "");
}

/* ---- One call, again and again ------------------------------------------ */

/*
 * @prepare makes what the call needs, @call is it, @undo ends what it made when
 * it was good. @may: the call may have had its effect although it failed (its
 * answer was lost); @undo then copes with both.
 */
struct faulty {
	const char *name;
	void (*prepare)(void);
	int (*call)(void);
	void (*undo)(void);
	bool may;
};

#define FAULTY(name, prepare, call, undo)		\
	{ name, prepare, call, undo, false }
#define FAULTY_MAY(name, prepare, call, undo)		\
	{ name, prepare, call, undo, true }

static inline bool fault_errno(int ret)
{
	return ret == -ENOMEM || ret == -EFAULT || ret == -ENOBUFS ||
	       ret == -EAGAIN;
}

static inline void __attribute__((format(printf, 1, 2)))
complain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("# ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

static inline bool account_same(const struct faulty *f, unsigned int n,
				const char *when, const struct account *before)
{
	struct account now;

	account(&now);
	if (now.shown == before->shown && now.pins == before->pins &&
	    now.users == before->users)
		return true;
	complain("%s, fault %u, %s: %s, pins %+ld, references %+ld", f->name,
		 n, when, now.shown == before->shown ? "shows the same" :
		 "shows something else", now.pins - before->pins,
		 now.users - before->users);
	return false;
}

/* One round; 1: go on, 0: the call has passed, -1: complaint. */
static inline int fault_round(const struct faulty *f, unsigned int n)
{
	struct account first, before;
	bool hit;
	int ret;

	account(&first);
	if (f->prepare)
		f->prepare();
	account(&before);
	fault_arm(n);
	ret = f->call();
	hit = fault_disarm();
	if (ret && (!hit || !fault_errno(ret))) {
		complain("%s, fault %u (%s): %d", f->name, n,
			 hit ? "happened" : "did not happen", ret);
		return -1;
	}
	if (ret && !f->may) {
		if (!account_same(f, n, "failed", &before))
			return -1;
		ret = f->call();
		if (ret) {
			complain("%s, again after fault %u: %d", f->name, n, ret);
			return -1;
		}
	}
	if (f->undo)
		f->undo();
	return account_same(f, n, "undone", &first) ? hit : -1;
}

/* How many faults the call has seen, or -1 after a complaint. */
static inline int fault_all(const struct faulty *f)
{
	unsigned int n;
	int ret = 1;

	for (n = 1; ret > 0 && n < FAULTS_MAX; n++)
		ret = fault_round(f, n);
	if (ret)
		return -1;
	printf("# %s: %u faults\n", f->name, n - 2);
	return (int)n - 2;
}

#endif /* BGDMA_SELFTESTS_FAULT_H */

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

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "machine.h"
#include "netlink_util.h"
#include "utils.h"

#define FAULTS_MAX	400	/* no call of ours asks for so much */

/* Of this thread; -1 where there is no fault injection. */
extern int fault_fd;

/* Why there is no fault injection here, or NULL. */
const char *faults_begin(void);

/* Of this thread, in a child of the one that began. */
void fault_here(void);

/*
 * From the nth on all that this thread asks of slabs fails, until the call has ended:
 * who asks once more, as an xarray does, gets nothing then either. False: this kernel
 * cannot tell threads apart.
 */
bool faults_last(void);

void fault_arm(unsigned int n);
/* True if the fault has happened. */
bool fault_disarm(void);
/* The same of a child that has exited, and nobody has waited for. */
bool fault_met(pid_t pid);
/* Whether a fault can have led to this. */
bool fault_errno(int ret);

/* ---- What the module keeps account of ----------------------------------- */

struct account {
	__u64 shown;	/* a hash of all that netlink shows */
	__u64 held;	/* of what there is, wherever transfers have got to */
	long pins;	/* pages pinned in the machine */
	long users;	/* references on the module */
};

extern struct link account_link;

void account(struct account *out);
/* All of it is as it was. */
bool account_unchanged(const struct account *before);
/* The same things are there, pinned and charged as were. */
bool account_back(const struct account *before);

/* ---- Netlink requests with a fault inside ------------------------------- */

extern struct link fault_link;
extern bool fault_answered;	/* the kernel's word on the last one came */

/* Our family (NETLINK_GENERIC) or another: who lost something is replaced. */
void fault_fresh(int protocol);
/* Complete a message; it lives until the next one. */
void fault_built(struct nl_msg *msg);
/* Send it again under another number, and take the answer; no allocations. */
int fault_request(void);

/* ---- Faults in the kernel's own threads --------------------------------- */

/* Each that may work for the module fails its own nth, once. */
void fault_arm_workers(unsigned int n);
/* How many did. */
unsigned int fault_disarm_workers(void);

/* ---- Faults wherever the module works ------------------------------------ */

/*
 * Of a hundred things that it asks memory for so many fail from now on, whoever runs
 * it. False: this kernel cannot tell by the stack.
 */
bool fault_module(unsigned int percent);
/* The same of what one function asks for, and those that it calls. */
bool fault_function(const char *function, unsigned int percent);
/* How many did since. */
unsigned int fault_module_hits(void);

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

/* How many faults the call has seen, or -1 after a complaint. */
int fault_all(const struct faulty *f);

#endif /* BGDMA_SELFTESTS_FAULT_H */

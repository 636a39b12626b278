/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of /dev/bgdma share: the calls and the rings, as they are,
 * with nothing of libbgdma in between.
 *
 * Two kinds of helpers. Those that wrap one call return what it gives, or
 * -errno, and belong into EXPECT_EQ(). Those that only prepare the ground
 * (must, node_new, inj_new, ...) end the test when they fail.
 *
 * Nothing here is thread-safe beyond what the ABI itself is.
 */
#ifndef BGDMA_SELFTESTS_UTILS_H
#define BGDMA_SELFTESTS_UTILS_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/bgdma.h>

#define KIB	1024UL
#define MIB	(1024UL * KIB)
#define PAGE	4096UL

#define INJ	BGDMA_KIND_INJ_COUNTER
#define REC	BGDMA_KIND_REC_COUNTER

#define LOCAL_RW (BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE)
#define PEER_RW	(BGDMA_RIGHT_READ | BGDMA_RIGHT_WRITE)

/* ---- Failing, waiting ------------------------------------------------- */

long must_at(const char *file, int line, const char *what, long result);

/* The result of a call that has to succeed, or the end of the test. */
#define must(call) must_at(__FILE__, __LINE__, #call, (long)(call))

__u64 now_ns(void);

/*
 * How much slower than others this kernel is: BGDMA_TEST_SLOW, 1 by default.
 * Every limit of time is that much longer, the harness's own, too.
 */
unsigned int slowness(void);

/* Long enough for the slowest machine: it only keeps a test from hanging. */
#define PATIENCE_NS	(20000000000ULL * slowness())

/* Who has looked so often, and given way, sleeps: threads that all give way get nowhere. */
#define LOOKS_AWAKE	1000
#define LOOK_US		100

/* Wait until an expression holds; false when it does not in all that time. */
#define until(condition)						\
({									\
	__u64 end_ = now_ns() + PATIENCE_NS;				\
	unsigned int looks_ = 0;					\
	bool held_;							\
									\
	while (!(held_ = (condition)) && now_ns() < end_) {		\
		if (looks_++ < LOOKS_AWAKE)				\
			sched_yield();					\
		else							\
			usleep(LOOK_US);				\
	}								\
	held_;								\
})

#define load(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

/* Run a function in a child process; its result (0 or -errno), or -EINTR. */
int in_child(int (*fn)(void *arg), void *arg);
/* The same as another user, without capabilities. */
int as_user(uid_t uid, int (*fn)(void *arg), void *arg);
/* Start it and go on; the child waits forever when the function returns 0. */
pid_t start_child(int (*fn)(void *arg), void *arg);
void kill_child(pid_t pid, int signal);

/* Write a file of /proc or /sys in one go; 0 or -errno. */
int write_file(const char *path, const char *text);

/* A flag, or a few words, that a child and its parent both see. */
void *shared(size_t bytes);

/* ---- Partitions ------------------------------------------------------- */

#define PARTITION	"test"

/* `bgdma partition VERB NAME WORDS...`: exit code of the tool. */
int partition(const char *verb, const char *name, const char *words);
/* A network namespace of its own with partition PARTITION, mode 0666. */
void partition_new(const char *dims, const char *more);

/* ---- Nodes ------------------------------------------------------------ */

struct view {
	void *p;
	size_t bytes;
};

/* One open file, attached: a context of a node. */
struct node {
	int fd;
	struct bgdma_attach at;
	struct view area[BGDMA_AREA_COUNT];
	struct view *more;
	unsigned int n_more;
	struct bgdma_user_ctl *uctl;
	const struct bgdma_kern_ctl *kctl;
	const struct bgdma_event *events;
	__u64 events_head;
};

int bg_open(void);
int bg_ioctl(int fd, unsigned long cmd, void *arg);
int bg_mmap(int fd, const struct bgdma_area *area, int prot, void **out);
int bg_attach(int fd, const char *name, __u32 rank, struct bgdma_attach *out);

/* Attach with room as in @opts, which may be NULL; 0 or -errno. */
int node_try(struct node *n, const char *name, __u32 rank,
	     const struct bgdma_attach *opts);
void node_new(struct node *n, __u32 rank);
void node_close(struct node *n);
/* What of it is mapped holds its file, whose end comes with the last. */
void node_unmap(struct node *n);
void *node_map(struct node *n, const struct bgdma_area *area, int prot);

static inline void *in_area(struct node *n, enum bgdma_area_id area,
			    size_t offset)
{
	return (char *)n->area[area].p + offset;
}

static inline const struct bgdma_record *record(struct node *n, __u32 base,
						__u32 i)
{
	return in_area(n, BGDMA_AREA_RECORDS,
		       base + i * sizeof(struct bgdma_record));
}

/* ---- FIFOs ------------------------------------------------------------ */

struct inj {
	struct node *n;
	__u32 id;
	__u32 entries;
	__u64 tail;
	struct bgdma_desc *ring;
	struct bgdma_inj_user *user;
	const struct bgdma_inj_kern *kern;
	const struct bgdma_record *rec;
};

struct rec {
	struct node *n;
	__u32 id;
	__u32 bytes;
	__u64 head;
	const char *ring;
	struct bgdma_rec_user *user;
	const struct bgdma_rec_kern *kern;
	const struct bgdma_record *rec;
};

int inj_try(struct inj *f, struct node *n, __u32 id, __u32 entries);
int rec_try(struct rec *f, struct node *n, __u32 id, __u32 bytes);
int rgq_try(struct node *n, __u32 quota, __u32 senders, __u32 timeout_ms,
	    __u32 *id);
void inj_new(struct inj *f, struct node *n);
void rec_new(struct rec *f, struct node *n);	/* anybody may send to it */
__u32 rgq_new(struct node *n);			/* anybody may inject into it */
int fifo_destroy(struct node *n, __u32 kind, __u32 id);
int clear_error(struct node *n, __u32 kind, __u32 object, __u32 flags);
int cancel(struct inj *f, __u64 first, __u64 last);	/* how many, or -errno */

/* Write a descriptor; the engine is told with post(). Its sequence number. */
__u64 put_in(struct inj *f, const struct bgdma_desc *d);
/* Publish the tail, set the doorbell bit, ring when the engine sleeps. */
void post(struct inj *f);
__u64 inject(struct inj *f, const struct bgdma_desc *d);	/* both */
int doorbell(struct node *n, unsigned long arg);

/* Wait until the FIFO is past @seq, or in error: its code, or BGDMA_OK. */
int outcome(struct inj *f, __u64 seq);
/* Inject one descriptor and wait for its outcome. */
int run(struct inj *f, const struct bgdma_desc *d);
/* The same for one that must fail: clears the error; its code. */
int run_bad(struct inj *f, const struct bgdma_desc *d);

/* The packet at the head, or NULL; wait for one; drop it. */
const struct bgdma_packet *packet(struct rec *f);
const struct bgdma_packet *packet_wait(struct rec *f);
void packet_drop(struct rec *f);
/*
 * Take the next packet of a message, if there is one, of which @offset bytes have come.
 * True: no more is to come; an empty packet says so, or an event where there was no
 * room for one. The message has not come to its end.
 */
bool cut_off(struct node *n, struct rec *f, __u32 *offset);
static inline const char *payload(const struct bgdma_packet *p)
{
	return (const char *)(p + 1);
}

/* Next event; false when there is none now. */
bool event_next(struct node *n, struct bgdma_event *out);
/* Next event of that type, skipping others; false when none comes. */
bool event_wait(struct node *n, __u32 type, struct bgdma_event *out);

/* ---- Counters --------------------------------------------------------- */

int counter_alloc(struct node *n, __u32 kind, __u32 flags, __u32 count,
		  __u32 *first);
int counter_free(struct node *n, __u32 kind, __u32 first, __u32 count);
/* One that anybody may move; its handle. */
__u32 counter_new(struct node *n, __u32 kind, __u32 flags);
/* The one that was freed, after all that were so for longer. */
__u32 counter_again(struct node *n, __u32 kind, __u32 slot);
struct bgdma_counter_cell *cell(struct node *n, __u32 kind, __u32 handle);
__s64 value(struct node *n, __u32 kind, __u32 handle);
/* As a library does it: sets the hit bit, and notifies. New value. */
__s64 counter_add(struct node *n, __u32 kind, __u32 handle, __s64 by);
bool hit(struct node *n, __u32 kind, __u32 handle);
void hit_clear(struct node *n, __u32 kind, __u32 handle);
void counter_enable(struct node *n, __u32 kind, __u32 handle);
const struct bgdma_record *counter_record(struct node *n, __u32 kind,
					  __u32 handle);
bool counter_error(struct node *n, __u32 kind, __u32 handle);

/* ---- Regions, grants -------------------------------------------------- */

struct region {
	struct node *n;
	__u32 handle;
	char *p;
	size_t bytes;
};

int region_pin(struct node *n, void *p, size_t bytes, __u32 rights,
	       __u32 *handle);
int region_free(struct node *n, __u32 handle);
/* Anonymous memory, pinned with LOCAL_RW and open to anybody (PEER_RW). */
void region_new(struct region *r, struct node *n, size_t bytes);
/* Memory of the driver, mapped, with the same rights. */
void region_driver(struct region *r, struct node *n, size_t bytes);
void fill(void *p, size_t bytes, unsigned int seed);
bool filled(const void *p, size_t bytes, unsigned int seed);

int gate(struct node *n, __u32 region, __u32 epochs, __u32 flags);
/* Share the gate of another region. */
int gate_with(struct node *n, __u32 region, __u32 with);
/* What is at a gate: how many, of which @room were written, or -errno. */
int epochs(struct node *n, __u32 region, struct bgdma_epoch *out, __u32 room);
int epoch_allow(struct node *n, __u32 region, __u32 rank, __u32 incarnation,
		__u32 epoch);
int grant(struct node *n, __u32 kind, __u32 object, __u32 rank, __u32 rights);
int grant_range(struct node *n, __u32 object, __u32 rank, __u32 rights,
		__u64 lo, __u64 hi);
int grant_revoke(struct node *n, __u32 id);

/* ---- Descriptors: correct ones, to be changed by the test ------------- */

struct bgdma_desc d_nop(void);
struct bgdma_desc d_put(__u32 rank, __u32 src, __u64 src_off, __u32 dst,
			__u64 dst_off, __u32 length);
struct bgdma_desc d_copy(__u32 src, __u64 src_off, __u32 dst, __u64 dst_off,
			 __u32 length);
struct bgdma_desc d_memfifo(__u32 rank, __u32 fifo, __u32 src, __u64 src_off,
			    __u32 length);
struct bgdma_desc d_inline(__u32 rank, __u32 fifo, const void *p,
			   __u32 length);
struct bgdma_desc d_local_memfifo(__u32 fifo, __u32 src, __u64 src_off,
				  __u32 length);
struct bgdma_desc d_rget(__u32 rank, __u32 queue, __u32 src, __u64 src_off,
			 unsigned int descriptors);
/* @count elements from @dst_off on; one: @operand, several: from the source. */
struct bgdma_desc d_atomic(__u32 rank, enum bgdma_atomic_op op,
			   enum bgdma_atomic_type type, __u64 operand,
			   __u32 dst, __u64 dst_off, __u32 count);
struct bgdma_desc d_gate(__u32 rank, enum bgdma_op op, __u32 region,
			 __u32 epoch, __u32 counter);
/* A small message with a number in it; and that of the next one. */
struct bgdma_desc d_number(__u32 rank, const struct rec *to, __u32 number);
__u32 number_wait(struct rec *r);
/*
 * @count new FIFOs @f of node @n send number 0, 1, ... to its FIFO @r, which
 * has not room for all: how many of them wait for it.
 */
unsigned int senders_wait(struct node *n, struct inj *f, unsigned int count,
			  const struct rec *r);

/* ---- Waiting ---------------------------------------------------------- */

int wait_for(struct node *n, __u32 kind, __u32 object, __u64 value,
	     __s64 timeout_ns);
int event_bind(struct node *n, __u32 kind, __u32 object, int fd);
/* poll(2) on the file: revents, 0 when the time is over. */
int poll_file(struct node *n, int timeout_ms);
__u64 eventfd_count(int fd);	/* 0 when nothing is in it */

/* ---- Two nodes that trust each other ---------------------------------- */

#define PAIR_BYTES	(64 * KIB)

/* One end: FIFOs, and @mem that the other end may read and write. */
struct end {
	struct node n;
	struct inj inj;
	struct rec rec;
	__u32 rgq;
	struct region mem;
	__u32 ic;	/* an injection counter */
	__u32 rc;	/* a reception counter; anybody may move both */
};

void end_new(struct end *e, __u32 rank);
/* Partition PARTITION of 4x1x1 with ends at rank 0 and 1. */
void pair_new(struct end *a, struct end *b);
/* A put from @a to @b, rank 1, that moves @a's counter @ic and @b's @rc. */
struct bgdma_desc d_put_counted(struct end *a, struct end *b, __u32 ic,
				__u32 rc, __u32 length);

#endif /* BGDMA_SELFTESTS_UTILS_H */

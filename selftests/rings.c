// SPDX-License-Identifier: GPL-2.0
/*
 * FIFOs, counters, regions, grants and descriptors, for the tests of
 * /dev/bgdma. See utils.h.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "utils.h"

/* ---- FIFOs ------------------------------------------------------------ */

int inj_try(struct inj *f, struct node *n, __u32 id, __u32 entries)
{
	struct bgdma_inj_create c = {
		.size = sizeof(c), .id = id, .entries = entries,
	};
	int ret = bg_ioctl(n->fd, BGDMA_IOC_INJ_CREATE, &c);

	if (ret)
		return ret;
	*f = (struct inj){
		.n = n, .id = c.id, .entries = entries,
		.ring = node_map(n, &c.ring, PROT_READ | PROT_WRITE),
		.user = in_area(n, BGDMA_AREA_USER_CTL,
			   n->at.user_inj + c.id * sizeof(*f->user)),
		.kern = in_area(n, BGDMA_AREA_KERN_CTL,
			   n->at.kern_inj + c.id * sizeof(*f->kern)),
		.rec = record(n, n->at.rec_inj, c.id),
	};
	return 0;
}

int rec_try(struct rec *f, struct node *n, __u32 id, __u32 bytes)
{
	struct bgdma_rec_create c = {
		.size = sizeof(c), .id = id, .bytes = bytes,
	};
	int ret = bg_ioctl(n->fd, BGDMA_IOC_REC_CREATE, &c);

	if (ret)
		return ret;
	*f = (struct rec){
		.n = n, .id = c.id, .bytes = bytes,
		.ring = node_map(n, &c.ring, PROT_READ),
		.user = in_area(n, BGDMA_AREA_USER_CTL,
			   n->at.user_rec + c.id * sizeof(*f->user)),
		.kern = in_area(n, BGDMA_AREA_KERN_CTL,
			   n->at.kern_rec + c.id * sizeof(*f->kern)),
		.rec = record(n, n->at.rec_rec, c.id),
	};
	return 0;
}

int rgq_try(struct node *n, __u32 quota, __u32 senders, __u32 timeout_ms,
	    __u32 *id)
{
	struct bgdma_rgq_create c = {
		.size = sizeof(c), .id = BGDMA_ID_ANY, .quota = quota,
		.senders = senders, .timeout_ms = timeout_ms,
	};
	int ret = bg_ioctl(n->fd, BGDMA_IOC_RGQ_CREATE, &c);

	*id = c.id;
	return ret;
}

void inj_new(struct inj *f, struct node *n)
{
	must(inj_try(f, n, BGDMA_ID_ANY, 64));
}

void rec_new(struct rec *f, struct node *n)
{
	must(rec_try(f, n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	must(grant(n, BGDMA_KIND_REC_FIFO, f->id, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_ACCEPT));
}

__u32 rgq_new(struct node *n)
{
	__u32 id;

	must(rgq_try(n, 64, 4, 0, &id));
	must(grant(n, BGDMA_KIND_RGET_QUEUE, id, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_INJECT));
	return id;
}

int fifo_destroy(struct node *n, __u32 kind, __u32 id)
{
	struct bgdma_fifo_destroy c = {
		.size = sizeof(c), .kind = kind, .id = id,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_FIFO_DESTROY, &c);
}

int clear_error(struct node *n, __u32 kind, __u32 object, __u32 flags)
{
	struct bgdma_clear_error c = {
		.size = sizeof(c), .flags = flags, .kind = kind,
		.object = object,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_CLEAR_ERROR, &c);
}

int cancel(struct inj *f, __u64 first, __u64 last)
{
	struct bgdma_cancel c = {
		.size = sizeof(c), .fifo = f->id, .first = first, .last = last,
	};
	int ret = bg_ioctl(f->n->fd, BGDMA_IOC_CANCEL, &c);

	return ret ? ret : (int)c.cancelled;
}

__u64 put_in(struct inj *f, const struct bgdma_desc *d)
{
	must(until(f->tail - load(&f->kern->head) < f->entries) ? 0 : -ETIME);
	f->ring[f->tail & (f->entries - 1)] = *d;
	return f->tail++;
}

int doorbell(struct node *n, unsigned long arg)
{
	return ioctl(n->fd, BGDMA_IOC_DOORBELL, arg) ? -errno : 0;
}

static void wake_engine(struct node *n)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (load(&n->kctl->wake) & BGDMA_NEED_WAKEUP)
		must(doorbell(n, 0));
}

void post(struct inj *f)
{
	store(&f->user->tail, f->tail);
	__atomic_fetch_or(&f->n->uctl->doorbell[f->id / 64],
			  1ULL << f->id % 64, __ATOMIC_SEQ_CST);
	wake_engine(f->n);
}

__u64 inject(struct inj *f, const struct bgdma_desc *d)
{
	__u64 seq = put_in(f, d);

	post(f);
	return seq;
}

/* Whoever reads of it afterwards has nothing else to go by. */
static void never_ended(const struct inj *f, __u64 seq)
{
	fprintf(stderr,
		"# descriptor %llu of FIFO %u never ended: tail %llu, head %llu, done %llu, state %u, doorbell %#llx\n",
		(unsigned long long)seq, f->id,
		(unsigned long long)load(&f->user->tail),
		(unsigned long long)load(&f->kern->head),
		(unsigned long long)load(&f->kern->done),
		load(&f->kern->state),
		(unsigned long long)load(&f->n->uctl->doorbell[f->id / 64]));
	if (system("{ bgdma fifo show; bgdma link show -s; } | sed 's/^/# /' >&2"))
		fprintf(stderr, "# bgdma cannot show more\n");
	must(-ETIME);
}

int outcome(struct inj *f, __u64 seq)
{
	if (!until(load(&f->kern->done) > seq ||
		   load(&f->kern->state) == BGDMA_FIFO_ERROR))
		never_ended(f, seq);
	if (load(&f->kern->state) != BGDMA_FIFO_ERROR)
		return BGDMA_OK;
	return (int)load(&f->rec->code);
}

int run(struct inj *f, const struct bgdma_desc *d)
{
	return outcome(f, inject(f, d));
}

int run_bad(struct inj *f, const struct bgdma_desc *d)
{
	int code = run(f, d);

	if (code != BGDMA_OK)
		must(clear_error(f->n, BGDMA_KIND_INJ_FIFO, f->id, 0));
	return code;
}

const struct bgdma_packet *packet(struct rec *f)
{
	if (load(&f->kern->tail) == f->head)
		return NULL;
	return (const void *)(f->ring + (f->head & (f->bytes - 1)));
}

const struct bgdma_packet *packet_wait(struct rec *f)
{
	must(until(packet(f)) ? 0 : -ETIME);
	return packet(f);
}

void packet_drop(struct rec *f)
{
	const struct bgdma_packet *p = packet(f);

	f->head += sizeof(*p) + ((p->bytes + BGDMA_PACKET_ALIGN - 1U) &
				 ~(BGDMA_PACKET_ALIGN - 1U));
	store(&f->user->head, f->head);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (load(&f->kern->starved)) {
		__atomic_fetch_or(&f->n->uctl->doorbell_rec, 1ULL << f->id,
				  __ATOMIC_SEQ_CST);
		wake_engine(f->n);
	}
}

bool event_next(struct node *n, struct bgdma_event *out)
{
	/* At least what was asked for, and the area is whole pages. */
	__u64 entries = n->at.events ?: n->at.areas[BGDMA_AREA_EVENTS].bytes /
					sizeof(*out);

	if (load(&n->kctl->events_tail) == n->events_head)
		return false;
	*out = n->events[n->events_head++ & (entries - 1)];
	store(&n->uctl->events_head, n->events_head);
	return true;
}

bool event_wait(struct node *n, __u32 type, struct bgdma_event *out)
{
	while (until(event_next(n, out)))
		if (out->type == type)
			return true;
	return false;
}

bool cut_off(struct node *n, struct rec *f, __u32 *offset)
{
	const struct bgdma_packet *p = packet(f);
	struct bgdma_event e;
	bool error;

	if (!p)
		return event_next(n, &e) &&
		       e.type == BGDMA_EVENT_FIFO_ERROR &&
		       e.code == BGDMA_E_ABORTED;
	error = p->flags & BGDMA_PACKET_ERROR;
	must(p->offset == *offset ? 0 : -EINVAL);
	must(!!(p->flags & BGDMA_PACKET_LAST) == error ? 0 : -EINVAL);
	must(error == !p->bytes ? 0 : -EINVAL);
	*offset += p->bytes;
	packet_drop(f);
	return error;
}

/* ---- Counters --------------------------------------------------------- */

int counter_alloc(struct node *n, __u32 kind, __u32 flags, __u32 count,
		  __u32 *first)
{
	struct bgdma_counter_alloc c = {
		.size = sizeof(c), .flags = flags, .kind = kind, .count = count,
	};
	int ret = bg_ioctl(n->fd, BGDMA_IOC_COUNTER_ALLOC, &c);

	*first = c.first;
	return ret;
}

int counter_free(struct node *n, __u32 kind, __u32 first, __u32 count)
{
	struct bgdma_counter_free c = {
		.size = sizeof(c), .kind = kind, .first = first, .count = count,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_COUNTER_FREE, &c);
}

__u32 counter_new(struct node *n, __u32 kind, __u32 flags)
{
	__u32 slot;

	must(counter_alloc(n, kind, flags, 1, &slot));
	must(grant(n, kind, slot, BGDMA_RANK_ANY, BGDMA_RIGHT_COUNT));
	return BGDMA_HANDLE(slot, cell(n, kind, slot)->lease_gen);
}

__u32 counter_again(struct node *n, __u32 kind, __u32 slot)
{
	__u32 again;

	do {
		again = counter_new(n, kind, 0);
	} while (BGDMA_HANDLE_SLOT(again) != slot);
	return again;
}

struct bgdma_counter_cell *cell(struct node *n, __u32 kind, __u32 handle)
{
	struct bgdma_counter_cell *cells;

	cells = in_area(n, BGDMA_AREA_COUNTERS, n->at.cells[kind - INJ]);
	return &cells[BGDMA_HANDLE_SLOT(handle)];
}

__s64 value(struct node *n, __u32 kind, __u32 handle)
{
	return load(&cell(n, kind, handle)->value);
}

static __u64 *bit_word(__u64 words[2][BGDMA_CTR_WORDS], __u32 kind, __u32 handle)
{
	return &words[kind - INJ][BGDMA_HANDLE_SLOT(handle) / 64];
}

static __u64 bit_of(__u32 handle)
{
	return 1ULL << BGDMA_HANDLE_SLOT(handle) % 64;
}

__s64 counter_add(struct node *n, __u32 kind, __u32 handle, __s64 by)
{
	struct bgdma_counter_cell *c = cell(n, kind, handle);
	__s64 now = __atomic_add_fetch(&c->value, by, __ATOMIC_SEQ_CST);

	if (!now) {
		__atomic_fetch_add(&c->zero_seq, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_or(bit_word(n->uctl->hit_zero, kind, handle),
				  bit_of(handle), __ATOMIC_SEQ_CST);
	}
	if (now <= load(&c->wake_at) &&
	    (load(&c->arm) ||
	     load(bit_word(n->uctl->enable, kind, handle)) & bit_of(handle)))
		must(ioctl(n->fd, BGDMA_IOC_NOTIFY,
			   BGDMA_NOTIFY_ARG(kind, BGDMA_HANDLE_SLOT(handle))));
	return now;
}

bool hit(struct node *n, __u32 kind, __u32 handle)
{
	return load(bit_word(n->uctl->hit_zero, kind, handle)) & bit_of(handle);
}

void hit_clear(struct node *n, __u32 kind, __u32 handle)
{
	__atomic_fetch_and(bit_word(n->uctl->hit_zero, kind, handle),
			   ~bit_of(handle), __ATOMIC_SEQ_CST);
}

void counter_enable(struct node *n, __u32 kind, __u32 handle)
{
	__atomic_fetch_or(bit_word(n->uctl->enable, kind, handle),
			  bit_of(handle), __ATOMIC_SEQ_CST);
}

const struct bgdma_record *counter_record(struct node *n, __u32 kind,
					  __u32 handle)
{
	return record(n, kind == INJ ? n->at.rec_counter_inj :
				       n->at.rec_counter_rec,
		      BGDMA_HANDLE_SLOT(handle));
}

bool counter_error(struct node *n, __u32 kind, __u32 handle)
{
	const __u64 *words = n->kctl->counter_error[kind - INJ];

	return load(&words[BGDMA_HANDLE_SLOT(handle) / 64]) & bit_of(handle);
}

/* ---- Regions, grants -------------------------------------------------- */

int region_pin(struct node *n, void *p, size_t bytes, __u32 rights,
	       __u32 *handle)
{
	struct bgdma_region_pin c = {
		.size = sizeof(c), .rights = rights, .addr = (uintptr_t)p,
		.length = bytes,
	};
	int ret = bg_ioctl(n->fd, BGDMA_IOC_REGION_PIN, &c);

	*handle = c.handle;
	return ret;
}

int region_free(struct node *n, __u32 handle)
{
	struct bgdma_region_free c = { .size = sizeof(c), .handle = handle };

	return bg_ioctl(n->fd, BGDMA_IOC_REGION_FREE, &c);
}

void region_new(struct region *r, struct node *n, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p == MAP_FAILED ? -errno : 0);
	*r = (struct region){ .n = n, .p = p, .bytes = bytes };
	must(region_pin(n, p, bytes, LOCAL_RW, &r->handle));
	must(grant(n, BGDMA_KIND_REGION, r->handle, BGDMA_RANK_ANY, PEER_RW));
}

void region_driver(struct region *r, struct node *n, size_t bytes)
{
	struct bgdma_region_alloc c = {
		.size = sizeof(c), .rights = LOCAL_RW, .length = bytes,
	};

	must(bg_ioctl(n->fd, BGDMA_IOC_REGION_ALLOC, &c));
	*r = (struct region){
		.n = n, .handle = c.handle, .bytes = bytes,
		.p = node_map(n, &c.mem, PROT_READ | PROT_WRITE),
	};
	must(grant(n, BGDMA_KIND_REGION, r->handle, BGDMA_RANK_ANY, PEER_RW));
}

static unsigned char pattern(size_t i, unsigned int seed)
{
	return (unsigned char)(i * 31 + i / 251 + seed * 97 + 1);
}

void fill(void *p, size_t bytes, unsigned int seed)
{
	unsigned char *c = p;
	size_t i;

	for (i = 0; i < bytes; i++)
		c[i] = pattern(i, seed);
}

bool filled(const void *p, size_t bytes, unsigned int seed)
{
	const unsigned char *c = p;
	size_t i;

	for (i = 0; i < bytes; i++) {
		if (c[i] != pattern(i, seed)) {
			fprintf(stderr, "# byte %zu of %zu is %u, not %u\n", i,
				bytes, c[i], pattern(i, seed));
			return false;
		}
	}
	return true;
}

static int grant_all(struct node *n, struct bgdma_grant *c)
{
	int ret;

	c->size = sizeof(*c);
	c->count = 1;
	c->ctx = BGDMA_CTX_ANY;
	ret = bg_ioctl(n->fd, BGDMA_IOC_GRANT, c);
	return ret ? ret : (int)c->id;
}

int gate(struct node *n, __u32 region, __u32 epochs, __u32 flags)
{
	struct bgdma_gate c = {
		.size = sizeof(c), .flags = flags, .region = region,
		.epochs = epochs,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_GATE, &c);
}

int gate_with(struct node *n, __u32 region, __u32 with)
{
	struct bgdma_gate c = {
		.size = sizeof(c), .region = region, .with = with,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_GATE, &c);
}

int epochs(struct node *n, __u32 region, struct bgdma_epoch *out, __u32 room)
{
	struct bgdma_epochs c = {
		.size = sizeof(c), .region = region, .count = room,
		.epochs = (uintptr_t)out,
	};
	int ret = bg_ioctl(n->fd, BGDMA_IOC_EPOCHS, &c);

	return ret ? ret : (int)c.count;
}

int epoch_allow(struct node *n, __u32 region, __u32 rank, __u32 incarnation,
		__u32 epoch)
{
	struct bgdma_epoch_allow c = {
		.size = sizeof(c), .region = region, .epoch = epoch,
		.incarnation = incarnation, .rank = rank,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_EPOCH_ALLOW, &c);
}

int grant(struct node *n, __u32 kind, __u32 object, __u32 rank, __u32 rights)
{
	struct bgdma_grant c = {
		.kind = kind, .object = object, .rank = rank, .rights = rights,
	};

	return grant_all(n, &c);
}

int grant_range(struct node *n, __u32 object, __u32 rank, __u32 rights,
		__u64 lo, __u64 hi)
{
	struct bgdma_grant c = {
		.kind = BGDMA_KIND_REGION, .object = object, .rank = rank,
		.rights = rights, .lo = lo, .hi = hi,
	};

	return grant_all(n, &c);
}

int grant_revoke(struct node *n, __u32 id)
{
	struct bgdma_revoke c = { .size = sizeof(c), .id = id };

	return bg_ioctl(n->fd, BGDMA_IOC_REVOKE, &c);
}

/* ---- Descriptors ------------------------------------------------------ */

struct bgdma_desc d_nop(void)
{
	return (struct bgdma_desc){
		.op = BGDMA_OP_NOP,
		.inj_ctr = htole32(BGDMA_NONE),
		.rec_ctr = htole32(BGDMA_NONE),
		.u.at.src_region = htole32(BGDMA_NONE),
		.u.at.dst_region = htole32(BGDMA_NONE),
	};
}

static struct bgdma_desc from(__u8 op, __u32 src, __u64 src_off, __u32 length)
{
	struct bgdma_desc d = d_nop();

	d.op = op;
	d.length = htole32(length);
	d.u.at.src_region = htole32(src);
	d.u.at.src_off = htole64(src_off);
	return d;
}

struct bgdma_desc d_put(__u32 rank, __u32 src, __u64 src_off, __u32 dst,
			__u64 dst_off, __u32 length)
{
	struct bgdma_desc d = from(BGDMA_OP_PUT, src, src_off, length);

	d.dst_rank = htole32(rank);
	d.u.at.dst_region = htole32(dst);
	d.u.at.dst_off = htole64(dst_off);
	return d;
}

struct bgdma_desc d_copy(__u32 src, __u64 src_off, __u32 dst, __u64 dst_off,
			 __u32 length)
{
	struct bgdma_desc d = d_put(0, src, src_off, dst, dst_off, length);

	d.op = BGDMA_OP_LOCAL_COPY;
	return d;
}

struct bgdma_desc d_memfifo(__u32 rank, __u32 fifo, __u32 src, __u64 src_off,
			    __u32 length)
{
	struct bgdma_desc d = from(BGDMA_OP_MEMFIFO, src, src_off, length);

	d.dst_rank = htole32(rank);
	d.dst_fifo = htole16((__u16)fifo);
	return d;
}

struct bgdma_desc d_inline(__u32 rank, __u32 fifo, const void *p, __u32 length)
{
	struct bgdma_desc d = d_memfifo(rank, fifo, 0, 0, length);

	d.flags = BGDMA_DESC_INLINE;
	memset(&d.u, 0, sizeof(d.u));
	memcpy(d.u.inline_data, p, length);
	return d;
}

struct bgdma_desc d_local_memfifo(__u32 fifo, __u32 src, __u64 src_off,
				  __u32 length)
{
	struct bgdma_desc d = d_memfifo(0, fifo, src, src_off, length);

	d.op = BGDMA_OP_LOCAL_MEMFIFO;
	return d;
}

struct bgdma_desc d_rget(__u32 rank, __u32 queue, __u32 src, __u64 src_off,
			 unsigned int descriptors)
{
	struct bgdma_desc d = d_memfifo(rank, queue, src, src_off,
					descriptors * sizeof(d));

	d.op = BGDMA_OP_RGET;
	return d;
}

struct bgdma_desc d_atomic(__u32 rank, enum bgdma_atomic_op op,
			   enum bgdma_atomic_type type, __u64 operand,
			   __u32 dst, __u64 dst_off, __u32 count)
{
	struct bgdma_desc d = d_put(rank, BGDMA_NONE, 0, dst, dst_off, count *
				    (type <= BGDMA_ATOMIC_U32 ? 4 : 8));

	d.op = BGDMA_OP_ATOMIC;
	d.dispatch = htole16(BGDMA_ATOMIC(op, type));
	d.cookie = htole64(operand);
	return d;
}

struct bgdma_desc d_gate(__u32 rank, enum bgdma_op op, __u32 region,
			 __u32 epoch, __u32 counter)
{
	struct bgdma_desc d = d_put(rank, BGDMA_NONE, 0, region, 0, 0);

	d.op = (__u8)op;
	d.epoch = htole32(epoch);
	d.inj_ctr = htole32(counter);
	return d;
}

struct bgdma_desc d_number(__u32 rank, const struct rec *to, __u32 number)
{
	return d_inline(rank, to->id, &number, sizeof(number));
}

__u32 number_wait(struct rec *r)
{
	__u32 number;

	memcpy(&number, payload(packet_wait(r)), sizeof(number));
	packet_drop(r);
	return number;
}

unsigned int senders_wait(struct node *n, struct inj *f, unsigned int count,
			  const struct rec *r)
{
	unsigned int i, waiting = 0;
	struct bgdma_desc d;

	for (i = 0; i < count; i++) {
		must(inj_try(&f[i], n, BGDMA_ID_ANY, 16));
		d = d_number(n->at.rank, r, i);
		inject(&f[i], &d);
	}
	for (i = 0; i < count; i++) {
		must(until(load(&f[i].kern->done) ||
			   load(&f[i].kern->state) == BGDMA_FIFO_BLOCKED) ?
		     0 : -ETIMEDOUT);
		waiting += !load(&f[i].kern->done);
	}
	return waiting;
}

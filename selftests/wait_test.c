// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting: calls, poll, epoll and eventfds, for counters, FIFOs and events.
 */
#include <endian.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "kselftest_harness.h"
#include "pair.h"

FIXTURE_PAIR(wait)

TEST_F(wait, dma4_wait_on_what_is_there)
{
	struct node *n = &self->b.n;
	__u32 h = self->b.rc;
	struct bgdma_counter_cell *c = cell(n, REC, h);

	EXPECT_EQ(0, wait_for(n, REC, h, 0, -1));
	store(&c->value, 5);
	EXPECT_EQ(-ETIME, wait_for(n, REC, h, 0, 0));
	EXPECT_EQ(-ETIME, wait_for(n, REC, h, 0, 1000000));
	store(&c->wake_at, 4);
	EXPECT_EQ(-ETIME, wait_for(n, REC, h, 0, 0));
	store(&c->wake_at, 5);
	EXPECT_EQ(0, wait_for(n, REC, h, 0, -1));
	store(&c->wake_at, -10);
	EXPECT_EQ(-ETIME, wait_for(n, REC, h, 0, 0));
	store(&c->value, -10);
	EXPECT_EQ(0, wait_for(n, REC, h, 0, -1));
	/* Nobody is left armed. */
	EXPECT_EQ(0, load(&c->arm));
}

TEST_F(wait, wait_for_one_of_several)
{
	struct end *a = &self->a;
	struct bgdma_condition c[BGDMA_WAIT_MAX];
	struct bgdma_wait w = {
		.size = sizeof(w), .conditions = (uintptr_t)c,
		.count = BGDMA_WAIT_MAX,
	};
	struct bgdma_desc nop = d_nop();
	int i;

	for (i = 0; i < BGDMA_WAIT_MAX; i++)
		c[i] = (struct bgdma_condition){
			.kind = BGDMA_KIND_INJ_FIFO, .object = a->inj.id,
			.value = 1000,
		};
	EXPECT_EQ(-ETIME, bg_ioctl(a->n.fd, BGDMA_IOC_WAIT, &w));
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &nop));
	c[40].value = 1;
	c[50].value = 1;
	w.timeout_ns = -1;
	ASSERT_EQ(0, bg_ioctl(a->n.fd, BGDMA_IOC_WAIT, &w));
	EXPECT_EQ(40, w.ready);
	c[63].kind = BGDMA_KIND_REGION;
	EXPECT_EQ(-EINVAL, bg_ioctl(a->n.fd, BGDMA_IOC_WAIT, &w));
	/* An error of the FIFO is there as well. */
	nop.op = 99;
	EXPECT_EQ(BGDMA_E_OP, run(&a->inj, &nop));
	EXPECT_EQ(0, wait_for(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id, 1000,
			      -1));
	EXPECT_EQ(0, wait_for(&a->n, BGDMA_KIND_EVENTS, 0, 0, -1));
	EXPECT_EQ(-ETIME, wait_for(&a->n, BGDMA_KIND_EVENTS, 0, 1, 0));
}

struct sleeper {
	struct node *n;
	__u32 handle;
	int result;
	bool asleep, poll;
};

static void *sleep_on(void *arg)
{
	struct sleeper *s = arg;

	store(&s->asleep, true);
	s->result = s->poll ? poll_file(s->n, 60000) :
			      wait_for(s->n, REC, s->handle, 0, -1);
	return NULL;
}

/* Someone who sleeps in the kernel for b's counter. */
static pthread_t sleeper_new(struct sleeper *s)
{
	struct bgdma_counter_cell *c = cell(s->n, REC, s->handle);
	pthread_t t;

	must(-pthread_create(&t, NULL, sleep_on, s));
	/* A wait arms the counter; poll does not say when it sleeps. */
	must(until(load(s->poll ? (__u32 *)&s->asleep : &c->arm)) ? 0 : -ETIME);
	if (s->poll)
		usleep(20000);
	return t;
}

TEST_F(wait, dma4_engine_wakes_a_sleeper)
{
	struct end *b = &self->b;
	struct sleeper s = { .n = &b->n, .handle = b->rc };
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, BGDMA_NONE, b->rc, 8);
	int i;

	for (i = 0; i < 20; i++) {
		pthread_t t;

		hit_clear(&b->n, REC, b->rc);
		counter_add(&b->n, REC, b->rc, 16);
		t = sleeper_new(&s);
		EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
		EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
		pthread_join(t, NULL);
		EXPECT_EQ(0, s.result);
		EXPECT_TRUE(hit(&b->n, REC, b->rc));
	}
	EXPECT_EQ(0, load(&cell(&b->n, REC, b->rc)->arm));
}

TEST_F(wait, ba5_own_add_wakes_a_sleeper)
{
	struct end *b = &self->b;
	struct sleeper s = { .n = &b->n, .handle = b->rc };
	pthread_t t;

	counter_add(&b->n, REC, b->rc, 3);
	t = sleeper_new(&s);
	EXPECT_EQ(0, counter_add(&b->n, REC, b->rc, -3));
	pthread_join(t, NULL);
	EXPECT_EQ(0, s.result);
}

TEST_F(wait, several_sleepers_on_one_counter)
{
	struct end *b = &self->b;
	struct sleeper s[4];
	pthread_t t[4];
	int i;

	counter_add(&b->n, REC, b->rc, 3);
	for (i = 0; i < 4; i++) {
		s[i] = (struct sleeper){ .n = &b->n, .handle = b->rc };
		t[i] = sleeper_new(&s[i]);
	}
	counter_add(&b->n, REC, b->rc, -3);
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(0, s[i].result);
	}
}

TEST_F(wait, freeing_it_wakes_its_sleepers)
{
	struct end *b = &self->b;
	struct sleeper s = { .n = &b->n, .handle = b->rc };
	pthread_t t;

	counter_add(&b->n, REC, b->rc, 3);
	t = sleeper_new(&s);
	EXPECT_EQ(0, counter_free(&b->n, REC, BGDMA_HANDLE_SLOT(b->rc), 1));
	pthread_join(t, NULL);
	EXPECT_TRUE(s.result == -ENOENT || s.result == -ESTALE);
}

/* They all are told, and few of them go before the slot is somebody else's. */
TEST_F(wait, dma4_sleepers_of_the_former_use_are_not_of_the_next)
{
	struct end *b = &self->b;
	struct sleeper s[64];
	pthread_t t[64];
	__u32 again;
	int i;

	counter_add(&b->n, REC, b->rc, 3);
	for (i = 0; i < 64; i++) {
		s[i] = (struct sleeper){ .n = &b->n, .handle = b->rc };
		t[i] = sleeper_new(&s[i]);
	}
	EXPECT_EQ(0, counter_free(&b->n, REC, BGDMA_HANDLE_SLOT(b->rc), 1));
	again = counter_again(&b->n, REC, BGDMA_HANDLE_SLOT(b->rc));
	for (i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
	EXPECT_EQ(0, load(&cell(&b->n, REC, again)->arm));
}

static void ignore(int signal)
{
	(void)signal;
}

TEST_F(wait, signal_ends_a_wait)
{
	struct end *b = &self->b;
	struct sigaction act = { .sa_handler = ignore };
	pid_t self_pid = getpid(), child;

	sigaction(SIGUSR1, &act, NULL);
	counter_add(&b->n, REC, b->rc, 3);
	child = fork();
	if (!child) {
		/* Until it has been heard. */
		for (;;) {
			usleep(20000);
			kill(self_pid, SIGUSR1);
		}
	}
	EXPECT_EQ(-EINTR, wait_for(&b->n, REC, b->rc, 0, -1));
	kill_child(child, SIGKILL);
	EXPECT_EQ(0, load(&cell(&b->n, REC, b->rc)->arm));
}

TEST_F(wait, dma4_poll_needs_enable)
{
	struct end *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, BGDMA_NONE, b->rc, 8);

	counter_add(&b->n, REC, b->rc, 8);
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(0, poll_file(&b->n, 0));
	counter_enable(&b->n, REC, b->rc);
	EXPECT_EQ(POLLIN, poll_file(&b->n, 0));
	/* As long as the bit stays, whatever the value is. */
	counter_add(&b->n, REC, b->rc, 8);
	EXPECT_EQ(POLLIN, poll_file(&b->n, 0));
	hit_clear(&b->n, REC, b->rc);
	EXPECT_EQ(0, poll_file(&b->n, 0));
}

TEST_F(wait, dma4_poll_and_epoll_wake)
{
	struct end *b = &self->b;
	struct sleeper s = { .n = &b->n, .handle = b->rc, .poll = true };
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, BGDMA_NONE, b->rc, 8);
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	pthread_t t;

	counter_add(&b->n, REC, b->rc, 8);
	counter_enable(&b->n, REC, b->rc);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, b->n.fd, &ev));
	EXPECT_EQ(0, epoll_wait(ep, &ev, 1, 0));
	t = sleeper_new(&s);
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	pthread_join(t, NULL);
	EXPECT_EQ(POLLIN, s.result);
	EXPECT_EQ(1, epoll_wait(ep, &ev, 1, 20000));
	EXPECT_EQ(EPOLLIN, ev.events);
	close(ep);
}

/* It comes with a queue to wait in once, when there may be nothing to wait for. */
TEST_F(wait, dma4_epoll_that_was_there_before)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = (int)must(bg_open()), ep = epoll_create1(EPOLL_CLOEXEC);
	struct bgdma_attach at = { 0 };

	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	ASSERT_EQ(1, epoll_wait(ep, &ev, 1, 0));
	EXPECT_EQ(EPOLLERR, ev.events);
	must(bg_attach(fd, PARTITION, 2, &at));
	EXPECT_EQ(0, epoll_wait(ep, &ev, 1, 0));
	must(partition("del", PARTITION, ""));
	EXPECT_EQ(1, epoll_wait(ep, &ev, 1, 20000));
	EXPECT_NE(0, ev.events & EPOLLHUP);
	close(ep);
	close(fd);
}

TEST_F(wait, dma4_eventfd)
{
	struct end *b = &self->b;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), ends[2];
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, BGDMA_NONE, b->rc, 8);
	struct bgdma_event e;

	ASSERT_EQ(0, event_bind(&b->n, REC, b->rc, fd));
	counter_add(&b->n, REC, b->rc, 16);
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	/* Hit, but not enabled. */
	EXPECT_EQ(0, eventfd_count(fd));
	counter_enable(&b->n, REC, b->rc);
	counter_add(&b->n, REC, b->rc, 16);
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(0, eventfd_count(fd));
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_TRUE(until(eventfd_count(fd)));
	/* An error too. */
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_TRUE(until(eventfd_count(fd)));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_COUNTER, &e));
	EXPECT_EQ(0, event_bind(&b->n, REC, b->rc, -1));
	EXPECT_EQ(0, event_bind(&b->n, REC, b->rc, -1));
	must(clear_error(&b->n, REC, BGDMA_HANDLE_SLOT(b->rc), 0));
	counter_add(&b->n, REC, b->rc, 16);
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(0, eventfd_count(fd));

	EXPECT_EQ(-EBADF, event_bind(&b->n, REC, b->rc, 12345));
	ASSERT_EQ(0, pipe(ends));
	EXPECT_EQ(-EINVAL, event_bind(&b->n, REC, b->rc, ends[0]));
	EXPECT_EQ(-EINVAL, event_bind(&b->n, REC, b->rc, b->n.fd));
	EXPECT_EQ(-ENOENT, event_bind(&b->n, REC, BGDMA_HANDLE(63, 1), fd));
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

TEST_F(wait, eventfd_of_events)
{
	struct end *a = &self->a;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct bgdma_desc bad = d_nop();

	bad.op = 99;
	ASSERT_EQ(0, event_bind(&a->n, BGDMA_KIND_EVENTS, 0, fd));
	EXPECT_EQ(0, poll_file(&a->n, 0));
	EXPECT_EQ(BGDMA_E_OP, run_bad(&a->inj, &bad));
	EXPECT_TRUE(until(eventfd_count(fd)));
	EXPECT_EQ(POLLIN, poll_file(&a->n, 0));
	store(&a->n.uctl->events_head, 1);
	EXPECT_EQ(0, poll_file(&a->n, 0));
	close(fd);
}

TEST_F(wait, events_that_find_the_ring_full)
{
	struct end *a = &self->a;
	struct bgdma_desc bad = d_nop();
	int i;

	bad.op = 99;
	for (i = 0; i < 100; i++)
		EXPECT_EQ(BGDMA_E_OP, run_bad(&a->inj, &bad));
	EXPECT_EQ(64, load(&a->n.kctl->events_tail));
	EXPECT_EQ(36, load(&a->n.kctl->events_lost));
	EXPECT_EQ(0, a->n.events[0].desc_seq);
	EXPECT_EQ(63, a->n.events[63].desc_seq);
	/* Read, there is room again. */
	store(&a->n.uctl->events_head, 64);
	EXPECT_EQ(BGDMA_E_OP, run_bad(&a->inj, &bad));
	EXPECT_EQ(65, load(&a->n.kctl->events_tail));
	EXPECT_EQ(100, a->n.events[0].desc_seq);
	/* A head that is nonsense loses events, and nothing else. */
	store(&a->n.uctl->events_head, ~0ULL / 2);
	EXPECT_EQ(BGDMA_E_OP, run_bad(&a->inj, &bad));
	bad.op = BGDMA_OP_NOP;
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &bad));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints: each step of a transfer, and one id that joins both sides.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "tracing.h"
#include "utils.h"

FIXTURE(trace) {
	struct end a, b;
	bool ready;
};

FIXTURE_SETUP(trace)
{
	self->ready = tracing_begin();
	if (!self->ready)
		SKIP(return, "needs root, and a kernel with tracing");
	must(write_file(INSTANCE "/events/bgdma/enable", "1"));
	pair_new(&self->a, &self->b);
}

FIXTURE_TEARDOWN(trace)
{
	if (!self->ready)
		return;
	node_close(&self->b.n);
	node_close(&self->a.n);
	tracing_end();
}

/*
 * How many lines there are of event @name, with all of the words that follow,
 * the last NULL.
 */
static unsigned int count(const char *name, ...)
{
	FILE *lines = tracing_lines();
	unsigned int n = 0;
	char line[1024], event[64];

	snprintf(event, sizeof(event), " bgdma_%s: ", name);
	while (fgets(line, sizeof(line), lines)) {
		const char *word, *rest = strstr(line, event);
		va_list words;

		if (!rest)
			continue;
		line[strcspn(line, "\n")] = ' ';
		va_start(words, name);
		while ((word = va_arg(words, const char *))) {
			if (!strstr(rest, word))
				break;
		}
		va_end(words);
		n += !word;
	}
	fclose(lines);
	return n;
}

/* The id of the only transfer that was fetched as such an operation. */
static void id_of(const char *operation, char id[16])
{
	FILE *lines = tracing_lines();
	char line[1024];

	id[0] = '\0';
	while (fgets(line, sizeof(line), lines)) {
		const char *at = strstr(line, " id=0x");

		if (strstr(line, " bgdma_fetch: ") && strstr(line, operation))
			must(sscanf(at, " %15s", id) == 1 ? 0 : -EINVAL);
	}
	fclose(lines);
	must(id[0] ? 0 : -ENOENT);
}

/* 0 is a, 1 is b: ranks and contexts in every line. */
#define AT_A	" " PARTITION "/0.0 "
#define AT_B	" " PARTITION "/1.0 "

TEST_F(trace, put_joined_by_its_id)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put(1, a->mem.handle, 0, b->mem.handle, 0,
				    PAIR_BYTES);
	char id[16];

	d.inj_ctr = htole32(a->ic);
	d.rec_ctr = htole32(b->rc);
	counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
	counter_add(&b->n, REC, b->rc, PAIR_BYTES);
	ASSERT_EQ(BGDMA_OK, run(&a->inj, &d));

	id_of(" put ", id);
	EXPECT_EQ(1, count("inject", AT_A, "injection-fifo=0", "count=1", NULL));
	EXPECT_EQ(1, count("fetch", AT_A, id, "to=1.0", "length=65536", NULL));
	EXPECT_EQ(1, count("execute", AT_A, id, NULL));
	EXPECT_LE(1, count("packet", AT_B, id, "from=0.0", NULL));
	EXPECT_LE(1, count("counter", AT_A, "injection", NULL));
	EXPECT_LE(1, count("counter", AT_B, "reception", NULL));
	EXPECT_EQ(1, count("hit_zero", AT_A, NULL));
	EXPECT_EQ(1, count("hit_zero", AT_B, NULL));
	EXPECT_EQ(1, count("done", AT_A, id, "done=65536", NULL));
	EXPECT_EQ(0, count("error", NULL));
}

TEST_F(trace, remote_get_and_what_it_injected)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put(0, b->mem.handle, 0, a->mem.handle, 4096,
				    64);
	char get[16], put[16], by[32];

	memcpy(a->mem.p, &d, sizeof(d));
	counter_add(&a->n, REC, a->rc, 64);
	((struct bgdma_desc *)a->mem.p)->rec_ctr = htole32(a->rc);
	d = d_rget(1, b->rgq, a->mem.handle, 0, 1);
	ASSERT_EQ(BGDMA_OK, run(&a->inj, &d));
	ASSERT_TRUE(until(!value(&a->n, REC, a->rc)));

	id_of(" remote-get ", get);
	id_of(" put ", put);
	EXPECT_STRNE(get, put);
	snprintf(by, sizeof(by), "by=%s", get + strlen("id="));
	EXPECT_EQ(1, count("packet", AT_B, get, "bytes=64 ", NULL));
	EXPECT_EQ(1, count("inject", AT_B, "remote-get-queue=", "count=1", by,
			   NULL));
	/* With the rights of whom it came from. */
	EXPECT_EQ(1, count("fetch", AT_B, put, "from=0.0", NULL));
	EXPECT_EQ(1, count("packet", AT_A, put, NULL));
}

TEST_F(trace, error_by_name)
{
	struct end *a = &self->a;
	struct bgdma_desc d = d_put(1, a->mem.handle, 0,
				    self->b.mem.handle + 77, 0, 64);
	char id[16];

	ASSERT_NE(BGDMA_OK, run_bad(&a->inj, &d));
	id_of(" put ", id);
	EXPECT_EQ(1, count("error", AT_A, id, "region", NULL));
	EXPECT_EQ(0, count("done", NULL));
}

TEST_F(trace, nobody_listens)
{
	struct bgdma_desc d = d_nop();

	must(write_file(INSTANCE "/events/bgdma/enable", "0"));
	tracing_clear();
	ASSERT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(0, count("fetch", NULL));
}

TEST_HARNESS_MAIN

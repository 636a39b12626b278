// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints: each step of a transfer, and one id that joins both sides.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "links.h"
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

/* ---- Keys ---------------------------------------------------------------- */

#define HALF	8	/* bytes of a key that the kernel has as one number */
#define DIGITS	(4 * HALF + 1)

static const uint8_t key[2 * HALF] = {
	0xd1, 0xa6, 0xe9, 0x5c, 0xb2, 0x83, 0x7f, 0x94,
	0xe8, 0xc3, 0x91, 0x5a, 0x7d, 0xb6, 0xf0, 0xa5,
};

/* As a file for bgdma has it. */
static void key_text(char text[DIGITS])
{
	size_t i;

	for (i = 0; i < sizeof(key); i++)
		sprintf(text + 2 * i, "%02x", key[i]);
}

static bool key_in_line(const char *line)
{
	char text[DIGITS], number[3][32];
	uint64_t half;
	int i, k;

	key_text(text);
	for (i = 0; i < 2; i++) {
		memcpy(&half, key + i * HALF, HALF);
		snprintf(number[0], sizeof(number[0]), "%.*s", 2 * HALF,
			 text + i * 2 * HALF);
		snprintf(number[1], sizeof(number[1]), "%" PRIx64, half);
		snprintf(number[2], sizeof(number[2]), "%" PRIu64, half);
		for (k = 0; k < 3; k++) {
			if (strcasestr(line, number[k]))
				return true;
		}
	}
	return false;
}

/* Lines of events; those with a part of the key. */
static unsigned int lines_with_key(unsigned int *all)
{
	FILE *lines = tracing_lines();
	unsigned int n = 0;
	char line[1024];

	*all = 0;
	while (fgets(line, sizeof(line), lines)) {
		*all += !!strstr(line, " bgdma_");
		n += key_in_line(line);
	}
	fclose(lines);
	return n;
}

/* What is recorded, shown or not, has these bytes. Takes it away. */
struct raw {
	bool key, name;
};

static void raw_of(unsigned int cpu, struct raw *raw)
{
	char path[128], page[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), INSTANCE "/per_cpu/cpu%u/trace_pipe_raw",
		 cpu);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	while ((n = read(fd, page, sizeof(page))) > 0) {
		raw->key |= memmem(page, (size_t)n, key, HALF) ||
			    memmem(page, (size_t)n, key + HALF, HALF);
		raw->name |= !!memmem(page, (size_t)n, PARTITION,
				      strlen(PARTITION));
	}
	close(fd);
}

FIXTURE(keyed) {
	char file[32];
	bool ready;
};

FIXTURE_SETUP(keyed)
{
	char text[DIGITS], words[64];

	self->ready = tracing_begin();
	if (!self->ready)
		SKIP(return, "needs root, and a kernel with tracing");
	must(write_file(INSTANCE "/events/bgdma/enable", "1"));
	strcpy(self->file, "/tmp/key.XXXXXX");
	close((int)must(mkstemp(self->file)));
	key_text(text);
	must(write_file(self->file, text));
	snprintf(words, sizeof(words), "key-file %s", self->file);
	/* Only frames of links have to do with keys. */
	links_hasty();
	partition_new("2x1x1", words);
}

FIXTURE_TEARDOWN(keyed)
{
	if (!self->ready)
		return;
	unlink(self->file);
	tracing_end();
}

TEST_F(keyed, x2_a_key_is_in_no_event)
{
	unsigned int all, cpu;
	struct raw raw = { 0 };
	struct bgdma_desc d;
	struct end a, b;

	end_new(&a, 0);
	end_new(&b, 1);
	d = d_put(1, a.mem.handle, 0, b.mem.handle, 0, PAIR_BYTES);
	d.inj_ctr = htole32(a.ic);
	d.rec_ctr = htole32(b.rc);
	counter_add(&a.n, INJ, a.ic, PAIR_BYTES);
	counter_add(&b.n, REC, b.rc, PAIR_BYTES);
	ASSERT_EQ(BGDMA_OK, run(&a.inj, &d));
	d = d_put(1, a.mem.handle, 0, b.mem.handle + 77, 0, 64);
	ASSERT_NE(BGDMA_OK, run_bad(&a.inj, &d));
	node_close(&b.n);
	node_close(&a.n);

	EXPECT_EQ(0, lines_with_key(&all));
	EXPECT_LT(10, all);
	for (cpu = 0; cpu < (unsigned int)sysconf(_SC_NPROCESSORS_CONF); cpu++)
		raw_of(cpu, &raw);
	/* It is looked at. */
	EXPECT_TRUE(raw.name);
	EXPECT_FALSE(raw.key);
}

TEST_HARNESS_MAIN

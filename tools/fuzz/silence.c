// SPDX-License-Identifier: GPL-2.0
/*
 * Time by which others are silent (kernel/fabric/silence.c): ticks that come when they
 * should, late or after a stand, the clock anywhere in its circle, and somebody who asks
 * while they come. What is told was so when it was asked for, or is so by the end, as
 * long as the clock has not gone further.
 */
#include "kernel.h"

#include "fuzz.h"

static void meanwhile(void);
static unsigned long clock_now(void);

/* Before each look of who asks. */
#undef READ_ONCE
#define READ_ONCE(x)	(meanwhile(), *(const volatile __typeof__(x) *)&(x))
#define jiffies		(meanwhile(), clock_now())
#include "../../kernel/fabric/silence.c"

#define STEPS	1000

static struct {
	struct input *in;
	struct bgdma_pace pace;
	unsigned long now;
	bool asked;		/* just now */
	u32 most;		/* jiffies that count after the last tick; 0: all */
	unsigned long tick;	/* when it was */
	unsigned long time;	/* what it was then */
} f;

static unsigned long clock_now(void)
{
	return f.now;
}

static unsigned long should_be(void)
{
	unsigned long since = f.now - f.tick;

	return f.time + (f.most && since > f.most ? f.most : since);
}

static void goes_on(struct input *in)
{
	u8 by = take(in, 1);

	/* Mostly a little; all of them less than half the circle. */
	f.now += by & 0x80 ? (unsigned long)(by & 7) << 16 : by & 15;
}

static void ticks(struct input *in)
{
	u32 most = take(in, 1) & 31;

	f.time = should_be();
	f.tick = f.now;
	f.most = most;
	bgdma_pace_tick(&f.pace, most);
}

static void meanwhile(void)
{
	u8 how;

	if (!f.asked)
		return;
	f.asked = false;
	how = take(f.in, 1);
	if (how & 1)
		goes_on(f.in);
	if (how & 2)
		ticks(f.in);
	if (how & 4)
		goes_on(f.in);
	f.asked = true;
}

static void asks(void)
{
	unsigned long before = should_be(), at = f.now, time;

	f.asked = true;
	time = bgdma_pace_now(&f.pace);
	f.asked = false;
	must(time - before <= f.now - at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	u32 steps;

	memset(&f, 0, sizeof(f));
	f.in = &in;
	f.now = take(&in, 8);
	bgdma_pace_begin(&f.pace);
	f.time = f.now - (f.pace.tick >> 32);
	f.tick = f.now;
	for (steps = 0; in.left && steps < STEPS; steps++) {
		u8 how = take(&in, 1);

		if (how & 1)
			goes_on(&in);
		if (how & 2)
			ticks(&in);
		must(bgdma_pace_now(&f.pace) == should_be());
		if (how & 4)
			asks();
	}
	return 0;
}

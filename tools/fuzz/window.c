// SPDX-License-Identifier: GPL-2.0
/*
 * The numbers of a flow's frames (kernel/fabric/window.h): a sender and a receiver
 * with a network between them that loses, doubles, reorders and keeps what it has
 * for long, and, if the input says so, a receiver that lies. Each frame is dealt
 * with once, in order; what an acknowledgment ends was sent, and, if it does not
 * lie, dealt with.
 */
#include "kernel.h"

#include "../../kernel/fabric/window.h"

#include "fuzz.h"

#define FRAMES		1024	/* of a run */
#define ON_WAY		64	/* that the network has */
#define STEPS		4096

struct packet {
	bool data;
	u32 psn;		/* of the frame, or before which all were dealt with */
	__le64 sack[BGDMA_WIRE_SACK / 64];
};

static struct {
	u32 base;		/* number of the first frame */
	bool lies;
	/* The sender's end */
	u32 next, una;
	bool arrived[FRAMES];	/* as it was told */
	/* The receiver's */
	u32 want;
	DECLARE_BITMAP(have, BGDMA_WIRE_SACK);
	bool came[FRAMES];
	u32 dealt;		/* so many */
	u32 damaged;
	/* Between them */
	struct packet way[ON_WAY];
	u32 n;
} f;

static u32 index_of(u32 psn)
{
	must(psn - f.base < FRAMES);
	return psn - f.base;
}

/* ---- The network --------------------------------------------------------- */

static void put_on_way(const struct packet *p)
{
	if (f.n < ON_WAY)
		f.way[f.n++] = *p;
}

static void send_frame(u32 psn)
{
	put_on_way(&(struct packet){ .data = true, .psn = psn });
}

static void send_ack(void)
{
	struct packet p = { .psn = f.want };
	u32 i;

	bgdma_window_tell(f.have, p.sack);
	/* It says what is there, and no more. */
	for (i = 0; i < BGDMA_WIRE_SACK; i++)
		must(bgdma_window_arrived(p.sack, f.want, f.want + i) ==
		     (f.want + i - f.base < FRAMES &&
		      f.came[f.want + i - f.base]));
	must(!bgdma_window_arrived(p.sack, f.want, f.want - 1));
	must(!bgdma_window_arrived(p.sack, f.want, f.want + BGDMA_WIRE_SACK));
	put_on_way(&p);
}

/* ---- The receiver -------------------------------------------------------- */

static void frame_came(u32 psn)
{
	u32 i = index_of(psn), ahead = psn - f.want;
	bool fresh = !bgdma_psn_before(psn, f.want) &&
		     ahead < BGDMA_WIRE_SACK && !f.came[i];

	must(bgdma_psn_before(psn, f.want) == (i < f.dealt));
	must(bgdma_window_keep(f.have, f.want, psn, 1) == fresh);
	if (fresh)
		f.came[i] = true;
	/* What is new is new once. */
	must(!bgdma_window_keep(f.have, f.want, psn, 1));
}

/* The next one, if it has come: dealt with, or found damaged. */
static void deal(bool good)
{
	u32 was = f.want;

	if (!f.came[index_of(f.want)] || f.dealt == FRAMES - 1)
		return;
	must(test_bit(0, f.have));
	bgdma_window_done(f.have, &f.want, 1, good);
	must(f.want == was + good);
	f.came[index_of(was)] = good;
	f.dealt += good;
	f.damaged += !good;
	must(f.want == f.base + f.dealt);
}

/* ---- The sender ---------------------------------------------------------- */

static void ack_came(const struct packet *p)
{
	bool good = bgdma_window_acks(f.una, f.next, p->psn);
	u32 psn;

	/* It ends what was sent and not ended, or nothing. */
	must(good == (p->psn - f.una <= f.next - f.una));
	if (!good)
		return;
	f.una = p->psn;
	must(f.lies || f.una - f.base <= f.dealt);
	for (psn = f.una; psn != f.next; psn++) {
		if (!bgdma_window_arrived(p->sack, f.una, psn))
			continue;
		f.arrived[index_of(psn)] = true;
		must(f.lies || f.damaged || f.came[index_of(psn)]);
	}
}

static void lie(struct input *in)
{
	struct packet p = { .psn = f.una + (u32)take(in, 4) };

	take_into(in, p.sack, sizeof(p.sack));
	f.lies = true;
	ack_came(&p);
}

/* ---- Both ---------------------------------------------------------------- */

static void arrive(u32 at, bool again)
{
	struct packet p;

	if (!f.n)
		return;
	at %= f.n;
	p = f.way[at];
	if (!again)
		f.way[at] = f.way[--f.n];
	if (p.data)
		frame_came(p.psn);
	else
		ack_came(&p);
}

static void step(struct input *in, u8 what)
{
	switch (what % 8) {
	case 0 ... 1:
		if (f.next - f.base < FRAMES - 1)
			send_frame(f.next++);
		break;
	case 2:
		arrive((u32)take(in, 1), what & 128);
		break;
	case 3:
		arrive(0, what & 128);
		break;
	case 4:
		deal(what < 240);
		break;
	case 5:
		send_ack();
		break;
	case 6:
		/* Again: one that may have come. */
		if (f.una != f.next)
			send_frame(f.una + (u32)take(in, 1) % (f.next - f.una));
		break;
	default:
		if (what == 255)
			lie(in);
		else if (f.n && what & 128)
			f.n--;	/* lost */
	}
}

/* A sender that goes on, and a network that works: all is dealt with and ended. */
static void settle(void)
{
	u32 rounds = 0;

	f.n = 0;
	while (f.una != f.next) {
		u32 psn;

		for (psn = f.una; psn != f.next &&
				  psn - f.una < BGDMA_WIRE_SACK; psn++)
			frame_came(psn);
		while (f.came[index_of(f.want)])
			deal(true);
		send_ack();
		arrive(0, false);
		must(++rounds <= FRAMES);
	}
	must(f.dealt == f.next - f.base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	u32 steps;

	memset(&f, 0, sizeof(f));
	/* Near where numbers go round, or anywhere. */
	f.base = (u32)take(&in, 1);
	f.base = f.base & 1 ? -f.base : (u32)take(&in, 4);
	f.next = f.base;
	f.una = f.base;
	f.want = f.base;
	for (steps = 0; in.left && steps < STEPS; steps++)
		step(&in, (u8)take(&in, 1));
	if (!f.lies)
		settle();
	return 0;
}

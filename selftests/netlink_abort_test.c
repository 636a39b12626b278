// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers over a link that end before their time, as frames that were made by hand
 * say it, or hear of it: netlink_data.h.
 */
#include "kselftest_harness.h"
#include "netlink_flow.h"

/* Numbers of transfers come again, at once where the others went elsewhere. */
TEST_F(data, a_number_that_was_refused_comes_again)
{
	struct bgdma_desc closed = put_to(&self->closed, 0, 64);
	struct bgdma_desc open = put_to(&self->e.mem, 0, 64);
	uint32_t i;

	add(&self->f, &closed, 0, 32, 1)->id = 7;
	add(&self->f, &closed, 32, 32, 1)->id = 7;
	REFUSED(BGDMA_E_RIGHTS);
	for (i = 1; i < 4; i++) {
		data_new(&self->f, 5, FIRST + i);
		self->f.frame.first = FIRST + i;
		add(&self->f, &open, 0, 32, (uint8_t)i)->id = i % 2 ? 8 : 7;
		add(&self->f, &open, 32, 32, (uint8_t)i)->id = i % 2 ? 8 : 7;
		LANDS();
		EXPECT_TRUE(all_bytes(self->e.mem.p, 64, (uint8_t)i));
	}
	data_new(&self->f, 5, FIRST + 4);
	self->f.frame.first = FIRST + 4;
	add(&self->f, &closed, 0, 64, 1)->id = 9;
	REFUSED(BGDMA_E_RIGHTS);
	data_new(&self->f, 5, FIRST + 5);
	self->f.frame.first = FIRST + 5;
	add(&self->f, &open, 0, 64, 9)->id = 9;
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 9));
}

TEST_HARNESS_MAIN

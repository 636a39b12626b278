/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames for a dissector: frames.c makes them, told.c tells what is in them.
 */
#ifndef BGDMA_FRAMES_H
#define BGDMA_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../../selftests/frame.h"

typedef __u32 u32;
#include "../../kernel/fabric/check.h"

#define FRAME_ROOM	4096

union frame {
	struct bgdma_frame f;
	struct hello_frame hello;
	struct state_frame state;
	uint8_t bytes[FRAME_ROOM];
};

/* Where lines go to, and the number of the frame that they are about. */
extern FILE *told;
extern unsigned int written;

/* All members are in the tables, or the program ends. */
void told_complete(void);
void tell(const char *field, uint64_t value);
void tell_frame(const union frame *frame);

#endif /* BGDMA_FRAMES_H */

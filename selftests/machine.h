/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tests change of the machine that they run on, and its way back.
 *
 * Before the first change a guardian is started, a process of its own session.
 * As soon as the test or its program has ended, however it did, the guardian puts
 * back what was there before: exactly that, and nothing else. Two programs that
 * change the machine wait for each other.
 */
#ifndef BGDMA_SELFTESTS_MACHINE_H
#define BGDMA_SELFTESTS_MACHINE_H

#include <stdbool.h>

/*
 * Write into a file of /proc or /sys, which gets its text back at the end.
 * Return: 0 or -errno; -ENODEV where there is no device to test.
 */
int machine_set(const char *path, const char *text);

/* Put all back now. */
void machine_restore(void);

/* A processor goes on or off; false: it cannot, or is so anyway. */
bool machine_processor(unsigned int number, bool online);

/* All but the first go off; false: they cannot. */
bool machine_one_processor(void);

/*
 * Insert the module, from the file that BGDMA_KO names, or from where tools/vm put
 * it; remove it, without waiting for its users. One that has been removed is there
 * again at the end. Return: 0 or -errno.
 */
int machine_insert(void);
int machine_remove(void);

/* The module's file, opened, or -errno. */
int machine_module(void);

#endif /* BGDMA_SELFTESTS_MACHINE_H */

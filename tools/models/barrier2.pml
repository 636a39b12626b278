/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of barriers with 2 nodes.
 */
#define NODES	2
#define ROUNDS	4

/* Barriers */

#include "barrier.pml"

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of barriers with 4 nodes.
 */
#define NODES	4
#define ROUNDS	3

/* Barriers */

#include "barrier.pml"

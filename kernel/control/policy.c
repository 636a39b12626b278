// SPDX-License-Identifier: GPL-2.0
/*
 * What each command takes. Follows Documentation/netlink/specs/bgdma.yaml;
 * tools/check/netlink_spec.py compares the two.
 */
#include "netlink.h"

/* Not const: 6.1 has no const in the policy that points here. */
static struct netlink_range_validation bgdma_poll_ns_range = {
	.max = 1000000000,
};

static struct netlink_range_validation bgdma_quantum_range = {
	.min = 4096,
	.max = 1048576,
};

static struct netlink_range_validation bgdma_max_contexts_range = {
	.min = 1,
	.max = 4194304,
};

static struct netlink_range_validation bgdma_timeout_ms_range = {
	.min = 100,
	.max = 3600000,
};

static struct netlink_range_validation bgdma_hello_ms_range = {
	.min = 10,
	.max = 60000,
};

#define BGDMA_POLICY_NAME \
	{ .type = NLA_NUL_STRING, .len = BGDMA_NAME_MAX - 1 }
/* Refuses its attribute, and says why. */
#define BGDMA_POLICY_FIXED \
	{ .type = NLA_REJECT, \
	  .reject_message = "bgdma: the shape of a partition cannot change" }

const struct nla_policy
bgdma_partition_new_policy[BGDMA_A_PARTITION_KEY + 1] = {
	[BGDMA_A_PARTITION_NAME] = BGDMA_POLICY_NAME,
	[BGDMA_A_PARTITION_DIM_X] = NLA_POLICY_RANGE(NLA_U32, 1, 1024),
	[BGDMA_A_PARTITION_DIM_Y] = NLA_POLICY_RANGE(NLA_U32, 1, 1024),
	[BGDMA_A_PARTITION_DIM_Z] = NLA_POLICY_RANGE(NLA_U32, 1, 1024),
	[BGDMA_A_PARTITION_TORUS] = NLA_POLICY_MASK(NLA_U32, 7),
	[BGDMA_A_PARTITION_UID] = { .type = NLA_U32 },
	[BGDMA_A_PARTITION_GID] = { .type = NLA_U32 },
	[BGDMA_A_PARTITION_MODE] = { .type = NLA_U32 },
	[BGDMA_A_PARTITION_POLL_NS] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &bgdma_poll_ns_range),
	[BGDMA_A_PARTITION_QUANTUM] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &bgdma_quantum_range),
	[BGDMA_A_PARTITION_MAX_CONTEXTS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &bgdma_max_contexts_range),
	[BGDMA_A_PARTITION_MAX_INJ_FIFOS] = NLA_POLICY_RANGE(NLA_U32, 1, 1024),
	[BGDMA_A_PARTITION_NODES] = { .type = NLA_BINARY, .len = 512 },
	[BGDMA_A_PARTITION_KEY] = NLA_POLICY_EXACT_LEN(16),
};

const struct nla_policy
bgdma_partition_set_policy[BGDMA_A_PARTITION_MAX_INJ_FIFOS + 1] = {
	[BGDMA_A_PARTITION_NAME] = BGDMA_POLICY_NAME,
	[BGDMA_A_PARTITION_DIM_X] = BGDMA_POLICY_FIXED,
	[BGDMA_A_PARTITION_DIM_Y] = BGDMA_POLICY_FIXED,
	[BGDMA_A_PARTITION_DIM_Z] = BGDMA_POLICY_FIXED,
	[BGDMA_A_PARTITION_TORUS] = BGDMA_POLICY_FIXED,
	[BGDMA_A_PARTITION_UID] = { .type = NLA_U32 },
	[BGDMA_A_PARTITION_GID] = { .type = NLA_U32 },
	[BGDMA_A_PARTITION_MODE] = { .type = NLA_U32 },
	[BGDMA_A_PARTITION_POLL_NS] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &bgdma_poll_ns_range),
	[BGDMA_A_PARTITION_QUANTUM] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &bgdma_quantum_range),
	[BGDMA_A_PARTITION_MAX_CONTEXTS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &bgdma_max_contexts_range),
	[BGDMA_A_PARTITION_MAX_INJ_FIFOS] = NLA_POLICY_RANGE(NLA_U32, 1, 1024),
};

const struct nla_policy
bgdma_partition_del_policy[BGDMA_A_PARTITION_NAME + 1] = {
	[BGDMA_A_PARTITION_NAME] = BGDMA_POLICY_NAME,
};

const struct nla_policy
bgdma_partition_get_policy[BGDMA_A_PARTITION_NAME + 1] = {
	[BGDMA_A_PARTITION_NAME] = BGDMA_POLICY_NAME,
};

const struct nla_policy bgdma_node_get_policy[BGDMA_A_NODE_RANK + 1] = {
	[BGDMA_A_NODE_PARTITION] = BGDMA_POLICY_NAME,
	[BGDMA_A_NODE_RANK] = { .type = NLA_U32 },
};

const struct nla_policy bgdma_ctx_get_policy[BGDMA_A_CTX_CTX + 1] = {
	[BGDMA_A_CTX_PARTITION] = BGDMA_POLICY_NAME,
	[BGDMA_A_CTX_RANK] = { .type = NLA_U32 },
	[BGDMA_A_CTX_CTX] = NLA_POLICY_MAX(NLA_U32, 255),
};

const struct nla_policy
bgdma_counter_get_policy[BGDMA_A_COUNTER_CTX + 1] = {
	[BGDMA_A_COUNTER_PARTITION] = BGDMA_POLICY_NAME,
	[BGDMA_A_COUNTER_RANK] = { .type = NLA_U32 },
	[BGDMA_A_COUNTER_CTX] = NLA_POLICY_MAX(NLA_U32, 255),
};

const struct nla_policy bgdma_fifo_get_policy[BGDMA_A_FIFO_CTX + 1] = {
	[BGDMA_A_FIFO_PARTITION] = BGDMA_POLICY_NAME,
	[BGDMA_A_FIFO_RANK] = { .type = NLA_U32 },
	[BGDMA_A_FIFO_CTX] = NLA_POLICY_MAX(NLA_U32, 255),
};

const struct nla_policy bgdma_tree_get_policy[BGDMA_A_TREE_CLASS + 1] = {
	[BGDMA_A_TREE_PARTITION] = BGDMA_POLICY_NAME,
	[BGDMA_A_TREE_RANK] = { .type = NLA_U32 },
	[BGDMA_A_TREE_CTX] = NLA_POLICY_MAX(NLA_U32, 255),
	[BGDMA_A_TREE_CLASS] = NLA_POLICY_MAX(NLA_U32, 15),
};

const struct nla_policy bgdma_link_set_policy[BGDMA_A_LINK_FIXED + 1] = {
	[BGDMA_A_LINK_PARTITION] = BGDMA_POLICY_NAME,
	[BGDMA_A_LINK_IFINDEX] = { .type = NLA_U32 },
	[BGDMA_A_LINK_TIMEOUT_MS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &bgdma_timeout_ms_range),
	[BGDMA_A_LINK_HELLO_MS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &bgdma_hello_ms_range),
	[BGDMA_A_LINK_WINDOW] = NLA_POLICY_RANGE(NLA_U32, 1, 256),
	[BGDMA_A_LINK_COPY] = NLA_POLICY_MAX(NLA_U32, 1),
	[BGDMA_A_LINK_SUM] = NLA_POLICY_MAX(NLA_U32, 1),
	[BGDMA_A_LINK_FIXED] = NLA_POLICY_MAX(NLA_U32, 1),
};

const struct nla_policy bgdma_link_del_policy[BGDMA_A_LINK_IFINDEX + 1] = {
	[BGDMA_A_LINK_PARTITION] = BGDMA_POLICY_NAME,
	[BGDMA_A_LINK_IFINDEX] = { .type = NLA_U32 },
};

const struct nla_policy bgdma_link_get_policy[BGDMA_A_LINK_PARTITION + 1] = {
	[BGDMA_A_LINK_PARTITION] = BGDMA_POLICY_NAME,
};

const struct nla_policy bgdma_peer_get_policy[BGDMA_A_PEER_PARTITION + 1] = {
	[BGDMA_A_PEER_PARTITION] = BGDMA_POLICY_NAME,
};

const struct nla_policy bgdma_route_get_policy[BGDMA_A_ROUTE_ADAPTIVE + 1] = {
	[BGDMA_A_ROUTE_PARTITION] = BGDMA_POLICY_NAME,
	[BGDMA_A_ROUTE_FROM] = { .type = NLA_U32 },
	[BGDMA_A_ROUTE_TO] = { .type = NLA_U32 },
	[BGDMA_A_ROUTE_ADAPTIVE] = { .type = NLA_FLAG },
};

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * From netlink attributes to a JSON object, by table.
 */
#include "tool.h"

#include <inttypes.h>
#include <linux/bgdma.h>
#include <linux/bgdma_netlink.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
	[BGDMA_KIND_CONTEXT] = "context",
	[BGDMA_KIND_INJ_FIFO] = "injection-fifo",
	[BGDMA_KIND_REC_FIFO] = "reception-fifo",
	[BGDMA_KIND_RGET_QUEUE] = "remote-get-queue",
	[BGDMA_KIND_INJ_COUNTER] = "injection-counter",
	[BGDMA_KIND_REC_COUNTER] = "reception-counter",
	[BGDMA_KIND_REGION] = "region",
	[BGDMA_KIND_EVENTS] = "events",
	[BGDMA_KIND_GROUP] = "group",
	[BGDMA_KIND_CLASS] = "class",
};

static const char *const states[] = {
	[BGDMA_FIFO_STATE_IDLE] = "idle",
	[BGDMA_FIFO_STATE_BUSY] = "busy",
	[BGDMA_FIFO_STATE_BLOCKED] = "blocked",
	[BGDMA_FIFO_STATE_ERROR] = "error",
};

static const char *const codes[] = {
	[BGDMA_OK] = "ok",
	[BGDMA_E_INDEX] = "index",
	[BGDMA_E_OP] = "op",
	[BGDMA_E_UNSUPPORTED] = "unsupported",
	[BGDMA_E_FLAGS] = "flags",
	[BGDMA_E_FIELD] = "field",
	[BGDMA_E_LENGTH] = "length",
	[BGDMA_E_REGION] = "region",
	[BGDMA_E_COUNTER] = "counter",
	[BGDMA_E_STALE] = "stale",
	[BGDMA_E_BOUNDS] = "bounds",
	[BGDMA_E_RIGHTS] = "rights",
	[BGDMA_E_NO_PEER] = "no-peer",
	[BGDMA_E_PEER_DOWN] = "peer-down",
	[BGDMA_E_FIFO] = "fifo",
	[BGDMA_E_RGET_FULL] = "remote-get-full",
	[BGDMA_E_UNFILLED] = "unfilled",
	[BGDMA_E_PROVENANCE] = "provenance",
	[BGDMA_E_UNDERFLOW] = "underflow",
	[BGDMA_E_CANCELLED] = "cancelled",
	[BGDMA_E_ABORTED] = "aborted",
	[BGDMA_E_ALIGN] = "align",
	[BGDMA_E_EPOCH_HELD] = "epoch-held",
	[BGDMA_E_EPOCH_CLOSED] = "epoch-closed",
	[BGDMA_E_EPOCH_COUNT] = "epoch-count",
	[BGDMA_E_EPOCH_BUSY] = "epoch-busy",
	[BGDMA_E_GROUP] = "group",
	[BGDMA_E_TREE_MISMATCH] = "tree-mismatch",
	[BGDMA_E_LINK_DOWN] = "link-down",
	[BGDMA_E_TIMEOUT] = "timeout",
	[BGDMA_E_CLASS] = "class",
};

static const struct field stats_fields[] = {
	{ BGDMA_A_STATS_DESCRIPTORS, TYPE_U64, "descriptors" },
	{ BGDMA_A_STATS_PACKETS, TYPE_U64, "packets" },
	{ BGDMA_A_STATS_BYTES_COPIED, TYPE_U64, "bytes_copied" },
	{ BGDMA_A_STATS_ERRORS, TYPE_U64, "errors" },
	{ BGDMA_A_STATS_BLOCKED, TYPE_U64, "blocked" },
	{ 0, 0, NULL },
};

static const char *const link_states[] = {
	[BGDMA_LINK_STATE_DOWN] = "down",
	[BGDMA_LINK_STATE_UP] = "up",
	[BGDMA_LINK_STATE_MTU] = "mtu",
};

static const char *const peer_states[] = {
	[BGDMA_PEER_HEARD] = "heard",
	[BGDMA_PEER_UP] = "up",
	[BGDMA_PEER_LOST] = "lost",
	[BGDMA_PEER_VERSION] = "version",
	[BGDMA_PEER_PARTITION] = "partition",
	[BGDMA_PEER_KEY] = "key",
	[BGDMA_PEER_DIMS] = "dims",
	[BGDMA_PEER_NODES] = "nodes",
	[BGDMA_PEER_MTU] = "mtu",
};

static const char *const directions[] = {
	[BGDMA_DIR_XP] = "x+", [BGDMA_DIR_XM] = "x-", [BGDMA_DIR_YP] = "y+",
	[BGDMA_DIR_YM] = "y-", [BGDMA_DIR_ZP] = "z+", [BGDMA_DIR_ZM] = "z-",
};

static const char *const class_states[] = {
	[BGDMA_CLASS_STATE_IDLE] = "idle",
	[BGDMA_CLASS_STATE_BUSY] = "busy",
	[BGDMA_CLASS_STATE_WAITS] = "waits",
	[BGDMA_CLASS_STATE_BROKEN] = "broken",
};

static const char *const sides[] = {
	[BGDMA_EDGE_SIDE_PARENT] = "parent",
	[BGDMA_EDGE_SIDE_LEFT] = "left",
	[BGDMA_EDGE_SIDE_RIGHT] = "right",
};

static const struct field link_stats_fields[] = {
	{ BGDMA_A_LINK_STATS_TX_FRAMES, TYPE_U64, "tx_frames" },
	{ BGDMA_A_LINK_STATS_TX_BYTES, TYPE_U64, "tx_bytes" },
	{ BGDMA_A_LINK_STATS_TX_DROPPED, TYPE_U64, "tx_dropped" },
	{ BGDMA_A_LINK_STATS_TX_AGAIN, TYPE_U64, "tx_again" },
	{ BGDMA_A_LINK_STATS_RX_FRAMES, TYPE_U64, "rx_frames" },
	{ BGDMA_A_LINK_STATS_RX_BYTES, TYPE_U64, "rx_bytes" },
	{ BGDMA_A_LINK_STATS_RX_MALFORMED, TYPE_U64, "rx_malformed" },
	{ BGDMA_A_LINK_STATS_RX_DAMAGED, TYPE_U64, "rx_damaged" },
	{ BGDMA_A_LINK_STATS_RX_STRANGE, TYPE_U64, "rx_strange" },
	{ BGDMA_A_LINK_STATS_RX_DROPPED, TYPE_U64, "rx_dropped" },
	{ BGDMA_A_LINK_STATS_FORWARDED, TYPE_U64, "forwarded" },
	{ BGDMA_A_LINK_STATS_NO_WAY, TYPE_U64, "no_way" },
	{ 0, 0, NULL },
};

static const struct field record_fields[] = {
	{ BGDMA_A_RECORD_CODE, TYPE_CODE, "code" },
	{ BGDMA_A_RECORD_LOST, TYPE_U32, "lost" },
	{ BGDMA_A_RECORD_DESC_SEQ, TYPE_U64, "desc_seq" },
	{ BGDMA_A_RECORD_FIFO, TYPE_U32, "fifo" },
	{ BGDMA_A_RECORD_FIFO_KIND, TYPE_KIND, "fifo_kind" },
	{ BGDMA_A_RECORD_PEER_RANK, TYPE_RANK, "peer_rank" },
	{ BGDMA_A_RECORD_PEER_CTX, TYPE_CTX, "peer_ctx" },
	{ BGDMA_A_RECORD_TRANSFER_ID, TYPE_U32, "transfer_id" },
	{ BGDMA_A_RECORD_OFFSET, TYPE_U64, "offset" },
	{ BGDMA_A_RECORD_BOUND, TYPE_U64, "bound" },
	{ 0, 0, NULL },
};

const char *code_name(uint64_t code)
{
	const size_t n = sizeof(codes) / sizeof(codes[0]);

	return code < n && codes[code] ? codes[code] : "?";
}

const char *direction_name(uint64_t direction)
{
	const size_t n = sizeof(directions) / sizeof(directions[0]);

	return direction < n ? directions[direction] : "?";
}

/* A newer kernel may know more names than we do. */
static struct json_object *name_of(const char *const *names, size_t n,
				   uint32_t value)
{
	char number[16];

	if (value < n && names[value])
		return json_object_new_string(names[value]);
	snprintf(number, sizeof(number), "%u", value);
	return json_object_new_string(number);
}

static struct json_object *nested(struct nlattr *attr, int max,
				  const struct field *fields)
{
	struct nlattr *tb[16];

	if (nla_parse_nested(tb, max, attr, NULL))
		return NULL;
	return decode(tb, fields);
}

/* The offset of an underflow is the value of the counter, which has a sign. */
static struct json_object *record_of(struct nlattr *attr)
{
	struct json_object *offset, *record;

	record = nested(attr, BGDMA_A_RECORD_MAX, record_fields);
	if (record && !strcmp(get_string(record, "code"), "underflow") &&
	    json_object_object_get_ex(record, "offset", &offset))
		json_object_set_int64(
			offset, (int64_t)json_object_get_uint64(offset));
	return record;
}

static struct json_object *number_or_any(uint32_t value, uint32_t any)
{
	return value == any ? NULL : json_object_new_int64(value);
}

static struct json_object *mac_string(struct nlattr *attr)
{
	const unsigned char *mac = nla_data(attr);
	char text[24];

	if (nla_len(attr) != 6)
		return NULL;
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
		 mac[1], mac[2], mac[3], mac[4], mac[5]);
	return json_object_new_string(text);
}

/*
 * Devices may be called what a terminal takes for a command, and JSON for no text:
 * such bytes become question marks.
 */
static struct json_object *plain_string(struct nlattr *attr)
{
	const char *from = nla_data(attr);
	size_t i, n = strnlen(from, (size_t)nla_len(attr));
	char text[256];

	if (n > sizeof(text))
		n = sizeof(text);
	for (i = 0; i < n; i++)
		text[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	return json_object_new_string_len(text, (int)n);
}

static struct json_object *kernel_string(uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%016" PRIx64, number);
	return json_object_new_string(text);
}

#define NAME_OF(names, value) \
	name_of(names, sizeof(names) / sizeof((names)[0]), value)

static struct json_object *value_of(struct nlattr *attr, enum type type)
{
	_Static_assert(BGDMA_A_RECORD_MAX < 16 && BGDMA_A_STATS_MAX < 16 &&
			       BGDMA_A_LINK_STATS_MAX < 16,
		       "nested() has room for them");

	switch (type) {
	case TYPE_STRING:
		return plain_string(attr);
	case TYPE_U32:
		return json_object_new_int64(nla_get_u32(attr));
	case TYPE_U64:
		return json_object_new_uint64(nla_get_u64(attr));
	case TYPE_S64:
		return json_object_new_int64((int64_t)nla_get_u64(attr));
	case TYPE_FLAG:
		return json_object_new_boolean(1);
	case TYPE_KIND:
		return NAME_OF(kinds, nla_get_u32(attr));
	case TYPE_STATE:
		return NAME_OF(states, nla_get_u32(attr));
	case TYPE_CODE:
		return NAME_OF(codes, nla_get_u32(attr));
	case TYPE_RANK:
	case TYPE_LEASE:
		return number_or_any(nla_get_u32(attr), BGDMA_RANK_ANY);
	case TYPE_CTX:
		return number_or_any(nla_get_u32(attr), BGDMA_CTX_ANY);
	case TYPE_STATS:
		return nested(attr, BGDMA_A_STATS_MAX, stats_fields);
	case TYPE_RECORD:
		return record_of(attr);
	case TYPE_SWITCH:
		return json_object_new_boolean(!!nla_get_u32(attr));
	case TYPE_RUNS:
		return runs_string(attr);
	case TYPE_MAC:
		return mac_string(attr);
	case TYPE_KERNEL:
		return kernel_string(nla_get_u64(attr));
	case TYPE_LINK_STATE:
		return NAME_OF(link_states, nla_get_u32(attr));
	case TYPE_PEER_STATE:
		return NAME_OF(peer_states, nla_get_u32(attr));
	case TYPE_DIRECTION:
		return NAME_OF(directions, nla_get_u32(attr));
	case TYPE_LINK_STATS:
		return nested(attr, BGDMA_A_LINK_STATS_MAX, link_stats_fields);
	case TYPE_CLASS_STATE:
		return NAME_OF(class_states, nla_get_u32(attr));
	case TYPE_SIDE:
		return NAME_OF(sides, nla_get_u32(attr));
	}
	return NULL;
}

static bool is_nobody(struct nlattr *attr, enum type type)
{
	return type == TYPE_LEASE && nla_get_u32(attr) == BGDMA_RANK_NOBODY;
}

/**
 * decode() - make an object of parsed attributes
 * @attrs: by type
 * @fields: which of them to take; flags that are missing become false
 *
 * Return: a new object.
 */
struct json_object *decode(struct nlattr *const *attrs,
			   const struct field *fields)
{
	struct json_object *object = json_object_new_object();

	for (; fields->key; fields++) {
		struct nlattr *attr = attrs[fields->attr];

		if (attr && !is_nobody(attr, fields->type))
			json_object_object_add(object, fields->key,
					       value_of(attr, fields->type));
		else if (fields->type == TYPE_FLAG)
			json_object_object_add(object, fields->key,
					       json_object_new_boolean(0));
	}
	return object;
}

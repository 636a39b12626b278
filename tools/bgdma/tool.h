/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * bgdma, the tool: what its sub-commands share. A message of the kernel is
 * decoded into a JSON object, by a table of fields; JSON output prints it as it
 * is, text output is made from the same object.
 */
#ifndef BGDMA_TOOL_H
#define BGDMA_TOOL_H

#include <json-c/json.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit codes. */
enum {
	TOOL_OK = 0,
	TOOL_USAGE = 1, /* the command line is wrong */
	TOOL_REFUSED = 2, /* the kernel said no */
};

struct options {
	bool json;
	bool pretty;
};

extern struct options options;

/* ---- netlink.c ---- */
typedef void (*message_fn)(struct nlmsghdr *nlh, void *arg);

/*
 * Those with a result return TOOL_OK, or print why not to stderr and return
 * TOOL_REFUSED. A request can be made, and found wrong, where there is no module.
 */
void tool_close(void);
struct nl_msg *tool_request(uint8_t cmd, int flags);
int tool_call(struct nl_msg *msg, message_fn fn, void *arg);
int tool_listen(message_fn fn, void *arg);

/* ---- decode.c ---- */
enum type {
	TYPE_STRING,
	TYPE_U32,
	TYPE_U64,
	TYPE_S64,
	TYPE_FLAG,
	TYPE_KIND, /* enum bgdma_kind */
	TYPE_STATE, /* enum bgdma_fifo_state */
	TYPE_CODE, /* enum bgdma_code */
	TYPE_RANK, /* or null for any */
	TYPE_CTX, /* or null for any */
	TYPE_LEASE, /* a rank, null for any, or no member for nobody */
	TYPE_STATS, /* nested, an object */
	TYPE_RECORD, /* nested, an object */
	TYPE_SWITCH, /* a number, 0 or 1, becomes a boolean */
	TYPE_RUNS, /* struct bgdma_run, several, become 0-3,6 */
	TYPE_MAC,
	TYPE_KERNEL, /* a number in hexadecimal */
	TYPE_LINK_STATE, /* enum bgdma_link_state */
	TYPE_PEER_STATE, /* enum bgdma_peer_state */
	TYPE_DIRECTION, /* enum bgdma_direction */
	TYPE_LINK_STATS, /* nested, an object */
	TYPE_CLASS_STATE, /* enum bgdma_class_state */
	TYPE_SIDE, /* enum bgdma_edge_side */
};

/* Ends with a field whose key is NULL. */
struct field {
	int attr;
	enum type type;
	const char *key;
};

struct json_object *decode(struct nlattr *const *attrs,
			   const struct field *fields);

/* A number that stands for a name; "?" where it has none. */
const char *code_name(uint64_t code);
const char *direction_name(uint64_t direction);

/* ---- show.c ---- */

/**
 * struct view - how one kind of object is asked for and shown
 * @cmd: command of the dump
 * @max: highest attribute that it answers with
 * @depth: how many parts an address may have: 2 PARTITION/RANK, 3 with .CTX
 * @fields: of its messages
 * @text: print one to stdout
 */
struct view {
	uint8_t cmd;
	int max;
	int depth;
	const struct field *fields;
	void (*text)(struct json_object *object);
};

int show(const struct view *view, int argc, char **argv);
int put_name(struct nl_msg *msg, int attr, const char *name);
int put_address(struct nl_msg *msg, char *address, int depth);
void print_json(struct json_object *object);
void print_place(struct json_object *object);
void print_owner(struct json_object *object);
void print_stats(struct json_object *object);
void print_record(struct json_object *object);

/* Members of an object; 0, NULL or false where it has none of that name. */
uint64_t get_u64(struct json_object *object, const char *key);
int64_t get_s64(struct json_object *object, const char *key);
const char *get_string(struct json_object *object, const char *key);
bool has(struct json_object *object, const char *key);

/* ---- sub-commands ---- */
int cmd_partition(int argc, char **argv);
int cmd_node(int argc, char **argv);
int cmd_ctx(int argc, char **argv);
int cmd_counter(int argc, char **argv);
int cmd_fifo(int argc, char **argv);
int cmd_link(int argc, char **argv);
int cmd_route(int argc, char **argv);
int cmd_tree(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_monitor(int argc, char **argv);

/* partition.c, for monitor.c too */
struct json_object *partition_decode(struct nlmsghdr *nlh);
void partition_text(struct json_object *object);
const char *partition_attr_name(int attr);
bool parse_number(const char *text, int base, uint64_t max, uint64_t *value);

/* nodes.c */
int put_nodes(struct nl_msg *msg, int attr, const char *text, int base);
int put_key_file(struct nl_msg *msg, int attr, const char *text, int base);
struct json_object *runs_string(struct nlattr *attr);

/* link.c, for monitor.c too */
struct json_object *link_decode(struct nlmsghdr *nlh);
struct json_object *peer_decode(struct nlmsghdr *nlh);
void link_text(struct json_object *object, bool stats);
void peer_text(struct json_object *object);
const char *link_attr_name(int attr);

int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* BGDMA_TOOL_H */

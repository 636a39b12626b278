// SPDX-License-Identifier: GPL-2.0
/*
 * Netlink messages: every command, with some attributes of the right type.
 */
#include <sys/socket.h>

#include "../../../selftests/netlink_util.h"
#include "machine.h"

/* Of a partition. */
#define KEY_BYTES	16

static int family;

bool partition_make(const char *name, const struct bgdma_run *run)
{
	struct link l;
	struct nl_msg *msg;
	struct answer a = { 0 };
	bool good;

	if (link_open(&l))
		return false;
	family = l.family;
	msg = request(&l, BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_PARTITION_NAME, name);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, 4);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_MODE, 0666);
	if (run)
		nla_put(msg, BGDMA_A_PARTITION_NODES, sizeof(*run), run);
	good = !ask(&l, msg, &a) || a.err == -EEXIST;
	link_close(&l);
	return good;
}

/* One of a type that partitions, who have most, know: most are 32 bits wide. */
static void put(struct machine *m, struct file *f, struct nl_msg *msg,
		bool partition, const uint8_t *choice)
{
	static const enum sort sorts[] = {
		C_COUNT, C_COUNT, C_RANK, C_CTX, C_KIND, C_VALUE, C_ROOM, C_ZERO
	};
	int type = 1 + choice[0] % BGDMA_A_PARTITION_MAX;
	__u64 v = choose(m, f, sorts[choice[1] % 8], choice[2]);

	if (type == 1 && choice[1] < CHOICE_ODD)
		nla_put_string(msg, type, choose_name(choice[2]));
	else if (partition && type == BGDMA_A_PARTITION_POLL_NS)
		nla_put_u64(msg, type, v);
	else if (partition && type == BGDMA_A_PARTITION_KEY)
		nla_put(msg, type, choice[2] % 8 ? KEY_BYTES : choice[2],
			m->program);
	else if (choice[1] >= CHOICE_ODD)
		nla_put(msg, type, (int)(v % 64), m->program);
	else
		nla_put_u32(msg, type, (__u32)v);
}

/* The answers, as far as they are there already. */
static void drop_answers(struct nl_sock *sock)
{
	static char buffer[8192];
	int i;

	for (i = 0; i < 64 && recv(nl_socket_get_fd(sock), buffer,
				   sizeof(buffer), MSG_DONTWAIT) > 0; i++)
		;
}

void call_netlink(struct machine *m, struct file *f, const uint8_t *choice)
{
	static const int flags[] = {
		NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP | NLM_F_ACK, 0, NLM_F_DUMP,
		NLM_F_ECHO
	};
	int cmd = choice[0] < CHOICE_ODD ? 1 + choice[0] % BGDMA_CMD_MAX :
					   choice[0];
	bool partition = cmd <= BGDMA_CMD_PARTITION_GET;
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	int i;

	if (!sock || !msg || genl_connect(sock))
		goto out;
	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0,
		    flags[choice[1] % 6], (uint8_t)cmd, BGDMA_GENL_VERSION);
	/* Whose: nearly all need it. */
	if (choice[2] < CHOICE_ODD && choice[2] % 8 != 7)
		nla_put_string(msg, 1, choose_name(choice[2]));
	if (cmd == BGDMA_CMD_PARTITION_NEW && choice[3] % 4 != 3)
		for (i = 0; i < 3; i++)
			nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X + i,
				    (__u32)choose(m, f, C_COUNT,
						  choice[4 + i]));
	for (i = 0; i < choice[3] % 4; i++)
		put(m, f, msg, partition, choice + 7 + 3 * i);
	nl_send_auto(sock, msg);
	drop_answers(sock);
out:
	nlmsg_free(msg);
	nl_socket_free(sock);
}

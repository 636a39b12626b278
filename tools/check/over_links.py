# SPDX-License-Identifier: GPL-2.0
"""Tests of one kernel that run in a network namespace for each node, too, and what
the links between these do: for check and for coverage."""

# What it is called: how much more time it needs, the links, the tests.
LINKS = {
    "one MTU": (3, {}, "put_test counter_test gate_end_test "
                       "sys_dispatch_test sys_chain_test msg_test "
                       "rma_window_test group_test rma_epoch_test sys_lost_test "
                       "sys_result_test msg_result_test sys_trace_test "
                       "sys_way_test sys_leave_test msg_leave_test "
                       "train_test rget_test rget_room_test tree_end_test tree_forged_test "
                       "tree_test:tree.six.dp3_point_to_point "
                       "tree_packets_test:packets.two.dp3_results "
                       "rma_death_test rma_late_test "
                       "rma_trap_test:global.epoch_traps_though_events_are_lost "
                       "rma_dynamic_test:global.x3_window_that_shrinks_in_an_epoch "
                       "rma_sync_test:global.post_start_complete_wait "
                       "torus_demo_test.sh"),
    "a jumbo MTU": (3, {"MTU": "9000"}, "put_test atomic_test"),
    "that lose and spoil": (
        3, {"NETEM": "loss 5% duplicate 2% reorder 10% delay 1ms corrupt 1%"},
        "put_test memfifo_test counter_test fifo_test train_test "
        "coll_random_test "
        "rma_update_test:global.update_arrays "
        "rma_flush_test:global.ep4_no_get_comes_after_one_that_failed"),
}


def commands(slow=1):
    """(what it is called, command) of each, where all takes so much longer."""
    for what, (slower, links, tests) in LINKS.items():
        words = [f"BGDMA_TEST_{name}='{value}'"
                 for name, value in links.items()]
        if slow * slower > 1:
            words.append(f"BGDMA_TEST_SLOW={slow * slower}")
        yield what, " ".join(["BGDMA_TEST_LINKS=1", *words, "/selftests/run",
                              tests])

# SPDX-License-Identifier: GPL-2.0
"""What the figures must be."""

import itertools
import statistics

import rdma
from spread import ratios, spread, totals

EACH, BATCH = "doorbell each", "batches of 32"
KIB = 1024


def bar(name, values, limit, sense="at most"):
    """One bar: that the median of values, or the only one, keeps to it."""
    found = spread(values)
    value = found["median"]
    met = {"at most": value <= limit, "at least": value >= limit,
           "exactly": value == limit}[sense]
    return {"bar": name, "value": value, "limit": limit, "sense": sense,
            "met": met} | \
        ({"low": found["low"], "high": found["high"]}
         if isinstance(values, list) else {})


def of_instructions(counted):
    """Bars of the step count."""
    insns = {name: totals(regions) for name, regions in counted.items()}
    peer = insns["process_vm_readv 4 KiB"]
    yield bar(f"8 B message, {EACH}: instructions",
              insns[f"8 B message, {EACH}"], 1200)
    yield bar(f"8 B message, {BATCH}: instructions",
              insns[f"8 B message, {BATCH}"], 430)
    yield bar(f"4 KiB put, {EACH}: of process_vm_readv's instructions",
              ratios(insns[f"4 KiB put, {EACH}"], peer), 0.6)
    yield bar(f"4 KiB put, {BATCH}: of process_vm_readv's instructions",
              ratios(insns[f"4 KiB put, {BATCH}"], peer), 0.4)
    yield bar("64-bit fetch-and-add: of an 8 B put's instructions",
              ratios(insns["64-bit fetch-and-add"], insns["8 B put"]), 1.3)
    for what in ("put", "get"):
        yield bar(f"rma 8 B {what}: of a raw one's instructions",
                  ratios(insns[f"rma 8 B {what}"], insns[f"8 B {what}"]), 1.5)
    yield bar("rma 64-bit fetch-and-add: of its 8 B put's instructions",
              ratios(insns["rma 64-bit fetch-and-add"],
                     insns["rma 8 B put"]), 1.3)
    yield bar("8 B round trip, polling: instructions of a side",
              [max(side["user"] + side["kernel"] for side in cpus.values())
               for cpus in counted["8 B round trip, polling"]["regions"]],
              1200)


def of_times(times):
    """Bars of the step time: ratios of what was taken in turn."""
    def of(name, peer):
        return ratios(times[name]["runs"], times[peer]["runs"])

    yield bar("8 B half round trip, polling: of a failing ioctl's time",
              of("half round trip", "failing ioctl"), 3)
    for size in ("1 MiB", "4 MiB"):
        yield bar(f"{size} put: of process_vm_readv's bandwidth",
                  of(f"process_vm_readv {size}", f"put {size}"), 1.4,
                  "at least")
        yield bar(f"{size} put: of memcpy's bandwidth",
                  of(f"memcpy {size}", f"put {size}"), 0.8, "at least")


def of_idleness(numbers, tool):
    """Bars of the step idle."""
    if not numbers["functions called by a doorbell"] or not numbers["threads"]:
        raise ValueError("the tracer sees nothing, so idleness shows nothing")
    copied = [tool[when]["stats"]["bytes_copied"]
              for when in ("stat before", "stat after")]
    yield bar("bytes copied by the engine: of the payload",
              (copied[1] - copied[0]) / numbers["payload"], 1,
              "exactly")
    yield bar("idle: functions of the module that ran",
              numbers["functions called while idle"], 0)
    yield bar("idle: times that its threads ran",
              numbers["times that threads ran while idle"], 0)
    yield bar("idle: KiB of an attached node",
              tool["idle node"][0]["memory"] / KIB, 64)


# What stands on what: a message, the raw operation, and the bars of it.
SMALL = (("sys 8 B", EACH), ("sys 8 B", BATCH), ("tagged 8 B", EACH))
LONG = [("1 MiB, rendezvous", "1 MiB, put", 0.9)] + [
    (f"{mib} MiB, chain{more}", f"{mib} MiB, put", 0.8)
    for mib in (1, 4, 16, 64) for more in ("", ", 4 in flight")]
CROWDS = ("1,000", "10,000")


def of_messages(found):
    """Bars of the step messages."""
    def of(kind, name, peer):
        if kind == "instructions":
            return ratios(totals(found[name][kind]),
                          totals(found[peer][kind]))
        return ratios(found[name][kind]["runs"], found[peer][kind]["runs"])

    for name, how in SMALL:
        yield bar(f"{name}, {how}: of the raw message's instructions",
                  of("instructions", f"{name}, {how}", f"raw 8 B, {how}"), 2)
    yield bar("tagged 8 B among 10,000 receives: of among 10",
              of("instructions", "tagged 8 B among 10,000 receives",
                 "tagged 8 B among 10 receives"), 2)
    for name, peer, limit in LONG:
        yield bar(f"{name}: of the direct put's bandwidth",
                  of("nanoseconds", peer, name), limit, "at least")
    for crowd in CROWDS:
        few, many = (f"{crowd} at once over {counters} counters"
                     for counters in ("64", "1,001"))
        yield bar(f"{few}: of the time over 1,001", of("nanoseconds", few, many),
                  1.3)


# MTU: of TCP's bandwidth at least, of its instructions at most.
LINKS = {9000: (1.2, 0.85), 65535: (2, 0.7)}


def of_links(found):
    """Bars of the step links: TCP by the same veth, in turn."""
    for mtu, (faster, cheaper) in LINKS.items():
        for size in ("64 KiB", "1 MiB"):
            ours, peer = (found[f"bandwidth of {size}: {how}, MTU {mtu}"]
                          for how in ("direct put", "TCP over the link"))
            yield bar(f"{size} put over veth, MTU {mtu}: of TCP's bandwidth",
                      ratios(peer["nanoseconds"]["runs"],
                             ours["nanoseconds"]["runs"]), faster, "at least")
            if size == "64 KiB":
                yield bar(f"{size} put over veth, MTU {mtu}: of TCP's "
                          "instructions", ratios(totals(ours["instructions"]),
                                                 totals(peer["instructions"])),
                          cheaper)


# What long puts are beside, and at which MTU how many times as fast.
BESIDE = {"ib_write_bw": {9000: 10},
          "qperf": {9000: 1.2, 65535: 2}, "iperf3": {9000: 1.2, 65535: 2}}
# Path MTUs of RoCE end at 4096, for which both have room.
LARGEST = (9000, 65535)


def of_rdma(found):
    """Bars of the step rdma."""
    for name in rdma.BANDWIDTHS:
        for peer, limits in BESIDE.items():
            for mtu, limit in limits.items():
                yield bar(f"{name}, MTU {mtu}: of {peer}'s",
                          rdma.ratio(found, mtu, f"{name}: {peer}",
                                     f"{name}: direct put"), limit, "at least")
    for mtu, way in itertools.product(LARGEST, rdma.OURS):
        name = rdma.LATENCY
        yield bar(f"{name}, {way}, MTU {mtu}: of ib_write_lat's",
                  rdma.ratio(found, mtu, f"{name}: {way}",
                             f"{name}: ib_write_lat"), 0.6)
        for name, limit in ((rdma.EACH, 5), (rdma.RATE, 50)):
            yield bar(f"{name}, {way}, MTU {mtu}: of ib_write_bw's",
                      rdma.ratio(found, mtu, f"{rdma.RATE}: ib_write_bw",
                                 f"{name}: {way}"), limit, "at least")


def of_loss(found):
    """The bar of the step loss."""
    ours, peer = (found[f"bandwidth of 1 MiB: {how}"]["nanoseconds"]["runs"]
                  for how in ("direct put", "TCP over the link"))
    yield bar("1 MiB put, 1 % lost: of TCP's bandwidth", ratios(peer, ours), 3,
              "at least")


def of_pacing(found):
    """SP-10: beside the chain with the best latency of those that are fast enough."""
    alone = spread(found["nothing"]["p99"])["median"]
    chains = {name: runs for name, runs in found.items() if "chain" in name}
    fast = {name: runs for name, runs in chains.items()
            if spread(runs["rate"])["median"] >= 0.8}
    yield bar("a paced transfer: of the link's rate",
              max((runs["rate"] for runs in chains.values()),
                  key=statistics.median), 0.8, "at least")
    if fast:
        yield bar("p99 beside a paced transfer that is as fast: of that alone",
                  [p99 / alone for p99 in
                   min((runs["p99"] for runs in fast.values()),
                       key=statistics.median)], 4)


def of_antipode(found):
    """SP-10: the chains that are fastest, beside the bisection bound."""
    chains = {name + links: runs for links, ways in found.items()
              for name, runs in ways.items() if "chain" in name}
    best = min(chains.values(), key=lambda runs: statistics.median(runs["last"]))
    yield bar("64 nodes to antipodes, chains: time of the bisection bound's",
              best["last"], 1.2)
    yield bar("64 nodes to antipodes, chains: slowest of fastest node",
              best["unfair"], 1.1)


def of_barriers(found):
    """Bars of the step barrier."""
    peer = found["MPI barrier of 4"]["nanoseconds"]["runs"]
    for name, of in found.items():
        if name.startswith("barrier of 4, ") and not name.endswith("at once"):
            yield bar(f"{name}: of Open MPI's time",
                      ratios(of["nanoseconds"]["runs"], peer), 1)
    few, many = (totals(found[f"barrier entry, ring of {nodes}"]["instructions"])
                 for nodes in (64, 1024))
    yield bar("barrier entry, ring of 1,024: of the cost of a node at 64",
              ratios([value / 1023 for value in many],
                     [value / 63 for value in few]), 1.2)


SIZES = ("8 B", "64 KiB", "1 MiB")
PROCESSES = 4


def of_collectives(found, shares):
    """Bars of the step collectives."""
    def runs(name):
        return found[name]["nanoseconds"]["runs"]

    for size, more in (("8 B", ""), ("8 B", ", asleep at once"), ("64 KiB", "")):
        for way in ("engines", "puts"):
            name = f"{size} all-reduce, {way}{more}"
            if name in found:
                yield bar(f"{name}: of Open MPI's time",
                          ratios(runs(name), runs(f"{size} all-reduce, Open MPI")),
                          1)
    yield bar("1 MiB all-reduce: processor time of a process, of the time it takes",
              [share / PROCESSES for share in shares["1 MiB all-reduce, engines"]],
              0.1)
    for size in SIZES:
        # What AUTO takes, see is_long_sum() in lib/coll/choose.c.
        way = "messages" if size == "1 MiB" else "engines"
        yield bar(f"{size} fast sum of doubles, {way}: of the time of integers",
                  ratios(runs(f"{size} all-reduce, fast sum, {way}"),
                         runs(f"{size} all-reduce, engines")), 3)
    for size in SIZES:
        engines, messages = (runs(f"{size} all-reduce, {how}, 8 nodes by veth")
                             for how in ("engines", "messages"))
        yield bar(f"{size} all-reduce, 8 nodes by veth: how much faster than "
                  "messages", ratios(messages, engines), 2, "at least")


def of_growth(counted):
    """Bars of the step growth."""
    for which in ("the next of", "all of"):
        few, many = (next(totals(regions) for name, regions in counted.items()
                          if name.startswith(f"8 B to {which} {nodes} nodes"))
                     for nodes in (2, 4096))
        yield bar(f"8 B to {which} 4,096 nodes: of the cost at 2",
                  ratios(many, few), 1.2)


def of_attack(attacked):
    """A user's bandwidth beside each attacker, of half of it alone."""
    times = attacked["1 MiB put"]
    alone = statistics.median(times["alone"])
    for name, found in times.items():
        if name not in ("alone", "computing"):
            yield bar(f"1 MiB put beside {name}: of the fair share",
                      [2 * alone / ns for ns in found], 0.8, "at least")


def judge(figures):
    """All bars that these figures allow to judge."""
    result = []
    if "instructions" in figures:
        result += of_instructions(figures["instructions"])
    if "nanoseconds" in figures:
        result += of_times(figures["nanoseconds"])
    if "messages" in figures:
        result += of_messages(figures["messages"])
    if "barrier" in figures:
        result += of_barriers(figures["barrier"])
    if "collectives" in figures:
        result += of_collectives(figures["collectives"],
                                 figures["processors"])
    if "links" in figures:
        result += of_links(figures["links"])
    if "rdma" in figures:
        result += of_rdma(figures["rdma"])
    if "loss" in figures:
        result += of_loss(figures["loss"])
    if "pacing" in figures:
        result += of_pacing(figures["pacing"])
    if "antipode" in figures:
        result += of_antipode(figures["antipode"])
    if "growth" in figures:
        result += of_growth(figures["growth"])
    if "idle" in figures:
        result += of_idleness(figures["numbers"], figures["tool"])
    if "attacked" in figures:
        result += of_attack(figures["attacked"])
    return result

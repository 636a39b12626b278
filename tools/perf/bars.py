# SPDX-License-Identifier: GPL-2.0
"""What the figures must be."""

import statistics

EACH, BATCH = "doorbell each", "batches of 32"
KIB = 1024


def total(cpus, kinds=("user", "kernel")):
    """Instructions of all processors, without what was spent waiting."""
    return sum(cpu[kind] for cpu in cpus.values() for kind in kinds)


def bar(name, value, limit, sense="at most"):
    """One bar."""
    met = {"at most": value <= limit, "at least": value >= limit,
           "exactly": value == limit}[sense]
    return {"bar": name, "value": round(value, 3), "limit": limit,
            "sense": sense, "met": met}


def of_instructions(cpus):
    """Bars of the step count."""
    insns = {name: total(per_cpu) for name, per_cpu in cpus.items()}
    peer = insns["process_vm_readv 4 KiB"]
    yield bar(f"8 B message, {EACH}: instructions",
              insns[f"8 B message, {EACH}"], 1200)
    yield bar(f"8 B message, {BATCH}: instructions",
              insns[f"8 B message, {BATCH}"], 430)
    yield bar(f"4 KiB put, {EACH}: of process_vm_readv's instructions",
              insns[f"4 KiB put, {EACH}"] / peer, 0.6)
    yield bar(f"4 KiB put, {BATCH}: of process_vm_readv's instructions",
              insns[f"4 KiB put, {BATCH}"] / peer, 0.4)
    sides = cpus["8 B round trip, polling"].values()
    yield bar("8 B round trip, polling: instructions of a side",
              max(side["user"] + side["kernel"] for side in sides), 1200)


def of_times(times):
    """Bars of the step time: medians of the ratios of pairs."""
    def median(name, peer):
        return statistics.median(
            a / b for a, b in zip(times[name], times[peer]))

    yield bar("8 B half round trip, polling: of a failing ioctl's time",
              median("half round trip", "failing ioctl"), 3)
    for size in ("1 MiB", "4 MiB"):
        yield bar(f"{size} put: of process_vm_readv's bandwidth",
                  median(f"process_vm_readv {size}", f"put {size}"), 1.4,
                  "at least")
        yield bar(f"{size} put: of memcpy's bandwidth",
                  median(f"memcpy {size}", f"put {size}"), 0.8, "at least")


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


def of_growth(cpus):
    """Bars of the step growth."""
    for which in ("the next of", "all of"):
        few, many = (next(total(per_cpu) for name, per_cpu in cpus.items()
                          if name.startswith(f"8 B to {which} {nodes} nodes"))
                     for nodes in (2, 4096))
        yield bar(f"8 B to {which} 4,096 nodes: of the cost at 2", many / few,
                  1.2)


def of_attack(attacked):
    """A user's bandwidth beside each attacker, of half of it alone."""
    times = attacked["1 MiB put"]
    alone = statistics.median(times["alone"])
    for name, found in times.items():
        if name not in ("alone", "computing"):
            yield bar(f"1 MiB put beside {name}: of the fair share",
                      2 * alone / statistics.median(found), 0.8, "at least")


def judge(figures):
    """All bars that these figures allow to judge."""
    result = []
    if "instructions" in figures:
        result += of_instructions(figures["instructions"])
    if "nanoseconds" in figures:
        result += of_times(figures["nanoseconds"])
    if "growth" in figures:
        result += of_growth(figures["growth"])
    if "idle" in figures:
        result += of_idleness(figures["numbers"], figures["tool"])
    if "attacked" in figures:
        result += of_attack(figures["attacked"])
    return result


def tell(figures):
    """The figures as tables."""
    print(f"\nLinux {figures['kernel']}")
    counted = figures.get("instructions", {}) | figures.get("growth", {})
    if counted:
        print(f"\n{'instructions per operation':46}{'all':>8}{'user':>8}"
              f"{'kernel':>8}{'waiting':>9}")
    for name, cpus in counted.items():
        print(f"{name:46}{total(cpus):8.0f}{total(cpus, ['user']):8.0f}"
              f"{total(cpus, ['kernel']):8.0f}"
              f"{total(cpus, ['waiting']):9.0f}")
    if "nanoseconds" in figures:
        print("\nmicroseconds per operation: median (least to most)")
    for name, times in figures.get("nanoseconds", {}).items():
        print(f"{name:46}{statistics.median(times) / 1000:10.2f}"
              f"   ({min(times) / 1000:.2f} to {max(times) / 1000:.2f})")
    if figures.get("host_load", 0) > 0.3:
        print(f"The host was busy ({figures['host_load']} a processor): "
              "these times mean little.")
    if "numbers" in figures:
        print("\nother numbers")
    for name, value in figures.get("numbers", {}).items():
        print(f"{name:56}{value:10}")
    for name, says in figures.get("tool", {}).items():
        if isinstance(says, list):
            print(f"{name + ': bytes of memory':56}{says[0]['memory']:10}")
    print("\nbars")
    for one in figures["bars"]:
        print(f"{'met   ' if one['met'] else 'MISSED'} {one['bar']:60}"
              f"{one['value']:8.4g}  {one['sense']} {one['limit']}")

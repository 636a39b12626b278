# SPDX-License-Identifier: GPL-2.0
"""What the figures must be."""

import statistics

ONE, MANY = "doorbell each", "batches of 32"


def total(cpus, kinds=("user", "kernel")):
    """Instructions of all processors, without what was spent waiting."""
    return sum(cpu[kind] for cpu in cpus.values() for kind in kinds)


def ratios(times, name, peer):
    """One ratio for each pair."""
    return [a / b for a, b in zip(times[name], times[peer])]


def bar(name, value, limit, least=False):
    """One bar; at most limit, or at least."""
    met = value >= limit if least else value <= limit
    return {"bar": name, "value": round(value, 3), "limit": limit,
            "sense": "at least" if least else "at most", "met": met}


def judge(figures):
    """All bars that these figures allow to judge."""
    insns = {name: total(cpus)
             for name, cpus in figures["instructions"].items()}
    times = figures["nanoseconds"]
    peer = insns["process_vm_readv 4 KiB"]
    sides = figures["instructions"]["8 B round trip, polling"]
    result = [
        bar(f"8 B message, {ONE}: instructions",
            insns[f"8 B message, {ONE}"], 1200),
        bar(f"8 B message, {MANY}: instructions",
            insns[f"8 B message, {MANY}"], 430),
        bar(f"4 KiB put, {ONE}: of process_vm_readv's instructions",
            insns[f"4 KiB put, {ONE}"] / peer, 0.6),
        bar(f"4 KiB put, {MANY}: of process_vm_readv's instructions",
            insns[f"4 KiB put, {MANY}"] / peer, 0.4),
        bar("8 B round trip, polling: instructions a side",
            max(cpu["user"] + cpu["kernel"] for cpu in sides.values()), 1200),
        bar("8 B half round trip, polling: of a failing ioctl's time",
            statistics.median(ratios(times, "half round trip",
                                     "failing ioctl")), 3),
    ]
    for size in ("1 MiB", "4 MiB"):
        for other, limit in (("process_vm_readv", 1.4), ("memcpy", 0.8)):
            result.append(bar(
                f"{size} put: of {other}'s bandwidth",
                statistics.median(ratios(times, f"{other} {size}",
                                         f"put {size}")), limit, least=True))
    return result


def tell(figures):
    """The figures as tables."""
    print(f"\nLinux {figures['kernel']}, instructions per operation")
    print(f"{'':46}{'all':>8}{'user':>8}{'kernel':>8}{'waiting':>9}")
    for name, cpus in figures["instructions"].items():
        print(f"{name:46}{total(cpus):8.0f}{total(cpus, ['user']):8.0f}"
              f"{total(cpus, ['kernel']):8.0f}"
              f"{total(cpus, ['waiting']):9.0f}")
    print("\nmicroseconds per operation, median (least to most)")
    for name, times in figures["nanoseconds"].items():
        print(f"{name:46}{statistics.median(times) / 1000:10.2f}"
              f"   ({min(times) / 1000:.2f} to {max(times) / 1000:.2f})")
    print("\nbars")
    for one in figures["bars"]:
        print(f"{'met   ' if one['met'] else 'MISSED'} {one['bar']:60}"
              f"{one['value']:8.4g}  {one['sense']} {one['limit']}")

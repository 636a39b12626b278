# SPDX-License-Identifier: GPL-2.0
"""Where eager messages end: two ways, and the length from which one costs less."""

import statistics

from spread import ratios

EAGER = ("eager", "eager, not expected")
LONG = ("rendezvous, exposed", "rendezvous")


def by_length(found):
    """{how many at once: {length: {way: figures}}}, lengths ascending."""
    sorted_ = {}
    for name, figures in found.items():
        way, length, at_once = name.rsplit(", ", 2)
        sorted_.setdefault(at_once, {}).setdefault(int(length), {})[way] = \
            figures
    return sorted_


def crossing(lengths, eager, long):
    """The least length from which on the long way has fewer instructions."""
    least = None
    for length in sorted(lengths, reverse=True):
        counts = {way: lengths[length][way]["instructions"]["median"]
                  for way in (eager, long)}
        if counts[long] >= counts[eager]:
            break
        least = length
    return least


def tell(found):
    """Instructions of each way, times of eager ones' time, and crossings."""
    for at_once, lengths in by_length(found).items():
        print(f"\n{'tagged messages, ' + at_once:28}{'instructions':>44}"
              f"{'':12}of the time of eager ones")
        print(f"{'bytes':>8}" + "".join(f"{way:>21}" for way in EAGER + LONG)
              + "".join(f"{way:>21}" for way in LONG))
        for length, ways in lengths.items():
            counts = (ways[way]["instructions"]["median"]
                      for way in EAGER + LONG)
            times = (statistics.median(ratios(
                ways[way]["nanoseconds"]["runs"],
                ways["eager"]["nanoseconds"]["runs"])) for way in LONG)
            print(f"{length:8}" + "".join(f"{n:21,.0f}" for n in counts)
                  + "".join(f"{n:21.2f}" for n in times))
        for long in LONG:
            for eager in EAGER:
                least = crossing(lengths, eager, long)
                where = f"from {least:,} bytes on" if least else "nowhere"
                print(f"fewer instructions than {eager}: {long}, {where}")

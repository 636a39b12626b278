# SPDX-License-Identifier: GPL-2.0
"""The figures for a terminal: medians, with quartiles in brackets."""

import os
import statistics

import antipode
import crossing
import operations
import pacing
import portions
import rdma
import rt
from spread import spread, totals


def between(low, high, form):
    """Quartiles."""
    return f"({low:{form}} to {high:{form}})"


def of_instructions(counted):
    """Of each processor's kinds the sum."""
    print(f"\n{'instructions per operation':46}{'all':>9}{'':20}{'user':>8}"
          f"{'kernel':>8}{'waiting':>9}")
    for name, found in counted.items():
        kinds = [statistics.median(totals(found, [kind]))
                 for kind in ("user", "kernel", "waiting")]
        print(f"{name:46}{found['median']:9.0f} "
              f"{between(found['low'], found['high'], '.0f'):19}"
              f"{kinds[0]:8.0f}{kinds[1]:8.0f}{kinds[2]:9.0f}")


def of_times(times):
    """Microseconds."""
    print("\nmicroseconds per operation")
    for name, found in times.items():
        low, middle, high = (found[which] / 1000
                             for which in ("low", "median", "high"))
        print(f"{name:46}{middle:10.2f} {between(low, high, '.2f')}")


def of_both(title, found):
    """Microseconds of each, and instructions, where they were counted."""
    print(f"\n{title:46}{'microseconds':>14}{'':24}{'instructions':>14}")
    for name, figures in found.items():
        spent = f"{'':38}"
        if "nanoseconds" in figures:
            low, middle, high = (figures["nanoseconds"][which] / 1000
                                 for which in ("low", "median", "high"))
            spent = f"{middle:14.2f} {between(low, high, '.2f'):23}"
        counted = f"{figures['instructions']['median']:14.0f}" \
            if "instructions" in figures else ""
        print(f"{name:46}{spent}{counted}")


def of_messages(found):
    """The step messages."""
    of_both("messages of endpoints", found)


def of_links(found):
    """The step links."""
    of_both("between namespaces", found)


def of_loss(found):
    """The step loss."""
    of_both("one frame in a hundred is lost, MTU 9000", found)


def of_onesided(found):
    """The step onesided."""
    of_both("8 bytes, one-sided", found)


def of_barriers(found):
    """The step barrier."""
    of_both("barriers", found)


def of_collectives(found):
    """The step collectives."""
    of_both("all-reduces", found)


def of_attack(found):
    """Of bandwidth the part of the fair share, half of what there is alone."""
    for what, attackers in found.items():
        alone = statistics.median(attackers["alone"])
        share = what.endswith("put")
        print(f"\n{what}, us alone {alone / 1000:.2f}; beside another user: "
              + ("of half the bandwidth" if share else "times as long"))
        for name, times in attackers.items():
            beside = spread([2 * alone / ns if share else ns / alone
                             for ns in times])
            print(f"  {name:24}{beside['median']:8.2f} "
                  f"{between(beside['low'], beside['high'], '.2f')}")


def of_scaled(found):
    """The step scale."""
    print("\nmemory of links")
    for name, value in found.items():
        print(f"{name:46}{value:9}")


def of_share(found):
    """The step share."""
    print(f"\n{'24 flows, of a fair share':30}{'least':>10}{'':20}{'most':>10}")
    for name, of in found.items():
        print(f"{name:30}" + "".join(
            f"{spread(runs)['median']:10.3f} "
            f"{between(min(runs), max(runs), '.3f'):19}"
            for runs in of.values()))


def of_numbers(numbers, tool):
    """Plain ones."""
    print("\nother numbers")
    for name, value in numbers.items():
        print(f"{name:56}{value:10}")
    for name, says in tool.items():
        if isinstance(says, list):
            print(f"{name + ': bytes of memory':56}{says[0]['memory']:10}")


def of_bars(bars):
    """Met or missed."""
    print("\nbars")
    for one in bars:
        quartiles = between(one["low"], one["high"], ".4g") \
            if "low" in one else ""
        print(f"{'met   ' if one['met'] else 'MISSED'} {one['bar']:60}"
              f"{one['value']:8.4g} {quartiles:20}{one['sense']} "
              f"{one['limit']}")


def tell(figures):
    """All that there is."""
    print(f"\nLinux {figures['kernel']}")
    counted = figures.get("instructions", {}) | figures.get("growth", {})
    for found, table in ((figures.get("operations"), operations.tell),
                         (counted, of_instructions),
                         (figures.get("nanoseconds"), of_times),
                         (figures.get("messages"), of_messages),
                         (figures.get("onesided"), of_onesided),
                         (figures.get("barrier"), of_barriers),
                         (figures.get("collectives"), of_collectives),
                         (figures.get("links"), of_links),
                         (figures.get("rdma"), rdma.tell),
                         (figures.get("loss"), of_loss),
                         (figures.get("pacing"), pacing.tell),
                         (figures.get("portions"), portions.tell),
                         (figures.get("antipode"), antipode.tell),
                         (figures.get("share"), of_share),
                         (figures.get("scale"), of_instructions),
                         (figures.get("scaled"), of_scaled),
                         (figures.get("switch"), crossing.tell),
                         (figures.get("attacked"), of_attack),
                         (figures.get("rt"), rt.tell)):
        if found:
            table(found)
    if figures.get("others", 0) > 0.2:
        print(f"\nThe host did something else, with {figures['others']} of "
              f"its {os.cpu_count()} processors: these times mean little.")
    if "numbers" in figures:
        of_numbers(figures["numbers"], figures["tool"])
    if figures["bars"]:
        of_bars(figures["bars"])

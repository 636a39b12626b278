# SPDX-License-Identifier: GPL-2.0
"""Chains by the size of a portion and how many are in flight."""

import statistics

from spread import ratios

PUT = "4 MiB, put"


def bandwidths(found):
    """{portion: {in flight: of the put's bandwidth, in the same turns}}."""
    of = {}
    for name, figures in found.items():
        if name == PUT:
            continue
        portion, in_flight = name.split(", ")
        of.setdefault(portion, {})[in_flight] = statistics.median(
            ratios(found[PUT]["runs"], figures["runs"]))
    return of


def tell(found):
    """A table for each place."""
    for where, figures in found.items():
        of = bandwidths(figures)
        windows = list(next(iter(of.values())))
        print(f"\n{'of the bandwidth of a put':32}{where}")
        print(f"{'portions of':32}"
              + "".join(f"{window:>14}" for window in windows))
        for portion, row in of.items():
            print(f"{portion:32}"
                  + "".join(f"{row[window]:14.2f}" for window in windows))

# SPDX-License-Identifier: GPL-2.0
"""Of what was measured several times: the median, and how far it can be trusted."""

import statistics


def digits(value):
    """No more than mean anything."""
    return float(f"{value:.6g}")


def spread(values):
    """Median and quartiles of one number or many, for JSON."""
    values = values if isinstance(values, list) else [values]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") \
        if len(values) > 1 else values * 3
    return {"median": digits(middle), "low": digits(low), "high": digits(high)}


def total(cpus, kinds=("user", "kernel")):
    """Instructions of all processors, without what was spent waiting."""
    return sum(cpu[kind] for cpu in cpus.values() for kind in kinds)


def totals(counted, kinds=("user", "kernel")):
    """One for each time that a region was counted."""
    return [total(cpus, kinds) for cpus in counted["regions"]]


def ratios(values, peers):
    """Of what was measured in turn, one for each turn."""
    return [a / b for a, b in zip(values, peers)]

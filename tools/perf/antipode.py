# SPDX-License-Identifier: GPL-2.0
"""All nodes of a torus send to their antipodes, by links of a limited rate."""

import statistics
from pathlib import Path

from spread import spread

SCRIPT = Path(__file__).resolve().parent / "antipode.sh"
# Bytes a second of each direction of a link, and frames that may wait there.
RATE = 200_000
QUEUE = 64
KINDS = ("mean", "last", "unfair", "busy")


def options():
    """Of the virtual machine."""
    return ("--mem", "3072", "--timeout", "3600", "--add", f"{SCRIPT}:/antipode.sh")


def command(runs):
    """For the guest."""
    return f"/antipode.sh {RATE} {QUEUE} {runs}"


def of_run(line):
    """What one run of 64 transfers at once gives."""
    # Six hops of each byte, and six links of each node: as many as there are.
    bound = line["bytes"] / RATE * 1e9
    return {"mean": statistics.mean(line["ns"]) / bound,
            "last": max(line["ns"]) / bound,
            "unfair": max(line["ns"]) / min(line["ns"]),
            "busy": line["busy"]}


def results(lines):
    """{links: {way: {kind: [one of each run]}}}, times of the bisection bound."""
    found, links = {}, None
    for line in lines:
        links = line.get("links", links)
        if "antipode" not in line:
            continue
        runs = found.setdefault(links, {}).setdefault(
            line["antipode"], {kind: [] for kind in KINDS})
        for kind, value in of_run(line).items():
            runs[kind].append(value)
    return found


def tell(found):
    """A row for each."""
    for links, ways in found.items():
        print(f"\n{'64 nodes to antipodes, links ' + links:46}{'mean':>8}"
              f"{'last, of the bound':>26}{'max/min':>20}{'busy':>14}")
        for name, runs in ways.items():
            of = {kind: spread(values) for kind, values in runs.items()}
            print(f"{name:46}{of['mean']['median']:8.2f}" + "".join(
                f"{of[kind]['median']:{width}.2f} ({min(runs[kind]):.2f} to "
                f"{max(runs[kind]):.2f})"
                for kind, width in (("last", 12), ("unfair", 8)))
                + f"{of['busy']['median']:8.2f}")

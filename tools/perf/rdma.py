# SPDX-License-Identifier: GPL-2.0
"""Ours by veth beside Soft-RoCE and TCP, measured by others' tools: rdma.sh's output."""

import json
import re
import statistics

from spread import ratios, spread

OURS = ("direct put", "memory FIFO")
LATENCY, RATE = "typical latency of 8 B", "rate of 8 B"
EACH = "rate, a doorbell each, of 8 B"
BANDWIDTHS = ("bandwidth of 64 KiB", "bandwidth of 1 MiB")
# What of ours is compared with what of theirs.
COMPARED = ((LATENCY, LATENCY, ("ib_write_lat", "qperf")),
            (EACH, RATE, ("ib_write_bw",)),
            (RATE, RATE, ("ib_write_bw", "ib_write_bw -l 32")),
            *((name, name, ("ib_write_bw", "qperf", "iperf3"))
              for name in BANDWIDTHS))


def _size(measure):
    """Bytes of a message."""
    number, prefix = re.search(r"of (\d+) (\w+)", measure).groups()
    return int(number) << {"B": 0, "KiB": 10, "MiB": 20}[prefix]


def _perftest(measure, text):
    """Nanoseconds of a message, as one of perftest's programs says."""
    row = re.search(r"#bytes.*\n(.*)", text)[1].split()
    if measure == LATENCY:
        return 1000 * float(row[4])             # the typical one, in us
    if measure == RATE:
        return 1000 / float(row[4])             # millions in a second
    return 1e9 * _size(measure) / (float(row[3]) * (1 << 20))


def _qperf(measure, text):
    """As qperf says, told to use one unit for all."""
    if measure == LATENCY:
        return float(re.search(r"latency += +([\d.,]+) ns", text)[1]
                     .replace(",", ""))
    rate = re.search(r"bw += +([\d.,]+) bytes/sec", text)[1]
    return 1e9 * _size(measure) / float(rate.replace(",", ""))


def _iperf3(measure, text):
    """As iperf3's receiver says."""
    rate = re.search(r"([\d.]+) KBytes/sec +receiver", text)[1]
    return 1e9 * _size(measure) / (1024 * float(rate))


def _ours(text):
    """Of what is typical what is so for the runs, of the others the mean."""
    found = {}
    for line in text.splitlines():
        if line.startswith("{"):
            said = json.loads(line)
            found.setdefault(said["region"], []).append(said["ns"])
    return {name: (statistics.median if name.startswith("typical")
                   else statistics.mean)(taken)
            for name, taken in found.items()}


def _turn(text):
    """{"measure: way": nanoseconds}."""
    found = {}
    for part in re.split("^beside ", text, flags=re.M)[1:]:
        way, _, measure = part.partition("\n")[0].partition(": ")
        if way == "ours":
            found |= _ours(part)
            continue
        says = {"qperf": _qperf, "iperf3": _iperf3}.get(way, _perftest)
        found[f"{measure}: {way}"] = says(measure, part)
    return found


def results(text):
    """{"measure: way": {"nanoseconds": quartiles, and one of each turn}}."""
    found = {}
    for part in re.split("^turn$", text, flags=re.M)[1:]:
        for name, nanoseconds in _turn(part).items():
            found.setdefault(name, []).append(nanoseconds)
    return {name: {"nanoseconds": spread(runs) | {"runs": runs}}
            for name, runs in found.items()}


def ratio(found, mtu, name, other):
    """Of one's time to the other's, in each turn."""
    return ratios(*(found[f"{which}, MTU {mtu}"]["nanoseconds"]["runs"]
                    for which in (name, other)))


def _row(found, name, mtu):
    """Microseconds."""
    low, middle, high = (
        found[f"{name}, MTU {mtu}"]["nanoseconds"][which] / 1000
        for which in ("low", "median", "high"))
    return f"{middle:11.2f} {f'({low:.2f} to {high:.2f})':22}"


def tell(found):
    """A table for each MTU: the time of a message, and the put's advantage."""
    mtus = sorted({int(name.rpartition(" ")[2]) for name in found})
    for mtu in mtus:
        print(f"\n{f'beside others, MTU {mtu}':50}{'microseconds':>11}{'':21}"
              "a put is faster, times")
        for measure, theirs, ways in COMPARED:
            for way in OURS if "8 B" in measure else OURS[:1]:
                name = f"{measure}: {way}"
                print(f"{name:50}{_row(found, name, mtu)}")
            for way in ways:
                name = f"{theirs}: {way}"
                more = spread(ratio(found, mtu, name, f"{measure}: {OURS[0]}"))
                print(f"{name:50}{_row(found, name, mtu)}"
                      f"{more['median']:8.2f} ({more['low']:.2f} to "
                      f"{more['high']:.2f})")

# SPDX-License-Identifier: GPL-2.0
"""Each operation of the device beside each of its peers."""

from spread import digits, ratios, spread, total

# As bgdma-perf calls them, and as the head of a narrow column.
PEERS = {"memcpy": "memcpy", "common memory, spinning": "spin",
         "process_vm_readv": "readv", "pipe": "pipe",
         "TCP over loopback": "TCP"}


class Unit:
    """What a time is shown as."""

    def __init__(self, measure):
        self.slow = measure.startswith("latency")
        if self.slow:
            self.name, self.digits = "us", 2
            self.of = lambda ns: ns / 1000
        elif measure.startswith("rate"):
            self.name, self.digits = "million/s", 3
            self.of = lambda ns: 1000 / ns
        else:
            number, prefix = measure.split()[2:4]
            size = int(number) << {"KiB": 10, "MiB": 20}[prefix]
            self.name, self.digits = "MB/s", 0
            self.of = lambda ns: 1000 * size / ns


def combine(times, counted):
    """{measure: {"unit": ..., "ways": {name: figures}}}, for JSON."""
    found = {}
    for region, taken in times.items():
        measure, name = region.split(": ")
        unit = Unit(measure)
        values = [unit.of(ns) for ns in taken["runs"]]
        ways = found.setdefault(measure, {"unit": unit.name, "ways": {}})
        ways["ways"][name] = spread(values) | {
            "runs": [digits(value) for value in values],
            "instructions": {
                key: counted[region][key] for key in ("median", "low", "high")
            } | {"waiting": spread([total(cpus, ["waiting"]) for cpus in
                                    counted[region]["regions"]])["median"]}}
    for measure in found.values():
        ways = measure["ways"]
        for way in ways.values():
            way["ratios"] = {
                peer: spread(ratios(way["runs"], ways[peer]["runs"]))
                for peer in PEERS}
    return found


def short(ratio):
    """At most seven characters."""
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2g}"


def tell(found):
    """A table for each measure."""
    for measure, of in found.items():
        unit = Unit(measure)
        print(f"\n{measure + ', ' + unit.name:26}{'':28}"
              + ("times as long as" if unit.slow else "times as much as")
              + f"\n{'':26}{'':24}{'instr.':>8}"
              + "".join(f"{head:>8}" for head in PEERS.values()))
        for name, way in of["ways"].items():
            low, middle, high = (f"{way[which]:.{unit.digits}f}"
                                 for which in ("low", "median", "high"))
            print(f"{name:26}{middle:>8} {f'({low} to {high})':17}"
                  f"{way['instructions']['median']:8.0f}"
                  + "".join(f"{short(way['ratios'][peer]['median']):>8}"
                            for peer in PEERS))

# SPDX-License-Identifier: GPL-2.0
"""cyclictest on PREEMPT_RT, beside several loads."""

import re

from spread import spread

# What goes on beside it: a measurement of bgdma-perf, or nothing.
LOADS = {"quiet": None,
         "memcpy": "memcpy-load",
         "process_vm_readv": "readv-load",
         "bgdma": "traffic"}
CYCLES = "cyclictest -q -m -S -p 90 -i 1000 -l 4000"


def command(runs):
    """In turn, so that all see the same of what the host does."""
    script = ["bgdma partition add perf dims 4x1x1 mode 0666"]
    for _ in range(runs):
        for name, load in LOADS.items():
            script += [f"bgdma-perf {load} & sleep 1" if load else ":",
                       f"echo load {name}", "head -n 1 /proc/stat", CYCLES,
                       "head -n 1 /proc/stat"]
            script += ["kill -9 $!", "sleep 1"] if load else []
    return "\n".join(script)


def _busy(before, after):
    """Part of the processors' time that was not idle."""
    spent = [b - a for a, b in zip(before, after)]
    return 1 - (spent[3] + spent[4]) / sum(spent)


def results(text):
    """{load: {"max_us": ..., "mean_us": ..., "busy": quartiles}}."""
    found = {name: {"max_us": [], "mean_us": [], "busy": []} for name in LOADS}
    current = stat = None
    for line in text.splitlines():
        if line.startswith("load "):
            current = found[line.removeprefix("load ")]
            current["max_us"].append(0)
            current["mean_us"].append(0)
            stat = None
        elif line.startswith("cpu "):
            now = [int(word) for word in line.split()[1:]]
            if stat:
                current["busy"].append(_busy(stat, now))
            stat = now
        elif match := re.search(r"Avg:\s*(\d+) Max:\s*(\d+)", line):
            for key, value in zip(("mean_us", "max_us"), match.groups()):
                current[key][-1] = max(current[key][-1], int(value))
    return {name: {key: spread(values) | {"runs": values}
                   for key, values in taken.items()}
            for name, taken in found.items()}


def tell(found):
    """Of the worst processor."""
    print(f"\n{'cyclictest beside':20}{'busy':>6}{'mean, us':>10}"
          f"{'worst, us':>29}")
    for name, taken in found.items():
        worst = taken["max_us"]
        print(f"{name:20}{taken['busy']['median']:6.0%}"
              f"{taken['mean_us']['median']:10.0f}{worst['median']:10.0f} "
              f"({worst['low']:.0f} to {worst['high']:.0f})")

# SPDX-License-Identifier: GPL-2.0
"""What the host did beside us while times were taken."""

import os
import time
from pathlib import Path


def _busy():
    """Seconds of all processors so far, with what a hypervisor took away."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    user, nice, system, _, _, irq, softirq, steal = map(int, fields)
    return (user + nice + system + irq + softirq + steal) / \
        os.sysconf("SC_CLK_TCK")


def _ours():
    """Seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


class Watch:
    """From its making on."""

    def __init__(self):
        self.begin = time.monotonic(), _busy(), _ours()

    def others(self):
        """How many processors were busy for others, on average."""
        begin, busy, ours = self.begin
        return round(max(0, _busy() - busy - (_ours() - ours)) /
                     (time.monotonic() - begin), 2)

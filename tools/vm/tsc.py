# SPDX-License-Identifier: GPL-2.0
"""How fast this machine's time stamp counter runs.

An emulated guest reads the host's counter, and has to find out its frequency
with emulated timers. On a busy host that fails: guests were seen whose clock
ran 20 times too fast, and which then complained about soft lockups. So the
guest is told.
"""

import ctypes
import mmap
import platform
import time

# rdtsc; shl $32, %rdx; or %rdx, %rax; ret
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")
PAUSE = 0.03


def sample(rdtsc):
    """A time and the counter then: of some tries the one most at once."""
    tries = []
    for _ in range(50):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        ticks = rdtsc()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        tries.append((after - before, (before + after) / 2, ticks))
    return min(tries)[1:]


def khz():
    """The frequency in kHz, or None where it cannot be measured."""
    if platform.machine() != "x86_64":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ |
                         mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None     # a policy against writable code
    page.write(RDTSC)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
    begin, first = sample(rdtsc)
    time.sleep(PAUSE)
    end, last = sample(rdtsc)
    return round((last - first) * 1e6 / (end - begin))

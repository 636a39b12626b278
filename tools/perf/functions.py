# SPDX-License-Identifier: GPL-2.0
"""In which functions instructions went."""

import base64
import bisect
import gzip
import subprocess

# Run in the guest: the kernel's functions, small enough for a serial line.
SYMBOLS = ("echo symbols; grep -i ' [tw] ' /proc/kallsyms | gzip | base64; "
           "echo end")


class Symbols:
    """Addresses to names."""

    def __init__(self, text):
        found = {}
        for line in text.splitlines():
            word = line.split()
            if len(word) >= 3 and word[1] in "tTwW":
                found.setdefault(int(word[0], 16),
                                 " ".join(word[2:]))
        self.addresses = sorted(found)
        self.names = [found[address] for address in self.addresses]

    def address(self, name):
        """Where a function begins."""
        return self.addresses[self.names.index(name)]

    def name(self, address):
        """The function that an address is in, or None."""
        index = bisect.bisect_right(self.addresses, address) - 1
        return self.names[index] if index >= 0 else None


def name_of(address, kernel, user):
    """Where a block is; the program is at the bottom of the address space."""
    if address >> 63:
        return kernel.name(address) or "[kernel]"
    if address < 1 << 32:
        return f"{user.name(address)} [bgdma-perf]"
    return "[libc]"


def read(regions, log):
    """{figure: ([(address, times, instructions of a block)], operations)}."""
    found = {}
    for line in log.read_text().splitlines():
        word = line.split()
        if word[0] == "block":
            name = regions[int(word[1])]["region"]
            found.setdefault(name, []).append(
                (int(word[2], 16), int(word[3]), int(word[4])))
    return {name: (blocks, sum(r["ops"] for r in regions
                               if r["region"] == name))
            for name, blocks in found.items()}


def kernel_symbols(text):
    """Out of what SYMBOLS printed."""
    packed = text.partition("\nsymbols\n")[2].partition("\nend")[0]
    return Symbols(gzip.decompress(base64.b64decode(packed)).decode())


def tell(figures, kernel, program):
    """A table for each figure."""
    user = Symbols(subprocess.run(["nm", program], stdout=subprocess.PIPE,
                                  text=True, check=True).stdout)
    for figure, (blocks, ops) in figures.items():
        functions = {}
        for address, times, n in blocks:
            name = name_of(address, kernel, user)
            functions[name] = functions.get(name, 0) + times * n
        print(f"\n{figure}: {sum(functions.values()) / ops:.1f} instructions")
        rest = 0
        for name, number in sorted(functions.items(), key=lambda f: -f[1]):
            if number / ops < 1:
                rest += number
                continue
            print(f"{number / ops:10.1f}  {name}")
        print(f"{rest / ops:10.1f}  all others")

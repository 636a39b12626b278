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


def tell(regions, text, log, program):
    """A table for each figure, from what the guest and the plugin wrote."""
    packed = text.partition("\nsymbols\n")[2].partition("\nend")[0]
    kernel = Symbols(gzip.decompress(base64.b64decode(packed)).decode())
    user = Symbols(subprocess.run(["nm", program], stdout=subprocess.PIPE,
                                  text=True, check=True).stdout)
    found = {}
    for line in log.read_text().splitlines():
        word = line.split()
        if word[0] != "block":
            continue
        region = regions[int(word[1])]
        functions = found.setdefault(region["region"], {})
        name = name_of(int(word[2], 16), kernel, user)
        functions[name] = functions.get(name, 0) + int(word[3])
    for region, functions in found.items():
        ops = sum(r["ops"] for r in regions if r["region"] == region)
        print(f"\n{region}: {sum(functions.values()) / ops:.1f} instructions")
        rest = 0
        for name, number in sorted(functions.items(), key=lambda f: -f[1]):
            if number / ops < 1:
                rest += number
                continue
            print(f"{number / ops:10.1f}  {name}")
        print(f"{rest / ops:10.1f}  all others")

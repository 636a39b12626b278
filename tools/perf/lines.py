# SPDX-License-Identifier: GPL-2.0
"""In which lines of the module's source instructions went."""

import bisect
import functools
import subprocess
from pathlib import Path

# A function that is always there, by which the module's place is found.
KNOWN = "bgdma_stream_run"


def _run(*command, text=None):
    """What a program of binutils says."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=True,
                          input=text).stdout


class Module:
    """Addresses of the running module to instructions of the file."""

    def __init__(self, path, kernel):
        self.path = path
        self.starts = sorted({
            int(line.split(":")[0], 16)
            for line in _run("objdump", "-d", "-j", ".text",
                             "--no-show-raw-insn", path).splitlines()
            if line.startswith(" ") and ":\t" in line})
        offset = next(int(line.split()[0], 16)
                      for line in _run("nm", path).splitlines()
                      if line.split()[-1] == KNOWN)
        self.base = kernel.address(f"{KNOWN} [bgdma]") - offset

    def instructions(self, address, n):
        """Those of a block; none if it is not in the module."""
        offset = address - self.base
        if not 0 <= offset <= self.starts[-1]:
            return []
        first = bisect.bisect_left(self.starts, offset)
        return self.starts[first:first + n]

    def places(self, offsets):
        """{offset: (function, inlined or not, and file:line)}."""
        said = _run("addr2line", "-a", "-f", "-i", "-j", ".text",
                    "-e", self.path,
                    text="".join(f"{offset:#x}\n" for offset in offsets))
        found, lines = {}, said.splitlines()
        for number, line in enumerate(lines):
            if line.startswith("0x"):
                where = lines[number + 2].split(" (")[0]
                found[int(line, 16)] = (lines[number + 1], where)
        return found


@functools.cache
def _source(path):
    """The lines of a file, if it is here."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _place(where):
    """Name, number and text of a line."""
    path, _, number = where.rpartition(":")
    number = int(number) if number.isdigit() else 0
    lines = _source(path)
    text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return Path(path).name, number, text


def tell(figures, module):
    """Of each figure, functions, the costliest first, and their lines."""
    offsets = {offset for blocks, _ in figures.values()
               for address, _, n in blocks
               for offset in module.instructions(address, n)}
    places = module.places(sorted(offsets))
    for name, (blocks, ops) in figures.items():
        found = {}
        for address, hits, n in blocks:
            for offset in module.instructions(address, n):
                function, line = places[offset]
                of = found.setdefault(function, {})
                of[line] = of.get(line, 0) + hits / ops
        if not found:
            continue
        whole = sum(sum(of.values()) for of in found.values())
        print(f"\n{name}: {whole:.1f} instructions of the module, by function "
              "as written, and line")
        for function, of in sorted(found.items(),
                                   key=lambda item: -sum(item[1].values())):
            if sum(of.values()) < 1:
                continue
            print(f"{sum(of.values()):8.1f}  {function}")
            for (file, line, code), number in sorted(
                    (_place(where), number) for where, number in of.items()
                    if number >= 0.5):
                print(f"{number:16.0f}  {file}:{line}: {code}")
